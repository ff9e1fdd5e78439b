"""Questions: requests with their options, made ready for a linker; and its answers, completed."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from sgtb.core.errors import RequestError
from sgtb.core.records import Record
from sgtb.linking.link_options import LinkOptions
from sgtb.linking.linker import Linker
from sgtb.linking.links import Link, LinkedDocument, Request, Span
from sgtb.linking.mentions.mention_detection import checked_spans


@dataclass(frozen=True, slots=True)
class FixedLink(Record):
    """A mention that the caller decided.

    start, end  its code points in the text
    entity      the id it means; None: it is NIL, and no other mention is to look at it
    """

    start: int
    end: int
    entity: str | None = None


@dataclass(frozen=True, slots=True)
class Options(Record):
    """What is asked beside a text.

    candidates  alternatives given for every link
    reasons     whether links come with reasons
    nil         links with less confidence become NIL; 0 links all; None: as the model learned
    fixed       what the caller decided: it takes the place of given or found mentions that
                overlap it
    added       mentions beside those given or found, and instead of those they overlap
    """

    candidates: int = 5
    reasons: bool = False
    nil: float | None = None
    fixed: tuple[FixedLink, ...] = ()
    added: tuple[Span, ...] = ()

    @property
    def link_options(self) -> LinkOptions:
        """The part of them that the linker takes. Requests that agree in it are linked together."""
        return LinkOptions(self.candidates, self.reasons, self.nil)


class Ready(NamedTuple):
    """A request as a linker takes it, and the mentions that it need not see: those fixed to NIL."""

    request: Request
    nil: tuple[FixedLink, ...]


def make_ready(linker: Linker, request: Request, options: Options) -> Ready:
    """Return what to ask a linker; a RequestError where something cannot be asked."""
    _check_ids(linker, (*(request.spans or ()), *options.added), options.fixed)
    if not options.fixed and not options.added:
        return Ready(request, ())
    text = request.text
    fixed = checked_spans(text, [Span(one.start, one.end, one.entity) for one in options.fixed])
    added = _apart(checked_spans(text, options.added), fixed)
    if request.spans is None:
        found = linker.to_chunk(Request(text)).document.mentions
        others: Iterable[Span] = (Span(mention.start, mention.end) for mention in found)
    else:
        others = checked_spans(text, request.spans)
    said = sorted([*fixed, *added], key=lambda span: span.start)
    nil = tuple(one for one in options.fixed if one.entity is None)
    left_out = {one.start for one in nil}
    spans = [span for span in said if span.start not in left_out] + _apart(others, said)
    return Ready(replace(request, spans=tuple(spans)), nil)


def complete(document: LinkedDocument, nil: Sequence[FixedLink]) -> LinkedDocument:
    """Return a linked document with the mentions that were fixed to NIL."""
    if not nil:
        return document
    added = [_nil_link(document.text, one) for one in nil]
    links = sorted([*document.links, *added], key=lambda link: link.start)
    # Reasons name other mentions by their places, which may lie further back now.
    place = {link.start: i for i, link in enumerate(links)}
    moved = [place[link.start] for link in document.links]
    return replace(document, links=tuple(_moved(link, moved) for link in links))


def _check_ids(linker: Linker, spans: Iterable[Span], fixed: Iterable[FixedLink]) -> None:
    """Raise if an id is named that the knowledge base does not have."""
    named = [id_ for span in spans for id_ in (span.fixed, *(span.candidates or ()))]
    named += [one.entity for one in fixed]
    for id_ in dict.fromkeys(named):
        if id_ is not None and linker.kb.number(id_) is None:
            raise RequestError(f"there is no entity {id_!r:.200} in the knowledge base")


def _apart(spans: Iterable[Span], others: Sequence[Span]) -> list[Span]:
    """Return the spans that overlap none of some others, which are in order."""
    starts = [span.start for span in others]

    def is_apart(span: Span) -> bool:
        before = bisect_right(starts, span.start)
        return (before == 0 or others[before - 1].end <= span.start) and (
            before == len(others) or span.end <= others[before].start
        )

    return [span for span in spans if is_apart(span)]


def _nil_link(text: str, one: FixedLink) -> Link:
    return Link(
        one.start, one.end, text[one.start : one.end], None, "", "", 1.0, "given", fixed=True,
        nil=1.0,
    )  # fmt: skip


def _moved(link: Link, places: Sequence[int]) -> Link:
    reasons = tuple(
        reason if reason.mention is None else replace(reason, mention=places[reason.mention])
        for reason in link.reasons
    )
    return replace(link, reasons=reasons) if reasons else link
