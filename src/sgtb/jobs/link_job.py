"""A linking job: from inputs to a job folder, by any engine, continued after any failure."""

import os
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from sgtb.core.errors import JobError
from sgtb.jobs.job_folder import JobFolder
from sgtb.jobs.job_inputs import PART_BYTES, Part, cut, read_part
from sgtb.jobs.link_part import Outcome, link_part
from sgtb.jobs.link_table import Rejection, rejected_table, to_parquet
from sgtb.jobs.process_engine import PartEngine, WorkerLostError
from sgtb.jobs.worker_linker import LinkerSpec, digests

MOST_LOSSES = 10  # times that a part loses its worker before the job fails
_ATTEMPTS = 3  # times that a part is tried again for other reasons


@dataclass
class JobCounts:
    """Counts of a job so far."""

    total: int = 0  # documents of all parts, or slightly more: empty lines are counted
    parts: int = 0
    skipped: int = 0  # parts that were done before
    documents: int = 0
    links: int = 0
    rejected: int = 0
    lost: int = 0  # parts whose worker died

    def add(self, record: dict[str, Any]) -> None:
        """Add the sidecar of a part."""
        self.documents += record["documents"]
        self.links += record["links"]
        self.rejected += len(record["rejected"])


Report = Callable[[JobCounts], None]


@dataclass
class LinkJob:
    """The parts of a job and what is left of them."""

    folder: JobFolder
    parts: Sequence[Part]
    spec: LinkerSpec
    counts: JobCounts

    @classmethod
    def begin(
        cls, path: str | os.PathLike[str], inputs: Sequence[str], spec: LinkerSpec,
        part_bytes: int = PART_BYTES,
    ) -> "LinkJob":  # fmt: skip
        """Cut JSONL and Parquet files, paths or URLs, and begin or continue the job of a folder."""
        parts = list(cut(inputs, part_bytes))
        manifest = {
            "task": "link",
            "linker": digests(spec),
            "inputs": list(inputs),
            "part_bytes": part_bytes,
            "parts": [asdict(part) for part in parts],
        }
        folder = JobFolder(Path(path), manifest)
        folder.begin()
        counts = JobCounts(sum(part.rows for part in parts), len(parts))
        return cls(folder, parts, spec, counts)

    def run(self, engine: PartEngine, report: Report = lambda _: None) -> JobCounts:
        """Link all parts that are not done, and finish the job; report every second."""
        todo = self._survey()
        self.counts.skipped = len(self.parts) - len(todo)
        for _ in range(_ATTEMPTS):
            if todo:
                _Run(self, engine, report).link(todo)
                todo = self._survey()
        if todo:
            raise JobError(f"{self.folder.data_path(todo[0])}: written, but damaged; try again")
        self._finish()
        return self.counts

    def _survey(self) -> list[int]:
        """Count what is done; return the other parts."""
        self.counts = replace(self.counts, documents=0, links=0, rejected=0)
        todo = []
        for i in range(len(self.parts)):
            record = self.folder.record(i)
            if record is None:
                todo.append(i)
            else:
                self.counts.add(record)
        return todo

    def _finish(self) -> None:
        records = (self.folder.record(i, check_data=False) for i in range(len(self.parts)))
        rejected = [Rejection(*one) for r in records if r is not None for one in r["rejected"]]
        summary = {
            key: getattr(self.counts, key) for key in ("parts", "documents", "links", "rejected")
        }
        self.folder.finish(to_parquet(rejected_table(rejected)), summary)


class _Run:
    """One pass over the parts that are left."""

    def __init__(self, job: LinkJob, engine: PartEngine, report: Report) -> None:
        self._job, self._engine, self._report = job, engine, report
        self._running: dict[Any, int] = {}
        self._losses: Counter[int] = Counter()
        self._failures: Counter[int] = Counter()
        self._send_inputs = False

    def link(self, todo: Sequence[int]) -> None:
        """Link parts; return when all are written."""
        self._engine.send_linker(self._job.spec)
        waiting = deque(todo)
        while waiting or self._running:
            while waiting and len(self._running) < self._engine.slots():
                self._start(waiting.popleft())
            for future in self._engine.wait(self._running):
                try:
                    outcome = self._engine.result(future)
                except WorkerLostError:
                    outcome = None
                except TimeoutError:
                    continue
                part = self._running.pop(future)
                if not self._ended(part, outcome):
                    waiting.appendleft(part)
            self._report(self._job.counts)

    def _start(self, part: int) -> None:
        record = self._job.folder.record(part, check_data=False)
        if record is not None and (record := self._job.folder.record(part)) is not None:
            self._job.counts.add(record)  # another process was faster
            return
        own = self._job.parts[part]
        place = own.input if "://" in own.input else os.path.abspath(own.input)
        source = read_part(own, place) if self._send_inputs else place
        isolated = self._losses[part] > 0
        future = self._engine.submit(link_part, self._job.spec, asdict(own), source, isolated)
        self._running[future] = part

    def _ended(self, part: int, outcome: Outcome | None) -> bool:
        """Write the result of a part; return whether there is one. None: its worker died."""
        if outcome is None:
            self._job.counts.lost += 1
            self._losses[part] += 1
            if self._losses[part] > MOST_LOSSES:
                raise self._error(part, f"lost its worker {self._losses[part]} times")
            return False
        if "data" in outcome:
            self._job.folder.write_part(part, outcome["data"], outcome["record"])
            self._job.counts.add(outcome["record"])
            return True
        self._failures[part] += 1
        if self._failures[part] > _ATTEMPTS or "error" in outcome:
            raise self._error(part, outcome.get("error") or f"no {outcome['missing']} on a worker")
        if outcome["missing"] == "input":
            self._send_inputs = True
        else:
            self._engine.send_linker(self._job.spec)
        return False

    def _error(self, part: int, problem: str) -> JobError:
        own = self._job.parts[part]
        return JobError(
            f"{own.input}, rows {own.first:,} to {own.first + own.rows - 1:,}: {problem}; all "
            f"parts so far are kept in {self._job.folder.path}"
        )
