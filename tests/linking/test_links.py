"""Links: frozen records like any other, though they are made when they are asked for."""

import copy
import pickle
import threading
from dataclasses import FrozenInstanceError, asdict, fields, replace

import pytest

from sgtb.linking.links import Link, LinkedDocument, Request, Span, joined
from tests.helpers.exact import exact
from tests.helpers.trained_linkers import spans_of


@pytest.fixture(params=[False, True], ids=["plain", "reasons"])
def documents(request, linker_of, unseen):
    """Linked documents, no link of which was looked at, and the same made all at once."""
    linker = linker_of(reasons=request.param)
    asked = [*unseen[::9], "", "Xyzzy", Request("Paris", (Span(0, 5, "Amman"),), "x")]
    return linker.link_many(asked), list(map(made, linker.link_many(asked)))


def made(document):
    """Return a document as its constructor would make it, from constructed links."""
    links = tuple(
        Link(*(getattr(link, field.name) for field in fields(Link))) for link in document.links
    )
    return LinkedDocument(document.text, links, document.id)


def is_made(record, name):
    """Tell whether a field that is made late is there."""
    assert name in record._lazy_fields
    try:
        getattr(type(record), name).__get__(record)
    except AttributeError:
        return False
    return True


def test_nothing_is_made_until_it_is_asked_for(documents):
    for document in documents[0]:
        assert not is_made(document, "links")
        links = document.links
        assert is_made(document, "links")
        assert document.links is links
        for link in links:
            assert not is_made(link, "candidates")
            assert link.candidates is link.candidates
            assert is_made(link, "candidates")
            assert not is_made(link, "reasons")
            assert link.reasons is link.reasons
            assert is_made(link, "reasons")


def test_they_say_what_constructed_ones_say(documents):
    for one, other in zip(*documents, strict=True):
        assert exact(one) == exact(other)
        assert asdict(one)["id"] == other.id
        assert one.to_dict() == other.to_dict()
        assert hash(one.links[:0]) == hash(other.links[:0])


def test_equality_and_hash(documents):
    """A lead that is not a number equals nothing but itself, so it is set here."""
    for pair in zip(*documents, strict=True):
        one, other = (
            replace(d, links=tuple(replace(x, lead=0.0, candidates=()) for x in d.links))
            for d in pair
        )
        assert one == other
        assert hash(one) == hash(other)
        assert pair[0] == pair[0]
        for link, same in zip(pair[0].links, pair[1].links, strict=True):
            assert [x.entity for x in link.candidates] == [x.entity for x in same.candidates]
            assert len(link.candidates) == len(same.candidates)


@pytest.mark.parametrize("read", [False, True], ids=["unread", "read"])
@pytest.mark.parametrize(
    "through", [lambda d: pickle.loads(pickle.dumps(d)), copy.copy, copy.deepcopy],
    ids=["pickle", "copy", "deepcopy"],
)  # fmt: skip
def test_they_go_to_another_process(documents, through, read):
    for one, other in zip(*documents, strict=True):
        if read:
            assert all(isinstance(link.candidates, tuple) for link in one.links)
        assert exact(through(one)) == exact(through(other)) == exact(other)
        assert exact(through(one.links)) == exact(other.links)
        assert exact(through(replace(one, id="new"))) == exact(replace(other, id="new"))


def test_they_are_frozen(documents):
    document = next(d for d in documents[0] if d.links)
    for record, name in ((document, "links"), (document.links[0], "candidates")):
        with pytest.raises(FrozenInstanceError):
            setattr(record, name, ())
        with pytest.raises(AttributeError, match="no attribute 'entities'"):
            _ = record.entities
        assert not hasattr(record, "__dict__")


def test_a_constructed_one_has_what_it_was_given():
    link = Link(0, 1, "x", None, "", "", 0.0, "exact")
    document = LinkedDocument("x", (link,))
    assert (link.candidates, document.links, document.id) == ((), (link,), "")
    assert not hasattr(document, "_packed")
    assert pickle.loads(pickle.dumps(document)).to_dict() == document.to_dict()


def test_the_parts_of_a_document_are_joined(documents):
    columns = [document._packed[0] for document in documents[0]]
    whole = LinkedDocument("", joined(columns).links())
    assert exact(whole.links) == exact(tuple(x for d in documents[1] for x in d.links))


def test_threads_may_read_the_same(linker_of, unseen):
    linked = linker_of(candidates=9).link_many(
        [Request(d.text, tuple(spans_of(d))) for d in unseen]
    )
    results = []

    def read():
        results.append(exact([document.to_dict() for document in linked]))

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4
    assert len(set(results)) == 1
