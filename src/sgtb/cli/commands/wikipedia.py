"""The command `sgtb wikipedia`: a linker of a language edition, from download to packed folder."""

import os
import shutil
from pathlib import Path
from typing import Annotated

import typer

from sgtb.capacity.cost_model import Cluster, Costs, measured, wikipedia_cost
from sgtb.capacity.workloads import PAGES
from sgtb.cli import options
from sgtb.cli.linker_options import print_json
from sgtb.cli.train_input import say
from sgtb.cli.views.plan_view import job_lines
from sgtb.cli.views.progress_views import StageProgress
from sgtb.cli.wikipedia_stages import (
    StageOptions,
    check_packages,
    run_stage,
    share_for,
    summary,
)
from sgtb.core.errors import SgtbError
from sgtb.wikipedia.download.dump_catalogue import (
    MIRROR,
    find_dump,
    find_files,
    verify_files,
    wiki_of,
)
from sgtb.wikipedia.download.http_file import ATTEMPTS
from sgtb.wikipedia.download.wiki_job import WikiJob, WikiJobSettings, exclusive

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def wikipedia(
    language: Annotated[
        str,
        typer.Argument(
            metavar="LANG",
            help="Language edition, as in its address: en, de, simple, pt-br.",
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="DIR",
            file_okay=False,
            show_default="name of the wiki",
            help="Folder to work in; the linker is DIR/linker. The same command continues an "
            "interrupted run.",
        ),
    ] = None,
    mirror: Annotated[
        str, typer.Option(metavar="URL", help="Base address of a dump server.")
    ] = MIRROR,
    dump_dir: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            exists=True,
            file_okay=False,
            help="Use the dump files in this folder; nothing is downloaded.",
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before starting.")] = False,
    pages: Annotated[
        int | None,
        typer.Option(
            min=3,
            show_default=str(PAGES),
            help="Maximum number of held-out pages for training and testing.",
        ),
    ] = None,
    hold_out: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            min=0.001,
            max=0.9,
            show_default="by the size of the dump",
            help="Share of pages whose links are not counted, for training and testing.",
        ),
    ] = None,
    red_links: Annotated[
        int | None,
        typer.Option(
            min=0,
            show_default="0",
            help="Titles without a page become entities if this many pages link them; 0: never.",
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=256,
            show_default="number of cores",
            help="Processes for reading dumps.",
        ),
    ] = None,
    memory: options.Memory = 1024,
    threads: Annotated[
        int | None, typer.Option(min=1, show_default="number of cores", help="Training threads.")
    ] = None,
    attempts: Annotated[
        int,
        typer.Option(min=1, help="Attempts in a row without a new byte before a download fails."),
    ] = ATTEMPTS,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Make a linker of a Wikipedia: download a dump, build, train, evaluate, pack.

    Lists what the newest complete dump takes in disk, memory and time, and asks. Downloads
    resume and are verified; every stage continues where it stopped.

    \b
    Examples:
      sgtb wikipedia simple -o simple
      sgtb link --model simple/linker "Oslo is the capital of Norway."
    """  # fmt: skip
    check_packages()
    wiki = wiki_of(language)
    folder = output if output is not None else Path(wiki)
    place = "" if dump_dir is None else str(dump_dir.resolve())
    given = {
        "pages": pages, "hold_out": hold_out, "red_links": red_links, "dump_dir": place or None
    }  # fmt: skip
    job = WikiJob.read(folder)
    if job is not None:
        job.check(wiki, given)
    else:
        dump = (
            find_dump(language, mirror, attempts)
            if dump_dir is None
            else find_files(language, dump_dir)
        )
        wanted = PAGES if pages is None else pages
        settings = WikiJobSettings(
            dump_dir=place,
            pages=wanted,
            hold_out=share_for(wanted, dump.size) if hold_out is None else hold_out,
            red_links=red_links or 0,
        )
        job = WikiJob(folder, dump, settings)
    options = StageOptions(workers or os.cpu_count() or 1, memory, threads, quiet)
    if job.remaining():
        _announce(job, options, mirror, yes)
        _run(job, options, mirror, attempts)
    result = summary(job)
    if as_json:
        print_json(result)
        return
    shown = ", ".join(f"{name} {value:.1%}" for name, value in result["accuracy"].items())
    print(
        f"{result['linker']}: {result['entities']:,} entities, {result['bytes'] / 1e6:,.1f} MB\n"
        f"accuracy on {result['test_documents']:,} held-out pages: {shown}\n"
        f'sgtb link --model {result["linker"]} "…"'
    )


def _announce(job: WikiJob, options: StageOptions, mirror: str, yes: bool) -> None:
    """Say what the remaining stages take, and ask."""
    cluster = Cluster(workers=options.workers, cores=options.workers, memory=options.memory)
    costs = Costs.of(measured()["costs"])
    estimate = wikipedia_cost(costs, job.dump.size, job.settings.pages, cluster)
    here = job.path.absolute()
    existing = next(path for path in (here, *here.parents) if path.exists())
    source = job.settings.dump_dir or mirror
    for line in job_lines(job, source, estimate, shutil.disk_usage(existing).free):
        say(line, options.quiet and yes)
    if yes:
        return
    try:
        agreed = typer.confirm("Continue?", err=True)
    except typer.Abort:
        agreed = False
    if not agreed:
        raise SgtbError("not confirmed; nothing was downloaded or written. --yes does not ask")


def _run(job: WikiJob, options: StageOptions, mirror: str, attempts: int) -> None:
    job.path.mkdir(parents=True, exist_ok=True)
    with exclusive(job.path):
        job.save()
        if job.settings.dump_dir:
            verify_files(job.dump, Path(job.settings.dump_dir))
        for stage in job.remaining():
            if stage == "download":
                say("download ...", options.quiet)
                with StageProgress(options.quiet) as progress:
                    job.download(mirror, attempts, progress)
            else:
                run_stage(stage, job, options)
