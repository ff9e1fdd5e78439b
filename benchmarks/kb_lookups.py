"""Look-ups: a large knowledge base built from a list, opened, queried, shared and changed."""

import json
import os
import statistics
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.kb_generated import ListShape, write_list
from benchmarks.measure import seconds_of
from benchmarks.probes import ask, holding, watch
from benchmarks.resident import proportional, proportional_files


@dataclass(frozen=True)
class LookupExtent:
    """Extent of the measurements.

    opens     processes that open the knowledge base
    batches   of 1,000 names that are looked up
    turns     in which sgtb and SQLite look them up
    baseline  interpreter of another version that looks up the same names alternately; "": none
    """

    shape: ListShape
    opens: int
    batches: int
    turns: int
    baseline: str = ""


def measure_lookups(
    extent: LookupExtent, folder: Path, say: Callable[[str], None]
) -> dict[str, Any]:
    """Build a knowledge base in a folder and measure everything that reads or changes it."""
    place, file, names = folder / "kb", folder / "names.sqlite", folder / "names.json"
    listed, generated = generated_list(extent.shape, folder, say)
    say("building it ...")
    built, peak = watch("kb_probe.build", listed, place)
    sizes = ask("kb_probe.sizes", place)
    say("filling SQLite with the same names ...")
    filled = ask("kb_probe.fill", place, file)
    ask("kb_probe.draw", place, names, extent.batches)
    say("opening, looking up ...")
    opened = _opened(place, names, extent.opens)
    baseline = _Baseline.build_one(listed, folder / "kb-baseline", extent.baseline, say)
    ours, theirs, earlier = _all(place, file, names, extent.turns, baseline)
    say("similar names ...")
    similar = ask("kb_probe.similar", place, names)
    cold = _cold(place, file, names)
    say("memory, two processes ...")
    result = {
        "shape": vars(extent.shape),
        "looked_up": 1000 * extent.batches,
        "list_bytes": listed.stat().st_size,
        "generate_seconds": generated,
        "build": built | {"peak": vars(peak)},
        "sizes": sizes,
        "sqlite_size": filled,
        "open": opened,
        "lookups": ours,
        "sqlite": theirs,
        "similar": similar,
        "baseline": earlier,
        "cold": cold,
        "reader": ask("kb_probe.reader", place, names),
        "bare": ask("kb_probe.bare")["memory"],
        "two_processes": two_processes(place, names),
    }
    say("adding, changing, removing ...")
    result["changes"] = ask("kb_probe.changes", place, folder)
    return result


def generated_list(
    shape: ListShape, folder: Path, say: Callable[[str], None]
) -> tuple[Path, float]:
    """Return a generated list and the seconds it took; one from an earlier run is reused."""
    path = folder / shape.file_name
    if path.exists():
        return path, 0.0
    say(f"generating a list of {shape.entities:,} entities ...")
    partial = path.with_suffix(".part")
    seconds = seconds_of(lambda: write_list(partial, shape))
    partial.rename(path)
    return path, seconds


def two_processes(place: Path, names: Path) -> dict[str, float] | None:
    """Let two processes look up the same names; None if the system does not report pages."""
    with ExitStack() as stack:
        pids = [stack.enter_context(holding("kb_probe.hold", place, names)) for _ in range(2)]
        try:
            whole = [proportional(pid) for pid in pids]
            files = [proportional_files(pid, place) for pid in pids]
        except OSError:
            return None
    return {
        "rss_mb": sum(p.rss_mb for p in whole),
        "pss_mb": sum(p.pss_mb for p in whole),
        "shared_mb": sum(p.shared_mb for p in whole),
        "files_rss_mb": sum(p.rss_mb for p in files),
        "files_pss_mb": sum(p.pss_mb for p in files),
        "files_shared_mb": sum(p.shared_mb for p in files),
    }


def evict(*paths: Path) -> bool:
    """Drop files from the page cache; False if the system does not support it."""
    if not hasattr(os, "posix_fadvise"):
        return False
    for path in paths:
        with open(path, "rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return True


def _opened(place: Path, names: Path, repeats: int) -> dict[str, Any]:
    name = json.loads(names.read_text("utf-8"))["known"][0]
    opened, first, whole = [], [], []
    for _ in range(repeats):
        begin = time.perf_counter()
        answer = ask("kb_probe.opening", place, name)
        whole.append(time.perf_counter() - begin)
        opened.append(answer["seconds"])
        first.append(answer["first_seconds"])
    return {
        "seconds": statistics.median(opened),
        "slowest_seconds": max(opened),
        "first_lookup_seconds": statistics.median(first),
        "process_seconds": statistics.median(whole),
        "repeats": repeats,
    }


@dataclass(frozen=True)
class _Baseline:
    """The knowledge base of another version, made from the same list."""

    python: str
    place: Path
    build: dict[str, Any]

    @classmethod
    def build_one(
        cls, listed: Path, place: Path, python: str, say: Callable[[str], None]
    ) -> "_Baseline | None":
        """Build it; None without another version."""
        if not python:
            return None
        say("building it with the baseline ...")
        built, peak = watch("kb_probe.build", listed, place, python=python)
        return cls(python, place, built | {"peak": vars(peak)})


def _all(
    place: Path, file: Path, names: Path, turns: int, baseline: _Baseline | None
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any] | None]:
    """Look names up with all systems alternately, so that load on the machine affects all."""
    ours, theirs, earlier = [], [], []
    for _ in range(turns):
        ours.append(ask("kb_probe.lookups", place, names))
        theirs.append(ask("kb_probe.sqlite", file, names))
        if baseline is not None:
            words = baseline.place, names
            earlier.append(ask("kb_probe.lookups", *words, python=baseline.python))
    for kind in ours[0]:
        if len({answer[kind].pop("digest") for answer in ours + theirs}) > 1:
            raise RuntimeError(f"SQLite's answers differ from ours: {kind} names")
    if baseline is None:
        return _median(ours), _median(theirs), None
    for answer in earlier:
        for figures in answer.values():
            del figures["digest"]  # its priors are those of a knowledge base without variants
    record = {
        "build": baseline.build,
        "lookups": _median(earlier),
        "reader": ask("kb_probe.reader", baseline.place, names, python=baseline.python),
    }
    return _median(ours), _median(theirs), record


def _median(records: list[Any]) -> Any:
    """Return one record of the medians of equal records' numbers."""
    if isinstance(records[0], dict):
        return {key: _median([record[key] for record in records]) for key in records[0]}
    return statistics.median(records)


def _cold(place: Path, file: Path, names: Path) -> dict[str, float] | None:
    if not evict(*(p for p in place.rglob("*") if p.is_file())):
        return None
    ours = ask("kb_probe.cold", place, names)
    evict(file)
    theirs = ask("kb_probe.cold_sqlite", file, names)
    return {"us": 1e3 * ours["seconds"], "sqlite_us": 1e3 * theirs["seconds"]}
