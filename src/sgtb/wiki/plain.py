"""Plain text: what a page shows and where it leads, from its bytes and the spans of its markup.

One pass over the bytes, which goes into every span, since links may stand anywhere, but writes
only what is shown, and the anchors of links.
"""

from sgtb.kernels import inner, int64, kernel, routine
from sgtb.wiki.lexicon import (
    BREAK,
    CAPTIONS,
    DROP,
    NOWIKI,
    PRE,
    REF,
    REMOVED,
    SPACE,
    Bytes,
    Longs,
)
from sgtb.wiki.lines import begin_cell, begin_line, begin_table, end_line, read_quotes
from sgtb.wiki.scopes import (
    BEGIN,
    CLOSE,
    COMMENT,
    END,
    EXTERNAL,
    INNER,
    KIND,
    LINK,
    PIPE,
    TABLE,
    VARIANT,
)
from sgtb.wiki.sinks import (
    ANCHOR_DEPTH,
    ASIDE,
    AT,
    BYTES,
    BYTES_BEFORE,
    FLAGS_BEFORE,
    GO_ON,
    KIND_OPEN,
    LINK_OPEN,
    MEANING,
    NOWHERE,
    POINTS,
    POINTS_BEFORE,
    SINK_BEFORE,
    STOP,
    TARGETS,
    TEXT,
    WHITE,
    Page,
    copy,
    copy_point,
    copy_reference,
    in_text,
    line_to_come,
    mute,
    open_until,
    point_at,
    put_blank,
    put_break,
    range_since,
)

IN_TEMPLATE, IN_REF, IN_TABLE, IN_CAPTION, HIDDEN, IN_LIST = 1, 2, 4, 8, 16, 32

# Columns of a link, in code points: where its target is among all targets; where its anchor is in
# what was written to the text and aside, one after the other; its place in the text, or -1.
# Then its line and flags.
TARGET, TARGET_END, ANCHOR, ANCHOR_END, PLACE, PLACE_END, LINE, FLAGS = range(8)
LINK_COLUMNS = 8

_LINE, _AND, _QUOTE, _BAR, _BANG, _LOW, _TILDE, _SEMICOLON, _COLON, _MINUS = b"\n&'|!_~;:-"


@kernel
def write_plain(page: Page) -> None:
    """Write the text, links and bold ranges of a page."""
    now, spans = page.now, page.spans
    at, stop, steps = int64(0), page.size, page.size
    now[AT.fresh], now[AT.apostrophe], now[AT.variant] = 1, -1, -1
    while True:
        steps += 1
        cursor = now[AT.cursor]
        while cursor < page.n_spans and spans[cursor, BEGIN] < at:
            cursor += 1
            steps += 1
        now[AT.cursor] = cursor
        begin = spans[cursor, BEGIN] if cursor < page.n_spans else page.size
        edge = min(stop, begin)
        if at >= stop:
            if now[AT.depth] == 0:
                break
            at, stop = _end_span(page)
        elif at == begin:
            at, stop = _begin_span(page, stop)
        elif now[AT.sink] < 0:
            at = edge
        elif now[AT.fresh] == 1 and in_text(page):
            at, stop = begin_line(page, at, stop, edge)
        else:
            at = copy(page, at, edge)
            if at < edge:
                at, stop = _read_byte(page, at, stop, edge)
    for link in range(now[AT.links]):
        if page.links[link, PLACE] < 0:
            page.links[link, ANCHOR] += page.written[TEXT, POINTS]
            page.links[link, ANCHOR_END] += page.written[TEXT, POINTS]
    now[AT.steps] += steps + now[AT.links]


@inner
def _read_byte(page: Page, at: int, stop: int, edge: int) -> tuple[int, int]:
    """Write or obey a byte that may mean something; return where to go on and to stop."""
    now, source = page.now, page.source
    byte, following = source[at], source[at + 1]
    if byte == _LINE:
        end_line(page)
        return at + 1, stop
    if byte == _AND:
        return copy_reference(page, at), stop
    if byte < 128 and now[AT.literal] == 0:
        if byte == _QUOTE and following == _QUOTE:
            return read_quotes(page, at, edge), stop
        cells = now[AT.cells] if in_text(page) else int64(0)
        if byte == following and ((byte == _BAR and cells > 0) or (byte == _BANG and cells == 2)):
            return begin_cell(page, at + 2, stop)
        if byte == _LOW and following == _LOW:
            after = _switch_end(source, at, edge)
            if after > at:
                return after, stop
        if byte == _TILDE and following == _TILDE and source[at + 2] == _TILDE:
            while at < edge and source[at] == _TILDE:
                at += 1
            return at, stop
        if byte == _SEMICOLON and now[AT.variant] == now[AT.depth]:
            return at, mute(page, at, stop, stop)
    return copy_point(page, at), stop


@inner
def _switch_end(source: Bytes, at: int, edge: int) -> int:
    """Return where a switch such as `__TOC__` ends, or `at`."""
    k = at + 2
    while k < edge and k - at < 64 and (65 <= source[k] <= 90 or source[k] >= 128):
        k += 1
    if k > at + 2 and k + 1 < edge and source[k] == _LOW and source[k + 1] == _LOW:
        return k + 2
    return at


@inner
def _begin_span(page: Page, stop: int) -> tuple[int, int]:
    """Obey the span that begins here; return where to go on and to stop."""
    now = page.now
    number = now[AT.cursor]
    now[AT.cursor] += 1
    span = page.spans[number]
    kind, opened, end = span[KIND], span[INNER], span[END]
    if kind == SPACE:
        put_blank(page)
    elif kind == BREAK:
        put_break(page)
    if kind in (SPACE, BREAK, REMOVED, COMMENT):
        return end, stop
    now[AT.fresh] = 0
    if kind == LINK:
        return _begin_link(page, number)
    if kind == TABLE:
        return end, (begin_table(page, end, stop, span[CLOSE] >= 0) if in_text(page) else stop)
    if kind == DROP:
        return end, stop
    stop = open_until(page, span[CLOSE], end, kind, NOWHERE)
    if kind in (NOWIKI, PRE):
        now[AT.literal] = kind
        if kind == PRE:
            put_break(page)
    elif kind == VARIANT:
        opened = _variant_start(page, opened, stop)
    elif kind != EXTERNAL:
        now[AT.sink] = NOWHERE
        if kind == REF:
            now[AT.flags] |= IN_REF
        elif kind == CAPTIONS:
            now[AT.flags] |= IN_CAPTION
        else:
            now[AT.flags] |= IN_TEMPLATE
    return opened, stop


@inner
def _end_span(page: Page) -> tuple[int, int]:
    """Leave the innermost thing that is open; return where to go on and to stop."""
    now = page.now
    now[AT.depth] -= 1
    depth = now[AT.depth]
    frame = page.stack[depth]
    at, kind = frame[GO_ON], frame[KIND_OPEN]
    stop = page.stack[depth - 1, STOP] if depth > 0 else page.size
    if kind == LINK and frame[LINK_OPEN] >= 0:
        if page.written[now[AT.sink], ANCHOR_DEPTH] == depth + 1:
            at = _copy_trail(page, at, stop)
            _end_anchor(page)
        now[AT.anchors] -= 1
    elif kind in (NOWIKI, PRE):
        now[AT.literal] = 0
        if kind == PRE:
            put_break(page)
    elif kind == VARIANT:
        now[AT.variant] = -1
    now[AT.sink], now[AT.flags] = frame[SINK_BEFORE], frame[FLAGS_BEFORE]
    return at, stop


@inner
def _variant_start(page: Page, at: int, stop: int) -> int:
    """Skip `A|` and `zh-hans:` in a language variant; what follows is shown, up to a `;`."""
    source = page.source
    start, k = at, at
    while k < stop and k - at < 64:
        byte = source[k]
        k += 1
        if byte in (_BAR, _COLON):
            start = k
        if byte == _COLON:
            page.now[AT.variant] = page.now[AT.depth]
            break
        if not (byte in (_BAR, _MINUS) or byte == 32 or 65 <= byte <= 90 or byte >= 97):
            break
    return start


# -- Links -----------------------------------------------------------------------------------


@inner
def _begin_link(page: Page, number: int) -> tuple[int, int]:
    """Note a link; if it is not hidden, its anchor comes next."""
    now, span = page.now, page.spans[number]
    row = now[AT.links]
    now[AT.links] += 1
    link = page.links[row]
    link[TARGET], link[TARGET_END] = _copy_target(page, span)
    link[ANCHOR], link[ANCHOR_END], link[PLACE], link[PLACE_END] = 0, 0, -1, -1
    link[LINE] = line_to_come(page)
    flags = now[AT.flags] | (IN_TABLE if now[AT.tables] > 0 else 0)
    link[FLAGS] = flags | (IN_LIST if now[AT.item] > 0 else 0)
    if page.hidden[number] == 1:
        link[FLAGS] |= HIDDEN
        stop = open_until(page, span[CLOSE], span[END], int64(LINK), NOWHERE)
        now[AT.sink] = NOWHERE
        now[AT.flags] |= IN_CAPTION
        return (span[PIPE] if span[PIPE] >= 0 else stop), stop
    start, stop = _anchor_range(page.source, span)
    open_until(page, stop, span[END], int64(LINK), row)
    if now[AT.sink] == NOWHERE:
        now[AT.sink] = ASIDE
    now[AT.anchors] += 1
    frame, written = page.stack[now[AT.depth] - 1], page.written[now[AT.sink]]
    if written[ANCHOR_DEPTH] > 0:
        _end_anchor(page)
    frame[BYTES_BEFORE], frame[POINTS_BEFORE] = written[BYTES], written[POINTS]
    written[ANCHOR_DEPTH] = now[AT.depth]
    return start, stop


@routine
def _end_anchor(page: Page) -> None:
    """End the anchor that is being written: with its link, or where a link in it begins.

    Anchors within anchors within anchors could be longer in all than any multiple of the page.
    """
    now, written = page.now, page.written[page.now[AT.sink]]
    frame = page.stack[written[ANCHOR_DEPTH] - 1]
    written[ANCHOR_DEPTH] = 0
    link = page.links[frame[LINK_OPEN]]
    start, end = range_since(page, frame[BYTES_BEFORE], frame[POINTS_BEFORE])
    if start < end:
        link[ANCHOR], link[ANCHOR_END] = start, end
        if now[AT.sink] == TEXT:
            link[PLACE], link[PLACE_END], link[LINE] = start, end, now[AT.lines]


@routine
def _anchor_range(source: Bytes, span: Longs) -> tuple[int, int]:
    """Return where what a link shows stands: behind the bar, or else, its target."""
    pipe, close = span[PIPE], span[CLOSE]
    if pipe >= 0:
        for k in range(pipe + 1, close):
            if source[k] > 32:
                return pipe + 1, close
    start, stop = span[INNER], (pipe if pipe >= 0 else close)
    while start < stop and source[start] <= 32:
        start += 1
    return (start + 1 if source[start] == _COLON else start), stop


@inner
def _copy_target(page: Page, span: Longs) -> tuple[int, int]:
    """Write a link's target, without comments; return where, in code points."""
    now, source, spans = page.now, page.source, page.spans
    cursor, sink = now[AT.cursor], now[AT.sink]
    now[AT.sink], page.written[TARGETS, WHITE] = TARGETS, 0
    k, end = span[INNER], (span[PIPE] if span[PIPE] >= 0 else span[CLOSE])
    now[AT.steps] += end - k
    length, points = page.written[TARGETS, BYTES], page.written[TARGETS, POINTS]
    while k < end:
        while cursor < page.n_spans and spans[cursor, BEGIN] < k:
            cursor += 1
        begin = spans[cursor, BEGIN] if cursor < page.n_spans else end
        if begin == k and spans[cursor, KIND] == COMMENT:
            k = spans[cursor, END]
        elif source[k] == _AND:
            k = copy_reference(page, k)
        elif begin == k or MEANING[source[k]] == 2:
            k = copy_point(page, k)
        else:
            k = copy(page, k, min(end, begin))
    start, stop = range_since(page, length, points)
    now[AT.sink] = sink
    return start, stop


@inner
def _copy_trail(page: Page, at: int, stop: int) -> int:
    """Write the small letters that follow a link: they are shown as part of it."""
    lower = page.lexicon.lower
    while at < stop:
        point, _ = point_at(page.source, at)
        if point >= lower.shape[0] or lower[point] == 0:
            break
        at = copy_point(page, at)
    return at
