"""Tables of links for the terminal, and texts that all views share."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from textwrap import shorten
from unicodedata import category

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from sgtb.core.records import NIL
from sgtb.linking.links import Alternative, Found, Link, LinkedDocument, Reason

FOUND: dict[Found, str] = {
    "given": "given candidates",
    "exact": "exact name",
    "longer name": "longer name",
    "acronym": "acronym",
    "variant": "variant of a name",
    "abbreviation": "abbreviation",
    "training": "name of training",
    "similar name": "similar name",
    "nothing": "no candidates",
}
"""How candidates were found."""

NOT_IN_KB = "not in the knowledge base"
COLOURS = {"PER": "magenta", "ORG": "cyan", "LOC": "green", "MISC": "yellow"}
_MARKED = ("longer name", "acronym", "abbreviation", "training", "similar name")
_REASONS_SHOWN = 3
_ABOUT = 40  # characters of a description that tells entities of one title apart
_BAR = 5
_WIDE = 110  # terminal columns from which bars and a column of reasons are shown
_NARROW = 60  # terminal columns below which types are left out
# Characters that change the direction of text, and DEL.
_UNSAFE = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\x7f")


Describe = Callable[[str], str]  # from the id of an entity to its description


def print_links(
    document: LinkedDocument, reasons: bool, heading: bool, describe: Describe = lambda id: ""
) -> None:
    """Print the links of a document as a table, with its id as a heading if wanted.

    describe  descriptions of entities, shown where two have the same title
    """
    console = open_console()
    if heading:
        console.print(Text(printable(document.id or "(no id)"), style="bold"))
    if document.links:
        names = EntityNames(document.links, describe)
        console.print(_table(document.links, reasons, console.width, names))
    elif heading:
        console.print("no mentions found\n")


def reason_text(reason: Reason) -> str:
    """Return the text of a reason."""
    if reason.kind == "mention":
        return f"{'supported' if reason.value >= 0 else 'contradicted'} by {printable(reason.name)}"
    from sgtb.linking.nil_candidate import REASON_LABELS  # loads the compiled core

    return REASON_LABELS.get(reason.name, reason.name)


def signed(value: float) -> str:
    """Format a number with its sign, unless it rounds to zero."""
    return f"{value:+.2f}".replace("-", "−") if abs(value) >= 0.005 else "0.00"


def percent(probability: float) -> str:
    """Format a probability; only certainty is 0 or 100 %."""
    if 0 < probability < 0.005:
        return "<1 %"
    if 0.995 <= probability < 1:
        return ">99 %"
    return f"{100 * probability:.0f} %"


def bar(share: float, width: int) -> str:
    """Return a bar over a share of a width, in eighths of a column."""
    eighths = round(max(0.0, min(1.0, share)) * width * 8)
    full, rest = divmod(eighths, 8)
    return "█" * full + ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")[rest]


def printable(text: str) -> str:
    """Return text on one line, without control characters."""
    line = " ".join(text.split())
    if line.isprintable():
        return line
    return "".join("�" if c in _UNSAFE or category(c) in ("Cc", "Cs") else c for c in line)


def without_confidence(link: Link) -> bool:
    """Whether a link has no confidence."""
    return link.entity is None and link.confidence == 0


def runner_up(link: Link) -> Alternative | None:
    """Return the candidate that the chosen one was compared with, or the next likely one."""
    others = [other for other in link.candidates if other.entity != link.entity]
    named = [other for other in others if other.entity == link.runner_up]
    return next(iter(named or others), None)


def type_text(type: str) -> Text:
    """Return a coloured type."""
    return Text(type, style=COLOURS.get(type, ""))


def open_console(soft_wrap: bool = False) -> Console:
    """Return a console without markup, highlighting and emoji.

    soft_wrap  whether lines longer than the terminal are left to it
    """
    return Console(highlight=False, markup=False, emoji=False, soft_wrap=soft_wrap)


class EntityNames:
    """Names of entities in a table: the title, and a description or the id where two share it."""

    def __init__(self, links: Sequence[Link], describe: Describe = lambda id: "") -> None:
        self._describe = describe
        ids: dict[str, set[str]] = defaultdict(set)
        for link in links:
            for other in link.candidates:
                ids[other.title].add(other.entity)
        self._shared = {title for title, own in ids.items() if len(own) > 1}

    def of(self, title: str, id: str) -> str:
        """Return the name of an entity."""
        if title not in self._shared:
            return printable(title)
        about = shorten(printable(self._describe(id)), _ABOUT, placeholder="…") or printable(id)
        return f"{printable(title)} ({about})"


def _table(links: Sequence[Link], reasons: bool, width: int, names: EntityNames) -> Table:
    wide, narrow = width >= _WIDE, width < _NARROW
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("mention", overflow="fold")
    table.add_column("entity", overflow="fold")
    if not narrow:
        table.add_column("type", no_wrap=True)
    table.add_column("confidence", no_wrap=True)
    stacked = reasons and not wide
    table.add_column("runner-up and reasons" if stacked else "runner-up", overflow="fold")
    if reasons and wide:
        table.add_column("reasons against the runner-up", overflow="fold")
    for link in links:
        about = [] if narrow else [type_text(link.type)]
        beside = [_runner_up(link, names)]
        if reasons and wide:
            beside.append(_reasons(link))
        elif stacked and link.reasons:
            beside[0].append("\n").append_text(_reasons(link))
        table.add_row(
            _mention(link), _entity(link, names), *about, _confidence(link, wide), *beside
        )
    return table


def _entity(link: Link, names: EntityNames) -> Text:
    if link.entity is None:
        return Text(NOT_IN_KB, style="dim")
    return Text(names.of(link.title, link.entity))


def _mention(link: Link) -> Text:
    text = Text(printable(link.text), style="bold")
    if link.fixed:
        text.append(" = fixed", style="dim not bold")
    elif link.found in _MARKED:
        text.append(f" ~ {link.found}", style="dim not bold")
    return text


def _confidence(link: Link, wide: bool) -> Text:
    if without_confidence(link):
        return Text("")
    text = Text(f"{percent(link.confidence):>5}")
    if wide:
        text.append(f" {bar(link.confidence, _BAR)}", style="blue")
    return text


def _runner_up(link: Link, names: EntityNames) -> Text:
    """Return what reasons compare with; without reasons, the likelier of NIL and the next one."""
    other = runner_up(link)
    likelier = other is None or (link.runner_up is None and link.nil > other.probability)
    if link.runner_up == NIL or (link.entity is not None and link.nil and likelier):
        return Text(f"{NIL} {percent(link.nil)}", style="dim")
    if other is None:
        return Text("")
    name = names.of(other.title, other.entity)
    return Text(f"{name} {percent(other.probability)}", style="dim")


def _reasons(link: Link) -> Text:
    lines = []
    for reason in link.reasons[:_REASONS_SHOWN]:
        style = "green" if reason.value >= 0 else "red"
        lines.append(Text.assemble((signed(reason.value), style), f" {reason_text(reason)}"))
    return Text("\n").join(lines)
