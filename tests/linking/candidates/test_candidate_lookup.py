"""Candidates of mentions: every way to find them, in a small knowledge base of shared names."""

import re
from dataclasses import replace
from random import Random

import numpy as np
import pytest

from sgtb.core.errors import RequestError, SettingsError
from sgtb.kb import KnowledgeBase
from sgtb.kb.build.entity_lines import EntityList
from sgtb.kb.update import add, remove
from sgtb.linking.candidates.candidate_lookup import CandidateFinder, CandidateSettings
from sgtb.linking.candidates.candidate_table import SIMILARITY
from sgtb.native import keep_strongest
from sgtb.text.normalization import normal_name
from tests.helpers.kb_worlds import build, write_lines
from tests.helpers.linking_builders import document

ENTITIES = [
    {
        "id": "paris",
        "name": "Paris",
        "type": "LOC",
        "aliases": [{"name": "Paris", "count": 9}],
        "links": ["ny"],
    },
    {"id": "hilton", "name": "Paris Hilton", "type": "PER", "aliases": ["Paris"]},
    {"id": "nicky", "name": "Nicky Hilton", "type": "PER"},
    {"id": "full", "name": "Paris Whitney Hilton", "type": "PER", "links": ["ny", "hilton"]},
    {"id": "hotels", "name": "Hilton", "type": "ORG", "in_links": 40},
    {"id": "ny", "name": "New York", "type": "LOC", "aliases": ["NYC"]},
    {"id": "york", "name": "York", "type": "LOC"},
    {"id": "fund", "name": "International Monetary Fund", "type": "ORG"},
    {"id": "mines", "name": "Iron Mining Fund", "type": "ORG"},
    {"id": "obama", "name": "Barack Obama", "type": "PER", "popularity": 9},
    {"id": "baracks", "name": "Barrack Obama", "type": "MISC", "aliases": ["Barak Obamas"]},
]


@pytest.fixture(scope="module")
def kb(tmp_path_factory):
    with KnowledgeBase.open(build(tmp_path_factory.mktemp("kb"), ENTITIES)) as kb:
        yield kb


def shown(kb, table, i=0):
    """The ids of a mention's candidates, and how they were found."""
    part = slice(table.offsets[i], table.offsets[i + 1])
    return [kb.id_of(int(number)) for number in table.entity[part]], table.found[i]


def found(kb, *lines, **settings):
    """The same for all mentions of a document."""
    finder = CandidateFinder(kb, CandidateSettings(**settings))
    text = document("d", *lines)
    table = finder.find([text])
    assert (table.offsets.dtype, table.entity.dtype) == (np.int64, np.int32)
    assert table.prior.dtype == np.float32
    assert table.offsets[-1] == len(table.entity) == len(table.prior)
    return [shown(kb, table, i) for i in range(len(text.mentions))]


def test_candidates_of_a_name_come_as_the_knowledge_base_has_them(kb):
    table = CandidateFinder(kb).find([document("d", "[PARIS] [nowhere] [Hilton's]")])
    assert shown(kb, table) == (["paris", "hilton"], "exact")
    assert shown(kb, table, 1) == ([], "nothing")
    assert shown(kb, table, 2) == (["hotels"], "exact")
    assert table.prior.tolist() == [np.float32(0.9), np.float32(0.1), 1]
    assert found(kb, "[Paris]", top=1) == [(["paris"], "exact")]


def test_a_place_inside_the_name_of_a_person_goes_by_the_person(kb):
    assert found(kb, "[Paris] and [Hilton] saw [Paris Hilton]") == [
        (["hilton", "paris"], "longer name"),
        (["hilton", "hotels"], "longer name"),
        (["hilton"], "exact"),
    ]
    assert found(kb, "[Paris] saw [Paris Hilton]", longer_names=False)[0] == (
        ["paris", "hilton"],
        "exact",
    )


def test_places_lend_nothing(kb):
    assert found(kb, "[York] in [New York]")[0] == (["york"], "exact")


def test_chains_go_to_the_longest(kb):
    lines = "[Hilton] , [Nicky Hilton] , [Whitney Hilton] , [PARIS WHITNEY HILTON]"
    assert found(kb, lines) == [
        (["full", "hotels"], "longer name"),
        (["nicky"], "exact"),
        (["full"], "longer name"),
        (["full"], "exact"),
    ]


def test_of_equally_long_names_the_first_is_taken(kb):
    assert found(kb, "[Nicky Hilton] , [Hilton] , [Paris Hilton]")[1][0] == ["nicky", "hotels"]
    assert found(kb, "[Paris Hilton] , [Hilton] , [Nicky Hilton]")[1][0] == ["hilton", "hotels"]


def test_longer_names_stay_within_their_document(kb):
    texts = [document("a", "[Paris Hilton]"), document("b"), document("c", "[Paris] [Hilton]")]
    table = CandidateFinder(kb).find(texts)
    assert table.found == ("exact", "exact", "exact")
    assert shown(kb, table, 1)[0] == ["paris", "hilton"]


def test_acronyms_go_by_the_name_written_out(kb):
    text = "[IMF] and [Iron Mining Fund] ; [International Monetary Fund] , [I.M.F.] ; [NYC] [WTO]"
    assert found(kb, text) == [
        (["mines"], "acronym"),
        (["mines"], "exact"),
        (["fund"], "exact"),
        (["mines"], "acronym"),
        (["ny"], "exact"),
        ([], "nothing"),
    ]
    assert found(kb, text, acronyms=False)[0] == ([], "nothing")


def test_a_name_with_candidates_is_no_acronym(kb):
    assert found(kb, "[Never Yet Closed] ( [NYC] )")[1] == (["ny"], "exact")
    assert found(kb, "[Never Yet Closed] ( [NYO] )")[1] == ([], "nothing")


def test_definitions_in_brackets_come_before_initials(kb):
    text = "[IMF] and [Iron Mining Fund] ; [International Monetary Fund] ( [I.M.F.] ) ; [IMF's]"
    assert found(kb, text) == [
        (["fund"], "abbreviation"),
        (["mines"], "exact"),
        (["fund"], "exact"),
        (["fund"], "abbreviation"),
        (["fund"], "abbreviation"),
    ]
    assert found(kb, text, acronyms=False)[0] == ([], "nothing")


def test_similar_names_are_searched_last_and_only_if_wanted(kb):
    assert found(kb, "[Barack Obma]") == [([], "nothing")]
    assert found(kb, "[Barack Obma]", fuzzy=True) == [(["obama", "baracks"], "similar name")]
    assert found(kb, "[Hilton] [Nicky Hlton] [Nicky Hilton] [XYZ]", fuzzy=True) == [
        (["nicky", "hotels"], "longer name"),
        (["nicky"], "similar name"),
        (["nicky"], "exact"),
        ([], "nothing"),
    ]


def test_similar_names_have_a_weaker_prior_and_are_the_same_when_searched_again(kb):
    finder = CandidateFinder(kb, CandidateSettings(fuzzy=True))
    text = document("d", "[Barack Obma] [Hilton] [barack obma]")
    first, second = finder.find([text]), finder.find([text])
    assert first.found == second.found == ("similar name", "exact", "similar name")
    for one, other in zip(first[:3], second[:3], strict=True):
        np.testing.assert_array_equal(one, other)
    similarity = first.match[:, SIMILARITY]
    assert first.offsets.tolist() == [0, 2, 3, 5]
    np.testing.assert_allclose(first.prior[[0, 1]], similarity[[0, 1]] / 4)
    assert (similarity[0] > similarity[1] >= 0.2, first.prior[2]) == (True, 1)
    np.testing.assert_array_equal(first.prior[3:], first.prior[:2])


def test_given_candidates_come_with_most_in_links_first_each_once(kb):
    given = "[x|||york,hotels,paris,ny,york,full,hilton]"  # in-links 0, 40 (stated), 0, 2, …, 0, 1
    table = CandidateFinder(kb).find([document("d", given)])
    assert shown(kb, table) == (["hotels", "ny", "hilton", "paris", "full", "york"], "given")
    assert np.isnan(table.prior).all()
    assert found(kb, given, top=2) == [(["hotels", "ny"], "given")]


def test_given_candidates_may_be_an_array(kb):
    given = document("d", "[Paris|||york,ny]")
    (mention,) = given.mentions
    odd = replace(mention, candidates=np.array(["york", "ny"]))
    table = CandidateFinder(kb).find([replace(given, mentions=(odd,))])
    assert shown(kb, table, 0) == shown(kb, CandidateFinder(kb).find([given]), 0)


def test_given_candidates_are_not_looked_beyond(kb):
    assert found(kb, "[Paris|||york] [Paris Hilton] [Paris|||]", fuzzy=True) == [
        (["york"], "given"),
        (["hilton"], "exact"),
        ([], "given"),
    ]


def test_a_person_that_was_given_lends_its_candidates(kb):
    table = CandidateFinder(kb).find([document("d", "[Meck] , [Anna Meck|||obama,nicky]")])
    assert shown(kb, table, 0) == (["nicky", "obama"], "longer name")  # as many in-links: by number
    assert np.isnan(table.prior).all()
    assert found(kb, "[Meck] , [Anna Meck|||hotels,obama]")[0] == ([], "nothing")


def test_an_unknown_given_candidate_is_named(kb):
    text = document("d7", "see [Paris|||paris,Q404]")
    said = f"document 'd7': candidate 'Q404' of 'Paris' at 4 is not in {kb.path}"
    with pytest.raises(RequestError, match=re.escape(said)):
        CandidateFinder(kb).find([text])


@pytest.mark.parametrize("texts", [[], [document("d", "no names here")], [document("d")] * 3])
def test_nothing_gives_an_empty_table(kb, texts):
    table = CandidateFinder(kb, CandidateSettings(fuzzy=True)).find(texts)
    assert table.offsets.tolist() == [0]
    assert (len(table.entity), len(table.prior), table.found) == (0, 0, ())


def test_names_of_nothing_but_what_a_name_has_not(kb):
    """Empty normal forms, lone surrogates, names longer than any: all are nothing."""
    text = document("d", "[a] [b] [c] [Paris Hilton] [d]")
    odd = ("", "\u200d", "\ud800", "Paris Hilton", "x" * 5000)
    mentions = tuple(replace(m, text=t) for m, t in zip(text.mentions, odd, strict=True))
    finder = CandidateFinder(kb, CandidateSettings(fuzzy=True))
    table = finder.find([replace(text, mentions=mentions)])
    assert table.found == ("nothing", "nothing", "nothing", "exact", "nothing")


def found_one_by_one(kb, text, top):
    """The slow twin: each mention by itself, with the readable look-ups of the knowledge base."""
    names = [normal_name(mention.text) for mention in text.mentions]
    lists = [kb.candidates(name, top) for name in names]
    persons = [i for i, known in enumerate(lists) if known and kb.entity(known[0].id).type == "PER"]
    taken = []
    for i, name in enumerate(names):
        longer = [
            j
            for j in persons
            if len(names[j].split()) > len(name.split()) and f" {name} " in f" {names[j]} "
        ]
        longest = max(longer, key=lambda j: (len(names[j].split()), -j), default=i)
        how = "longer name" if longest != i else "exact" if lists[i] else "nothing"
        ids = {c.id for c in lists[longest]}
        both = [*lists[longest], *(c for c in lists[i] if c.id not in ids)][:top]
        taken.append((both, how))
    return [
        ([c.id for c in kept], [c.prior for c in kept], how if kept else "nothing")
        for i, (both, how) in enumerate(taken)
        for kept in [[c for c in both if may_mean(kb, names, taken, names[i], c)]]
    ]


def may_mean(kb, names, taken, name, candidate):
    """Whether no full name in the document says that a single word is another person."""

    def is_person(c):
        return kb.entity(c.id).type == "PER"

    full = [(other.split(), lists) for other, (lists, _) in zip(names, taken, strict=True)]
    full = [(words, lists) for words, lists in full if len(words) > 1]
    known = [lists for words, lists in full if name in words and lists and is_person(lists[0])]
    unknown = [
        words[0][0] for words, lists in full
        if words[-1] == name and not lists and len(words) <= 4
    ]  # fmt: skip
    if " " in name or not is_person(candidate) or not known + unknown:
        return True
    borne = candidate.id in {c.id for lists in known for c in lists}
    return borne or normal_name(candidate.title)[0] in unknown


@pytest.mark.parametrize("seed", range(8))
def test_random_documents_are_those_of_the_twin(kb, seed):
    random = Random(seed)
    words = ("Paris", "Hilton", "Nicky", "York", "New York", "Whitney", "Barack Obama", "Zed")
    texts = [
        document(
            str(i),
            " ".join(
                f"[{' '.join(random.sample(words, random.randint(1, 3)))}]"
                for _ in range(random.randint(0, 9))
            ),
        )
        for i in range(12)
    ]
    texts += [document("all", " ".join(f"[{entity['name']}]" for entity in ENTITIES))]
    top = random.choice((1, 2, 30))
    table = CandidateFinder(kb, CandidateSettings(top=top)).find(texts)
    i = 0
    for text in texts:
        for ids, priors, how in found_one_by_one(kb, text, top):
            assert shown(kb, table, i) == (ids, how)
            assert table.prior[table.offsets[i] : table.offsets[i + 1]].tolist() == priors
            i += 1
    assert i == len(table.found)


def test_what_is_remembered_goes_when_the_knowledge_base_changes(tmp_path):
    place = build(tmp_path, ENTITIES)
    kb = KnowledgeBase.open(place)
    finder = CandidateFinder(kb, CandidateSettings(fuzzy=True))
    text = document("d", "[x|||york] [Barack Obma]")
    assert finder.find([text]).found == ("given", "similar name")
    remove(place, ["york", "obama"])
    assert finder.find([text]).found == ("given", "similar name")  # seen as it was when opened
    assert kb.refresh()
    with pytest.raises(RequestError, match="york"):
        finder.find([text])
    without = document("d", "[Barack Obma] [New Yorrk]")
    assert finder.find([without]).found == ("similar name", "similar name")
    assert shown(kb, finder.find([without]))[0] == ["baracks"]
    more = write_lines(tmp_path / "more.jsonl", [{"id": "new", "name": "Barack Obmaa"}])
    add(place, EntityList(more))
    kb.refresh()
    finder.forget()
    assert shown(kb, finder.find([without]))[0] == ["new", "baracks"]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"top": 0}, "top must be a whole number from 1 up, not 0"),
        ({"top": 2.5}, "not 2.5"),
        ({"top": True}, "not True"),
        ({"acronyms": 1}, "acronyms must be true or false, not 1"),
        ({"fuzzy": None}, "fuzzy must be true or false, not None"),
        ({"longer_names": "no"}, "longer_names must be true or false, not 'no'"),
    ],
)
def test_settings_out_of_range_are_refused(settings, said):
    with pytest.raises(SettingsError, match=re.escape(said)):
        CandidateSettings(**settings)


@pytest.mark.parametrize("top", [1, 3, 99])
def test_the_strongest_are_kept_each_once(top):
    rng = np.random.default_rng(top)
    lists = [rng.integers(0, 40, n).astype(np.int32) for n in (0, 1, 2, 5, 13, 0, 14, 41, 90)]
    strength = rng.integers(0, 6, 40)
    begins = np.cumsum([0, *map(len, lists)])
    numbers, offsets = np.concatenate(lists), np.zeros(len(begins), np.int64)
    keep_strongest(begins, strength[numbers], top, numbers, offsets)
    for r, given in enumerate(lists):
        kept = numbers[offsets[r] : offsets[r + 1]].tolist()
        assert kept == sorted(set(given.tolist()), key=lambda e: (-strength[e], e))[:top]
