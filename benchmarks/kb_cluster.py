"""Builds by processes and on Dask clusters compared with a build in one process: bytes and time.

    python -m benchmarks.kb_cluster                  schools-2007 of $SGTB_DATA, and 1 GB generated
    python -m benchmarks.kb_cluster --mb 20          a smaller generated one
    python -m benchmarks.kb_cluster --only real      one of them: real, generated
    python -m benchmarks.kb_cluster --builds 1,2,4   some of the builds that are compared

The exit code is 1 if the bytes of a dump's builds differ.
"""

import hashlib
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.dump_generated import DumpShape, write_dump
from benchmarks.dump_repeated import real_dump
from sgtb.integrations.dask_cluster import DaskPool, connect
from sgtb.kb.kb_folder import data_folder
from sgtb.wikipedia.build.dump_build import WikiSettings, build_wiki

BUILDS = "1,2,4,local:2,local:4"
"""Builds that are compared: by so many processes, or on such a Dask cluster."""


def digest_of_folder(place: Path) -> str:
    """Return a digest of all files of a knowledge base, except for LMDB's lock."""
    digest = hashlib.sha256()
    for path in sorted(data_folder(place).iterdir()):
        if not path.name.endswith("-lock"):
            digest.update(path.name.encode())
            with open(path, "rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


def compare(dump: Path, folder: Path, builds: list[str]) -> bool:
    """Build from a dump in several ways; return whether all bytes are equal."""
    digests = set()
    for build in builds:
        with ExitStack() as stack:
            settings, pool = WikiSettings(), None
            if build.isdigit():
                settings = WikiSettings(workers=int(build))
            else:
                pool = DaskPool(stack.enter_context(connect(build)))
            begin = time.perf_counter()
            report = build_wiki([dump], folder / "kb", settings, pool=pool)
            seconds = time.perf_counter() - begin
        digests.add(digest := digest_of_folder(folder / "kb"))
        print(
            f"{dump.name:24} {build:12} {seconds:8.1f} s  {digest[:16]}  "
            f"{report.entities:,} entities, {report.names.names:,} names",
            flush=True,
        )
    return len(digests) == 1


def main(
    mb: Annotated[int, typer.Option(min=1, help="MB of XML of the generated dump.")] = 1000,
    only: Annotated[str, typer.Option(help="real or generated.")] = "",
    builds: Annotated[str, typer.Option(help="Numbers of processes, and Dask clusters.")] = BUILDS,
) -> None:
    """Compare builds by several processes and on clusters."""
    equal = []
    with tempfile.TemporaryDirectory(prefix="sgtb-bench-") as name:
        folder = Path(name)
        if only != "generated" and (source := real_dump()) is not None:
            equal.append(compare(source, folder, builds.split(",")))
        if only != "real":
            path = folder / "generated.xml"
            write_dump(path, DumpShape(mb * 1_000_000))
            equal.append(compare(path, folder, builds.split(",")))
    sys.exit(not all(equal))


if __name__ == "__main__":
    typer.run(main)
