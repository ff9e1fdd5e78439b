"""Tables of an end-to-end evaluation, with one column per system."""

from collections.abc import Iterator, Sequence

from rich.table import Table
from rich.text import Text

from sgtb.cli.views.evaluate_view import (
    heading,
    overview_table,
    percent,
    score_table,
    with_interval,
)
from sgtb.cli.views.link_view import open_console, printable
from sgtb.evaluation import Interval, PrecisionRecall
from sgtb.evaluation.linkers.end_to_end import LOSSES, MATCHES, EndToEndScores, Loss
from sgtb.evaluation.linkers.scores import Evaluation, SetScores

_SHORT: dict[Loss, str] = {
    "not in the knowledge base": "not in KB",
    "not detected": "not detected",
    "not among candidates": "no candidate",
    "wrongly decided": "wrong",
    "wrongly NIL": "NIL",
}


def print_end_to_end(evaluation: Evaluation[EndToEndScores]) -> None:
    """Print the table of each data set, after an overview if there are several."""
    console = open_console()
    if len(evaluation.sets) > 1:
        console.print(_overview(evaluation), _lost_overview(evaluation))
    for scores in evaluation.sets:
        console.print(Text(heading(scores), style="bold"), _scores(scores))


def _scores(scores: SetScores[EndToEndScores]) -> Table:
    table = score_table("in percent", *scores.systems)
    for label, cells in _rows([*scores.systems.values()]):
        table.add_row(Text(label, style="" if cells else "dim"), *cells)
    return table


def _rows(systems: Sequence[EndToEndScores]) -> Iterator[tuple[str, list[str]]]:
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


def _overview(evaluation: Evaluation[EndToEndScores]) -> Table:
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


def _by_system(
    evaluation: Evaluation[EndToEndScores],
) -> Iterator[tuple[tuple[str, str], SetScores[EndToEndScores], EndToEndScores]]:
    """Yield all systems of all data sets; the first of a data set has its name."""
    for scores in evaluation.sets:
        for i, (name, system) in enumerate(scores.systems.items()):
            yield ("" if i else printable(scores.name), printable(name)), scores, system
