"""What `sgtb link` takes: texts, files, lines, JSON Lines; and what it says of the rest."""

import bz2
import gzip
import json
import lzma
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

from sgtb.cli.commands import link
from sgtb.cli.link_input import PlacedRequest, read_requests, source_of
from sgtb.core.errors import RequestError
from sgtb.linking.links import Request, Span
from sgtb.linking.request_json import InputError
from tests.helpers.cli_answers import answer

TEXT = "Jordan won six rings with the Bulls."
LIMIT = 5_000_000


def objects(result) -> list[dict]:
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_files_and_texts_are_told_apart(run, opened, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("Jordan").write_text(TEXT)
    assert len(objects(run("link", "Jordan", "--json"))[0]["links"]) == 2
    assert len(objects(run("link", "Jordan", "--json", "--text"))[0]["links"]) == 1
    for name in ("absent.txt", "some/where", "x.jsonl", "x.txt.gz"):
        assert "no such file; --text reads it as text" in run("link", name, code=1).stderr
    assert opened[-1].asked == [Request("Jordan")], "nothing is loaded for what is not there"
    for text in ("see absent.txt", "U.S.", "Jordan's"):
        run("link", text)
        assert opened[-1].asked == [Request(text)]
    Path("folder").mkdir()
    assert "a folder" in run("link", "folder", code=1).stderr
    run("link", "Jordan " * 1000)  # longer than a name can be


def test_standard_input(run, opened):
    (told,) = objects(run("link", "-", "--json", input=TEXT))
    assert len(told["links"]) == 2
    told = objects(run("link", "-", "--lines", "--json", input=f"{TEXT}\r\n\nBulls\n"))
    assert [record["id"] for record in told] == ["-:1", "-:2", "-:3"]
    assert [request.text for request in opened[-1].asked] == [TEXT, "", "Bulls"]
    told = objects(run("link", "-", "--jsonl", "--json", input='{"text": "Bulls", "id": 7}\n\n'))
    assert [record["id"] for record in told] == ["7"]


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_packed_files(run, tmp_path, pack):
    file = tmp_path / "a.jsonl.gz"
    file.write_bytes(pack(b'{"text": "Bulls"}\n' * 3))
    assert len(objects(run("link", file, "--json"))) == 3


def test_damaged_packing(run, tmp_path):
    file = tmp_path / "a.txt.gz"
    file.write_bytes(gzip.compress(bytes(range(256)) * 50)[:-20])
    assert f"{file}: damaged" in run("link", file, code=1).stderr


def test_a_mark_of_byte_order_is_no_text(run, opened, tmp_path):
    file = tmp_path / "a.txt"
    file.write_bytes(b"\xef\xbb\xbf" + TEXT.encode())
    for arguments in ((), ("--lines",)):
        run("link", file, *arguments)
        assert [request.text for request in opened[-1].asked] == [TEXT]


@pytest.mark.parametrize(
    ("data", "arguments", "words"),
    [
        (b"caf\xe9", (), ("byte 3 is not UTF-8", "iconv")),
        (b"one\n\xef\xbb\xbfcaf\xe9", ("--lines",), ("line 2: byte 10 is not UTF-8", "iconv")),
        (b"\xef\xbb\xbfcaf\xe9", (), ("byte 6 is not",)),
        ("Jordan".encode("utf-16"), (), ("UTF-16", "iconv")),
        (b"ELF\0\0", (), ("not text: byte 3 is zero",)),
        (b"one\ntw\0", ("--lines",), ("line 2: not text: byte 6 is zero",)),
    ],
)
def test_what_is_not_text_is_refused(run, tmp_path, data, arguments, words):
    file = tmp_path / "a.txt"
    file.write_bytes(data)
    said = run("link", file, *arguments, code=1).stderr
    assert said.startswith(f"sgtb: {file}")
    assert said.count("\n") == 1
    for word in words:
        assert word in said


def test_too_large_files_are_refused(run, tmp_path, monkeypatch):
    real = link.linker_settings
    monkeypatch.setattr(
        link, "linker_settings", lambda *options: replace(real(*options), max_characters=10)
    )
    file = tmp_path / "a.txt"
    file.write_text("x" * 40)
    run("link", file)
    file.write_text("x" * 41)
    said = run("link", file, code=1).stderr
    assert "10 characters" in said
    assert "--lines" in said
    assert ".jsonl" in said
    file.write_text("short\n" + "x" * 70_000)
    assert "line 2: longer than" in run("link", file, "--lines", code=1).stderr


def test_json_lines_bring_mentions_along(run, opened, tmp_path):
    file = tmp_path / "a.jsonl"
    lines = [
        {"text": TEXT, "id": "one", "url": "unread"},
        {"text": TEXT, "mentions": [
            {"start": 0, "end": 6, "entity": "gold", "gold": 3},
            {"start": 30, "end": 35, "fixed": "T", "candidates": ["T", "X"]},
        ]},
        {"text": "", "mentions": []},
    ]  # fmt: skip
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    told = objects(run("link", file, "--json"))
    assert opened[-1].asked == [
        Request(TEXT, None, "one"),
        Request(TEXT, (Span(0, 6), Span(30, 35, "T", ("T", "X"))), f"{file}:2"),
        Request("", (), f"{file}:3"),
    ]
    assert [record["id"] for record in told] == ["one", f"{file}:2", f"{file}:3"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "not JSON"),
        ("1" * 5000, "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[1]", "not a JSON object"),
        ("{}", '"text" should be a string, not missing'),
        ('{"text": 3}', '"text" should be a string, not 3'),
        ('{"text": "\\ud800"}', "surrogate"),
        ('{"text": "a", "id": []}', '"id" should be a string'),
        ('{"text": "a", "mentions": {}}', '"mentions" should be a list'),
        ('{"text": "a", "mentions": [3]}', "mention 1: not an object"),
        ('{"text": "a", "mentions": [{"start": true, "end": 1}]}', '"start" should be a whole'),
        ('{"text": "a", "mentions": [{"start": 0}]}', '"end" should be a whole number'),
        (
            '{"text": "a", "mentions": [{"start": 0, "end": 2}]}',
            "no span of the text of 1 char",
        ),
        ('{"text": "a", "mentions": [{"start": -1, "end": 1}]}', "start -1 and end 1"),
        ('{"text": "a", "mentions": [{"start": 0, "end": 1, "fixed": 1}]}', '"fixed" should be'),
        ('{"text": "a", "mentions": [{"start": 0, "end": 1, "candidates": [1]}]}', "list of ids"),
    ],
)
def test_bad_json_lines_name_file_and_line(run, tmp_path, line, words):
    file = tmp_path / "a.jsonl"
    file.write_text(f'{{"text": "Bulls"}}\n\n{line}\n')
    result = run("link", file, "--json", code=1)
    assert result.stderr.startswith(f"sgtb: {file}, line 3")
    assert words in result.stderr
    assert len(result.stdout.splitlines()) == 1, "what came before is printed"


def test_lines_are_read_one_at_a_time(tmp_path):
    file = tmp_path / "a.txt"
    file.write_bytes(b"one\n\xff\n")
    requests = read_requests([source_of(str(file), "lines")], LIMIT)
    assert next(requests) == PlacedRequest(Request("one", id=f"{file}:1"), f"{file}, line 1")
    with pytest.raises(InputError, match="line 2"):
        next(requests)


@pytest.mark.parametrize("ahead", [1, 2, 10])
def test_what_the_linker_refuses_has_a_place(run, tmp_path, monkeypatch, ahead):
    """Whatever is linked at a time, what comes before the error is printed."""

    def refuse_two(self, request):
        if request.text == "two":
            raise RequestError("no such entity")
        return answer(request)

    def pipe(self, requests, jobs=1):
        while batch := list(islice(requests, ahead)):
            yield from [self.link(request) for request in batch]

    monkeypatch.setattr("tests.helpers.cli_answers.FakeLinker.link", refuse_two)
    monkeypatch.setattr("tests.helpers.cli_answers.FakeLinker.pipe", pipe)
    file = tmp_path / "a.txt"
    file.write_text("zero\none\ntwo\nthree\n")
    result = run("link", file, "--lines", "--json", code=1)
    assert result.stderr == f"sgtb: {file}, line 3: no such entity\n"
    assert [record["id"] for record in objects(result)] == [f"{file}:1", f"{file}:2"]
    file.write_bytes(b"zero\none\n\xff\n")
    result = run("link", file, "--lines", "--json", code=1)
    assert "line 3: byte 9 is not UTF-8" in result.stderr
    assert [record["id"] for record in objects(result)] == [f"{file}:1", f"{file}:2"]
