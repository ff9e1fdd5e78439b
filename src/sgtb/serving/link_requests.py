"""Options of link requests, applied before and after linking."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from sgtb.core.errors import RequestError
from sgtb.core.records import Record
from sgtb.linking.link_options import LinkOptions
from sgtb.linking.linker import Linker
from sgtb.linking.links import Link, LinkedDocument, Request, Span
from sgtb.linking.mentions.mention_detection import checked_spans


@dataclass(frozen=True, slots=True)
class FixedLink(Record):
    """A mention linked by the caller; start and end count code points."""

    start: int
    end: int
    entity: str | None = None  # None: NIL, and without influence on other mentions


@dataclass(frozen=True, slots=True)
class Options(Record):
    """Options of a link request; fixed and added mentions replace overlapping ones."""

    candidates: int = 5  # returned per link
    reasons: bool = False
    nil: float | None = None  # links with less confidence become NIL; None: decided by the model
    beam_width: int | None = None  # of the search; None: as the model was trained with
    fixed: tuple[FixedLink, ...] = ()
    added: tuple[Span, ...] = ()

    @property
    def link_options(self) -> LinkOptions:
        """The options of the linker. Requests that share them are linked together."""
        return LinkOptions(self.candidates, self.reasons, self.nil, self.beam_width)


def prepare_request(
    linker: Linker, request: Request, options: Options
) -> tuple[Request, tuple[FixedLink, ...]]:
    """Apply options to a request; raises a RequestError if they do not fit the text.

    Returns the mentions fixed to NIL, too, which are added afterwards.
    """
    _check_ids(linker, (*(request.spans or ()), *options.added), options.fixed)
    if not options.fixed and not options.added:
        return request, ()
    text = request.text
    fixed = checked_spans(text, [Span(one.start, one.end, one.entity) for one in options.fixed])
    added = _apart(checked_spans(text, options.added), fixed)
    if request.spans is None:
        found = linker.to_chunk(Request(text)).document.mentions
        others: Iterable[Span] = (Span(mention.start, mention.end) for mention in found)
    else:
        others = checked_spans(text, request.spans)
    stated = sorted([*fixed, *added], key=lambda span: span.start)
    nil = tuple(one for one in options.fixed if one.entity is None)
    left_out = {one.start for one in nil}
    spans = [span for span in stated if span.start not in left_out] + _apart(others, stated)
    return replace(request, spans=tuple(spans)), nil


def with_nil_links(document: LinkedDocument, nil: Sequence[FixedLink]) -> LinkedDocument:
    """Add the mentions fixed to NIL to a linked document."""
    if not nil:
        return document
    added = [
        Link(
            start=one.start, end=one.end, text=document.text[one.start : one.end], entity=None,
            title="", type="", confidence=1.0, found="given", fixed=True, nil=1.0,
        )
        for one in nil
    ]  # fmt: skip
    links = sorted([*document.links, *added], key=lambda link: link.start)
    # Reasons refer to other mentions by their index, which may have changed.
    index = {link.start: i for i, link in enumerate(links)}
    indices = [index[link.start] for link in document.links]
    return replace(document, links=tuple(_renumbered(link, indices) for link in links))


def _check_ids(linker: Linker, spans: Iterable[Span], fixed: Iterable[FixedLink]) -> None:
    """Raise if an id is not in the knowledge base."""
    named = [id_ for span in spans for id_ in (span.fixed, *(span.candidates or ()))]
    named += [one.entity for one in fixed]
    for id_ in dict.fromkeys(named):
        if id_ is not None and linker.kb.number(id_) is None:
            raise RequestError(f"no entity {id_!r:.200} in the knowledge base")


def _apart(spans: Iterable[Span], others: Sequence[Span]) -> list[Span]:
    """Return the spans that overlap none of some others, which are sorted."""
    starts = [span.start for span in others]

    def is_apart(span: Span) -> bool:
        before = bisect_right(starts, span.start)
        return (before == 0 or others[before - 1].end <= span.start) and (
            before == len(others) or span.end <= others[before].start
        )

    return [span for span in spans if is_apart(span)]


def _renumbered(link: Link, indices: Sequence[int]) -> Link:
    reasons = tuple(
        reason if reason.mention is None else replace(reason, mention=indices[reason.mention])
        for reason in link.reasons
    )
    return replace(link, reasons=reasons) if reasons else link
