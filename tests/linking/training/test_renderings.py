"""Renderings: other texts with the same mentions, in the same order, with the same gold."""

from itertools import chain

import pytest

from experiments.renderings import RENDERINGS
from sgtb.core.records import Document, Mention
from sgtb.linking.training import renderings
from sgtb.linking.training.renderings import renderings_of
from sgtb.text.tokenization import segment

TEXT = (
    'SOCCER - ITALY BEAT SCOTLAND ( 2-1 ) .\nROME 1996-12-06\n" We won , " said Coste \'s men '
    "in Rome ; they did n't stop .\nScotland lost ."
)


def document(text: str = TEXT, names: tuple[str, ...] = ("ITALY", "ROME", "Coste", "Scotland")):
    """A text whose tokens are separated by white space, as in AIDA-CoNLL."""
    words = text.split()
    starts, at = [], 0
    for word in words:
        at = text.index(word, at)
        starts.append(at)
        at += len(word)
    tokens = [(w, s, s + len(w)) for w, s in zip(words, starts, strict=True)]
    lines, first = [], 0
    for line in text.split("\n"):
        lines.append((first, first + len(line.split())))
        first = lines[-1][1]
    mentions = [
        Mention(
            starts[i], starts[i] + len(name), i, i + 1, name, f"id of {name}", candidates=("a",)
        )
        for name in names
        for i in [words.index(name)]
    ]
    record = segment("").tokens.__class__([t[0] for t in tokens], starts, [t[2] for t in tokens])
    return Document("1", text, record, tuple(lines), tuple(mentions), "train")


@pytest.mark.parametrize("name", RENDERINGS)
def test_mentions_gold_and_candidates_stay(name):
    given = [document(), document(TEXT.replace("Scotland", "Malta"), ("ITALY", "Malta"))]
    rendered = RENDERINGS[name](given)
    before = [*chain.from_iterable(d.mentions for d in given)]
    after = [*chain.from_iterable(d.mentions for d in rendered)]
    assert [(m.gold, m.candidates) for m in after] == [(m.gold, m.candidates) for m in before]
    assert [m.text.lower() for m in after] == [m.text.lower() for m in before]
    for own in rendered:
        for mention in own.mentions:
            assert own.text[mention.start : mention.end] == mention.text
            words = own.tokens[mention.first : mention.stop]
            assert (words.starts[0], words.ends[-1]) == (mention.start, mention.end)


def test_how_they_look():
    (line,) = RENDERINGS["tokens on one line"]([document()])
    assert line.text == " ".join(TEXT.split())
    (prose,) = RENDERINGS["detokenized prose"]([document()])
    assert prose.text == (
        'SOCCER - ITALY BEAT SCOTLAND (2-1). ROME 1996-12-06 "We won," said Coste\'s men in Rome; '
        "they didn't stop. Scotland lost."
    )
    (lower,) = RENDERINGS["all lower case"]([document()])
    assert lower.text == TEXT.lower()
    (both,) = RENDERINGS["ten documents joined"]([document(), document()])
    assert both.text == f"{TEXT}\n\n{TEXT}"


def test_paragraphs_end_with_sentences(monkeypatch):
    monkeypatch.setattr(renderings, "PARAGRAPH", 8)
    parts = RENDERINGS["each paragraph alone"]([document()])
    assert [part.text for part in parts] == [
        "SOCCER - ITALY BEAT SCOTLAND ( 2-1 ) .",
        TEXT.split("\n", 1)[1],
    ]


def test_copies_of_training_documents_say_whose_they_are(monkeypatch):
    monkeypatch.setattr(renderings, "PARAGRAPH", 8)
    copies, source = renderings_of([document(), document("Rome won .", ("Rome",))])
    assert source.tolist() == [0, 0, 1]
    assert copies[0].text == "SOCCER - ITALY BEAT SCOTLAND (2-1)."
    assert copies[1].text == TEXT.split("\n", 1)[1]
    assert copies[2].text == "rome won ."
