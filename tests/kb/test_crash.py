"""Processes killed at any moment, and readers beside writers: the old state or the new, whole."""

import os
import shutil
import signal
import time
from random import Random

import pytest

from sgtb.core.errors import KnowledgeBaseError
from sgtb.kb import KnowledgeBase, update
from sgtb.kb.build.entity_lines import EntityList
from sgtb.kb.build.kb_writer import KbWriter
from sgtb.kb.build.list_build import build_list
from sgtb.kb.check import check
from sgtb.kb.columns import Appender
from sgtb.kb.environment import Environment
from sgtb.kb.export import export_lines
from tests.helpers.kb_processes import forked
from tests.helpers.kb_worlds import build, write_lines

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
COMMANDS = ("build", "add", "update", "remove")
MOMENTS = 5
"""Of each kind of command; all of them spread over the time that it takes."""


class Commands:
    """Lists, a knowledge base made of one, and what each command makes of it."""

    def __init__(self, folder, size, look):
        self.folder, self.place = folder, folder / "kb"
        self.saved, self.look = folder / "saved", look
        records = [
            {
                "id": f"e{i}",
                "name": f"name {i}",
                "aliases": [f"alias {i % 99}"],
                "links": [f"e{(i * 7) % size}", f"e{(i * 13 + 1) % size}"],
            }
            for i in range(size)
        ]
        more = [{**record, "id": f"n{i}"} for i, record in enumerate(records[::2])]
        self.old = write_lines(folder / "old.jsonl", records)
        self.new = write_lines(folder / "new.jsonl", [*records[::-1], {"id": "z", "name": "z"}])
        self.more = write_lines(folder / "more.jsonl", more)
        changed = [{"id": f"e{i}", "aliases": [f"other {i}"]} for i in range(0, size, 2)]
        self.changed = write_lines(folder / "changed.jsonl", changed)
        self.gone = [f"e{i}" for i in range(0, size, 3)]
        build_list(self.old, self.saved)
        self.states = {"old": look(self.saved)}
        self.seconds = {}
        for name in COMMANDS:
            self.restore()
            begin = time.monotonic()
            forked(lambda name=name: self.run(name))
            self.seconds[name] = time.monotonic() - begin
            self.states[name] = look(self.place)
        assert len(set(map(str, self.states.values()))) == 1 + len(COMMANDS)

    def run(self, name):
        """Run a command; what it reports is of no interest here."""
        if name == "build":
            build_list(self.new, self.place)
        elif name == "add":
            update.add(self.place, EntityList(self.more))
        elif name == "update":
            update.update(self.place, EntityList(self.changed, partial=True))
        else:
            update.remove(self.place, self.gone)

    def restore(self):
        """Bring back the old state."""
        shutil.rmtree(self.place, ignore_errors=True)
        shutil.copytree(self.saved, self.place)

    def assert_whole(self, name):
        """Assert that a killed command has done nothing or all, and works if it is run again."""
        found = self.look(self.place)
        assert found in (self.states["old"], self.states[name])
        if name == "build" or found == self.states["old"]:
            self.run(name)
        elif name != "update":
            with pytest.raises(KnowledgeBaseError, match=r"already exists|there is no entity"):
                self.run(name)
        assert self.look(self.place) == self.states[name]
        assert len(list(self.place.glob("data-*"))) == 1
        assert len(os.listdir(self.place)) == 3, "kb.json, lock, and one folder of data"
        return found == self.states[name]


def exported(place):
    with KnowledgeBase.open(place) as kb:
        return list(export_lines(kb))


def exported_with_similar(place):
    with KnowledgeBase.open(place) as kb:
        return list(export_lines(kb)), similar(kb)


def similar(kb):
    """Names found by the fuzzy index: of the build, of what was added, changed and removed."""
    found = kb.similar_names(["nme 0", "name 3", "othr 4", "alias 7", "zz"], 5)
    return found.offsets.tolist(), found.names


def told(place):
    """What a knowledge base tells of itself: whether that is so, a check must tell."""
    with KnowledgeBase.open(place) as kb:
        info = {key: value for key, value in kb.info().items() if key != "bytes"}
        return {**info, "similar": similar(kb)}


def start(work):
    """Start something in a forked child, and return its number."""
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        except BaseException:
            os._exit(1)
    return child


def going_on(child):
    """Tell whether a child is to be waited for; one that failed never ends what it began."""
    ended, status = os.waitpid(child, os.WNOHANG)
    assert not ended or os.waitstatus_to_exitcode(status) == 0
    return not ended


def end(child):
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    return Commands(tmp_path_factory.mktemp("large"), 3000, told)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    return Commands(tmp_path_factory.mktemp("small"), 12, exported_with_similar)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_killed_at_any_moment_has_done_nothing_or_all(large, name):
    random = Random(name)
    ends = []
    for moment in range(MOMENTS):
        large.restore()
        share = (moment + random.random()) / MOMENTS
        child = start(lambda: large.run(name))
        time.sleep(large.seconds[name] * share)
        os.kill(child, signal.SIGKILL)
        ends.append(end(child))
        assert check(large.place).ok
        large.assert_whole(name)
    assert -signal.SIGKILL in ends, "not all of them may have been over before"


STEPS = [
    (os, "fsync"),
    (os, "replace"),
    (os, "mkdir"),
    (os, "unlink"),
    (os, "truncate"),
    (shutil, "rmtree"),
    (Appender, "append"),
    (Appender, "flush"),
    (Environment, "put_state"),
    (KbWriter, "finish"),
]


def killed_at(step, work):
    """Do something, but be killed before or after the given one of all the steps on the way."""
    count = 0

    def count_step():
        nonlocal count
        count += 1
        if count == step:
            os.kill(os.getpid(), signal.SIGKILL)

    def watched(real):
        def call(*arguments, **options):
            count_step()
            result = real(*arguments, **options)
            count_step()
            return result

        return call

    for owner, name in STEPS:
        setattr(owner, name, watched(getattr(owner, name)))
    work()


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_killed_at_any_step_has_done_nothing_or_all(small, name):
    done = []
    for step in range(1, 200):
        small.restore()
        code = end(start(lambda step=step: killed_at(step, lambda: small.run(name))))
        if code == 0:
            break
        assert code == -signal.SIGKILL
        done.append(small.assert_whole(name))
    assert len(done) > 8, "there are that many steps at least"
    assert done == sorted(done), "from one step on, all is done"
    assert done[0] is False
    if name == "build":  # others are done with the commit, which is the last step
        assert done[-1] is True


def test_a_first_build_killed_at_any_step_can_be_run_again(tmp_path):
    path = write_lines(tmp_path / "list.jsonl", [{"id": "Q1", "name": "One"}])
    place = tmp_path / "kb"
    for step in range(1, 200):
        code = end(start(lambda step=step: killed_at(step, lambda: build_list(path, place))))
        if (place / "kb.json").exists():
            assert len(exported(place)) == 2
        else:
            with pytest.raises(KnowledgeBaseError, match=r"no such folder|no knowledge base"):
                KnowledgeBase.open(place)
        build_list(path, place)
        assert len(exported(place)) == 2
        assert len(os.listdir(place)) == 3
        shutil.rmtree(place)
        if code == 0:
            break
    assert step > 20


def test_a_reader_beside_a_writer_sees_whole_generations(tmp_path):
    """Each generation brings an entity, its name and its link together."""
    place = build(tmp_path, [{"id": "hub", "name": "hub"}])
    last = 60

    def write():
        for i in range(last):
            links = [f"G{i - 1}", "hub"] if i else ["hub"]
            record = {"id": f"G{i}", "name": f"title {i}", "aliases": ["stream"], "links": links}
            update.add(place, EntityList(write_lines(tmp_path / "more.jsonl", [record])))

    seen = set()
    with KnowledgeBase.open(place) as kb, KnowledgeBase.open(place) as old:
        child = start(write)
        while True:
            writing = going_on(child)
            kb.refresh()
            for _ in range(2):  # and it stays the same until the next refresh
                size = assert_generation(kb)
                assert size == kb.info()["generation"]
            seen.add(size)
            assert (len(old), old.candidates("stream"), list(old.ids())) == (1, (), ["hub"])
            with KnowledgeBase.open(place) as fresh:
                assert assert_generation(fresh) >= size
            if not writing:
                break
    assert max(seen) == last
    assert len(seen) > 3, "some were seen on the way"
    assert check(place).ok


def assert_generation(kb):
    """Assert that a reader sees as many entities by every way to them; return how many."""
    found = {c.id for c in kb.candidates("stream", 1000)}
    size = len(found)
    assert found == {f"G{i}" for i in range(size)}
    assert list(kb.ids()) == ["hub", *(f"G{i}" for i in range(size))]
    assert len(kb) == size + 1
    assert kb.entity("hub").in_links == size
    assert len(list(kb.names())) == 1 + (size + 1 if size else 0)
    if size:
        card = kb.entity(f"G{size - 1}")
        assert (card.title, card.in_links) == (f"title {size - 1}", 0)
        assert card.links == (("hub", f"G{size - 2}") if size > 1 else ("hub",))
    assert kb.number(f"G{size}") is None
    assert kb.candidates(f"title {size}") == ()
    return size


def test_a_reader_beside_builds_sees_whole_ones(tmp_path):
    def records(i):
        return [{"id": f"B{i}-{j}", "name": "x", "links": [f"B{i}-0"]} for j in range(i)]

    place = build(tmp_path, records(1))
    last = 25

    def write():
        for i in range(2, last + 1):
            build_list(write_lines(tmp_path / "next.jsonl", records(i)), place)

    child = start(write)
    seen = set()
    with KnowledgeBase.open(place) as kb:
        while True:
            writing = going_on(child)
            kb.refresh()
            size = assert_built(kb)
            seen.add(size)
            with KnowledgeBase.open(place) as fresh:
                assert assert_built(fresh) >= size
            assert assert_built(kb) == size
            if not writing:
                break
    assert max(seen) == last
    assert len(seen) > 3, "some were seen on the way"
    assert len(list(place.glob("data-*"))) == 1


def assert_built(kb):
    size = len(kb)
    expected = {f"B{size}-{j}" for j in range(size)}
    assert {c.id for c in kb.candidates("x", 1000)} == expected
    assert set(kb.ids()) == expected
    assert kb.entity(f"B{size}-0").in_links == size - 1
    return size


def test_a_killed_reader_holds_nothing(tmp_path):
    place = build(tmp_path, [{"id": "Q1", "name": "One"}])
    ready, reading = os.pipe()

    def read():
        kb = KnowledgeBase.open(place)
        kb.candidates("one")
        os.write(reading, b".")
        time.sleep(60)

    def list_readers():
        with KnowledgeBase.open(place) as kb:
            return kb.tables()[0].lmdb.readers()

    with KnowledgeBase.open(place):  # while any reader lives, LMDB keeps its list of them
        child = start(read)
        assert os.read(ready, 1) == b"."
        assert str(child) in list_readers()
        os.kill(child, signal.SIGKILL)
        end(child)
        readers = forked(list_readers)
        assert str(os.getpid()) in readers
        assert str(child) not in readers
    os.close(ready)
    os.close(reading)
