"""`sgtb link --batch`: a linking job, by processes of this machine or on a Dask cluster."""

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.progress import BarColumn, TextColumn

from sgtb.cli.linker_options import print_json
from sgtb.cli.views.progress_views import counted
from sgtb.core.progress import ProgressDisplay

if TYPE_CHECKING:
    from sgtb.jobs.link_job import JobCounts
    from sgtb.jobs.process_engine import PartEngine
    from sgtb.linking.link_options import LinkerSettings

_LINE_INTERVAL = 10.0
_WORKER_IMPORTS = ("sgtb.cli.main", "sgtb.jobs.link_part")
"""Modules of a worker: that of its task, and that of the command, which multiprocessing imports."""


def link_batch(
    inputs: Sequence[str],
    output: Path | None,
    workers: str | int,
    part_mb: float,
    linker: tuple[Path | None, Path | None, "LinkerSettings"],
    as_json: bool,
    quiet: bool,
) -> None:
    """Run the job of a folder, or what is left of it, and print a summary.

    workers  a Dask cluster, or the number of processes of this machine
    linker   model, knowledge base and settings
    """
    if output is None:
        raise typer.BadParameter("--batch needs --output JOB, the folder of the job")
    if not inputs or "-" in inputs:
        raise typer.BadParameter("--batch reads JSONL and Parquet files: name at least one")
    # Not at the top: pyarrow and Dask take longer to import than most commands run.
    from sgtb.jobs.job_folder import REJECTED
    from sgtb.jobs.link_job import LinkJob
    from sgtb.jobs.worker_linker import linker_spec

    job = LinkJob.begin(output, inputs, linker_spec(*linker), round(part_mb * 1e6))
    with JobProgress(quiet) as progress, _engine(workers) as engine:
        counts = job.run(engine, progress)
    summary = {**asdict(counts), "seconds": round(progress.seconds, 1)}
    del summary["total"]
    if as_json:
        print_json(summary)
    elif not quiet:
        reasons = f" (reasons in {output / REJECTED})" if counts.rejected else ""
        print(
            f"{output}: {counted(counts.documents, 'document')}, {counted(counts.links, 'link')}, "
            f"{counts.rejected:,} rejected{reasons}; {counted(counts.parts, 'part')}, "
            f"{counts.skipped:,} of them done before; {duration(summary['seconds'])}",
            file=sys.stderr,
        )


@contextmanager
def _engine(workers: str | int) -> "Iterator[PartEngine]":
    if isinstance(workers, int):
        from sgtb.jobs.process_engine import ProcessEngine

        with ProcessEngine(workers) as engine:
            yield engine
        return
    from sgtb.integrations.dask_cluster import connect

    with connect(workers, _WORKER_IMPORTS) as client:
        from sgtb.integrations.dask import DaskEngine

        yield DaskEngine(client)


class JobProgress(ProgressDisplay):
    """Documents, rate, time left and failures of a job: a bar, or a line every ten seconds."""

    def __init__(self, quiet: bool = False) -> None:
        super().__init__(BarColumn(), TextColumn("{task.description}", markup=False), quiet=quiet)
        self._quiet, self._begin = quiet, time.monotonic()
        self._printed = self._begin
        self._before: int | None = None
        self._task = None if self._bar is None else self._bar.add_task("starting", total=None)

    @property
    def seconds(self) -> float:
        """Time since the job began."""
        return time.monotonic() - self._begin

    def __call__(self, counts: "JobCounts") -> None:
        """Show the counts of a job."""
        done, now = counts.documents + counts.rejected, time.monotonic()
        if self._before is None:  # the rate is that of this run
            self._before = done
        if self._quiet:
            return
        line = progress_line(counts, done - self._before, now - self._begin)
        if self._bar is not None and self._task is not None:
            total = max(counts.total, done)
            self._bar.update(self._task, completed=done, total=total, description=line)
        elif now - self._printed >= _LINE_INTERVAL:
            self._printed = now
            self._print_line(line)


def progress_line(counts: "JobCounts", linked: int, seconds: float) -> str:
    """Return the progress of a job, of which this run linked documents for some seconds."""
    done = counts.documents + counts.rejected
    rate = linked / seconds if seconds > 0 else 0.0
    left = f", {duration((counts.total - done) / rate)} left" if rate else ""
    lost = f", {counted(counts.lost, 'part')} lost with its worker" if counts.lost else ""
    return (
        f"{done:,} of {counted(counts.total, 'document')}, {rate:,.0f} per second{left}, "
        f"{counts.rejected:,} rejected{lost}"
    )


def duration(seconds: float) -> str:
    """Return a duration as hours, minutes and seconds."""
    minutes, rest = divmod(max(round(seconds), 0), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}"
