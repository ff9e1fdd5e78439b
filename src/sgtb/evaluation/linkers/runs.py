"""Runs: every document of every data set, linked by every linker."""

from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np

from sgtb.core.dtypes import Longs
from sgtb.core.errors import CorpusError, SettingsError
from sgtb.core.progress import Progress, silent
from sgtb.core.records import Document
from sgtb.evaluation import Interval, PrecisionRecall, ratio_interval
from sgtb.evaluation.linkers.resolved_gold import ResolvedGold, copy_linker, link_resolved
from sgtb.evaluation.linkers.systems import Baseline, System, chosen_by_linker
from sgtb.kb.knowledge_base import KnowledgeBase
from sgtb.linking.link_options import check_count
from sgtb.linking.linker import Linker
from sgtb.linking.links import LinkedDocument

Place = tuple[str, str]  # a data set and a split of it
Counts = TypeVar("Counts")


@dataclass(frozen=True)
class EvaluationSettings:
    """Settings of an evaluation.

    samples  of documents, drawn for each interval
    level    the share of samples that an interval holds
    seed     of the draws
    bins     of the calibration error
    """

    samples: int = 2_000
    level: float = 0.95
    seed: int = 0
    bins: int = 10

    def __post_init__(self) -> None:
        for name, low in (("samples", 1), ("seed", 0), ("bins", 1)):
            check_count(name, getattr(self, name), low)
        if not 0 < self.level < 1:
            raise SettingsError(f"level must lie between 0 and 1, as 0.95 does, not {self.level!r}")


class Run(NamedTuple):
    """A document and the answers of a system to it."""

    place: Place
    system: str
    resolved: ResolvedGold
    found: LinkedDocument
    choose: System  # whose answers count: those of the linker, or of a baseline with its candidates
    linker: Linker  # open while the run is used


def run_linkers(
    linkers: Mapping[str, Linker],
    data: Mapping[str, Iterable[Document]],
    *,
    baselines: Sequence[str] = (),
    jobs: int = 1,
    progress: Progress | None = None,
    from_text: bool = False,
    failed: dict[str, CorpusError] | None = None,
) -> Iterator[Run]:
    """Yield the runs, one linker after the other; baselines have the candidates of the first.

    from_text  whether mentions are detected; else they are those of the annotation
    failed     gets the error of each data set that cannot be read to its end, by its name; the
               others go on. None: the first error is raised
    """
    _check(linkers, data, baselines)
    progress = progress or silent
    sizes: Counter[str] = Counter()  # of streamed data sets, known after the first linker
    for i, (name, linker) in enumerate(linkers.items()):
        systems: dict[str, System] = {name: chosen_by_linker}
        with copy_linker(linker, reasons=False) as own:
            if i == 0:
                systems |= {baseline: Baseline(own.kb, baseline) for baseline in baselines}
            for title, documents in data.items():
                if failed and title in failed:
                    continue
                total = len(documents) if isinstance(documents, Sized) else sizes[title]
                try:
                    linked = link_resolved(own, documents, jobs, from_text)
                    for done, (resolved, found) in enumerate(linked, 1):
                        for system, choose in systems.items():
                            place = title, resolved.known.split
                            yield Run(place, system, resolved, found, choose, own)
                        sizes[title] = max(sizes[title], done)
                        progress(f"{name} on {title}", done, total)
                except CorpusError as error:
                    if failed is None:
                        raise
                    failed[title] = error


def counted(
    runs: Iterable[Run],
    systems: Sequence[str],
    new: Callable[[Run], Counts],
    add: Callable[[Counts, Run], None],
    failed: Collection[str] = (),
) -> Iterator[tuple[Place, str, dict[str, Counts]]]:
    """Yield each split of a data set, its label, and the counts of its runs by system.

    systems  in the order of the counts
    new      returns the empty counts of a system, given its first run
    add      adds a run to counts
    failed   data sets to leave out, known after the last run
    """
    counts: dict[Place, dict[str, Counts]] = {}
    for run in runs:
        by_system = counts.setdefault(run.place, {})
        if run.system not in by_system:
            by_system[run.system] = new(run)
        add(by_system[run.system], run)
    for (name, split), by_system in counts.items():
        if name not in failed:
            several = sum(other == name for other, _ in counts) > 1
            label = f"{name}, {split or 'no split'}" if several else name
            yield (name, split), label, {system: by_system[system] for system in systems}


class DocumentCounts:
    """Whole numbers by kind and name, one of each per document: data sets of any size fit."""

    def __init__(self) -> None:
        self._columns: defaultdict[str, array[int]] = defaultdict(lambda: array("q"))

    def put(self, kind: str, **counts: int) -> None:
        """Append the counts of a document."""
        for name, n in counts.items():
            self._columns[f"{kind} {name}"].append(n)

    def column(self, kind: str, name: str) -> Longs:
        """Return a count by document."""
        return np.array(self._columns[f"{kind} {name}"], np.int64)

    def sum(self, kind: str, name: str) -> int:
        """Return a count over all documents."""
        return int(self.column(kind, name).sum())

    def precision_recall(self, kind: str) -> PrecisionRecall:
        """Return the counts "right", "predicted" and "gold" of a kind."""
        return PrecisionRecall(*(self.sum(kind, name) for name in _RETRIEVAL))

    def f1_interval(self, kind: str, settings: EvaluationSettings) -> Interval | None:
        """Return F1 with its interval: twice the right ones, by the predicted and gold ones."""
        right, predicted, gold = (self.column(kind, name) for name in _RETRIEVAL)
        return interval_of(2 * right, predicted + gold, settings)


_RETRIEVAL = ("right", "predicted", "gold")


def interval_of(part: Longs, total: Longs, settings: EvaluationSettings) -> Interval | None:
    """Return a ratio with its interval; None: there is nothing to draw from."""
    if not total.any():
        return None
    return ratio_interval(part, total, settings.samples, settings.seed, settings.level)


def common_kb(linkers: Mapping[str, Linker]) -> KnowledgeBase:
    """Return the knowledge base of all linkers; gold is resolved against it."""
    kbs = [linker.kb for linker in linkers.values()]
    if not kbs:
        raise SettingsError("there is no linker to evaluate: give at least one")
    for kb in kbs[1:]:
        if kb.state.fingerprint != kbs[0].state.fingerprint:
            raise SettingsError(
                f"one linker has the knowledge base {kbs[0].path}, another {kb.path}, and they "
                "differ; compare linkers of one knowledge base"
            )
    return kbs[0]


def _check(
    linkers: Mapping[str, Linker], data: Mapping[str, Iterable[Document]], baselines: Sequence[str]
) -> None:
    for name in baselines:
        if name in linkers:
            raise SettingsError(f"a linker has the name {name!r} of a baseline; give it another")
    if not data:
        raise SettingsError("there is nothing to evaluate on: give at least one data set")
    for name, documents in data.items():
        if iter(documents) is documents:
            raise SettingsError(
                f"the data set {name!r} can be gone through only once; give a list or a CorpusFile"
            )
