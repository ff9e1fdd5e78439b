"""Packed features are the same bytes in another process, with any number of threads."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from experiments.aida_data import SPLITS, Packer
from sgtb.core.sparse_matrix import SparseMatrix, latent_directions
from sgtb.linking.entities.background import Background
from tests.helpers.experiment_builders import aida_of, make_small
from tests.helpers.linking_builders import small_setting

ROOT = Path(__file__).parents[2]


def digest() -> str:
    """Of everything packed, and of a factorisation large enough for several threads."""
    setting = small_setting()
    with pytest.MonkeyPatch.context() as patch:
        make_small(patch, setting.words)
        packed = Packer(aida_of(setting), None).pack(0)
    found = hashlib.sha256()
    for split in SPLITS:
        found.update(packed.features[split].tobytes())
    for array in vars(packed.pairs).values():
        found.update(array.tobytes())
    rng = np.random.default_rng(0)
    n = 20_000
    large = SparseMatrix.of(
        rng.integers(0, 2000, n), rng.integers(0, 1500, n), rng.random(n), (2000, 1500)
    )
    topics = Background(setting.lexicon, *latent_directions(large, 32, 0), 0.0)
    found.update(topics.topic_vectors(large).tobytes())
    return found.hexdigest()


def test_the_same_bytes_with_any_number_of_threads():
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    command = "from tests.experiments.test_threads import digest; print(digest())"
    others = [
        subprocess.Popen(
            [sys.executable, "-c", command], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, cwd=ROOT, env={**os.environ, **dict.fromkeys(names, threads)},
        )
        for threads in ("1", "2")
    ]  # fmt: skip
    here = digest()
    for other in others:
        out, err = other.communicate(timeout=600)
        assert other.returncode == 0, err
        assert out.strip() == here
