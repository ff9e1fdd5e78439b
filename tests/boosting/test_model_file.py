"""Model files: they come back as they were, and no damaged one does any harm."""

import ast
import json
import math
import struct
import time
import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

import sgtb
from sgtb.boosting import PLANS, Problems, SearchPlan, StructuredGradientBoosting
from sgtb.boosting.model_file import check_forest, model_of, model_record, model_tensors
from sgtb.boosting.trees.forest import Forest
from sgtb.core.errors import ModelFileError, ProblemsError
from sgtb.core.tensor_file import read_tensors, write_tensors
from tests.helpers.problem_builders import estimator, random_problems

load = StructuredGradientBoosting.load


@pytest.fixture(scope="module")
def problems():
    return random_problems(np.random.default_rng(0), n_documents=4)


@pytest.fixture(scope="module")
def saved(problems, tmp_path_factory) -> bytes:
    """The bytes of a small model."""
    path = tmp_path_factory.mktemp("saved") / "model"
    estimator(SearchPlan("bibsg", 2), n_trees=4, check_every=2).fit(problems, problems).save(path)
    return path.read_bytes()


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize("depth", [3, 5])
def test_saved_models_come_back(name, depth, tmp_path, problems):
    fitted = estimator(SearchPlan(name, 3), n_trees=6, check_every=2, depth=depth)
    fitted.fit(problems, problems)
    fitted.save(tmp_path / "one")
    again = load(tmp_path / "one")
    again.save(tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert again.plan == fitted.plan
    assert again.trees == fitted.trees
    assert again.history == fitted.history
    for field in ("probability", "sequences", "scores", "sequence_probability"):
        one, other = (getattr(e.decode(problems, n_best=3), field) for e in (fitted, again))
        assert one.tobytes() == other.tobytes()


def test_models_come_back_from_another_file_format(problems, tmp_path, saved):
    (tmp_path / "model").write_bytes(saved)
    fitted = load(tmp_path / "model")
    tensors, record = (
        model_tensors(fitted.model),
        json.loads(json.dumps(model_record(fitted.model))),
    )
    again = StructuredGradientBoosting.of(model_of(tensors, {**record, "more": 1}, "a linker"))
    again.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == saved
    assert again.predict(problems).tolist() == fitted.predict(problems).tolist()
    with pytest.raises(ModelFileError, match=r"a linker: a model of format version 2; .* reads 1"):
        model_of(tensors, {**record, "version": 2}, "a linker")
    with pytest.raises(ModelFileError, match="a linker: missing or foreign tensors: more"):
        model_of({**tensors, "more": tensors["roots"]}, record, "a linker")


def test_models_saved_before_there_was_a_draw_of_features_come_back(tmp_path, problems):
    path = tmp_path / "model"
    fitted = estimator(SearchPlan("bsg"), n_trees=2, feature_share=0.5, seed=3).fit(problems)
    fitted.save(path)
    again = load(path)
    assert (again.trees, again.training.seed) == (fitted.trees, 3)
    tensors, record = read_tensors(path, "model", 1)
    del record["trees"]["feature_share"], record["training"]["seed"]
    write_tensors(path, tensors, record)
    old = load(path)
    assert (old.trees.feature_share, old.training.seed) == (1.0, 0)
    np.testing.assert_array_equal(old.predict(problems), fitted.predict(problems))


def test_saving_keeps_no_temporary_file_and_obeys_the_umask(tmp_path, problems):
    estimator(SearchPlan("local"), n_trees=1).fit(problems).save(tmp_path / "model")
    (file,) = tmp_path.iterdir()
    plain = tmp_path / "plain"
    plain.write_text("")
    assert file.stat().st_mode == plain.stat().st_mode


def test_files_that_are_no_models(tmp_path, problems):
    for path, complaint in (
        (tmp_path / "nowhere", "No such file"),
        (tmp_path, "not a file"),
    ):
        with pytest.raises(ModelFileError, match=complaint):
            load(path)
    problems.save(tmp_path / "problems")
    with pytest.raises(ModelFileError, match="this is no model file, its kind is 'problems'"):
        load(tmp_path / "problems")
    for content in (b"", b"\0" * 7, b"\0" * 8, b"\xff" * 100, b"PK\x03\x04 a zip file", b"{}"):
        (tmp_path / "junk").write_bytes(content)
        with pytest.raises(ModelFileError, match="junk"):
            load(tmp_path / "junk")
    safetensors.numpy.save_file({"a": np.zeros(3)}, tmp_path / "foreign")
    with pytest.raises(ModelFileError, match="no sgtb record in it"):
        load(tmp_path / "foreign")


def test_size_limit(tmp_path, saved):
    path = tmp_path / "model"
    path.write_bytes(saved)
    with pytest.raises(ModelFileError, match=f"{len(saved)} bytes are more than the limit of 100"):
        load(path, max_bytes=100)
    load(path, max_bytes=len(saved))


def test_a_huge_file_is_refused_unread(tmp_path):
    path = tmp_path / "huge"
    with path.open("wb") as file:
        file.truncate(1 << 40)  # takes no room on the disk
    start = time.perf_counter()
    with pytest.raises(ModelFileError, match="more than the limit"):
        load(path)
    assert time.perf_counter() - start < 1


def test_every_changed_byte_of_the_data_is_noticed(tmp_path, saved):
    path = tmp_path / "model"
    path.write_bytes(without_checksum(saved))
    load(path)  # as of earlier versions
    (length,) = struct.unpack("<Q", saved[:8])
    for at in range(8 + length, len(saved), 97):
        path.write_bytes(saved[:at] + bytes([saved[at] ^ 1]) + saved[at + 1 :])
        with pytest.raises(ModelFileError, match=f"{path}: damaged: wrong checksum"):
            load(path)


@pytest.mark.parametrize("version", [0, 2, "1", None, 10**40])
def test_other_versions_are_refused(tmp_path, saved, version):
    path = tmp_path / "model"
    path.write_bytes(saved)
    tensors, record = read_tensors(path, "model", 1)
    write_tensors(path, tensors, {**record, "version": version})
    with pytest.raises(ModelFileError, match=r"format version .* reads 1"):
        load(path)


def _set(name, i, value):
    def change(tensors):
        tensors[name][i] = value

    return change


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (_set("left", 0, 0), "no parent|out of range"),
        (_set("left", 0, -5), "out of range"),
        (_set("left", 0, 2**31 - 1), "out of range"),
        (_set("left", 2, 1), "out of range|no parent|children"),
        (_set("left", 1, 1), "out of range|children"),
        (_set("feature", 0, 6), "not among the 6"),
        (_set("feature", 0, -2), "not among the 6"),
        (_set("threshold", 0, math.nan), "NaN or infinite"),
        (_set("value", -1, math.inf), "NaN or infinite"),
        (_set("roots", 0, 1), "root offsets"),
        (_set("roots", -1, 10**6), "root offsets"),
        (_set("roots", 1, 0), "root offsets"),
        (lambda t: t.update(value=t["value"][:-1]), "differ in length"),
        (lambda t: t.update(roots=t["roots"][:0]), "root offsets"),
        (lambda t: t.update(value=t["value"].astype(np.float32)), "tensor value is float32"),
        (lambda t: t.update(extra=np.zeros(1)), "foreign tensors: extra"),
        (lambda t: t.pop("left"), "missing or foreign tensors: left"),
    ],
)  # fmt: skip
def test_forests_that_are_none_are_refused(tmp_path, saved, change, complaint):
    path = tmp_path / "model"
    path.write_bytes(saved)
    tensors, record = read_tensors(path, "model", 1)
    change(tensors)
    write_tensors(path, tensors, record)
    with pytest.raises(ModelFileError, match=complaint):
        load(path)


def chain(n: int) -> dict[str, np.ndarray]:
    """One tree that is a single long branch."""
    feature, left = np.full(2 * n + 1, -1, np.int32), np.zeros(2 * n + 1, np.int32)
    feature[0], left[0] = 0, 1
    for i in range(1, n):
        feature[2 * i], left[2 * i] = 0, 2 * i + 1
    return {
        "roots": np.array([0, 2 * n + 1], np.int32), "feature": feature, "left": left,
        "threshold": np.arange(2 * n + 1, dtype=np.float32), "value": np.zeros(2 * n + 1),
    }  # fmt: skip


def test_trees_too_deep_or_with_too_many_thresholds_are_refused(tmp_path, saved):
    path = tmp_path / "model"
    path.write_bytes(saved)
    _, record = read_tensors(path, "model", 1)
    write_tensors(path, chain(12), record)
    load(path)
    write_tensors(path, chain(13), record)
    with pytest.raises(ModelFileError, match="deeper than 12"):
        load(path)
    stumps = {
        "roots": 3 * np.arange(256, dtype=np.int32), "feature": np.int32([0, -1, -1] * 255),
        "threshold": np.repeat(np.arange(255, dtype=np.float32), 3),
        "left": (np.arange(765) * 1).astype(np.int32), "value": np.zeros(765),
    }  # fmt: skip
    stumps["left"] = np.where(stumps["feature"] == 0, stumps["left"] + 1, 0).astype(np.int32)
    write_tensors(path, stumps, record)
    with pytest.raises(ModelFileError, match="more than 254 thresholds"):
        load(path)


@pytest.mark.parametrize(
    ("group", "key", "value"),
    [
        ("plan", "name", "dfs"), ("plan", "name", 3), ("plan", "beam_width", 10**9),
        ("plan", "beam_width", 2.5), ("plan", "beam_width", 4.0), ("plan", "beam_width", None),
        ("plan", "beam_width", True), ("plan", "rounds", 10**30), ("plan", "rounds", 1.5),
        ("plan", "width", 4), ("trees", "depth", 2.5), ("trees", "depth", None),
        ("trees", "learning_rate", "1"), ("training", "n_trees", -1),
        ("training", "n_trees", 7.5), (None, "n_local", -1), (None, "n_local", 2.0),
        (None, "n_local", 10**9), (None, "n_pair", "2"), (None, "n_pair", 10**30),
        (None, "checks", None), (None, "checks", [[1]]), (None, "checks", [["a", "b", "c"]]),
        (None, "checks", [[1, 10**400, None]]), (None, "plan", []), (None, "plan", None),
        (None, "trees", "deep"), (None, "training", 7),
    ],
)  # fmt: skip
def test_impossible_records_are_refused(tmp_path, saved, group, key, value):
    path = tmp_path / "model"
    path.write_bytes(saved)
    tensors, record = read_tensors(path, "model", 1)
    (record if group is None else record[group])[key] = value
    write_tensors(path, tensors, record)
    with pytest.raises(ModelFileError, match="model: "):
        load(path)


def test_infinite_numbers_in_a_record_are_refused(tmp_path, saved):
    for number in (b"NaN", b"Infinity", b"-Infinity", b"1e999"):
        (tmp_path / "model").write_bytes(with_record(saved, rb"[[2,%s,null]]" % number))
        with pytest.raises(ModelFileError):
            load(tmp_path / "model")


def with_record(data: bytes, checks: bytes) -> bytes:
    """Put other text in the place of the record's checks, as JSON that Python would not write."""
    header, rest = split(data)
    record = json.loads(header["__metadata__"]["sgtb"])
    record["checks"] = "HERE"
    header["__metadata__"]["sgtb"] = json.dumps(record).replace('"HERE"', checks.decode())
    return joined(header, rest)


def split(data: bytes) -> tuple[dict, bytes]:
    (length,) = struct.unpack("<Q", data[:8])
    return json.loads(data[8 : 8 + length]), data[8 + length :]


def without_checksum(data: bytes) -> bytes:
    """The file as earlier versions wrote it, so that damage is found by what uses it."""
    header, rest = split(data)
    record = json.loads(header["__metadata__"]["sgtb"])
    del record["crc32"]
    header["__metadata__"]["sgtb"] = json.dumps(record)
    return joined(header, rest)


def joined(header: dict, rest: bytes) -> bytes:
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + rest


# Fuzzing

ODD = [
    0, 1, -1, 2, 3.5, 7, 255, 4095, 65_535, 65_536, 2**31 - 1, 2**31, 2**32, 2**63, 2**64, 10**40,
    1e308, 1e-308, -0.0, True, False, None, "", "1", "local", "bs", "laso", "bsg", "\0", "é", [],
    [1], [[]], [[1, 0.5, None]], {}, {"a": 1},
]  # fmt: skip


def flip_bits(rng, data):
    out = bytearray(data)
    for at in rng.integers(len(out), size=rng.integers(1, 6)):
        out[at] ^= 1 << rng.integers(8)
    return bytes(out)


def cut_or_stuff(rng, data):
    a, b = sorted(rng.integers(len(data) + 1, size=2).tolist())
    return [
        data[:a], data[a:], data[:a] + data[b:], data + data[a:b], data[:a] + data[a:b] + data[a:],
        data[:a] + bytes(b - a) + data[b:], data[:a] + b"\xff" * (b - a) + data[b:],
    ][rng.integers(7)]  # fmt: skip


def edit_header(rng, data):
    header, rest = split(data)
    name = list(header)[rng.integers(len(header))]
    entry, odd = header[name], ODD[rng.integers(len(ODD))]
    kind = rng.integers(6)
    if kind == 0:
        del header[name]
    elif kind == 1:
        header[name] = odd
    elif kind == 2:
        header[f"{name}{rng.integers(3)}"] = header.pop(name)
    elif name == "__metadata__":
        entry["sgtb"] = [odd, str(odd), json.dumps(odd), entry["sgtb"][:-1]][rng.integers(4)]
    elif kind == 3:
        entry["dtype"] = ["F64", "I64", "U8", "F16", "BF16", "BOOL", odd][rng.integers(7)]
    elif kind == 4:
        entry["shape"] = [odd, [odd], [odd, odd], entry["shape"] * 2][rng.integers(4)]
    else:
        entry["data_offsets"][rng.integers(2)] = odd
    return joined(header, rest)


def edit_length(rng, data):
    lengths = [0, 1, len(data), 2**31, 2**63, 2**64 - 1, int(rng.integers(len(data)))]
    return struct.pack("<Q", lengths[rng.integers(len(lengths))]) + data[8:]


def edit_record(rng, data):
    header, rest = split(data)
    record = json.loads(header["__metadata__"]["sgtb"])
    group = record
    while True:
        keys = list(group) if isinstance(group, dict) else list(range(len(group)))
        key = keys[rng.integers(len(keys))]
        inside = group[key]
        if not isinstance(inside, dict | list) or not inside or rng.random() < 0.15:
            break
        group = inside
    if rng.random() < 0.15:
        del group[key]
    else:
        group[key] = ODD[rng.integers(len(ODD))]
    header["__metadata__"]["sgtb"] = json.dumps(record)
    return joined(header, rest)


def edit_tensors(rng, data):
    header, _ = split(data)
    tensors = safetensors.numpy.load(data)
    name = list(tensors)[rng.integers(len(tensors))]
    array = tensors[name].copy()
    if array.dtype.kind == "i":
        near = int(array[rng.integers(len(array))]) + int(rng.integers(-2, 3))
        values = [-(2**31), -2, -1, 0, 1, 2, 5, 6, len(array), 2**31 - 1, near, near, near]
    else:
        values = [math.nan, math.inf, -math.inf, 0.0, -0.0, 1e308, 1e38, -1e38, 1e-45, 1.0]
    chosen = rng.integers(len(array), size=rng.integers(1, 4))
    with np.errstate(over="ignore"):
        array[chosen] = np.array(values)[rng.integers(len(values), size=len(chosen))]
    if rng.random() < 0.1:
        array = [array[:-1], array[1:], np.tile(array, 2), array[:, None]][rng.integers(4)]
    tensors[name] = np.ascontiguousarray(array)
    if rng.random() < 0.1:
        tensors = {k: np.tile(v, 300) for k, v in tensors.items()}
    return safetensors.numpy.save(tensors, metadata=header["__metadata__"])


MUTATORS = {
    flip_bits: 800,
    cut_or_stuff: 300,
    edit_header: 500,
    edit_length: 50,
    edit_record: 500,
    edit_tensors: 700,
}


@pytest.mark.parametrize(("mutate", "n"), MUTATORS.items(), ids=lambda x: getattr(x, "__name__", x))
def test_damaged_model_files_do_no_harm(tmp_path, saved, problems, mutate, n):
    old = without_checksum(saved)
    assert sum(MUTATORS.values()) >= 2000
    path = tmp_path / "model"
    rng = np.random.default_rng(1)
    path.write_bytes(saved)
    load(path).predict(problems)  # what is compiled and imported on the way is not theirs
    refused = accepted = 0
    tracemalloc.start()
    try:
        for i in range(n):
            data = mutate(rng, old)
            path.write_bytes(data)
            start = time.perf_counter()
            try:
                survives(load(path), problems)
            except ModelFileError as error:
                refused += str(path) in str(error)
            except Exception as error:
                pytest.fail(f"{mutate.__name__} {i}: {type(error).__name__}: {error}")
            else:
                accepted += 1
            assert time.perf_counter() - start < 5
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert refused + accepted == n
    assert refused > n / 4
    assert peak < 200e6


def survives(model: StructuredGradientBoosting, problems: Problems) -> None:
    """A file that was let in holds a model that answers, however wrongly."""
    if (model.model.n_local, model.model.n_pair) != (problems.n_local, problems.n_pair):
        with pytest.raises(ProblemsError, match="the model was trained with"):
            model.decode(problems)
        return
    decoding = model.decode(problems, n_best=2)
    sizes = np.diff(problems.candidate_offsets)
    assert ((decoding.choices >= -1) & (decoding.choices < np.maximum(sizes, 1))).all()
    model.score(replace(problems, gold=problems.gold))


# No pickle


def test_nothing_is_pickled():
    forbidden = {"pickle", "cPickle", "joblib", "shelve", "dill", "cloudpickle", "marshal"}
    files = list(Path(sgtb.__file__).parent.rglob("*.py"))
    assert len(files) > 10
    for file in files:
        source = file.read_text()
        assert "allow_pickle" not in source, file
        for node in ast.walk(ast.parse(source)):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            assert not forbidden & {name.split(".")[0] for name in names}, file


def test_roots_that_overflow_are_refused():
    """Differences of such offsets wrap around in 32 bits and look like those of a real forest."""
    roots = np.array([0, 2**31 - 1, -(2**31), -1, 1, 2, 3], np.int32)
    forest = Forest(
        roots, np.full(3, -1, np.int32), np.zeros(3, np.float32), np.zeros(3, np.int32), np.zeros(3)
    )
    with pytest.raises(ModelFileError, match="root offsets"):
        check_forest(forest, 4)
