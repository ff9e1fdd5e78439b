"""Lists of entities: what they may say, and an error that names file and line for all else."""

import bz2
import gzip
import json
import math
import os
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sgtb.core.errors import KnowledgeBaseError
from sgtb.kb import Alias, KnowledgeBase, update
from sgtb.kb.build.entity_lines import EntityLine, EntityList
from sgtb.kb.build.list_build import build_list
from tests.helpers.kb_processes import contents

ONE = b'{"id": "Q1", "name": "One"}\n'


def lines(*records):
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def entity(**keys):
    return lines({"id": "Q2", "name": "Two", **keys})


def header(**keys):
    return lines({"kind": "kb", "sources": ["given"], **keys})


def pair(a="Q1", b="Q2", **keys):
    return lines({"kind": "pair", "a": a, "b": b, **keys})


def word(word, **keys):
    return lines({"kind": "word", "word": word, "vector": [1], **keys})


def page(name, **keys):
    return lines({"kind": "name", "name": name, "linked": 0, "pages": 1, **keys})


@pytest.fixture
def write(tmp_path):
    def write(data, name="list.jsonl"):
        (tmp_path / name).write_bytes(data)
        return tmp_path / name

    return write


@pytest.fixture
def built(write, tmp_path):
    """Build a list and open what it makes."""

    def built(data, **options):
        build_list(write(data), tmp_path / "kb", **options)
        return KnowledgeBase.open(tmp_path / "kb")

    return built


WRONG = {
    # name: (the list, the line that is wrong, what the error says)
    "broken JSON": (ONE + b'{"id": "Q2", "name"\n', 2, "not JSON"),
    "no object": (ONE + b'["Q2"]\n', 2, "a list, not an object"),
    "a string": (b'"Q2"\n', 1, "a str, not an object"),
    "two objects": (b'{"id": "Q1", "name": "One"} {}\n', 1, "not JSON"),
    "deep": (b'{"id": ' + b"[" * 100_000 + b"\n", 1, "not JSON"),
    "many digits": (b'{"id": "Q1", "in_links": ' + b"9" * 5000 + b"}\n", 1, "not JSON"),
    "Latin-1": (ONE + '{"id": "Q2", "name": "Zürich"}\n'.encode("latin-1"), 2, "not UTF-8"),
    "UTF-16": ('{"id": "Q1", "name": "One"}\n'.encode("utf-16"), 1, "not UTF-8"),
    "NaN": (ONE + b'{"id": "Q2", "name": "Two", "popularity": NaN}\n', 2, "NaN is not a number"),
    "-Infinity": (ONE + b'{"id": "Q2", "name": "x", "popularity": -Infinity}\n', 2, "not a number"),
    "id twice": (ONE + entity() + ONE, 3, "id: 'Q1' is given twice, first in line 1"),
    "no id": (ONE + lines({"name": "Two"}), 2, "id: missing"),
    "id null": (ONE + entity(id=None), 2, "id: missing"),
    "id a number": (ONE + entity(id=2), 2, "id: 2 is not a string"),
    "id a list": (entity(id=["Q2"]), 1, "id: not a string"),
    "id with a NUL": (entity(id="Q\0"), 1, "id: control characters"),
    "id with a tab": (entity(id="Q\t2"), 1, "id: control characters"),
    "id with a newline": (entity(id="Q\n2"), 1, "id: control characters"),
    "id with half a pair": (entity(id="Q\ud800"), 1, "id: half a surrogate pair"),
    "id too long": (entity(id="é" * 251), 1, "id: 502 bytes; 500 are allowed"),
    "no name": (ONE + lines({"id": "Q2"}), 2, "name: missing"),
    "name null": (entity(name=None), 1, "name: missing"),
    "name a number": (entity(name=7), 1, "name: 7 is not a string"),
    "name empty": (entity(name=""), 1, "name: '' is empty"),
    "name white": (entity(name=" \t\u3000"), 1, "name: is empty"),
    "name of control characters": (entity(name="\0\x01\x7f"), 1, "name: is empty"),
    "name with half a pair": (entity(name="A\ud800"), 1, "name: half a surrogate pair"),
    "name of 10,000 letters": (entity(name="x" * 10_000), 1, "name: 10,000 bytes; 500 are allowed"),
    "name of 10,000 points": (entity(name="x" + "." * 10_000), 1, "name: 10,001 bytes; 2,000"),
    "name that grows": (entity(name="ﷺ" * 30), 1, "name: bytes; 500 are allowed"),
    "aliases a string": (entity(aliases="Two"), 1, "aliases: 'Two' is not a list"),
    "aliases an object": (entity(aliases={"name": "x"}), 1, "aliases: not a list"),
    "alias a number": (entity(aliases=[2]), 1, "aliases: alias 2 is neither"),
    "alias empty": (entity(aliases=[""]), 1, "aliases: '' is empty"),
    "alias without a name": (entity(aliases=[{"count": 1}]), 1, "aliases: None is not a string"),
    "alias with another key": (
        entity(aliases=[{"name": "x", "lang": "en"}]), 1, "aliases: is neither",
    ),
    "alias of 10,000 letters": (entity(aliases=["é" * 10_000]), 1, "aliases: 10,000 bytes; 500"),
    "alias with half a pair": (entity(aliases=["\udfff"]), 1, "aliases: half a surrogate pair"),
    "alias counted 0 times": (
        entity(aliases=[{"name": "x", "count": 0}]), 1, "aliases: at least 1",
    ),
    "alias counted -1 times": (
        entity(aliases=[{"name": "x", "count": -1}]), 1, "aliases: not a count",
    ),
    "alias counted 1.5 times": (
        entity(aliases=[{"name": "x", "count": 1.5}]), 1, "aliases: not a count",
    ),
    "alias counted true": (
        entity(aliases=[{"name": "x", "count": True}]), 1, "aliases: not a count",
    ),
    "alias counted too often": (
        entity(aliases=[{"name": "x", "count": 2**32}]), 1, "aliases: not a count",
    ),
    "source a number": (
        entity(aliases=[{"name": "x", "source": 1}]), 1, "aliases: source 1 is not",
    ),
    "source null": (
        entity(aliases=[{"name": "x", "source": None}]), 1, "aliases: source None is not",
    ),
    "source empty": (entity(aliases=[{"name": "x", "source": ""}]), 1, "aliases: source '' is not"),
    "source with half a pair": (
        entity(aliases=[{"name": "x", "source": "\ud800"}]), 1, "aliases: is not",
    ),
    "source too long": (entity(aliases=[{"name": "x", "source": "s" * 101}]), 1, "aliases: is not"),
    "33 sources": (
        entity(aliases=[{"name": "x", "source": f"s{i}"} for i in range(32)]),
        1, "aliases: one too many",
    ),
    "description a list": (entity(description=["x"]), 1, "description: ['x'] is not a string"),
    "description with half a pair": (
        entity(description="\ud800"), 1, "description: half a surrogate pair",
    ),
    "description too long": (
        entity(description="x" * (2**20 + 1)), 1, "description: 1,048,576 are allowed",
    ),
    "type a number": (entity(type=1), 1, "type: 1 is not a string"),
    "popularity a string": (entity(popularity="5"), 1, "popularity: '5' is not a finite number"),
    "popularity true": (entity(popularity=True), 1, "popularity: True is not a finite number"),
    "popularity too large": (entity(popularity=1e39), 1, "popularity: not a finite number"),
    "popularity larger still": (
        b'{"id": "1", "name": "x", "popularity": 1e999}\n', 1, "popularity: finite",
    ),
    "links a string": (entity(links="Q1"), 1, "links: 'Q1' is not a list"),
    "link a number": (ONE + entity(links=["Q1", 1]), 2, "links: 1 is not a string"),
    "link to nobody": (
        ONE + entity(links=["Q1", "Q9"]), 2, "links: no entity has the id 'Q9'; add it",
    ),
    "link with half a pair": (entity(links=["\ud800"]), 1, "links: no entity has the id"),
    "vector a string": (entity(vector="1 2"), 1, "vector: '1 2' is not a list"),
    "vector empty": (entity(vector=[]), 1, "vector: not a list of 1 to 4096 numbers"),
    "vector too long": (entity(vector=[1] * 4097), 1, "vector: not a list of 1 to 4096 numbers"),
    "vector of strings": (entity(vector=["1"]), 1, "vector: not finite numbers"),
    "vector of true": (entity(vector=[True]), 1, "vector: not finite numbers"),
    "vector of null": (entity(vector=[1, None]), 1, "vector: not finite numbers"),
    "vector of NaN": (entity(vector=[1, math.nan]), 1, "NaN is not a number"),
    "vector of Infinity": (entity(vector=[math.inf]), 1, "Infinity is not a number"),
    "vector of huge numbers": (entity(vector=[1e31]), 1, "vector: not finite numbers"),
    "vector of 1e999": (
        b'{"id": "1", "name": "x", "vector": [1e999]}\n', 1, "vector: not finite numbers",
    ),
    "vector of zeros": (entity(vector=[0, 0.0]), 1, "vector: all zeros"),
    "vector of next to nothing": (entity(vector=[1e-300]), 1, "vector: all zeros"),
    "vector of another length": (
        entity(id="a", vector=[1, 2]) + ONE + entity(vector=[1]),
        3, "vector: 1 numbers, but 2 in line 1",
    ),
    "in_links negative": (entity(in_links=-1), 1, "in_links: -1 is not a count"),
    "in_links a string": (entity(in_links="3"), 1, "in_links: not a count"),
    "out_links too many": (entity(out_links=2**31), 1, "out_links: not a count"),
    "unknown key": (ONE + entity(names=["x"]), 2, "names: unknown; known are id name"),
    "unknown kind": (entity(kind="thing"), 1, "kind: 'thing' is none of"),
    "kind a list": (entity(kind=["kb"]), 1, "kind: ['kb'] is none of"),
    "empty": (b"", 0, "no entity in it"),
    "white": (b"\n \n\r\n", 0, "no entity in it"),
    "only a header": (header(), 0, "no entity in it"),
    "header not first": (ONE + header(), 2, "a header must be the first line"),
    "header after a pair": (
        pair(count=1) + header() + ONE, 2, "first line",
    ),
    "header twice": (header() + header() + ONE, 2, "a header must be the first line"),
    "header without sources": (lines({"kind": "kb"}) + ONE, 1, "sources: missing"),
    "header without the given source": (
        header(sources=["web"]) + ONE, 1, "sources: no 'given' among them",
    ),
    "header with a source twice": (
        header(sources=["given"] * 2) + ONE, 1, "sources: different sources",
    ),
    "header with sources of numbers": (
        header(sources=["given", 1]) + ONE, 1, "sources: source 1 is not",
    ),
    "header with half a pair": (
        header(origin={"x": "\ud800"}) + ONE, 1, "origin: is not the origin",
    ),
    "header with another key": (header(format=1) + ONE, 1, "format: unknown"),
    "header's origin a list": (header(origin=[]) + ONE, 1, "origin: is not the origin"),
    "header's vectors too long": (
        header(dimensions=4097) + ONE, 1, "dimensions: 4097 is not a count",
    ),
    "vector that the header denies": (
        header(dimensions=3) + entity(vector=[1]), 2, "vector: 1 numbers, but 3 in line 1",
    ),
    "source that the header denies": (
        header() + entity(aliases=[{"name": "x", "source": "web"}]),
        2, "aliases: not among the header's",
    ),
    "pair of one": (ONE + pair("Q1", "Q1", count=1), 2, "b: itself"),
    "pair with nobody": (ONE + pair("Q1", "Q9", count=1), 2, "'Q9'"),
    "pair with a number": (ONE + pair("Q1", 1, count=1), 2, "b: 1 is not a string"),
    "pair without a count": (ONE + pair(), 2, "count: missing"),
    "pair with no count": (ONE + pair(count=None), 2, "count: missing"),
    "pair counted 0 times": (ONE + pair(count=0), 2, "count: 0; leave"),
    "pair twice": (ONE + entity() + pair(count=1) + pair("Q2", "Q1", count=1), 4, "given twice"),
    "word without a vector": (ONE + lines({"kind": "word", "word": "x"}), 2, "vector: missing"),
    "word empty": (ONE + word(""), 2, "word: 1 to 500 bytes"),
    "word too long": (ONE + word("x" * 501), 2, "word: 1 to 500 bytes"),
    "word twice": (ONE + word("x") + word("y") + word("X"), 4, "word: 'x' is given twice"),
    "word with another key": (ONE + word("x", n=1), 2, "n: unknown"),
    "page of nobody": (ONE + page("Two"), 2, "no entity has the name 'Two'"),
    "page without pages": (
        ONE + lines({"kind": "name", "name": "One", "linked": 0}), 2, "pages: missing",
    ),
    "page with no pages": (ONE + page("One", pages=None), 2, "pages: missing"),
    "page twice": (ONE + page("One") + page("ONE"), 3, "name: first in line 2"),
    "page linked too often": (
        ONE + page("One", linked=3, pages=2), 2, "linked: 3, but found on 2 pages only",
    ),
}  # fmt: skip


def says(path, line, message):
    """A pattern for an error; a message that begins with a key expects its column."""
    where = f"{re.escape(str(path))}, line {line}" if line else re.escape(str(path))
    key, colon, rest = message.partition(": ")
    return (
        f"^{where}, (key|column) {key}: .*{re.escape(rest)}"
        if colon
        else (f"^{where}: .*{re.escape(message)}")
    )


@pytest.mark.parametrize(("data", "line", "message"), WRONG.values(), ids=WRONG)
def test_a_wrong_line_is_named_and_nothing_is_written(write, tmp_path, data, line, message):
    path = write(data)
    with pytest.raises(KnowledgeBaseError, match=says(path, line, message)) as caught:
        build_list(path, tmp_path / "kb")
    str(caught.value).encode()  # it can be printed
    assert os.listdir(tmp_path) == ["list.jsonl"]


def test_a_wrong_list_leaves_what_was_there(write, tmp_path):
    place = tmp_path / "kb"
    build_list(write(ONE), place)
    before = contents(place)
    for data in (b"{\n", ONE + entity(links=["Q9"]), ONE + pair(count=1)):
        with pytest.raises(KnowledgeBaseError):
            build_list(write(data), place)
        assert contents(place) == before
        assert os.listdir(place / "data-000001")
    (tmp_path / "empty").mkdir()
    with pytest.raises(KnowledgeBaseError, match="Q9"):
        build_list(write(entity(links=["Q9"])), tmp_path / "empty")
    assert not os.listdir(tmp_path / "empty")


@pytest.mark.parametrize("name", ["data", "lock.txt", "kb.json.bak", "data-1", ".kb.jsonx"])
def test_a_folder_of_other_files_is_not_touched(write, tmp_path, name):
    place = tmp_path / "mine"
    place.mkdir()
    (place / name).write_text("precious")
    with pytest.raises(KnowledgeBaseError, match="has other files and no knowledge base"):
        build_list(write(ONE), place)
    assert contents(place) == {name: b"precious"}
    with pytest.raises(KnowledgeBaseError, match="is a file"):
        build_list(write(ONE), place / name)


def test_what_a_killed_first_build_leaves_is_no_other_file(write, tmp_path):
    place = tmp_path / "kb"
    (place / "data-000001").mkdir(parents=True)
    (place / "data-000001" / "text.bin").write_bytes(b"half")
    (place / "lock").touch()
    (place / ".kb.json.12-34").write_bytes(b"{")
    build_list(write(ONE), place)
    assert sorted(os.listdir(place)) == ["data-000001", "kb.json", "lock"]
    with KnowledgeBase.open(place) as kb:
        assert list(kb.ids()) == ["Q1"]


def test_links_to_nobody_are_counted_where_they_may_be_skipped(write, tmp_path):
    data = ONE + entity(links=["Q1", "Q8", "Q9", "Q1", "Q2"])
    report = build_list(write(data), tmp_path / "kb", skip_unknown_links=True)
    assert (report.unknown_links, report.links, report.entities) == (2, 1, 2)
    with KnowledgeBase.open(tmp_path / "kb") as kb:
        assert kb.entity("Q2").links == ("Q1",), "each once, and none to itself"


def test_a_missing_list_a_folder_and_a_pipe_are_errors(tmp_path):
    with pytest.raises(KnowledgeBaseError, match=r"none\.jsonl: .*No such file"):
        build_list(tmp_path / "none.jsonl", tmp_path / "kb")
    with pytest.raises(KnowledgeBaseError, match="not a regular file"):
        build_list(tmp_path, tmp_path / "kb")
    assert os.listdir(tmp_path) == []
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(KnowledgeBaseError, match="not a regular file"):
            build_list(tmp_path / "pipe", tmp_path / "kb")
        assert os.listdir(tmp_path) == ["pipe"]


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress], ids=["gzip", "bzip2"])
def test_packed_lists_whole_cut_off_and_damaged(write, tmp_path, pack):
    whole = pack(b"".join(b'{"id": "Q%d", "name": "N%d"}\n' % (i, i * i) for i in range(5000)))
    place = tmp_path / "kb"
    assert build_list(write(whole), place).entities == 5000
    before = contents(place)
    middle = len(whole) // 2
    garbled = (
        whole[:middle]
        + bytes(b ^ 255 for b in whole[middle : middle + 200])
        + whole[middle + 200 :]
    )
    for data in (whole[:middle], whole[:-1], whole[:20], garbled):
        path = write(data)
        with pytest.raises(KnowledgeBaseError, match=re.escape(str(path))):
            build_list(path, place)
        assert contents(place) == before


def test_a_byte_order_mark_white_lines_and_carriage_returns_do_no_harm(built):
    data = b"\xef\xbb\xbf" + ONE.replace(b"\n", b"\r\n") + b"\r\n\n" + entity().rstrip(b"\n")
    with built(data) as kb:
        assert list(kb.ids()) == ["Q1", "Q2"]
    with built(b"\xef\xbb\xbf\n" + ONE) as kb:
        assert list(kb.ids()) == ["Q1"]


def test_null_is_as_good_as_nothing(built):
    nothing = dict.fromkeys(
        ("aliases", "description", "type", "popularity", "links", "vector", "in_links", "out_links")
    )
    with built(entity(**nothing)) as kb:
        card = kb.entity("Q2")
        assert (card.aliases, card.links) == ((Alias("Two", "given", 1),), ())
        assert (card.description, card.type, card.in_links, card.out_links) == ("", "", 0, 0)
        assert math.isnan(card.popularity)
        assert kb.vector("Q2") is None


def test_limits_are_within(built):
    """The longest of everything that is allowed."""
    sources = [{"name": "x", "source": f"s{i}"} for i in range(31)]
    data = entity(
        id="é" * 250,
        name="n" * 500,
        aliases=[*sources, "a" + "." * 1999, {"name": "often", "count": 2**32 - 1}],
        description="d" * 2**20,
        popularity=2.9e38,
        vector=[1e29] * 4096,
        in_links=2**31 - 1,
    )
    with built(data) as kb:
        card = kb.entity("é" * 250)
        assert (len(card.title), len(card.description), card.in_links) == (500, 2**20, 2**31 - 1)
        assert kb.candidates("n" * 500)[0].prior == 1
        assert kb.candidates("often")[0].counts[0] == 2**32 - 1
        assert len(kb.sources) == 32 + 1, "variants have a source of their own"
        assert len(kb.candidates("a")) == 1
        assert np.linalg.norm(kb.vector(0)) == pytest.approx(1, abs=1e-3)


def test_spellings_of_one_entity_have_a_limit(write, tmp_path):
    many = [f"{i:05d} " + "x" * 490 for i in range(2200)]
    path = write(ONE + entity(aliases=many))
    with pytest.raises(KnowledgeBaseError, match=says(path, 2, "1,048,576 bytes each")):
        build_list(path, tmp_path / "kb")
    assert os.listdir(tmp_path) == ["list.jsonl"]


# CSV


def read_csv(write, text, **options):
    path = write(text if isinstance(text, bytes) else text.encode(), "list.csv")
    return [line for line in EntityList(path, **options) if isinstance(line, EntityLine)]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_csv_of_many_makes(write, delimiter, end, mark):
    rows = [
        ["id", " name ", "aliases", "popularity", "links", "vector", "in_links"],
        ["Q1", '"One, ""1""; I"', "uno | eins|", "2.5", "Q2|Q1", "1 -2.5 3e1", "7"],
        ["Q2", " Two ", "", "", "", "", ""],
    ]
    text = mark + end.join(delimiter.join(row) for row in rows) + end
    one, two = read_csv(write, text)
    assert (one.line, one.id, one.name) == (2, "Q1", 'One, "1"; I')
    assert one.aliases == (("uno", "", 1), ("eins", "", 1))
    assert (one.popularity, one.links, one.in_links) == (2.5, ("Q2", "Q1"), 7)
    assert one.vector.tolist() == [1, -2.5, 30]
    assert (two.line, two.id, two.name, two.keys) == (3, "Q2", "Two", {"id", "name"})


def test_a_csv_builds(write, tmp_path):
    path = write(b'id,name\nQ1,One\n\nQ2,"T\nwo"\n', "list.csv")
    report = build_list(path, tmp_path / "kb")
    assert report.entities == 2
    with KnowledgeBase.open(tmp_path / "kb") as kb:
        assert kb.info()["origin"] == {"built from": "csv", "file": "list.csv"}
        assert kb.candidates("t wo")[0].title == "T wo"


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", 1, "no column `id`"),
        ("name,type\nOne,PER\n", 1, "no column `id` among ['name', 'type']"),
        ("id,name,name\n1,x,y\n", 1, "name: stands for name, and so does 'name'"),
        ("id,name\n1,x\n2\n", 3, "1 cells for 2 columns"),
        ("id,name\n1,x,y\n", 2, "3 cells for 2 columns"),
        ("id,name\n1,x\n2,", 3, "name: missing"),
        ("id,name\n,x\n", 2, "id: missing"),
        ("id,name,colour\n1,x,red\n", 1, "colour: unknown"),
        ('id,name\n1,"x"y\n', 2, "not CSV"),
        ('id,name\n1,x\n2,"y\n', 3, "not CSV"),
        ("id,name,popularity\n1,x,much\n", 2, "popularity: not a number"),
        ("id,name,popularity\n1,x,nan\n", 2, "popularity: not a finite number"),
        ("id,name,popularity\n1,x,inf\n", 2, "popularity: not a finite number"),
        ("id,name,in_links\n1,x,1.5\n", 2, "in_links: '1.5' is not a count"),
        ("id,name,in_links\n1,x,-1\n", 2, "in_links: not a count"),
        ("id,name,vector\n1,x,1 a\n", 2, "vector: not a number"),
        ("id,name,vector\n1,x,0 0\n", 2, "vector: all zeros"),
        ("id,name\n1,x\n1,y\n", 3, "id: given twice, first in line 2"),
        ("id,name\n" + "1,x\n2," + "y" * 200_000 + "\n", 3, "not CSV"),
        (b"id,name\n1,x\n2,Z\xfcrich\n3,y\n", 3, "not UTF-8"),
        (b"id,name\n" + b"\n" * 9000 + b"a,\xff\n", 9002, "not UTF-8"),
        ("id,name\nQ\0,x\n", 2, "id: control characters"),
    ],
)  # fmt: skip
def test_a_wrong_csv_line_is_named(write, tmp_path, text, line, message):
    path = write(text if isinstance(text, bytes) else text.encode(), "list.csv")
    with pytest.raises(KnowledgeBaseError, match=says(path, line, message)):
        build_list(path, tmp_path / "kb")
    assert os.listdir(tmp_path) == ["list.csv"]


def test_empty_cells_of_a_csv_change_nothing(write, tmp_path):
    build_list(write(entity(type="PER", popularity=3)), tmp_path / "kb")
    path = write(b"id,type,popularity\nQ2,,4\n", "list.csv")
    update.update(tmp_path / "kb", EntityList(path, partial=True))
    with KnowledgeBase.open(tmp_path / "kb") as kb:
        assert (kb.entity("Q2").type, kb.entity("Q2").popularity) == ("PER", 4)


def test_a_cut_off_csv_is_named(write, tmp_path):
    whole = gzip.compress(b"id,name\n" + b"".join(b"%d,N%d\n" % (i, i * i) for i in range(5000)))
    path = write(whole[: len(whole) // 2], "list.csv.gz")
    with pytest.raises(KnowledgeBaseError, match=re.escape(f"{path}: damaged")):
        build_list(path, tmp_path / "kb")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)
known = st.sampled_from(
    "id name aliases description type popularity links vector in_links out_links kind sources "
    "dimensions origin linked pages a b count word source".split()
)


def problem_with(path, **options):
    """Read a list and return what the error says; "" where there is none."""
    try:
        list(EntityList(path, **options))
    except KnowledgeBaseError as error:
        str(error).encode()
        return str(error)
    return ""


@settings(deadline=None, derandomize=True)
@given(st.dictionaries(known, json_values | st.sampled_from(["kb", "pair", "word", "name"])))
def test_no_record_ends_in_another_error(tmp_path_factory, record):
    path = tmp_path_factory.getbasetemp() / "any.jsonl"
    path.write_text(json.dumps(record))
    said = problem_with(path)
    assert all(line.startswith(str(path)) for line in said.splitlines())


@settings(deadline=None, derandomize=True)
@given(st.binary(max_size=60))
def test_no_bytes_end_in_another_error(tmp_path_factory, data):
    for name in ("any.jsonl", "any.csv", "any.xlsx"):
        path = tmp_path_factory.getbasetemp() / name
        path.write_bytes(data)
        said = problem_with(path)
        assert not said or said.startswith(str(path))
