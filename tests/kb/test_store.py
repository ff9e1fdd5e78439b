"""Look-ups against a slow twin, and readers in threads, children, copies and odd folders."""

import copy
import gc
import os
import pickle
import shutil
import subprocess
import sys
import threading
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from random import Random

import numpy as np
import pytest

from sgtb.core.errors import KnowledgeBaseError
from sgtb.kb import Alias, KnowledgeBase, update
from sgtb.kb.build.entity_lines import EntityList
from sgtb.kb.build.kb_writer import KbWriter
from sgtb.kb.build.list_build import build_list
from sgtb.kb.layout import COLUMNS
from sgtb.kb.name_index import Spelling
from sgtb.kb.name_variants import DEFAULT_RULES
from tests.helpers.kb_processes import contents, forked
from tests.helpers.kb_worlds import (
    assert_batch_is_single,
    assert_shows,
    build,
    random_world,
    write_lines,
)

JORDANS = [
    {"id": "Q2", "name": "Jordan", "aliases": [{"name": "JORDAN", "count": 2}], "popularity": 5},
    {
        "id": "Q10",
        "name": "Michael Jordan",
        "aliases": [
            {"name": "Jordan", "count": 3},
            {"name": "Jordan", "count": 9, "source": "web"},
        ],
        "description": "a  player",
        "type": "PER",
        "links": ["Q2", "Q3"],
    },
    {"id": "Q3", "name": "River Jordan", "aliases": ["Jordan's"], "links": ["Q2"], "in_links": 70},
]


@pytest.fixture
def place(tmp_path):
    return build(tmp_path, JORDANS)


@pytest.fixture
def kb(place):
    with KnowledgeBase.open(place) as kb:
        yield kb


@pytest.mark.parametrize("seed", range(6))
def test_every_question_is_answered_as_the_twin_answers_it(tmp_path, seed):
    world = random_world(Random(seed), 25, dimensions=4)
    with KnowledgeBase.open(build(tmp_path, world.records())) as kb:
        assert kb.sources == ("given", "anchors", "titles")
        assert_shows(kb, world)


def test_a_prior_is_the_mean_over_the_sources_that_know_the_name(kb):
    found = {c.id: (c.prior, c.counts) for c in kb.candidates("jordan")}
    # given: 2 + 1 of Q2, 3 of Q10, 1 of Q3; the web knows only Q10.
    assert found == {
        "Q2": (np.float32(3 / 7 / 2), (3, 0)),
        "Q10": (np.float32((3 / 7 + 1) / 2), (3, 9)),
        "Q3": (np.float32(1 / 7 / 2), (1, 0)),
    }
    assert [c.id for c in kb.candidates("Jordan")] == ["Q10", "Q2", "Q3"]
    only = kb.candidates("Michael Jordan")
    assert [(c.id, c.title, c.prior, c.counts) for c in only] == [
        ("Q10", "Michael Jordan", 1.0, (1, 0))
    ]


def test_ties_go_to_the_more_popular_then_to_the_lower_id(tmp_path):
    records = [
        {"id": "c", "name": "x"},
        {"id": "b", "name": "x"},
        {"id": "e", "name": "x", "popularity": 1},
        {"id": "d", "name": "x", "popularity": 1},
        {"id": "Ω", "name": "x", "popularity": 1.5},
        {"id": "a", "name": "x", "popularity": -2},
        {"id": "z", "name": "x", "aliases": [{"name": "x", "count": 2}]},
    ]
    with KnowledgeBase.open(build(tmp_path, records)) as kb:
        assert [c.id for c in kb.candidates("x")] == ["z", "Ω", "d", "e", "a", "b", "c"]


@pytest.mark.parametrize("k", [-1, 0, 1, 2, 3, 30])
def test_no_more_than_k_candidates(kb, k):
    whole = kb.candidates("Jordan")
    assert kb.candidates("Jordan", k) == whole[: max(k, 0)]
    assert_batch_is_single(kb, ["Jordan", "nobody", "River Jordan", "jordan"], k)


def test_thirty_candidates_unless_asked_otherwise(tmp_path):
    records = [{"id": f"{i:02d}", "name": "x"} for i in range(40)]
    with KnowledgeBase.open(build(tmp_path, records)) as kb:
        assert [c.id for c in kb.candidates("x")] == [f"{i:02d}" for i in range(30)]
        assert len(kb.candidates("x", 100)) == 40
        assert kb.candidate_lists(["x", "x"]).offsets.tolist() == [0, 30, 60]


@pytest.mark.parametrize(
    "name",
    ["", " ", "nobody", "x" * 10_000, "é" * 10_000, ". " * 5_000, "\0", "\ud800", "Jordan\0x", "?"],
    ids=lambda name: repr(name[:8]),
)
def test_a_name_that_nobody_has(kb, name):
    assert kb.candidates(name) == ()
    assert kb.name_value(name) is None
    assert np.isnan(kb.link_probability(name))
    assert kb.candidate_lists([name, "jordan"]).offsets.tolist() == [0, 0, 3]
    assert kb.word_vector(name) is None


def test_heads_of_many_names(tmp_path):
    records = [
        {"id": "a", "name": "Zürich", "aliases": ["Z"]},
        {"kind": "name", "name": "zurich", "linked": 3, "pages": 12},
        {"kind": "name", "name": "z", "linked": 0, "pages": 2**31},
    ]
    with KnowledgeBase.open(build(tmp_path, records)) as kb:
        names = ["ZURICH", "nobody", "Z.", "", "x" * 10_000, "\ud800", "Zürich"]
        heads = kb.name_heads(names)
        assert heads.known.tolist() == [kb.name_value(name) is not None for name in names]
        assert heads.linked.tolist() == [3, 0, 0, 0, 0, 0, 3]
        assert heads.pages.tolist() == [12, 0, 2**31, 0, 0, 0, 12]
        assert [len(column) for column in kb.name_heads([])] == [0, 0, 0, 0]


def test_heads_tell_variants_from_listed_names(tmp_path):
    records = [
        {"id": "a", "name": "Anna Meck", "type": "PER"},
        {"id": "b", "name": "Berta Orff", "aliases": ["Orff"], "type": "PER"},
        {"id": "c", "name": "Carl Orff", "type": "PER"},
    ]
    with KnowledgeBase.open(build(tmp_path, records, variants=DEFAULT_RULES)) as kb:
        heads = kb.name_heads(["Anna Meck", "Meck", "Orff", "nobody"])
        assert heads.known.tolist() == [True, True, True, False]
        assert heads.variant.tolist() == [False, True, False, False]


@pytest.mark.parametrize("id_", ["", "Q", "q2", "x" * 10_000, "\0", "\ud800", "Q2\0"])
def test_an_id_that_nobody_has(kb, id_):
    assert kb.number(id_) is None
    for method in (kb.entity, kb.links, kb.near, kb.vector):
        with pytest.raises(KeyError):
            method(id_)


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("U.S.", "us"), ("Zürich", "ZURICH"), ("Rock'n'Roll", "rock’n’roll"), ("A  B", "a-b"),
        ("Jordan's", "JORDAN"), ("ﬁnd", "FIND"), ("!!!", "!!!"), ("北京", "北京"), ("Øre", "ore"),
        ("a\tb", "a b"), ("Straße", "STRASSE"), ("Ｆｕｌｌ", "full"),
    ],
)  # fmt: skip
def test_names_have_the_same_normal_form_when_built_and_when_asked(tmp_path, written, asked):
    with KnowledgeBase.open(build(tmp_path, [{"id": "1", "name": written}])) as kb:
        for name in (written, asked, f" {written} "):
            assert [c.id for c in kb.candidates(name)] == ["1"], name


def test_spellings_stay_countable(kb):
    assert kb.entity("Q2").aliases == (Alias("JORDAN", "given", 2), Alias("Jordan", "given", 1))
    assert kb.entity("Q10").aliases == (
        Alias("Jordan", "given", 3),
        Alias("Jordan", "web", 9),
        Alias("Michael Jordan", "given", 1),
    )
    number = kb.number("Q2")
    assert kb.spellings_of(number) == (Spelling("JORDAN", 0, 2), Spelling("Jordan", 0, 1))


def test_exact_spellings(tmp_path):
    world = random_world(Random(1), 40)
    with KnowledgeBase.open(build(tmp_path, world.records())) as kb:
        texts = {s.text for n in range(len(kb.rows)) for s in kb.spellings_of(n)}
        texts |= {text[:-1] for text in texts} | {text[1:] for text in texts} | {"", "x" * 300}
        for number in range(len(kb.rows)):
            own = {spelling.text for spelling in kb.spellings_of(number)}
            assert {text for text in texts if kb.has_spelling(number, text)} == own


def test_an_entity_card(kb):
    card = kb.entity("Q10")
    assert (card.title, card.description, card.type) == ("Michael Jordan", "a player", "PER")
    assert (card.number, card.links, card.out_links, card.in_links) == (1, ("Q2", "Q3"), 2, 0)
    assert np.isnan(card.popularity)
    assert (kb.entity("Q2").popularity, kb.entity("Q2").in_links) == (5.0, 2)
    assert kb.entity("Q3").in_links == 70, "as the list states it"
    assert list(kb.ids()) == ["Q2", "Q10", "Q3"]
    assert len(kb) == 3


def test_links_of_many_entities(kb):
    lists = kb.link_lists(np.array([1, 0, 2, 1], np.int32))
    assert lists.indptr.tolist() == [0, 2, 2, 3, 5]
    assert lists.data.tolist() == [0, 2, 0, 0, 2]
    assert kb.link_lists(np.zeros(0, np.int32)).indptr.tolist() == [0]


@pytest.mark.parametrize("numbers", [[0, 1, 2], [2, 0, 2], []])
def test_texts_and_numbers_of_many_entities(kb, numbers):
    asked = np.array(numbers, np.int64)
    ids = [kb.id_of(i) for i in numbers]
    assert kb.ids_of(asked).strings() == ids
    assert kb.titles(asked).strings() == [kb.title_of(i) for i in numbers]
    assert kb.descriptions(asked).strings() == [kb.description_of(i) for i in numbers]
    assert kb.numbers([*ids, "Q4", "", "x" * 9999]) == [*numbers, None, None, None]


def test_pairs_vectors_words_and_pages(tmp_path):
    records = [
        {"id": "a", "name": "A", "vector": [3, 4]},
        {"id": "b", "name": "B"},
        {"id": "c", "name": "C", "vector": [0, -2]},
        {"kind": "pair", "a": "c", "b": "a", "count": 7},
        {"kind": "pair", "a": "b", "b": "a", "count": 2},
        {"kind": "word", "word": "Chicago", "vector": [1, 0]},
        {"kind": "word", "word": "bulls", "vector": [1, 1]},
        {"kind": "name", "name": "a", "linked": 1, "pages": 4},
    ]
    with KnowledgeBase.open(build(tmp_path, records)) as kb:
        assert kb.near("a").tolist() == [(1, 2), (2, 7)]
        assert [
            kb.cooccurrence("a", "c"),
            kb.cooccurrence(2, 0),
            kb.cooccurrence("b", "c"),
            kb.cooccurrence("a", "a"),
        ] == [7, 7, 0, 0]
        np.testing.assert_allclose(kb.vector("a"), [0.6, 0.8], atol=1e-3)
        assert kb.vector(1) is None
        found = kb.vectors(np.array([1, 2, 0, 2], np.int32))
        np.testing.assert_allclose(found, [[0, 0], [0, -1], [0.6, 0.8], [0, -1]], atol=1e-3)
        assert kb.word_vector("CHICAGO").tolist() == [1, 0]
        np.testing.assert_allclose(kb.word_vector("bulls"), [0.5**0.5] * 2, atol=1e-3)
        assert sorted(word for word, _ in kb.words()) == ["bulls", "chicago"]
        assert kb.link_probability("A") == 0.25
        assert np.isnan(kb.link_probability("b"))
        info = kb.info()
        assert [info[key] for key in ("pairs", "vectors", "words", "dimensions")] == [2, 2, 2, 2]


def test_a_knowledge_base_without_vectors_has_none(kb):
    assert kb.dimensions == 0
    assert kb.vector("Q2") is None
    assert kb.vectors(np.array([0, 1], np.int32)).shape == (2, 0)
    assert kb.word_vector("jordan") is None
    assert list(kb.words()) == []


def test_info_counts_what_is_there(kb, place):
    info = kb.info()
    assert (info["entities"], info["names"]) == (3, 3)
    assert (info["aliases"], info["links"], info["generation"]) == (7, 3, 0)
    assert info["sources"] == ["given", "web"]
    assert info["origin"] == {"built from": "jsonl", "file": "kb.jsonl"}
    files = contents(place / "data-000001")
    del files["sums.json"]
    assert info["bytes"] == sum(map(len, files.values()))
    assert repr(kb) == f"KnowledgeBase({str(place)!r}, 3 entities)"


def test_the_same_list_gives_the_same_bytes(tmp_path):
    world = random_world(Random(1), 300, dimensions=3)
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        build(tmp_path / folder, world.records())
    one, two = (contents(tmp_path / folder / "kb") for folder in ("one", "two"))
    columns = {f"data-000001/{column}.bin" for column in COLUMNS}
    assert one.keys() == columns | {
        "data-000001/names.mdb", "data-000001/sums.json", "kb.json",
    }  # fmt: skip
    assert one == two


@pytest.mark.parametrize("change", ["name", "pages", "word", "link", "file"])
def test_what_differs_has_another_fingerprint(tmp_path, change):
    def records(changed):
        return [
            {"id": "a", "name": "A", "links": ["b"] if changed != "link" else []},
            {"id": "b", "name": "B", "aliases": ["x" if changed != "name" else "y"]},
            {"kind": "word", "word": "one" if changed != "word" else "two", "vector": [1]},
            {"kind": "name", "name": "a", "linked": 1 if changed != "pages" else 2, "pages": 4},
        ]

    other = "other" if change == "file" else "kb"
    (tmp_path / "1").mkdir()
    one = build(tmp_path, records(""))
    two = build(tmp_path / "1", records(change), other)
    with KnowledgeBase.open(one) as a, KnowledgeBase.open(two) as b:
        assert a.info()["fingerprint"] != b.info()["fingerprint"]


def test_little_memory_gives_the_same_bytes(tmp_path):
    random = Random(2)
    entities = [
        (f"Q{i}", [Spelling(f"name {random.randint(0, 90)}", s, 1 + i % 3) for s in (0, 1)])
        for i in range(400)
    ]
    words = [f"w{i}" for i in random.sample(range(1000), 200)]
    vectors = np.random.default_rng(0).normal(size=(200, 3)).astype(np.float32)
    written = []
    for memory in (1, 20_000, 1 << 28):
        folder = tmp_path / str(memory)
        folder.mkdir()
        writer = KbWriter(folder, len(entities), ["given", "web"], 3, {"from": 1}, memory=memory)
        for id_, spelled in entities:
            writer.entity(id_, id_, "", "", 0.0, spelled)
        names = list(writer.names())
        assert names == sorted({s.text for _, spelled in entities for s in spelled})
        for at in (0, 50):
            writer.words(words[at : at + 50], vectors[at : at + 50])
        spilled = len(list(folder.glob("*.run")))
        assert spilled > 100 if memory == 1 else spilled < 100
        state = writer.finish(np.ones((len(names), 2), np.uint32))
        assert (state.entities, state.names) == (400, len(names))
        assert not list(folder.glob("*.run"))
        written.append(contents(folder))
    assert written[0] == written[1] == written[2]


def test_a_writer_takes_links_in_pieces(tmp_path):
    whole, pieces = tmp_path / "whole", tmp_path / "pieces"
    source = np.array([0, 0, 0, 2, 2, 3], np.int32)
    target = np.array([1, 2, 3, 0, 3, 0], np.int32)
    for folder, cuts in ((whole, [0, 6]), (pieces, [0, 0, 1, 2, 4, 6, 6])):
        folder.mkdir()
        writer = KbWriter(folder, 4, ["given"], 0, {})
        for i in range(4):
            writer.entity(str(i), "x", "", "", 0.0, [])
        for begin, end in pairwise(cuts):
            writer.links(source[begin:end], target[begin:end])
            count = np.ones(end - begin, np.uint32)
            writer.near(source[begin:end], target[begin:end], count)
        writer.finish()
    assert contents(whole) == contents(pieces)


@pytest.mark.parametrize("name", ["", " ", "x" * 501, "é" * 501, "." * 2001])
def test_a_writer_refuses_names_that_cannot_be_looked_up(tmp_path, name):
    writer = KbWriter(tmp_path, 1, ["given"], 0, {})
    with pytest.raises(KnowledgeBaseError, match="bytes"):
        writer.entity("Q1", "One", "", "", 0.0, [Spelling(name, 0, 1)])
    writer.close()


def test_a_writer_refuses_words_and_ids_given_twice(tmp_path):
    writer = KbWriter(tmp_path, 1, ["given"], 1, {})
    writer.entity("Q1", "One", "", "", 0.0, [])
    writer.words(["w", "w"], np.ones((2, 1), np.float32))
    with pytest.raises(KnowledgeBaseError, match="word 'w' is given twice"):
        writer.finish()
    writer = KbWriter(tmp_path, 2, ["given"], 0, {})
    writer.entity("Q1", "One", "", "", 0.0, [])
    writer.entity("Q1", "Two", "", "", 0.0, [])
    with pytest.raises(KnowledgeBaseError, match="id 'Q1' is given twice"):
        writer.finish()


# Readers


def add(place: Path, *records, name="more") -> None:
    update.add(place, EntityList(write_lines(place.parent / f"{name}.jsonl", records)))


def test_two_readers_in_one_process_see_their_own_states(place):
    with KnowledgeBase.open(place) as old:
        add(place, {"id": "Q7", "name": "Jordan"})
        with KnowledgeBase.open(place) as new:
            assert [len(old.candidates("jordan")), len(new.candidates("jordan"))] == [3, 4]
            assert (len(old), len(new)) == (3, 4)
            assert old.number("Q7") is None
        assert len(old.candidates("jordan")) == 3, "the other's end is not this one's"
        assert (old.refresh(), old.refresh()) == (True, False)
        assert len(old.candidates("jordan")) == 4


def test_a_reader_sees_what_was_there_until_a_build_is_over_and_it_refreshes(place, tmp_path):
    with KnowledgeBase.open(place) as kb:
        build(tmp_path, [{"id": "new", "name": "Jordan"}])
        assert sorted(os.listdir(place)) == ["data-000002", "kb.json", "lock"]
        assert [c.id for c in kb.candidates("jordan")] == ["Q10", "Q2", "Q3"]
        assert kb.entity("Q10").title == "Michael Jordan"
        assert kb.info()["entities"] == 3
        assert kb.refresh()
        assert [c.id for c in kb.candidates("jordan")] == ["new"]
        assert list(kb.ids()) == ["new"]


def test_a_folder_deleted_and_built_again_is_another(place, tmp_path):
    with KnowledgeBase.open(place) as kb:
        shutil.rmtree(place)
        with pytest.raises(KnowledgeBaseError, match="no such folder"):
            kb.refresh()
        assert len(kb.candidates("jordan")) == 3, "what was seen before stays"
        build(tmp_path, [{"id": "new", "name": "Jordan"}])
        with KnowledgeBase.open(place) as other:
            assert [c.id for c in other.candidates("jordan")] == ["new"]
        assert [c.id for c in kb.candidates("jordan")] == ["Q10", "Q2", "Q3"]
        assert kb.refresh()
        assert [c.id for c in kb.candidates("jordan")] == ["new"]


def test_a_refresh_that_fails_leaves_what_was_seen_before(place):
    with KnowledgeBase.open(place) as kb:
        pointer = (place / "kb.json").read_bytes()
        for broken in (
            b"{",
            b'{"format": 2, "data": "x"}',
            b'{"format": 1, "data": "data-000009"}',
        ):
            (place / "kb.json").write_bytes(broken)
            with pytest.raises(KnowledgeBaseError):
                kb.refresh()
            assert len(kb.candidates("jordan")) == 3
        (place / "kb.json").write_bytes(pointer)
        text = place / "data-000001" / "text.bin"
        add(place, {"id": "Q7", "name": "Jordan"})
        whole = text.read_bytes()
        text.write_bytes(whole[:-1])
        with pytest.raises(KnowledgeBaseError, match=r"text\.bin.*truncated"):
            kb.refresh()
        assert [c.id for c in kb.candidates("jordan")] == ["Q10", "Q2", "Q3"]
        text.write_bytes(whole)
        assert kb.refresh()
        assert len(kb.candidates("jordan")) == 4


def test_a_closed_knowledge_base_says_so(place):
    kb = KnowledgeBase.open(place)
    links = kb.links("Q10")
    kb.close()
    kb.close()
    for ask in (
        lambda: kb.candidates("jordan"),
        lambda: kb.candidate_lists(["jordan"]),
        lambda: kb.entity("Q2"),
        lambda: kb.number("Q2"),
        lambda: kb.word_vector("x"),
        lambda: list(kb.names()),
        lambda: list(kb.words()),
        lambda: kb.info(),
        lambda: kb.refresh(),
    ):
        with pytest.raises(KnowledgeBaseError, match="was closed"):
            ask()
    assert links.tolist() == [0, 2], "what was handed out stays good"


def test_what_is_no_knowledge_base_says_so(tmp_path):
    with pytest.raises(KnowledgeBaseError, match=r"no such folder.*sgtb kb build"):
        KnowledgeBase.open(tmp_path / "nothing")
    with pytest.raises(KnowledgeBaseError, match="no knowledge base"):
        KnowledgeBase.open(tmp_path)
    (tmp_path / "file").write_text("x")
    with pytest.raises(KnowledgeBaseError, match="a folder, not a file"):
        KnowledgeBase.open(str(tmp_path / "file"))
    (tmp_path / "dir" / "kb.json").mkdir(parents=True)
    with pytest.raises(KnowledgeBaseError, match="cannot be read"):
        KnowledgeBase.open(tmp_path / "dir")


def test_copies_and_pickles_open_the_folder_again(kb):
    for other in (pickle.loads(pickle.dumps(kb)), copy.deepcopy(kb)):
        assert other.candidates("jordan") == kb.candidates("jordan")
        other.close()
    assert len(kb.candidates("jordan")) == 3


def test_readers_let_go_when_they_are_forgotten(place):
    from sgtb.kb import environment

    kept = KnowledgeBase.open(place)
    forgotten = KnowledgeBase.open(place)
    forgotten.itself = forgotten  # only the collector finds this one
    del forgotten
    gc.collect()
    opened = [env for env in environment._environments.values() if env.path.parent == kept.folder]
    assert [env.users for env in opened] == [1]
    assert len(kept.candidates("jordan")) == 3
    kept.close()
    assert not any(env is one for env in environment._environments.values() for one in opened)


def test_threads_see_one_state_at_a_time_while_another_refreshes(tmp_path):
    """Each generation adds Q9 under the name that all have, or removes it."""
    records = [{"id": f"Q{i}", "name": f"title {i}", "aliases": ["Jordan"]} for i in range(8)]
    place = build(tmp_path, records)
    more = write_lines(
        tmp_path / "more.jsonl",
        [{"id": "Q9", "name": "title 9", "aliases": ["Jordan"], "links": ["Q0", "Q7"]}],
    )
    few = [(f"Q{i}", f"title {i}") for i in range(8)]
    states = (few, [*few, ("Q9", "title 9")])
    over, wrong = threading.Event(), []

    def look():
        while not over.is_set():
            found = sorted((c.id, c.title) for c in kb.candidates("jordan"))
            if found not in states:
                wrong.append(found)
            try:
                card = kb.entity("Q9")
            except KeyError:
                continue
            if (card.title, card.links, card.out_links) != ("title 9", ("Q0", "Q7"), 2):
                wrong.append(card)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    with KnowledgeBase.open(place) as kb:
        threads = [threading.Thread(target=look) for _ in range(4)]
        try:
            for thread in threads:
                thread.start()
            for _ in range(15):
                update.add(place, EntityList(more))
                assert kb.refresh()
                update.remove(place, ["Q9"])
                assert kb.refresh()
        finally:
            over.set()
            for thread in threads:
                thread.join()
            sys.setswitchinterval(interval)
    assert not wrong


def test_a_forked_child_looks_up_and_leaves_its_parent_alone(place):
    with KnowledgeBase.open(place) as kb:
        hold = kb.tables()[0].lmdb.readers().splitlines()[1]
        assert hold.split()[0] == str(os.getpid())
        assert forked(lambda: [c.id for c in kb.candidates("jordan")]) == ["Q10", "Q2", "Q3"]
        assert forked(lambda: kb.entity("Q10").links) == ("Q2", "Q3")

        def open_again():
            with KnowledgeBase.open(place) as other:
                found = len(other.candidates("jordan"))
            return found, pickle.loads(pickle.dumps(kb)).id_of(0), kb.close()

        assert forked(open_again) == (3, "Q2", None)
        assert forked(lambda: forked(lambda: len(kb.candidates("jordan")))) == 3, "a grandchild"
        # The parent's hold on its state must not be lost: else writers take its pages.
        assert forked(kb.close) is None
        assert hold in kb.tables()[0].lmdb.readers().splitlines()
        for i in range(10):
            add(place, {"id": f"R{i}", "name": "Jordan", "aliases": [f"name {i}"]}, name=f"more{i}")
        assert [c.id for c in kb.candidates("jordan")] == ["Q10", "Q2", "Q3"]
        assert list(kb.names()) == ["jordan", "michael jordan", "river jordan"]
        assert forked(lambda: len(kb.candidates("jordan"))) == 13, "a child begins with the newest"
        assert kb.refresh()
        assert len(kb.candidates("jordan")) == 13


def test_the_end_of_the_program_is_quiet(place):
    code = "import sys; from sgtb.kb import KnowledgeBase; kb = KnowledgeBase.open(sys.argv[1])"
    done = subprocess.run([sys.executable, "-c", code, place], capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_limit_of_address_space_is_named(place):
    resource = pytest.importorskip("resource")

    def limited():
        resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
        KnowledgeBase.open(place)

    with pytest.raises(KnowledgeBaseError, match=r"256 GiB of address space.*ulimit -v"):
        forked(limited)


@contextmanager
def read_only(folder: Path):
    """Let nobody write in a folder; root needs a mount for that."""
    if os.geteuid() != 0:
        folders = [folder, *(p for p in folder.rglob("*") if p.is_dir())]
        for path in folders:
            path.chmod(0o555)
        yield
        for path in folders:
            path.chmod(0o755)
        return
    for command in (["--bind", folder, folder], ["-o", "remount,ro,bind", folder]):
        if subprocess.run(["mount", *command], capture_output=True).returncode:
            pytest.skip("this system does not let one mount a folder read-only")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def test_a_folder_that_nobody_may_write_can_be_read(place, tmp_path):
    before = contents(place)
    with read_only(place):
        with KnowledgeBase.open(place) as kb:
            assert [c.id for c in kb.candidates("jordan")] == ["Q10", "Q2", "Q3"]
            assert kb.entity("Q10").links == ("Q2", "Q3")
            assert not kb.refresh()
        for write in (
            lambda: add(place, {"id": "Q7", "name": "x"}),
            lambda: update.remove(place, ["Q2"]),
            lambda: build_list(tmp_path / "kb.jsonl", place),
        ):
            with pytest.raises(KnowledgeBaseError, match=f"{place}: cannot be written: "):
                write()
    assert contents(place) == before
