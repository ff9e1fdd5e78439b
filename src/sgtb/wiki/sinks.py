"""Sinks: where what a page shows is written, white space made single on the way.

White space is not written but noted, and written as one blank or line break before what comes
next. So lines and anchors have none at their ends, and no line is empty.
"""

from typing import NamedTuple

import numpy as np

from sgtb.kernels import NO, YES, inner, int64, routine
from sgtb.wiki.lexicon import Bytes, Lexicon, Longs, character_reference

# What is shown goes to the text, the anchors of links that the text does not hold aside.
NOWHERE, TEXT, ASIDE, TARGETS = int64(-1), int64(0), int64(1), int64(2)
# What is known of a sink: bytes and code points written, the white space to come, and the depth of
# the link whose anchor is being written, or 0.
BYTES, POINTS, WHITE, ANCHOR_DEPTH = range(4)
_BLANK, _LINE_BREAK = int64(1), int64(2)


class Page(NamedTuple):
    """All that the pass that writes a page's text reads and writes."""

    source: Bytes
    size: int
    spans: Longs
    n_spans: int
    hidden: Bytes  # by span: 1 for links that show nothing
    lexicon: Lexicon
    sinks: Bytes  # [sink, byte]
    written: Longs  # [sink, BYTES, POINTS, WHITE or ANCHOR_DEPTH]
    links: Longs  # [link, column]
    bold: Longs  # [range, its start and end]
    stack: Longs  # [depth, column]
    now: Longs  # the state: a place for each field of State


class State(NamedTuple):
    """Where the pass is, and in what."""

    sink: int
    flags: int  # of links that begin here, without those of tables and lists
    cursor: int  # the first span not yet begun
    depth: int  # of the stack
    anchors: int  # open links that are not hidden
    literal: int  # NOWIKI or PRE inside of these
    variant: int  # depth of the language variant of which a `;` ends what is shown
    # The line of the source: does it begin here, how much text was there before it, is it a
    # block of its own, is it a list item, does it have cells (1: those of |, 2: those of !).
    fresh: int
    before: int
    block: int
    item: int
    cells: int
    # Tables that are open, and those of them that nothing closes.
    tables: int
    loose: int
    # Quotes: how far they were counted, up to which span, and which is an apostrophe and italics.
    counted: int
    counted_spans: int
    apostrophe: int
    # Whether there is bold, and how much text there was when it began.
    bold: int
    bold_bytes: int
    bold_points: int
    # What was done so far: links, ranges in bold, line breaks written, steps taken.
    links: int
    bolds: int
    lines: int
    steps: int


AT = State(*range(len(State._fields)))

# Columns of the stack: where what is open stops and where to go on after it, its kind, what to
# go back to, the link it is, and how much of the sink was written before it.
STOP, GO_ON, KIND_OPEN, SINK_BEFORE, FLAGS_BEFORE, LINK_OPEN, BYTES_BEFORE, POINTS_BEFORE = range(8)
FRAME = 8
HEADING, MUTED = 16, 17  # what may be open beside spans


def _meanings() -> Bytes:
    table = np.zeros(256, np.uint8)
    table[:33] = 1
    table[127] = 1
    table[list(b"\n&'_~|!;\xc2\xe1\xe2\xe3")] = 2  # the last four begin white space, and letters
    return table


MEANING = _meanings()  # of bytes: 0 none, 1 a blank, 2 perhaps some


@inner
def copy(page: Page, at: int, edge: int) -> int:
    """Write the source up to `edge` or a byte that may mean something; return where that is."""
    sink = page.now[AT.sink]
    written = page.written[sink]
    length, points, white = written[BYTES], written[POINTS], written[WHITE]
    while at < edge:
        byte = page.source[at]
        meaning = MEANING[byte]
        if meaning == 2:
            break
        if meaning == 1:
            white |= white == 0
        else:
            if white > 0:
                if length > 0:
                    page.sinks[sink, length] = 10 if white == _LINE_BREAK else 32
                    page.now[AT.lines] += white == _LINE_BREAK
                    length += 1
                    points += 1
                white = int64(0)
            page.sinks[sink, length] = byte
            length += 1
            points += (byte & 0xC0) != 0x80
        at += 1
    written[BYTES], written[POINTS], written[WHITE] = length, points, white
    return at


@routine
def put(page: Page, byte: int) -> None:
    """Write one byte that is not white space."""
    sink = page.now[AT.sink]
    written = page.written[sink]
    white = written[WHITE]
    if white > 0 and written[BYTES] > 0:
        page.sinks[sink, written[BYTES]] = 10 if white == _LINE_BREAK else 32
        page.now[AT.lines] += white == _LINE_BREAK
        written[BYTES] += 1
        written[POINTS] += 1
    written[WHITE] = 0
    page.sinks[sink, written[BYTES]] = byte
    written[BYTES] += 1
    written[POINTS] += (byte & 0xC0) != 0x80


@inner
def put_blank(page: Page) -> None:
    """Note a blank, unless there is white space already."""
    sink = page.now[AT.sink]
    if sink >= 0 and page.written[sink, WHITE] == 0:
        page.written[sink, WHITE] = _BLANK


@inner
def put_break(page: Page) -> None:
    """Note a line break, or a blank where no line can end: in anchors, and beside the text."""
    if in_text(page):
        page.written[TEXT, WHITE] = _LINE_BREAK
    else:
        put_blank(page)


@inner
def in_text(page: Page) -> bool:
    """Tell whether the text is being written, and not an anchor of it."""
    if page.now[AT.sink] == TEXT and page.now[AT.anchors] == 0:
        return YES
    return NO


@inner
def line_to_come(page: Page) -> int:
    """Return the number of the line that what is written next will stand in."""
    text = page.written[TEXT]
    breaks = text[WHITE] == _LINE_BREAK and text[BYTES] > 0
    return int64(page.now[AT.lines] + breaks)


@inner
def range_since(page: Page, length: int, points: int) -> tuple[int, int]:
    """Return the code points written since there were so many, without white space before."""
    sink = page.now[AT.sink]
    written = page.written[sink]
    if length < written[BYTES] and page.sinks[sink, length] <= 32:
        points += 1
    return points, written[POINTS]


@routine
def copy_point(page: Page, at: int) -> int:
    """Write the code point at `at` of the source; return where it ends."""
    point, width = point_at(page.source, at)
    if _is_space(point):
        put_blank(page)
    else:
        for k in range(at, at + width):
            put(page, int64(page.source[k]))
    return at + width


@routine
def copy_reference(page: Page, at: int) -> int:
    """Write what the `&name;` at `at` stands for, or the `&`; return where it ends."""
    end, number, point = character_reference(page.lexicon, page.source, at)
    if end < 0:
        put(page, int64(page.source[at]))
        return at + 1
    if number < 0:
        _put_point(page, point)
        return end
    shown, ends = page.lexicon.shown, page.lexicon.shown_ends
    k = ends[number - 1] if number > 0 else int64(0)
    while k < ends[number]:
        point, width = point_at(shown, k)
        _put_point(page, point)
        k += width
    return end


@routine
def _put_point(page: Page, point: int) -> None:
    if _is_space(point):
        put_blank(page)
        return
    if point < 0x80:
        put(page, point)
        return
    more = int64(1) if point < 0x800 else (int64(2) if point < 0x10000 else int64(3))
    put(page, (0xF00 >> more + 1 & 0xFF) | point >> 6 * more)
    while more > 0:
        more -= 1
        put(page, 0x80 | (point >> 6 * more & 0x3F))


@routine
def _is_space(point: int) -> bool:
    """Tell whether a code point is white space, or a control character."""
    if point < 0x1680:
        return point <= 32 or point == 127 or point == 0x85 or point == 0xA0
    return (
        point == 0x1680
        or 0x2000 <= point <= 0x200A
        or 0x2028 <= point <= 0x2029
        or point == 0x202F
        or point == 0x205F
        or point == 0x3000
    )


@routine
def point_at(source: Bytes, at: int) -> tuple[int, int]:
    """Return the code point at `at` and how many bytes it has."""
    first = int64(source[at])
    if first < 0x80:
        return first, int64(1)
    second = int64(source[at + 1]) & 0x3F
    if first < 0xE0:
        return (first & 0x1F) << 6 | second, int64(2)
    third = int64(source[at + 2]) & 0x3F
    if first < 0xF0:
        return (first & 0x0F) << 12 | second << 6 | third, int64(3)
    fourth = int64(source[at + 3]) & 0x3F
    return (first & 0x07) << 18 | second << 12 | third << 6 | fourth, int64(4)


# -- The stack of what is open ---------------------------------------------------------------


@inner
def open_until(page: Page, stop: int, go_on: int, kind: int, link: int) -> int:
    """Note what is open until `stop`, and what to go back to; return `stop`."""
    now = page.now
    frame = page.stack[now[AT.depth]]
    frame[STOP], frame[GO_ON], frame[KIND_OPEN], frame[LINK_OPEN] = stop, go_on, kind, link
    frame[SINK_BEFORE], frame[FLAGS_BEFORE] = now[AT.sink], now[AT.flags]
    now[AT.depth] += 1
    return stop


@routine
def mute(page: Page, at: int, stop: int, until: int) -> int:
    """Show nothing until `until`; return where to stop next."""
    if until <= at:
        return stop
    open_until(page, until, until, int64(MUTED), NOWHERE)
    page.now[AT.sink] = NOWHERE
    return until
