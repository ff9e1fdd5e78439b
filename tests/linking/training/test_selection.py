"""Selection of a mention tagger: only where it is clearly better, and stored with the model."""

from dataclasses import replace

import pytest

from experiments.starter_data import marked_document
from sgtb.linking.link_options import LinkerSettings
from sgtb.linking.linker import Linker
from sgtb.linking.linker_model import LinkerModel
from sgtb.linking.mentions.mention_detection import NameFinder
from sgtb.linking.mentions.mention_settings import MentionSettings
from sgtb.linking.training.linker_training import prepare, train_linker
from sgtb.linking.training.selection import RULES, choose_mentions
from sgtb.text.tokenization import segment
from tests.helpers.trained_linkers import QUICK


def test_f1_is_that_of_exact_spans(starter_kb, starter):
    chosen = choose_mentions(starter_kb, starter["train"], starter["dev"], 12, 0)
    finder = NameFinder(starter_kb)
    gold = {(d.id, m.start, m.end) for d in starter["dev"] for m in d.mentions}
    found = {
        (d.id, m.start, m.end)
        for d in starter["dev"]
        for m in finder.find(d.text, *segment(d.text))
    }
    precision, recall = len(gold & found) / len(found), len(gold & found) / len(gold)
    assert chosen.measured["rules F1"] == pytest.approx(
        2 * precision * recall / (precision + recall), abs=1e-6
    )


def test_rules_stay_where_a_tagger_is_hardly_better(starter_kb, starter):
    chosen = choose_mentions(starter_kb, starter["train"], starter["dev"], 12, 0)
    assert chosen.tagger is None
    assert chosen.measured["chosen"] == "rules"
    assert 0.8 < chosen.measured["learned F1"] < chosen.measured["rules F1"] + 0.01


def test_rules_stay_without_documents_to_learn_from_or_to_measure(starter_kb, starter):
    bare, few = [replace(document, mentions=()) for document in starter["dev"]], starter["dev"][:9]
    for train, dev in ((starter["train"], few), ((), starter["dev"]), (bare, starter["dev"])):
        assert choose_mentions(starter_kb, train, dev, 12, 0).measured is None


def test_rules_stay_where_repeated_names_are_not_annotated(starter_kb):
    text = "[[Jordan]] met the [[Bulls]]. Then Jordan left the Bulls, and Jordan slept."
    documents = [marked_document("", text)] * 50
    chosen = choose_mentions(starter_kb, documents, documents, 12, 0)
    assert chosen.tagger is None
    assert chosen.measured == {"chosen": "rules", "reason": "incomplete annotation"}


@pytest.fixture(scope="module")
def lower_case(starter):
    """The starter's texts, in lower case."""

    def lowered(document):
        mentions = tuple(replace(m, text=m.text.lower()) for m in document.mentions)
        text = document.text.lower()
        assert len(text) == len(document.text)
        tokens = [token._replace(text=token.text.lower()) for token in document.tokens]
        return replace(document, text=text, tokens=tokens, mentions=mentions)

    return {split: [*map(lowered, starter[split])] for split in ("train", "dev", "test")}


def test_a_clearly_better_tagger_is_stored_and_used(tmp_path, starter_kb, lower_case):
    train, dev, test = lower_case.values()
    model = train_linker(starter_kb, train, dev, replace(QUICK, bits=14))
    measured = model.origin["mention detection"]
    assert measured["chosen"] == "learned"
    assert measured["learned F1"] > measured["rules F1"] + 0.3
    model.save(tmp_path / "model")
    again = LinkerModel.load(tmp_path / "model")
    assert again.mention_tagger.weights.tobytes() == model.mention_tagger.weights.tobytes()
    gold = {(d.text, m.start, m.end) for d in test for m in d.mentions}

    def right(settings):
        with_it = Linker(again, starter_kb, settings)
        linked = [with_it.link(d.text) for d in test]
        found = {(d.text, link.start, link.end) for d in linked for link in d.links}
        return len(found & gold) / len(gold)

    assert right(LinkerSettings()) > 0.5
    assert right(LinkerSettings(mentions=MentionSettings(learned=False))) < 0.1
    partly = prepare(starter_kb, train, dev, replace(QUICK, bits=14, all_names=False))
    assert partly.mentions == RULES


def test_unknown_mentions_are_learned_from_too(starter_kb):
    text = "The [[NIL|zorp]] of [[NIL|Jordan]] broke, so a [[NIL|zorp]] was bought."
    documents = [marked_document("", text)] * 50
    assert choose_mentions(starter_kb, documents, documents, 12, 0).measured["learned F1"] == 1
