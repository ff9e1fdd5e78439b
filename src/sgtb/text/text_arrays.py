"""Texts: many short texts as slices of one array, for kernels."""

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np
import numpy.typing as npt


class Texts(NamedTuple):
    """UTF-8 texts: text i is data[starts[i] : ends[i]].

    data    u1
    starts  i8[n]
    ends    i8[n]
    """

    data: npt.NDArray[np.uint8]
    starts: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]

    @classmethod
    def of(cls, strings: Sequence[str]) -> "Texts":
        """Encode strings, one after the other."""
        parts = [string.encode("utf-8", "surrogatepass") for string in strings]
        offsets = np.fromiter(accumulate(map(len, parts), initial=0), np.int64, len(parts) + 1)
        return cls(np.frombuffer(b"".join(parts), np.uint8), offsets[:-1], offsets[1:])

    def strings(self) -> list[str]:
        """Return the texts as strings."""
        data = self.data.data if len(self.data) else memoryview(b"")
        return [
            str(data[start:end], "utf-8")
            for start, end in zip(self.starts.tolist(), self.ends.tolist(), strict=True)
        ]
