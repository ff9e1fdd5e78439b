"""Markup: where the links, templates, tags and tables of a page begin and end.

Two passes over the page's UTF-8 bytes, each with a stack of what is open: that of `scopes` for
what braces and tags enclose, and the one here for brackets and tables in and between them.
Both look at every byte once, apart from searches that remember how far they came, so their
time is linear in the length of the page whatever is in it.
"""

import numpy as np

from sgtb.kernels import NO, YES, inner, int64, kernel, routine
from sgtb.wiki.lexicon import REF, Bytes, Lexicon, Longs, is_alphanumeric, small
from sgtb.wiki.scopes import (
    BASE,
    BEGIN,
    CLOSE,
    COLON,
    COLUMNS,
    COMMENT,
    COUNT,
    END,
    EXTERNAL,
    INNER,
    KIND,
    LIMIT,
    LINK,
    PIPE,
    SPAN,
    TABLE,
    TEMPLATE,
    VARIANT,
    WHAT,
    enter,
    find_scopes,
    is_white,
    push,
    put_span,
    run_length,
    table,
)

LONGEST_TARGET = 2048  # bytes; titles have 255 at most, but comments may stand in between
SPANS, LINKS, PREFIXED, STEPS = range(4)  # what is counted

# What may be open beside scopes. The COUNT of an anchor are its single brackets, that of a scope
# whether it holds a link; the LIMIT of an external link is the line it stands in.
_TARGET, _ANCHOR, _EXTERNAL = 1, 2, 3

_OPEN, _CLOSE, _BAR, _LINE, _BRACE, _UNBRACE, _COLON, _HASH, _AND, _SLASH = b"[]|\n{}:#&/"
_BLANK, _TAB = b" \t"
_MARKS = table(b"[]|\n{}<>")
_ADDRESS_END = table(bytes(range(33)) + b'[]<>"{}')
_MAILTO = np.frombuffer(b"mailto", np.uint8)


def capacity(source: bytes) -> int:
    """Return how many spans a page can have at most."""
    return source.count(b"{") + source.count(b"<") + source.count(b"[") + 2


@kernel
def find_spans(
    source: Bytes, size: int, lexicon: Lexicon, ends: Longs, stack: Longs, scopes: Longs,
    spans: Longs, counts: Longs,
) -> None:  # fmt: skip
    """Write the spans of a page to `spans`, in the order of their begin.

    `ends` is -1 for every tag and for comments. `scopes` is room for the first pass; in the end
    it has a row for every link with a prefix: its span, and where the prefix begins and ends.
    """
    n_scopes, steps = find_scopes(source, size, lexicon, ends, stack, scopes)
    counts[STEPS] = steps
    found = _find_links(source, size, scopes, n_scopes, stack, spans, counts)
    _finish(spans, found, scopes, counts)


@routine
def _find_links(
    source: Bytes, size: int, scopes: Longs, n_scopes: int, stack: Longs, spans: Longs,
    counts: Longs,
) -> int:  # fmt: skip
    """Copy the scopes to `spans`, with links and tables between; return how many there are."""
    found, depth, cursor, base = int64(0), int64(0), int64(0), int64(-1)
    at, limit, steps = int64(0), size, size
    line = int64(-1)  # the last line break
    outer = int64(-1)  # the innermost open table; the PIPE of a table is the one around it
    while True:
        steps += 1
        while cursor < n_scopes and (scopes[cursor, END] < 0 or scopes[cursor, BEGIN] < at):
            cursor += 1
            steps += 1
        begin = scopes[cursor, BEGIN] if cursor < n_scopes else size
        edge = min(limit, begin)
        while at < edge and _MARKS[source[at]] == 0:
            at += 1
        if at >= limit:
            if base < 0:
                break
            at = spans[stack[base, SPAN], END]
            depth, base, limit = _leave(stack, base)
        elif at == begin and cursor < n_scopes:
            kind = scopes[cursor, KIND]
            if kind != COMMENT and kind != TEMPLATE and kind != VARIANT:
                depth = _drop_target(stack, depth, base)
            for column in range(COLUMNS):
                spans[found, column] = scopes[cursor, column]
            at = scopes[cursor, END]
            if kind >= REF and kind != COMMENT:
                enter(stack, depth, found, limit, base)
                at, limit, base = scopes[cursor, INNER], scopes[cursor, CLOSE], depth
                depth += 1
            found += 1
        elif source[at] == _OPEN:
            at, found, depth, more = _open_bracket(
                source, at, limit, line, spans, found, stack, depth, base
            )
            steps += more
        elif source[at] == _CLOSE:
            at, depth, more = _close_bracket(source, at, line, spans, stack, depth, base, counts)
            steps += more
        elif source[at] == _BAR:
            if depth > base + 1 and stack[depth - 1, WHAT] == _TARGET:
                depth, more = _begin_anchor(source, at, spans, stack, depth)
                steps += more
            elif source[at + 1] == _UNBRACE and base < 0 and outer >= 0:
                starts, more = _starts_line(source, at)
                steps += more
                if starts:
                    spans[outer, CLOSE] = at
                    outer = spans[outer, PIPE]
            at += 1
        else:
            depth = _drop_target(stack, depth, base)
            if source[at] == _LINE:
                line = at
            elif source[at] == _BRACE and source[at + 1] == _BAR and base < 0:
                starts, more = _starts_line(source, at)
                steps += more
                if starts:
                    put_span(spans, found, int64(TABLE), at, at + 2, int64(-1), at + 2)
                    spans[found, PIPE] = outer
                    outer = found
                    found += 1
                    at += 1
            at += 1
    counts[STEPS] += steps
    return found


@routine
def _leave(stack: Longs, scope: int) -> tuple[int, int, int]:
    """Leave a scope: what is open in it stays so. A target that holds a link is none."""
    depth, base, limit = scope, stack[scope, BASE], stack[scope, LIMIT]
    if stack[scope, COUNT] > 0:
        depth = _drop_target(stack, depth, base)
        if base >= 0:
            stack[base, COUNT] = 1
    return depth, base, limit


@inner
def _drop_target(stack: Longs, depth: int, base: int) -> int:
    """Give up a link in whose target stands what no target can hold."""
    if depth > base + 1 and stack[depth - 1, WHAT] == _TARGET:
        return depth - 1
    return depth


@routine
def _open_bracket(
    source: Bytes, at: int, limit: int, line: int, spans: Longs, found: int, stack: Longs,
    depth: int, base: int,
) -> tuple[int, int, int, int]:  # fmt: skip
    """Read a run of `[`: a link needs an even number, an address after it one."""
    depth = _drop_target(stack, depth, base)
    run = run_length(source, at)
    at += run
    top = depth - 1 if depth > base + 1 else int64(-1)
    web = _protocol_end(source, at)
    if web > at:
        if top >= 0 and stack[top, WHAT] == _EXTERNAL:
            if stack[top, LIMIT] == line:
                return at, found, depth, run
            depth -= 1
        while web < limit and _ADDRESS_END[source[web]] == 0:
            web += 1
        while web < limit and (source[web] == _BLANK or source[web] == _TAB):
            web += 1
        push(stack, depth, int64(_EXTERNAL), found, int64(0))
        stack[depth, LIMIT] = line
        put_span(spans, found, int64(EXTERNAL), at - 1, web, int64(-1), int64(-1))
        return web, found + 1, depth + 1, run + web - at
    if run % 2 == 0:
        push(stack, depth, int64(_TARGET), found, int64(0))
        put_span(spans, found, int64(LINK), at - 2, at, int64(-1), int64(-1))
        return at, found + 1, depth + 1, run
    if top >= 0 and stack[top, WHAT] == _ANCHOR:
        stack[top, COUNT] += 1
    return at, found, depth, run


@routine
def _begin_anchor(
    source: Bytes, at: int, spans: Longs, stack: Longs, depth: int
) -> tuple[int, int]:
    """Read the first bar of a link; return the depth and the steps."""
    span = stack[depth - 1, SPAN]
    begin = spans[span, INNER]
    if at - begin > LONGEST_TARGET:
        return depth - 1, int64(0)
    spans[span, PIPE], spans[span, COLON] = at, _prefix_end(source, begin, at)
    stack[depth - 1, WHAT] = _ANCHOR
    return depth, at - begin


@routine
def _close_bracket(
    source: Bytes, at: int, line: int, spans: Longs, stack: Longs, depth: int, base: int,
    counts: Longs,
) -> tuple[int, int, int]:  # fmt: skip
    """Close what `]` or `]]` closes; return where to go on, the depth and the steps."""
    steps = int64(0)
    double, triple = source[at + 1] == _CLOSE, source[at + 2] == _CLOSE
    while depth > base + 1:
        steps += 1
        top = depth - 1
        what, span = stack[top, WHAT], stack[top, SPAN]
        begin = spans[span, INNER]
        if what == _EXTERNAL:
            depth = top
            in_anchor = depth > base + 1 and stack[depth - 1, WHAT] == _ANCHOR
            if stack[top, LIMIT] == line and not (in_anchor and double and not triple):
                spans[span, CLOSE], spans[span, END] = at, at + 1
                return at + 1, depth, steps
            continue
        if what == _TARGET:
            depth = top
            if not double or at - begin > LONGEST_TARGET:
                continue
            spans[span, COLON] = _prefix_end(source, begin, at)
            steps += at - begin
        elif not double or (triple and stack[top, COUNT] > 0):
            stack[top, COUNT] = max(stack[top, COUNT] - 1, int64(0))
            break
        depth = top
        if _has_target(source, begin, at):
            spans[span, CLOSE], spans[span, END] = at, at + 2
            counts[LINKS] += 1
            if base >= 0:
                stack[base, COUNT] = 1
            depth, more = _drop_anchors(spans, stack, depth, base)
            steps += more
        return at + 2, depth, steps
    return at + 1, depth, steps


@routine
def _drop_anchors(spans: Longs, stack: Longs, depth: int, base: int) -> tuple[int, int]:
    """Give up the links around a link: only captions, so targets with a prefix, can hold one.

    An external link around it stays, the innermost if there are more.
    """
    first = depth
    external = depth > base + 1 and stack[depth - 1, WHAT] == _EXTERNAL
    while depth > base + 1:
        what, span = stack[depth - 1, WHAT], stack[depth - 1, SPAN]
        if what != _EXTERNAL and (what != _ANCHOR or spans[span, COLON] >= 0):
            break
        depth -= 1
    if external:
        for column in range(BASE + 1):
            stack[depth, column] = stack[first - 1, column]
        return depth + 1, first - depth
    return depth, first - depth


@routine
def _has_target(source: Bytes, begin: int, end: int) -> bool:
    k = begin
    while k < end and is_white(source[k]):
        k += 1
    return k < end and source[k] != _BAR


@routine
def _prefix_end(source: Bytes, begin: int, end: int) -> int:
    """Return where a prefix such as `File` ends in a target, or -1."""
    k = begin
    while k < end and is_white(source[k]):
        k += 1
    if source[k] == _COLON:  # a link to a file, not the file
        return int64(-1)
    while k < end and source[k] != _COLON:
        if source[k] == _HASH and source[k - 1] != _AND:  # a section
            return int64(-1)
        k += 1
    return k if k < end else int64(-1)


@routine
def _protocol_end(source: Bytes, at: int) -> int:
    """Return where `https://`, `//` or `mailto:` ends, or `at` if there is none."""
    k = at
    while k - at < 12 and is_alphanumeric(source[k]):
        k += 1
    if k > at:
        if source[k] != _COLON:
            return at
        mail = k - at == len(_MAILTO)
        for j in range(len(_MAILTO)):
            mail = mail and small(source[at + j]) == _MAILTO[j]
        k += 1
        if mail:
            return k
    return k + 2 if source[k] == _SLASH and source[k + 1] == _SLASH else at


@routine
def _starts_line(source: Bytes, at: int) -> tuple[bool, int]:
    """Tell whether only blanks and colons stand before `at` in its line; and the steps."""
    k = at - 1
    while k >= 0 and source[k] != _LINE:
        if not is_white(source[k]) and source[k] != _COLON:
            return NO, at - k
        k -= 1
    return YES, at - k


@routine
def _finish(spans: Longs, found: int, prefixed: Longs, counts: Longs) -> None:
    """Move the spans that were closed to the front, and list the links with a prefix."""
    kept, count = int64(0), int64(0)
    for span in range(found):
        if spans[span, END] >= 0:
            for column in range(COLUMNS):
                spans[kept, column] = spans[span, column]
            if spans[span, COLON] >= 0:
                prefixed[count, 0], prefixed[count, 1] = kept, spans[span, INNER]
                prefixed[count, 2] = spans[span, COLON]
                count += 1
            kept += 1
    counts[SPANS], counts[PREFIXED] = kept, count
    counts[STEPS] += found
