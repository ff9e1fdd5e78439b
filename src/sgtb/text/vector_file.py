"""VectorFile: vector files of word2vec, GloVe and wikipedia2vec, read in batches.

Formats, detected from the content:

    word2vec text       a header "count dimensions", then lines "key value value ..."
    word2vec binary     the same header, then rows of "key ", 4-byte floats, optional line end
    GloVe text          lines "key value value ...", no header
    wikipedia2vec text  lines "key<TAB>value value ...", no header (its other formats are those of
                        word2vec and GloVe)

Files may be compressed with gzip, bzip2 or xz. gensim's KeyedVectors loads the whole matrix; this
reader needs 23 MB for 200,000 vectors of 100 dimensions (80 MB), 18 MB for 50,000.
"""

import re
import sys
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import BinaryIO, Literal, cast

import numpy as np
import numpy.typing as npt

from sgtb.core.dtypes import Floats, Longs
from sgtb.core.errors import KnowledgeBaseError, SettingsError
from sgtb.core.files import is_unpacked, open_unpacked
from sgtb.native import read_decimal_rows

Format = Literal["word2vec text", "word2vec binary", "GloVe text", "wikipedia2vec text"]
RowBlock = tuple[int, list[bytes], Floats]  # index of the first row, keys, vectors

ENTITY = "ENTITY/"  # prefix of entity titles in wikipedia2vec

MAX_DIMENSIONS = 4096
_BLOCK = 1 << 20
_MAX_LINE = 1 << 18
_MAX_KEY = 10_000
_MAX_ROWS = 4096
_MAX_COMPRESSION = 1000  # no vectors are compressed to less than a thousandth


class DecimalRows:
    """Reader of lines of a key, which `separator` ends, and `dimensions` decimal numbers.

    It stops before the first irregular line: a word that is not a number, a key with spaces, a
    wrong number of values. The caller handles such a line.
    """

    def __init__(self, dimensions: int, separator: bytes) -> None:
        self._separator = separator[0]
        rows = min(_MAX_ROWS, (1 << 20) // dimensions + 1)
        self._out: Floats = np.empty((rows, dimensions), np.float32)
        self._keys: Longs = np.empty((rows, 2), np.int64)

    def read(self, data: bytes, at: int, most: int) -> tuple[list[bytes], Floats, int]:
        """Read at most so many whole lines; return keys, vectors, and where the next one begins."""
        n, end = read_decimal_rows(data, self._separator, at, most, self._keys, self._out)
        keys = [data[begin:stop] for begin, stop in self._keys[:n].tolist()]
        return keys, self._out[:n].copy(), end


@dataclass(frozen=True, slots=True)
class VectorFile:
    """A vector file, see `open_vectors`; `count` is None if the file does not state it."""

    path: Path
    count: int | None
    dimensions: int
    format: Format

    def batches(self, size: int = 10_000) -> Iterator[tuple[list[str], Floats]]:
        """Yield keys and vectors, `size` at a time, in the order of the file.

        Errors of the file are raised after the batches before them.
        """
        if size < 1:
            raise SettingsError(f"batches of {size}; the size must be at least 1")
        return self._batches(size)

    def _batches(self, size: int) -> Iterator[tuple[list[str], Floats]]:
        keys: list[str] = []
        parts: list[Floats] = []
        for found, matrix in self._checked():
            keys += found
            parts.append(matrix)
            if len(keys) >= size:
                whole = np.concatenate(parts)
                full = len(keys) - len(keys) % size
                for start in range(0, full, size):
                    yield keys[start : start + size], whole[start : start + size]
                keys, parts = keys[full:], [whole[full:]]
        if keys:
            yield keys, np.concatenate(parts)

    def _checked(self) -> Iterator[tuple[list[str], Floats]]:
        seen = _SeenHashes()
        for row, keys, matrix in self._blocks():
            names = [self._decoded(row + i, key) for i, key in enumerate(keys)]
            for i in np.flatnonzero(~np.isfinite(matrix).all(axis=1)).tolist():
                value = matrix[i][~np.isfinite(matrix[i])][0]
                raise self._error(row + i, f"a value of {_shown(keys[i])} is {value}")
            for i in np.flatnonzero(~matrix.any(axis=1)).tolist():
                raise self._error(row + i, f"the vector of {_shown(keys[i])} is all zeros; drop it")
            for i in seen.repeated(np.fromiter(map(hash, keys), np.int64, len(keys))):
                self._check_repeated(keys[i], row + i)
            yield names, matrix

    def _decoded(self, row: int, key: bytes) -> str:
        try:
            return key.decode()
        except UnicodeDecodeError as error:
            raise self._error(row, f"the key {_shown(key)} is not UTF-8: {error.reason}") from None

    def _check_repeated(self, key: bytes, row: int) -> None:
        """Raise if a key occurs before a row; otherwise two keys only have the same hash."""
        for start, keys, _ in self._blocks():
            if key in keys:
                first = start + keys.index(key)
                if first < row:
                    place = self._position(first)
                    raise self._error(row, f"{_shown(key)} is repeated, first in {place}")
                return

    def _position(self, row: int) -> str:
        if self.format == "word2vec binary":
            return f"row {row + 1}"
        return f"line {row + (1 if self.count is None else 2)}"

    def _error(self, row: int, message: str) -> KnowledgeBaseError:
        return KnowledgeBaseError(f"{self.path}, {self._position(row)}: {message}")

    def _blocks(self) -> Iterator[RowBlock]:
        """Yield the rows; raise if anything follows them."""
        with _open_file(self.path) as file:
            if self.count is not None:
                file.readline(_MAX_LINE)
            binary = self.format == "word2vec binary"
            row, rest = yield from (self._binary(file) if binary else self._text(file))
            while not rest.strip():
                rest = file.read(_BLOCK)
                if not rest:
                    return
        after = "an empty line" if self.count is None else f"the last of {self.count} vectors"
        raise self._error(row, f"{_shown(rest.strip())} follows {after}; is the file damaged?")

    def _binary(self, file: BinaryIO) -> Generator[RowBlock, None, tuple[int, bytes]]:
        row, count, width = 0, self.count or 0, 4 * self.dimensions
        data, at = b"", 0
        while row < count:
            block = file.read(_BLOCK)
            data, at = data[at:] + block, 0
            keys: list[bytes] = []
            starts: list[int] = []
            while row + len(keys) < count:
                space = data.find(b" ", at, at + _MAX_KEY)
                if space < 0 or space + 1 + width > len(data):
                    break
                # word2vec ends rows with a line end, gensim does not.
                keys.append(data[at:space].removeprefix(b"\n"))
                starts.append(space + 1)
                at = space + 1 + width
            if b"" in keys:
                raise self._error(row + keys.index(b""), "there is no key")
            if keys:
                matrix = np.empty((len(keys), self.dimensions), np.float32)
                for i, start in enumerate(starts):
                    matrix[i] = np.frombuffer(data, "<f4", self.dimensions, start)
                yield row, keys, matrix
                row += len(keys)
            elif len(data) >= _MAX_KEY and b" " not in data[:_MAX_KEY]:
                raise self._error(row, f"no space ends the key {_shown(data)}")
            elif not block:
                raise self._error(row, f"the file is truncated; its header announces {count} rows")
        return row, data[at:]

    def _text(self, file: BinaryIO) -> Generator[RowBlock, None, tuple[int, bytes]]:
        rows = DecimalRows(self.dimensions, b"\t" if self.format == "wikipedia2vec text" else b" ")
        row, left = 0, sys.maxsize if self.count is None else self.count
        data = b""
        while left:
            block = file.read(_BLOCK)
            data += block
            keys, parts, at = self._lines(rows, row, data, left)
            if keys:
                yield row, keys, np.concatenate(parts)
                row, left = row + len(keys), left - len(keys)
            data = data[at:]
            if left and b"\n" in data:  # an empty line; only empty ones may follow
                return self._ended(row), data
            if left and len(data) > _MAX_LINE:
                raise self._error(row, f"longer than {_MAX_LINE:,} bytes: {_shown(data)}")
            if left and not block:
                if data.strip():
                    raise self._error(row, _unfinished(data))
                return self._ended(row), b""
        return row, data

    def _lines(
        self, rows: DecimalRows, row: int, data: bytes, most: int
    ) -> tuple[list[bytes], list[Floats], int]:
        """Read complete lines up to an empty one; return keys, vectors and the end position."""
        keys: list[bytes] = []
        parts: list[Floats] = []
        at, end = 0, data.rfind(b"\n") + 1
        while len(keys) < most and at < end:
            found, matrix, at = rows.read(data, at, most - len(keys))
            if not found:
                line = data[at : data.index(b"\n", at) + 1]
                if not line.strip():
                    break
                found, matrix = self._parse_line(row + len(keys), line)
                at += len(line)
            keys += found
            parts.append(matrix)
        return keys, parts, at

    def _ended(self, row: int) -> int:
        """Return the number of rows; raise if the header announces more."""
        if self.count is not None and row < self.count:
            raise self._error(row, f"no vector; line 1 announces {self.count}, the file has {row}")
        return row

    def _parse_line(self, row: int, line: bytes) -> tuple[list[bytes], Floats]:
        """Parse a line that the kernel does not accept, or raise with the reason."""
        if self.format == "wikipedia2vec text":
            key, _, rest = line.partition(b"\t")
            words = rest.split()
            too_many = len(words) > self.dimensions
        else:
            # Keys may hold spaces, so the values are counted from the right.
            key, *words = line.rsplit(None, self.dimensions)
            too_many = any(map(_SURELY_VALUE.fullmatch, key.split()[1:]))
        if too_many or len(words) < self.dimensions:
            found = len(line.split()) - 1 if too_many else len(words)
            says = "has" if self.count is None else "announces"
            message = f"{found} values after {_shown(key)}; line 1 {says} {self.dimensions}"
            raise self._error(row, message)
        if not key.strip():
            raise self._error(row, f"no key before {_shown(line)}")
        values = _numbers(words)
        if values is None:
            wrong = next(word for word in words if _numbers([word]) is None)
            message = f"{_shown(wrong)} is not a number, but one of {self.dimensions} values"
            raise self._error(row, message)
        with np.errstate(over="ignore"):  # infinity is refused later
            return [key], np.array([values]).astype(np.float32)


def open_vectors(path: str | PathLike[str]) -> VectorFile:
    """Open a vector file; detect its format, number of vectors and dimensions."""
    path = Path(path)
    with _open_file(path) as file:
        head = file.read(_MAX_LINE)
        is_compressed = is_unpacked(file)
        size = path.stat().st_size * (_MAX_COMPRESSION if is_compressed else 1)
    _refuse_foreign(path, head)
    first, line_end, body = head.partition(b"\n")
    if not line_end:
        raise KnowledgeBaseError(f"{path}, line 1: {_unfinished(head)}")
    header = _HEADER.fullmatch(first)
    if header is None:
        return _without_header(path, first)
    if len(first) > 100 or min(int(header[1]), int(header[2])) < 1:
        raise KnowledgeBaseError(f"{path}, line 1: {_shown(first)} is not a count and dimensions")
    count, dimensions = int(header[1]), int(header[2])
    _check_dimensions(path, dimensions)
    text = _is_text(body, dimensions)
    least = 2 * dimensions + 2 if text else 4 * dimensions + 2  # a key of one letter
    if count * least > size:
        raise KnowledgeBaseError(
            f"{path}, line 1: {count} vectors of {dimensions} dimensions do not fit into the "
            f"file; it is truncated, or not a vector file"
        )
    return VectorFile(path, count, dimensions, "word2vec text" if text else "word2vec binary")


def entity_title(key: str) -> str | None:
    """Return the entity title of a key of wikipedia2vec; None for a word."""
    return key.removeprefix(ENTITY).replace("_", " ") if key.startswith(ENTITY) else None


_HEADER = re.compile(rb"[ \t]*(-?\d+)[ \t]+(-?\d+)[ \t\r]*")

# With one dimension, "cat 0.1234 0.5678" has one value too many, "Web 2.0 0.5678" has not.
_SURELY_VALUE = re.compile(rb"[-+]\d*\.\d+|\d*\.\d{3,}|[-+]?\d+(\.\d*)?[eE][-+]\d+")

_NUMBER_BYTES = b"0123456789+-.eE \t\r\n"
_CONVERT = (
    "sgtb does not read pickles, which can run any code. Convert it with its own library: "
    "Wikipedia2Vec.load(file).save_text(new, 'word2vec') for wikipedia2vec, "
    "KeyedVectors.load(file).save_word2vec_format(new) for gensim (of a whole model, its .wv)"
)
_FOREIGN = (
    (rb"\x80[\x02-\x05]", f"a pickle. {_CONVERT}"),
    (rb"\x93NUMPY", f"a numpy array without keys, perhaps part of a pickle. {_CONVERT}"),
    (rb"PK\x03\x04", "a zip archive; unpack it, and name the file in it"),
    (rb"\x28\xb5\x2f\xfd", "packed by zstd; unpack it, or use gzip, bzip2 or xz"),
)


def _refuse_foreign(path: Path, head: bytes) -> None:
    if head.startswith(b"x"):  # a pickle compressed by joblib
        with suppress(zlib.error):
            head = zlib.decompressobj().decompress(head, 16)
    for pattern, message in _FOREIGN:
        if re.match(pattern, head):
            raise KnowledgeBaseError(f"{path}: this is {message}")


def _without_header(path: Path, first: bytes) -> VectorFile:
    before, tab, after = first.partition(b"\t")
    values = after.split() if tab else first.split()[1:]
    if tab and before.strip() and _numbers(values):
        found, layout = len(values), "wikipedia2vec text"
    else:
        # Keys may have spaces: the values are the numbers at the end.
        found, layout = 0, "GloVe text"
        while found < len(values) and _numbers([values[-1 - found]]):
            found += 1
    if not found:
        raise KnowledgeBaseError(
            f"{path}, line 1: {_shown(first)} is neither a count and dimensions nor a key and its "
            f"values; sgtb reads word2vec (text and binary), GloVe and wikipedia2vec text"
        )
    _check_dimensions(path, found)
    return VectorFile(path, None, found, cast(Format, layout))


def _is_text(body: bytes, dimensions: int) -> bool:
    """Return whether the rows after a header are text.

    In text, digits follow the first key. In floats, at least every fourth byte is not a digit,
    unless the numbers are far from one.
    """
    words = body.partition(b"\n")[0].rsplit(None, dimensions)[1:]
    if len(words) == dimensions and _numbers(words):
        return True
    after = body.partition(b" ")[2][: 4 * dimensions]
    return len(after.translate(None, _NUMBER_BYTES)) <= len(after) / 5


def _numbers(words: list[bytes]) -> list[float] | None:
    """Return words as numbers; None if one is not a number."""
    if b"_" in b" ".join(words):  # Python accepts 1_000
        return None
    try:
        return list(map(float, words))
    except ValueError:
        return None


def _check_dimensions(path: Path, dimensions: int) -> None:
    if dimensions > MAX_DIMENSIONS:
        problem = f"{dimensions} dimensions; sgtb reads up to {MAX_DIMENSIONS}"
        raise KnowledgeBaseError(f"{path}, line 1: {problem}")


def _unfinished(data: bytes) -> str:
    if not data:
        return "the file is empty"
    if len(data) >= _MAX_LINE:
        return f"no line end in {_MAX_LINE:,} bytes; this is not a vector file"
    return f"{_shown(data)} has no line end; is the file truncated? If not, add one"


def _shown(data: bytes) -> str:
    text = data[:240].decode(errors="backslashreplace").strip()
    text = "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in text)
    return f"'{text[:60]}'" + ("..." if len(text) > 60 else "")


@contextmanager
def _open_file(path: Path) -> Iterator[BinaryIO]:
    """Open a plain or compressed file; raise its errors as KnowledgeBaseError."""
    try:
        with open_unpacked(path) as (file, _):
            yield file
    except FileNotFoundError:
        raise KnowledgeBaseError(f"{path}: no such file") from None
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise KnowledgeBaseError(f"{path}: cannot be read: {reason}") from None


class _SeenHashes:
    """Hashes so far, in sorted runs whose lengths grow like powers of two."""

    def __init__(self) -> None:
        self._runs: list[npt.NDArray[np.int64]] = []

    def repeated(self, hashes: npt.NDArray[np.int64]) -> list[int]:
        """Add hashes; return the indices of those that occurred before."""
        order = np.argsort(hashes, kind="stable")
        run = hashes[order]
        known = np.zeros(len(run), bool)
        known[1:] = run[1:] == run[:-1]
        for other in self._runs:
            at = np.minimum(np.searchsorted(other, run), len(other) - 1)
            known |= other[at] == run
        while self._runs and len(self._runs[-1]) <= 2 * len(run):
            run = np.concatenate((self._runs.pop(), run))
            run.sort(kind="stable")  # fast on two sorted halves
        self._runs.append(run)
        return sorted(order[known].tolist())
