"""Recall by name of a knowledge base from pages, on counted cases."""

from array import array

from experiments.pages_recall import DEVELOPMENT, PagesResult, RecallRow, as_json, recall_of, show
from sgtb.core.records import NIL, Document, Mention, Tokens
from sgtb.kb import KnowledgeBase
from tests.helpers.kb_worlds import build

TEXT = "Ann Lee met Lee of Orlan and Bob"


def document(golds):
    mentions = []
    for text, gold in golds:
        start = TEXT.rindex(text)
        mentions.append(Mention(start, start + len(text), 0, 1, text, gold))
    tokens = Tokens([TEXT], array("q", [0]), array("q", [len(TEXT)]))
    return Document("d", TEXT, tokens, ((0, 1),), tuple(mentions))


def test_counts(tmp_path):
    path = build(
        tmp_path,
        [
            {"id": "Ann Lee", "name": "Ann Lee", "type": "PER"},
            {"id": "Orlan", "name": "City of Orlan"},
        ],
    )
    golds = [("Ann Lee", "ann_Lee"), ("Lee", "Ann Lee"), ("Orlan", "Orlan"), ("Bob", "Bob")]
    with KnowledgeBase.open(path) as kb:
        row = recall_of(kb, "some", [document(golds), document([("Bob", NIL)])])
    # By the longer name in the document, "Lee" is found; no name "Orlan" is known.
    assert row == RecallRow("some", mentions=4, known=3, by_name=1, in_context=2)


def test_the_mean_is_of_the_test_sets(capsys):
    rows = (
        RecallRow("a", 10, 4, 1, 2), RecallRow("b", 10, 4, 3, 4),
        RecallRow(DEVELOPMENT, 10, 4, 0, 0),
    )  # fmt: skip
    record = as_json(PagesResult(5, 6, 7, 1_000_000, 0, None, rows))
    assert (record["mean_by_name"], record["mean_in_context"]) == (0.5, 0.75)
    show(record)
    printed = capsys.readouterr().out
    assert "50.0" in printed
    assert "5 entities, 6 names, 7 links, 1 MB; check: 0 problems" in printed
