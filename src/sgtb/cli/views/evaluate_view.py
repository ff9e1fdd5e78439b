"""Tables of evaluation scores, with one column per system."""

from collections.abc import Callable, Sequence
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from sgtb.cli.views.link_view import open_console, printable
from sgtb.cli.views.progress_views import counted
from sgtb.evaluation import Interval
from sgtb.evaluation.breakdown import By
from sgtb.evaluation.linkers.scores import Evaluation, SetScores, SystemScores
from sgtb.evaluation.metrics import share

Cell = Callable[[SystemScores], str]

BY: dict[By, str] = {
    "type": "type",
    "ambiguity": "candidates of the mention",
    "length": "mentions in the document",
    "words": "words in the document",
    "frequency": "occurrences in training",
}
"""Headings of the breakdowns."""


def print_evaluation(evaluation: Evaluation[SystemScores]) -> None:
    """Print the tables of each data set, after an overview if there are several."""
    console = open_console()
    if len(evaluation.sets) > 1:
        console.print(_overview(evaluation))
    for scores in evaluation.sets:
        console.print(Text(heading(scores), style="bold"))
        if scores.known + scores.unknown + scores.nil == 0:
            console.print("no annotated mentions\n")
            continue
        console.print(_scores(scores))
        slices = _breakdowns(scores)
        if slices.row_count:
            console.print(slices)


def percent(value: float) -> str:
    """Format a share in percent; a dash for NaN."""
    return "–" if value != value else f"{100 * value:.1f}"


def signed_points(value: float) -> str:
    """Format a difference of shares in percentage points."""
    text = f"{100 * value:+.1f}".replace("-", "−")
    return "0.0" if text in ("+0.0", "−0.0") else text


def heading(scores: SetScores[Any]) -> str:
    """Return the name of a data set and what it holds."""
    parts = [f"{scores.known:,} in the knowledge base"]
    if scores.unknown:
        parts.append(f"{scores.unknown:,} with an unknown entity")
    if scores.nil:
        parts.append(f"{scores.nil:,} NIL")
    rest = scores.mentions - scores.known - scores.unknown - scores.nil
    if rest:
        parts.append(f"{rest:,} not annotated")
    return (
        f"{printable(scores.name)}: {counted(scores.documents, 'document')}, "
        f"{counted(scores.mentions, 'mention')}: {', '.join(parts)}"
    )


def score_table(*headings: str) -> Table:
    """Return an empty table: one column of text, then numbers set to the right."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for i, heading in enumerate(headings):
        table.add_column(
            printable(heading), overflow="fold", no_wrap=i == 0,
            justify="left" if i == 0 else "right",
        )  # fmt: skip
    return table


def overview_table(caption: str, *headings: str) -> Table:
    """Return an empty table of data sets and systems with their scores."""
    table = score_table("data", "system", *headings)
    table.columns[1].justify, table.columns[1].no_wrap = "left", True
    table.caption, table.caption_justify = caption, "left"
    return table


def _overview(evaluation: Evaluation[SystemScores]) -> Table:
    table = overview_table(
        "mentions: annotated with an entity; in percent: entity in the knowledge base (in KB), "
        "gold among the candidates (recall), accuracy on recalled mentions and on mentions in "
        "the knowledge base, Bag-of-Title F1",
        "mentions", "in KB", "recall", "of recalled", "of in KB", "title F1",
    )  # fmt: skip
    for scores in evaluation.sets:
        named = scores.known + scores.unknown
        for i, (name, system) in enumerate(scores.systems.items()):
            head = (printable(scores.name), f"{named:,}", percent(share(scores.known, named)))
            data, mentions, known = ("", "", "") if i else head
            table.add_row(
                data, printable(name), mentions, known,
                percent(share(system.recall.found, named)), percent(system.accuracy_on_recalled),
                percent(system.accuracy.micro), percent(system.titles.f1),
            )  # fmt: skip
    return table


def _scores(scores: SetScores[SystemScores]) -> Table:
    table = score_table("in percent", *scores.systems)
    systems = list(scores.systems.values())
    for label, cell in _rows(scores):
        table.add_row(label, *(cell(system) for system in systems))
    return table


def _rows(scores: SetScores[SystemScores]) -> list[tuple[str, Cell]]:
    rows: list[tuple[str, Cell]] = [
        ("in-KB accuracy", lambda s: with_interval(s.accuracy.micro, s.intervals.get("accuracy"))),
        ("  mean of documents", lambda s: percent(s.accuracy.macro)),
        ("  on recalled mentions", lambda s: percent(s.accuracy_on_recalled)),
        ("candidate recall", lambda s: percent(s.recall.share)),
        ("candidates per mention", lambda s: f"{share(s.candidates, s.recall.total):.1f}"),
    ]
    if scores.unknown:
        rows.append(("accuracy, unknown entities wrong", lambda s: percent(s.named.micro)))
    rows += [
        ("Bag-of-Title F1", lambda s: with_interval(s.titles.f1, s.intervals.get("titles"))),
        ("links: precision", lambda s: percent(s.nil.links.precision)),
        ("links: recall", lambda s: percent(s.nil.links.recall)),
        ("links: F1", lambda s: with_interval(s.nil.links.f1, s.intervals.get("links"))),
    ]
    if scores.unknown + scores.nil or any(s.nil.nil.predicted for s in scores.systems.values()):
        rows += [
            ("NIL: precision", lambda s: percent(s.nil.nil.precision)),
            ("NIL: recall", lambda s: percent(s.nil.nil.recall)),
            ("NIL: F1", lambda s: percent(s.nil.nil.f1)),
            ("in-KB accuracy lost to NIL", _lost),
            ("right, NIL included", lambda s: percent(s.nil.accuracy)),
        ]
    rows += [
        ("calibration error (ECE)", _of_calibration("ece")),
        ("Brier score", _of_calibration("brier")),
        ("log loss", _of_calibration("log_loss")),
    ]
    if len(scores.systems) > 1:
        rows += [("accuracy minus the first", _difference), ("  p", _p_value)]
    return rows


def with_interval(value: float, interval: Interval | None) -> str:
    """Format a share with its interval below."""
    if interval is None:
        return percent(value)
    return f"{percent(value)}\n{percent(interval.low)}–{percent(interval.high)}"


def _lost(system: SystemScores) -> str:
    if system.curve is None:
        return "–"
    return percent(float(system.curve.in_kb[0]) - system.accuracy.micro)


def _of_calibration(name: str) -> Cell:
    def cell(system: SystemScores) -> str:
        found = system.calibration
        return "–" if found is None else f"{getattr(found, name):.3f}"

    return cell


def _difference(system: SystemScores) -> str:
    found = system.difference
    if found is None:
        return "–"
    low, high = signed_points(found.low), signed_points(found.high)
    return f"{signed_points(found.value)}\n{low} to {high}"


def _p_value(system: SystemScores) -> str:
    return "–" if system.difference is None else f"{system.difference.p_value:.3f}"


def _breakdowns(scores: SetScores[SystemScores]) -> Table:
    table = score_table("in-KB accuracy by", "mentions", *scores.systems)
    systems = list(scores.systems.values())
    kinds = [by for by in BY if any(by in system.slices for system in systems)]
    for by in kinds:
        labels = list(
            dict.fromkeys(s.label for system in systems for s in system.slices.get(by, ()))
        )
        if len(labels) < 2:
            continue  # a single slice repeats the table above
        table.add_row(Text(BY[by], style="dim"), *[""] * (len(systems) + 1))
        for label in labels:
            table.add_row(f"  {printable(label)}", *_slice_cells(systems, by, label))
    return table


def _slice_cells(systems: Sequence[SystemScores], by: By, label: str) -> list[str]:
    """Return the size of a slice and its accuracies; sizes differ if training data did."""
    found = [next((s for s in x.slices.get(by, ()) if s.label == label), None) for x in systems]
    size = next(one.total for one in found if one is not None)
    cells = [f"{size:,}"]
    for one in found:
        if one is None:
            cells.append("–")
        elif one.total == size:
            cells.append(percent(one.accuracy))
        else:
            cells.append(f"{percent(one.accuracy)} of {one.total:,}")
    return cells
