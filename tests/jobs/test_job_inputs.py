"""Inputs of jobs: every document is in one part, whatever the size of parts, and nothing else."""

import json
from datetime import date
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgtb.core.errors import JobError
from sgtb.jobs.job_inputs import cut, items_of, read_part
from sgtb.linking.links import Request, Span
from tests.helpers.kb_processes import forked

LIMIT = 5_000_000


def items(path, part_bytes, sent=False):
    parts = list(cut([str(path)], part_bytes))
    for part in parts:
        yield from items_of(part, read_part(part, str(path)) if sent else str(path), LIMIT)


@given(
    lines=st.lists(st.binary(max_size=20).filter(lambda line: b"\n" not in line), max_size=30),
    part_bytes=st.integers(1, 200),
    end=st.sampled_from([b"", b"\n"]),
)
def test_lines_are_cut_without_loss(tmp_path_factory, lines, part_bytes, end):
    data = b"\n".join(lines) + end
    path = tmp_path_factory.mktemp("cut") / "lines.jsonl"
    path.write_bytes(b" " + data)  # no magic number
    parts = list(cut([str(path)], part_bytes))
    assert b"".join(read_part(part, str(path)) for part in parts) == b" " + data
    assert [part.first for part in parts] == [
        1 + sum(part.rows for part in parts[:i]) for i in range(len(parts))
    ]
    assert sum(part.rows for part in parts) == len((b" " + data).splitlines(keepends=True)) or (
        b"\r" in data or any(c in data for c in b"\x0b\x0c\x1c\x1d\x1e\x85")
    )
    numbers = [item.row for part in parts for item in items_of(part, str(path), LIMIT)]
    own = [i for i, line in enumerate((b" " + data).split(b"\n"), 1) if line.strip()]
    assert numbers == own


@pytest.mark.parametrize("sent", [False, True])
@pytest.mark.parametrize("part_bytes", [1, 60, 10_000])
def test_lines_are_requests_or_reasons(tmp_path, part_bytes, sent):
    path = tmp_path / "in.jsonl"
    mention = {"start": 0, "end": 2, "fixed": "Q1"}
    lines = [
        b"\xef\xbb\xbf" + json.dumps({"text": "one"}).encode(),
        json.dumps({"text": "two", "id": 7, "mentions": [mention]}).encode(),
        b"", b"\xff", b"{", b'{"text": "x", "id": "\\ud800"}', b'{"text": "last"}',
    ]  # fmt: skip
    path.write_bytes(b"\n".join(lines))
    found = list(items(path, part_bytes, sent))
    assert [item.request for item in found] == [
        Request("one", None, f"{path}:1"), Request("two", (Span(0, 2, "Q1"),), "7"),
        None, None, None, Request("last", None, f"{path}:7"),
    ]  # fmt: skip
    assert [item.reason.split(":")[0] for item in found if item.request is None] == [
        "line 4", "line 5", "row 6"
    ]  # fmt: skip


def test_long_lines_are_rejected_without_being_held(tmp_path):
    path = tmp_path / "in.jsonl"
    path.write_bytes(b'{"text": "a"}\n' + b"x" * 3_000_000 + b'\n{"text": "b"}\n')
    for part_bytes in (10, 10**9):
        found = [
            item
            for part in cut([str(path)], part_bytes)
            for item in items_of(part, str(path), max_characters=10)
        ]
        assert [item.request is None for item in found] == [False, True, False]
        assert found[1].reason == "longer than the limit of 10 characters per document"


@pytest.fixture
def table():
    return pa.table(
        {
            "other": range(50),
            "text": [None if i == 3 else f"text {i}" for i in range(50)],
            "id": [f"d{i}" for i in range(50)],
            "mentions": [[{"start": 0, "end": 4}] if i % 2 else None for i in range(50)],
        }
    )


@pytest.mark.parametrize("sent", [False, True])
@pytest.mark.parametrize("part_bytes", [1, 2_000, 10**9])
def test_rows_are_requests_or_reasons(tmp_path, table, part_bytes, sent):
    path = tmp_path / "in.parquet"
    pq.write_table(table, path, row_group_size=7)
    found = list(items(path, part_bytes, sent))
    assert [(item.id, item.row) for item in found if item.request] == [
        (f"d{i}", i + 1) for i in range(50) if i != 3
    ]
    assert found[3].reason == 'row 4: "text" should be a string, not missing'
    assert found[5].request == Request("text 5", (Span(0, 4),), "d5")
    assert found[6].request == Request("text 6", None, "d6")


def test_strings_that_are_not_utf8_are_rejected(tmp_path):
    path = tmp_path / "in.parquet"
    offsets, data = pa.py_buffer(b"\0\0\0\0\1\0\0\0\2\0\0\0"), pa.py_buffer(b"\xffa")
    texts = pa.StringArray.from_buffers(2, offsets, data)
    pq.write_table(pa.table({"text": texts}), path)
    first, second = items(path, 100)
    assert first.reason == "row 1: byte 0 is not UTF-8"
    assert second.request == Request("a", None, f"{path}:2")


def test_urls_are_read_by_fsspec(tmp_path):
    import fsspec

    with fsspec.open("memory://jobs/in.jsonl", "wb") as file:
        file.write(b'{"text": "one"}\n{"text": "two"}\n')
    found = list(items("memory://jobs/in.jsonl", 10))
    assert [item.id for item in found] == ["memory://jobs/in.jsonl:1", "memory://jobs/in.jsonl:2"]


def test_inputs_that_changed_are_refused(tmp_path):
    path = tmp_path / "in.jsonl"
    path.write_bytes(b'{"text": "a"}\n')
    (part,) = cut([str(path)])
    path.write_bytes(b'{"text": "b"}\n')
    with pytest.raises(JobError, match="bytes 0 to 14 changed since the job began"):
        list(items_of(part, str(path), LIMIT))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\x1f\x8b\x08", "compressed, so that it cannot be cut"),
        (b"PAR1 and more that is not a footer", "damaged Parquet: no footer"),
        (b"PAR1xxxxxxxx\x04\0\0\0PAR1", "damaged Parquet"),
    ],
)
def test_unreadable_inputs_are_refused(tmp_path, data, message):
    path = tmp_path / "in"
    path.write_bytes(data)
    with pytest.raises(JobError, match=message) as error:
        list(cut([str(path)]))
    assert str(path) in str(error.value)


def test_damaged_pages_are_refused(tmp_path, table):
    path = tmp_path / "in.parquet"
    pq.write_table(table, path, compression="snappy")
    data = path.read_bytes()
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    path.write_bytes(data[:4] + bytes(footer - 4) + data[footer:])
    with pytest.raises(JobError, match="damaged Parquet: ") as error:
        list(items(path, 10**9))
    assert "\n" not in str(error.value)


def test_no_byte_of_a_footer_ends_the_process(tmp_path, table):
    path = tmp_path / "in.parquet"
    pq.write_table(table.slice(0, 3), path)
    data = path.read_bytes()
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")

    def refused() -> int:
        count = 0
        for at in range(footer, len(data)):
            path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
            try:
                list(cut([str(path)]))
            except JobError:
                count += 1
        return count

    assert forked(refused) > 0


def test_folders_and_tables_without_text_are_refused(tmp_path):
    with pytest.raises(JobError, match="a folder; name the files in it"):
        list(cut([str(tmp_path)]))
    pq.write_table(pa.table({"body": ["a"]}), tmp_path / "in.parquet")
    with pytest.raises(JobError, match='no column "text"; it has body'):
        list(cut([str(tmp_path / "in.parquet")]))
    with pytest.raises(JobError, match="nosuch://x: cannot be opened"):
        list(cut(["nosuch://x"]))


@pytest.mark.parametrize("id_", [Decimal(5), date(2020, 1, 1)], ids=["decimal", "date"])
def test_ids_of_other_types_are_rejected(tmp_path, id_):
    path = tmp_path / "ids.parquet"
    pq.write_table(pa.table({"text": ["a"], "id": pa.array([id_])}), path)
    [item] = items(path, 1000)
    assert item.request is None
    assert '"id" should be a string, not' in item.reason


@pytest.mark.parametrize("name", ["text", "id"])
def test_repeated_columns_are_refused(tmp_path, name):
    path = tmp_path / "twice.parquet"
    columns = {"text": pa.array(["a"]), "id": pa.array(["b"])}
    table = pa.Table.from_arrays([*columns.values(), columns[name]], names=[*columns, name])
    pq.write_table(table, path)
    with pytest.raises(JobError, match=f'2 columns "{name}"; rename them'):
        list(cut([str(path)], 1000))
