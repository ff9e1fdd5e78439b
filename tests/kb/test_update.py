"""Changes: random sequences of them against plain dictionaries, and each rule on its own."""

import json
import os
import threading
from contextlib import contextmanager
from pathlib import Path
from random import Random

import lmdb
import numpy as np
import pytest

from sgtb.core.errors import KnowledgeBaseError
from sgtb.kb import KnowledgeBase, update
from sgtb.kb import kb_folder as place
from sgtb.kb.build.entity_lines import EntityList
from sgtb.kb.build.list_build import build_list
from sgtb.kb.check import check
from sgtb.kb.environment import Environment
from sgtb.kb.export import export_lines
from sgtb.kb.name_variants import DEFAULT_RULES
from sgtb.kb.update import UpdateReport, read_ids
from tests.helpers.kb_processes import contents
from tests.helpers.kb_worlds import (
    assert_shows,
    build,
    candidate_of,
    random_record,
    random_vector,
    random_world,
    write_lines,
)

DIMENSIONS = 3


class Changes:
    """Draws changes at random, and makes them in a knowledge base and in its twin."""

    def __init__(self, random, place, world):
        self.random, self.place, self.world = random, place, world
        self.count = 0

    def next(self):
        ids = list(self.world.entities)
        kinds = [self.add, self.update] + [self.remove] * (len(ids) > 4)
        self.count += 1
        return self.random.choice(kinds)(ids)

    def add(self, ids):
        random = self.random
        gone = [f"{c}{i}" for c in "Qa" for i in range(12)]
        new = [f"N{self.count}.{i}" for i in range(random.randint(0, 3))]
        new += [id_ for id_ in random.sample(gone, 2) if id_ not in self.world.entities]
        records = [random_record(random, id_) for id_ in new]
        for record in records:
            self.link(record, [*ids, *new])
            if random.random() < 0.5:
                record["vector"] = random_vector(random, DIMENSIONS)
        self.world.add(records)
        return update.add(self.place, self.list(records))

    def update(self, ids):
        random = self.random
        records = []
        for id_ in random.sample(ids, random.randint(1, min(4, len(ids)))):
            record = random_record(random, id_)
            record = {k: v for k, v in record.items() if k == "id" or random.random() < 0.5}
            if random.random() < 0.4:
                self.link(record, ids)
            if random.random() < 0.3:
                record["vector"] = random.choice([None, random_vector(random, DIMENSIONS)])
            records.append(record)
        self.world.update(records)
        return update.update(self.place, self.list(records, partial=True))

    def remove(self, ids):
        gone = self.random.sample(ids, self.random.randint(1, 3))
        self.world.remove(gone)
        return update.remove(self.place, gone)

    def link(self, record, ids):
        record["links"] = self.random.choices(ids, k=self.random.randint(0, 4)) if ids else []

    def list(self, records, **options):
        path = write_lines(self.place.parent / "change.jsonl", records)
        return EntityList(path, **options)


@pytest.mark.parametrize("seed", range(8))
def test_any_sequence_of_changes_ends_where_the_twin_ends(tmp_path, seed):
    random = Random(seed)
    variants = (None, DEFAULT_RULES)[seed % 2]
    world = random_world(random, random.randint(2, 12), DIMENSIONS, variants)
    place = build(tmp_path, world.records(), variants=variants)
    changes = Changes(random, place, world)
    with KnowledgeBase.open(place) as kb:
        fingerprints = {kb.info()["fingerprint"]}
        for step in range(1, 13):
            before = world.copy()
            report = changes.next()
            assert (report.generation, report.entities) == (step, len(world.entities))
            if random.random() < 0.7:  # else the reader skips a generation
                if kb.info()["generation"] == step - 1:
                    assert_shows(kb, before)
                assert kb.refresh()
                assert_shows(kb, world)
                fingerprints.add(kb.info()["fingerprint"])
        kb.refresh()
        assert_shows(kb, world)
        assert not kb.refresh()
        assert len(fingerprints) > 5
        found = check(place)
        assert (found.problems, found.entities) == ((), len(world.entities))
        assert_built_again_it_is_the_same(tmp_path, kb, world)


def assert_built_again_it_is_the_same(tmp_path, kb, world):
    exported = list(export_lines(kb))
    (tmp_path / "export.jsonl").write_text("".join(line + "\n" for line in exported))
    build_list(tmp_path / "export.jsonl", tmp_path / "again")
    with KnowledgeBase.open(tmp_path / "again") as again:
        assert list(export_lines(again)) == exported
        assert_shows(again, world)
        names = list(kb.names())
        for name in names:
            one, two = ([candidate_of(k, c) for c in k.candidates(name)] for k in (kb, again))
            assert one == two
    direct = build(tmp_path, world.records(), "direct", variants=world.variants)
    with KnowledgeBase.open(direct) as other:
        assert_shows(other, world)


@pytest.fixture
def kb(tmp_path):
    records = [
        {"id": "Q1", "name": "One", "aliases": [{"name": "1", "count": 4}], "popularity": 3},
        {
            "id": "Q2",
            "name": "Two",
            "aliases": [{"name": "II", "count": 2, "source": "web"}, "Deux"],
            "links": ["Q1"],
            "vector": [1, 0],
            "in_links": 9,
            "description": "a number",
            "type": "MISC",
        },
        {"id": "Q3", "name": "Three", "links": ["Q1", "Q2"]},
        {"kind": "pair", "a": "Q1", "b": "Q2", "count": 5},
        {"kind": "pair", "a": "Q1", "b": "Q3", "count": 6},
    ]
    with KnowledgeBase.open(build(tmp_path, records)) as kb:
        yield kb


def change(kb, *records, how=update.update, **options):
    path = write_lines(kb.path.parent / "change.jsonl", records)
    report = how(kb.path, EntityList(path, partial=how is update.update), **options)
    assert kb.refresh()
    return report


def names_of(kb, id_):
    return {(a.name, a.source): a.count for a in kb.entity(id_).aliases}


def test_what_a_record_does_not_state_stays(kb):
    before = kb.entity("Q2")
    assert change(kb, {"id": "Q2", "popularity": 8}) == UpdateReport(0, 1, 0, 0, 3, 1)
    after = kb.entity("Q2")
    assert after.popularity == 8
    for field in ("title", "description", "type", "in_links", "out_links", "aliases", "links"):
        assert getattr(after, field) == getattr(before, field), field
    assert kb.vector("Q2").tolist() == [1, 0]
    assert kb.number("Q2") == 1
    assert kb.cooccurrence("Q1", "Q2") == 5


def test_null_takes_away_what_was_stated(kb):
    nothing = dict.fromkeys(("description", "type", "in_links", "vector", "links", "popularity"))
    change(kb, {"id": "Q2", **nothing}, {"id": "Q1", "popularity": None})
    card = kb.entity("Q2")
    assert (card.description, card.type, card.in_links, card.links) == ("", "", 1, ())
    assert kb.vector("Q2") is None
    assert np.isnan(kb.entity("Q1").popularity)


def test_aliases_replace_those_given_and_those_of_the_sources_they_name(kb):
    change(kb, {"id": "Q2", "aliases": ["Zwei"]})
    kept = {("II", "web"): 2, ("Two", "given"): 1, ("Zwei", "given"): 1}
    assert names_of(kb, "Q2") == kept, "the title stays a name"
    assert kb.candidates("deux") == ()
    change(kb, {"id": "Q2", "aliases": [{"name": "2", "source": "web", "count": 7}]})
    assert names_of(kb, "Q2") == {("2", "web"): 7, ("Two", "given"): 1}
    change(kb, {"id": "Q2", "name": "Dos", "aliases": []})
    assert names_of(kb, "Q2") == {("2", "web"): 7, ("Dos", "given"): 1}
    assert [kb.candidates(name) for name in ("two", "zwei", "ii")] == [(), (), ()]


def test_a_new_name_is_a_new_title_and_the_old_one_stays_a_name(kb):
    for _ in range(2):  # once more changes nothing
        change(kb, {"id": "Q1", "name": "Uno"})
        assert kb.entity("Q1").title == "Uno"
        assert names_of(kb, "Q1") == {("1", "given"): 4, ("One", "given"): 1, ("Uno", "given"): 1}
    change(kb, {"id": "Q1", "name": "1"})
    assert names_of(kb, "Q1")["1", "given"] == 4, "it was a name before"


def test_a_title_that_was_no_name_does_not_become_one(kb, tmp_path):
    records = [
        {"kind": "kb", "sources": ["given"]},
        {"id": "Q1", "name": "Jordan (country)", "aliases": ["Jordan"]},
    ]
    with KnowledgeBase.open(build(tmp_path, records, "whole")) as whole:
        change(whole, {"id": "Q1", "aliases": ["Kingdom"]})
        assert names_of(whole, "Q1") == {("Kingdom", "given"): 1}


def test_popularity_decides_ties_anew(kb):
    change(kb, {"id": "Q4", "name": "x"}, {"id": "Q5", "name": "x"}, how=update.add)
    assert [c.id for c in kb.candidates("x")] == ["Q4", "Q5"]
    change(kb, {"id": "Q5", "popularity": 1})
    assert [c.id for c in kb.candidates("x")] == ["Q5", "Q4"]


def test_links_may_lead_to_what_is_added_together(kb):
    records = [{"id": "A", "name": "a", "links": ["B", "Q1", "A"]}, {"id": "B", "name": "b"}]
    assert change(kb, *records, how=update.add) == UpdateReport(2, 0, 0, 0, 5, 1)
    assert kb.entity("A").links == ("Q1", "B")
    assert [kb.entity(id_).in_links for id_ in ("B", "Q1", "A")] == [1, 3, 0]


def test_the_removed_leave_nothing_behind(kb):
    report = update.remove(kb.path, ["Q1", "Q1"])
    assert report == UpdateReport(0, 0, 1, 0, 2, 1)
    assert kb.refresh()
    assert kb.number("Q1") is None
    assert (kb.candidates("one"), kb.candidates("1")) == ((), ())
    assert list(kb.names()) == ["deux", "ii", "three", "two"]
    assert (kb.entity("Q3").links, kb.entity("Q2").links) == (("Q2",), ())
    assert (len(kb.near("Q2")), len(kb.near("Q3")), kb.info()["pairs"]) == (0, 0, 0)
    change(kb, {"id": "Q1", "name": "New one"}, how=update.add)
    card = kb.entity("Q1")
    assert (card.title, card.number, card.in_links, card.popularity) != ("One", 0, 2, 3)
    assert card.in_links == 0
    update.remove(kb.path, ["Q1", "Q2", "Q3"])
    assert kb.refresh()
    assert (len(kb), list(kb.names()), kb.info()["links"]) == (0, [], 0)
    assert check(kb.path).ok
    change(kb, {"id": "Q1", "name": "Again"}, how=update.add)
    assert [c.id for c in kb.candidates("again")] == ["Q1"]


def test_changes_of_different_entities_have_different_fingerprints(tmp_path):
    """Alike in all but their ids and names: what is taken away must count as well."""
    found = []
    for gone in ("A", "B"):
        (tmp_path / gone).mkdir()
        place = build(tmp_path / gone, [{"id": "A", "name": "x"}, {"id": "B", "name": "y"}])
        update.remove(place, [gone])
        with KnowledgeBase.open(place) as kb:
            found.append(kb.info()["fingerprint"])
    assert found[0] != found[1]


def test_the_same_changes_give_the_same_bytes(tmp_path):
    found = []
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        world = random_world(Random(5), 8, DIMENSIONS)
        changes = Changes(Random(6), build(tmp_path / folder, world.records()), world)
        for _ in range(6):
            changes.next()
        found.append(contents(changes.place))
    assert found[0] == found[1]


A = {"id": "A", "name": "a"}
FOREIGN = [{"name": "x", "source": "new"}]
MANY = [f"{i:04d}" + "x" * 490 for i in range(2200)]
WRONG_ADDITIONS = {
    "there already": ([A, {"id": "Q1", "name": "x"}], "line 2, key id: 'Q1' already exists"),
    "twice": ([A, A], "line 2, key id: 'A' is given twice, first in line 1"),
    "without a name": ([{"id": "A"}], "line 1, key name: missing"),
    "with a link to nobody": (
        [{**A, "links": ["Q9"]}],
        "line 1, key links: no entity has the id 'Q9'",
    ),
    "with another source": (
        [{**A, "aliases": FOREIGN}],
        "line 1, key aliases: source 'new' is none of given",
    ),
    "with a longer vector": (
        [A, {**A, "id": "B", "vector": [1, 2, 3]}],
        "line 2, key vector: 3 numbers, but .* length 2",
    ),
    "with too many names": ([A, {**A, "id": "B", "aliases": MANY}], "line 2: .*1,048,576 bytes"),
    "a header": ([{"kind": "kb", "sources": ["given"]}], "line 1: only entities"),
}
WRONG_CHANGES = {
    "not there": ([{"id": "Q1"}, {"id": "Q9"}], "line 2, key id: there is no entity 'Q9'"),
    "twice": ([{"id": "Q1"}, {"id": "Q1"}], "line 2, key id: 'Q1' is given twice"),
    "with a link to nobody": (
        [{"id": "Q1", "name": "x"}, {"id": "Q2", "links": ["Q1", "Q9"]}],
        "line 2, key links: no entity has the id 'Q9'",
    ),
    "with too many names": ([{"id": "Q1", "aliases": MANY}], "line 1: .*1,048,576 bytes"),
    "a pair": ([{"kind": "pair", "a": "Q1", "b": "Q3", "count": 1}], "line 1: only entities"),
}
WRONG = [(update.add, *wrong) for wrong in WRONG_ADDITIONS.values()]
WRONG += [(update.update, *wrong) for wrong in WRONG_CHANGES.values()]


@pytest.mark.parametrize(
    ("how", "records", "message"), WRONG, ids=[*WRONG_ADDITIONS, *WRONG_CHANGES]
)
def test_a_wrong_change_is_named_and_changes_nothing(kb, how, records, message):
    before = contents(kb.path)
    path = write_lines(kb.path.parent / "change.jsonl", records)
    with pytest.raises(KnowledgeBaseError, match=f"{path}, {message}"):
        how(kb.path, EntityList(path, partial=how is update.update))
    assert contents(kb.path) == before
    assert not kb.refresh()
    assert len(kb.candidates("one")) == 1


def test_links_to_nobody_may_be_skipped_and_are_counted(kb):
    record = {"id": "A", "name": "a", "links": ["Q8", "Q1", "Q9"]}
    assert change(kb, record, how=update.add, skip_unknown_links=True).unknown_links == 2
    assert kb.entity("A").links == ("Q1",)
    report = change(kb, {"id": "Q2", "links": ["Q9"]}, skip_unknown_links=True)
    assert (report.unknown_links, kb.entity("Q2").links) == (1, ())


def test_removing_what_is_not_there_removes_nothing(kb):
    with pytest.raises(KnowledgeBaseError, match=f"{kb.path}: there is no entity 'Q9'; nothing"):
        update.remove(kb.path, ["Q1", "Q9"])
    assert not kb.refresh()
    assert check(kb.path).entities == 3


@pytest.mark.parametrize(
    ("data", "ids"),
    [
        (b"Q1\nQ 2\r\n\n  Q3  ", ["Q1", "Q 2", "Q3"]),
        (b"\xef\xbb\xbfQ1\n", ["Q1"]),
        (b'{"id": "Q1"}\n{"id": "Q2", "name": "x"}\n', ["Q1", "Q2"]),
        (b'\xef\xbb\xbf\n {"id": "Q1"}\n', ["Q1"]),
        (b"", []),
    ],
)
def test_ids_are_read_from_lines_and_from_json(tmp_path, data, ids):
    (tmp_path / "ids").write_bytes(data)
    assert read_ids(tmp_path / "ids") == ids


def test_ids_that_are_not_utf_8_are_named(tmp_path):
    (tmp_path / "ids").write_bytes(b"Q1\nZ\xfcrich\n")
    with pytest.raises(KnowledgeBaseError, match=r"ids.*not UTF-8"):
        read_ids(tmp_path / "ids")


def test_a_torn_tail_of_somebody_who_was_killed_is_cut_off(kb):
    folder = kb.path / "data-000001"
    for column in folder.glob("*.bin"):
        with open(column, "ab") as file:
            file.write(b"torn" * 100)
    with KnowledgeBase.open(kb.path) as other:
        assert other.candidates("one") == kb.candidates("one")
    assert check(kb.path).ok
    change(kb, {"id": "A", "name": "One", "links": ["Q2"], "vector": [0, 1]}, how=update.add)
    assert kb.entity("A").links == ("Q2",)
    assert len(kb.candidates("one")) == 2
    assert kb.vector("A").tolist() == [0, 1]
    for name in ("entities", "text", "links", "vectors"):
        assert b"torn" not in (folder / f"{name}.bin").read_bytes()
    assert check(kb.path).ok


def test_writers_wait_for_each_other(kb, monkeypatch):
    path = write_lines(kb.path.parent / "change.jsonl", [{"id": "A", "name": "a"}])
    with place.writing(kb.path):
        monkeypatch.setattr(place, "WAIT", 0.1)
        for write in (
            lambda: update.add(kb.path, EntityList(path)),
            lambda: update.remove(kb.path, ["Q1"]),
            lambda: build_list(path, kb.path),
        ):
            with pytest.raises(KnowledgeBaseError, match="another process is writing"):
                write()
        assert not kb.refresh()
        monkeypatch.setattr(place, "WAIT", 30)
        waiting = threading.Thread(target=update.add, args=(kb.path, EntityList(path)))
        waiting.start()
        waiting.join(0.2)
        assert waiting.is_alive()
        assert not kb.refresh()
    waiting.join()
    assert kb.refresh()
    assert kb.number("A") == 3


def test_writers_in_threads_lose_nothing(kb):
    def write(i):
        path = kb.path.parent / f"change{i}.jsonl"
        path.write_text(json.dumps({"id": f"A{i}", "name": "a", "links": ["Q1"]}))
        update.add(kb.path, EntityList(path))

    threads = [threading.Thread(target=write, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert kb.refresh()
    assert {c.id for c in kb.candidates("a")} == {f"A{i}" for i in range(8)}
    assert kb.entity("Q1").in_links == 10
    assert kb.info()["generation"] == 8
    assert check(kb.path).ok


def test_a_lock_that_was_taken_away_is_not_held(tmp_path, monkeypatch):
    """A first build that fails takes its lock away; who had it open must take the new one."""
    real, taken_away = place.lock, []

    def locked(handle):
        if not taken_away:
            taken_away.append(handle)
            (tmp_path / "lock").unlink()
        return real(handle)

    monkeypatch.setattr(place, "lock", locked)
    with place.writing(tmp_path):
        assert is_locked(tmp_path / "lock")
    assert not is_locked(tmp_path / "lock")


def test_columns_are_on_disk_before_they_are_valid(kb, monkeypatch):
    if not Path("/proc/self/fd").exists():
        pytest.skip("this system does not tell which files are open")
    real, synced = os.fsync, []

    def sync(handle):
        name = Path(os.readlink(f"/proc/self/fd/{handle}")).name
        if name.endswith(".bin"):  # checksums are written last
            synced.append(name)
            assert not kb.refresh(), "the new state is not valid yet"
        real(handle)

    monkeypatch.setattr(os, "fsync", sync)
    change(kb, {"id": "A", "name": "a", "links": ["Q1"], "vector": [1, 1]}, how=update.add)
    assert sorted(synced) == ["entities.bin", "links.bin", "text.bin", "vectors.bin"]


def is_locked(path):
    fcntl = pytest.importorskip("fcntl")
    with open(path, "ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def test_a_transaction_that_fails_at_its_end(tmp_path, monkeypatch):
    """What was appended is truncated, and the next change finds sums that fit."""
    path = build(
        tmp_path, [{"id": f"E{i}", "name": f"N{i}", "description": "d" * 500} for i in range(300)]
    )
    size = (place.data_folder(path) / "text.bin").stat().st_size

    def added(letter):
        records = [
            {"id": f"{letter}{i}", "name": f"{letter}{i}", "description": letter * 5000}
            for i in range(100)
        ]
        return update.add(path, EntityList(write_lines(tmp_path / f"{letter}.jsonl", records)))

    class Full:
        """An LMDB environment whose disk is full when a transaction ends."""

        def __init__(self, real):
            self._real = real

        def __getattr__(self, name):
            return getattr(self._real, name)

        def begin(self, write=False, **options):
            real = self._real.begin(write=write, **options)
            return ending(real) if write else real

    @contextmanager
    def ending(real):
        with real as transaction:
            yield transaction
            raise lmdb.DiskError("mdb_txn_commit: No space left on device")

    def full(self, folder):
        real(self, folder)
        self.lmdb = Full(self.lmdb)

    real = Environment.__init__
    monkeypatch.setattr(Environment, "__init__", full)
    with pytest.raises(KnowledgeBaseError, match="nothing was changed"):
        added("x")
    monkeypatch.undo()
    assert (place.data_folder(path) / "text.bin").stat().st_size == size
    added("y")
    with KnowledgeBase.open(path) as kb:
        assert len(kb) == 400
        assert kb.entity("y99").description == "y" * 5000
