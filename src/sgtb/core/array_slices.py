"""Slices: parts of an array, copied one after the other."""

import numpy as np

from sgtb.core.dtypes import Longs
from sgtb.core.ragged import Items, Ragged
from sgtb.native import copy_slices


def sliced(items: Items, starts: Longs, ends: Longs) -> Ragged:
    """Return slices of an array as lists, like `gathered` but faster."""
    offsets = np.zeros(len(starts) + 1, np.int64)
    np.cumsum(ends - starts, out=offsets[1:])
    out = np.empty(offsets[-1], items.dtype)
    copy_slices(items.view(np.uint8), items.itemsize, starts, offsets, out.view(np.uint8))
    return Ragged(offsets, out)
