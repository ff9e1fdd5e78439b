"""A linker's speed: documents a second, how long one document takes, and what its stages take."""

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import seconds_of
from sgtb.learn.dense_pairs import with_dense_pairs
from sgtb.linking.answers import Decided, decide, widened
from sgtb.linking.linker import BATCH, Linkable, Linker, LinkerSettings
from sgtb.linking.linker_model import LinkerModel
from sgtb.linking.parts import cut
from sgtb.linking.shortlist import shortlisted
from sgtb.records import Document

CANDIDATES = 5


@dataclass(frozen=True)
class Subject:
    """A model, its knowledge base, and what to link.

    documents  what is measured
    others     of the same kind, to load kernels with
    """

    model: LinkerModel
    kb: Path
    documents: Sequence[Linkable]
    others: Sequence[Linkable]

    def linker(self, reasons: bool = False) -> Linker:
        """Return a linker that has seen none of the documents; its kernels are loaded."""
        settings = LinkerSettings(candidates=CANDIDATES, reasons=reasons)
        linker = Linker.load(self.model, self.kb, settings)
        for document in self.others:
            linker.link(document)
        return linker


def throughput(subject: Subject, jobs: int, passes: int, reasons: bool = False) -> dict[str, Any]:
    """Link all documents again and again.

    The first pass reads the entities' facts from the knowledge base, and with several jobs it
    starts the processes; the others find them made.
    """
    with subject.linker(reasons) as linker:
        first = seconds_of(lambda: _exhaust(linker, subject.documents, jobs))
        for _ in range(2 * (jobs - 1)):  # a process may get other documents than it had before
            _exhaust(linker, subject.documents, jobs)
        used = time.process_time()
        warm = [
            seconds_of(lambda: _exhaust(linker, subject.documents, jobs)) for _ in range(passes)
        ]
        used = (time.process_time() - used) / passes
        mentions = sum(len(linked.links) for linked in linker.pipe(subject.documents))
    n, seconds = len(subject.documents), statistics.median(warm)
    return {
        "jobs": jobs,
        "reasons": reasons,
        "documents": n,
        "mentions": mentions,
        "passes": passes,
        "first_docs_per_second": n / first,
        "docs_per_second": n / seconds,
        # Other programs take time from the clock on the wall, not from the processor's.
        "processor_ms": 1e3 * used / n if jobs == 1 else None,
    }


def _exhaust(linker: Linker, documents: Sequence[Linkable], jobs: int) -> None:
    """Read every answer: links are made when they are asked for."""
    for linked in linker.pipe(documents, jobs):
        for link in linked.links:
            _ = link.entity, link.confidence


def latency(linker: Linker, document: Linkable, calls: int) -> dict[str, float]:
    """Link one document again and again, by itself."""
    links = linker.link(document).links
    taken, used = [], []
    for _ in range(calls):
        before = time.process_time()
        taken.append(1e3 * seconds_of(lambda: linker.link(document).links))
        used.append(1e3 * (time.process_time() - before))
    p50, p99 = np.percentile(taken, [50, 99])
    return {
        "calls": calls, "mentions": len(links), "p50_ms": float(p50), "p99_ms": float(p99),
        "processor_p50_ms": statistics.median(used),
    }  # fmt: skip


def median_document(documents: Sequence[Document]) -> Document:
    """Return a document of median length."""
    return sorted(documents, key=lambda document: len(document.text))[len(documents) // 2]


def stages(subject: Subject) -> dict[str, float]:
    """Return the milliseconds of the processor that each stage takes a document, all warm.

    This takes a linker apart: what it does in one go is done here step by step.
    """
    total: dict[str, float] = {}
    with subject.linker(reasons=True) as linker:
        _exhaust(linker, subject.documents, 1)
        given = iter(subject.documents)
        while batch := list(islice(given, BATCH)):
            _take_apart(linker, batch, total)
    taken = {name: 1e3 * seconds / len(subject.documents) for name, seconds in total.items()}
    return apart(taken)


def apart(taken: Mapping[str, float]) -> dict[str, float]:
    """Return stages that do not overlap: what a step does alone, without the steps within it."""
    return {
        "tokens, mentions": taken["part"],
        "candidates": taken["find"],
        "facts of entities": taken["lay_out"] - taken["find"],
        "features": taken["table"],
        "learned features": taken["featurizer"],
        "packing": taken["shortlist"] + taken["pack"],
        # Done by itself, the search puts features on bins; the whole decision finds them there.
        "search": taken["decode"],
        "alternatives": taken["alternatives"],
        "links": taken["links"],
        "reasons": taken["explain"] - taken["decide"] + taken["told"] - taken["links"],
    }


def _take_apart(linker: Linker, batch: Sequence[Linkable], total: dict[str, float]) -> None:
    bench, model, system, answers = linker._bench, linker.model, linker._system, linker._answers

    def timed(name: str, work: Callable[[], Any]) -> Any:
        begin = time.process_time()
        result = work()
        total[name] = total.get(name, 0.0) + time.process_time() - begin
        return result

    def links_of(decided: Decided) -> Any:
        wide = widened(decided, shortlist, layout.choices)
        return [columns.links() for columns in answers.links(parts, layout, wide)]

    parts = timed("part", lambda: [part for one in batch for part in cut(linker.part(one))])
    documents = [part.document for part in parts]
    timed("find", lambda: bench.finder.find(documents))
    layout = timed("lay_out", lambda: bench.lay_out(documents))
    table = timed("table", lambda: bench.table(layout))
    features = timed("featurizer", lambda: model.featurizer.features(table))
    shortlist = timed(
        "shortlist", lambda: shortlisted(layout.choices, features, model.schema, model.without)
    )
    searched = replace(layout, choices=shortlist.choices)
    problems = timed(
        "pack",
        lambda: with_dense_pairs(bench.pack(searched, features[shortlist.rows], model.without)),
    )
    clamp = np.full(problems.n_mentions, -1, np.int32)
    decoding = timed("decode", lambda: system.decode(problems, clamp=clamp))
    timed("alternatives", lambda: system.alternatives(problems, decoding, clamp))
    plain = timed("decide", lambda: decide(problems, system, clamp, False))
    timed("links", lambda: links_of(plain))
    told = timed("explain", lambda: decide(problems, system, clamp, True))
    timed("told", lambda: links_of(told))
