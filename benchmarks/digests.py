"""Digests of results: whether two versions of the package compute the same bits.

    python -m benchmarks.digests --out FILE          record
    python -m benchmarks.digests --against FILE      compare; exit code 1 on any difference
    ... --only GROUP                                 one group; may be repeated
    ... --threads 1 --no-cache                       other options; the digests are the same

`benchmarks/digests.json` is the last record. A change that alters results records it again, in a
commit that says why. Record and compare with one version of numpy: its functions may differ in
their last bit between versions.

The corpora are read from $SGTB_DATA. The file holds digests only.
"""

import json
import platform
import sys
import tempfile
import time
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

import sgtb
from benchmarks.digest_groups import GROUPS, Subjects, run
from benchmarks.digest_links import Options

RECORDED = Path(__file__).with_name("digests.json")
_BEGIN = time.perf_counter()


def _say(message: str) -> None:
    print(f"{time.perf_counter() - _BEGIN:7.1f} s  {message}", file=sys.stderr, flush=True)


def read(path: Path) -> dict[str, str]:
    """Return the digests of a file, by name."""
    recorded: dict[str, str] = json.loads(path.read_text("utf-8"))["digests"]
    return recorded


def write(path: Path, digests: Mapping[str, str]) -> None:
    """Write digests; those of groups that were not run stay as they were."""
    kept = read(path) if path.exists() else {}
    groups = {_group(name) for name in digests}
    merged = {name: digest for name, digest in kept.items() if _group(name) not in groups}
    record = {
        "numpy": np.__version__,
        "architecture": platform.machine(),
        "digests": dict(sorted({**merged, **digests}.items())),
    }
    path.write_text(json.dumps(record, indent=1) + "\n", "utf-8")


def differences(digests: Mapping[str, str], recorded: Mapping[str, str]) -> list[str]:
    """Return what differs, of the groups that were run."""
    groups = {_group(name) for name in digests}
    expected = {name: d for name, d in recorded.items() if _group(name) in groups}
    found = []
    for name in sorted({*digests, *expected}):
        if name not in expected:
            found.append(f"{name}: not recorded")
        elif name not in digests:
            found.append(f"{name}: recorded, but missing now")
        elif digests[name] != expected[name]:
            found.append(f"{name}: differs")
    return found


def _kernels() -> str:
    """Return which build of the compiled core is in use."""
    if find_spec("sgtb.native") is None:
        return "numba"
    build: str = import_module("sgtb.native").BUILD
    return build


def _group(name: str) -> str:
    return name.partition("/")[0]


def main(
    out: Annotated[Path | None, typer.Option(help="Record the digests here.")] = None,
    against: Annotated[Path | None, typer.Option(help="Compare with this file.")] = None,
    only: Annotated[
        list[str] | None, typer.Option(help=f"A group to run: {', '.join(GROUPS)}.")
    ] = None,
    threads: Annotated[int, typer.Option(min=1, help="Threads and processes.")] = 2,
    cache: Annotated[bool, typer.Option(help="Whether training keeps scores.")] = True,
) -> None:
    """Record digests of results, or compare them with recorded ones."""
    groups = only or list(GROUPS)
    if out is None and against is None:
        raise typer.BadParameter("give --out, --against or both")
    if unknown := [name for name in groups if name not in GROUPS]:
        raise typer.BadParameter(f"no group {unknown[0]!r}; there are {', '.join(GROUPS)}")
    _say(f"{Path(sgtb.__file__).parent}, kernels: {_kernels()}")
    recorded = read(against) if against is not None else {}
    digests: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, digest in run(groups, Subjects(Options(threads, cache, Path(folder)), _say)):
            digests[name] = digest
            same = against is None or recorded.get(name) == digest
            _say(f"{digest[:12]}  {name}{'' if same else '  DIFFERS'}")
    if out is not None:
        write(out, digests)
    if against is not None:
        found = differences(digests, recorded)
        print("\n".join([*found, f"{len(digests)} digests, {len(found)} differences"]))
        raise typer.Exit(1 if found else 0)


if __name__ == "__main__":
    typer.run(main)
