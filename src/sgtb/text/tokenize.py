"""Tokens and sentences of running text, by a few rules that need no model.

Tokens follow the habits of CoNLL where that is cheap: `U.S.`, `AT&T` and `O'Brien` are one token,
the `'s` of a genitive is one of its own, and so is every mark of punctuation.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from sgtb.records import Token

_WORD = r"[\w\u0300-\u036f]"
"""A sign of a word; the range is that of accents which follow their letter in decomposed text."""

_TOKEN = re.compile(
    rf"(?:[^\W\d_]\.){{2,}}(?:[^\W\d_](?!{_WORD}))?"  # U.S. and U.S.A
    r"|[0-9]+(?:[.,:][0-9]+)+"  # 1,234.5 and 12:30
    rf"|['’][sS](?!{_WORD})"
    rf"|{_WORD}+(?:(?:[-&]|['’](?![sS](?!{_WORD}))){_WORD}+)*"
    r"|\.{2,}|-{2,}"
    # Byte order marks and zero-width spaces are not to be seen, so they are not tokens.
    r"|[^\s\ufeff\u200b]"
)
_ENDS = frozenset(".!?…")
_CLOSERS = frozenset("\"'”’»)]}")
_OPENERS = frozenset("\"'“‘«([{")
_ABBREVIATIONS = frozenset(
    (
        *("Dr", "Hon", "Jr", "Mr", "Mrs", "Ms", "Prof", "Rev", "Sr", "St"),
        *("Capt", "Col", "Gen", "Gov", "Lt", "Maj", "Rep", "Sen", "Sgt"),
        "vs",
    )
)


def tokenize(text: str) -> tuple[Token, ...]:
    """Return the tokens of a text: together they are all of it but its white space."""
    return tuple(Token(match[0], *match.span()) for match in _TOKEN.finditer(text))


def touched_tokens(
    tokens: Sequence[Token], starts: Sequence[int], start: int, end: int
) -> tuple[int, int]:
    """Return the first token that a span touches and the one after the last; equal: none.

    starts  where each token starts, in a list of its own for the sake of speed
    """
    first = bisect_right(starts, start) - 1
    if first < 0 or tokens[first].end <= start:
        first += 1
    return first, max(first, bisect_left(starts, end))


def sentences(text: str, tokens: Sequence[Token]) -> tuple[tuple[int, int], ...]:
    """Return per sentence its first token and the one after its last.

    A sentence ends with its line, or with . ! ? before white space and a capital letter.
    """
    found = []
    first = 0
    for i in range(1, len(tokens)):
        start, end = tokens[i - 1].end, tokens[i].start
        if start < end and (
            text.find("\n", start, end) >= 0 or (_opens(tokens, i) and _closes(tokens, i - 1))
        ):
            found.append((first, i))
            first = i
    if tokens:
        found.append((first, len(tokens)))
    return tuple(found)


def _opens(tokens: Sequence[Token], i: int) -> bool:
    """Whether a sentence may start with token i: with a capital, perhaps in quotation marks."""
    if tokens[i].text in _OPENERS and i + 1 < len(tokens) and tokens[i].end == tokens[i + 1].start:
        i += 1
    return tokens[i].text[0].isupper()


def _closes(tokens: Sequence[Token], i: int) -> bool:
    """Whether a sentence may end with token i: with a mark, perhaps before closing ones."""
    while i > 0 and tokens[i].text in _CLOSERS and tokens[i - 1].end == tokens[i].start:
        i -= 1
    if tokens[i].text[0] not in _ENDS:
        return False
    if tokens[i].text != "." or i == 0 or tokens[i - 1].end < tokens[i].start:
        return True
    before = tokens[i - 1].text
    # An initial or a title: a name goes on.
    return not (before in _ABBREVIATIONS or (len(before) == 1 and before.isupper()))
