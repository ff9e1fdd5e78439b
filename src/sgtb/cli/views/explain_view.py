"""What `sgtb explain` prints: a mention's candidates, and the reasons as a chart of signed bars."""

import math
from collections.abc import Mapping

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from sgtb.cli.views.link_view import (
    FOUND,
    NOT_THERE,
    NOTHING,
    bar,
    harmless,
    open_console,
    percent,
    reason_words,
    runner_up,
    signed,
    type_text,
    unsure,
)
from sgtb.core.records import NIL
from sgtb.linking.links import Link, LinkedDocument

_AROUND = 60
"""Characters of the text that are shown on each side of the mention."""
_SLACK = 20
"""So few more are not left out."""
_BAR = 12


def print_explanation(document: LinkedDocument, link: Link, about: Mapping[str, str]) -> None:
    """Print everything about one link; `about` has the descriptions of entities by id."""
    console = open_console()
    console.print(_context(document.text, link))
    console.print()
    console.print(_answer(link))
    if link.candidates:
        console.print(_candidates(link, about, console.width))
    if link.reasons:
        _print_reasons(console, document, link)
    elif link.entity is None and link.candidates:
        console.print("None of its candidates is sure enough.")
    elif link.entity is not None and not link.fixed:
        console.print("Nothing competed with it.")


def _context(text: str, link: Link) -> Text:
    begin, stop = link.start - _AROUND, link.end + _AROUND
    begin = 0 if begin < _SLACK else begin
    stop = len(text) if stop > len(text) - _SLACK else stop
    begin, stop = _whole_words(text, begin, link.start, link.end, stop)
    before = " ".join(text[begin : link.start].split())
    after = " ".join(text[link.end : stop].split())
    # White space next to the mention is what was there: none, or a space.
    left = " " if text[: link.start][-1:].isspace() else ""
    right = " " if text[link.end :][:1].isspace() else ""
    return Text.assemble(
        "… " if begin else "", harmless(before), left,
        (harmless(link.text), "bold underline"),
        right, harmless(after), " …" if stop < len(text) else "",
    )  # fmt: skip


def _whole_words(text: str, begin: int, start: int, end: int, stop: int) -> tuple[int, int]:
    """Return a narrower range around start to end that cuts no word in two, if there is one."""
    if begin and not text[begin - 1].isspace():
        begin = next((i for i in range(begin, start) if text[i].isspace()), begin)
    if stop < len(text) and not text[stop].isspace():
        stop = next((i for i in range(stop, end, -1) if text[i - 1].isspace()), stop)
    return begin, stop


def _answer(link: Link) -> Text:
    where = f"characters {link.start} to {link.end}, found {FOUND[link.found]}"
    if link.entity is None:
        sure = "" if unsure(link) else f", {percent(link.confidence)} sure"
        means = Text(f"{NOT_THERE}{sure}")
    elif link.fixed:
        means = Text.assemble((harmless(link.title), "bold"), ", as was said beforehand")
    else:
        means = Text.assemble((harmless(link.title), "bold"), f", {percent(link.confidence)} sure")
    return Text.assemble((harmless(link.text), "bold"), ": ", means, (f"\n{where}", "dim"))


def _candidates(link: Link, about: Mapping[str, str], width: int) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("probability", no_wrap=True)
    table.add_column("prior", justify="right", no_wrap=True)
    table.add_column("entity", overflow="fold")
    table.add_column("type", no_wrap=True)
    table.add_column("description", overflow="fold")
    size = _BAR if width >= 100 else _BAR // 2
    for other in link.candidates:
        chosen = "bold" if other.entity == link.entity else ""
        share = Text(f"{percent(other.probability):>5} ")
        share.append(bar(other.probability, size), style="blue")
        prior = "–" if math.isnan(other.prior) else f"{other.prior:.3f}"
        title = Text(harmless(other.title), style=chosen)
        description = harmless(about.get(other.entity, ""))
        table.add_row(share, prior, title, type_text(other.type), description)
    return table


def _print_reasons(console: Console, document: LinkedDocument, link: Link) -> None:
    other = runner_up(link)
    against = "the runner-up" if other is None else harmless(other.title)
    against = NOTHING if link.runner_up == NIL else against
    answer = NOTHING.capitalize() if link.entity is None else harmless(link.title)
    console.print(f"{answer} leads {against} by {_number(link.lead)}:")
    most = max(abs(reason.value) for reason in link.reasons) or 1.0
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column(justify="right", no_wrap=True)
    table.add_column(justify="right", no_wrap=True, width=_BAR)
    table.add_column(no_wrap=True, width=_BAR)
    table.add_column(overflow="fold")
    for reason in link.reasons:
        length = bar(abs(reason.value) / most, _BAR)
        left, right = ("", length) if reason.value >= 0 else ("█" * len(length), "")
        words = reason_words(reason)
        if reason.mention is not None and 0 <= reason.mention < len(document.links):
            title = document.links[reason.mention].title
            words += f" ({harmless(title)})" if title else ""
        table.add_row(signed(reason.value), Text(left, "red"), Text(right, "green"), words)
    console.print(table)


def _number(value: float) -> str:
    return f"{value:.2f}".replace("-", "−")
