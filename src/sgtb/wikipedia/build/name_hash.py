"""Hashes of names: 64 bits that stand for the words of a name, in text as in the index.

The hash of a name is made of the hashes of its words, so that a walk over a text reads each
word once, however many names may begin with it.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sgtb.native import hash_names

Hashes = npt.NDArray[np.uint64]


def name_hashes(names: Sequence[str]) -> Hashes:
    """Return the hashes of names in normal form."""
    encoded = [name.encode() for name in names]
    offsets = np.zeros(len(names) + 1, np.int64)
    np.cumsum([len(name) for name in encoded], out=offsets[1:])
    out = np.empty(len(names), np.uint64)
    hash_names(b"".join(encoded), offsets, out)
    return out
