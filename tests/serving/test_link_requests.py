"""Questions: fixed and added mentions beside those given or found, and NIL put back in place."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sgtb.core.errors import RequestError
from sgtb.linking.links import Alternative, Link, LinkedDocument, Reason, Request, Span
from sgtb.serving.link_requests import FixedLink, Options, prepare_request, with_nil_links

TEXT = "abcdefghijklmnop"
IDS = ("A", "B")


class Names:
    """What a question asks of a linker: ids, and the mentions that would be found."""

    def __init__(self, found=()):
        self.kb = self
        self._found = found

    def number(self, id_):
        return IDS.index(id_) if id_ in IDS else None

    def to_chunk(self, _):
        return type("Chunk", (), {"document": type("Document", (), {"mentions": self._found})})


def apart(draw, ends):
    """Spans that do not overlap each other."""
    cuts = sorted(draw(st.sets(st.integers(0, len(TEXT)), max_size=ends)))
    return [(a, b) for a, b in pairwise(cuts) if draw(st.booleans())]


@st.composite
def questions(draw):
    fixed = [FixedLink(a, b, draw(st.sampled_from([None, *IDS]))) for a, b in apart(draw, 5)]
    added = [Span(a, b) for a, b in apart(draw, 5)]
    others = [Span(a, b) for a, b in apart(draw, 8)]
    return fixed, added, others, draw(st.booleans())


def overlap(one, other):
    return one.start < other.end and other.start < one.end


@given(questions())
@settings(max_examples=200, deadline=None)
def test_what_is_said_wins(question):
    fixed, added, others, found = question
    spans = None if found else tuple(others)
    options = Options(fixed=tuple(fixed), added=tuple(added))
    asked = Request(TEXT, spans, "x")
    request, nil = prepare_request(Names(others if found else ()), asked, options)
    if not fixed and not added:
        assert (request, nil) == (asked, ())
        return
    kept = [span for span in added if not any(overlap(span, one) for one in fixed)]
    rest = [span for span in others if not any(overlap(span, one) for one in (*fixed, *kept))]
    certain = [Span(one.start, one.end, one.entity) for one in fixed if one.entity is not None]
    assert set(request.spans) == {*certain, *kept, *rest}
    assert len(request.spans) == len(certain) + len(kept) + len(rest)
    assert list(nil) == [one for one in fixed if one.entity is None]


@pytest.mark.parametrize(
    ("options", "spans", "complaint"),
    [
        (Options(fixed=(FixedLink(0, 2, "C"),)), None, "no entity 'C'"),
        (Options(added=(Span(0, 2, None, ("A", "C")),)), None, "no entity 'C'"),
        (Options(), (Span(0, 1, "C"),), "no entity 'C'"),
        (Options(fixed=(FixedLink(0, 2), FixedLink(1, 3))), None, "overlap"),
        (Options(fixed=(FixedLink(0, 99),)), None, "0 to 99"),
        (Options(fixed=(FixedLink(0, 1),)), (Span(0, 99),), "0 to 99"),
    ],
)
def test_what_cannot_be_asked(options, spans, complaint):
    with pytest.raises(RequestError, match=complaint):
        prepare_request(Names(), Request(TEXT, spans), options)


def test_nil_is_put_back_and_reasons_are_counted_anew():
    one = Alternative("A", "a", "", 1.0, 1.0)
    reasons = (Reason("mention", "m", 1.0, 1), Reason("features", "f", 1.0))
    first = Link(2, 4, "cd", "A", "a", "", 1.0, "exact", (one,), reasons=reasons)
    second = Link(8, 10, "ij", "B", "b", "", 1.0, "exact", (one,))
    document = LinkedDocument(TEXT, (first, second), "x")
    assert with_nil_links(document, ()) is document
    told = with_nil_links(document, (FixedLink(12, 14), FixedLink(5, 7), FixedLink(0, 1)))
    assert [link.text for link in told.links] == ["a", "cd", "fg", "ij", "mn"]
    assert [link.fixed for link in told.links] == [True, False, True, False, True]
    assert [reason.mention for reason in told.links[1].reasons] == [3, None]
    assert told.links[3] == second
    assert (told.id, told.links[0].entity, told.links[0].nil) == ("x", None, 1.0)
