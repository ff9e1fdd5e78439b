"""Predicted costs as tables and lines."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sgtb.cli.views.link_view import open_console
from sgtb.cli.views.progress_views import counted
from sgtb.cli.views.train_view import number_table

if TYPE_CHECKING:
    from sgtb.capacity.cost_model import Estimate
    from sgtb.wikipedia.download.wiki_job import WikiJob


def print_plan(
    estimates: Mapping[str, Sequence["Estimate"]], names: Mapping[str, str], checks: Sequence[Any]
) -> None:
    """Print a row per workload and number of workers, descriptions, and the model's error."""
    table = number_table("workload", "workers", "hours", "core-hours", "disk GB", "memory GB")
    for key, found in estimates.items():
        for number, estimate in enumerate(found):
            table.add_row(
                "" if number else key, f"{estimate.cluster.workers:,}", _three(estimate.hours),
                _three(estimate.core_hours), _three(estimate.disk_bytes / 1e9),
                _three(estimate.memory_bytes / 1e9),
            )  # fmt: skip
    open_console().print(table)
    for key in estimates:
        print(f"{key}: {names[key]}")
    for check in checks:
        print(
            f"checked: {check['run']}: {_three(check['measured'])} core seconds, predicted "
            f"{_three(check['predicted'])} ({check['error']:+.0%})"
        )


def job_lines(job: "WikiJob", source: str, estimate: "Estimate", free: int) -> Iterator[str]:
    """Yield what the remaining stages of a job take."""
    remaining = job.remaining()
    workers = estimate.cluster.workers
    yield (
        f"{job.dump.wiki} {job.dump.date}: {counted(len(job.dump.files), 'file')}, "
        f"{job.dump.size / 1e6:,.1f} MB, from {source}"
    )
    total = 0.0
    for stage in estimate.stages:
        if stage.name in remaining:
            seconds = stage.seconds(workers)
            if stage.name == "download":
                seconds *= job.missing_bytes() / job.dump.size
            total += seconds
            yield f"  {stage.name:9} {duration(seconds)}"
    disk = estimate.disk_bytes - (job.dump.size - job.missing_bytes())  # besides what is there
    yield (
        f"in all about {duration(total)} with {counted(workers, 'worker')} (download at "
        f"{estimate.cluster.download:g} MB/s), {disk / 1e9:,.1f} GB more of disk "
        f"({free / 1e9:,.1f} GB free), {estimate.memory_bytes / 1e9:,.1f} GB of memory"
    )
    if free < disk:
        yield f"warning: {job.path} may run out of disk"


def duration(seconds: float) -> str:
    """Return a time in the unit that fits."""
    if seconds < 90:
        return f"{seconds:,.0f} s"
    return f"{seconds / 60:,.0f} min" if seconds < 5400 else f"{seconds / 3600:,.1f} h"


def _three(value: float) -> str:
    """Return a number with about three digits."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"
