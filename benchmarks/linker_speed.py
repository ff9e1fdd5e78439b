"""Speed of a linker: documents per second, and latency of one document.

Other versions of the package run this module, too: it uses the linker's public interface only.
"""

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import seconds_of
from sgtb.core.records import Document
from sgtb.linking.link_options import LinkerSettings
from sgtb.linking.linker import Linker
from sgtb.linking.linker_model import LinkerModel
from sgtb.linking.links import Linkable

CANDIDATES = 5


@dataclass(frozen=True)
class Subject:
    """A model, its knowledge base, and documents.

    documents  measured ones
    others     of the same kind, linked before measuring starts
    """

    model: LinkerModel
    kb: Path
    documents: Sequence[Linkable]
    others: Sequence[Linkable]

    def linker(self, reasons: bool = False) -> Linker:
        """Return a linker that has linked the other documents, but none of these."""
        settings = LinkerSettings(candidates=CANDIDATES, reasons=reasons)
        linker = Linker(self.model, self.kb, settings)
        for document in self.others:
            linker.link(document)
        return linker


def throughput(subject: Subject, jobs: int, passes: int, reasons: bool = False) -> dict[str, Any]:
    """Link all documents repeatedly.

    The first pass reads the entities' facts from the knowledge base and, with several jobs,
    starts the processes.
    """
    with subject.linker(reasons) as linker:
        first = seconds_of(lambda: exhaust(linker, subject.documents, jobs))
        for _ in range(2 * (jobs - 1)):  # a process may get other documents than it had before
            exhaust(linker, subject.documents, jobs)
        used = time.process_time()
        warm = [seconds_of(lambda: exhaust(linker, subject.documents, jobs)) for _ in range(passes)]
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
        # Other programs affect wall time, not processor time.
        "processor_ms": 1e3 * used / n if jobs == 1 else None,
    }


def exhaust(linker: Linker, documents: Sequence[Linkable], jobs: int) -> None:
    """Read every link: they are created on access."""
    for linked in linker.pipe(documents, jobs):
        for link in linked.links:
            _ = link.entity, link.confidence


def latency(linker: Linker, document: Linkable, calls: int) -> dict[str, float]:
    """Link a single document repeatedly."""
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
