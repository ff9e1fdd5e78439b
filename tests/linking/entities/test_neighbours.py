"""Links among the entities at hand, against sets of pairs."""

import numpy as np
import pytest

from sgtb.core.ragged import Ragged
from sgtb.linking.entities.entity_facts import neighbours


@pytest.mark.parametrize("seed", range(10))
def test_neighbours_are_sorted_mutual_and_counted_once(seed):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 40)) if seed else 0
    number = np.sort(rng.choice(1 << 31 if seed % 2 else 60, size, replace=False)).astype(np.int32)
    row = {int(n): r for r, n in enumerate(number)}
    strangers = rng.integers(0, 1 << 31, 20).tolist()
    linked = [rng.choice([*number, *strangers], rng.integers(0, 9)).tolist() for _ in number]
    found = neighbours(number, Ragged.of(linked, np.int32))
    pairs = {(r, row[n]) for r, others in enumerate(linked) for n in others if n in row}
    pairs |= {(b, a) for a, b in pairs}
    expected = [sorted(b for a, b in pairs if a == r) for r in range(size)]
    assert found.n_rows == found.n_columns == size
    rows = [found.indices[found.indptr[r] : found.indptr[r + 1]].tolist() for r in range(size)]
    assert rows == expected
    assert found.data.tolist() == [1.0] * len(pairs)
