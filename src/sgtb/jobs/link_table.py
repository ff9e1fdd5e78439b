"""Links of many documents as one Arrow table, and as the bytes of a Parquet file."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sgtb.core.errors import import_extra
from sgtb.jobs.arrow_arrays import lists, numbers, pa, strings
from sgtb.linking.links import LinkedDocument

pq: Any = import_extra("pyarrow.parquet", "dask", "a job needs")

_ALTERNATIVE = pa.struct([("entity", pa.string()), ("probability", pa.float64())])
LINKS = pa.schema(
    [
        ("document", pa.string()), ("start", pa.int32()), ("end", pa.int32()),
        ("text", pa.string()), ("entity", pa.string()), ("confidence", pa.float64()),
        ("alternatives", pa.list_(_ALTERNATIVE)),
    ]
)  # fmt: skip
"""One row per link; a document without links has one row with nulls."""
REJECTED = pa.schema(
    [
        ("document", pa.string()), ("input", pa.string()), ("row", pa.int64()),
        ("reason", pa.string()),
    ]
)  # fmt: skip


class Rejection(NamedTuple):
    """A document without output."""

    document: str
    input: str
    row: int  # number of its line or row in the input, from 1
    reason: str


def link_table(documents: Sequence[LinkedDocument]) -> Any:
    """Return the links of documents, in order."""
    columns = [document.columns for document in documents]
    counts = np.array([len(one.starts) for one in columns], np.int64)
    rows = np.maximum(counts, 1)
    linked = np.repeat(counts > 0, rows)  # False: the row of a document without links
    ids = [document.id for document in documents]
    alternatives = pa.StructArray.from_arrays(
        [
            strings([id for one in columns for id, _, _ in one.entities]),
            numbers(_joined((one.probability for one in columns), np.float64)),
        ],
        fields=list(_ALTERNATIVE),
    )
    arrays = [
        strings([ids[i] for i in np.repeat(np.arange(len(ids)), rows)]),
        numbers(np.array([n for one in columns for n in one.starts], np.int32), linked),
        numbers(np.array([n for one in columns for n in one.ends], np.int32), linked),
        strings([text for one in columns for text in one.texts], linked),
        strings([id for one in columns for id, _, _ in one.answers], linked),
        numbers(_joined((one.confidence for one in columns), np.float64), linked),
        lists(alternatives, _joined((one.shown for one in columns), np.int64), linked),
    ]
    return pa.Table.from_arrays(arrays, schema=LINKS)


def rejected_table(rejected: Sequence[Rejection]) -> Any:
    """Return rejected documents as a table."""
    arrays = [
        strings([one.document for one in rejected]),
        strings([one.input for one in rejected]),
        numbers(np.array([one.row for one in rejected], np.int64)),
        strings([one.reason for one in rejected]),
    ]
    return pa.Table.from_arrays(arrays, schema=REJECTED)


def to_parquet(table: Any) -> bytes:
    """Return the bytes of a Parquet file; equal tables give equal bytes."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    return bytes(sink.getvalue())


def _joined(columns: Iterable[bytes], dtype: type[np.generic]) -> npt.NDArray[Any]:
    return np.frombuffer(b"".join(columns), dtype)
