"""Chunks: long documents split between sentences, without losing or moving anything."""

from dataclasses import replace
from random import Random

import pytest

from sgtb.core.errors import RequestError
from sgtb.core.records import Document, Mention, Token
from sgtb.linking.links import Request, Span
from sgtb.linking.mentions.chunks import (
    MOST,
    Chunk,
    chunk_from_document,
    chunk_from_request,
    split_into_chunks,
)


class NoNames:
    """A finder that finds the mentions given."""

    def __init__(self, *mentions):
        self.mentions = mentions

    def find(self, text, tokens, sentences):
        return self.mentions


def random_chunk(random, n_sentences, most_mentions):
    """A document of one-letter words; mentions may touch, and may cross into the next sentence."""
    sizes = [random.randint(1, 9) for _ in range(n_sentences)]
    n = sum(sizes)
    ends = [sum(sizes[: i + 1]) for i in range(n_sentences)]
    tokens = tuple(Token("x", 2 * i, 2 * i + 1) for i in range(n))
    mentions, at = [], 0
    while len(mentions) < most_mentions:
        at += random.choice([0, 0, 0, 1, 2])
        stop = min(at + random.choice([1, 1, 2, 3]), n)
        if at >= stop:
            break
        text = f"m{len(mentions)}"
        mentions.append(Mention(2 * at, 2 * stop - 1, at, stop, text, candidates=(text,)))
        # A following mention may begin with the token that this one ends with: two in one word.
        at = stop if random.random() < 0.8 else stop - 1
        if at < mentions[-1].first + 1 and random.random() < 0.5:
            at = stop
    lines = tuple(zip([0, *ends], ends, strict=False))
    document = Document("d", "x " * n, tokens, lines, tuple(mentions))
    return Chunk(document, tuple(random.random() < 0.3 for _ in mentions))


@pytest.mark.parametrize("seed", range(40))
def test_parts_are_the_whole(seed):
    random = Random(seed)
    chunk = random_chunk(random, random.randint(1, 40), random.randint(1, 120))
    most = random.randint(1, 12)
    chunks = split_into_chunks(chunk, most)
    whole = chunk.document
    assert [m.text for one in chunks for m in one.document.mentions] == [
        m.text for m in whole.mentions
    ]
    assert tuple(known for one in chunks for known in one.fixed) == chunk.fixed
    first = 0
    for one in chunks:
        own = one.document
        assert one.first == first
        assert 1 <= len(own.mentions) <= most or not whole.mentions
        first += len(own.mentions)
        assert (own.id, own.text) == (whole.id, whole.text)
        chunk_from_document(own)  # its sentences are its tokens, and hold its mentions
        for mention, before in zip(own.mentions, whole.mentions[one.first :], strict=False):
            assert (
                own.tokens[mention.first : mention.stop]
                == (whole.tokens[before.first : before.stop])
            )
            assert (mention.start, mention.end) == (before.start, before.end)
            assert mention.candidates == before.candidates
    kept = {token.start for one in chunks for token in one.document.tokens}
    assert kept == {token.start for token in whole.tokens}


@pytest.mark.parametrize("seed", range(20))
def test_a_cut_is_between_sentences_where_that_is_possible(seed):
    chunk = random_chunk(Random(seed), 30, 100)
    mentions, lines = chunk.document.mentions, chunk.document.sentences
    most = 8

    def sentence(mention):
        return next(i for i, (a, b) in enumerate(lines) if a <= mention.first < b)

    for one in split_into_chunks(chunk, most)[1:]:
        before, after = mentions[one.first - 1], mentions[one.first]
        if sentence(before) == sentence(after):
            full = mentions[one.first - most : one.first + 1]
            assert len({sentence(mention) for mention in full}) == 1


def test_short_documents_are_left_alone():
    chunk = random_chunk(Random(0), 10, 20)
    assert split_into_chunks(chunk, len(chunk.fixed)) == [chunk]
    assert split_into_chunks(chunk)[0] is chunk
    empty = Chunk(Document("", "", (), (), ()), ())
    assert split_into_chunks(empty) == [empty]


def test_a_sentence_of_too_many_mentions_is_cut_inside():
    n = 2 * MOST + 7
    text = "Paris " * n
    spans = tuple(Span(6 * i, 6 * i + 5) for i in range(n))
    chunk = chunk_from_request(Request(text, spans), NoNames())
    assert len(chunk.document.sentences) == 1
    chunks = split_into_chunks(chunk)
    assert [len(one.fixed) for one in chunks] == [MOST, MOST, 7]
    assert [len(one.document.tokens) for one in chunks] == [MOST, MOST, 7]
    assert [one.first for one in chunks] == [0, MOST, 2 * MOST]


def test_a_request_becomes_a_document():
    text = "Ann met Bob.\nThen Ann left."
    names = NoNames(Mention(0, 3, 0, 1, "Ann"), Mention(18, 21, 5, 6, "Ann"))
    found = chunk_from_request(Request(text, id="x"), names)
    assert (found.document.id, found.fixed, found.first) == ("x", (False, False), 0)
    assert found.document.mentions == names.mentions
    spans = (Span(18, 21, "a"), Span(8, 11, candidates=("b", "c")), Span(0, 3))
    given = chunk_from_request(Request(text, spans), names)
    assert [m.text for m in given.document.mentions] == ["Ann", "Bob", "Ann"]  # in order
    assert [m.candidates for m in given.document.mentions] == [None, ("b", "c"), ("a",)]
    assert given.fixed == (False, False, True)


def test_annotations_are_taken_off():
    mention = Mention(0, 1, 0, 1, "A", "Q1", "A thing", "PER", ("Q1", "Q2"))
    document = Document("d", "A", (Token("A", 0, 1),), ((0, 1),), (mention,), "dev")
    (bare,) = chunk_from_document(document).document.mentions
    assert bare == Mention(0, 1, 0, 1, "A", candidates=("Q1", "Q2"))


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"sentences": ()}, "'d': its sentences are not its 2 tokens"),
        ({"sentences": ((0, 1),)}, "its sentences"),
        ({"sentences": ((0, 1), (0, 2))}, "its sentences"),
        ({"sentences": ((0, 3),)}, "its sentences"),
        ({"sentences": ((0, 9), (9, 2))}, "its sentences"),
        ({"sentences": ((0, -5), (-5, 2))}, "its sentences"),
        ({"mentions": (Mention(0, 1, -1, 1, "A"),)}, "'A' has the tokens -1 to 1 of 2"),
        ({"mentions": (Mention(0, 1, 1, 1, "A"),)}, "has the tokens 1 to 1"),
        ({"mentions": (Mention(0, 1, 1, 3, "A"),)}, "has the tokens 1 to 3"),
    ],
)
def test_documents_that_do_not_hold_together(change, complaint):
    tokens = (Token("A", 0, 1), Token("B", 2, 3))
    document = Document("d", "A B", tokens, ((0, 1), (1, 2)), (Mention(0, 1, 0, 1, "A"),))
    chunk_from_document(document)
    with pytest.raises(RequestError, match=complaint):
        chunk_from_document(replace(document, **change))


@pytest.mark.parametrize(
    ("request_", "complaint"),
    [
        (Request(None), "the text of a request is None"),
        (Request(b"Paris"), "the text of a request is b'Paris'"),
        (Request("Paris", id=5), "the id of a request is 5"),
        (Request("Paris", 5), "the spans of a request are 5"),
        (Request("Paris", iter(())), "the spans of a request are"),
        (Request("Paris", {0: 5}), "the spans of a request are"),
        (Request("Paris", (None,)), "a span of a request is None"),
        (Request("Paris", ((0, 5, 5),)), r"a span of a request is \(0, 5, 5\)"),
        (Request("Paris", (Span(0, 5, 7),)), "names the entity 7"),
        (Request("Paris", (Span(0, 5, candidates="Paris"),)), "the candidates of a span are"),
        (Request("Paris", (Span(0, 5, candidates=(None,)),)), "names the entity None"),
        (Request("Paris", (Span(0, 5, candidates=("a", b"b")),)), "names the entity b'b'"),
    ],
)
def test_requests_of_the_wrong_kind(request_, complaint):
    with pytest.raises(RequestError, match=complaint):
        chunk_from_request(request_, NoNames())
