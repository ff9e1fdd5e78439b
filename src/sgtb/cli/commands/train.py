"""The command `sgtb train`: training of a linker from annotated documents or a dump."""

import time
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from sgtb.cli import options, train_options
from sgtb.cli.linker_options import print_json
from sgtb.cli.train_input import (
    TrainingInput,
    TrainingOptions,
    build_held_out,
    check_output,
    fit_on,
    from_files,
    from_links,
    say,
    word_vectors,
)
from sgtb.cli.views.progress_views import StageProgress
from sgtb.cli.views.train_page import Curve, train_page
from sgtb.cli.views.train_view import print_accuracy, print_model
from sgtb.core.files import write_whole
from sgtb.core.progress import silent
from sgtb.core.records import Document

if TYPE_CHECKING:
    from sgtb.boosting.training_progress import Callback
    from sgtb.kb.knowledge_base import KnowledgeBase
    from sgtb.linking.linker_model import LinkerModel
    from sgtb.linking.training.linker_training import LinkerTraining, Prepared

app = typer.Typer(add_completion=False, rich_markup_mode=None)
_FEW_LINKS = 200


@app.command()
def train(
    output: Path = train_options.OUTPUT,
    kb: Path | None = train_options.OPTIONAL_KB_FOLDER,
    train: list[Path] | None = train_options.TRAIN_FILES,
    dev: list[Path] | None = train_options.DEV_FILES,
    from_dump: list[Path] | None = options.input_file(
        "DUMP",
        "Train on the links of a Wikipedia dump instead of annotated documents.",
        "--from-links",
    ),
    build_kb: Path | None = typer.Option(
        None,
        metavar="DIR",
        help="With --from-links: first build the knowledge base in this folder.",
    ),
    hold_out: float = typer.Option(
        0.4,
        min=0.01,
        max=0.9,
        help="With --build-kb: share of pages held out for training and testing.",
    ),
    red_links: int = typer.Option(
        0,
        min=0,
        help="With --build-kb: titles without a page become entities if this many pages link "
        "them; 0: never.",
    ),
    pages: int = typer.Option(800, min=3, help="With --from-links: maximum number of pages."),
    workers: int = typer.Option(1, min=1, max=256, help="Processes for reading dumps."),
    write_test: Path | None = options.output_file(
        "FILE", "With --from-links: write the test pages as JSON Lines, for `sgtb evaluate`."
    ),
    format: str | None = train_options.FORMAT_NAME,
    on_error: str = options.ON_ERROR,
    plan: str = typer.Option("bsg", help="Search plan: local, bs, laso, bsg or bibsg."),
    beam: int = typer.Option(4, min=1, help="Beam width."),
    depth: int | None = typer.Option(None, show_default="by size", help="Depth of the trees."),
    eta: float | None = typer.Option(
        None, "--eta", "--learning-rate", show_default="by size", help="Learning rate η."
    ),
    trees: int | None = typer.Option(None, show_default="by size", help="Maximum number of trees."),
    min_leaf: int | None = train_options.MIN_LEAF,
    folds: int | None = train_options.FOLDS,
    without: list[str] | None = train_options.WITHOUT,
    vectors: str = train_options.VECTORS,
    nil_rule: str = typer.Option(
        "auto",
        metavar="auto|never|candidate",
        help="When mentions with candidates are NIL: never, or where NIL, a candidate of the "
        "search, is likelier than the best entity. auto: that, if enough mentions are NIL.",
    ),
    nil_precision: float | None = train_options.NIL_PRECISION,
    hidden: float | None = typer.Option(
        None,
        metavar="SHARE",
        min=0.0,
        max=1.0,
        show_default="by the size of the data",
        help="Share of the entities of each training document that are hidden from it, to learn "
        "NIL from.",
    ),
    fuzzy: bool | None = typer.Option(
        None,
        help="Search similar names for names that the knowledge base lacks. Default: if that "
        "finds more of the annotated entities.",
    ),
    refit: bool = typer.Option(
        False,
        "--refit",
        help="Then train again on all documents, those of dev included, with the number of trees "
        "that dev chose. The dev accuracy shown is that of the first training.",
    ),
    seed: int = train_options.SEED,
    threads: int | None = train_options.THREADS,
    checkpoint: Path | None = options.output_file(
        "FILE", "Save progress in this file; an interrupted training continues from it."
    ),
    cluster: str | None = train_options.CLUSTER,
    page: Path | None = options.output_file(
        "FILE.html",
        "Write a self-contained page: curves, calibration, importance of feature groups and "
        "the worst dev documents.",
        "--report",
    ),
    as_json: bool = options.AS_JSON,
    quiet: bool = options.QUIET,
) -> None:
    """Learn from annotated documents which entity a name means.

    From annotated documents or, with --from-links, from the links of a dump, tested on pages used
    neither for the knowledge base nor for training. Defaults depend on the size of the data.

    \b
    Examples:
      sgtb train --kb my.kb --train train.jsonl -o my.model
      sgtb train --kb my.kb --train train.jsonl -o my.model --report my.html
      sgtb train --kb my.kb --train train.jsonl -o my.model --refit
      sgtb train --from-links simplewiki.xml.bz2 --build-kb simple -o simple.model
    """
    begin = time.perf_counter()
    if bool(train) == bool(from_dump):
        raise typer.BadParameter("give either --train or --from-links")
    place = build_kb if kb is None else kb
    if place is None or (kb is not None and build_kb is not None):
        raise typer.BadParameter("give --kb; with --from-links, --kb or --build-kb")
    if not from_dump and (build_kb is not None or write_test is not None):
        raise typer.BadParameter("--build-kb and --write-test need --from-links")
    check_output(output, checkpoint, write_test, page)
    wanted = TrainingOptions(
        plan=plan, beam=beam, depth=depth, eta=eta, trees=trees, min_leaf=min_leaf, folds=folds,
        without=tuple(without or ()), nil_rule=nil_rule, nil_precision=nil_precision,
        hidden=hidden, fuzzy=fuzzy, seed=seed, threads=threads,
    )  # fmt: skip
    from sgtb.kb.knowledge_base import KnowledgeBase

    if from_dump and build_kb is not None:
        from sgtb.wikipedia.build.build_settings import HoldOut, WikiSettings

        held_out = HoldOut(hold_out)
        build = WikiSettings(workers=workers, red_links=red_links, hold_out=held_out)
        build_held_out(from_dump, build_kb, build, quiet)
    with KnowledgeBase.open(place) as opened:
        if from_dump:
            given = from_links(opened, from_dump, pages, workers, quiet)
            if given.train.n_known < _FEW_LINKS and not red_links:
                say(
                    f"only {given.train.n_known} links lead to an entity, as in a small part of a "
                    "wiki; with --build-kb and --red-links 1 linked titles without a page become "
                    "entities",
                    quiet,
                )
        else:
            handler = options.DocumentErrors(on_error)
            given = from_files(opened, train or (), dev or (), format, seed, quiet, handler)
            handler.print()
        if write_test is not None:
            from sgtb.formats.registry import write_documents

            count = write_documents(given.test, write_test, "jsonl")
            say(f"{write_test}: {count:,} test documents", quiet)
        settings = wanted.settings(given)
        prepared = prepare_given(opened, given, settings, vectors, quiet)
        curve = Curve()
        model = final = grow(prepared, settings, given, checkpoint, quiet, cluster, (curve,))
        if refit and prepared.dev is not None:
            all_given = given.with_dev()
            prepared = prepare_again(prepared, all_given, settings, vectors, quiet)
            second = checkpoint and checkpoint.with_name(f"{checkpoint.name}.refit")
            again = settings.with_trees_of(model)
            final = grow(prepared, again, all_given, second, quiet, cluster)
        final.save(output)
        dev_result = dev_accuracy(opened, model, given)
        result = report(output, final, dev_result, given, prepared, time.perf_counter() - begin)
        tested = None if not given.test else accuracy_report(opened, final, given.test)
        if page is not None:
            from sgtb.evaluation.linkers.dev_report import dev_report

            dev_documents = given.dev.documents
            judged = dev_report(opened, model, dev_documents) if dev_documents else None
            write_whole(page, train_page(result, curve, judged).encode())
            say(f"{page}: report of the training", quiet)
    if as_json:
        print_json(result if tested is None else {**result, "test": tested})
        return
    print_model(result)
    if tested is not None:
        print_accuracy("test", tested)


def prepare_given(
    kb: "KnowledgeBase", given: TrainingInput, settings: "LinkerTraining", vectors: str, quiet: bool
) -> "Prepared":
    """Compute features, and print the number of learnable mentions."""
    from sgtb.linking.training.linker_training import prepare

    with StageProgress(quiet) as progress:
        prepared = prepare(
            kb, given.train.documents, given.dev.documents, settings,
            words=word_vectors(vectors), progress=progress,
        )  # fmt: skip
    learnable = prepared.train.n_learnable
    say(f"{learnable:,} mentions can be learned from: their entity is among the candidates", quiet)
    return prepared


def grow(
    prepared: "Prepared",
    settings: "LinkerTraining",
    given: TrainingInput,
    checkpoint: Path | None,
    quiet: bool,
    cluster: str | None = None,
    callbacks: "Sequence[Callback]" = (),
) -> "LinkerModel":
    """Train the trees, with a progress bar."""
    from sgtb.boosting.training_progress import TrainingBar
    from sgtb.linking.training.linker_training import fit_linker

    with fit_on(cluster) as fit, nullcontext() if quiet else TrainingBar(settings.plan.name) as bar:
        return fit_linker(
            prepared, settings, callbacks=(*callbacks, *([] if bar is None else [bar])),
            checkpoint=checkpoint, origin=given.origin,
            progress=silent if bar is None else bar.stage, fit=fit,
        )  # fmt: skip


def prepare_again(
    prepared: "Prepared",
    given: TrainingInput,
    settings: "LinkerTraining",
    vectors: str,
    quiet: bool,
) -> "Prepared":
    """Compute features of all documents, those of dev included."""
    from sgtb.linking.training.linker_training import prepare_refit

    say(f"training again on {len(given.train.documents):,} documents, dev included", quiet)
    with StageProgress(quiet) as progress:
        return prepare_refit(prepared, settings, words=word_vectors(vectors), progress=progress)


def dev_accuracy(kb: "KnowledgeBase", model: "LinkerModel", given: TrainingInput) -> dict[str, Any]:
    """Return the accuracy on dev of a model that was not trained on it."""
    n_trees = model.forest.forest.n_trees
    shown = (check.dev_accuracy for check in model.forest.checks if check.n_trees == n_trees)
    return {
        "dev": accuracy_report(kb, model, given.dev.documents) if given.dev.n_known else None,
        "progress": next(shown, None),  # the dev accuracy of the trees that are kept
    }


def report(
    output: Path,
    model: "LinkerModel",
    dev: dict[str, Any],
    given: TrainingInput,
    prepared: "Prepared",
    seconds: float,
) -> dict[str, Any]:
    """Return the report of a training as plain data."""
    forest = model.forest
    return {
        "model": str(output),
        "bytes": output.stat().st_size,
        "plan": forest.plan.name,
        "beam": forest.plan.beam_width,
        "depth": forest.trees.depth,
        "eta": forest.trees.learning_rate,
        "trees": forest.forest.n_trees,
        "documents": {"train": len(given.train.documents), "dev": len(given.dev.documents)},
        "mentions": {"train": given.train.n_mentions, "dev": given.dev.n_mentions},
        "learnable": prepared.train.n_learnable,
        "unknown": dict(given.train.unknown + given.dev.unknown),
        "nil": {
            "kind": model.nil.kind,
            "odds": model.nil.odds,
            "threshold": round(model.nil.threshold, 6),
        },
        **dev,
        "origin": model.origin,
        "seconds": round(seconds, 1),
    }


def accuracy_report(
    kb: "KnowledgeBase", model: "LinkerModel", documents: Sequence[Document]
) -> dict[str, Any]:
    """Return the accuracy of a model and of baselines."""
    from sgtb.evaluation.linkers.link_scores import figures_of, score_links

    return figures_of(score_links(kb, {model.forest.plan.name: model}, documents))
