"""The command `sgtb calibrate`: confidence of a trained linker, fitted to texts of another kind."""

import sys
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from sgtb.cli import options, train_options
from sgtb.cli.linker_options import check_pair, linker_settings, open_linker, print_json
from sgtb.cli.train_input import check_output
from sgtb.core.intervals import FEW_MENTIONS

if TYPE_CHECKING:
    from sgtb.linking.training.calibrator import Answers

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def calibrate(
    data: list[Path] = typer.Argument(
        ...,
        metavar="DATA…",
        exists=True,
        help="Files or folders of annotated documents that the model was not trained on.",
    ),
    output: Path = train_options.OUTPUT,
    model: Path | None = options.MODEL,
    kb: Path | None = options.KB,
    format: str | None = train_options.FORMAT_NAME,
    on_error: str = options.ON_ERROR,
    split: str | None = typer.Option(
        None, metavar="SPLIT", help="Only documents of this split: train, dev or test."
    ),
    nil_precision: float | None = train_options.NIL_PRECISION,
    as_json: bool = options.AS_JSON,
    quiet: bool = options.QUIET,
) -> None:
    """Fit the confidence of a trained model to annotated texts of another kind.

    Confidence is calibrated for texts like the training documents. Some fifty annotated documents
    calibrate confidence and the NIL rule for another kind of text or knowledge base, in seconds;
    trees and features stay as they are. Prints the calibration error before and after, by
    cross-validation.

    \b
    Examples:
      sgtb calibrate mine.jsonl --model news.model --kb my.kb -o mine.model
      sgtb calibrate mine.jsonl --model starter -o mine.model --nil-precision 0.95
    """
    check_pair(model, kb, quiet)
    check_output(output)
    # Not at the top, for a quick `sgtb --help`.
    from sgtb.evaluation.linkers import data_sets
    from sgtb.linking.training.recalibration import recalibrate
    from sgtb.linking.training.training_data import TrainingData

    handler = options.DocumentErrors(on_error)
    sets = data_sets(data, format, split, handler if on_error == "skip" else None)
    settings = linker_settings(1, False, None, False, options.DEFAULT_LINK_PROBABILITY)
    with open_linker(model, kb, settings, quiet) as linker:
        given = TrainingData.of(linker.kb, chain.from_iterable(sets.values()))
        handler.print()
        fitted = recalibrate(linker.pipeline, given.documents, nil_precision=nil_precision)
    fitted.model.save(output)
    result = {
        "model": str(output),
        "documents": fitted.documents,
        "mentions": fitted.mentions,
        "before": _scores(fitted.before),
        "after": _scores(fitted.after),
        "nil": asdict(fitted.model.nil),
    }
    if as_json:
        print_json(result)
    else:
        _print(result)


def _scores(answers: "Answers") -> dict[str, float]:
    """Return calibration error, mean confidence and share of right answers, in percent."""
    from sgtb.evaluation import calibration

    found = calibration(*answers)
    numbers = {"ece": found.ece, "confidence": found.confidence, "right": found.accuracy}
    return {name: round(100 * number, 2) for name, number in numbers.items()}


def _print(result: dict[str, Any]) -> None:
    from sgtb.cli.views.link_view import open_console
    from sgtb.cli.views.train_view import number_table

    print(
        f"{result['model']}: calibrated on {result['documents']:,} documents, "
        f"{result['mentions']:,} mentions with candidates"
    )
    table = number_table("in percent", "calibration error", "mean confidence", "right")
    for name in ("before", "after"):
        scores = result[name]
        row = (f"{scores[key]:.1f}" for key in ("ece", "confidence", "right"))
        table.add_row(name, *row)
    open_console().print(table)
    print("after: each fifth of the documents, calibrated on the others")
    if result["mentions"] < FEW_MENTIONS:
        print(
            f"warning: {result['mentions']} mentions are too few to measure a calibration error; "
            "the confidence stays near that of the model",
            file=sys.stderr,
        )
