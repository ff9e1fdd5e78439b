"""Progress and summary of a job."""

import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.progress import BarColumn, TextColumn

from sgtb.cli.views.progress_views import counted
from sgtb.core.progress import ProgressDisplay

if TYPE_CHECKING:
    from sgtb.jobs.link_job import JobCounts

_LINE_INTERVAL = 10.0


class JobProgress(ProgressDisplay):
    """Documents, rate, time left and failures of a job: a bar, or a line every ten seconds."""

    def __init__(self, quiet: bool = False) -> None:
        super().__init__(BarColumn(), TextColumn("{task.description}"), quiet=quiet)
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
    """Return the progress of a job.

    linked   documents of this run
    seconds  of this run
    """
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


def summary_of(counts: "JobCounts", seconds: float) -> dict[str, Any]:
    """Return the counts of a finished job as plain data."""
    summary = asdict(counts)
    del summary["total"]
    return {**summary, "seconds": round(seconds, 1)}


def print_summary(job: Path, summary: dict[str, Any]) -> None:
    """Print the summary of a job on standard error."""
    parts = f"{counted(summary['parts'], 'part')}, {summary['skipped']:,} of them done before"
    print(
        f"{job}: {counted(summary['documents'], 'document')}, {counted(summary['links'], 'link')}, "
        f"{summary['rejected']:,} rejected; {parts}; {duration(summary['seconds'])}",
        file=sys.stderr,
    )
