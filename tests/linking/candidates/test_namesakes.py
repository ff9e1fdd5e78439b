"""Namesakes: whom a surname cannot mean after a full name."""

import pytest

from sgtb.kb import KnowledgeBase
from sgtb.linking.candidates.candidate_lookup import CandidateFinder, CandidateSettings
from tests.helpers.kb_worlds import build
from tests.helpers.linking_builders import document

PERSONS = ("Serena Williams", "Venus Williams", "Vera Paris", "Jordan Pope")
ENTITIES = [
    *({"id": name, "name": name, "type": "PER", "aliases": name.split()[-1:]} for name in PERSONS),
    {"id": "Paris", "name": "Paris", "type": "LOC"},
    {"id": "Pope", "name": "Pope", "type": "PER"},
    {"id": "untyped", "name": "Rod", "aliases": ["Williams"]},
]

ALL = {"Serena Williams", "Venus Williams", "untyped"}


@pytest.fixture(scope="module")
def kb(tmp_path_factory):
    with KnowledgeBase.open(build(tmp_path_factory.mktemp("kb"), ENTITIES)) as kb:
        yield kb


def candidates(kb, text, **settings):
    """The ids of each mention's candidates, and how they were found."""
    table = CandidateFinder(kb, CandidateSettings(**settings)).find([document("d", text)])
    ends = zip(table.offsets, table.offsets[1:], strict=False)
    ids = [{kb.id_of(int(number)) for number in table.entity[a:b]} for a, b in ends]
    return ids, table.found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[Serena Williams] lost . [Williams] cried .", {"Serena Williams", "untyped"}),
        ("[Williams] lost . [Serena Williams] cried .", {"Serena Williams", "untyped"}),
        (
            "[Serena Williams] beat [Venus Williams] . [Williams] cried .",
            ALL,
        ),
        ("[Kyle Williams] lost . [Williams] cried .", {"untyped"}),
        ("[Sarah Jane Williams] lost . [Williams] cried .", {"Serena Williams", "untyped"}),
        ("[V. Williams] lost . [Williams] cried .", {"Venus Williams", "untyped"}),
        ("[Mr Williams] lost . [Williams] cried .", ALL),
        ("[Dennis Paris] left . [Paris] was quiet .", {"Paris"}),
        ("[Williams Group] fell . [Williams] rose .", ALL),
        ("[Jordan Pope] met the [Pope] .", {"Jordan Pope", "Pope"}),
    ],
)  # fmt: skip
def test_a_surname_means_the_person_of_the_full_name(kb, text, expected):
    short = min(text.split("[")[1:], key=lambda part: len(part.partition("]")[0]))
    ids, _ = candidates(kb, text)
    place = [part.partition("]")[0] for part in text.split("[")[1:]].index(short.partition("]")[0])
    assert ids[place] == expected


def test_nobody_may_be_left(kb):
    ids, found = candidates(kb, "[Kyle Pope] saw [Serena] . [Kyle Paris] saw [Vera] .")
    assert ids == [set(), set(), set(), set()]
    assert set(found) == {"nothing"}


def test_it_is_part_of_the_longer_names(kb):
    text = "[Kyle Williams] lost . [Williams] cried ."
    ids, _ = candidates(kb, text, longer_names=False)
    assert ids[1] == ALL


def test_documents_do_not_share_full_names(kb):
    texts = [document("a", "[Kyle Williams]"), document("b", "[Williams]")]
    table = CandidateFinder(kb).find(texts)
    assert table.offsets.tolist() == [0, 0, 3]
