"""Rule-based tokens and sentences of running text.

Tokens mostly follow CoNLL: `U.S.`, `AT&T` and `O'Brien` are one token; the `'s` of a genitive and
every punctuation mark are tokens of their own.
"""

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from itertools import accumulate, compress, count
from operator import itemgetter
from typing import Any, NamedTuple

from sgtb.core.records import Mention, Tokens
from sgtb.native import find_ascii_tokens

_WORD = r"[\w\u0300-\u036f]"  # a character of a word, or a combining accent of decomposed text

_TOKEN = re.compile(
    rf"((?:[^\W\d_]\.){{2,}}(?:[^\W\d_](?!{_WORD}))?"  # U.S. and U.S.A
    r"|[0-9]+(?:[.,:][0-9]+)+"  # 1,234.5 and 12:30
    rf"|['’][sS](?!{_WORD})"
    rf"|{_WORD}+(?:(?:[-&]|['’](?![sS](?!{_WORD}))){_WORD}+)*"
    r"|\.{2,}|-{2,}"
    # Byte order marks and zero-width spaces are invisible and no tokens.
    r"|[^\s\ufeff\u200b])"
)
_ENDS = frozenset(".!?…")
_CLOSERS = frozenset("\"'”’»)]}")
_LAST = _ENDS | _CLOSERS
_FIRST_SIGN = itemgetter(slice(1))
_OPENERS = frozenset("\"'“‘«([{")
_ABBREVIATIONS = frozenset(
    "Dr Hon Jr Mr Mrs Ms Prof Rev Sr St Capt Col Gen Gov Lt Maj Rep Sen Sgt vs".split()
)


class Segmented(NamedTuple):
    """Tokens of a text, and per sentence its first token and the one after its last."""

    tokens: Tokens
    sentences: tuple[tuple[int, int], ...]


Tokenizer = Callable[[str], Segmented]
"""Cuts a text into tokens and sentences; `LinkerSettings.tokenizer` takes any."""


def segment(text: str) -> Segmented:
    """Cut a text by the rules of this module, the default tokenizer."""
    tokens = tokenize(text)
    return Segmented(tokens, sentences(text, tokens))


def tokenize(text: str) -> Tokens:
    """Return the tokens of a text, which cover all of it but white space."""
    return _ascii_tokens(text) if text.isascii() else _any_tokens(text)


def _ascii_tokens(text: str) -> Tokens:
    """Return the tokens of an ASCII text, by a kernel with the same rules."""
    starts, ends = array("q", bytes(8 * len(text))), array("q", bytes(8 * len(text)))
    n = find_ascii_tokens(text.encode(), starts, ends)
    starts, ends = starts[:n], ends[:n]
    return Tokens(map(text.__getitem__, map(slice, starts, ends)), starts, ends)


def _any_tokens(text: str) -> Tokens:
    """Return the tokens of any text."""
    # Gaps and tokens alternate: their ends are the starts and ends of tokens.
    pieces = _TOKEN.split(text)
    ends = array("q", accumulate(map(len, pieces)))
    return Tokens(pieces[1::2], ends[:-1:2], ends[1::2])


def touched_tokens(tokens: Tokens, start: int, end: int) -> tuple[int, int]:
    """Return the first token that a span touches and the one after the last; equal: none."""
    first = bisect_right(tokens.starts, start) - 1
    if first < 0 or tokens.ends[first] <= start:
        first += 1
    return first, max(first, bisect_left(tokens.starts, end))


def mention_at(text: str, tokens: Tokens, start: int, end: int, **more: Any) -> Mention | None:
    """Return the mention of a span, with further fields; None if it touches no token."""
    first, stop = touched_tokens(tokens, start, end)
    if first >= stop:
        return None
    return Mention(start=start, end=end, first=first, stop=stop, text=text[start:end], **more)


def sentences(text: str, tokens: Tokens) -> tuple[tuple[int, int], ...]:
    """Return per sentence its first token and the one after its last.

    A sentence ends with its line, or with . ! ? before white space and a capital letter.
    """
    if not tokens:
        return ()
    starts, ends = tokens.starts, tokens.ends
    signs = map(_FIRST_SIGN, tokens.texts[:-1])
    after_marks = compress(count(1), map(_LAST.__contains__, signs))
    borders = {
        i for i in after_marks
        if ends[i - 1] < starts[i] and _opens(tokens, i) and _closes(tokens, i - 1)
    } | set(_after_lines(text, tokens))  # fmt: skip
    begins = sorted(borders)
    return (*zip([0, *begins], [*begins, len(tokens)], strict=True),)


def _after_lines(text: str, tokens: Tokens) -> Iterator[int]:
    """Yield the tokens after a line break, except a first token."""
    at = text.find("\n")
    while at >= 0:
        i = bisect_right(tokens.starts, at)
        if i == len(tokens):
            return
        if i > 0 and tokens.ends[i - 1] <= at:
            yield i
        at = text.find("\n", max(at + 1, tokens.starts[i]))


def _opens(tokens: Tokens, i: int) -> bool:
    """Whether a sentence may start with token i: a capital letter, also after an opening mark."""
    texts = tokens.texts
    if texts[i] in _OPENERS and i + 1 < len(tokens) and tokens.ends[i] == tokens.starts[i + 1]:
        i += 1
    return texts[i][0].isupper()


def _closes(tokens: Tokens, i: int) -> bool:
    """Whether a sentence may end with token i: an end mark, also before closing marks."""
    texts, starts, ends = tokens.texts, tokens.starts, tokens.ends
    while i > 0 and texts[i] in _CLOSERS and ends[i - 1] == starts[i]:
        i -= 1
    if texts[i][0] not in _ENDS:
        return False
    if texts[i] != "." or i == 0 or ends[i - 1] < starts[i]:
        return True
    before = texts[i - 1]
    # Initials and titles are parts of names.
    return not (before in _ABBREVIATIONS or (len(before) == 1 and before.isupper()))
