"""Wiki builds: extraction compared with mwparserfromhell, whole builds, memory, vectors."""

import bz2
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.dump_generated import DumpShape, write_dump
from benchmarks.dump_repeated import real_dump, write_repeated
from benchmarks.probes import ask, watch
from sgtb.wikipedia.build.build_settings import MIN_MEMORY

Say = Callable[[str], None]

_MEMORY = 1 << 30


@dataclass(frozen=True)
class BuildExtent:
    """Extent of the measurements.

    dump           bytes of XML that are extracted and built from
    rival_seconds  time limit of mwparserfromhell
    memory_dumps   bytes of XML, of the two dumps that memory is compared on
    vectors_dump   bytes of XML that vectors are trained on
    """

    dump: int
    rival_seconds: float
    memory_dumps: tuple[int, int]
    vectors_dump: int


def measure_build(extent: BuildExtent, folder: Path, say: Say) -> dict[str, Any]:
    """Measure extraction and builds on real pages, or on generated ones."""
    path = folder / "dump.xml"
    origin = _dump(path, extent.dump, say)
    say("extraction ...")
    extraction = ask("wiki_probe.extraction", path)
    say("mwparserfromhell ...")
    rival = ask("wiki_probe.rival", path, extent.rival_seconds)
    builds = {}
    for workers in (1, 2):
        say(f"building, {workers} worker{'s' if workers > 1 else ''} ...")
        builds[workers] = _build(path, folder / "wiki", workers, _MEMORY, red_links=1)
    sizes = ask("kb_probe.sizes", folder / "wiki")
    say("unpacking ...")
    packed = folder / "dump.xml.bz2"
    part = _beginning(path, packed, min(extent.dump // 4, 20_000_000))
    unpacked = ask("wiki_probe.unpacking", packed)
    result = {
        "origin": origin,
        "xml_bytes": path.stat().st_size,
        "extraction": extraction,
        "rival": rival,
        "builds": {str(workers): build for workers, build in builds.items()},
        "scaling": builds[1]["seconds"] / builds[2]["seconds"],
        "sizes": sizes,
        "unpacking_mb_per_second": part / 1e6 / unpacked["seconds"],
    }
    _remove(path, packed, folder / "wiki")
    return result


def measure_memory(extent: BuildExtent, folder: Path, say: Say) -> dict[str, Any]:
    """Build from two dumps with the smallest memory budget; return the memory of the processes."""
    runs = []
    for size in extent.memory_dumps:
        path = folder / "generated.xml"
        say(f"generating {size / 1e6:,.0f} MB of XML ...")
        pages = write_dump(path, DumpShape(size))
        say("building with the least memory ...")
        run = _build(path, folder / "bounded", 2, MIN_MEMORY)
        runs.append(run | {"xml_bytes": path.stat().st_size, "pages": pages})
        _remove(path, folder / "bounded")
    return {
        "allowance": MIN_MEMORY,
        "runs": runs,
        "bare": ask("wiki_probe.bare")["memory"],
    }


def measure_vectors(extent: BuildExtent, folder: Path, say: Say) -> dict[str, Any]:
    """Build with vectors, which are trained on the dump's text."""
    path = folder / "dump.xml"
    origin = _dump(path, extent.vectors_dump, say)
    say("building with vectors ...")
    run = _build(path, folder / "vectors", 2, _MEMORY, "train")
    sizes = ask("kb_probe.sizes", folder / "vectors")
    result = {"origin": origin, "xml_bytes": path.stat().st_size, "build": run, "sizes": sizes}
    _remove(path, folder / "vectors")
    return result


def _build(
    path: Path, place: Path, workers: int, memory: int, vectors: str = "none", red_links: int = 0
) -> dict[str, Any]:
    shutil.rmtree(place, ignore_errors=True)
    answer, peak = watch("wiki_probe.build", path, place, workers, memory, vectors, red_links)
    megabytes = path.stat().st_size / 1e6
    return {
        **answer,
        "workers": workers,
        "mb_per_second": megabytes / answer["seconds"],
        "mb_per_second_and_core": megabytes / answer["seconds"] / workers,
        "peak": vars(peak),
    }


def _dump(path: Path, size: int, say: Say) -> str:
    """Write a dump, and return a description of its source."""
    source = real_dump()
    if source is None:
        say("no dumps in $SGTB_DATA; generating one ...")
        write_dump(path, DumpShape(size, titles=max(2000, size // 10_000)))
        return "generated pages"
    times = write_repeated(source, path, size)
    return f"{source.name}, repeated {times} times"


def _beginning(path: Path, packed: Path, size: int) -> int:
    """Pack the first bytes of a dump; return how many."""
    with open(path, "rb") as file:
        data = file.read(size)
    packed.write_bytes(bz2.compress(data))
    return len(data)


def _remove(*paths: Path) -> None:
    for path in paths:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
