"""Model files of linkers: they come back as they were, and no damaged one does any harm."""

import json
import math
import warnings
from dataclasses import replace

import numpy as np
import pytest
import safetensors.numpy

from sgtb.boosting import SearchPlan, StructuredGradientBoosting, TrainingSettings
from sgtb.core.errors import KnowledgeBaseError, ModelFileError
from sgtb.core.tensor_file import read_tensors, write_tensors
from sgtb.kb import KnowledgeBase
from sgtb.linking.calibration.confidence import Confidence, NilRule
from sgtb.linking.link_options import LinkerSettings
from sgtb.linking.linker import Linker
from sgtb.linking.linker_model import FORMAT, LinkerModel
from sgtb.linking.links import Request, Span
from sgtb.linking.training.linker_training import train_linker
from tests.boosting.test_model_file import (
    cut_or_stuff,
    edit_header,
    edit_length,
    edit_record,
    flip_bits,
    split,
    without_checksum,
)
from tests.helpers.exact import exact
from tests.helpers.kb_worlds import build
from tests.helpers.trained_linkers import QUICK

load = LinkerModel.load


@pytest.fixture(scope="module")
def saved(starter_kb, starter, tmp_path_factory) -> bytes:
    """The bytes of a small model."""
    path = tmp_path_factory.mktemp("saved") / "model"
    settings = replace(
        QUICK, plan=SearchPlan("bibsg", 2), bits=4, topic_width=2,
        training=TrainingSettings(n_trees=6, check_every=3, threads=1),
    )  # fmt: skip
    model = train_linker(starter_kb, starter["train"][:50], (), settings, origin={"a": [1]})
    weights = Confidence((0.1, 0.2, 0.3, 0.4, 0.5))
    replace(model, confidence=weights, nil=NilRule("never", 1.5, 0.3, 0.8)).save(path)
    return path.read_bytes()


@pytest.fixture
def path(tmp_path, saved):
    path = tmp_path / "model"
    path.write_bytes(saved)
    return path


@pytest.mark.parametrize("plan", ["local", "bsg", "bibsg"])
def test_saved_models_come_back(tmp_path, model_of, starter_kb, unseen, plan):
    model = model_of(plan)
    model.save(tmp_path / "one")
    again = load(tmp_path / "one")
    again.save(tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert again.origin == model.origin
    assert again.origin["of"] == "tests"
    assert (again.schema, again.without, again.candidates) == (
        model.schema, model.without, model.candidates
    )  # fmt: skip
    documents = unseen[::6]
    settings = LinkerSettings(reasons=True)
    one, other = (
        Linker(given, starter_kb, settings).pipe(documents) for given in (model, tmp_path / "one")
    )
    assert exact(list(one)) == exact(list(other))


def test_files_of_another_kind(tmp_path, model_of):
    StructuredGradientBoosting.of(model_of("bsg").forest).save(tmp_path / "learner")
    with pytest.raises(ModelFileError, match=r"learner: this is no linker file, .* 'model'"):
        load(tmp_path / "learner")
    model_of("bsg").save(tmp_path / "linker")
    with pytest.raises(ModelFileError, match=r"linker: this is no model file, .* 'linker'"):
        StructuredGradientBoosting.load(tmp_path / "linker")
    for content in (b"", b"PK\x03\x04", b"\xff" * 100):
        (tmp_path / "junk").write_bytes(content)
        with pytest.raises(ModelFileError, match="junk"):
            load(tmp_path / "junk")
    with pytest.raises(ModelFileError, match="nowhere: no such file or folder"):
        Linker(tmp_path / "nowhere", tmp_path)


# Knowledge bases that lack something

RICH = [
    {
        "id": "a", "name": "Amman", "type": "LOC", "description": "capital of Jordan",
        "popularity": 2, "links": ["b"],
    },
    {
        "id": "b", "name": "Jordan", "type": "LOC", "description": "kingdom", "popularity": 3,
        "links": ["a"],
    },
]  # fmt: skip
EVIDENCE = {
    "links": "links", "type": "types", "description": "descriptions", "popularity": "popularity"
}  # fmt: skip


@pytest.mark.parametrize("keys", [*([key] for key in EVIDENCE), list(EVIDENCE)], ids="+".join)
def test_a_knowledge_base_that_lacks_something(tmp_path, model_of, keys):
    model = model_of("bsg")
    with KnowledgeBase.open(build(tmp_path, RICH)) as kb:
        assert [x.entity for x in Linker(model, kb).link("Amman, Jordan").links] == ["a", "b"]
    poor = [{k: v for k, v in record.items() if k not in keys} for record in RICH]
    place = build(tmp_path, poor, "poor")
    with Linker(model, place) as linker:
        assert linker.lacking_evidence == sorted(EVIDENCE[key] for key in keys)
        assert [x.entity for x in linker.link("Amman, Jordan").links] == ["a", "b"]


# Impossible files


def changed(path, change):
    tensors, record = read_tensors(path, "linker", FORMAT)
    change(tensors, record)
    write_tensors(path, tensors, record)


def setting(name, index, value):
    def change(tensors, record):
        tensors[name][index] = value

    return change


def as_bytes(text):
    return np.frombuffer(text.encode(), np.uint8)


def recording(value, *keys):
    def change(tensors, record):
        *groups, last = keys
        for key in groups:
            record = record[key]
        record[last] = value

    return change


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (setting("words", 0, 0xFF), "malformed"),
        (setting("words", 0, ord("z")), "words are not in order"),
        (setting("words", 0, ord("\n")), "words"),
        (setting("texts_with", 0, -1), "texts_with do not fit"),
        (setting("texts_with", 0, 10**6), "texts_with do not fit"),
        (setting("titles_with", 0, 10**6), "titles_with do not fit"),
        (setting("topic_words", 0, -1), "out of range or order"),
        (setting("topic_words", -1, 10**6), "out of range or order"),
        (setting("topic_words", 1, 0), "out of range or order"),
        (setting("topics", 0, math.nan), "topics"),
        (setting("tagger", 0, math.inf), "weights tagger is NaN, infinite"),
        (setting("local", 0, math.nan), "weights local is NaN, infinite"),
        (setting("joint_bins", 0, math.nan), "bins of ranker joint"),
        (setting("local_cuts", 0, math.nan), "local_cuts"),
        (setting("forest feature", 0, 10**6), "a node tests a feature"),
        (setting("forest left", 0, -5), "out of range"),
        (lambda t, r: t.update(local=t["local"][:-1]), r"weights local have the shape \(15,\)"),
        (lambda t, r: t.update(tagger=t["tagger"][:, :3]), r"the shape \(16, 3\)"),
        (lambda t, r: t.update(tagger=np.zeros((0, 4))), r"the shape \(0, 4\)"),
        (lambda t, r: t.update(mention_tagger=np.zeros((8, 4))), r"mention_tagger have the shape"),
        (lambda t, r: t.update(mention_tagger=np.full((8, 3), np.nan)), "mention_tagger is NaN"),
        (lambda t, r: t.update(mention_tagger=np.zeros((8, 3), np.float32)), "is float32"),
        (lambda t, r: t.update(joint_bins=t["joint_bins"][:-1]), "bins of ranker joint"),
        (lambda t, r: t.update(joint_cuts=t["joint_cuts"][:, 1:]), "joint_cuts do not fit"),
        (lambda t, r: t.update(vectors=t["vectors"][1:]), "counts or vectors of another number"),
        (lambda t, r: t.update(topics=t["topics"][1:]), "topics do not fit"),
        (lambda t, r: t.pop("tagger"), "missing or foreign tensors: tagger"),
        (lambda t, r: t.pop("forest left"), "missing or foreign tensors: left"),
        (lambda t, r: t.update(words=t["words"].astype(np.int32)), "tensor words is int32"),
        (recording(3, "schema", "version"), "features are of version 3"),
        (recording([], "schema", "features"), "not those of this release"),
        (recording(["links"], "schema", "evidence"), "not those of this release"),
        (recording(["type"], "without"), "trees and its schema differ"),
        (recording(["nothing"], "without"), "'nothing'"),
        (recording(None, "without"), "malformed"),
        (recording(0, "candidates", "top"), "top must be"),
        (recording(1, "candidates", "tops"), "tops"),
        (recording("yes", "candidates", "fuzzy"), "fuzzy"),
        (recording(-1, "texts"), "counts texts_with"),
        (recording(True, "titles"), "counts titles_with"),
        (recording(10**40, "texts"), "counts texts_with"),
        (recording("high", "least_popularity"), "least popularity"),
        (recording([], "origin"), "origin"),
        (recording("dfs", "forest", "plan", "name"), "unknown plan 'dfs'"),
        (recording(2, "forest", "n_pair"), "trees and its schema differ"),
        (recording([None, "links"], "schema", "evidence"), "evidence"),
        (recording(["weather"], "schema", "evidence"), "evidence"),
        (recording("links", "schema", "evidence"), "evidence"),
        (setting("local", 0, 1e300), "weights local"),
        (setting("forest value", -1, 1e300), "leaves"),
        (recording(1e300, "least_popularity"), "least popularity"),
        (recording({}, "forest"), "format version None"),
        (recording(0, "version"), "format version 0"),
        (recording(5, "version"), "format version 5"),
        (recording(3, "version"), "format version 3"),
        (recording("4", "version"), "format version '4'"),
        (recording([1.0], "confidence", "link"), "weights link must be 5 numbers"),
        (recording([1.0] * 6, "confidence", "nil"), "weights nil must be 5 numbers"),
        (recording("abcde", "confidence", "nil"), "must be 5 numbers"),
        (recording([1e9] * 5, "confidence", "nil"), "numbers up to 1000"),
        (recording([1], "confidence", "mood"), "mood"),
        (recording(None, "confidence"), "malformed"),
        (recording("candidate", "nil", "kind"), "trees and its schema differ"),
        (recording("maybe", "nil", "kind"), "no NIL rule 'maybe'"),
        (recording(2, "nil", "threshold"), "NIL threshold"),
        (recording(0.5, "nil", "odds"), "odds of NIL"),
        (recording(True, "nil", "no_candidates"), "no_candidates must be"),
        (recording([0.1], "nil", "shares"), "shares"),
        (setting("memory", 0, ord("{")), "malformed"),
        (lambda t, r: t.update(memory=as_bytes("[{},{}]")), "four tables"),
        (lambda t, r: t.update(memory=as_bytes('{"a":1}')), "four tables"),
        (lambda t, r: t.update(memory=as_bytes('[{"a":0},{},{},{}]')), "is 0, not positive"),
        (lambda t, r: t.update(memory=as_bytes('[{},{"a":true},{},{}]')), "is True, not positive"),
        (lambda t, r: t.update(memory=as_bytes('[{},{},{"a":1e3},{}]')), "is 1000.0, not positive"),
        (lambda t, r: t.update(memory=as_bytes("[{},{},{}]")), "four tables"),
        (lambda t, r: t.update(memory=as_bytes('[{},{},{},{"a":{"b":0}}]')), "'a' as 'b' is 0"),
        (lambda t, r: t.update(memory=as_bytes('[{},{},{},{"a":{"b":true}}]')), "'b' is True"),
        (lambda t, r: t.update(memory=as_bytes('[{},{},{},{"a":{"b":1.5}}]')), "'b' is 1.5"),
        (lambda t, r: t.update(memory=as_bytes('[{},{},{},{"a":2}]')), "malformed"),
        (lambda t, r: t.update(memory=as_bytes('[{},{},{},{"a":["b"]}]')), "malformed"),
        (lambda t, r: t.update(memory=as_bytes("[" * 100_000)), "malformed"),
        (lambda t, r: t.pop("memory"), "missing or foreign tensors: memory"),
    ],
)
def test_impossible_files_are_refused(path, change, complaint):
    changed(path, change)
    with pytest.raises(ModelFileError, match=complaint) as refused:
        load(path)
    assert str(refused.value).count(str(path)) == 1


# Fuzzing


def edit_tensors(rng, data):
    header, _ = split(data)
    tensors = safetensors.numpy.load(data)
    names = [name for name, array in tensors.items() if array.size]
    name = names[rng.integers(len(names))]
    array = tensors[name].copy()
    flat = array.reshape(-1)
    chosen = rng.integers(len(flat), size=rng.integers(1, 4))
    if array.dtype.kind == "f":
        values = np.array([math.nan, math.inf, -math.inf, 0.0, 1e308, 1e38, -1e38, 1e-45, 1.0, 7.0])
    else:
        near = int(flat[chosen[0]]) + int(rng.integers(-2, 3))
        values = np.array([-(2**31), -1, 0, 1, 2, 10, 255, len(flat), 2**31 - 1, near, near, near])
    with np.errstate(all="ignore"):
        flat[chosen] = values[rng.integers(len(values), size=len(chosen))].astype(array.dtype)
    if rng.random() < 0.15:
        shorter = [array[:-1], array[1:], array[:0], np.repeat(array, 2, axis=0), array[..., None]]
        array = shorter[rng.integers(len(shorter))]
    tensors[name] = np.ascontiguousarray(array)
    if rng.random() < 0.05:
        other = names[rng.integers(len(names))]
        tensors[name], tensors[other] = tensors[other], tensors[name]
    return safetensors.numpy.save(tensors, metadata=header["__metadata__"])


MUTATORS = {
    flip_bits: 500,
    cut_or_stuff: 300,
    edit_header: 400,
    edit_length: 50,
    edit_record: 400,
    edit_tensors: 400,
}
TEXTS = (
    "Jordan won six titles with Chicago. Amman is in Jordan, Paris is not.",
    Request("Paris", (Span(0, 5, candidates=("Paris", "Amman")),)),
    "",
)


@pytest.mark.parametrize(("mutate", "n"), MUTATORS.items(), ids=lambda x: getattr(x, "__name__", x))
def test_damaged_model_files_do_no_harm(path, saved, starter_kb, mutate, n):
    old = without_checksum(saved)
    assert sum(MUTATORS.values()) >= 2000
    rng = np.random.default_rng(7)
    refused = accepted = 0
    for i in range(n):
        path.write_bytes(mutate(rng, old))
        try:
            model = load(path)
        except ModelFileError as error:
            refused += str(path) in str(error)
            continue
        except Exception as error:
            pytest.fail(f"{mutate.__name__} {i}: {type(error).__name__}: {error}")
        accepted += 1
        try:
            survives(model, starter_kb)
        except Exception as error:
            pytest.fail(f"{mutate.__name__} {i} was let in: {type(error).__name__}: {error}")
    assert refused + accepted == n
    assert refused > n / 10


def survives(model, kb):
    """A file that was let in holds a model that links, however wrongly."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of numbers as large as numbers are
        try:
            linker = Linker(model, kb, LinkerSettings(candidates=99, reasons=True))
        except KnowledgeBaseError:
            return
        linked = list(linker.pipe(TEXTS))
    assert [link.text for link in linked[0].links].count("Amman") == 1
    for document in linked:
        for link in document.links:
            if link.entity is not None:
                assert link.entity in [other.entity for other in link.candidates]
            assert 0 <= link.confidence <= 1
            json.dumps(link.to_dict())
