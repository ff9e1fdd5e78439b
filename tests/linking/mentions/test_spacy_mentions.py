"""Mentions by spaCy: code points, what is left out, and what is said when something is missing."""

import sys

import pytest
import spacy

from sgtb.core.errors import MissingExtraError, RequestError, SettingsError
from sgtb.linking.mentions.spacy_mentions import AMOUNTS, SpacyMentions

PATTERNS = [
    {"label": "PER", "pattern": "Jordan"},
    {"label": "ORG", "pattern": "the Lakers"},
    {"label": "WORK_OF_ART", "pattern": "The Shining"},
    {"label": "GPE", "pattern": [{"TEXT": "Paris"}, {"LOWER": "'s"}]},
    {"label": "LANGUAGE", "pattern": "Latin"},
    {"label": "GPE", "pattern": "القاهرة"},
    *({"label": label, "pattern": label.lower()} for label in sorted(AMOUNTS)),
]


def pipeline():
    nlp = spacy.blank("en")
    nlp.add_pipe("entity_ruler").add_patterns(PATTERNS)
    return nlp


@pytest.fixture(scope="module")
def mentions():
    return SpacyMentions(pipeline())


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Jordan won.", ["Jordan"]),
        ("👩‍👩‍👧 Jordan 😀😀 met the Lakers.", ["Jordan", "Lakers"]),
        ("e\u0301\u0301 Jordan", ["Jordan"]),
        ("في القاهرة Jordan", ["القاهرة", "Jordan"]),
        ("\ud800 Jordan \x00\r\n Jordan", ["Jordan", "Jordan"]),
        ("He saw The Shining in Paris's north.", ["The Shining", "Paris"]),
        ("Latin " + " ".join(sorted(AMOUNTS)).lower(), ["Latin"]),
        ("", []),
        (" \n\t", []),
    ],
)
def test_spans_are_code_points_of_names(mentions, text, found):
    spans = mentions.find(text)
    assert [text[start:end] for start, end in spans] == found
    assert list(spans) == sorted(spans)


def test_offsets_are_of_the_text_not_of_its_bytes(mentions):
    assert mentions.find("😀 Jordan") == ((2, 8),)


def test_a_text_that_is_too_long_is_refused(mentions):
    nlp = pipeline()
    nlp.max_length = 5
    with pytest.raises(RequestError, match="6 code points is longer than the 5"):
        SpacyMentions(nlp).find("Jordan")


def test_any_callable_with_ents_will_do():
    nlp = pipeline()
    assert SpacyMentions(lambda text: nlp(text)).find("Jordan") == ((0, 6),)


def test_a_pipeline_is_loaded_from_its_folder(tmp_path):
    pipeline().to_disk(tmp_path / "names")
    assert SpacyMentions.load(tmp_path / "names").find("a Jordan") == ((2, 8),)


def test_a_pipeline_that_finds_nothing_is_refused(tmp_path):
    spacy.blank("en").to_disk(tmp_path / "blank")
    with pytest.raises(SettingsError, match="has no components"):
        SpacyMentions.load(tmp_path / "blank")


def test_a_pipeline_that_is_not_there_is_named():
    with pytest.raises(SettingsError, match=r"'en_nobody_has_this'.*spacy download"):
        SpacyMentions.load("en_nobody_has_this")


def test_without_spacy_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'sgtb\[spacy\]'"):
        SpacyMentions.load("en_core_web_sm")
