"""The kernel of entity lines: it reads a line as Python does, or leaves it to Python."""

import json
import math
from random import Random

import pytest

from sgtb.kb.build import entity_lines
from sgtb.kb.build.entity_lines import EntityList
from sgtb.native import read_entity_line
from sgtb.text.normalization import name_table

TEXTS = (
    "Anna", "Anna  Meck", " x", "x ", "", "Zürich", "東京", "a\u00a0b", "a\u2028b", "–", "’s", "\t",
    "a\nb", "\u0000", "😀 x", "\ud800", '"quoted"', "back\\slash", "x" * 501, "x" * 2001, "!!!",
    "\u0085", "\u3000", "a\u200bb", "\x7f", "é" * 300,
)  # fmt: skip
NUMBERS = (
    0, 1, -1, -0.0, 12.5, 1e-7, 3e38, 2.9e38, 1e400, 0xFFFFFFFF, 2**31, 2**70, True, None, "1",
    0.1 + 0.2, 123456789.123456789,
)  # fmt: skip
LINES = (
    '{"id":"a","name":"b"}', '{"id":"a","name":"b"} ', ' { "id" : "a" , "name" : "b" } \r\n',
    '{"id":"a","id":"b","name":"c"}', '{"id":"a","name":"b",}', '{"id":"a","name":"b"}x',
    '{"id":"a","name":"b","popularity":01}', '{"id":"a","name":"b","popularity":-}',
    '{"id":"a","name":"b","popularity":1.}', '{"id":"a","name":"b","popularity":.5}',
    '{"id":"a","name":"b","popularity":1e}', '{"id":"a","name":"b","popularity":1E+2}',
    '{"id":"a","name":"b","popularity":-0}', '{"id":"a","name":"b","popularity":NaN}',
    '{"id":"a","name":"\\u00e9\\u0041"}', '{"id":"a","name":"\\ud83d\\ude00 x"}',
    '{"id":"a","name":"\\ud83d"}', '{"id":"a","name":"\\ud83dx"}', '{"id":"a","name":"\\ude00"}',
    '{"id":"a","name":"\\u12"}', '{"id":"a","name":"\\u+123"}', '{"id":"a","name":"\\x"}',
    '{"id":"a","name":"b\\', '{"id":"a","name":"b', '{"id":"a"', "{", "", "[]", "{}", "null",
    '{"id":"a","name":"b","aliases":[]}', '{"id":"a","name":"b","aliases":["c",]}',
    '{"id":"a","name":"b","aliases":[{"name":"c","name":"d"}]}',
    '{"kind":"entity","id":"a","name":"b"}',
    '{"id":"a","name":"b","aliases":[{"name":"c","count":1,"count":2}]}',
    '{"id":"a","name":"b","aliases":[{}]}', '{"id":"a","name":"b","links":["a","\\ud800"]}',
    '{"id":"a\\u0000","name":"b"}', '{"id":"a","name":"b"}\u0000', '{"Id":"a","Label":"b"}',
)  # fmt: skip


def read(path, monkeypatch=None):
    """The lines of a file and its errors; without the kernel if there is a monkeypatch."""
    if monkeypatch is not None:
        monkeypatch.setattr(entity_lines, "read_entity_line", lambda forms, line: None)
    entities = EntityList(path)
    lines = [repr(line._replace(keys=sorted(line.keys))) for line in entities.read()]
    return lines, entities._errors


def same(path, lines, monkeypatch):
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    fast = read(path)
    with monkeypatch.context() as patch:
        assert read(path, patch) == fast


def random_record(random):
    record = {"id": f"Q{random.randrange(9)}", "name": "Name"}
    for key in random.sample(("id", "name", "description", "type"), random.randint(0, 4)):
        record[key] = random.choice(TEXTS)
    for key in random.sample(("popularity", "in_links", "out_links"), random.randint(0, 3)):
        record[key] = random.choice(NUMBERS)
    if random.random() < 0.5:
        record["links"] = random.choices(TEXTS, k=2)
    if random.random() < 0.5:
        alias = {"name": random.choice(TEXTS), "count": random.choice(NUMBERS)}
        alias["source"] = random.choice(("", "anchors", "é", "x" * 101, "a b", None))
        record["aliases"] = [random.choice(TEXTS), {
            key: alias[key] for key in random.sample(sorted(alias), random.randint(0, 3))
        }]  # fmt: skip
    return record


def test_random_records(tmp_path, monkeypatch):
    random, fast = Random(3), 0
    monkeypatch.setattr(entity_lines, "MAX_ERRORS", 10**6)
    lines = []
    for _ in range(3000):
        text = json.dumps(random_record(random), ensure_ascii=random.random() < 0.5)
        lines.append(text.encode("utf-8", "surrogatepass"))
        fast += read_entity_line(name_table(), lines[-1]) is not None
    assert 100 < fast < 2800
    same(tmp_path / "list.jsonl", lines, monkeypatch)


@pytest.mark.parametrize("line", LINES)
def test_lines(tmp_path, monkeypatch, line):
    same(tmp_path / "list.jsonl", [b'{"id":"first","name":"x"}', line.encode()], monkeypatch)


def test_bytes_that_are_no_utf8(tmp_path, monkeypatch):
    lines = [b'{"id":"a","name":"\xff"}', b'{"id":"\xc3","name":"x"}', b'{"id":"a","name":"\xc3"}']
    same(tmp_path / "list.jsonl", lines, monkeypatch)


def test_a_plain_line():
    line = b'{"id":"a","name":"B \\u00e9","aliases":["c",{"name":"d","count":2,"source":"s"}],'
    line += b'"popularity":1.5,"links":["x"],"out_links":3}'
    assert read_entity_line(name_table(), line) == (
        0b101100111, "a", "B é", (("c", "", 1), ("d", "s", 2)), "", "", 1.5, ("x",), -1, 3,
    )  # fmt: skip
    found = read_entity_line(name_table(), b'{"id":"a","name":"b"}')
    assert math.isnan(found[6])
    with pytest.raises(TypeError):
        read_entity_line(name_table(), "a text")
