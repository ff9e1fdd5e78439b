"""Errors of a list, all in one run; columns under other names; formats."""

import bz2
import gzip
import json
import lzma
import os
import pickle
import threading

import pytest

from sgtb.core.errors import EntityListError, KnowledgeBaseError
from sgtb.kb import KnowledgeBase, update
from sgtb.kb.build import entity_lines
from sgtb.kb.build.entity_lines import MAX_ERRORS, EntityList
from sgtb.kb.build.list_build import build_list
from tests.helpers.kb_processes import contents
from tests.helpers.kb_worlds import build


@pytest.fixture
def write(tmp_path):
    def write(text, name="places.csv"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def errors_of(action, path):
    """The lines of an error, without the file's folder."""
    with pytest.raises(EntityListError) as caught:
        action()
    assert str(caught.value).split("\n") == list(caught.value.args)
    return [line.replace(str(path), path.name) for line in caught.value.args]


def errors(path, place):
    return errors_of(lambda: build_list(path, place), path)


MANY = """id,name,popularity,type,links,in_links
Q1,One,high,city,Q9|Q2,many
Q2,,2,LOC,,
,Three,3,LOC,,
Q1,Four,4,LOC,Q8,
"""


def test_all_errors_of_a_table_are_named_by_line_and_column(write, tmp_path):
    path = write(MANY)
    assert errors(path, tmp_path / "kb") == [
        "places.csv, line 2, column popularity: 'high' is not a number; write one like 12.5, or "
        "leave the cell empty",
        "places.csv, line 2, column in_links: 'many' is not a count; write a whole number, or "
        "leave the cell empty",
        "places.csv, line 3, column name: missing; every record needs one",
        "places.csv, line 4, column id: missing; every record needs one",
        "places.csv, line 5, column id: 'Q1' is given twice, first in line 2; keep one",
        "places.csv: 5 errors; nothing was built or changed",
    ]
    assert os.listdir(tmp_path) == ["places.csv"]


def test_unknown_links_are_named_with_the_others_if_all_ids_are_known(write, tmp_path):
    path = write("id,name,popularity,links\nQ1,One,high,Q2|Q7|Q8\nQ2,,2,Q9\n")
    assert errors(path, tmp_path / "kb") == [
        "places.csv, line 2, column popularity: 'high' is not a number; write one like 12.5, or "
        "leave the cell empty",
        "places.csv, line 2, column links: no entity has the id 'Q7', 'Q8'; add it, or use "
        "--skip-unknown-links",
        "places.csv, line 3, column name: missing; every record needs one",
        "places.csv, line 3, column links: no entity has the id 'Q9'; add it, or use "
        "--skip-unknown-links",
        "places.csv: 4 errors; nothing was built or changed",
    ]


def test_all_unknown_links_of_a_list_without_other_errors_are_named(write, tmp_path):
    path = write("id,name,links\n" + "".join(f"Q{i},x,R{i}\n" for i in range(3)))
    found = errors(path, tmp_path / "kb")
    assert [line.split(":")[0] for line in found[:-1]] == [
        f"places.csv, line {i}, column links" for i in (2, 3, 4)
    ]
    assert os.listdir(tmp_path) == ["places.csv"]


def test_a_single_error_has_no_summary(write, tmp_path):
    path = write("id,name,popularity\nQ1,One,high\n")
    assert len(errors(path, tmp_path / "kb")) == 1


def test_lines_of_json_and_of_other_kinds_are_named_too(write, tmp_path):
    records = [
        '{"id": "Q1", "name": 7, "popularity": "5", "aliases": "x"}',
        "{",
        '{"kind": "pair", "a": "Q1", "count": -1}',
        '{"id": "Q2", "name": "Two", "colour": "red", "in_links": 1.5}',
        '{"id": "Q3", "name": "Three", "colour": "red"}',
    ]
    path = write("\n".join(records), "places.jsonl")
    assert [line.partition("; ")[0] for line in errors(path, tmp_path / "kb")] == [
        "places.jsonl, line 1, key name: 7 is not a string",
        "places.jsonl, line 1, key aliases: 'x' is not a list",
        "places.jsonl, line 1, key popularity: '5' is not a finite number",
        "places.jsonl, line 2: not JSON: Expecting property name enclosed in double quotes: line 2 "
        "column 1 (char 2)",
        "places.jsonl, line 3, key b: missing",
        "places.jsonl, line 3, key count: -1 is not a count",
        "places.jsonl, line 4, key colour: unknown",  # once
        "places.jsonl, line 4, key in_links: 1.5 is not a count",
        "places.jsonl: 8 errors",
    ]


def test_errors_of_pairs_words_and_names_are_all_named(write, tmp_path):
    records = [
        {"id": "Q1", "name": "One"},
        *({"kind": "pair", "a": "Q1", "b": f"R{i}", "count": 1} for i in range(2)),
    ]
    path = write("\n".join(map(json.dumps, records)), "pairs.jsonl")
    assert len(errors(path, tmp_path / "kb")) == 3
    words = [{"kind": "word", "word": "x", "vector": [1]}] * 3
    names = [{"kind": "name", "name": f"y{i}", "linked": 0, "pages": 1} for i in range(2)]
    for more in (words, names):
        path = write("\n".join(map(json.dumps, [records[0], *more])), "more.jsonl")
        assert len(errors(path, tmp_path / "kb")) == 3


def test_reading_ends_after_a_hundred_errors(write, tmp_path):
    path = write("id,name,popularity\n" + "".join(f"Q{i},x,no\n" for i in range(1000)))
    found = errors(path, tmp_path / "kb")
    assert len(found) == MAX_ERRORS + 1 == 101
    assert found[-2].startswith("places.csv, line 101, ")
    assert found[-1] == ("places.csv: 100 errors, and perhaps more; nothing was built or changed")


def test_broken_rows_do_not_hide_the_others(write, tmp_path):
    path = write(b'id,name\nQ1,"x"y\nQ2\nQ3,Z\xfcrich\nQ4,a,b\nQ5,Five\nQ6,"open\n')
    found = errors(path, tmp_path / "kb")
    assert [line.partition(";")[0] for line in found] == [
        "places.csv, line 2: not CSV: ',' expected after '\"'",
        "places.csv, line 3: 1 cells for 2 columns",
        "places.csv, line 4: not UTF-8",
        "places.csv, line 5: 3 cells for 2 columns",
        "places.csv, line 7: not CSV: unexpected end of data",
        "places.csv: 5 errors",
    ]


@pytest.fixture
def place(tmp_path):
    return build(tmp_path, [{"id": "Q1", "name": "One"}, {"id": "Q2", "name": "Two"}])


def test_errors_of_additions_and_changes_are_all_named(write, place):
    before = contents(place)
    text = "id,name,popularity,links\nQ1,x,,\nA,a,no,B\nA,b,,\nC,,1,Q1|R1\n"
    path = write(text)
    found = errors_of(lambda: update.add(place, EntityList(path)), path)
    assert [line.partition(";")[0] for line in found] == [
        "places.csv, line 2, column id: 'Q1' already exists",
        "places.csv, line 3, column popularity: 'no' is not a number",
        "places.csv, line 3, column links: no entity has the id 'B'",
        "places.csv, line 4, column id: 'A' is given twice, first in line 3",
        "places.csv, line 5, column name: missing",
        "places.csv, line 5, column links: no entity has the id 'R1'",
        "places.csv: 6 errors",
    ]
    found = errors_of(lambda: update.update(place, EntityList(path, partial=True)), path)
    assert [line.partition(";")[0] for line in found] == [
        "places.csv, line 3, column popularity: 'no' is not a number",
        "places.csv, line 3, column id: there is no entity 'A'",
        "places.csv, line 3, column links: no entity has the id 'B'",
        "places.csv, line 4, column id: 'A' is given twice, first in line 3",
        "places.csv, line 5, column id: there is no entity 'C'",
        "places.csv, line 5, column links: no entity has the id 'R1'",
        "places.csv: 6 errors",
    ]
    assert contents(place) == before


def test_the_error_can_be_sent_to_another_process(write, tmp_path):
    path = write(MANY)
    with pytest.raises(EntityListError) as caught:
        build_list(path, tmp_path / "kb")
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


# Columns


@pytest.mark.parametrize(
    "header",
    [
        "id,name,aliases,description,in_links",
        "ID, Name ,ALIASES,Description,IN_LINKS",
        "Identifier,label,Synonyms,desc,In links",
        "Wikidata ID,Title,alias,DESC,in-links",
        "qid,title,synonym,description,In_Links",
    ],
)
def test_columns_and_keys_in_any_case_and_by_other_names(write, header):
    cells = ["Q1", "One", "uno|eins", "a number", "7"]
    path = write(f"{header}\n{','.join(cells)}\n")
    (one,) = EntityList(path)
    assert (one.id, one.name, one.description, one.in_links) == ("Q1", "One", "a number", 7)
    assert [name for name, _, _ in one.aliases] == ["uno", "eins"]
    values = [*cells[:2], cells[2].split("|"), cells[3], 7]
    record = dict(zip(header.split(","), values, strict=True))
    assert list(EntityList(write(json.dumps(record), "a.jsonl"))) == [
        entity_lines.EntityLine(
            line=1, id=one.id, keys=one.keys, name=one.name, aliases=one.aliases,
            description=one.description, popularity=pytest.approx(one.popularity, nan_ok=True),
            in_links=7,
        )
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("id,ID,name", "column ID: stands for id, and so does 'id'; keep the one"),
        ("name,id,wikidata_id", "column wikidata_id: stands for id, and so does 'id'"),
        ("identifier,name,uuid", "column uuid: stands for id, and so does 'identifier'"),
        ("id,label,name", "column name: stands for name, and so does 'label'"),
        ("id,name,colour", "column colour: unknown; known are id name aliases"),
    ],
)
def test_columns_that_stand_for_the_same_or_for_nothing_are_refused(
    write, tmp_path, header, message
):
    path = write(f"{header}\na,b,c\nd,e,f\n")
    (found,) = errors(path, tmp_path / "kb")
    assert found.startswith(f"places.csv, line 1, {message}")


def test_an_error_names_the_column_as_the_file_does(write, tmp_path):
    path = write("ID,Label,Popularity\nQ1,\x7f,2\nQ2,x,much\n")
    found = errors(path, tmp_path / "kb")
    assert found[0].startswith("places.csv, line 2, column Label: '\\x7f' is empty")
    assert found[1].startswith("places.csv, line 3, column Popularity: 'much' is not a number")
    path = write('{"ID": "Q1", "Label": 7}\n', "a.jsonl")
    (found,) = errors(path, tmp_path / "kb")
    assert found.startswith("a.jsonl, line 1, key Label: 7 is not a string")


def test_a_key_that_cannot_be_shown_is_escaped(write, tmp_path):
    path = write(json.dumps({"id": "Q1", "name": "One", "a\ud800\nb": 1, "c" * 1000: 2}), "a.jsonl")
    found = errors(path, tmp_path / "kb")
    assert "key 'a\\ud800\\nb': unknown" in found[0]
    assert "c…: unknown" in found[1]


def test_blank_rows_and_columns_are_left_out(write):
    path = write("\n  \n,,\nid,name,\n,,\nQ1,One,\n,,,,\nQ2,Two,,,\n")
    assert [(line.line, line.id) for line in EntityList(path)] == [(6, "Q1"), (8, "Q2")]


def test_cells_without_a_column_name_are_an_error_once(write, tmp_path):
    path = write("id,name,\nQ1,One,x\nQ2,Two,y\n")
    (found,) = errors(path, tmp_path / "kb")
    assert found == "places.csv, line 2: 'x' is in a column without a name; name or remove it"


# Formats and limits


TEXTS = {"a.csv": b"id,name\nQ1,One\n", "a.jsonl": b'\xef\xbb\xbf\n {"id": "Q1", "name": "One"}\n'}
PACKERS = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("packed", PACKERS)
@pytest.mark.parametrize("ending", ["same", "none", ".txt"])
def test_the_format_is_detected(write, name, packed, ending):
    """By its ending, also of packed files, else by content."""
    file = {"same": name, "none": "list", ".txt": "list.txt"}[ending] + packed
    entities = EntityList(write(PACKERS[packed](TEXTS[name]), file))
    assert [line.id for line in entities] == ["Q1"]
    assert entities.format == name[2:]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
def test_a_pipe_is_read_once(tmp_path, place):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(b'{"id": "A", "name": "a"}\n',))
    writer.start()
    assert update.add(place, EntityList(pipe)).added == 1
    writer.join()
    with KnowledgeBase.open(place) as kb:
        assert kb.entity("A").title == "a"


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.jsonl", b'{"id": "Q1", "name": "One"}\n' + b"x" * 2000),
        ("a.csv", b"id,name\n" + b"x" * 2000),
        ("a.csv", b"\n" + b"x" * 2000),
    ],
)
def test_a_line_without_end_is_not_read_whole(write, tmp_path, monkeypatch, name, data):
    monkeypatch.setenv("SGTB_MAX_LINE", "1000")
    with pytest.raises(KnowledgeBaseError, match=r"line 2: .*too long; the limit is 1,0") as caught:
        build_list(write(data, name), tmp_path / "kb")
    assert len(caught.value.args) == 1


def test_too_many_columns_are_refused(write, tmp_path):
    (found,) = errors(write("id,name" + ",x" * 2000 + "\n"), tmp_path / "kb")
    assert found == "places.csv, line 1: 2,002 columns; 1,000 are possible"
