"""Scopes: the comments, tags and templates of a page, whose contents are a world of their own.

The first pass over a page's bytes, with a stack of the braces that are open. It comes before
that of the links because no link leaves a template, nor a reference. What is never closed is
text.
"""

import numpy as np

from sgtb.kernels import inner, int64, routine
from sgtb.wiki.lexicon import (
    DROP,
    LONGEST_NAME,
    REF,
    REMOVED,
    UNKNOWN,
    Bytes,
    Lexicon,
    Longs,
    is_alphanumeric,
    small,
    tag_number,
)

# A span is a row of these columns. Its markup is begin .. inner and close .. end; `inner` to
# `close` is what it holds.
#
#     [ [ t a r g e t | a n c h o r ] ]          { { a { { b } } } }
#     ^   ^           ^             ^   ^        ^   ^           ^   ^
#   begin inner      pipe        close end     begin inner    close end
KIND, BEGIN, INNER, PIPE, COLON, CLOSE, END = range(7)
COLUMNS = 7

# Kinds of spans, after those of tags, which are spans too.
COMMENT, TEMPLATE, VARIANT, LINK, EXTERNAL, TABLE = range(10, 16)

PADDING = LONGEST_NAME + 8  # zero bytes after a page's, so that looking ahead needs no care

# Columns of the stack: what is open, its span, braces left to close, and for scopes the limit and
# the scope outside of it.
WHAT, SPAN, COUNT, LIMIT, BASE = range(5)
SCOPE = 0  # what may be open, beside what each pass adds
_BRACES, _VARIANT = 1, 2

_LT, _GT, _SLASH, _BANG, _MINUS, _OPEN, _LINE, _BLANK, _TAB = b"<>/!-{\n \t"


def table(special: bytes) -> Bytes:
    """Return a table of bytes with 1 for those given."""
    result = np.zeros(256, np.uint8)
    result[list(special)] = 1
    return result


_MARKS = table(b"<{}\n")


@routine
def find_scopes(
    source: Bytes, size: int, lexicon: Lexicon, ends: Longs, stack: Longs, spans: Longs
) -> tuple[int, int]:
    """Write comments, tags and what braces enclose to `spans`; return how many, and the steps.

    Spans come in the order of their begin; those with an end of -1 were never closed. `ends`
    is, for every tag and last for comments, how far the search for its end came.
    """
    found, depth = int64(0), int64(0)
    base = int64(-1)  # the frame of the innermost scope: what is open below it stays open in it
    at, limit, steps = int64(0), size, size
    line = int64(-1)  # the last line break
    while True:
        steps += 1
        while at < limit and _MARKS[source[at]] == 0:
            at += 1
        if at >= limit:
            if base < 0:
                break
            depth = base
            at = spans[stack[depth, SPAN], END]
            limit, base = stack[depth, LIMIT], stack[depth, BASE]
        elif source[at] == _LT:
            before = found
            at, found, more = _read_tag(source, at, limit, size, lexicon, spans, found, ends)
            steps += more
            if found > before and spans[before, END] > at:  # the tag's contents come next
                enter(stack, depth, before, limit, base)
                limit, base = spans[before, CLOSE], depth
                depth += 1
        elif source[at] == _OPEN:
            run = run_length(source, at)
            if run >= 2:
                push(stack, depth, int64(_BRACES), found, run)
                depth += 1
                found = _reserve(spans, found, run // 2, at)
            elif at > 0 and source[at - 1] == _MINUS:
                push(stack, depth, int64(_VARIANT), found, int64(1))
                depth += 1
                found = _reserve(spans, found, int64(1), at - 1)
            at += run
        elif source[at] == _LINE:
            line = at
            at += 1
        else:
            run = run_length(source, at)
            depth, more = _close_braces(source, at, run, line, spans, stack, depth, base)
            steps += more
            at += run
    return found, steps


@routine
def run_length(source: Bytes, at: int) -> int:
    """Return how often the byte at `at` is repeated."""
    k = at + 1
    while source[k] == source[at]:
        k += 1
    return k - at


@inner
def push(stack: Longs, depth: int, what: int, span: int, count: int) -> None:
    """Note what is open."""
    stack[depth, WHAT], stack[depth, SPAN], stack[depth, COUNT] = what, span, count


@inner
def enter(stack: Longs, depth: int, span: int, limit: int, base: int) -> None:
    """Note a scope, and what to go back to after it."""
    push(stack, depth, int64(SCOPE), span, int64(0))
    stack[depth, LIMIT], stack[depth, BASE] = limit, base


@routine
def put_span(
    spans: Longs, span: int, kind: int, begin: int, opened: int, close: int, end: int
) -> None:
    """Write a span without pipe and colon."""
    spans[span, KIND], spans[span, BEGIN], spans[span, INNER] = kind, begin, opened
    spans[span, PIPE], spans[span, COLON] = -1, -1
    spans[span, CLOSE], spans[span, END] = close, end


@routine
def is_white(byte: int) -> bool:
    """Tell whether a byte is white space."""
    return byte == 32 or 9 <= byte <= 13


# -- Braces ----------------------------------------------------------------------------------


@routine
def _reserve(spans: Longs, found: int, count: int, at: int) -> int:
    """Keep places for spans that begin at or after `at`, to be filled if they are closed."""
    for k in range(found, found + count):
        spans[k, END] = -1
        spans[k, BEGIN] = at
    return found + count


@routine
def _close_braces(
    source: Bytes, at: int, run: int, line: int, spans: Longs, stack: Longs, depth: int, base: int
) -> tuple[int, int]:
    """Match a run of `}` with open braces, three at a time if there are three, else two.

    A language variant ends in the line in which it begins.
    """
    left, steps = run, int64(0)
    while left > 0 and depth > base + 1:
        steps += 1
        top = depth - 1
        span, here = stack[top, SPAN], at + run - left
        if stack[top, WHAT] == _VARIANT:
            begin = spans[span, BEGIN]
            if begin > line and left == 1 and source[here + 1] != _MINUS:
                break
            if begin > line and left == 1:
                put_span(spans, span, int64(VARIANT), begin, begin + 2, here, here + 2)
                left = int64(0)
            depth = top
            continue
        matched = min(left, stack[top, COUNT], int64(3))
        if matched < 2:
            break
        rest = stack[top, COUNT] - matched
        # The innermost braces of a run take the last of the places kept for it.
        place, begin = span + rest // 2, spans[span, BEGIN] + rest
        put_span(spans, place, int64(TEMPLATE), begin, begin + matched, here, here + matched)
        left -= matched
        stack[top, COUNT] = rest
        if rest < 2:
            depth = top
    return depth, steps


# -- Tags and comments -----------------------------------------------------------------------


@routine
def _read_tag(
    source: Bytes, at: int, limit: int, size: int, lexicon: Lexicon, spans: Longs, found: int,
    ends: Longs,
) -> tuple[int, int, int]:  # fmt: skip
    """Read a comment or tag at `<`; return where to go on, the spans found, and the steps."""
    if source[at + 1] == _BANG and source[at + 2] == _MINUS and source[at + 3] == _MINUS:
        return _read_comment(source, at, limit, size, spans, found, ends)
    closing = source[at + 1] == _SLASH
    name = at + 2 if closing else at + 1
    word = name
    while word - name < LONGEST_NAME and is_alphanumeric(source[word]):
        word += 1
    if word == name or source[name] < 65 or not _ends_name(source[word]):
        return at + 1, found, word - at
    k = word
    while k < limit and source[k] != _GT and source[k] != _LT:
        k += 1
    if k >= limit or source[k] == _LT:
        return at + 1, found, k - at
    number = tag_number(lexicon.tags, source, name, word)
    kind = int64(UNKNOWN) if number < 0 else lexicon.tag_kinds[number]
    end, steps = k + 1, k - at
    close = limit
    if kind >= DROP and not closing and source[k - 1] != _SLASH:
        if ends[number] < end:
            steps += _find_end(source, name, word, end, size, number, kind == REF, ends)
        close = ends[number]
    if close >= limit or source[close + 1] != _SLASH:
        kind = int64(REMOVED) if kind >= DROP or kind == UNKNOWN else kind
        put_span(spans, found, kind, at, end, end, end)
        return end, found + 1, steps
    after = close + 2 + word - name
    while source[after] != _GT:
        after += 1
    put_span(spans, found, kind, at, end, close, after + 1)
    return (end if kind >= REF else after + 1), found + 1, steps


@routine
def _ends_name(byte: int) -> bool:
    return byte in (_GT, _SLASH) or is_white(byte)


@routine
def _find_end(
    source: Bytes, name: int, word: int, at: int, size: int, number: int, alone: bool, ends: Longs
) -> int:
    """Look for `</name >` from `at` on and note where it is, or the page's end: nowhere.

    With `alone`, also for `<name>`: a reference in a reference means that the first was never
    closed, and what stands between them is not to be lost. Return the steps.
    """
    k, steps = at, int64(0)
    while k < size:
        steps += 1
        start = k + 2 if source[k + 1] == _SLASH else k + 1
        if source[k] == _LT and (alone or start == k + 2):
            j = start
            while j < start + word - name and small(source[j]) == small(source[name + j - start]):
                j += 1
            if j == start + word - name and _ends_name(source[j]):
                if start == k + 2:
                    while is_white(source[j]):
                        j += 1
                    if source[j] == _GT:
                        break
                else:
                    while j < size and source[j] != _GT and source[j] != _LT:
                        j += 1
                    if source[j] == _GT and source[j - 1] != _SLASH:
                        break
            steps += j - k
        k += 1
    ends[number] = k
    return steps


@routine
def _read_comment(
    source: Bytes, at: int, limit: int, size: int, spans: Longs, found: int, ends: Longs
) -> tuple[int, int, int]:
    """Read a comment, to the end of its scope if need be; a line of its own goes with it."""
    number = ends.shape[0] - 1
    k, steps = at + 4, int64(0)
    if ends[number] < k:
        while k < size and not (
            source[k] == _MINUS and source[k + 1] == _MINUS and source[k + 2] == _GT
        ):
            k += 1
        ends[number] = k
        steps = k - at
    close = min(ends[number], limit)
    end = min(close + 3, limit)
    before, after = at, end
    while before > 0 and (source[before - 1] == _BLANK or source[before - 1] == _TAB):
        before -= 1
    while after < limit and (source[after] == _BLANK or source[after] == _TAB):
        after += 1
    steps += at - before + after - end
    if (before == 0 or source[before - 1] == _LINE) and after < limit and source[after] == _LINE:
        end = after + 1
    put_span(spans, found, int64(COMMENT), at, close, close, end)
    return end, found + 1, steps
