"""Exports: from what a knowledge base writes out, the same one can be built."""

import json
from random import Random

import numpy as np
import pytest

from sgtb.kb import KnowledgeBase, update
from sgtb.kb.build.entity_lines import EntityList
from sgtb.kb.build.kb_writer import KbWriter
from sgtb.kb.build.list_build import build_list
from sgtb.kb.check import check
from sgtb.kb.columns import unit_halves
from sgtb.kb.export import export_lines
from sgtb.kb.name_index import Spelling
from tests.helpers.kb_processes import contents
from tests.helpers.kb_worlds import assert_shows, build, random_world, write_lines

WHOLE = [
    {"kind": "kb", "sources": ["web", "given"], "dimensions": 2, "origin": {"by": ["é", 1]}},
    {
        "id": "Q1",
        "name": "Jordan (country)",
        "aliases": [
            {"name": "Jordan", "count": 2**32 - 1, "source": "web"},
            {"name": "Jordan", "count": 3, "source": "given"},
        ],
        "description": "a “country”",
        "type": "LOC",
        "popularity": 0.1,
        "links": ["Q0"],
        "vector": [0.6001, 0.79980],
        "in_links": 0,
    },
    {"id": "Q0", "name": "\u2028 x", "popularity": -1e30, "out_links": 2**31 - 1},
    {"kind": "pair", "a": "Q1", "b": "Q0", "count": 2**32 - 1},
    {"kind": "word", "word": "zwei", "vector": [1.0, 0.0]},
    {"kind": "word", "word": "eins", "vector": [-1.0, 0.0]},
    {"kind": "name", "name": "jordan", "linked": 2, "pages": 9},
]  # fmt: skip


def exported(place):
    with KnowledgeBase.open(place) as kb:
        return list(export_lines(kb))


def built_again(tmp_path, lines, name="again"):
    (tmp_path / f"{name}.jsonl").write_text("".join(line + "\n" for line in lines))
    build_list(tmp_path / f"{name}.jsonl", tmp_path / name)
    return tmp_path / name


def test_an_export_says_all_and_no_more(tmp_path):
    lines = [json.loads(line) for line in exported(build(tmp_path, WHOLE))]
    expected = json.loads(json.dumps(WHOLE))
    expected[1]["vector"] = [0.6001, 0.79980]
    expected[2]["name"] = "x"
    for vector in (expected[1]["vector"], lines[1]["vector"]):
        vector[:] = np.array(vector, np.float16).tolist()
    assert lines == expected


def test_what_is_built_from_an_export_has_the_same_bytes(tmp_path):
    first = build(tmp_path, WHOLE)
    lines = exported(first)
    again = built_again(tmp_path, lines)
    assert exported(again) == lines
    assert contents(again) == contents(first), "nothing was changed since the build"
    assert check(again).ok


@pytest.mark.parametrize("seed", range(3))
def test_a_changed_knowledge_base_is_the_same_after_its_export(tmp_path, seed):
    world = random_world(Random(seed), 15, dimensions=5)
    place = build(tmp_path, world.records())
    gone = Random(seed).sample(list(world.entities), 5)
    world.remove(gone)
    update.remove(place, gone)
    back = [{"id": gone[0], "name": "back", "links": [next(iter(world.entities))]}]
    world.add(back)
    update.add(place, EntityList(write_lines(tmp_path / "back.jsonl", back)))
    lines = exported(place)
    again = built_again(tmp_path, lines)
    assert exported(again) == lines
    with KnowledgeBase.open(again) as kb, KnowledgeBase.open(place) as first:
        assert_shows(kb, world)
        assert kb.info()["generation"] == 0
        alive = np.flatnonzero(first.rows["alive"])
        assert kb.vectors(np.arange(len(kb))).tolist() == first.vectors(alive).tolist()
    assert check(again).ok


def test_an_empty_knowledge_base_exports_its_header(tmp_path):
    place = build(tmp_path, [{"id": "Q1", "name": "One"}])
    update.remove(place, ["Q1"])
    (header,) = exported(place)
    assert json.loads(header)["kind"] == "kb"


def test_what_a_writer_takes_can_be_built_again(tmp_path):
    """The longest and oddest that other builds may write."""
    folder = tmp_path / "kb" / "data-000001"
    folder.mkdir(parents=True)
    writer = KbWriter(folder, 2, ["given"], 0, {})
    odd = [
        "." * 1999 + "x",
        "é" * 250,
        "a\u0085b".replace("\u0085", " "),
        "x\x80y",
        "'s",
        "\u200bz",
    ]
    writer.entity("Q1", "t" * 400, "", "", float("nan"), [Spelling(text, 0, 1) for text in odd])
    writer.entity("Q0", "!!!", "d", "", 1e-40, [])
    writer.finish()
    (tmp_path / "kb" / "kb.json").write_text('{"format": 2, "data": "data-000001"}')
    lines = exported(tmp_path / "kb")
    assert exported(built_again(tmp_path, lines)) == lines


def test_vectors_have_unit_length_and_do_not_drift():
    """Among them those that are nearly of that length, where rounding decides."""
    random = np.random.default_rng(0)
    for size in (1, 2, 3, 50, 4096):
        wide = random.normal(size=(2000 if size < 50 else 20, size)) * random.random(size) ** 4
        wide /= np.linalg.norm(wide, axis=1)[:, None]
        factors = [
            random.uniform(0.997, 1.003, len(wide)),
            10 ** random.uniform(-30, 29, len(wide)),
        ]
        for factor in factors:
            given = (wide * factor[:, None]).astype(np.float32)
            halves = unit_halves(given)
            lengths = np.linalg.norm(halves.astype(float), axis=1)
            np.testing.assert_allclose(lengths, 1, atol=1e-3)
            np.testing.assert_allclose(halves.astype(float), wide, atol=2e-3)
            written = [[float(f"{value:.5g}") for value in row] for row in halves.tolist()]
            again = unit_halves(np.array(written, np.float32))
            assert np.array_equal(again, halves)
