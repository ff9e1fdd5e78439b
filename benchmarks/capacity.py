"""Costs of large jobs: measured on small ones, fitted, compared with larger ones, and written.

python -m benchmarks.capacity [--out FILE] [--only build|list] [--quick]

All times are processor times. Other work on the machine can double them, so builds are repeated,
and the least time counts. Costs are fitted to the smaller runs; the runs that the errors are stated
for are larger, and have more workers.
"""

import argparse
import bz2
import json
import shutil
import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO

import sgtb.capacity
from benchmarks.dump_generated import DumpShape, write_dump
from benchmarks.dump_repeated import real_dump, write_repeated
from benchmarks.kb_generated import ListShape, write_list
from benchmarks.kb_sizing import LIST, WIKI, WORLDS, computed, unit_bytes
from benchmarks.machine import machine
from benchmarks.measure import fit_line, rounded
from benchmarks.probes import Peak, ask, watch
from sgtb.capacity.cost_model import (
    ENGLISH_XML,
    GB,
    MB,
    Cluster,
    Costs,
    StageCost,
    link_cost,
    list_cost,
)

OUT = Path(sgtb.capacity.__file__).parent / "costs.json"
_STREAM = 900_000
_ROUNDS = 3  # times that a build or the start of a worker is measured


@dataclass(frozen=True)
class CapacityExtent:
    """Sizes of the runs that costs are fitted to; the last of each kind is predicted.

    dumps      bytes of XML
    pages      of trainings
    documents  that are linked, of each length
    lengths    characters of documents
    entities   of lists
    shipped    bytes of a file that is copied
    """

    dumps: tuple[int, ...] = (20_000_000, 40_000_000, 80_000_000)
    pages: tuple[int, ...] = (100, 200, 400)
    documents: int = 400
    lengths: tuple[int, ...] = (500, 2_000, 6_000)
    entities: tuple[int, ...] = (10_000, 20_000, 60_000)
    shipped: int = 200_000_000


QUICK = CapacityExtent(
    dumps=(4_000_000, 8_000_000, 16_000_000), pages=(40, 80, 160), documents=100,
    lengths=(500, 2_000), entities=(2_000, 4_000, 8_000), shipped=20_000_000,
)  # fmt: skip


@dataclass(frozen=True)
class Check:
    """A run that the model predicts: processor seconds."""

    run: str
    measured: float
    predicted: float

    @property
    def error(self) -> float:
        """Relative error of the prediction."""
        return self.predicted / self.measured - 1.0


class Measurement:
    """The runs in a folder, and the costs that follow from them."""

    def __init__(
        self, folder: Path, extent: CapacityExtent, known: dict[str, float] | None = None
    ) -> None:
        self._folder, self._extent = folder, extent
        self._costs = dict(known or {})
        self._xml = 0.0
        self._model, self._kb = folder / "model", folder / "kb"
        self._dump, self._texts = folder / "dump.xml.bz2", folder / "texts.json"

    def costs(self) -> Costs:
        """Return the fitted costs."""
        return Costs.of(self._costs)

    def run(self, only: str | None = None) -> list[Check]:
        """Make all runs, or only those of builds or of lists; return those that were predicted."""
        if only is not None:
            checks = [{"build": self._build, "list": self._list}[only]()]
        else:
            checks = [self._build(), self._train(), self._link(), self._list()]
            self._ship()
        return [Check(name, seen, self._predicted(name)) for name, seen in checks]

    def _ship(self) -> None:
        path = self._folder / "shipped"
        path.write_bytes(bytes(self._extent.shipped))
        shipped = ask("capacity_probe.ship", path, self._folder / "copy")
        self._costs["ship_gb"] = shipped["seconds"] / (shipped["bytes"] / GB)

    def _build(self) -> tuple[str, float]:
        """Fit builds; the largest has two workers."""
        runs = []
        sizes = self._extent.dumps
        for size in sizes:
            xml, packed = self._write_dump(size)
            workers = 2 if size == sizes[-1] else 1
            say(f"building from {xml / MB:,.0f} MB of XML, {workers} workers ...")
            run, peak = least("capacity_probe.build", self._dump, self._kb, workers)
            memory = peak.anon_mb / peak.processes
            runs.append(run | {"xml": xml, "packed": packed, "memory": memory})
        *fitted, last = runs
        x = [run["xml"] / MB for run in fitted]
        self._costs |= {
            "read_mb": through_zero(x, [run["reading"] for run in fitted]),
            "count_mb": through_zero(x, [run["seconds"] - run["reading"] for run in fitted]),
            "packed_share": last["packed"] / last["xml"],
            "kb_share": _kb_share(ask("kb_probe.sizes", self._kb)),
            "work_share": last["work_bytes"] / last["xml"],
            "build_mb": last["memory"],
        }
        self._xml = last["xml"]
        return f"build, {last['xml'] / MB:,.0f} MB of XML, 2 workers", last["seconds"]

    def _train(self) -> tuple[str, float]:
        runs = []
        for pages in self._extent.pages:
            say(f"training on {pages} pages ...")
            words = (self._dump, self._kb, pages, self._model, self._texts)
            runs.append(ask("capacity_probe.train", *words))
        *fitted, last = runs
        line = fit_line([run["pages"] for run in fitted], [run["seconds"] for run in fitted])
        self._costs |= {
            "train_start": max(line.intercept, 0.0),
            "train_page": max(line.slope, 0.0),
            "links_mb": statistics.mean(run["links"] for run in fitted) / (self._xml / MB),
        }
        return f"train, {last['pages']} pages", last["seconds"] + last["links"]

    def _link(self) -> tuple[str, float]:
        n = self._extent.documents

        def run(documents: int, length: int, jobs: int) -> Any:
            say(f"linking {documents:,} documents of {length:,} characters, {jobs} workers ...")
            words = (self._model, self._kb, self._texts, documents, length, jobs)
            return ask("capacity_probe.link", *words)

        runs = [run(n, length, 1) for length in self._extent.lengths]
        kilos = [length / 1000 for length in self._extent.lengths]
        line = fit_line(kilos, [one["seconds"] / n for one in runs])
        starts = [
            ask("capacity_probe.start", self._model, self._kb)["seconds"] for _ in range(_ROUNDS)
        ]
        self._costs |= {
            "link_document": max(line.intercept, 0.0),
            "link_kb": max(line.slope, 0.0),
            "result_kb": runs[0]["bytes"] / n / kilos[0],
            "worker_start": statistics.median(starts),
            "worker_mb": runs[-1]["anon_mb"],
        }
        more = run(4 * n, 1_000, 2)
        return f"link, {4 * n:,} documents of 1,000 characters, 2 workers", more["seconds"]

    def _list(self) -> tuple[str, float]:
        runs = []
        for entities in self._extent.entities:
            path, place = self._folder / "list.jsonl", self._folder / "list"
            write_list(path, ListShape(entities))
            say(f"building from a list of {entities:,} entities ...")
            answer, peak = least("capacity_probe.entity_list", path, place)
            runs.append(answer | {"memory": peak.anon_mb * MB})
        *fitted, last = runs
        x = [run["entities"] for run in fitted]
        self._costs |= {
            "list_entity": through_zero(x, [run["seconds"] for run in fitted]),
            "list_bytes": last["kb_bytes"] / last["entities"],
            "list_memory": max(
                0.0,
                fit_line([run["entities"] for run in runs], [run["memory"] for run in runs]).slope,
            ),
        }
        return f"list, {last['entities']:,} entities", last["seconds"]

    def _predicted(self, name: str) -> float:
        """Return the processor seconds that the model gives for a run."""
        costs, extent = self.costs(), self._extent
        megabytes = self._xml / MB
        if name.startswith("build"):
            work = megabytes * (costs.read_mb + costs.count_mb)
            return StageCost("build", work, 2 * costs.worker_start).seconds(1)
        if name.startswith("train"):
            pages = extent.pages[-1] * costs.train_page
            return costs.train_start + pages + megabytes * costs.links_mb
        if name.startswith("list"):
            return list_cost(costs, extent.entities[-1], Cluster()).core_hours * 3600
        return link_cost(costs, 4 * extent.documents, 1_000, 0, Cluster(2)).core_hours * 3600

    def _write_dump(self, size: int) -> tuple[int, int]:
        """Write a multistream dump of real pages, or of generated ones; return both sizes."""
        plain = self._folder / "dump.xml"
        if not plain.exists():
            source, most = real_dump(), self._extent.dumps[-1]
            if source is None:
                write_dump(plain, DumpShape(most, titles=max(2000, most // 10_000)))
            else:
                write_repeated(source, plain, most)
        xml = 0
        with open(plain, "rb") as read, open(self._dump, "wb") as packed:
            for data in _beginning(read, size):
                xml += len(data)
                packed.write(bz2.compress(data))
        return xml, self._dump.stat().st_size


def least(task: str, source: Path, place: Path, *words: object) -> tuple[dict[str, Any], Peak]:
    """Build in a folder several times; return the run with the least processor time."""
    runs = []
    for _ in range(_ROUNDS):
        shutil.rmtree(place, ignore_errors=True)
        runs.append(watch(task, source, place, *words))
    return min(runs, key=lambda run: run[0]["seconds"])


def _kb_share(sizes: dict[str, Any]) -> float:
    """Return bytes of a knowledge base per byte of XML, for the English Wikipedia.

    The available dumps have few redirects and few links to their own pages. Therefore bytes
    of one entity and one alias are measured, and multiplied by the numbers of `kb_sizing`.
    """
    english = next(world for world in WORLDS if world.name == "English Wikipedia")
    found = computed({WIKI: unit_bytes(sizes), LIST: unit_bytes(sizes)})
    (size,) = (
        row["total_gigabytes"] for row, world in zip(found, WORLDS, strict=True) if world is english
    )
    return float(size * GB / ENGLISH_XML)


def _beginning(dump: BinaryIO, size: int) -> Iterator[bytes]:
    """Yield the first pages of a dump in parts, up to the page that exceeds `size`."""
    done, step = 0, min(_STREAM, size // 4)
    while (data := dump.read(step)) and done + len(data) < size:
        done += len(data)
        yield data
    end = data.find(b"</page>")
    yield data[: end + len(b"</page>")] + b"\n</mediawiki>\n" if end >= 0 else data


def through_zero(x: Sequence[float], y: Sequence[float]) -> float:
    """Return the slope of the line through zero, by least relative squares."""
    return statistics.fmean(b / a for a, b in zip(x, y, strict=True))


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--only", choices=("build", "list"), help="update these costs of FILE")
    parser.add_argument("--quick", action="store_true", help="small runs, to try it")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        known = json.loads(options.out.read_text()) if options.only else {"checks": [], "costs": {}}
        extent = QUICK if options.quick else CapacityExtent()
        found = Measurement(Path(folder), extent, known["costs"])
        checks = found.run(options.only)
        costs = found.costs()
    new = [rounded({**asdict(check), "error": check.error}) for check in checks]
    kept = [check for check in known["checks"] if not check["run"].startswith(f"{options.only},")]
    record = {
        "machine": machine(),
        "costs": rounded(asdict(costs)),
        "checks": sorted([*kept, *new], key=lambda check: str(check["run"])),
    }
    options.out.write_text(json.dumps(record, indent=1) + "\n")
    for check in checks:
        print(
            f"{check.run}: measured {check.measured:.1f} s, predicted {check.predicted:.1f} s, "
            f"{check.error:+.0%}"
        )


if __name__ == "__main__":
    main()
