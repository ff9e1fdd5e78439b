"""The command `sgtb evaluate`: evaluation of linkers on annotated documents."""

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from sgtb.cli import options, train_options
from sgtb.cli.linker_options import check_pair, describer, linker_settings, open_linker, print_json
from sgtb.cli.views.progress_views import StageProgress
from sgtb.core.errors import SettingsError
from sgtb.core.files import replacing
from sgtb.starter import STARTER

if TYPE_CHECKING:
    from sgtb.core.records import Document
    from sgtb.evaluation.linkers import Evaluation, SystemScores
    from sgtb.linking.link_options import LinkerSettings
    from sgtb.linking.linker import Linker

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def evaluate(
    data: list[Path] = typer.Argument(
        ...,
        metavar="DATA…",
        exists=True,
        help="Files or folders of annotated documents, each a data set.",
    ),
    model: list[Path] | None = typer.Option(
        None,
        metavar="FILE|DIR|starter",
        callback=options.existing_model,
        help="A model file (with --kb), a folder of `sgtb pack`, or `starter`; several are "
        "compared. Default: starter.",
    ),
    kb: Path | None = options.KB,
    format: str | None = train_options.FORMAT_NAME,
    on_error: str = options.ON_ERROR,
    split: str | None = typer.Option(
        None, metavar="SPLIT", help="Only documents of this split: train, dev or test."
    ),
    nil: float | None = options.NIL,
    from_text: bool = typer.Option(
        False,
        "--from-text",
        help="Link the plain texts, mention detection included, and print where gold is lost.",
    ),
    fuzzy: bool | None = options.FUZZY,
    any_case: bool = options.ANY_CASE,
    min_link_probability: float = options.MIN_LINK_PROBABILITY,
    baselines: bool = typer.Option(
        False,
        "--baselines",
        help="Add baselines: the best candidate by name prior, in-links and popularity.",
    ),
    jobs: int = options.PROCESSES,
    errors: Path | None = options.output_file(
        "FILE.html", "Write an HTML page of the errors with reasons."
    ),
    max_errors: int = typer.Option(
        500, metavar="N", min=1, help="Errors on that page per model and data set."
    ),
    figure: Path | None = options.output_file("FILE.png", "Plot the calibration of confidences."),
    nil_figure: Path | None = options.output_file(
        "FILE.png", "Plot precision and recall of NIL over thresholds."
    ),
    samples: int = typer.Option(2_000, metavar="N", min=39, help="Bootstrap samples per interval."),
    as_json: bool = options.AS_JSON,
    quiet: bool = options.QUIET,
) -> None:
    """Measure how often a linker is right, on annotated documents.

    Prints accuracy, Bag-of-Title F1, precision and recall with NIL, candidate recall and
    calibration error, overall and by groups of mentions. With --from-text mentions are detected,
    too: prints precision, recall and F1 of entities and of mentions, and the share of gold that is
    lost at each stage. Several models are compared on the same documents, with confidence
    intervals.

    \b
    Examples:
      sgtb evaluate test.jsonl --model my.model --kb my.kb
      sgtb evaluate test.jsonl --model a.model --model b.model --kb my.kb
      sgtb evaluate test.jsonl --model my.model --kb my.kb --errors mistakes.html
      sgtb evaluate test.jsonl --model my.model --kb my.kb --from-text
      sgtb evaluate wned.tar.xz --model my.model --kb my.kb --jobs 2 --json
    """
    models = model or []
    for one in models:
        check_pair(one, kb)
    if not models:
        check_pair(None, kb, quiet)
    if from_text:
        _refuse("needs annotated mentions; leave out --from-text", {
            "--errors": errors, "--figure": figure, "--nil-figure": nil_figure,
        })  # fmt: skip
    else:
        detection = min_link_probability != options.DEFAULT_LINK_PROBABILITY
        _refuse("needs --from-text", {"--any-case": any_case, "--min-link-probability": detection})
    # Not at the top, for a quick `sgtb --help`.
    from sgtb.evaluation.linkers import (
        EvaluationSettings,
        IncompleteEvaluationError,
        data_sets,
        evaluate_end_to_end,
        evaluate_linkers,
    )
    from sgtb.evaluation.linkers.systems import baselines_of

    handler = options.DocumentErrors(on_error)
    sets = data_sets(data, format, split, handler if on_error == "skip" else None)
    settings = linker_settings(5, False, fuzzy, any_case, min_link_probability, nil)
    linkers = _open(models, kb, settings)
    try:
        first = next(iter(linkers.values()))
        evaluated = EvaluationSettings(samples=samples)
        added = baselines_of(first.kb) if baselines else ()
        run: Callable[..., Any] = evaluate_end_to_end if from_text else evaluate_linkers
        try:
            with StageProgress(quiet) as progress:
                found = run(linkers, sets, evaluated, baselines=added, jobs=jobs, progress=progress)
        except IncompleteEvaluationError as error:  # a data set cannot be read to its end
            if error.finished.sets:
                _print_scores(error.finished, as_json, from_text)
            raise
        _print_scores(found, as_json, from_text)
        if not from_text:
            _draw(found, figure, nil_figure)
        if errors is not None:
            _write_errors(errors, linkers, sets, found, max_errors, jobs)
    finally:
        handler.print()
        for linker in linkers.values():
            linker.close()


def _refuse(why: str, given: "Mapping[str, object]") -> None:
    """Raise a usage error for the first option that is given."""
    for option, value in given.items():
        if value:
            raise typer.BadParameter(f"{option} {why}")


def _print_scores(found: "Evaluation[Any]", as_json: bool, from_text: bool) -> None:
    from sgtb.cli.views.evaluate_view import print_end_to_end, print_evaluation

    if as_json:
        print_json(found.to_dict())
    elif from_text:
        print_end_to_end(found)
    else:
        print_evaluation(found)


def _open(models: list[Path], kb: Path | None, settings: "LinkerSettings") -> dict[str, "Linker"]:
    """Open all linkers by the names of their files, or by their paths if names are equal."""
    if not models:
        return {STARTER: open_linker(None, kb, settings)}
    times = Counter(model.stem for model in models)
    names = [model.stem if times[model.stem] == 1 else str(model) for model in models]
    if len(set(names)) < len(names):
        raise SettingsError("a model is given twice")
    return {
        name: open_linker(model, kb, settings) for name, model in zip(names, models, strict=True)
    }


def _draw(found: "Evaluation[SystemScores]", figure: Path | None, nil_figure: Path | None) -> None:
    """Draw the wanted figures, with a line per model and data set."""
    from sgtb.evaluation.plots import nil_precision_recall, reliability

    scores = {
        name if len(found.sets) == 1 else f"{name}, {one.name}": system
        for one in found.sets
        for name, system in one.systems.items()
    }
    if figure is not None:
        trusted = {name: s.calibration for name, s in scores.items() if s.calibration is not None}
        reliability(trusted, figure)
    if nil_figure is not None:
        curves = {name: s.curve for name, s in scores.items() if s.curve is not None}
        if not curves:
            raise SettingsError(
                f"{nil_figure}: no mention is NIL, so that there is no curve to draw"
            )
        nil_precision_recall(curves, {name: scores[name].nil.nil for name in curves}, nil_figure)


def _write_errors(
    target: Path,
    linkers: dict[str, "Linker"],
    sets: "Mapping[str, Iterable[Document]]",
    found: "Evaluation[SystemScores]",
    most: int,
    jobs: int,
) -> None:
    from sgtb.cli.views.error_page import page_parts
    from sgtb.evaluation.linkers import find_mistakes

    describe = describer(next(iter(linkers.values())).kb)
    made = sum(len(one.systems[name].wrong) for one in found.sets for name in linkers)
    shown = sum(min(most, len(one.systems[name].wrong)) for one in found.sets for name in linkers)
    note = f"{made:,} errors" if shown == made else f"{shown:,} of {made:,} errors"
    mistakes = find_mistakes(linkers, sets, found, most=most, jobs=jobs)
    with replacing(target) as file:
        for part in page_parts(mistakes, describe, f"{note}; {', '.join(linkers)}"):
            file.write(part.encode())
    print(f"{target}: {note}", file=sys.stderr)
