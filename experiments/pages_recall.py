"""Recall of candidates in a knowledge base from plain pages: WNED's sets and AIDA-CoNLL's train.

Mentions count if their gold title is a page of the knowledge base. By name: the gold entity is
among the candidates of the mention's own name. In context: among those that the linker looks up,
which also uses other mentions of the document.
"""

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from sgtb.core.progress import Progress
from sgtb.core.records import Document
from sgtb.evaluation.metrics import normal_title
from sgtb.formats.codecs.aida_conll import read_aida
from sgtb.formats.codecs.wned_corpus import read_wned
from sgtb.kb.check import check
from sgtb.kb.knowledge_base import KnowledgeBase
from sgtb.linking.candidates.candidate_lookup import CandidateFinder, CandidateSettings
from sgtb.pages.pages_build import build_pages
from sgtb.pages.pages_settings import PagesSettings

FILES = ("simplewiki.jsonl.xz", "enwiki-early.jsonl.xz", "enwiki-2014.jsonl.xz")
"""Files of the folder pages/; of repeated titles the first counts, which has the longest text."""
DEVELOPMENT = "AIDA train"
TOP = 30


@dataclass(frozen=True)
class RecallRow:
    """Mentions of a set: all linked ones, those whose page is known, and those found."""

    name: str
    mentions: int
    known: int
    by_name: int
    in_context: int


@dataclass(frozen=True)
class PagesResult:
    """Counts of the knowledge base, and recall per set; the development set comes last.

    seconds  None: the knowledge base was given
    """

    entities: int
    names: int
    links: int
    kb_bytes: int
    problems: int
    seconds: float | None
    rows: tuple[RecallRow, ...]


def build_kb(data: Path, out: Path, workers: int, progress: Progress | None = None) -> float:
    """Build the knowledge base of all pages; return the seconds."""
    begin = time.monotonic()
    files = [data / "pages" / name for name in FILES]
    build_pages(files, out, PagesSettings(workers=workers, ids="title"), progress)
    return time.monotonic() - begin


def run_recall(
    data: Path, path: Path, seconds: float | None = None, progress: Progress | None = None
) -> PagesResult:
    """Check a knowledge base and measure the recall of its candidates."""
    report = check(path, progress)
    sets = [(corpus.name, corpus.documents) for corpus in read_wned(data / "wned.tar.xz")]
    train = [d for d in read_aida(data / "aida") if d.split == "train"]
    with KnowledgeBase.open(path) as kb:
        rows = [recall_of(kb, name, documents) for name, documents in sets]
        rows.append(recall_of(kb, DEVELOPMENT, train))
        return PagesResult(
            entities=report.entities,
            names=report.names,
            links=report.links,
            kb_bytes=kb.size,
            problems=len(report.problems),
            seconds=seconds,
            rows=tuple(rows),
        )


def recall_of(kb: KnowledgeBase, name: str, documents: Sequence[Document]) -> RecallRow:
    """Count the mentions whose gold entity is among the candidates."""
    finder = CandidateFinder(kb, CandidateSettings(top=TOP))
    mentions = known = by_name = in_context = 0
    for document in documents:
        found = finder.find([document])
        own = kb.candidate_lists([mention.text for mention in document.mentions], TOP)
        for m, mention in enumerate(document.mentions):
            if not mention.in_kb or mention.gold is None:
                continue
            mentions += 1
            gold = kb.number(normal_title(mention.title or mention.gold))
            if gold is not None:
                known += 1
                by_name += gold in own.entity[own.offsets[m] : own.offsets[m + 1]]
                in_context += gold in found.entity[found.offsets[m] : found.offsets[m + 1]]
    return RecallRow(name, mentions, known, int(by_name), int(in_context))


def as_json(result: PagesResult) -> dict[str, Any]:
    """Return the result as a JSON object."""
    wned = [row for row in result.rows if row.name != DEVELOPMENT]
    return {
        **asdict(result),
        "mean_by_name": _mean([row.by_name / row.known for row in wned]),
        "mean_in_context": _mean([row.in_context / row.known for row in wned]),
    }


def show(record: dict[str, Any]) -> None:
    """Print the table."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("set")
    for column in ("mentions", "page known", "by name %", "in context %"):
        table.add_column(column, justify="right")
    for row in record["rows"]:
        shares = (f"{100 * row[key] / row['known']:.1f}" for key in ("by_name", "in_context"))
        table.add_row(row["name"], f"{row['mentions']:,}", f"{row['known']:,}", *shares)
    means = (f"{100 * record[key]:.1f}" for key in ("mean_by_name", "mean_in_context"))
    table.add_row("mean of WNED", "", "", *means)
    Console().print(table)
    built = "" if record["seconds"] is None else f", built in {record['seconds']:.0f} s"
    print(
        f"{record['entities']:,} entities, {record['names']:,} names, {record['links']:,} links, "
        f"{record['kb_bytes'] / 1e6:.0f} MB{built}; check: {record['problems']} problems"
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
