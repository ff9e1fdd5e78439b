"""Segments: texts of different topics are decided apart, mentions keep their order."""

import itertools

import numpy as np
import pytest

from experiments.renderings import joined
from experiments.starter_data import read_starter
from sgtb import Linker
from sgtb.linking.features import segmentation
from sgtb.linking.features.segmentation import segmented
from sgtb.linking.link_options import LinkerSettings
from sgtb.linking.links import Request, Span

BASKETBALL = (
    "Jordan passed, Pippen scored, and the Bulls beat Utah again in front of a loud crowd. The "
    "coach said that the defence had won the game, and the fans in Chicago sang until midnight."
)
TRAVEL = (
    "Amman lies in the hills of Jordan, a short ride from the Dead Sea, a long one from Petra. "
    "Travellers cross from Israel at the river, and most of them come back for the food."
)


def spans(text: str, names: list[str]) -> tuple[Span, ...]:
    return tuple(Span(text.index(name), text.index(name) + len(name)) for name in names)


def test_an_article_of_two_topics_is_decided_like_its_parts():
    """Jordan, the player, must not become the country when a travel report follows."""
    article = f"{BASKETBALL}\n\n{TRAVEL}"
    at = len(BASKETBALL) + 2
    with Linker.starter(LinkerSettings(reasons=True)) as linker:
        alone = [
            linker.link(Request(BASKETBALL, spans=spans(BASKETBALL, ["Jordan", "Pippen", "Utah"]))),
            linker.link(Request(TRAVEL, spans=spans(TRAVEL, ["Amman", "Jordan", "Petra"]))),
        ]
        both = linker.link(
            Request(
                article,
                spans=(
                    *spans(BASKETBALL, ["Jordan", "Pippen", "Utah"]),
                    *(
                        Span(span.start + at, span.end + at)
                        for span in spans(TRAVEL, ["Amman", "Jordan", "Petra"])
                    ),
                ),
            )
        )
    expected = [link.entity for document in alone for link in document.links]
    assert [link.entity for link in both.links] == expected
    named = [reason.mention for link in both.links[3:] for reason in link.reasons if reason.mention]
    assert named  # reasons name mentions of the whole article
    assert min(named) >= 3
    assert expected[0] == "Michael Jordan"
    assert expected[4] == "Jordan"


def test_pairs_of_texts_are_decided_like_their_texts():
    texts = read_starter()["test"]
    pairs = [(texts[i], texts[-1 - i]) for i in range(30)]
    n = equal = 0
    with Linker.starter() as linker:
        for one, other in pairs:
            alone = [o.entity for d in (one, other) for o in linker.link(d).links]
            together = [o.entity for o in linker.link(joined([one, other])[0]).links]
            n += len(alone)
            equal += sum(a == b for a, b in zip(alone, together, strict=True))
    assert equal / n >= 0.97


@pytest.fixture(scope="module")
def laid_out():
    """Two joined texts and a short one, with their candidates, before they are split."""
    texts = read_starter()["test"]
    documents = [joined(texts[:2])[0], texts[2]]
    with Linker.starter() as linker:
        steps = linker.pipeline.steps
        layout = steps.lay_out(documents)
        yield documents, layout, steps.background


def test_segments_keep_mentions_and_say_whose_they_are(laid_out):
    documents, layout, _ = laid_out
    candidates = layout.candidates
    assert layout.source.tolist() == [0, 0, 1]
    texts = [[m.text for m in d.mentions] for d in candidates.documents]
    assert [text for own in texts[:2] for text in own] == [m.text for m in documents[0].mentions]
    for document, first, last in zip(
        candidates.documents, candidates.mention_offsets, candidates.mention_offsets[1:],
        strict=False,
    ):  # fmt: skip
        for mention in candidates.mentions[first:last]:
            words = document.tokens[mention.first : mention.stop]
            assert document.text[words.starts[0] : words.ends[-1]] == mention.text


def test_no_limit_no_segments(laid_out, monkeypatch):
    _documents, layout, background = laid_out
    monkeypatch.setattr(segmentation, "LIMIT", -1.0)
    monkeypatch.setattr(segmentation, "PARAGRAPH_LIMIT", -1.0)
    # Segments are split no further, and without a limit nothing is.
    found = segmented(layout.candidates, layout.with_candidates, layout.facts, background)
    assert found.candidates is layout.candidates
    assert found.source.tolist() == [*range(len(layout.candidates.documents))]


def test_cohesion_is_that_of_a_plain_loop(laid_out):
    """The twin compares the words on both sides of every sentence, one by one."""
    documents, _layout, background = laid_out
    document = documents[0]
    tokens = segmentation.TokenTable.of([document], background.lexicon.vocabulary)
    of_document = segmentation.group_of(tokens.sentence_offsets)
    starts = np.append(tokens.sentences[:, 0], len(document.tokens))
    _, _, chains = segmentation._words(tokens, of_document, starts, background)
    lexicon = background.lexicon
    words = segmentation.text_words(tokens.word, tokens.kinds.word)
    places = words.place.tolist()
    token_of = segmentation.group_of(tokens.word_offsets).tolist()
    rare = np.log(lexicon.n_texts + 1.0)
    for s, (first, _) in enumerate(document.sentences):
        total = 0.0
        for place in set(places):
            if words.is_stop[place] or words.is_digit[place]:
                continue
            own = [t for t, p in zip(token_of, places, strict=True) if p == place]
            crossing = any(
                a < first <= b and b - a <= segmentation.REACH for a, b in itertools.pairwise(own)
            )
            weight = words.weight[place] if words.number[place] >= 0 else rare
            total += float(weight) if crossing else 0.0
        assert chains[s] == pytest.approx(total)
