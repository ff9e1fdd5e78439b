"""`sgtb link --batch`: a linking job, by processes of this machine or on a Dask cluster."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from sgtb.cli.linker_options import print_json
from sgtb.cli.views.job_view import JobProgress, print_summary, summary_of

if TYPE_CHECKING:
    from sgtb.jobs.link_job import JobCounts, LinkJob
    from sgtb.linking.link_options import LinkerSettings


@dataclass(frozen=True)
class BatchOptions:
    """Options of a job.

    output   the job folder
    cluster  a Dask cluster; None: processes of this machine
    jobs     number of these processes
    part_mb  size of a part
    """

    inputs: Sequence[str]
    output: Path | None
    cluster: str | None
    jobs: int
    part_mb: float


def link_batch(
    options: BatchOptions,
    linker: tuple[Path | None, Path | None, "LinkerSettings"],
    as_json: bool,
    quiet: bool,
) -> None:
    """Run a job, or what is left of it, and print a summary.

    linker  model, knowledge base and settings
    """
    if options.output is None:
        raise typer.BadParameter("--batch needs --output JOB, the folder of the job")
    if not options.inputs or "-" in options.inputs:
        raise typer.BadParameter("--batch reads JSONL and Parquet files: name at least one")
    # Not at the top: pyarrow and Dask take longer to import than most commands run.
    from sgtb.jobs.link_job import LinkJob
    from sgtb.jobs.worker_linker import linker_spec

    spec = linker_spec(*linker)
    job = LinkJob.begin(options.output, options.inputs, spec, round(options.part_mb * 1e6))
    with JobProgress(quiet) as progress:
        counts = _run(job, options, progress)
    summary = summary_of(counts, progress.seconds)
    if as_json:
        print_json(summary)
    elif not quiet:
        print_summary(options.output, summary)


def _run(job: "LinkJob", options: BatchOptions, progress: JobProgress) -> "JobCounts":
    if options.cluster is None:
        from sgtb.jobs.process_engine import ProcessEngine

        with ProcessEngine(options.jobs) as engine:
            return job.run(engine, progress)
    from sgtb.integrations.dask_cluster import connect

    with connect(options.cluster) as client:
        from sgtb.integrations.dask import DaskEngine

        return job.run(DaskEngine(client), progress)
