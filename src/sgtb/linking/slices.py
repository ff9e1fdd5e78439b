"""Slices: parts of an array, copied one behind the other.

What `gathered` does, by a kernel and in a third of the time.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from sgtb.kernels import kernel
from sgtb.learn.dtypes import Longs
from sgtb.ragged import Items, Ragged


def sliced(items: Items, starts: Longs, ends: Longs) -> Ragged:
    """Return slices of an array, of numbers of four or eight bytes, as lists."""
    offsets = np.zeros(len(starts) + 1, np.int64)
    np.cumsum(ends - starts, out=offsets[1:])
    out = np.empty(offsets[-1], items.dtype)
    as_bits = np.dtype(f"u{items.itemsize}")  # so that there are two kernels, not six
    copy_slices(items.view(as_bits), starts, offsets, out.view(as_bits))
    return Ragged(offsets, out)


@kernel
def copy_slices(
    items: npt.NDArray[Any], starts: Longs, offsets: Longs, out: npt.NDArray[Any]
) -> None:
    """Copy slices of `items` to where they begin in `out`."""
    for r in range(starts.shape[0]):
        n = offsets[r + 1] - offsets[r]
        some, copied = items[starts[r] : starts[r] + n], out[offsets[r] : offsets[r] + n]
        for i in range(n):
            copied[i] = some[i]
