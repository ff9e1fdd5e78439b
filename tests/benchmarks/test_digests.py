"""Digests: equal for equal bits only; what is recorded is compared group by group."""

import json
import math
from dataclasses import dataclass

import numpy as np
import pytest

from benchmarks import digests
from benchmarks.digest import digest_lines, digest_of
from benchmarks.digest_groups import GROUPS, Subjects, run
from benchmarks.digest_links import Options, feature_digests, link_digests, model_bytes
from sgtb.kb import KnowledgeBase
from sgtb.linking.linker_model import LinkerModel
from sgtb.starter import KB, MODEL


@dataclass(frozen=True)
class _Record:
    name: str
    value: float


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (0.0, -0.0),
        (1.0, math.nextafter(1.0, 2.0)),
        (1, 1.0),
        (1, True),
        ("1", 1),
        ("a", b"a"),
        (None, 0),
        (["a", "b"], ["ab"]),
        ([["a"], "b"], [["a", "b"]]),
        (_Record("a", 1.0), _Record("a", 2.0)),
        (np.zeros(2, np.float32), np.zeros(2, np.float64)),
        (np.zeros((2, 3)), np.zeros((3, 2))),
        (np.zeros(2), np.zeros(2) * -1),
    ],
)
def test_different_values_have_different_digests(one, other):
    assert digest_of(one) == digest_of(one)
    assert digest_of(one) != digest_of(other)


def test_the_layout_of_an_array_in_memory_does_not_matter():
    array = np.arange(12.0).reshape(3, 4)
    assert digest_of(array.T) == digest_of(np.ascontiguousarray(array.T))
    assert digest_of(array) != digest_of(array.T)


def test_lines_are_told_apart():
    assert digest_lines(["ab", "c"]) != digest_lines(["a", "bc"])


def test_what_cannot_be_digested_is_an_error():
    with pytest.raises(TypeError, match="set"):
        digest_of({1})


def test_recording_keeps_the_other_groups(tmp_path):
    file = tmp_path / "digests.json"
    digests.write(file, {"a/x": "1", "b/y": "2"})
    digests.write(file, {"a/z": "3"})
    assert digests.read(file) == {"a/z": "3", "b/y": "2"}
    assert json.loads(file.read_text())["numpy"] == np.__version__


def test_differences_are_those_of_the_groups_that_ran():
    recorded = {"a/x": "1", "a/y": "2", "b/z": "3"}
    assert digests.differences({"a/x": "1", "a/y": "2"}, recorded) == []
    assert digests.differences({"a/x": "0", "a/w": "9"}, recorded) == [
        "a/w: not recorded",
        "a/x: differs",
        "a/y: recorded, but missing now",
    ]


def test_every_group_is_recorded():
    recorded = digests.read(digests.RECORDED)
    assert {name.partition("/")[0] for name in recorded} == set(GROUPS)
    assert all(len(digest) == 64 for digest in recorded.values())


def test_a_group_names_its_digests(monkeypatch, tmp_path):
    monkeypatch.setattr(
        "benchmarks.digest_groups.GROUPS", {"mine": lambda subjects: iter([("one", "1")])}
    )
    subjects = Subjects(Options(1, True, tmp_path), print)
    assert list(run(["mine"], subjects)) == [("mine/one", "1")]


def test_links_of_one_process_and_of_two(tmp_path):
    model, texts = LinkerModel.load(MODEL), ["Jordan won six rings with the Bulls.", "No name."]
    assert len(digest_of(model_bytes(model, tmp_path))) == 64
    with KnowledgeBase.open(KB) as kb:
        found = [
            [
                *feature_digests("x", model, kb, texts),
                *link_digests("x", model, kb, texts, Options(threads, True, tmp_path)),
            ]
            for threads in (1, 2)
        ]
        fewer = list(link_digests("x", model, kb, texts[:1], Options(1, True, tmp_path)))
    assert found[0] == found[1]
    names = [name for name, _ in found[0]]
    assert names == [
        f"x/{part}"
        for part in ("candidates", "features", "problems", "links", "probabilities", "reasons")
    ]
    assert fewer[0] != found[0][3]
