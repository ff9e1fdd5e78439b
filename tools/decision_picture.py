"""The decision picture: mentions, their candidates, and the support between the chosen ones.

`python -m tools.decision_picture` draws EXAMPLE as the starter decides it.
"""

from collections.abc import Iterator, Sequence
from html import escape
from textwrap import wrap
from typing import NamedTuple

from sgtb.cli.views.link_view import percent, signed
from sgtb.linking.link_options import LinkerSettings
from sgtb.linking.linker import Linker
from sgtb.linking.links import Alternative, Link, LinkedDocument

EXAMPLE = (
    "In Springfield, Homer forgot to fetch Bart from school. "
    "In the Iliad, Homer forgot nothing: not Troy, not Achilles, not Helen."
)
LEAST = 0.1
"""Minimum contribution of a line."""
OTHERS = 3
"""Candidates shown below the chosen one."""

# All sizes are in units of the drawing, which is scaled to the page.
_EDGE, _COLUMN, _GAP, _COLUMNS = 24, 128, 8, 5
"""Width of columns, gap between them, and their minimum number."""
_TEXT_TOP, _TEXT_LINE, _LETTER = 44, 26, 9.5
_ARC_BASE, _ARC_STEP = 30, 22
_PORT = 11
"""Between two lines that end at the same mention."""
_CARD, _ROW, _WIDE, _NARROW = 70, 40, 16, 12
"""Heights of a card and of a candidate below it; letters on a line of either."""
_LEGEND = 72

_STYLE = """
text { font-family: system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; fill: #1f2328 }
.page { fill: #ffffff; stroke: #d1d9e0 } .card { fill: #f6f8fa; stroke: #8c959f }
.said { font-size: 17px } .name { text-decoration: underline }
.name, .mention { font-weight: 600 } .mention { font-size: 15px }
.title { font-size: 13px; font-weight: 600 } .other { font-size: 12px } .small { font-size: 12px }
.other, .small { fill: #59636e } .share { font-variant-numeric: tabular-nums }
.rest { fill: #d1d9e0 } .with { stroke: #1a7f5a } .odds { stroke: #bc4c00; stroke-dasharray: 5 4 }
.line { fill: none; stroke-linecap: round; opacity: 0.8 }
.value { font-size: 12px; font-weight: 600; text-anchor: middle } .under { fill: #ffffff }
.end { text-anchor: end } .mid { text-anchor: middle }
.gain { fill: #116149 } .loss { fill: #9a3c00 } .bar { fill: #59636e }
.PER { fill: #a63d9c } .ORG { fill: #0b7285 } .LOC { fill: #2b8a3e } .MISC { fill: #a06a00 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .page { fill: #0d1117; stroke: #3d444d }
  .card { fill: #1b222c; stroke: #6e7681 } .other, .small { fill: #9ba5b0 }
  .rest { fill: #3d444d } .with { stroke: #3fb68b } .odds { stroke: #f0883e }
  .under { fill: #0d1117 } .gain { fill: #63d4ab } .loss { fill: #ffa657 }
  .PER { fill: #e29bdb } .ORG { fill: #5cc8d7 } .LOC { fill: #7ee08c } .MISC { fill: #e3b341 }
}
"""


class Arc(NamedTuple):
    """Sum of the contributions of two chosen candidates to each other's leads."""

    left: int
    right: int
    value: float


def arcs(links: Sequence[Link]) -> list[Arc]:
    """Return the lines of a document, shortest first."""
    sums: dict[tuple[int, int], float] = {}
    for i, link in enumerate(links):
        for reason in link.reasons:
            if reason.mention is not None:
                pair = (min(i, reason.mention), max(i, reason.mention))
                sums[pair] = sums.get(pair, 0.0) + reason.value
    kept = [Arc(*pair, value) for pair, value in sums.items() if abs(value) >= LEAST]
    return sorted(kept, key=lambda arc: (arc.right - arc.left, arc.left))


def picture(document: LinkedDocument) -> str:
    """Draw a document of a few mentions, linked with reasons and all candidates, as SVG."""
    links, lines = document.links, arcs(document.links)
    width = 2 * _EDGE + max(len(links), _COLUMNS) * (_COLUMN + _GAP) - _GAP
    said = _said(document, int((width - 2 * _EDGE) / _LETTER))
    span = max((arc.right - arc.left for arc in lines), default=0)
    ground = _TEXT_TOP + len(said) * _TEXT_LINE + (_ARC_BASE + _ARC_STEP * span if span else 0) + 8
    rows = max((min(len(link.candidates) - 1, OTHERS) for link in links), default=0)
    foot = ground + 24 + _CARD + rows * _ROW + 26
    height = foot + _LEGEND
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        'aria-labelledby="picture-title">',
        '<title id="picture-title">Mentions, their candidates with probabilities, and what the '
        "chosen ones add to each other</title>",
        f"<style>{_STYLE}</style>",
        f'<rect class="page" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="12"/>',
        *said,
        *_lines(lines, len(links), ground),
    ]
    for i, link in enumerate(links):
        parts += _column(link, _left(i), ground)
    parts += [*_legend(foot), "</svg>"]
    return "\n".join(parts) + "\n"


def _left(i: int) -> int:
    return _EDGE + i * (_COLUMN + _GAP)


def _said(document: LinkedDocument, width: int) -> list[str]:
    """Return the text in lines of so many letters, its mentions in bold."""
    result, begin = [], 0
    for n, line in enumerate(wrap(document.text, width)):
        begin = document.text.index(line, begin)
        stop = begin + len(line)
        marked, at = "", begin
        for link in document.links:
            if begin <= link.start and link.end <= stop:
                name = escape(document.text[link.start : link.end])
                marked += (
                    f'{escape(document.text[at : link.start])}<tspan class="name">{name}</tspan>'
                )
                at = link.end
        marked += escape(document.text[at:stop])
        y = _TEXT_TOP + n * _TEXT_LINE
        result.append(f'<text class="said" x="{_EDGE}" y="{y}">{marked}</text>')
        begin = stop
    return result


def _ports(lines: Sequence[Arc], n: int) -> dict[tuple[int, Arc], float]:
    """Return where on its mention each line ends, so that lines do not cross without need."""
    result: dict[tuple[int, Arc], float] = {}
    for i in range(n):
        to_left = sorted((arc for arc in lines if arc.right == i), key=lambda arc: -arc.left)
        to_right = sorted((arc for arc in lines if arc.left == i), key=lambda arc: -arc.right)
        here = [*to_left, *to_right]
        for place, arc in enumerate(here):
            middle = _left(i) + _COLUMN / 2
            result[i, arc] = middle + _PORT * (place - (len(here) - 1) / 2)
    return result


def _lines(lines: Sequence[Arc], n: int, ground: int) -> Iterator[str]:
    ports = _ports(lines, n)
    labels = []
    for arc in reversed(lines):  # the longest first: the others lie on top
        a, b = ports[arc.left, arc], ports[arc.right, arc]
        height = _ARC_BASE + _ARC_STEP * (arc.right - arc.left)
        kind, tone = ("with", "gain") if arc.value >= 0 else ("odds", "loss")
        # A cubic curve reaches three quarters of the height of its control points.
        top = ground - height / 0.75
        yield (
            f'<path class="line {kind}" stroke-width="{max(1.2, 4.5 * abs(arc.value)):.2f}" '
            f'd="M{a:.1f} {ground} C{a:.1f} {top:.1f} {b:.1f} {top:.1f} {b:.1f} {ground}"/>'
        )
        x, y = (a + b) / 2, ground - height
        labels.append(
            f'<rect class="under" x="{x - 20:.1f}" y="{y - 8}" width="40" height="16" rx="4"/>\n'
            f'<text class="value {tone}" x="{x:.1f}" y="{y + 4}">{signed(arc.value)}</text>'
        )
    yield from labels


def _column(link: Link, x: int, ground: int) -> Iterator[str]:
    """Draw a mention, the card of its entity, and the other candidates."""
    yield (
        f'<text class="mention mid" x="{x + _COLUMN / 2:.0f}" y="{ground + 17}">'
        f"{escape(link.text)}</text>"
    )
    y = ground + 24
    yield f'<rect class="card" x="{x}" y="{y}" width="{_COLUMN}" height="{_CARD}" rx="8"/>'
    yield from _words(wrap(link.title, _WIDE), x + 10, y + 20, "title")
    share = percent(link.confidence) if len(link.candidates) > 1 else "no other"
    yield f'<text class="small share" x="{x + 10}" y="{y + 54}">{share}</text>'
    kind = link.type
    yield f'<text class="small end {kind}" x="{x + _COLUMN - 10}" y="{y + 54}">{kind}</text>'
    yield from _bar(x + 10, y + 60, _COLUMN - 20, link.confidence, kind)
    others = [other for other in link.candidates if other.entity != link.entity]
    for n, other in enumerate(others[:OTHERS]):
        yield from _other(other, x, y + _CARD + n * _ROW)
    if len(others) > OTHERS:
        below = y + _CARD + OTHERS * _ROW + 18
        more = len(others) - OTHERS
        yield f'<text class="small" x="{x + 10}" y="{below}">and {more} more</text>'


def _other(other: Alternative, x: int, y: int) -> Iterator[str]:
    beside = " " * (_WIDE - _NARROW)  # the first line leaves room for the probability
    lines = wrap(other.title, _WIDE, initial_indent=beside)
    yield from _words(lines, x + 10, y + 18, "other")
    yield (
        f'<text class="small end share" x="{x + _COLUMN - 6}" y="{y + 18}">'
        f"{percent(other.probability)}</text>"
    )


def _words(lines: Sequence[str], x: int, y: int, kind: str) -> Iterator[str]:
    """Write a title on two lines at most."""
    shown = [*lines[:1], f"{lines[1]}…"] if len(lines) > 2 else lines
    for n, line in enumerate(shown):
        yield f'<text class="{kind}" x="{x}" y="{y + 15 * n}">{escape(line.strip())}</text>'


def _bar(x: int, y: int, width: int, share: float, kind: str) -> Iterator[str]:
    for name, length in (("rest", width), (f"bar {kind}", round(width * share))):
        yield f'<rect class="{name}" x="{x}" y="{y}" width="{length}" height="3" rx="1.5"/>'


def _legend(y: int) -> Iterator[str]:
    x = _EDGE
    for kind, words, width in (
        ("with", "what two entities add to each other's lead over the runner-up", 460),
        ("odds", "what they take from it", 0),
    ):
        yield f'<path class="line {kind}" stroke-width="2.50" d="M{x} {y + 20} H{x + 34}"/>'
        yield f'<text class="small" x="{x + 44}" y="{y + 24}">{words}</text>'
        x += width
    words = (
        "In the boxes: the entities chosen. Percent: probability, all others decided as they were."
    )
    yield f'<text class="small" x="{_EDGE}" y="{y + 48}">{words}</text>'


def main() -> None:
    """Print the picture of the example."""
    with Linker.starter(LinkerSettings(candidates=1000, reasons=True)) as linker:
        print(picture(linker(EXAMPLE)), end="")


if __name__ == "__main__":
    main()
