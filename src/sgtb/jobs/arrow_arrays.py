"""Arrow arrays of plain values, made of buffers.

`pa.array` imports pandas where it is installed, and `Array.take` imports pyarrow.compute: in every
process of a job, that takes as long as linking hundreds of documents.

present  bool[rows], the rows that have a value; all others are null. None: all rows have one
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sgtb.core.dtypes import Bools
from sgtb.core.errors import JobError, import_extra

pa: Any = import_extra("pyarrow", "dask", "a job needs")


def strings(values: Sequence[str | None], present: Bools | None = None) -> Any:
    """Return an array of strings; None is null."""
    encoded = [b"" if value is None else value.encode() for value in values]
    sizes = np.array([len(one) for one in encoded], np.int32)
    valid = _rows(np.array([value is not None for value in values], bool), present)
    buffers = [_bits(valid), _offsets(_rows(sizes, present)), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.string(), len(valid), buffers)


def numbers(values: npt.NDArray[Any], present: Bools | None = None) -> Any:
    """Return an array of the numbers' type."""
    rows = _rows(values, present)
    buffers = [_bits(present), pa.py_buffer(rows)]
    return pa.Array.from_buffers(pa.from_numpy_dtype(rows.dtype), len(rows), buffers)


def lists(inner: Any, sizes: npt.NDArray[Any], present: Bools | None = None) -> Any:
    """Return an array of lists of so many consecutive values of an array."""
    rows = _rows(sizes, present)
    buffers = [_bits(present), _offsets(rows)]
    return pa.Array.from_buffers(pa.list_(inner.type), len(rows), buffers, children=[inner])


def _rows(values: npt.NDArray[Any], present: Bools | None) -> npt.NDArray[Any]:
    """Return a value per row; 0 where there is none."""
    if present is None:
        return values
    rows = np.zeros(len(present), values.dtype)
    rows[present] = values
    return rows


def _bits(present: Bools | None) -> Any:
    """Return the bits of the rows that are not null; None if all are not."""
    if present is None or present.all():
        return None
    return pa.py_buffer(np.packbits(present, bitorder="little"))


def _offsets(sizes: npt.NDArray[Any]) -> Any:
    offsets = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
    if offsets[-1] > np.iinfo(np.int32).max:
        raise JobError("the links of a part take more than 2 GB; make parts smaller")
    return pa.py_buffer(offsets.astype(np.int32))
