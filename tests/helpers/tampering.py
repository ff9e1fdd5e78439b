"""Tampering: damage to the files of a knowledge base that looks as good as damage can."""

import json
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import lmdb
import numpy as np
import numpy.typing as npt

from sgtb.kb.layout import COLUMNS, DTYPES, HEADER, PATCH, ROW


def data_of(place: Path) -> Path:
    """The one data folder of a knowledge base."""
    (folder,) = place.glob("data-*")
    return folder


def without_sums(place: Path) -> None:
    """Delete the checksums, so that damage is found by what uses it."""
    (data_of(place) / "sums.json").unlink(missing_ok=True)


def column(place: Path, name: str) -> Path:
    assert name in COLUMNS
    return data_of(place) / f"{name}.bin"


@contextmanager
def tables(place: Path) -> Iterator[Callable[[str], dict[bytes, bytes]]]:
    """Give the tables of names.mdb as dictionaries, and write them back."""
    path = data_of(place) / "names.mdb"
    without_sums(place)
    with lmdb.open(str(path), subdir=False, map_size=1 << 30, max_dbs=8) as env:
        held: dict[str, dict[bytes, bytes]] = {}
        with env.begin(write=True) as transaction:

            def table(name: str) -> dict[bytes, bytes]:
                handle = env.open_db(name.encode(), transaction)
                held[name] = dict(transaction.cursor(handle))
                return held[name]

            yield table
            for name, items in held.items():
                handle = env.open_db(name.encode(), transaction)
                transaction.drop(handle, delete=False)
                for key, value in items.items():
                    transaction.put(key, value, db=handle)


@contextmanager
def state(place: Path) -> Iterator[dict[str, Any]]:
    """Give the state record of a knowledge base, and write it back."""
    path = data_of(place) / "names.mdb"
    without_sums(place)
    with lmdb.open(str(path), subdir=False, map_size=1 << 30, max_dbs=8) as env:
        with env.begin() as transaction:
            fields = json.loads(transaction.get(b"state"))
        yield fields
        with env.begin(write=True) as transaction:
            transaction.put(b"state", json.dumps(fields).encode())


@contextmanager
def items(place: Path, name: str, dimensions: int = 1) -> Iterator[npt.NDArray[Any]]:
    """Give the items of a column, and write them back with a checksum that fits."""
    path = column(place, name)
    head, body = path.read_bytes()[: HEADER.size], path.read_bytes()[HEADER.size :]
    found = np.frombuffer(body, DTYPES[name]).copy()
    yield found.reshape(-1, dimensions) if name in ("vectors", "words") else found
    path.write_bytes(head + found.tobytes())
    with state(place) as fields:
        fields["columns"][name]["crc"] = zlib.crc32(found.tobytes())


@contextmanager
def patched_row(place: Path, number: int) -> Iterator[npt.NDArray[Any]]:
    """Give the row of an entity, and put it among the changed ones."""
    path = column(place, "entities")
    rows = np.frombuffer(path.read_bytes()[HEADER.size :], ROW)
    row = rows[number : number + 1].copy()
    yield row
    with tables(place) as table:
        table("rows")[PATCH.pack(number)] = row.tobytes()
