"""Tables of evaluation scores, with one column per system."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from rich import box
from rich.table import Table
from rich.text import Text

from sgtb.cli.views.link_view import open_console, printable
from sgtb.cli.views.progress_views import counted
from sgtb.evaluation import Interval, PrecisionRecall
from sgtb.evaluation.breakdown import By
from sgtb.evaluation.linkers.end_to_end import LOSSES, MATCHES, EndToEndScores, Loss
from sgtb.evaluation.linkers.scores import Evaluation, SetScores, SystemScores
from sgtb.evaluation.metrics import share

S = TypeVar("S", SystemScores, EndToEndScores)
Cell = Callable[[SystemScores], str]

BY: dict[By, str] = {
    "type": "type",
    "ambiguity": "candidates of the mention",
    "length": "mentions in the document",
    "words": "words in the document",
    "frequency": "occurrences in training",
}
"""Headings of the breakdowns."""
_SHORT: dict[Loss, str] = {
    "not in the knowledge base": "not in KB",
    "not detected": "not detected",
    "not among candidates": "no candidate",
    "wrongly decided": "wrong",
    "wrongly NIL": "NIL",
}


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
        table = score_table("in percent", *scores.systems)
        for label, cell in _rows(scores):
            table.add_row(label, *map(cell, scores.systems.values()))
        console.print(table)
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
    for names, scores, system in _by_system(evaluation):
        named = scores.known + scores.unknown
        head = f"{named:,}", percent(share(scores.known, named))
        table.add_row(
            *names, *(head if names[0] else ("", "")),
            percent(share(system.recall.found, named)), percent(system.accuracy_on_recalled),
            percent(system.accuracy.micro), percent(system.titles.f1),
        )  # fmt: skip
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
        rows += [
            ("accuracy minus the first", _difference),
            ("  p", lambda s: f"{s.difference.p_value:.3f}" if s.difference else "–"),
        ]
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


def _breakdowns(scores: SetScores[SystemScores]) -> Table:
    table = score_table("in-KB accuracy by", "mentions", *scores.systems)
    systems = list(scores.systems.values())
    for by in BY:
        labels = dict.fromkeys(s.label for system in systems for s in system.slices.get(by, ()))
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
        more = "" if one is None or one.total == size else f" of {one.total:,}"
        cells.append("–" if one is None else f"{percent(one.accuracy)}{more}")
    return cells


def print_end_to_end(evaluation: Evaluation[EndToEndScores]) -> None:
    """Print the table of each data set, after an overview if there are several."""
    console = open_console()
    if len(evaluation.sets) > 1:
        console.print(_end_to_end_overview(evaluation), _lost_overview(evaluation))
    for scores in evaluation.sets:
        table = score_table("in percent", *scores.systems)
        for label, cells in _end_to_end_rows([*scores.systems.values()]):
            table.add_row(Text(label, style="" if cells else "dim"), *cells)
        console.print(Text(heading(scores), style="bold"), table)


def _end_to_end_rows(systems: Sequence[EndToEndScores]) -> Iterator[tuple[str, list[str]]]:
    """Yield labels with the cells of all systems; headings have no cells."""
    by_match = {match: [system.matches[match] for system in systems] for match in MATCHES}
    for match, scores in by_match.items():
        yield f"entities, {match} match", []
        yield from _retrieval([(one.entities, one.interval) for one in scores])
    for match, scores in by_match.items():
        yield f"mentions, {match} match", []
        yield from _retrieval([(one.mentions, None) for one in scores])
    for match, scores in by_match.items():
        yield f"gold lost, {match} match", []
        for loss in LOSSES:
            yield f"  {loss}", [percent(one.lost_share(loss)) for one in scores]
    yield "links outside of annotations", [percent(system.outside_share) for system in systems]


def _retrieval(
    found: Sequence[tuple[PrecisionRecall, Interval | None]],
) -> Iterator[tuple[str, list[str]]]:
    yield "  precision", [percent(one.precision) for one, _ in found]
    yield "  recall", [percent(one.recall) for one, _ in found]
    yield "  F1", [with_interval(one.f1, interval) for one, interval in found]


def _end_to_end_overview(evaluation: Evaluation[EndToEndScores]) -> Table:
    table = overview_table(
        "gold: mentions annotated with an entity; in percent: precision (P), recall (R) and F1 by "
        "strong match, F1 by weak match, F1 of mention detection by strong match",
        "gold", "P", "R", "F1", "weak F1", "mentions F1",
    )  # fmt: skip
    for names, scores, system in _by_system(evaluation):
        strong, weak = (system.matches[match] for match in MATCHES)
        found = strong.entities
        table.add_row(
            *names, f"{scores.known + scores.unknown:,}", percent(found.precision),
            percent(found.recall), percent(found.f1), percent(weak.entities.f1),
            percent(strong.mentions.f1),
        )  # fmt: skip
    return table


def _lost_overview(evaluation: Evaluation[EndToEndScores]) -> Table:
    table = overview_table(
        "percent of gold lost at each stage, strong match: entity not in the knowledge base, "
        "mention not detected, entity not among its candidates, wrongly decided, wrongly NIL",
        *(_SHORT[loss] for loss in LOSSES),
    )
    for names, _, system in _by_system(evaluation):
        strong = system.matches["strong"]
        table.add_row(*names, *(percent(strong.lost_share(loss)) for loss in LOSSES))
    return table


def _by_system(evaluation: Evaluation[S]) -> Iterator[tuple[tuple[str, str], SetScores[S], S]]:
    """Yield all systems of all data sets; the first of a data set has its name."""
    for scores in evaluation.sets:
        for i, (name, system) in enumerate(scores.systems.items()):
            yield ("" if i else printable(scores.name), printable(name)), scores, system
