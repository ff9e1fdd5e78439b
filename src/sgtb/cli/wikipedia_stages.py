"""The stages of `sgtb wikipedia` after the download: build, train, evaluate, pack."""

import json
import shutil
from dataclasses import dataclass
from typing import Any

from sgtb.cli.train_input import TrainingOptions, build_held_out, from_links, say
from sgtb.cli.views.progress_views import StageProgress
from sgtb.core.errors import DumpError, import_extra
from sgtb.core.files import write_whole
from sgtb.wikipedia.download.wiki_job import WikiJob

_BYTES_PER_ARTICLE = 5_000
"""Compressed bytes per article, rather too many: more pages are held out than needed."""
_MIN_SHARE, _MAX_SHARE = 0.005, 0.4


@dataclass(frozen=True)
class StageOptions:
    """Resources of the stages; the result does not depend on them.

    memory  of the build in MB
    """

    workers: int
    memory: int
    threads: int | None
    quiet: bool


def share_for(pages: int, packed: int) -> float:
    """Return the share of pages to hold out, so that about twice as many as needed are."""
    articles = max(1, packed // _BYTES_PER_ARTICLE)
    return round(min(max(2 * pages / articles, _MIN_SHARE), _MAX_SHARE), 4)


def run_stage(stage: str, job: WikiJob, options: StageOptions) -> None:
    """Run a stage to its end."""
    say(f"{stage} ...", options.quiet)
    {"build": _build, "train": _train, "evaluate": _evaluate, "pack": _pack}[stage](job, options)


def check_packages() -> None:
    """Raise before hours of work if a package is not installed."""
    import_extra("duckdb", "wiki", "building from a dump needs")


def summary(job: WikiJob) -> dict[str, Any]:
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
    from sgtb.wikipedia.build.build_settings import WikiSettings
    from sgtb.wikipedia.build.hold_out import HoldOut

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
        with StageProgress(options.quiet) as progress:
            given = from_links(
                kb, job.dumps, job.settings.pages, options.workers, options.quiet, progress
            )
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
    with Linker.load(job.model, job.kb) as linker, StageProgress(options.quiet) as progress:
        found = evaluate_linkers(
            {"linker": linker}, sets, baselines=baselines_of(linker.kb), progress=progress
        )
    write_whole(job.evaluation, (json.dumps(found.to_dict()) + "\n").encode())


def _pack(job: WikiJob, options: StageOptions) -> None:
    from sgtb.linking.linker import Linker

    for leftover in job.path.glob(f".{job.linker.name}.*"):  # of a killed run
        shutil.rmtree(leftover, ignore_errors=True)
    measured = json.loads(job.evaluation.read_bytes())
    with Linker.load(job.model, job.kb) as linker:
        linker.save_pretrained(job.linker, measured)
