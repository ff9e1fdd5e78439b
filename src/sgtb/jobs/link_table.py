"""Links of many documents as one Arrow table, and as the bytes of a Parquet file."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from sgtb.core.errors import import_extra
from sgtb.linking.links import LinkedDocument

pa: Any = import_extra("pyarrow", "dask", "a job needs")
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
    counts = [len(one.starts) for one in columns]
    ids = pa.array([document.id for document in documents], pa.string())
    # Rows of links; a document without links has one that takes nulls.
    rows = np.maximum(counts, 1) if counts else np.zeros(0, np.int64)
    owner = np.repeat(np.arange(len(counts)), rows)
    filled = np.repeat(np.array(counts, np.int64) > 0, rows)
    place = pa.array(np.cumsum(filled) - 1, mask=~filled)
    shown = np.frombuffer(b"".join(one.shown for one in columns), np.int64)
    flat = {
        "start": pa.array([n for one in columns for n in one.starts], pa.int32()),
        "end": pa.array([n for one in columns for n in one.ends], pa.int32()),
        "text": pa.array([text for one in columns for text in one.texts], pa.string()),
        "entity": pa.array([id for one in columns for id, _, _ in one.answers], pa.string()),
        "confidence": _numbers(one.confidence for one in columns),
        "alternatives": pa.ListArray.from_arrays(
            pa.array(list(accumulate(shown.tolist(), initial=0)), pa.int32()),
            pa.StructArray.from_arrays(
                [
                    pa.array([id for one in columns for id, _, _ in one.entities], pa.string()),
                    _numbers(one.probability for one in columns),
                ],
                fields=list(_ALTERNATIVE),
            ),
        ),
    }
    taken = [ids.take(pa.array(owner)), *(column.take(place) for column in flat.values())]
    return pa.Table.from_arrays(taken, schema=LINKS)


def rejected_table(rejected: Sequence[Rejection]) -> Any:
    """Return rejected documents as a table."""
    columns = zip(*rejected, strict=True) if rejected else [()] * len(REJECTED)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, REJECTED, strict=True)]
    return pa.Table.from_arrays(arrays, schema=REJECTED)


def to_parquet(table: Any) -> bytes:
    """Return the bytes of a Parquet file; equal tables give equal bytes."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    return bytes(sink.getvalue())


def _numbers(columns: Any) -> Any:
    return pa.array(np.frombuffer(b"".join(columns), np.float64))
