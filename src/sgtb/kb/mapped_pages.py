"""Release of memory-mapped pages.

The system reclaims them when it needs memory, but until then they count as memory of the process.
"""

import ctypes
import mmap
from pathlib import Path
from typing import Any

import numpy as np

_MAPS = Path("/proc/self/maps")


def release_array(array: Any) -> None:
    """Release the pages of a memory-mapped array that was not written to, or of a view of it."""
    mapped = array if isinstance(array, np.memmap) else array.base
    if isinstance(mapped, np.memmap) and hasattr(mmap, "MADV_DONTNEED"):
        mapped._mmap.madvise(mmap.MADV_DONTNEED)  # type: ignore[attr-defined]


def release_file(path: Path) -> None:
    """Release the pages of a file that a library has mapped (Linux only)."""
    if not _MAPS.exists() or not hasattr(mmap, "MADV_DONTNEED"):
        return
    name = str(path.resolve())
    advise = ctypes.CDLL(None).madvise
    advise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    for line in _MAPS.read_text("utf-8", "surrogateescape").splitlines():
        if line.endswith(name) and line.split(maxsplit=5)[5:] == [name]:
            begin, end = (int(part, 16) for part in line.split(maxsplit=1)[0].split("-"))
            advise(begin, end - begin, mmap.MADV_DONTNEED)
