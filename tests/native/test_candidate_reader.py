"""Records of one name's candidates: the kernel, a slow twin, and bytes that do not fit."""

import struct
from typing import NamedTuple

import numpy as np
import pytest

from sgtb.native import candidate_reader

ROW = np.dtype([("other", "<i4"), ("at", "<i8"), ("id", "<i4"), ("title", "<i4")])


class Record(NamedTuple):
    id: str
    number: int
    title: str
    prior: float
    counts: tuple[int, ...]


class Columns(NamedTuple):
    rows: np.ndarray
    text: np.ndarray

    def reader(self, sources=1):
        offsets = ROW.fields["at"][1], ROW.fields["id"][1]
        return candidate_reader(
            self.rows.view(np.uint8), ROW.itemsize, *offsets, self.text, sources
        )


def columns(names):
    rows, text = np.zeros(len(names), ROW), b""
    for row, parts in zip(rows, names, strict=True):
        id_, title = (part.encode() for part in parts)
        row["at"], row["id"], row["title"] = len(text), len(id_), len(title)
        text += id_ + title + b"description"
    return Columns(rows, np.frombuffer(text, np.uint8))


def value(candidates, counts):
    pairs = b"".join(struct.pack("<If", *pair) for pair in candidates)
    return bytes(8) + pairs + np.array(counts, "<u4").tobytes()


def twin(names, candidates, counts, limit):
    pairs = zip(candidates, counts, strict=True)
    return tuple(
        Record(names[number][0], number, names[number][1], prior, tuple(row))
        for (number, prior), row in list(pairs)[: max(limit, 0)]
    )


@pytest.mark.parametrize("sources", [0, 1, 3])
@pytest.mark.parametrize("limit", [-1, 0, 1, 4, 5, 1 << 40])
def test_against_the_twin(sources, limit):
    rng = np.random.default_rng(sources)
    names = [(f"Q{i}", "Zürich 東京"[i:]) for i in range(8)]
    candidates = [(int(rng.integers(8)), float(np.float32(rng.random()))) for _ in range(5)]
    counts = rng.integers(0, 1 << 32, (5, sources)).tolist()
    counts[2] = counts[1]
    # LMDB gives memory of any alignment.
    data = memoryview(b"x" + value(candidates, counts))[1:]
    found = columns(names).reader(sources).read(data, limit, Record)
    assert found == twin(names, candidates, counts, limit)
    assert all(type(record) is Record for record in found)


@pytest.mark.parametrize(
    ("field", "wrong"),
    [("at", -1), ("at", 1 << 40), ("id", -1), ("id", 1 << 20), ("title", -5), ("title", 1 << 20)],
)
def test_a_row_outside_the_text_is_refused(field, wrong):
    found = columns([("Q1", "One"), ("Q2", "Two")])
    found.rows[field][1] = wrong
    reader = found.reader()
    assert reader.read(value([(0, 1.0)], [[1]]), 5, Record)[0].title == "One"
    with pytest.raises(ValueError, match="entities: "):
        reader.read(value([(1, 1.0)], [[1]]), 5, Record)


@pytest.mark.parametrize(
    ("data", "match"),
    [
        (b"", "names: "),
        (bytes(7), "names: "),
        (bytes(8 + 11), "names: "),
        (value([(2, 1.0)], [[1]]), "names: "),
        (value([(0xFFFFFFFF, 1.0)], [[1]]), "names: "),
    ],
)
def test_a_value_that_fits_no_entities_is_refused(data, match):
    with pytest.raises(ValueError, match=match):
        columns([("Q1", "One"), ("Q2", "Two")]).reader().read(data, 5, Record)


def test_text_that_is_not_utf_8_is_refused():
    found = columns([("Q1", "Zürich")])
    found = found._replace(text=found.text[:4].copy())
    found.rows["title"] = 2
    with pytest.raises(ValueError, match="utf-8"):
        found.reader().read(value([(0, 1.0)], [[1]]), 5, Record)


@pytest.mark.parametrize(
    ("error", "name", "arguments"),
    [
        (TypeError, "type", (bytes(8), 5, list)),
        (TypeError, "type", (bytes(8), 5, ())),
        (TypeError, "bytes-like", ("text", 5, Record)),
    ],
)
def test_arguments_that_do_not_fit_are_refused(error, name, arguments):
    with pytest.raises(error, match=name):
        columns([]).reader().read(*arguments)


@pytest.mark.parametrize(
    ("name", "layout"),
    [
        ("row_size", (8, 0, 0, 1)),
        ("text_at", (24, 17, 0, 1)),
        ("id_size", (24, 0, -1, 1)),
        ("sources", (24, 0, 0, -1)),
        ("sources", (24, 0, 0, 1 << 40)),
    ],
)
def test_a_layout_that_does_not_fit_is_refused(name, layout):
    empty, (*offsets, sources) = np.zeros(0, np.uint8), layout
    with pytest.raises(ValueError, match=name):
        candidate_reader(empty, *offsets, empty, sources)
