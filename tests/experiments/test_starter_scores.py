"""Scores on the starter, counted by hand; baselines."""

import pytest

from experiments.starter_data import ContrastPair, marked_document
from experiments.starter_scores import LinkVote, Share, StarterAnswers
from sgtb.core.records import Document
from sgtb.evaluation import PrecisionRecall
from sgtb.evaluation.linkers.systems import Baseline, chosen_by_linker
from sgtb.kb import KnowledgeBase
from sgtb.linking.links import Alternative, Link, LinkedDocument
from tests.helpers.kb_worlds import build

PRIORS = {
    "rome": {"city": 0.7, "club": 0.3},
    "milan": {"town": 0.5, "team": 0.5},
    "totti": {"player": 1.0},
}


def linked(document: Document, *answers: str | None) -> LinkedDocument:
    links = [
        Link(
            m.start, m.end, m.text, answer, "", "", 0.9, "exact",
            tuple(Alternative(id_, "", "", 0.5, prior)
                  for id_, prior in PRIORS.get(m.text.lower(), {}).items()),
        )
        for m, answer in zip(document.mentions, answers, strict=True)
    ]  # fmt: skip
    return LinkedDocument(document.text, tuple(links))


@pytest.fixture
def kb(tmp_path):
    """Numbers follow the list: the team has a lower one than the town of equal prior."""
    links = {"club": ["player", "team"], "player": ["club"], "town": ["city"], "team": ["city"]}
    ids = ("city", "club", "team", "town", "player")
    path = build(tmp_path, [{"id": i, "name": i, "links": links.get(i, [])} for i in ids])
    with KnowledgeBase.open(path) as opened:
        yield opened


TEXT = marked_document("d", "[[club|Rome]] had [[player|Totti]], [[team|Milan]] not.")


def test_baselines(kb):
    vote = LinkVote(kb)
    given = linked(TEXT, None, None, None)
    assert Baseline(kb, "prior")(given) == ["city", "player", "team"], "of equals the lower number"
    assert Baseline(kb, "in-links")(given) == ["city", "player", "team"]
    # The club is linked with Totti and one Milan, the city with both Milans: two votes to one.
    assert vote(given) == ["club", "player", "team"]
    unknown = marked_document("u", "[[x|Nowhere]] and [[city|Rome]]")
    assert vote(linked(unknown, None, None)) == [None, "city"], "no votes: the prior"


def test_scores_are_counted_by_hand():
    one = marked_document("one", "[[city|Rome]] and [[city|ROME]] of [[player|Totti]]")
    two = marked_document("two", "[[club|Rome]] won")
    pairs = (ContrastPair("Rome", one, two), ContrastPair("rome", two, two))
    found = linked(TEXT, "club", "player", "town")
    bare = LinkedDocument(TEXT.text, (*found.links[:2], Link(0, 1, "R", None, "", "", 0, "exact")))
    answers = StarterAnswers(
        (TEXT,), pairs, (found,),
        ((linked(one, "city", "club", "player"), linked(two, "club")),
         (linked(two, "club"), linked(two, "club"))),
        (bare,),
    )  # fmt: skip
    scores = answers.scores(chosen_by_linker)
    assert scores.mentions == Share(2, 3)
    assert scores.ambiguous == Share(1, 2), "Totti has one candidate"
    assert scores.names == Share(4, 5), "Totti does not carry the name"
    assert scores.pairs == Share(1, 2)
    assert scores.found == PrecisionRecall(right=2, predicted=2, gold=3), "no entity, no link"
    assert scores.found.precision == 1
    assert scores.found.recall == pytest.approx(2 / 3)
    assert scores.found.f1 == pytest.approx(0.8)
