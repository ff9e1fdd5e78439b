"""Inputs of a job: JSONL and Parquet files, local or by URL, cut into parts and read again.

A part is a range of bytes: whole lines, or whole row groups. Its hash stands in the manifest, and
is compared whenever the part is read.
"""

import codecs
import hashlib
import io
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, BinaryIO, NamedTuple, cast

from sgtb.core.errors import JobError, RequestError, import_extra
from sgtb.jobs.arrow_arrays import pa
from sgtb.jobs.link_table import pq
from sgtb.linking.links import Request
from sgtb.linking.request_json import request_of, request_of_fields

PART_BYTES = 4_000_000  # default size of a part; about ten seconds of work
_BLOCK = 1 << 20
_MAGIC = b"PAR1"
_COMPRESSED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd")
_BYTES_PER_CHARACTER, _OVERHEAD = 12, 1 << 16
"""Bytes of a line: a character as two escapes, and all besides the text."""
_COLUMNS = ("text", "id", "mentions")
_ROWS = 64


@dataclass(frozen=True)
class Part:
    """A range of an input."""

    input: str  # path or URL, as given
    start: int
    stop: int
    first: int  # number of its first line or row, from 1
    rows: int
    sha256: str
    groups: tuple[int, int] | None = None  # its row groups, first and last + 1; None: lines


class Item(NamedTuple):
    """A document of a part: its request, or the reason why there is none."""

    id: str
    row: int  # number of its line or row
    request: Request | None
    reason: str = ""


def cut(inputs: Sequence[str], part_bytes: int = PART_BYTES) -> Iterator[Part]:
    """Cut inputs into parts of about the same size."""
    for name in inputs:
        with open_input(name) as file:
            head = file.read(8)
            if head.startswith(_COMPRESSED):
                raise JobError(
                    f"{name}: compressed, so that it cannot be cut into parts; unpack it, or "
                    "convert it to Parquet"
                )
            if head.startswith(_MAGIC):
                with _errors_of(name):
                    yield from _cut_rows(name, file, part_bytes)
            else:
                yield from _cut_lines(name, file, part_bytes)


def read_part(part: Part, place: str) -> bytes:
    """Read the bytes of a part from a path or URL; of Parquet the footer of the file follows."""
    with open_input(place) as file:
        file.seek(part.start)
        data = file.read(part.stop - part.start)
        return data if part.groups is None else data + _footer(file, part.input)


def items_of(part: Part, source: str | bytes, max_characters: int) -> Iterator[Item]:
    """Yield the documents of a part, from a path, URL or its bytes; raise if it has changed."""
    if part.groups is not None:
        data = source if isinstance(source, bytes) else read_part(part, source)
        with _errors_of(part.input):
            yield from _row_items(part, data)
    elif isinstance(source, bytes):
        yield from _line_items(part, io.BytesIO(source), max_characters)
    else:
        with open_input(source) as file:
            file.seek(part.start)
            yield from _line_items(part, file, max_characters)


def open_input(name: str) -> BinaryIO:
    """Open a local file, or a URL by fsspec."""
    if "://" not in name:
        if os.path.isdir(name):
            raise JobError(f"{name}: a folder; name the files in it")
        return open(name, "rb")
    fsspec = import_extra("fsspec", "dask", "a URL as input needs")
    try:
        return cast(BinaryIO, fsspec.open(name, "rb").open())
    except (ImportError, ValueError) as error:
        raise JobError(f"{name}: cannot be opened: {error}") from None


# JSON Lines


def _cut_lines(name: str, file: BinaryIO, part_bytes: int) -> Iterator[Part]:
    size, start, first = file.seek(0, io.SEEK_END), 0, 1
    while start < size:
        stop = _end_of_line(file, min(start + part_bytes, size), size)
        digest, rows, block = hashlib.sha256(), 0, b""
        file.seek(start)
        for block in _blocks(file, stop - start):
            digest.update(block)
            rows += block.count(b"\n")
        rows += not block.endswith(b"\n")
        yield Part(name, start, stop, first, rows, digest.hexdigest())
        start, first = stop, first + rows


def _end_of_line(file: BinaryIO, position: int, size: int) -> int:
    """Return the end of the line that has the byte before `position`."""
    at = position - 1
    file.seek(at)
    for block in _blocks(file, size - at):
        found = block.find(b"\n")
        if found >= 0:
            return at + found + 1
        at += len(block)
    return size


def _blocks(file: BinaryIO, size: int) -> Iterator[bytes]:
    while size > 0 and (block := file.read(min(_BLOCK, size))):
        size -= len(block)
        yield block


def _line_items(part: Part, file: BinaryIO, max_characters: int) -> Iterator[Item]:
    left, row, digest = part.stop - part.start, part.first - 1, hashlib.sha256()
    most = _BYTES_PER_CHARACTER * max_characters + _OVERHEAD
    while left > 0 and (line := file.readline(min(most + 1, left))):
        row, left = row + 1, left - len(line)
        digest.update(line)
        whole = len(line) <= most
        while not whole and not line.endswith(b"\n") and left > 0:  # the rest of a long line
            if not (line := file.readline(min(_BLOCK, left))):
                break
            left -= len(line)
            digest.update(line)
        id = f"{part.input}:{row}"
        if not whole:
            limit = f"longer than the limit of {max_characters:,} characters per document"
            yield Item(id, row, None, limit)
        elif line.strip():
            yield _line_item(line.removeprefix(codecs.BOM_UTF8) if row == 1 else line, id, row)
    _check(part, digest.hexdigest())


def _line_item(line: bytes, id: str, row: int) -> Item:
    try:
        return _item(request_of(line.decode(), f"line {row}", id), row)
    except UnicodeDecodeError as error:
        return Item(id, row, None, f"line {row}: byte {error.start:,} is not UTF-8")
    except RequestError as error:
        with suppress(ValueError, RecursionError):
            id = _given_id(json.loads(line), id)
        return Item(id, row, None, str(error))


def _given_id(fields: Any, id: str) -> str:
    """Return the id that a document without request gives, or else the default."""
    given = fields.get("id") if isinstance(fields, dict) else None
    plain = isinstance(given, str | int) and str(given).isprintable()  # so without surrogates
    return str(given) if plain else id


def _item(request: Request, row: int) -> Item:
    try:
        request.id.encode()
    except UnicodeEncodeError:
        id = request.id.encode(errors="replace").decode()
        return Item(id, row, None, f'row {row}: "id" has a lone surrogate')
    return Item(request.id, row, request)


# Parquet


@contextmanager
def _errors_of(name: str) -> Iterator[None]:
    """Raise a JobError for what Arrow cannot read. Its errors may have several lines."""
    try:
        yield
    except JobError:
        raise
    except (pa.ArrowException, OSError, ValueError, MemoryError) as error:
        raise JobError(f"{name}: damaged Parquet: {' '.join(str(error).split())}") from None


def _cut_rows(name: str, file: BinaryIO, part_bytes: int) -> Iterator[Part]:
    metadata = pq.read_metadata(pa.BufferReader(_footer(file, name)))
    names = metadata.schema.to_arrow_schema().names
    if "text" not in names:
        raise JobError(f'{name}: no column "text"; it has {", ".join(names)}')
    if repeated := [one for one in _COLUMNS if names.count(one) > 1]:
        raise JobError(f'{name}: {names.count(repeated[0])} columns "{repeated[0]}"; rename them')
    _check_columns(metadata)
    begin, row = 0, 1
    for group in range(metadata.num_row_groups):
        start, stop = _range(metadata, begin)[0], _range(metadata, group)[1]
        if stop - start < part_bytes and group + 1 < metadata.num_row_groups:
            continue
        rows = sum(metadata.row_group(i).num_rows for i in range(begin, group + 1))
        file.seek(start)
        digest = hashlib.sha256()
        for block in _blocks(file, stop - start):
            digest.update(block)
        yield Part(name, start, stop, row, rows, digest.hexdigest(), (begin, group + 1))
        row, begin = row + rows, group + 1


def _range(metadata: Any, group: int) -> tuple[int, int]:
    """Return first and last byte + 1 of a row group."""
    found = metadata.row_group(group)
    columns = [found.column(i) for i in range(found.num_columns)]
    starts = [
        min(column.data_page_offset, column.dictionary_page_offset or column.data_page_offset)
        for column in columns
    ]
    ends = [s + c.total_compressed_size for s, c in zip(starts, columns, strict=True)]
    return min(starts), max(ends)


def _footer(file: BinaryIO, name: str) -> bytes:
    size = file.seek(0, io.SEEK_END)
    file.seek(max(size - 8, 0))
    tail = file.read(8)
    length = int.from_bytes(tail[:4], "little") + 8
    if tail[4:] != _MAGIC or length > size:
        raise JobError(f"{name}: damaged Parquet: no footer")
    file.seek(size - length)
    return file.read(length)


class _Shifted(io.RawIOBase):
    """A range of a file, read at the positions that it has in the file."""

    def __init__(self, data: memoryview, start: int) -> None:
        self._data, self._start, self._at = data, start, start

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._end}[whence]
        self._at = base + offset
        return self._at

    def tell(self) -> int:
        return self._at

    @property
    def _end(self) -> int:
        return self._start + len(self._data)

    def readinto(self, buffer: Any) -> int:
        if self._at < self._start:
            raise OSError(f"byte {self._at} is before the part")
        at = self._at - self._start
        found = self._data[at : at + len(buffer)]
        buffer[: len(found)] = found
        self._at += len(found)
        return len(found)


class _NotReadError(Exception):
    pass


class _Unread(_Shifted):
    """A file of any size of which nothing but its footer is read."""

    @property
    def _end(self) -> int:
        return 1 << 62

    def readinto(self, buffer: Any) -> int:
        raise _NotReadError


def _check_columns(metadata: Any) -> None:
    """Raise for damaged columns of a footer, with which `row_group(i).column(j)` aborts.

    Arrow looks at all of them before it reads.
    """
    source = pa.PythonFile(_Unread(memoryview(b""), 0), mode="r")
    with suppress(_NotReadError, StopIteration):
        next(pq.ParquetFile(source, metadata=metadata, pre_buffer=True).iter_batches(1))


def _row_items(part: Part, data: bytes) -> Iterator[Item]:
    size = part.stop - part.start
    _check(part, hashlib.sha256(memoryview(data)[:size]).hexdigest())
    metadata = pq.read_metadata(pa.BufferReader(data[size:]))
    source = pa.PythonFile(_Shifted(memoryview(data)[:size], part.start), mode="r")
    file = pq.ParquetFile(source, metadata=metadata)
    columns = [name for name in _COLUMNS if name in file.schema_arrow.names]
    row, groups = part.first, list(range(*(part.groups or (0, 0))))
    for batch in file.iter_batches(_ROWS, groups, columns):
        yield from table_items(pa.Table.from_batches([batch]), part.input, row)
        row += batch.num_rows


def table_items(table: Any, name: str, first: int) -> Iterator[Item]:
    """Yield the documents of an Arrow table: columns text, and optionally id and mentions.

    name, first  of default ids: the input, and the number of the first row
    """
    values = {key: _values(table.column(key)) for key in _COLUMNS if key in table.column_names}
    for i in range(table.num_rows):
        row = first + i
        fields = {key: column[i] for key, column in values.items() if column[i] is not None}
        id = f"{name}:{row}"
        try:
            text = {key: v.decode() if isinstance(v, bytes) else v for key, v in fields.items()}
            yield _item(request_of_fields(text, f"row {row}", id), row)
        except UnicodeDecodeError as error:
            yield Item(id, row, None, f"row {row}: byte {error.start:,} is not UTF-8")
        except RequestError as error:
            yield Item(_given_id(text, id), row, None, str(error))


def _values(column: Any) -> list[Any]:
    """Return the values of a column; strings as bytes, for they may not be UTF-8."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        column = column.cast(pa.large_binary())
    found: list[Any] = column.to_pylist()
    return found


def _check(part: Part, digest: str) -> None:
    if digest != part.sha256:
        raise JobError(
            f"{part.input}: bytes {part.start:,} to {part.stop:,} changed since the job began; "
            "name a new job folder"
        )
