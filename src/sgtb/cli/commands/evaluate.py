"""The command `sgtb evaluate`: evaluation of linkers on annotated documents."""

import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sgtb.cli.linker_options import (
    MIN_LINK_PROBABILITY,
    Kb,
    Nil,
    check_pair,
    linker_settings,
    open_linker,
    print_json,
)
from sgtb.cli.train_input import FormatName
from sgtb.cli.views.progress_views import StageProgress
from sgtb.core.errors import SettingsError
from sgtb.core.files import replacing

if TYPE_CHECKING:
    from sgtb.core.records import Document
    from sgtb.evaluation.linkers import Evaluation
    from sgtb.linking.link_options import LinkerSettings
    from sgtb.linking.linker import Linker

STARTER = "starter"

app = typer.Typer(add_completion=False, rich_markup_mode="rich")


@app.command()
def evaluate(
    data: Annotated[
        list[Path],
        typer.Argument(
            metavar="DATA…",
            exists=True,
            show_default=False,
            help="Files or folders of annotated documents, each a data set.",
        ),
    ],
    model: Annotated[
        list[Path] | None,
        typer.Option(
            "--model",
            metavar="FILE|DIR",
            exists=True,
            show_default=False,
            help="A model file (with --kb), or a folder of `sgtb pack`; several are compared. "
            "Default: the bundled starter.",
        ),
    ] = None,
    kb: Kb = None,
    format: FormatName = None,
    split: Annotated[
        str | None,
        typer.Option(
            "--split",
            metavar="SPLIT",
            show_default=False,
            help="Only documents of this split: train, dev or test.",
        ),
    ] = None,
    nil: Nil = None,
    baselines: Annotated[
        bool,
        typer.Option(
            "--baselines",
            help="Add baselines: the best candidate by name prior, in-links and popularity.",
        ),
    ] = False,
    jobs: Annotated[
        int, typer.Option("--jobs", metavar="N", min=1, max=256, help="Number of processes.")
    ] = 1,
    errors: Annotated[
        Path | None,
        typer.Option(
            "--errors",
            metavar="FILE.html",
            dir_okay=False,
            show_default=False,
            help="Write an HTML page of the errors with reasons.",
        ),
    ] = None,
    max_errors: Annotated[
        int,
        typer.Option(
            "--max-errors",
            metavar="N",
            min=1,
            help="Errors on that page per model and data set.",
        ),
    ] = 500,
    figure: Annotated[
        Path | None,
        typer.Option(
            "--figure",
            metavar="FILE.png",
            dir_okay=False,
            show_default=False,
            help="Plot the calibration of confidences.",
        ),
    ] = None,
    nil_figure: Annotated[
        Path | None,
        typer.Option(
            "--nil-figure",
            metavar="FILE.png",
            dir_okay=False,
            show_default=False,
            help="Plot precision and recall of NIL over thresholds.",
        ),
    ] = None,
    samples: Annotated[
        int,
        typer.Option("--samples", metavar="N", min=39, help="Bootstrap samples per interval."),
    ] = 2_000,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")] = False,
) -> None:
    """Evaluate linkers on the mentions of annotated documents.

    Prints accuracy, Bag-of-Title F1, precision and recall with NIL, candidate recall and
    calibration error, overall and by groups of mentions. Several models are compared on the same
    documents, with confidence intervals.

    \b
    Examples:
      sgtb evaluate test.jsonl --model my.model --kb my.kb
      sgtb evaluate test.jsonl --model a.model --model b.model --kb my.kb --baselines
      sgtb evaluate test.jsonl --model my.model --kb my.kb --errors mistakes.html
      sgtb evaluate wned.tar.xz --model my.model --kb my.kb --jobs 2 --json
    """  # fmt: skip
    models = model or []
    for one in models:
        check_pair(one, kb)
    if not models:
        check_pair(None, kb)
    # Not at the top, for a quick `sgtb --help`.
    from sgtb.evaluation.linkers import EvaluationSettings, data_sets, evaluate_linkers
    from sgtb.evaluation.linkers.systems import baselines_of

    sets = data_sets(data, format, split)
    settings = linker_settings(5, False, False, False, MIN_LINK_PROBABILITY, nil)
    linkers = _open(models, kb, settings)
    try:
        first = next(iter(linkers.values()))
        with StageProgress(quiet) as progress:
            found = evaluate_linkers(
                linkers, sets, EvaluationSettings(samples=samples),
                baselines=baselines_of(first.kb) if baselines else (),
                jobs=jobs, progress=progress,
            )  # fmt: skip
        if as_json:
            print_json(found.to_dict())
        else:
            from sgtb.cli.views.evaluate_view import print_evaluation

            print_evaluation(found)
        _draw(found, figure, nil_figure)
        if errors is not None:
            _write_errors(errors, linkers, sets, found, max_errors, jobs)
    finally:
        for linker in linkers.values():
            linker.close()


def _open(models: list[Path], kb: Path | None, settings: "LinkerSettings") -> dict[str, "Linker"]:
    """Open all linkers by the names of their files, or by their paths if names are equal."""
    if not models:
        return {STARTER: open_linker(None, None, settings)}
    times = Counter(model.stem for model in models)
    names = [model.stem if times[model.stem] == 1 else str(model) for model in models]
    if len(set(names)) < len(names):
        raise SettingsError("a model is given twice")
    return {
        name: open_linker(model, kb, settings) for name, model in zip(names, models, strict=True)
    }


def _draw(found: "Evaluation", figure: Path | None, nil_figure: Path | None) -> None:
    """Draw the wanted figures, with a line per model and data set."""
    from sgtb.evaluation.reliability_plots import nil_precision_recall, reliability

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
    found: "Evaluation",
    most: int,
    jobs: int,
) -> None:
    from sgtb.cli.views.error_page import page_parts
    from sgtb.evaluation.linkers import find_mistakes

    kb = next(iter(linkers.values())).kb

    def describe(id: str) -> str:
        number = kb.number(id)
        return "" if number is None else kb.description_of(number)

    made = sum(len(one.systems[name].wrong) for one in found.sets for name in linkers)
    shown = sum(min(most, len(one.systems[name].wrong)) for one in found.sets for name in linkers)
    note = f"{made:,} errors" if shown == made else f"{shown:,} of {made:,} errors"
    mistakes = find_mistakes(linkers, sets, found, most=most, jobs=jobs)
    with replacing(target) as file:
        for part in page_parts(mistakes, describe, f"{note}; {', '.join(linkers)}"):
            file.write(part.encode())
    print(f"{target}: {note}", file=sys.stderr)
