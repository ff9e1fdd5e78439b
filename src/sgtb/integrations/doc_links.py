"""The links of a spaCy Doc, stored in it as plain data.

They are stored in `doc.user_data` by the characters of their span, under keys like those of spaCy's
extensions, and so survive serialisation, new spans, and joined or cut Docs. `span._.sgtb` and
`doc._.sgtb` read them.
"""

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

from spacy.tokens import Doc, Span

from sgtb.linking.links import Alternative, Link, LinkedDocument, Reason

NAME = "sgtb"
_MARK = "._."  # first item of the keys of spaCy's extensions
_LINK_FIELDS = "entity title type confidence found lead runner_up fixed nil".split()
_ALTERNATIVE_FIELDS = ("entity", "title", "type", "probability", "prior")


def register() -> None:
    """Register `span._.sgtb` and `doc._.sgtb`."""
    Span.set_extension(NAME, getter=link_of, force=True)
    Doc.set_extension(NAME, getter=links_of, force=True)


def link_of(span: Span) -> Link | None:
    """Return the link of a span; None if there is none at exactly these characters."""
    place = span.start_char, span.end_char
    record = _data(span.doc).get(_key(*place))
    if record is None:
        return None
    starts = [start for start, _ in _places(span.doc)] if record["reasons"] else []
    return _link(record, span.text, place, starts)


def links_of(doc: Doc) -> LinkedDocument:
    """Return the text of a Doc and its links, in order."""
    text, places = doc.text, _places(doc)
    starts = [start for start, _ in places]
    links = [
        _link(_data(doc)[_key(*place)], text[slice(*place)], place, starts) for place in places
    ]
    return LinkedDocument(text, tuple(links))


def clear(doc: Doc) -> None:
    """Drop all links of a Doc."""
    for key in [key for key in _data(doc) if _is_ours(key)]:
        del _data(doc)[key]


def put(doc: Doc, places: Sequence[tuple[int, int]], links: Sequence[Link]) -> None:
    """Store links at the characters of their spans; fixed ones keep an earlier record.

    Reasons refer to other mentions by distance, which stays valid when Docs are cut or joined.
    """
    for (start, end), link in zip(places, links, strict=True):
        key = _key(start, end)
        if link.fixed and key in _data(doc):
            continue
        _data(doc)[key] = {
            **{name: getattr(link, name) for name in _LINK_FIELDS},
            "candidates": [
                [getattr(other, name) for name in _ALTERNATIVE_FIELDS] for other in link.candidates
            ],
            "reasons": [
                [
                    reason.kind, reason.name, reason.value,
                    None if reason.mention is None else places[reason.mention][0] - start,
                ]
                for reason in link.reasons
            ],
        }  # fmt: skip


def _data(doc: Doc) -> dict[Any, Any]:
    """Return the data of a Doc; the type that spaCy states for its keys is too narrow."""
    return doc.user_data


def _key(start: int, end: int) -> tuple[str, str, int, int]:
    return _MARK, NAME, start, end


def _is_ours(key: Any) -> bool:
    return isinstance(key, tuple) and len(key) == 4 and key[:2] == (_MARK, NAME)


def _places(doc: Doc) -> list[tuple[int, int]]:
    """Return start and end of all links within the text, in order."""
    found = [(key[2], key[3]) for key in _data(doc) if _is_ours(key)]
    length = doc[-1].idx + len(doc[-1]) if len(doc) else 0
    return sorted(place for place in found if 0 <= place[0] < place[1] <= length)


def _link(record: dict[str, Any], text: str, place: tuple[int, int], starts: list[int]) -> Link:
    start, end = place
    return Link(
        start=start,
        end=end,
        text=text,
        **{name: record[name] for name in _LINK_FIELDS},
        candidates=tuple(Alternative(*fields) for fields in record["candidates"]),
        reasons=tuple(
            Reason(
                kind, name, value, None if distance is None else _index(starts, start + distance)
            )
            for kind, name, value, distance in record["reasons"]
        ),
    )


def _index(starts: list[int], start: int) -> int | None:
    """Return the index of the mention that starts here; None if it was cut off."""
    place = bisect_left(starts, start)
    return place if place < len(starts) and starts[place] == start else None
