"""What `sgtb link` prints for people: a table of a document's links, and reasons in words."""

from collections.abc import Sequence
from unicodedata import category

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from sgtb.core.records import NIL
from sgtb.linking.links import Alternative, Found, Link, LinkedDocument, Reason

FOUND: dict[Found, str] = {
    "given": "among the candidates given",
    "exact": "by its very name",
    "longer name": "by a longer name",
    "acronym": "as an acronym",
    "near name": "by a near name",
    "nothing": "nowhere",
}
"""How candidates were found, in words."""

NOT_THERE = "not in the knowledge base"
NOTHING = "nothing there"
"""NIL, where it stands beside entities."""
COLOURS = {"PER": "magenta", "ORG": "cyan", "LOC": "green", "MISC": "yellow"}
_MARKED = ("longer name", "acronym", "near name")
_REASONS_SHOWN = 3
_BAR = 5
_ROOMY = 110
"""Columns of a terminal from which on there is room for bars, and for reasons on their own."""
_NARROW = 60
"""Columns below which there is none for types."""
# What would change the terminal, or the order in which the rest of a line is read.
_HARMFUL = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\x7f")


def print_links(document: LinkedDocument, reasons: bool, heading: bool) -> None:
    """Print the links of a document as a table; its id above, where there are several."""
    console = open_console()
    if heading:
        console.print(Text(harmless(document.id or "(no id)"), style="bold"))
    if document.links:
        console.print(_table(document.links, reasons, console.width))
    elif heading:
        console.print("no mentions found\n")


def reason_words(reason: Reason) -> str:
    """Say what a reason is about."""
    if reason.kind == "mention":
        return f"{'goes with' if reason.value >= 0 else 'at odds with'} {harmless(reason.name)}"
    from sgtb.linking.nil_candidate import REASON_LABELS  # with the compiled core

    return REASON_LABELS.get(reason.name, reason.name)


def signed(value: float) -> str:
    """Return a number with its sign; what is rounded to zero has none."""
    return f"{value:+.2f}".replace("-", "−") if abs(value) >= 0.005 else "0.00"


def percent(probability: float) -> str:
    """Return a probability as people say it; only what is certain is 0 or 100 %."""
    if 0 < probability < 0.005:
        return "<1 %"
    if 0.995 <= probability < 1:
        return ">99 %"
    return f"{100 * probability:.0f} %"


def bar(share: float, width: int) -> str:
    """Return a bar that fills this share of a width, to an eighth of a column."""
    eighths = round(max(0.0, min(1.0, share)) * width * 8)
    full, rest = divmod(eighths, 8)
    return "█" * full + ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")[rest]


def harmless(text: str) -> str:
    """Return text on one line, without what a terminal would obey."""
    line = " ".join(text.split())
    if line.isprintable():
        return line
    return "".join("�" if c in _HARMFUL or category(c) in ("Cc", "Cs") else c for c in line)


def unsure(link: Link) -> bool:
    """Tell whether an answer comes without anything that says how sure it is."""
    return link.entity is None and link.confidence == 0


def runner_up(link: Link) -> Alternative | None:
    """Return the candidate that the chosen one was compared with; else the next likely one."""
    others = [other for other in link.candidates if other.entity != link.entity]
    named = [other for other in others if other.entity == link.runner_up]
    return next(iter(named or others), None)


def type_text(type: str) -> Text:
    """Return a type in its colour."""
    return Text(type, style=COLOURS.get(type, ""))


def open_console() -> Console:
    """Return a console that prints text as it is."""
    return Console(highlight=False, markup=False, emoji=False, soft_wrap=False)


def _table(links: Sequence[Link], reasons: bool, width: int) -> Table:
    roomy, narrow = width >= _ROOMY, width < _NARROW
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("mention", overflow="fold")
    table.add_column("entity", overflow="fold")
    if not narrow:
        table.add_column("type", no_wrap=True)
    table.add_column("confidence" if roomy else "sure", no_wrap=True)
    stacked = reasons and not roomy
    table.add_column("runner-up, and why not" if stacked else "runner-up", overflow="fold")
    if reasons and roomy:
        table.add_column("why not the runner-up", overflow="fold")
    for link in links:
        about = [] if narrow else [type_text(link.type)]
        beside = [_runner_up(link)]
        if reasons and roomy:
            beside.append(_reasons(link))
        elif stacked and link.reasons:
            beside[0].append("\n").append_text(_reasons(link))
        table.add_row(_mention(link), _entity(link), *about, _confidence(link, roomy), *beside)
    return table


def _entity(link: Link) -> Text:
    return Text(harmless(link.title)) if link.entity is not None else Text(NOT_THERE, style="dim")


def _mention(link: Link) -> Text:
    text = Text(harmless(link.text), style="bold")
    if link.fixed:
        text.append(" = fixed", style="dim not bold")
    elif link.found in _MARKED:
        text.append(f" ~ {link.found}", style="dim not bold")
    return text


def _confidence(link: Link, roomy: bool) -> Text:
    if unsure(link):
        return Text("")
    text = Text(f"{percent(link.confidence):>5}")
    if roomy:
        text.append(f" {bar(link.confidence, _BAR)}", style="blue")
    return text


def _runner_up(link: Link) -> Text:
    if link.runner_up == NIL:
        return Text(f"{NOTHING} {percent(link.nil)}", style="dim")
    other = runner_up(link)
    if other is None:
        return Text("")
    return Text(f"{harmless(other.title)} {percent(other.probability)}", style="dim")


def _reasons(link: Link) -> Text:
    lines = []
    for reason in link.reasons[:_REASONS_SHOWN]:
        style = "green" if reason.value >= 0 else "red"
        lines.append(Text.assemble((signed(reason.value), style), f" {reason_words(reason)}"))
    return Text("\n").join(lines)
