"""The command `sgtb wikipedia`: a linker of a language edition, from download to packed folder."""

import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from sgtb.capacity.cost_model import PAGES, Cluster, Costs, measured, wikipedia_cost
from sgtb.cli import options
from sgtb.cli.linker_options import print_json
from sgtb.cli.train_input import TrainingOptions, build_held_out, from_links, say
from sgtb.cli.views.plan_view import job_lines
from sgtb.cli.views.progress_views import StageProgress
from sgtb.core.errors import DumpError, SgtbError, import_extra
from sgtb.core.files import write_whole
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
_BYTES_PER_ARTICLE = 5_000
"""Compressed bytes per article, rather too many: more pages are held out than needed."""
_MIN_SHARE, _MAX_SHARE = 0.005, 0.4


@dataclass(frozen=True)
class StageOptions:
    """Resources of the stages; the result does not depend on them."""

    workers: int
    memory: int  # of the build in MB
    threads: int | None
    quiet: bool


@app.command()
def wikipedia(
    language: str = typer.Argument(
        ..., metavar="LANG", help="Language edition, as in its address: en, de, simple, pt-br."
    ),
    output: Path | None = typer.Option(
        None,
        "--output",
        "-o",
        metavar="DIR",
        file_okay=False,
        show_default="name of the wiki",
        help="Folder to work in; the linker is DIR/linker. The same command continues an "
        "interrupted run.",
    ),
    mirror: str = typer.Option(MIRROR, metavar="URL", help="Base address of a dump server."),
    dump_dir: Path | None = options.input_folder(
        "Use the dump files in this folder; nothing is downloaded."
    ),
    yes: bool = typer.Option(False, "--yes", "-y", help="Do not ask before starting."),
    pages: int | None = typer.Option(
        None,
        min=3,
        show_default=str(PAGES),
        help="Maximum number of held-out pages for training and testing.",
    ),
    hold_out: float | None = typer.Option(
        None,
        metavar="SHARE",
        min=0.001,
        max=0.9,
        show_default="by the size of the dump",
        help="Share of pages whose links are not counted, for training and testing.",
    ),
    red_links: int | None = typer.Option(
        None,
        min=0,
        show_default="0",
        help="Titles without a page become entities if this many pages link them; 0: never.",
    ),
    workers: int | None = typer.Option(
        None, min=1, max=256, show_default="number of cores", help="Processes for reading dumps."
    ),
    memory: int = options.MEMORY,
    threads: int | None = typer.Option(
        None, min=1, show_default="number of cores", help="Training threads."
    ),
    attempts: int = typer.Option(
        ATTEMPTS, min=1, help="Attempts in a row without a new byte before a download fails."
    ),
    as_json: bool = options.AS_JSON,
    quiet: bool = options.QUIET,
) -> None:
    """Make a linker of a Wikipedia: download a dump, build, train, evaluate, pack.

    Lists what the newest complete dump takes in disk, memory and time, and asks. Downloads
    resume and are verified; every stage continues where it stopped.

    \b
    Examples:
      sgtb wikipedia simple -o simple
      sgtb link --model simple/linker "Oslo is the capital of Norway."
    """
    # Before hours of work.
    import_extra("duckdb", "wiki", "building from a dump needs")
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
        if dump_dir is None:
            dump = find_dump(language, mirror, attempts)
        else:
            dump = find_files(language, dump_dir)
        wanted = PAGES if pages is None else pages
        settings = WikiJobSettings(
            dump_dir=place,
            pages=wanted,
            hold_out=_share_for(wanted, dump.size) if hold_out is None else hold_out,
            red_links=red_links or 0,
        )
        job = WikiJob(folder, dump, settings)
    options = StageOptions(workers or os.cpu_count() or 1, memory, threads, quiet)
    if job.remaining():
        _announce(job, options, mirror, yes)
        _run(job, options, mirror, attempts)
    result = _summary(job)
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
        stages = {"build": _build, "train": _train, "evaluate": _evaluate, "pack": _pack}
        for stage in job.remaining():
            say(f"{stage} ...", options.quiet)
            if stage == "download":
                with StageProgress(options.quiet) as progress:
                    job.download(mirror, attempts, progress)
            else:
                stages[stage](job, options)


def _share_for(pages: int, packed: int) -> float:
    """Return the share of pages to hold out, so that about twice as many as needed are."""
    articles = max(1, packed // _BYTES_PER_ARTICLE)
    return round(min(max(2 * pages / articles, _MIN_SHARE), _MAX_SHARE), 4)


def _summary(job: WikiJob) -> dict[str, Any]:
    """Return what a finished job has made."""
    config = json.loads((job.linker / "config.json").read_bytes())
    measured = json.loads(job.evaluation.read_bytes())
    test = next(iter(measured["sets"].values()))
    return {
        "linker": str(job.linker),
        "wiki": job.dump.wiki,
        "date": job.dump.date,
        "entities": config["entities"],
        "bytes": sum(path.stat().st_size for path in job.linker.rglob("*") if path.is_file()),
        "test_documents": test["documents"],
        "test_mentions": test["mentions"],
        "accuracy": {name: scores["accuracy"]["micro"] for name, scores in test["systems"].items()},
    }


def _build(job: WikiJob, options: StageOptions) -> None:
    from sgtb.wikipedia.build.build_settings import HoldOut, WikiSettings

    settings = WikiSettings(
        workers=options.workers,
        memory=options.memory << 20,
        red_links=job.settings.red_links,
        hold_out=HoldOut(job.settings.hold_out),
    )
    build_held_out(job.dumps, job.kb, settings, options.quiet)


def _train(job: WikiJob, options: StageOptions) -> None:
    from sgtb.cli.commands.train import grow, prepare_given
    from sgtb.formats.registry import write_documents
    from sgtb.kb.knowledge_base import KnowledgeBase

    with KnowledgeBase.open(job.kb) as kb:
        given = from_links(kb, job.dumps, job.settings.pages, options.workers, options.quiet)
        counts = [len(given.train.documents), len(given.dev.documents), len(given.test)]
        if counts[0] < 2 or 0 in counts:
            raise DumpError(
                f"{counts[0]} train, {counts[1]} dev and {counts[2]} test pages held out, too few "
                f"to train and test with; use a new folder, a larger --hold-out than "
                f"{job.settings.hold_out:g}, and --dump-dir {job.dumps[0].parent}"
            )
        write_documents(given.test, job.test, "jsonl")
        settings = TrainingOptions(threads=options.threads).settings(given)
        prepared = prepare_given(kb, given, settings, "none", options.quiet)
        grow(prepared, settings, given, job.checkpoint, options.quiet).save(job.model)
    job.checkpoint.unlink(missing_ok=True)


def _evaluate(job: WikiJob, options: StageOptions) -> None:
    from sgtb.evaluation.linkers import data_sets, evaluate_linkers
    from sgtb.evaluation.linkers.systems import baselines_of
    from sgtb.linking.linker import Linker

    sets = {"held-out pages": next(iter(data_sets([job.test], "jsonl").values()))}
    with Linker(job.model, job.kb) as linker, StageProgress(options.quiet) as progress:
        found = evaluate_linkers(
            {"linker": linker}, sets, baselines=baselines_of(linker.kb), progress=progress
        )
    write_whole(job.evaluation, (json.dumps(found.to_dict()) + "\n").encode())


def _pack(job: WikiJob, options: StageOptions) -> None:
    from sgtb.linking.linker import Linker

    for leftover in job.path.glob(f".{job.linker.name}.*"):  # of a killed run
        shutil.rmtree(leftover, ignore_errors=True)
    measured = json.loads(job.evaluation.read_bytes())
    with Linker(job.model, job.kb) as linker:
        linker.save_pretrained(job.linker, measured)
