"""The check: silent about what is whole, and not about anything that is not."""

import io
import json
import shutil
import sys
import threading
from contextlib import redirect_stdout

import numpy as np
import pytest

from sgtb.core.errors import KnowledgeBaseError
from sgtb.kb import KnowledgeBase, update
from sgtb.kb.build.entity_lines import EntityList
from sgtb.kb.check import MAX_PROBLEMS, CheckReport, check, main
from sgtb.kb.layout import COLUMNS, HEADER, NUMBER, PATCH
from tests.helpers.kb_worlds import build, write_lines
from tests.helpers.tampering import column, items, patched_row, state, tables, without_sums

RECORDS = [
    {"id": "a", "name": "A", "aliases": ["x"], "links": ["b", "c"], "vector": [3, 4]},
    {"id": "b", "name": "B", "aliases": ["x"], "popularity": 1, "vector": [0, 1]},
    {"id": "c", "name": "C", "description": "the third"},
    {"id": "d", "name": "D", "links": ["b"], "type": "PER"},
    {"kind": "pair", "a": "a", "b": "b", "count": 2},
    {"kind": "pair", "a": "a", "b": "c", "count": 3},
    {"kind": "word", "word": "one", "vector": [1, 0]},
    {"kind": "word", "word": "two", "vector": [0, 1]},
    {"kind": "name", "name": "x", "linked": 1, "pages": 2},
]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return build(tmp_path_factory.mktemp("whole"), RECORDS)


def findings(place):
    """What a check finds, without a process of its own: LMDB's pages are good here."""
    said = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(said):
        patch.setattr(sys, "argv", ["check", str(place)])
        main()
    report = json.loads(said.getvalue().splitlines()[-1])
    if "error" in report:
        raise KnowledgeBaseError(report["error"])
    return tuple(report["problems"])


@pytest.fixture
def place(whole, tmp_path):
    shutil.copytree(whole, tmp_path / "kb")
    return tmp_path / "kb"


def test_a_whole_knowledge_base_has_no_problems(place, tmp_path):
    said = []
    report = check(place, lambda *stage: said.append(stage))
    assert report == CheckReport((), 4, 5, 3)
    assert report.ok
    assert {stage for stage, _, _ in said} == {"checksums", "entities"}
    update.remove(place, ["c"])
    more = [{"id": "e", "name": "x", "links": ["a", "d"], "vector": [1, 1]}]
    update.add(place, EntityList(write_lines(tmp_path / "more.jsonl", more)))
    assert check(place) == CheckReport((), 4, 4, 4)


def test_what_cannot_be_opened_is_an_error(place, tmp_path):
    with pytest.raises(KnowledgeBaseError, match="no such folder"):
        check(tmp_path / "nothing")
    column(place, "text").unlink()
    with pytest.raises(KnowledgeBaseError, match=r"text\.bin: missing"):
        check(place)


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("where", [0, 0.5, 1], ids=["first", "middle", "last"])
def test_a_flipped_bit_is_found_in_every_column(place, name, where):
    path = column(place, name)
    data = bytearray(path.read_bytes())
    at = HEADER.size + int(where * (len(data) - HEADER.size - 1))
    data[at] ^= 1 << (at % 8)
    path.write_bytes(data)
    with pytest.raises(KnowledgeBaseError, match=f"{path}: damaged: its bytes from"):
        KnowledgeBase.open(place)
    without_sums(place)
    assert findings(place) == (f"{path}: wrong checksum: bytes were changed",)


def test_a_flipped_bit_is_found_in_what_was_appended(place, tmp_path):
    more = [{"id": f"n{i}", "name": f"new {i}", "links": ["a"], "vector": [1, i]} for i in range(9)]
    update.add(place, EntityList(write_lines(tmp_path / "more.jsonl", more)))
    update.remove(place, ["c"])
    without_sums(place)
    for name in ("entities", "text", "links", "near", "vectors"):
        path = column(place, name)
        data = bytearray(path.read_bytes())
        data[-1] ^= 4
        path.write_bytes(data)
        assert findings(place) == (f"{path}: wrong checksum: bytes were changed",)
        data[-1] ^= 4
        path.write_bytes(data)
    assert findings(place) == ()


ROWS = {
    "text": ("text_at", -1, "points outside of text.bin"),
    "text beyond": ("text_at", 10**6, "points outside of text.bin"),
    "text far beyond": ("text_at", 2**63 - 3, "points outside of text.bin"),
    "text too long": ("title_size", 10**6, "points outside of text.bin"),
    "text of negative length": ("title_size", -1, "has a text of negative length"),
    "links": ("links_at", -1, "points outside of links.bin"),
    "links beyond": ("links_at", 2, "points outside of links.bin"),
    "links far beyond": ("links_at", 2**63 - 1, "points outside of links.bin"),
    "fewer than no links": ("links", -1, "points outside of links.bin"),
    "too many links": ("links", 2**31 - 1, "points outside of links.bin"),
    "near": ("near_at", 3, "points outside of near.bin"),
    "too many near": ("near", 9, "points outside of near.bin"),
    "vector": ("vector", 2, "points outside of vectors.bin"),
    "vector below": ("vector", -2, "points outside of vectors.bin"),
    "type": ("type", 5, "has no known type"),
    "neither alive nor dead": ("alive", 2, "neither alive nor removed"),
    "dead": ("alive", 0, "3 entities, but 4 are stated"),
    "links to it": ("in_links", 7, "wrong count of links to it"),
    "links lost": ("links", 1, "wrong count of links to it"),
    "pairs lost": ("near", 1, "has a pair that its partner lacks"),
    "id of another": ("text_at", None, "does not lead to its entity"),
    "popularity": ("popularity", 99, "the name 'x' has wrong candidates or counts"),
}


@pytest.mark.parametrize(("field", "value", "problem"), ROWS.values(), ids=ROWS)
def test_a_row_that_does_not_fit_is_found(place, field, value, problem):
    with patched_row(place, 1) as other:
        text_of_b = int(other["text_at"][0])
    with patched_row(place, 0) as row:
        row[field] = text_of_b if value is None else value
    problems = findings(place)
    assert any(problem in found for found in problems), problems


def change(table, key, value):
    """Set an item of a table; None deletes it."""

    def tamper(place):
        with tables(place) as of:
            if value is None:
                del of(table)[key]
            else:
                of(table)[key] = value(of(table).get(key)) if callable(value) else value

    return tamper


def set_item(name, where, value, dimensions=2):
    def tamper(place):
        with items(place, name, dimensions) as found:
            found[where] = value

    return tamper


def set_state(key, value):
    def tamper(place):
        with state(place) as fields:
            fields[key] = value

    return tamper


def fewer(name):
    """State one item less of a column."""

    def tamper(place):
        with state(place) as fields:
            fields["columns"][name]["items"] -= 1

    return tamper


def both(*tampers):
    def tamper(place):
        for one in tampers:
            one(place)

    return tamper


NO_ENTITY = "entity number 0 links to a number that no entity has"
WRONG_NAME = "the name 'x' has wrong candidates or counts"
UNREADABLE = "the name 'x' cannot be read"
WORDS = "words and their vectors are not one to one"
ONE_WAY = "has a pair that its partner lacks"
HALF = np.float32(0.6).tobytes()
# Links are a: b c, d: b. Pairs are a b, a c, b a, c a. "x" is a or b, at 8 bytes each from byte 8.
TAMPERED = {
    "an id is missing": (change("ids", b"b", None), "id 'b' does not lead to its entity"),
    "an id leads elsewhere": (change("ids", b"b", NUMBER.pack(2)), "id 'b' does not lead"),
    "an id leads nowhere": (change("ids", b"b", NUMBER.pack(99)), "id 'b' does not lead"),
    "an id too many": (change("ids", b"z", NUMBER.pack(0)), "5 ids, but there should be 4"),
    "a name is missing": (change("names", b"x", None), "the name 'x' is missing"),
    "a name too many": (change("names", b"zz", bytes(20)), "6 names, but there should be 5"),
    "a name too many, and stated": (
        both(change("names", b"zz", bytes(20)), set_state("names", 6)),
        "6 names, but there should be 5",
    ),
    "a prior is wrong": (change("names", b"x", lambda v: v[:12] + HALF + v[16:]), WRONG_NAME),
    "a count is wrong": (change("names", b"x", lambda v: v[:-1] + b"\1"), WRONG_NAME),
    "pages are wrong": (change("names", b"x", lambda v: b"\7" + v[1:]), WRONG_NAME),
    "a candidate is missing": (change("names", b"x", lambda v: v[:16] + v[24:28]), WRONG_NAME),
    "a name is cut off": (change("names", b"x", lambda v: v[:-1]), UNREADABLE),
    "a name is empty": (change("names", b"x", b""), UNREADABLE),
    "a word is missing": (change("words", b"one", None), WORDS),
    "words share a vector": (change("words", b"one", NUMBER.pack(1)), WORDS),
    "a word has no vector": (change("words", b"one", NUMBER.pack(7)), WORDS),
    "a link to itself": (set_item("links", 0, 0), "entity number 0 links to itself"),
    "a link to nobody": (set_item("links", 1, 4), NO_ENTITY),
    "a link below": (set_item("links", 0, -1), NO_ENTITY),
    "a link twice": (set_item("links", 1, 1), "entity number 0 has links that do not ascend"),
    "a link to another": (set_item("links", 2, 2), "entity number 1 has a wrong count of links"),
    "pair with itself": (set_item("near", 0, (0, 2)), "entity number 0 has a pair with itself"),
    "pair with nobody": (set_item("near", 1, (9, 2)), "entity number 0 has a pair with a number"),
    "pair zero times": (set_item("near", 0, (1, 0)), "has a pair with count zero"),
    "pair more often one way": (set_item("near", 0, (1, 9)), ONE_WAY),
    "pair with another one way": (set_item("near", 1, (3, 3)), ONE_WAY),
    "pair out of order": (set_item("near", slice(2), [(2, 3), (1, 2)]), "pairs that do not ascend"),
    "a vector too long": (set_item("vectors", 1, 1), "vectors.bin: vector 1 has no unit length"),
    "a vector of zeros": (set_item("vectors", 0, 0), "vectors.bin: vector 0 has no unit length"),
    "a vector that is none": (set_item("words", 1, np.nan), "words.bin: vector 1 has no unit"),
    "names that overlap": (set_item("fuzzy_offsets", 1, 9), "fuzzy_offsets.bin: values do not fit"),
    "names that begin late": (set_item("fuzzy_offsets", 0, 1), "fuzzy_offsets.bin: values do not"),
    "names that end early": (set_item("fuzzy_offsets", -1, 4), "fuzzy_offsets.bin: values do not"),
    "names that begin beyond": (set_item("fuzzy_starts", 1, 2**32 - 1), "fuzzy_starts.bin: values"),
    "a posting of no name": (
        set_item("fuzzy_postings", -1, 5),
        "fuzzy_postings.bin: values do",
    ),
    "a token without weight": (set_item("fuzzy_weight", 7, 0), "fuzzy_weight.bin: values do not"),
    "a name without norm": (set_item("fuzzy_norm", 0, 0), "fuzzy_norm.bin: values do not fit"),
    "a norm that is none": (set_item("fuzzy_norm", 1, np.nan), "fuzzy_norm.bin: values do not fit"),
    "text that is none": (set_item("text", 0, 255), "has text that cannot be read"),
    "too many entities stated": (set_state("entities", 5), "4 entities, but 5 are stated"),
    "too many names stated": (set_state("names", 6), "5 names, but there should be 6"),
    "too few aliases stated": (set_state("aliases", 5), "6 aliases, but there should be 5"),
    "too few links stated": (set_state("links", 2), "3 links, but 2 are stated"),
}


@pytest.mark.parametrize(("tamper", "problem"), TAMPERED.values(), ids=TAMPERED)
def test_what_does_not_hold_together_is_found(place, tamper, problem):
    tamper(place)
    problems = findings(place)
    assert any(problem in found for found in problems), problems
    assert all(str(place) in found for found in problems)


@pytest.mark.parametrize(
    "tamper",
    [
        change("rows", b"\0", bytes(72)),
        change("rows", PATCH.pack(4), bytes(72)),
        change("rows", PATCH.pack(0), bytes(71)),
        set_state("build", "00" * 16),
        set_state("build", "xy"),
        set_state("format", 3),
        set_state("dimensions", 3),
        set_state("dimensions", 10**9),
        set_state("generation", -1),
        set_state("generation", "1"),
        set_state("sources", []),
        set_state("sources", None),
        set_state("columns", {}),
        set_state("columns", {name: {"items": 2**62, "crc": 0} for name in COLUMNS}),
        set_state("columns", {name: {"items": "1", "crc": 0} for name in COLUMNS}),
        set_state("unknown", 1),
        set_state("indexed", -1),
        fewer("fuzzy_weight"),
        fewer("fuzzy_norm"),
        fewer("fuzzy_starts"),
        fewer("fuzzy_offsets"),
    ],
    ids=range(21),
)
def test_what_cannot_be_trusted_is_not_opened(place, tamper):
    tamper(place)
    with pytest.raises(KnowledgeBaseError, match=f"{place}.*(damaged|header|truncated)"):
        findings(place)


def test_there_are_no_more_problems_than_one_can_read(tmp_path):
    records = [{"id": f"e{i}", "name": f"name {i}", "links": ["e0"]} for i in range(100)]
    place = build(tmp_path, records)
    with items(place, "links") as links:
        links[:] = 500
    assert len(findings(place)) == MAX_PROBLEMS
    with tables(place) as table:
        table("names").clear()
    assert len(findings(place)) == MAX_PROBLEMS


def test_a_check_sees_one_state_while_others_write(tmp_path):
    records = [{"id": f"e{i}", "name": f"name {i % 500}", "links": ["e0"]} for i in range(3000)]
    place = build(tmp_path, records)
    over, failed = threading.Event(), []

    def write():
        i = 0
        while not over.is_set():
            i += 1
            path = tmp_path / "more.jsonl"
            path.write_text(json.dumps({"id": f"n{i}", "name": "name 7", "links": ["e2999"]}))
            try:
                update.add(place, EntityList(path))
                update.remove(place, [f"e{i}"])
            except KnowledgeBaseError as error:
                failed.append(error)
                return

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(2):
            assert check(place).problems == ()
    finally:
        over.set()
        writer.join()
    assert not failed
    assert check(place).ok
