"""Candidates of names: the kernel, a slow twin, and arrays that do not fit."""

import struct

import numpy as np
import pytest

from sgtb.native import read_candidates


def stored(rng, n, sources):
    """A stored value: a head of two numbers, pairs of entity and prior, and counts."""
    pairs = [(int(rng.integers(100)), float(np.float32(rng.random()))) for _ in range(n)]
    counts = rng.integers(0, 2, (n, sources))
    head = struct.pack("<2I", *rng.integers(0, 1 << 32, 2).tolist())
    return (
        head
        + b"".join(struct.pack("<If", *pair) for pair in pairs)
        + counts.astype("<u4").tobytes()
    )


def arguments(values, kept, sources, variant):
    offsets = np.cumsum([0, *kept])
    n = offsets[-1]
    return {
        "values": values, "sources": sources, "variant": variant,
        "heads": np.empty((2, len(values)), np.uint32), "offsets": offsets,
        "entity": np.empty(n, np.int32), "prior": np.empty(n, np.float32),
        "only_variant": np.empty(n, np.bool_),
    }  # fmt: skip


@pytest.mark.parametrize("limit", [0, 1, 3, 5])
@pytest.mark.parametrize("seed", range(8))
def test_against_the_twin(seed, limit):
    rng = np.random.default_rng(seed)
    sources = int(rng.integers(1, 4))
    variant = int(rng.integers(-1, sources))
    sizes = rng.integers(0, 5, 20).tolist()
    # LMDB gives memory of any alignment; an unknown name has no value.
    values = [memoryview(b"x" + stored(rng, n, sources))[1:] for n in sizes]
    values[3], sizes[3] = b"", 0
    given = arguments(values, np.minimum(sizes, limit), sources, variant)
    read_candidates(*given.values())
    c = 0
    for i, (value, n) in enumerate(zip(values, sizes, strict=True)):
        head = struct.unpack_from("<2I", value) if value else (0, 0)
        assert given["heads"][:, i].tolist() == list(head)
        for j in range(min(n, limit)):
            pair = struct.unpack_from("<If", value, 8 + 8 * j)
            row = struct.unpack_from(f"<{sources}I", value, 8 + 8 * n + 4 * sources * j)
            others = [count for source, count in enumerate(row) if source != variant]
            assert (given["entity"][c], given["prior"][c]) == pair
            assert given["only_variant"][c] == (variant >= 0 and not any(others))
            c += 1
    assert c == given["offsets"][-1]


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("values", lambda some: [some[0], some[1][:-1]]),
        ("values", lambda some: [some[0][:5], some[1]]),
        ("offsets", lambda a: a[:-1]),
        ("offsets", lambda a: a[::-1].copy()),
        ("offsets", lambda a: a[:0]),
        ("offsets", lambda a: np.array([0, 3, 5])),
        ("heads", lambda a: a[:, :-1].copy()),
        ("heads", lambda a: a[:1].copy()),
        ("prior", lambda a: a[:-1]),
        ("only_variant", lambda a: a[:-1]),
        ("sources", lambda n: -1),
    ],
)
def test_arrays_that_do_not_fit_are_refused(name, change):
    rng = np.random.default_rng(0)
    given = arguments([stored(rng, n, 2) for n in (2, 3)], [2, 3], 2, 1)
    given[name] = change(given[name])
    with pytest.raises(ValueError, match=name):
        read_candidates(*given.values())


@pytest.mark.parametrize("values", [5, ["text"], [np.zeros(8)]])
def test_values_that_are_no_bytes_are_refused(values):
    given = arguments([], [], 1, -1)
    with pytest.raises(TypeError, match="values"):
        read_candidates(*(given | {"values": values}).values())
