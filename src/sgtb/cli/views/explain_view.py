"""The candidates of one mention, and the reasons as a bar chart."""

import math
from collections.abc import Mapping

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from sgtb.cli.views.link_view import (
    FOUND,
    NOT_IN_KB,
    EntityNames,
    bar,
    open_console,
    percent,
    printable,
    reason_text,
    runner_up,
    signed,
    type_text,
    without_confidence,
)
from sgtb.core.records import NIL
from sgtb.linking.links import Link, LinkedDocument

_CONTEXT = 60  # characters shown on each side of the mention
_SLACK = 20  # a rest this short is not cut
_BAR = 12


def print_explanation(document: LinkedDocument, link: Link, about: Mapping[str, str]) -> None:
    """Print one link in full; `about` holds the descriptions of entities by id."""
    console = open_console()
    console.print(_context_text(document.text, link))
    console.print()
    names = EntityNames(document.links)
    console.print(_answer(link, names))
    if link.candidates:
        console.print(_candidates(link, names, about, console.width))
    if link.reasons:
        _print_reasons(console, document, link, names)
    elif link.entity is None and link.candidates:
        console.print("No candidate has enough confidence.")
    elif link.entity is not None and not link.fixed:
        console.print(
            "There is no other candidate."
            if len(link.candidates) == 1
            else "The trees score the first two candidates equally; the rankers decide."
        )


def _context_text(text: str, link: Link) -> Text:
    begin, stop = link.start - _CONTEXT, link.end + _CONTEXT
    begin = 0 if begin < _SLACK else begin
    stop = len(text) if stop > len(text) - _SLACK else stop
    begin, stop = _whole_words(text, begin, link.start, link.end, stop)
    before = " ".join(text[begin : link.start].split())
    after = " ".join(text[link.end : stop].split())
    # Keep whether white space stood next to the mention.
    left = " " if text[: link.start][-1:].isspace() else ""
    right = " " if text[link.end :][:1].isspace() else ""
    return Text.assemble(
        "… " if begin else "", printable(before), left,
        (printable(link.text), "bold underline"),
        right, printable(after), " …" if stop < len(text) else "",
    )  # fmt: skip


def _whole_words(text: str, begin: int, start: int, end: int, stop: int) -> tuple[int, int]:
    """Narrow a range around start to end so that it cuts no word, if possible."""
    if begin and not text[begin - 1].isspace():
        begin = next((i for i in range(begin, start) if text[i].isspace()), begin)
    if stop < len(text) and not text[stop].isspace():
        stop = next((i for i in range(stop, end, -1) if text[i - 1].isspace()), stop)
    return begin, stop


def _answer(link: Link, names: EntityNames) -> Text:
    where = f"characters {link.start} to {link.end}, found by {FOUND[link.found]}"
    if link.entity is None:
        confidence = "" if without_confidence(link) else f", confidence {percent(link.confidence)}"
        means = Text(f"{NOT_IN_KB}{confidence}")
    else:
        how = "fixed by the request" if link.fixed else f"confidence {percent(link.confidence)}"
        means = Text.assemble((names.of(link.title, link.entity), "bold"), f", {how}")
    return Text.assemble((printable(link.text), "bold"), ": ", means, (f"\n{where}", "dim"))


def _candidates(link: Link, names: EntityNames, about: Mapping[str, str], width: int) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("probability", no_wrap=True)
    table.add_column("prior", justify="right", no_wrap=True)
    table.add_column("entity", overflow="fold")
    table.add_column("type", no_wrap=True)
    table.add_column("description", overflow="fold")
    size = _BAR if width >= 100 else _BAR // 2
    above = sum(other.probability >= link.nil for other in link.candidates)
    for i, other in enumerate(link.candidates):
        if i == above:
            _add_nil(table, link, size)
        chosen = "bold" if other.entity == link.entity else ""
        prior = "–" if math.isnan(other.prior) else f"{other.prior:.3f}"
        title = Text(names.of(other.title, other.entity), style=chosen)
        description = printable(about.get(other.entity, ""))
        share = _share(other.probability, size)
        table.add_row(share, prior, title, type_text(other.type), description)
    if above == len(link.candidates):
        _add_nil(table, link, size)
    return table


def _add_nil(table: Table, link: Link, size: int) -> None:
    """Add NIL to the candidates, if it may be the answer."""
    if link.nil > 0:
        title = Text(NIL, style="bold" if link.entity is None else "")
        table.add_row(_share(link.nil, size), "–", title, "", NOT_IN_KB)


def _share(probability: float, size: int) -> Text:
    share = Text(f"{percent(probability):>5} ")
    share.append(bar(probability, size), style="blue")
    return share


def _print_reasons(
    console: Console, document: LinkedDocument, link: Link, names: EntityNames
) -> None:
    other = runner_up(link)
    against = "the runner-up" if other is None else names.of(other.title, other.entity)
    against = NIL if link.runner_up == NIL else against
    answer = NIL if link.entity is None else names.of(link.title, link.entity)
    lead = f"{link.lead:.2f}".replace("-", "−")
    console.print(f"{answer} leads {against} by {lead}:")
    most = max(abs(reason.value) for reason in link.reasons) or 1.0
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column(justify="right", no_wrap=True)
    table.add_column(justify="right", no_wrap=True, width=_BAR)
    table.add_column(no_wrap=True, width=_BAR)
    table.add_column(overflow="fold")
    for reason in link.reasons:
        length = bar(abs(reason.value) / most, _BAR)
        left, right = ("", length) if reason.value >= 0 else ("█" * len(length), "")
        words = reason_text(reason)
        if reason.mention is not None and 0 <= reason.mention < len(document.links):
            by = document.links[reason.mention]
            words += "" if by.entity is None else f" ({names.of(by.title, by.entity)})"
        table.add_row(signed(reason.value), Text(left, "red"), Text(right, "green"), words)
    console.print(table)
