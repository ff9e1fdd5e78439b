"""Training on a Dask cluster: documents stay on their workers, which return integer histograms.

    client                                      workers
    forest so far, last tree     ── search ──►  search their documents
    grid of all residuals        ── root ────►  pack residuals, count histograms
    splits of a level            ── split ───►  divide their rows, count histograms
    next tree                    ◄── sums ────

The sums are exact, so a model does not depend on the number of workers: it has the bytes that
`StructuredGradientBoosting.fit` gives on one machine.
"""

import os
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from sgtb.boosting.data.binning import Binner
from sgtb.boosting.data.problems import Problems
from sgtb.boosting.data.quantiles import choose_cuts
from sgtb.boosting.estimator import StructuredGradientBoosting
from sgtb.boosting.search.collector import sampled_documents
from sgtb.boosting.trainer import NO_GOLD, JobSettings, begun_forest
from sgtb.boosting.training_progress import Callback
from sgtb.boosting.trees.forest import Forest, ForestBuilder
from sgtb.boosting.trees.grower import NodeSplit, Tree, grow
from sgtb.boosting.trees.histogram import Grid, Magnitudes
from sgtb.core.dtypes import Ints, Longs
from sgtb.core.errors import ProblemsError, SgtbError, import_extra
from sgtb.integrations.training_worker import PartRecord, answer, hold, settings_to_json

if TYPE_CHECKING:
    from distributed import Client

Documents = Problems | str | os.PathLike[str]
"""Documents in memory, or a problems file that all workers can read."""

_PART_BYTES = 1 << 22
_PARTS = 64
"""Documents in memory are divided into parts of about this many bytes, or this many parts. Parts do
not depend on the workers: a checkpoint serves any number of them."""
_MESSAGE_BYTES = 1 << 23  # documents on their way to a worker at once
_COLUMNS = 8  # features whose bins are chosen at once; workers sort their values
_MOST_LOSSES = 10  # losses of workers in a row, without a new tree, before training ends
_POLL_SECONDS = 0.2
_FETCH_SECONDS = 60.0  # for a result that is there; a worker that left may have taken it along
_WORKER_SECONDS = 120  # longest time without any worker

Result = TypeVar("Result")


def fit(
    client: "Client",
    estimator: StructuredGradientBoosting,
    train: Documents | Sequence[Documents],
    dev: Documents | Sequence[Documents] | None = None,
    *,
    checkpoint: str | os.PathLike[str] | None = None,
    callbacks: Sequence[Callback] = (),
    progress: bool = False,
) -> StructuredGradientBoosting:
    """Train an estimator on a cluster; the result is that of `estimator.fit`.

    train, dev  Problems, files that `Problems.save` wrote, or several of these. Files are read by
                the workers only
    """
    parts = [*_parts(train, False), *(() if dev is None else _parts(dev, True))]
    with ClusterSource(client, parts, estimator.job_settings(0, 0)) as source:
        return estimator.fit_from(
            source, checkpoint=checkpoint, callbacks=callbacks, progress=progress
        )


class DocumentPart(NamedTuple):
    """Documents that stay together: a problems file, or a slice of documents in memory."""

    documents: str | Problems
    is_dev: bool
    start: int = 0
    stop: int = 0

    @property
    def size(self) -> int:
        """Number of bytes, about; 0 if the file cannot be seen from here."""
        if isinstance(self.documents, str):
            return os.path.getsize(self.documents) if os.path.exists(self.documents) else 0
        offsets = self.documents.candidate_offsets[self.documents.mention_offsets]
        return int(offsets[self.stop] - offsets[self.start]) * (4 * self.documents.n_local + 8)

    def message(self) -> tuple[str | Mapping[str, Any], int]:
        """Return the file, or the arrays, and the number of pair features."""
        if isinstance(self.documents, str):
            return self.documents, 0
        own = self.documents[self.start : self.stop].compacted()
        return own.tensors(), own.n_pair


def _parts(given: Documents | Sequence[Documents], is_dev: bool) -> Iterator[DocumentPart]:
    if isinstance(given, Problems | str | os.PathLike):
        given = [given]
    for documents in given:
        if not isinstance(documents, Problems):
            yield DocumentPart(os.path.abspath(documents), is_dev)
            continue
        whole = DocumentPart(documents, is_dev, 0, len(documents))
        n_parts = max(_PARTS, -(-whole.size // _PART_BYTES))
        ends = documents.candidate_offsets[documents.mention_offsets[1:]].astype(np.int64)
        at = np.arange(1, n_parts) * documents.n_candidates // n_parts
        borders = np.unique([0, *np.searchsorted(ends, at), len(documents)])
        for start, stop in pairwise(borders.tolist()):
            yield DocumentPart(documents, is_dev, start, stop)


class WorkersLostError(SgtbError):
    """Workers were lost; `addresses` names them."""

    def __init__(self, addresses: list[str]) -> None:
        super().__init__(f"lost workers: {', '.join(addresses)}")
        self.addresses = addresses


@dataclass
class _Holder:
    """A worker with documents: the reference that keeps them there, and the parts they are."""

    token: str
    reference: Any
    parts: list[int] = field(default_factory=list)


class ClusterSource:
    """Documents on the workers of a cluster; those of a lost worker are loaded by others."""

    binner: Binner
    forest: ForestBuilder

    def __init__(self, client: "Client", parts: list[DocumentPart], settings: JobSettings) -> None:
        self._distributed = import_extra("distributed", "dask", "training on a cluster needs")
        self._client: Any = client  # much of its interface is not typed
        self._parts, self.settings = parts, settings
        self._holders: dict[str, _Holder] = {}
        self._records: dict[int, PartRecord] = {}
        self._tree: Tree | None = None
        self._begun = False
        try:
            self._retried(lambda: None)
            self._check_documents()
        except BaseException:
            self._release(list(self._holders))
            raise

    def __enter__(self) -> "ClusterSource":
        return self

    def __exit__(self, *error: object) -> None:
        self._release(list(self._holders))

    def digests(self) -> tuple[list[str], list[str]]:
        """Return digests of the training documents and of dev, part by part."""
        train, dev = ([one.digest for one in self._records_of(is_dev)] for is_dev in (False, True))
        return train, dev

    def _records_of(self, is_dev: bool) -> list[PartRecord]:
        return [self._records[i] for i, part in enumerate(self._parts) if part.is_dev == is_dev]

    def begin(self, earlier: Forest | None) -> None:
        """Choose the bins, and begin with the trees of an earlier run."""
        self.binner = self._retried(self._chosen_bins)
        self.forest = begun_forest(self.settings, self.binner, earlier)
        self._begun = True
        self._retried(self._begin)

    def next_tree(self, n_bins: Ints) -> tuple[Tree, float]:
        """Search the training documents; return the next tree, and their accuracy."""

        def grown() -> tuple[Tree, float]:
            found = self._ask("search", self.forest.n_trees, self._tree)
            n_rows, digits, right, visited = zip(*found, strict=True)
            magnitudes = Magnitudes.total([*map(Magnitudes, n_rows, digits)])
            tree = grow(_ClusterRows(self._ask, magnitudes), n_bins, self.settings.trees)
            return tree, sum(right) / max(sum(visited), 1)

        self._tree, accuracy = self._retried(grown)
        return self._tree, accuracy

    def dev_accuracy(self) -> float | None:
        """Return the accuracy of the forest on dev; None without dev documents."""
        if not (dev := self._records_of(True)):
            return None
        right = self._retried(lambda: self._ask("n_right", self.forest.n_trees, self._tree))
        return int(sum(right)) / max(sum(record.n_mentions for record in dev), 1)

    def _chosen_bins(self) -> Binner:
        """Choose the bins that `choose_bins` chooses from all documents together."""
        plan, max_bins = self.settings.plan, self.settings.trees.max_bins
        features, cuts = range(self.settings.n_local), []
        for f in features[::_COLUMNS]:
            cuts += choose_cuts(partial(self._ask, "columns"), features[f : f + _COLUMNS], max_bins)
        local = Binner.of(cuts)
        if not plan.uses_history:
            return local
        lengths = [self._records[i].lengths for i in range(len(self._parts))]
        sample = sampled_documents(np.concatenate(lengths))
        first = np.cumsum([0, *map(len, lengths)])
        documents = {}
        for i in range(len(self._parts)):
            own = sample[(first[i] <= sample) & (sample < first[i + 1])] - first[i]
            if len(own):
                documents[i] = own.astype(np.int32)
        rows = [row for found in self._ask("sample", documents) for row in found]
        pooled = np.concatenate([np.zeros((0, 2 * self.settings.n_pair), np.float32), *rows])
        return local.joined(Binner.fit(pooled, max_bins))

    def _begin(self) -> None:
        """Prepare the parts that are loaded for the search."""
        forest = self.forest.finished()
        trees = forest.roots, forest.feature, forest.threshold, forest.left, forest.value
        self._ask("begin", self.settings.n_local, self.binner.thresholds, self.binner.n_bins, trees)

    def _check_documents(self) -> None:
        first = self._records[0]
        for i, record in self._records.items():
            if (record.n_local, record.n_pair) != (first.n_local, first.n_pair):
                raise ProblemsError(
                    f"{self._name(i)} has {record.n_local} local and {record.n_pair} pair "
                    f"features, {self._name(0)} has {first.n_local} and {first.n_pair}"
                )
        if not any(record.n_gold for record in self._records_of(False)):
            raise ProblemsError(NO_GOLD)
        self.settings = replace(self.settings, n_local=first.n_local, n_pair=first.n_pair)

    def _name(self, number: int) -> str:
        part = self._parts[number]
        return part.documents if isinstance(part.documents, str) else f"part {number}"

    # Workers: placement of parts, calls, and recovery.

    def _retried(self, work: Callable[[], Result]) -> Result:
        """Do some work with all parts in place; do it again after a loss of workers."""
        for _ in range(_MOST_LOSSES):
            try:
                self._place()
                return work()
            except WorkersLostError as lost:
                self._release(lost.addresses)
        raise SgtbError(
            f"workers were lost {_MOST_LOSSES} times in a row; see their logs, and give them more "
            "memory if it ran out. With a checkpoint, the same command continues"
        )

    def _release(self, addresses: Sequence[str]) -> None:
        """Release the documents of workers.

        Without waiting until nothing refers to them: a time-out of Dask leaves references in
        cycles, and the garbage collector may not run for long.
        """
        for address in addresses:
            if (holder := self._holders.pop(address, None)) is not None:
                holder.reference.release()

    def _place(self) -> None:
        """Load the parts that no worker has, the largest first, where least is loaded."""
        placed = {i for holder in self._holders.values() for i in holder.parts}
        missing = [i for i in range(len(self._parts)) if i not in placed]
        if not missing:
            return
        sizes = [part.size for part in self._parts]
        addresses = self._addresses()
        load = dict.fromkeys(addresses, 0)
        for address, holder in self._holders.items():
            load[address] = sum(sizes[i] + 1 for i in holder.parts)
        queues: dict[str, list[int]] = {}
        for i in sorted(missing, key=lambda i: -sizes[i]):
            address = min(addresses, key=lambda a: load[a])
            load[address] += sizes[i] + 1
            queues.setdefault(address, []).append(i)
        self._hold(address for address in queues if address not in self._holders)
        while queues:
            self._load({address: self._batch(queue) for address, queue in queues.items()})
            queues = {address: queue for address, queue in queues.items() if queue}
        if self._begun:
            self._begin()

    def _addresses(self) -> list[str]:
        """Return the running workers, as soon as there is one."""
        end = time.monotonic() + _WORKER_SECONDS
        while not (found := self._client.run_on_scheduler(_running)):
            if time.monotonic() > end:
                raise SgtbError(f"the cluster has had no worker for {_WORKER_SECONDS} s")
            time.sleep(_POLL_SECONDS)
        return list(found)

    def _hold(self, addresses: Iterator[str]) -> None:
        settings, references = settings_to_json(self.settings), {}
        for address in addresses:
            token = f"sgtb-training-{uuid.uuid4().hex}"
            references[address] = self._submit(address, hold, token, settings)
            self._holders[address] = _Holder(token, references[address])
        self._finish(references)

    def _batch(self, queue: list[int]) -> list[int]:
        """Take the parts of the next message from a queue."""
        batch = [queue.pop()]
        while queue and sum(self._parts[i].size for i in [*batch, queue[-1]]) <= _MESSAGE_BYTES:
            batch.append(queue.pop())
        return batch

    def _load(self, batches: Mapping[str, list[int]]) -> None:
        messages = {
            address: (tuple((i, self._parts[i].is_dev, *self._parts[i].message()) for i in batch),)
            for address, batch in batches.items()
        }
        found = self._call("load", messages)
        for address, records in found.items():
            for i, values in zip(batches[address], records, strict=True):
                record = PartRecord(*values)
                if self._records.setdefault(i, record).digest != record.digest:
                    raise ProblemsError(f"{self._name(i)} has changed during training")
            self._holders[address].parts += batches[address]
        if len(found) < len(batches):
            raise WorkersLostError([address for address in batches if address not in found])

    def _ask(self, method: str, *args: Any) -> list[Any]:
        """Call a method on all workers with documents."""
        found = self._call(method, dict.fromkeys(self._holders, args))
        if len(found) < len(self._holders):
            raise WorkersLostError([a for a in self._holders if a not in found])
        return list(found.values())

    def _call(self, method: str, messages: Mapping[str, tuple[Any, ...]]) -> dict[str, Any]:
        """Call a method on some workers; return the results by worker, without those lost."""
        futures = {}
        for address, args in messages.items():
            own = self._holders[address]
            call = own.token, len(own.parts), method, *args
            futures[address] = self._submit(address, answer, *call)
        try:
            left = self._finish(futures)
            with self._scheduler_there():
                results = [_fetched(future) for future in left.values()]
        finally:
            for future in futures.values():
                future.release()
        return {a: r for a, r in zip(left, results, strict=True) if r is not None}

    def _submit(self, address: str, function: Callable[..., Any], *args: Any) -> Any:
        return self._client.submit(function, *args, workers=[address], pure=False)

    def _finish(self, futures: Mapping[str, Any]) -> dict[str, Any]:
        """Wait for tasks; return those done, without those that were lost with their workers."""
        left = dict(futures)
        with self._scheduler_there():
            while not all(future.done() for future in left.values()):
                try:
                    self._distributed.wait(list(left.values()), timeout=_POLL_SECONDS)
                except TimeoutError:  # Dask does not end the tasks of a worker that is gone
                    running = self._client.run_on_scheduler(_running)
                    left = {a: f for a, f in left.items() if f.done() or a in running}
            failed = {a: f.exception() for a, f in left.items() if f.status == "error"}
        for error in failed.values():
            if not isinstance(error, self._distributed.KilledWorker):
                raise error or SgtbError("a task of the cluster failed")
        return {a: f for a, f in left.items() if a not in failed}

    @contextmanager
    def _scheduler_there(self) -> Iterator[None]:
        """Name the reason why tasks were cancelled."""
        try:
            yield
        except (CancelledError, OSError):
            raise SgtbError(
                "the scheduler of the cluster is gone. With a checkpoint, the same command "
                "continues on another one"
            ) from None


def _fetched(future: Any) -> Any:
    """Return the result of a task that is done; None if it left with its worker."""
    try:
        return future.result(timeout=_FETCH_SECONDS)
    except TimeoutError:  # Dask would compute it again, on the worker that is gone
        return None


def _running(dask_scheduler: Any) -> list[str]:
    """Return the addresses of the workers that take tasks; executed by the scheduler."""
    workers = dask_scheduler.workers.values()
    return sorted(worker.address for worker in workers if worker.status.name == "running")


class _ClusterRows(NamedTuple):
    """The rows of all workers, as `grow` reads them."""

    ask: Callable[..., list[Any]]
    found: Magnitudes

    def magnitudes(self) -> Magnitudes:
        return self.found

    def root(self, grid: Grid) -> tuple[int, Longs]:
        totals, histograms = zip(*self.ask("root", *grid), strict=True)
        return sum(totals), np.sum(histograms, axis=0)

    def split(self, splits: Sequence[NodeSplit]) -> list[Longs]:
        return list(np.sum(self.ask("split", np.array(splits, np.int64)), axis=0))
