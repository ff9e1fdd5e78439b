"""Wikitext: the plain text and the links of a page, from its MediaWiki markup.

    >>> page = extract("'''Ants''' are [[eusocial]] [[insect]]s.{{cn}}", frozenset())
    >>> page.text
    'Ants are eusocial insects.'
    >>> page.links[1].target, page.links[1].anchor
    ('insect', 'insects')

Templates are not expanded, since their pages may not be at hand: what they show is not in the
text, but the links in their arguments are reported. Any input gives a result, in time linear in
its length.
"""

from collections import deque
from dataclasses import dataclass, fields
from itertools import repeat
from typing import Any

import numpy as np

from sgtb.wiki import markup, plain, scopes, sinks
from sgtb.wiki.lexicon import Bytes, lexicon
from sgtb.wiki.plain import HIDDEN, IN_CAPTION, IN_LIST, IN_REF, IN_TABLE, IN_TEMPLATE

__all__ = [
    "HIDDEN",
    "IN_CAPTION",
    "IN_LIST",
    "IN_REF",
    "IN_TABLE",
    "IN_TEMPLATE",
    "Extract",
    "WikiLink",
    "extract",
]


@dataclass(frozen=True, slots=True)
class WikiLink:
    """A link of a page to another, wherever it stands."""

    target: str
    """As written before the first bar, with #section, leading colon and namespace; character
    references are decoded, comments left out, white space is single."""
    anchor: str
    """The text shown, trail included; empty where nothing is shown."""
    start: int
    """Where the anchor begins in the text, in code points; -1 if the text does not hold it."""
    end: int
    line: int
    """The line of the text it stands in, or would stand in."""
    flags: int
    """Where it stands: IN_TEMPLATE, IN_REF, ... ; HIDDEN: it shows nothing, as File: does."""


@dataclass(frozen=True, slots=True)
class Extract:
    """What a page shows and where it leads."""

    text: str
    """Paragraphs, list items, headings and table cells, one per line; no line is empty."""
    links: tuple[WikiLink, ...]
    """All links, in the order in which they begin in the source."""
    bold: tuple[tuple[int, int], ...]
    """Ranges of the text in bold."""


def extract(wikitext: str, hidden: frozenset[str]) -> Extract:
    """Return the plain text, links and bold ranges of a page.

    `hidden` are the lower-case prefixes whose links show no text where they stand, such as
    "file", "category" and "de".
    """
    return _extract(wikitext, hidden)[0]


def _extract(wikitext: str, hidden: frozenset[str]) -> tuple[Extract, int]:
    """Return a page's extract, and how many steps the kernels took for it."""
    data = wikitext.encode("utf-8", "replace")
    size = len(data)
    source = np.frombuffer(data + bytes(scopes.PADDING), np.uint8)
    tables = lexicon()
    room = markup.capacity(data)
    found, spans = np.empty((2, room, scopes.COLUMNS), np.int64)
    stack = np.empty((room + 8, sinks.FRAME), np.int64)
    counts = np.zeros(4, np.int64)
    ends = np.full(len(tables.tag_kinds) + 1, -1, np.int64)
    markup.find_spans(source, size, tables, ends, stack, found, spans, counts)
    n_spans, n_links, n_prefixed, steps = counts.tolist()

    page = sinks.Page(
        source,
        size,
        spans,
        n_spans,
        _hidden_links(data, n_spans, found[:n_prefixed, :3].tolist(), hidden),
        tables,
        np.empty((3, size + size // 4 + 16), np.uint8),  # &nGt; is longer in UTF-8
        np.zeros((3, 4), np.int64),
        np.empty((n_links, plain.LINK_COLUMNS), np.int64),
        np.empty((data.count(b"'''") + 1, 2), np.int64),
        stack,
        np.zeros(len(sinks.AT), np.int64),
    )
    plain.write_plain(page)
    return _strings(page), steps + int(page.now[sinks.AT.steps])


def _hidden_links(
    data: bytes, count: int, prefixed: list[list[int]], hidden: frozenset[str]
) -> Bytes:
    """Return for each of `count` spans 1 if it is a link with one of the prefixes."""
    result = np.zeros(count, np.uint8)
    known: dict[bytes, bool] = {}
    for span, begin, end in prefixed:
        prefix = data[begin:end]
        if prefix not in known:
            known[prefix] = _prefix(prefix) in hidden
        result[span] = known[prefix]
    return result


def _prefix(written: bytes) -> str:
    return " ".join(written.decode("utf-8", "replace").replace("_", " ").split()).lower()


def _strings(page: sinks.Page) -> Extract:
    """Turn what the kernels wrote into strings."""
    text, aside, targets = (
        str(page.sinks[sink, :length].data, "utf-8", "replace")
        for sink, length in enumerate(page.written[:, sinks.BYTES].tolist())
    )
    shown = text + aside
    target, target_end, anchor, anchor_end, *places = page.links.T.tolist()
    links = _links(
        [targets[start:end] for start, end in zip(target, target_end, strict=True)],
        [shown[start:end] for start, end in zip(anchor, anchor_end, strict=True)],
        *places,
    )
    bold = page.bold[: page.now[sinks.AT.bolds]].tolist()
    return Extract(text, links, tuple((start, end) for start, end in bold))


def _links(*columns: list[Any]) -> tuple[WikiLink, ...]:
    """Return links from the columns of their fields.

    The guard against setting a field of a frozen class makes its constructor slow: a page with
    many links would spend most of its time there. Setting all fields of a kind at once is fast.
    """
    links = tuple(map(object.__new__, repeat(WikiLink, len(columns[0]))))
    for set_field, column in zip(_SETTERS, columns, strict=True):
        deque(map(set_field, links, column), 0)
    return links


_SETTERS = [getattr(WikiLink, field.name).__set__ for field in fields(WikiLink)]
