"""Gold: annotations that name entities in any way, and a knowledge base that has ids."""

import pytest

from sgtb.core.records import NIL, Document, Mention
from sgtb.kb import KnowledgeBase
from sgtb.linking.training.gold import GoldFinder, align_gold, titles_in
from sgtb.linking.training.gold_audit import LISTED, GoldAudit
from sgtb.text.tokenization import tokenize
from tests.helpers.kb_worlds import build

RECORDS = [
    {"id": "Q1", "name": "Orlan", "aliases": ["Old Town"]},
    {"id": "Q2", "name": "Orlan", "popularity": 5},
    {"id": "Q3", "name": "Vessa F.C.", "aliases": ["Vessa"]},
    {"id": "14", "name": "AC/DC"},
    {"id": "1984", "name": "Year"},
    {"id": "b", "name": "1984"},
    {"id": "Umea", "name": "Umeå"},
]


@pytest.fixture
def kb(tmp_path):
    with KnowledgeBase.open(build(tmp_path, RECORDS)) as kb:
        yield kb


def test_a_page_number_is_not_the_title_that_looks_like_it(tmp_path):
    records = [{"id": "1984", "name": "1984"}, {"id": "Orlan", "name": "Orlan"}]
    with KnowledgeBase.open(build(tmp_path, records)) as kb:
        given = document(("a", "1984", "Orlan"), ("b", "1984", "Vessa"), ("c", "1984", None))
        (aligned,) = align_gold(kb, [given])
        assert [mention.gold for mention in aligned.mentions] == ["Orlan", "1984", "1984"]
        assert GoldFinder(kb).find("1984", "Vessa") is None


def document(*mentions: tuple[str, str | None, str | None]) -> Document:
    """A document of one mention a word, with gold and title."""
    text = " ".join(surface for surface, _, _ in mentions)
    made, start = [], 0
    for i, (surface, gold, title) in enumerate(mentions):
        end = start + len(surface)
        made.append(Mention(start, end, i, i + 1, surface, gold, title))
        start = end + 1
    tokens = tokenize(text)
    return Document("d", text, tokens, ((0, len(tokens)),), tuple(made))


@pytest.mark.parametrize(
    ("gold", "title", "found"),
    [
        ("Q3", None, "Q3"),
        ("Q3", "Orlan", "Q3"),
        ("Q9", "Vessa F.C.", "Q3"),
        ("Vessa F.C.", None, "Q3"),
        ("Vessa_F.C.", None, "Q3"),
        ("vessa fc", None, "Q3"),
        ("Vessa", None, None),
        ("http://www.wikidata.org/entity/Q3", None, "Q3"),
        ("http://en.wikipedia.org/wiki/Vessa_F.C.", None, "Q3"),
        ("https://en.wikipedia.org/wiki/AC/DC", None, "14"),
        ("http://dbpedia.org/resource/Ume%C3%A5", None, "Umea"),
        ("http://example.org/x/Q1", None, "Q1"),
        ("Orlan", None, "Q2"),
        ("1984", None, "1984"),
        ("1984", "1984", "b"),
        ("Q3", "Q3", "Q3"),
        ("Q99", "Nowhere", None),
    ],
)
def test_gold_is_found_by_id_or_by_title(kb, gold, title, found):
    given = document(("Vessa", gold, title), ("x", NIL, None), ("y", None, None))
    (aligned,) = align_gold(kb, [given])
    assert [mention.gold for mention in aligned.mentions] == [found or gold, NIL, None]
    assert aligned.mentions[0].title == title


def test_titles_that_an_annotation_may_mean():
    assert titles_in("http://x.org/wiki/A_B%20C", "T") == (
        "T",
        "http://x.org/wiki/A B%20C",
        "A B C",
    )
    assert titles_in("A_B") == ("A B",)


def test_documents_are_aligned_one_at_a_time(kb):
    def endless():
        while True:
            yield document(("Vessa", "Vessa_F.C.", None))

    aligned = align_gold(kb, endless())
    assert [next(aligned).mentions[0].gold for _ in range(3)] == ["Q3"] * 3


def audited(kb, *documents):
    audit = GoldAudit(kb)
    for each in documents:
        audit.add(each)
    return audit.report()


def test_recall_is_that_of_names(kb):
    report = audited(
        kb,
        document(("Orlan", "Q1", None), ("Vessa", "Vessa_F.C.", None), ("Nobody", "Q2", None)),
        document(("Vessa", "Q1", None), ("Orlan", NIL, None), ("Orlan", None, None)),
        document(("Orlan", "Q77", None)),
    )
    assert (report.linked, report.known, report.recalled, report.without) == (5, 4, 2, 1)
    assert (report.recall, report.ambiguity) == (0.5, 1.0)
    assert (report.entities, report.unknown[0].gold) == (1, "Q77")
    assert report.to_dict()["recall"] == 0.5


def test_nothing_known_has_no_recall(kb):
    fields = audited(kb, document(("x", NIL, None))).to_dict()
    assert (fields["recall"], fields["ambiguity"]) == (None, None)


def test_unknown_entities_come_with_similar_names(kb):
    report = audited(
        kb,
        document(("Town", "Vessä F.C.", None), ("Town", "Vesssa F.C.", None)),
        document(("Vessa", "Q50", None), ("Vessa", "Q50", None), ("Quill", "Q60", None)),
    )
    assert [
        (e.gold, e.mentions, [(s.id, s.why) for s in e.suggestions]) for e in report.unknown
    ] == [
        ("Q50", 2, [("Q3", "has the name of the mention")]),
        ("Q60", 1, []),
        ("Vesssa F.C.", 1, [("Q3", "has nearly this name")]),
        ("Vessä F.C.", 1, [("Q3", "has this name")]),
    ]


def test_only_the_most_frequent_unknown_are_listed(kb):
    report = audited(kb, *(document(("x", f"U{i:03}", None)) for i in range(LISTED + 3)))
    assert report.entities == LISTED + 3
    assert [entity.gold for entity in report.unknown] == [f"U{i:03}" for i in range(LISTED)]
    assert len(report.to_dict()["unknown"]) == LISTED
