"""The report of `sgtb corpus check`."""

import math
from collections.abc import Iterable

from rich.console import Console
from rich.table import Table

from sgtb.cli.views.link_view import open_console
from sgtb.cli.views.progress_views import counted
from sgtb.formats.survey import Survey
from sgtb.linking.training.gold_audit import GoldReport, UnknownEntity


def print_check(found: Survey, report: GoldReport | None, most: int) -> None:
    """Print the counts and problems of a file, and its coverage by a knowledge base."""
    console = open_console(soft_wrap=True)
    console.print(f"{found.path}: {found.format}", style="bold")
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column()
    table.add_column(justify="right")
    table.add_column()
    for name, value, remark in (*_counts(found), *(_known(report) if report else ())):
        table.add_row(f"  {name}", value, remark)
    console.print(table)
    for title, problems in (
        ("unreadable, or not matching the text", found.unreadable),
        ("overlaps", found.overlaps),
        ("duplicate ids", found.repeated),
        ("repaired: found near the stated offsets", found.repaired),
    ):
        if problems.total:
            console.print(f"{title}: {problems.total:,}", style="bold")
            _print_first(console, problems.listed[:most], problems.total - most)
    if report is not None and report.entities:
        console.print(f"not in the knowledge base: {report.entities:,} entities", style="bold")
        _print_first(console, map(_unknown, report.unknown[:most]), report.entities - most)
    if not found.errors:
        console.print("no errors")


def _counts(found: Survey) -> list[tuple[str, str, str]]:
    return [
        ("documents", f"{found.documents:,}", f"{found.characters:,} characters"),
        ("mentions", f"{found.mentions:,}", f"{found.unannotated:,} not annotated"),
        ("  with an entity", f"{found.linked:,}", f"{found.entities:,} distinct"),
        ("  NIL", f"{found.nil:,}", _share(found.nil_share)),
    ]


def _known(report: GoldReport) -> list[tuple[str, str, str]]:
    share = report.known / report.linked if report.linked else math.nan
    mean = "–" if math.isnan(report.ambiguity) else f"{report.ambiguity:.1f}"
    return [
        ("in the knowledge base", f"{report.known:,}", _share(share)),
        ("  among candidates", f"{report.recalled:,}", _share(report.recall)),
        ("  name unknown", f"{report.without:,}", ""),
        ("  candidates, mean", mean, ""),
    ]


def _print_first(console: Console, lines: Iterable[str], more: int) -> None:
    for line in lines:
        console.print(f"  {line}")
    if more > 0:
        console.print(f"  … and {more:,} more")


def _unknown(entity: UnknownEntity) -> str:
    title = "" if entity.title in (None, entity.gold) else f" ({entity.title})"
    times = counted(entity.mentions, "mention")
    line = f"{entity.gold}{title}, {times}"
    if not entity.suggestions:
        return line
    why = entity.suggestions[0].why
    others = ", ".join(
        other.id if other.id == other.title else f"{other.id} ({other.title})"
        for other in entity.suggestions
    )
    return f"{line}; {why}: {others}"


def _share(share: float) -> str:
    return "" if math.isnan(share) else f"{share:.1%}"
