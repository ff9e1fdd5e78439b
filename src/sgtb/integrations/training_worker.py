"""Training worker: the documents that one worker of a cluster trains on.

A WorkerDocuments is the result of a Dask task: Dask keeps it on its worker, and releases it with
the client. `answer` finds it by its token and calls one of its methods.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any, NamedTuple
from weakref import WeakValueDictionary, finalize

import numpy as np

import sgtb
from sgtb.boosting.data.binning import Binner
from sgtb.boosting.data.problems import Problems
from sgtb.boosting.data.quantiles import SortedColumn
from sgtb.boosting.search.beam import SearchPlan
from sgtb.boosting.search.collector import Collector, Epoch, gold_path_lengths, gold_path_rows
from sgtb.boosting.trainer import (
    DevDocuments,
    JobSettings,
    TrainingSettings,
    begun_forest,
    point_rows,
)
from sgtb.boosting.trees.forest import Forest, ForestBuilder
from sgtb.boosting.trees.grower import NodeSplit, PointRows, Tree, TreeSettings
from sgtb.boosting.trees.histogram import BINS, Grid, Magnitudes
from sgtb.core.dtypes import Floats, Ints, Longs
from sgtb.core.errors import SgtbError
from sgtb.core.settings import from_dict
from sgtb.core.thread_pool import ThreadPool

_MOST_MEMORY = 0.65
"""Largest share of the memory limit of a worker in use once its documents are there. Dask moves
results to disk at 70 %, and pauses a worker at 80 %."""

_NO_VALUES = np.zeros(0, np.float32)

_HELD: "WeakValueDictionary[str, WorkerDocuments]" = WeakValueDictionary()


class PartRecord(NamedTuple):
    """What the client knows of a part of the documents."""

    n_mentions: int
    n_gold: int
    n_local: int
    n_pair: int
    digest: str
    lengths: Longs  # i8[D]: rows of the documents' gold paths; empty for dev and plan local


def settings_to_json(settings: JobSettings) -> bytes:
    """Return settings as JSON, with the version of the package."""
    return json.dumps({**asdict(settings), "version": sgtb.__version__}).encode()


def settings_of_json(data: bytes) -> JobSettings:
    """Return what `settings_to_json` wrote; raise if the client runs another version."""
    record = json.loads(data)
    if record["version"] != sgtb.__version__:
        raise SgtbError(
            f"a worker runs sgtb {sgtb.__version__}, the client {record['version']}; install the "
            "same version on all machines"
        )
    return JobSettings(
        from_dict(SearchPlan, record["plan"]),
        from_dict(TreeSettings, record["trees"]),
        from_dict(TrainingSettings, record["training"]),
        record["n_local"],
        record["n_pair"],
    )


def hold(token: str, settings: bytes) -> "WorkerDocuments":
    """Make an empty WorkerDocuments, for `answer` to find."""
    held = _HELD[token] = WorkerDocuments(settings_of_json(settings))
    return held


def answer(token: str, n_parts: int, method: str, *args: Any) -> Any:
    """Call a method of the WorkerDocuments; None if it is not here, or lacks parts."""
    held = _HELD.get(token)
    if held is None or held.n_parts != n_parts:
        return None
    return getattr(held, method)(*_copied(args))


def _copied(value: Any) -> Any:
    """Copy all arrays: those of a message may be read-only, or not aligned."""
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, Mapping):
        return {key: _copied(own) for key, own in value.items()}
    return tuple(map(_copied, value)) if isinstance(value, tuple) else value


class WorkerDocuments:
    """The parts of the documents on this worker; arguments and results are arrays and numbers.

    Methods that need the forest take the number of its trees and the last one, which they add if
    it is missing; they return None if that is not enough.
    """

    def __init__(self, settings: JobSettings) -> None:
        from distributed import get_worker

        self._settings = settings
        self._worker = get_worker()
        self._pool = ThreadPool(settings.training.threads or self._worker.state.nthreads)
        finalize(self, self._pool.__exit__)
        self._train: dict[int, Problems] = {}
        self._dev: dict[int, Problems] = {}
        self._columns: dict[int, SortedColumn] = {}
        self._forest: ForestBuilder | None = None
        self._collectors: list[Collector] = []
        self._held_out: list[DevDocuments] = []
        self._rows: list[PointRows] = []
        self.n_parts = 0

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        # Dask moves the results of a worker that it retires. Documents are loaded again instead.
        return type(None), ()

    def load(self, parts: tuple[tuple[Any, ...], ...]) -> list[PartRecord]:
        """Load parts: number, whether it is dev, file or arrays, number of pair features."""
        self._columns = {}
        return [self._load(*part) for part in parts]

    def _load(
        self, number: int, is_dev: bool, documents: str | Mapping[str, Any], n_pair: int
    ) -> PartRecord:
        if isinstance(documents, str):
            problems = Problems.load(documents)
        else:
            problems = Problems.from_tensors(documents, n_pair)
        (self._dev if is_dev else self._train)[number] = problems
        self.n_parts += 1
        self._check_memory()
        plan = self._settings.plan
        lengths = np.zeros(0, np.int64)
        if plan.uses_history and not is_dev:
            lengths = gold_path_lengths(problems, plan)
        return PartRecord(
            problems.n_mentions, int((problems.gold >= 0).sum()), problems.n_local,
            problems.n_pair, problems.digest(), lengths,
        )  # fmt: skip

    def columns(self, requests: Mapping[int, tuple[Any, ...]]) -> dict[int, Any]:
        """Call methods of the SortedColumns of local features."""
        parts = [problems.local for problems in self._train.values()]
        if not self._columns.keys() >= requests.keys():
            self._columns = {
                f: SortedColumn(np.concatenate([*(own[:, f] for own in parts), _NO_VALUES]))
                for f in requests
            }
        return {f: getattr(self._columns[f], name)(*a) for f, (name, *a) in requests.items()}

    def sample(self, documents: Mapping[int, Ints]) -> list[Floats]:
        """Return the gold path rows of some documents of the parts here."""
        return [
            gold_path_rows(problems, self._settings.plan, documents[number])
            for number, problems in self._train.items()
            if number in documents
        ]

    def begin(self, n_local: int, thresholds: Floats, n_bins: Ints, forest: tuple[Any, ...]) -> int:
        """Prepare the parts loaded for the search, with the trees of a forest."""
        settings = replace(self._settings, n_local=n_local)
        binner = Binner(thresholds, n_bins)
        self._binner, self._columns = binner, {}
        if self._forest is None:
            self._forest = begun_forest(settings, binner, Forest(*forest))
        for number in list(self._train):
            problems = self._train.pop(number)  # its raw features are not needed any more
            self._collectors.append(
                Collector(
                    problems, settings.plan, binner, self._forest, self._pool,
                    settings.training.incremental,
                )
            )  # fmt: skip
            self._check_memory()
        for number in list(self._dev):
            problems = self._dev.pop(number)
            self._held_out.append(DevDocuments(problems, settings.plan, binner, self._pool))
            self._check_memory()
        return self.n_parts

    def search(
        self, n_trees: int, tree: tuple[Any, ...] | None
    ) -> tuple[int, Any, int, int] | None:
        """Search the training documents; return magnitudes, mentions right and visited."""
        if not self._has(n_trees, tree):
            return None
        epochs: list[Epoch] = [collector.collect() for collector in self._collectors]
        self._rows = [point_rows(epoch, self._binner, self._pool) for epoch in epochs]
        n_rows, digits = Magnitudes.total([rows.magnitudes() for rows in self._rows])
        return n_rows, digits, sum(e.right for e in epochs), sum(e.visited for e in epochs)

    def root(self, count_bits: int, scale: float) -> tuple[int, Longs]:
        """Return the packed sum of all rows, and their histogram."""
        total, histogram = 0, np.zeros((self._binner.n_features, BINS), np.int64)
        for rows in self._rows:
            own, counts = rows.root(Grid(count_bits, scale))
            total += own
            histogram += counts
        return total, histogram

    def split(self, splits: Longs) -> Longs:
        """Divide the rows of nodes among their children; return the histograms counted."""
        wanted = [NodeSplit(*split) for split in splits.tolist()]
        counted = np.zeros((len(wanted), self._binner.n_features, BINS), np.int64)
        for rows in self._rows:
            for total, own in zip(counted, rows.split(wanted), strict=True):
                total += own
        return counted

    def n_right(self, n_trees: int, tree: tuple[Any, ...] | None) -> int | None:
        """Return the number of mentions of dev decided right."""
        if not self._has(n_trees, tree) or self._forest is None:
            return None
        return sum(part.n_right(self._forest) for part in self._held_out)

    def _has(self, n_trees: int, tree: tuple[Any, ...] | None) -> bool:
        """Add the last tree if it is missing; return whether the forest is complete."""
        if self._forest is None:
            return False
        if tree is not None and self._forest.n_trees == n_trees - 1:
            self._forest.append(Tree(*tree))
        return self._forest.n_trees == n_trees

    def _check_memory(self) -> None:
        limit = self._worker.memory_manager.memory_limit
        used = self._worker.monitor.get_process_memory()
        if limit and used > _MOST_MEMORY * limit:
            raise SgtbError(
                f"the documents do not fit: worker {self._worker.address} uses "
                f"{used / 1e6:,.0f} MB of its limit of {limit / 1e6:,.0f} MB; start more workers, "
                "or raise their limit (dask worker --memory-limit)"
            )
