"""Candidates of names: the kernel, a slow twin, and arrays that do not fit."""

import numpy as np
import pytest

from sgtb.native import read_candidates


def values(rng, sizes, sources):
    """Stored values: heads of two words, pairs of entity and prior, and counts."""
    parts, starts, counts, at = [], [], [], 0
    for n in sizes:
        pairs = np.empty((n, 2), np.uint32)
        pairs[:, 0] = rng.integers(0, 100, n)
        pairs[:, 1] = rng.random(n, np.float32).view(np.uint32)
        starts.append(at + 2)
        counts.append(at + 2 + 2 * n)
        table = rng.integers(0, 2, (n, sources)).astype(np.uint32)
        parts += [np.zeros(2, np.uint32), pairs.ravel(), table.ravel()]
        at += 2 + (2 + sources) * n
    return np.concatenate(parts), np.array(starts), np.array(counts)


def arguments(rng, sizes, sources, variant):
    offsets = np.cumsum([0, *sizes])
    n = offsets[-1]
    return {
        **dict(zip(("words", "starts", "counts"), values(rng, sizes, sources), strict=True)),
        "sources": sources, "variant": variant, "offsets": offsets,
        "entity": np.empty(n, np.int32), "prior": np.empty(n, np.float32),
        "only_variant": np.empty(n, np.bool_),
    }  # fmt: skip


@pytest.mark.parametrize("seed", range(8))
def test_against_the_twin(seed):
    rng = np.random.default_rng(seed)
    sources = int(rng.integers(1, 4))
    variant = int(rng.integers(-1, sources))
    given = arguments(rng, rng.integers(0, 5, 20), sources, variant)
    read_candidates(*given.values())
    words, c = given["words"], 0
    for start, at, n in zip(
        given["starts"], given["counts"], np.diff(given["offsets"]), strict=True
    ):
        for j in range(n):
            assert given["entity"][c] == words[start + 2 * j]
            assert given["prior"][c] == words[start + 2 * j + 1].view(np.float32)
            row = words[at + sources * j : at + sources * (j + 1)]
            others = [count for source, count in enumerate(row) if source != variant]
            assert given["only_variant"][c] == (variant >= 0 and not any(others))
            c += 1


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("starts", lambda a: a + 10**6),
        ("starts", lambda a: -a - 1),
        ("counts", lambda a: a + 10**6),
        ("counts", lambda a: -a),
        ("counts", lambda a: a[:-1]),
        ("offsets", lambda a: a[:-1]),
        ("offsets", lambda a: a[::-1].copy()),
        ("offsets", lambda a: a[:0]),
        ("prior", lambda a: a[:-1]),
        ("only_variant", lambda a: a[:-1]),
        ("sources", lambda n: -1),
    ],
)
def test_arrays_that_do_not_fit_are_refused(name, change):
    given = arguments(np.random.default_rng(0), [2, 3], 2, 1)
    given[name] = change(given[name])
    with pytest.raises(ValueError, match=name):
        read_candidates(*given.values())
