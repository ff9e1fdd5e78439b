"""Lines: what the beginning of a source line makes of it: heading, list item, row, cell.

And what ends with a line: bold.
"""

from sgtb.kernels import inner, int64, routine
from sgtb.wiki.lexicon import PRE
from sgtb.wiki.scopes import (
    BEGIN,
    COMMENT,
    END,
    EXTERNAL,
    INNER,
    KIND,
    LINK,
    PIPE,
    TABLE,
    VARIANT,
    table,
)
from sgtb.wiki.sinks import (
    AT,
    BYTES,
    HEADING,
    NOWHERE,
    POINTS,
    TEXT,
    Page,
    in_text,
    mute,
    open_until,
    put,
    put_blank,
    put_break,
    range_since,
)

_LINE, _BLANK, _TAB, _EQUALS, _BAR, _BANG, _MINUS, _PLUS, _UNBRACE, _QUOTE = b"\n \t=|!-+}'"
_ITEM = table(b"*#:;")
_ITEM_OR_BLANK = table(b"*#:; \t")


@inner
def end_line(page: Page) -> None:
    """Obey a line break: between two lines of a paragraph it is a blank."""
    now = page.now
    if not in_text(page):
        put_blank(page)
        return
    length = page.written[TEXT, BYTES]
    if now[AT.literal] == PRE or now[AT.block] == 1 or length == now[AT.before]:
        put_break(page)
    else:
        put_blank(page)
    if now[AT.literal] == 0:
        now[AT.fresh], now[AT.bold] = 1, 0
    now[AT.block], now[AT.item], now[AT.cells], now[AT.before] = 0, 0, 0, length


@inner
def begin_line(page: Page, at: int, stop: int, edge: int) -> tuple[int, int]:
    """Obey what stands at the beginning of a line; return where to go on and to stop."""
    now, source = page.now, page.source
    k = at
    while k < edge and (source[k] == _BLANK or source[k] == _TAB):
        k += 1
    if k > at:
        put_blank(page)
    if k >= edge:
        return k, stop
    now[AT.fresh] = 0
    byte = source[k]
    if _ITEM[byte] == 1:
        while k < edge and _ITEM_OR_BLANK[source[k]] == 1:
            k += 1
        put_break(page)
        now[AT.block], now[AT.item] = 1, 1
    elif byte == _EQUALS:
        return _begin_heading(page, k, stop)
    elif byte == _BAR:
        return _begin_row(page, k, stop)
    elif byte == _BANG and now[AT.tables] > 0:
        now[AT.cells] = 2
        return begin_cell(page, k + 1, stop)
    elif byte == _MINUS:
        rule = k
        while k < edge and source[k] == _MINUS:
            k += 1
        if k - rule < 4:
            return rule, stop
        put_break(page)
    return k, stop


@routine
def line_end(page: Page, at: int, stop: int) -> tuple[int, int]:
    """Return where a line ends, and where what it shows ends: before comments and blanks."""
    source, spans = page.source, page.spans
    cursor, k, last = page.now[AT.cursor], at, at
    while k < stop and source[k] != _LINE:
        while cursor < page.n_spans and spans[cursor, BEGIN] < k:
            cursor += 1
        kind = int64(TABLE)
        if cursor < page.n_spans and spans[cursor, BEGIN] == k:
            kind = spans[cursor, KIND]
        if kind == TABLE:  # the only span whose lines are lines of their own
            k += 1
            if source[k - 1] > _BLANK:
                last = k
            continue
        k = spans[cursor, END]
        if kind != COMMENT:
            last = k
        elif source[k - 1] == _LINE:  # which a comment takes with it
            k -= 1
    page.now[AT.steps] += k - at + cursor - page.now[AT.cursor]
    return min(k, stop), min(last, stop)


@routine
def _begin_heading(page: Page, at: int, stop: int) -> tuple[int, int]:
    """Obey `== heading ==`, if it is one. A heading ends tables that nothing closes."""
    now, source = page.now, page.source
    _, last = line_end(page, at, stop)
    most = min((last - at - 1) // 2, int64(6))
    level = int64(0)
    while level < most and source[at + level] == _EQUALS and source[last - 1 - level] == _EQUALS:
        level += 1
    if level == 0:
        return at, stop
    if now[AT.tables] == now[AT.loose]:
        now[AT.tables], now[AT.loose] = 0, 0
    put_break(page)
    now[AT.block] = 1
    return at + level, open_until(page, last - level, last, int64(HEADING), NOWHERE)


# -- Tables ----------------------------------------------------------------------------------


@routine
def begin_table(page: Page, at: int, stop: int, closed: bool) -> int:
    """Begin a table; return where to stop, since the rest of the line are its attributes."""
    now = page.now
    put_break(page)
    now[AT.tables] += 1
    now[AT.loose] += not closed
    end, _ = line_end(page, at, stop)
    return mute(page, at, stop, end)


@routine
def _begin_row(page: Page, at: int, stop: int) -> tuple[int, int]:
    """Obey a line that begins with a bar: a row, a cell, a caption or the end of a table."""
    now = page.now
    put_break(page)
    byte = page.source[at + 1]
    if byte == _UNBRACE:
        if now[AT.tables] > 0:
            now[AT.tables] -= 1
            now[AT.loose] = min(now[AT.loose], now[AT.tables])
        return at + 2, stop
    if byte == _MINUS:
        end, _ = line_end(page, at, stop)
        return at, mute(page, at, stop, end)
    now[AT.cells] = 1
    return begin_cell(page, at + 2 if byte == _PLUS else at + 1, stop)


@routine
def begin_cell(page: Page, at: int, stop: int) -> tuple[int, int]:
    """Begin a cell; what stands before a single bar are its attributes."""
    now, source, spans = page.now, page.source, page.spans
    now[AT.bold] = 0
    put_break(page)
    cursor, k, attributes = now[AT.cursor], at, at
    while k < stop and source[k] != _LINE:
        while cursor < page.n_spans and spans[cursor, BEGIN] < k:
            cursor += 1
        if cursor < page.n_spans and spans[cursor, BEGIN] == k:
            kind = spans[cursor, KIND]
            if kind in (LINK, TABLE, VARIANT):
                break
            k = spans[cursor, END]
            if source[k - 1] == _LINE:
                break
            continue
        if source[k] == _BANG and source[k + 1] == _BANG and now[AT.cells] == 2:
            break
        k += 1
        if source[k - 1] == _BAR:
            if source[k] != _BAR:
                attributes = k
            break
    now[AT.steps] += k - at + cursor - now[AT.cursor]
    return at, mute(page, at, stop, attributes)


# -- Quotes ----------------------------------------------------------------------------------


@inner
def read_quotes(page: Page, at: int, edge: int) -> int:
    """Obey a run of apostrophes: two begin or end italics, three bold, five both."""
    now = page.now
    end = at
    while end < edge and page.source[end] == _QUOTE:
        end += 1
    markup = _marking(end - at)
    plain = end - at - markup
    if now[AT.sink] == TEXT and at >= now[AT.counted]:
        _count_quotes(page, at)
    in_bold = now[AT.sink] == TEXT and markup >= 3
    if in_bold and markup == 3 and at == now[AT.apostrophe]:
        in_bold, plain = False, plain + 1
    for _ in range(plain):
        put(page, int64(_QUOTE))
    if in_bold and now[AT.bold] == 0:
        now[AT.bold] = 1
        now[AT.bold_bytes] = page.written[TEXT, BYTES]
        now[AT.bold_points] = page.written[TEXT, POINTS]
    elif in_bold:
        now[AT.bold] = 0
        start, stop = range_since(page, now[AT.bold_bytes], now[AT.bold_points])
        if start < stop:
            page.bold[now[AT.bolds], 0], page.bold[now[AT.bolds], 1] = start, stop
            now[AT.bolds] += 1
    return end


@inner
def _marking(run: int) -> int:
    """Return how many apostrophes of a run are markup: the others are shown."""
    if run == 4:
        return int64(3)
    return min(run, int64(5)) if run > 1 else int64(0)


@routine
def _count_quotes(page: Page, at: int) -> None:
    """Look for the apostrophe of lines such as L'''Orfeo''.

    Where neither bold nor italics are closed, one run of three is an apostrophe and italics:
    the first after a word of one letter, else after a longer word, else after a blank.
    """
    now, source, spans = page.now, page.source, page.spans
    cursor, k = max(now[AT.cursor], now[AT.counted_spans]), at
    bold, italics = int64(0), int64(0)
    letter, word, blank = int64(-1), int64(-1), int64(-1)
    while k < page.size and source[k] != _LINE:
        while cursor < page.n_spans and spans[cursor, BEGIN] < k:
            cursor += 1
        if cursor < page.n_spans and spans[cursor, BEGIN] == k:
            kind = spans[cursor, KIND]
            if kind == LINK and page.hidden[cursor] == 0:
                k = max(spans[cursor, PIPE], spans[cursor, INNER])
            elif kind in (EXTERNAL, VARIANT, TABLE):
                k = spans[cursor, INNER]
            else:
                k = spans[cursor, END]
            continue
        if source[k] != _QUOTE:
            k += 1
            continue
        start = k
        while source[k] == _QUOTE:
            k += 1
        markup = _marking(k - start)
        bold += markup == 3 or markup == 5
        italics += markup == 2 or markup == 5
        if markup == 3:
            if start == 0 or source[start - 1] <= _BLANK:
                blank = start if blank < 0 else blank
            elif start == 1 or source[start - 2] <= _BLANK:
                letter = start if letter < 0 else letter
            else:
                word = start if word < 0 else word
    now[AT.steps] += k - at + cursor - now[AT.counted_spans]
    now[AT.counted], now[AT.counted_spans], now[AT.apostrophe] = k, cursor, -1
    if bold % 2 == 1 and italics % 2 == 1:
        now[AT.apostrophe] = letter if letter >= 0 else (word if word >= 0 else blank)
