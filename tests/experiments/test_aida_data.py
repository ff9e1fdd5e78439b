"""AIDA's data: read, featured, cached; and what of dev and test must not reach training."""

import lzma
from dataclasses import replace

import numpy as np
import pytest

from experiments import aida_data
from experiments.aida_data import SPLITS, AidaData, Packer, default_cache
from sgtb.core.errors import CorpusError, SettingsError
from sgtb.core.records import NIL
from sgtb.core.tensor_file import read_tensors, write_tensors
from sgtb.linking.features.feature_matrix import Featurizer
from sgtb.linking.features.schema import SCHEMA
from tests.helpers.corpus_files import ANNOTATION_FILE, aida_files, packed, ppr_files, write
from tests.helpers.experiment_builders import FINGERPRINT, aida_of, make_small, with_oddities
from tests.helpers.linking_builders import (
    document,
    documents,
    entity_table,
    relabelled,
    small_setting,
)


def written(folder):
    """The small corpora of the readers' tests, where AidaData looks for them."""
    write(folder / "aida", aida_files())
    archive = lzma.compress(packed(ppr_files()), preset=0)
    write(folder / "pprforned", {"pprforned.tar.xz": archive})
    return folder


def test_reading_a_small_corpus(tmp_path):
    said = []
    data = AidaData.read(written(tmp_path), said.append)
    assert said == ["reading AIDA-CoNLL and PPRforNED"]
    assert {split: [d.id for d in data.documents(split)] for split in SPLITS} == {
        "train": ["1", "2"], "dev": ["3"], "test": ["4"],
    }  # fmt: skip
    names = {split: [m.text for m in data.candidates[split].mentions] for split in SPLITS}
    assert names == {
        "train": ["Vessa", "Orlan", "Anna\nMeck"], "dev": ["Orlan"], "test": ["Tor 's Bay"],
    }  # fmt: skip
    assert data.folder == tmp_path


@pytest.mark.parametrize(
    "missing", [f"aida/{ANNOTATION_FILE}", "aida/eng.testb", "pprforned/pprforned.tar.xz"]
)
def test_a_missing_file_is_named_with_the_way_out(tmp_path, missing):
    (written(tmp_path) / missing).unlink()
    with pytest.raises(CorpusError, match="there is no such file; --data names") as caught:
        AidaData.read(tmp_path)
    assert str(tmp_path / missing) in str(caught.value)


def test_the_fingerprint_is_that_of_files_and_settings(tmp_path, monkeypatch):
    first = AidaData.read(written(tmp_path / "a")).fingerprint
    assert first == AidaData.read(written(tmp_path / "b")).fingerprint
    file = tmp_path / "b" / "aida" / "eng.testa"
    file.write_bytes(file.read_bytes().replace(b"in IN", b"at IN"))
    assert first != AidaData.read(tmp_path / "b").fingerprint
    monkeypatch.setattr(aida_data, "FOLDS", 2)
    assert first != AidaData.read(tmp_path / "a").fingerprint


def test_answers_are_the_ids_of_the_places_chosen():
    entities = entity_table(["A", "B", "C"], in_links=[1, 2, 3])
    texts = [
        document("1", f"[a|e100||e100,e101] [b|{NIL}||e102] [c|e100||]"),
        document("2", "nothing"),
        document("3", "[d|e102||e100,e102]"),
    ]
    setting = replace(small_setting(), documents={"dev": tuple(texts)}, entities=entities)
    answers = aida_of(setting).answers("dev", np.array([1, -1, 0], np.int32))
    assert answers.documents == ("1", "2", "3")
    # Most in-links first: the second of a's candidates is e100, the first of d's e102.
    assert answers.entities == (("e100", None, None), (), ("e102",))


@pytest.fixture(scope="module")
def setting():
    return with_oddities(small_setting())


@pytest.fixture(autouse=True)
def _small(monkeypatch, setting):
    make_small(monkeypatch, setting.words)


def assert_same_pairs(a, b):
    for name, array in vars(a.pairs).items():
        assert array.tobytes() == getattr(b.pairs, name).tobytes(), name


def assert_equal(a, b):
    for split in SPLITS:
        assert a.features[split].tobytes() == b.features[split].tobytes(), split
        assert a.problems(split).pairs.row.tobytes() == b.problems(split).pairs.row.tobytes(), split
    for name, array in vars(a.pairs).items():
        assert array.tobytes() == getattr(b.pairs, name).tobytes(), name


def test_packing_is_the_same_every_time_and_depends_on_the_seed(setting):
    data = aida_of(setting)
    packer = Packer(data, None)
    first, other, again = packer.pack(0), packer.pack(1), packer.pack(0)
    assert_equal(first, again)
    assert_equal(first, Packer(data, None).pack(0))
    assert first.features["dev"].tobytes() != other.features["dev"].tobytes()
    for split in SPLITS:
        n = packer.segments[split].candidates.n_candidates
        assert first.features[split].shape == (n, len(SCHEMA.features))
    without = first.problems("dev", ["coherence"])
    assert without.n_local == len(SCHEMA.columns_without(["coherence"]))


def no_training(*_):
    raise AssertionError("features were made anew")


def test_the_second_time_features_come_from_the_cache(setting, tmp_path, monkeypatch):
    data, cache = aida_of(setting), tmp_path / "new" / "cache"
    first = Packer(data, cache).pack(0)
    (file,) = cache.iterdir()
    monkeypatch.setattr(Featurizer, "fit", no_training)
    said = []
    assert_equal(first, Packer(data, cache, said.append).pack(0))
    assert said[-1] == f"features, seed 0: from {file}"
    with pytest.raises(AssertionError, match="made anew"):
        Packer(data, cache).pack(1)


def test_without_a_cache_nothing_is_written(setting, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    Packer(aida_of(setting), None).pack(0)
    assert list(tmp_path.iterdir()) == []


def cut(file):
    file.write_bytes(file.read_bytes()[:-1000])


def emptied(file):
    file.write_bytes(b"")


def garbage(file):
    file.write_bytes(bytes(range(256)) * 40)


def foreign(file):
    write_tensors(file, {"x": np.zeros(3)}, {"kind": "problems", "version": 1})


def changed_tensors(change):
    def damage(file):
        tensors, record = read_tensors(file, "aida features", aida_data._VERSION)
        change(tensors, record)
        write_tensors(file, tensors, record)

    return damage


@changed_tensors
def one_row_less(tensors, record):
    tensors["features dev"] = tensors["features dev"][:-1]


@changed_tensors
def one_split_less(tensors, record):
    del tensors["features test"]


@changed_tensors
def one_tensor_more(tensors, record):
    tensors["surprise"] = np.zeros(1)


@changed_tensors
def broken_pairs(tensors, record):
    tensors["link_targets"] += 1_000_000


@changed_tensors
def same_name_other_fingerprint(tensors, record):
    record["fingerprint"] = FINGERPRINT[:16] + "f" * 48


@changed_tensors
def other_version(tensors, record):
    record["version"] += 1


DAMAGES = [
    cut, emptied, garbage, foreign, one_row_less, one_split_less, one_tensor_more, broken_pairs,
    same_name_other_fingerprint, other_version,
]  # fmt: skip


@pytest.fixture(scope="module")
def cached(setting, tmp_path_factory):
    """A cache with one file, and what was put into it."""
    with pytest.MonkeyPatch.context() as patch:
        make_small(patch, setting.words)
        folder = tmp_path_factory.mktemp("cache")
        return folder, Packer(aida_of(setting), folder).pack(0)


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_made_anew(setting, cached, damage):
    folder, expected = cached
    (file,) = folder.iterdir()
    whole = file.read_bytes()
    damage(file)
    assert file.read_bytes() != whole
    said = []
    assert_equal(expected, Packer(aida_of(setting), folder, said.append).pack(0))
    assert not any("from" in line for line in said)
    assert file.read_bytes() == whole


def test_another_fingerprint_does_not_find_the_file(setting, cached, monkeypatch):
    folder, _ = cached
    monkeypatch.setattr(Featurizer, "fit", no_training)
    with pytest.raises(AssertionError, match="made anew"):
        Packer(aida_of(setting, "f" * 64), folder).pack(0)
    Packer(aida_of(setting), folder).pack(0)


def test_the_cache_is_in_its_usual_place(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_cache() == tmp_path / "sgtb"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_cache() == tmp_path / ".cache" / "sgtb"


def test_too_few_topics_are_refused_in_words(setting, monkeypatch):
    monkeypatch.setattr(aida_data, "FOLDS", 50)
    with pytest.raises(SettingsError, match="cannot be dealt into 50 folds"):
        Packer(aida_of(setting), None).pack(0)


# Leaks, seen from the packed features.


def packed_with(setting, **texts):
    data = aida_of(replace(setting, documents={**setting.documents, **texts}))
    return Packer(data, None).pack(0)


def test_texts_of_dev_and_test_reach_no_training_feature(setting):
    others = documents(7, "dev", 30)
    before, after = packed_with(setting), packed_with(setting, dev=others, test=others[::-1])
    assert before.features["train"].tobytes() == after.features["train"].tobytes()
    assert before.features["dev"].shape != after.features["dev"].shape
    assert_same_pairs(before, after)


def test_labels_of_dev_and_test_reach_no_feature(setting):
    blind = {s: tuple(map(relabelled, setting.documents[s])) for s in ("dev", "test")}
    before, after = packed_with(setting), packed_with(setting, **blind)
    assert_equal(before, after)
    assert (before.problems("dev").gold != after.problems("dev").gold).any()


def test_labels_of_real_dev_and_texts_of_real_test_reach_no_feature(sample, monkeypatch):
    make_small(monkeypatch, sample.words)
    blind = tuple(map(relabelled, sample.documents["dev"]))
    before = packed_with(sample)
    after = packed_with(sample, dev=blind, test=sample.documents["dev"][5:9])
    for split in ("train", "dev"):
        assert before.features[split].tobytes() == after.features[split].tobytes()
    assert (before.problems("dev").gold != after.problems("dev").gold).any()
    assert before.features["test"].shape != after.features["test"].shape
    assert_same_pairs(before, after)
