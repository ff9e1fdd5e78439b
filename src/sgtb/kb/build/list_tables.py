"""Tables, CSV and Excel: the format of a list, its rows, and the key each column stands for."""

import csv
import io
import re
import warnings
import zipfile
from collections.abc import Iterator, Mapping
from functools import lru_cache, partial
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, Literal

from sgtb.core.errors import KnowledgeBaseError, MissingExtraError
from sgtb.core.limits import FileLimits

KEYS = (
    "id", "name", "aliases", "description", "type", "popularity", "links", "vector", "in_links",
    "out_links",
)  # fmt: skip
_SYNONYMS = {
    "label": "name", "title": "name", "alias": "aliases", "synonym": "aliases",
    "synonyms": "aliases", "desc": "description",
}  # fmt: skip
_ID = re.compile(r"(.+_)?(id|qid|uid|uuid|identifier)")
Problem = tuple[str, str]  # column and message
ListFormat = Literal["jsonl", "csv", "xlsx"]
Row = tuple[int, list[str] | str]  # number of a row, and its cells, or why it cannot be read

_MAX_ROWS = 1 << 20  # rows of a sheet, Excel's limit
_ENDINGS: dict[str, ListFormat] = {
    ".csv": "csv", ".tsv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl",
}  # fmt: skip
_PACKED = (".gz", ".bz2", ".xz")
_ZIP = b"PK\x03\x04"
_OLE = b"\xd0\xcf\x11\xe0"
EXCEL_ERRORS = ("#N/A", "#REF!", "#VALUE!", "#DIV/0!", "#NAME?", "#NUM!", "#NULL!")


def list_format(path: Path, head: bytes) -> ListFormat:
    """Return the format of a list: Excel by its first bytes, else by its ending or content."""
    if head.startswith(_ZIP):
        return "xlsx"
    if head.startswith(_OLE):
        raise KnowledgeBaseError(
            f"{path}: an old or encrypted Excel file; save it as .xlsx without password, or as CSV"
        )
    ending = (path.with_suffix("") if path.suffix.lower() in _PACKED else path).suffix.lower()
    starts = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    return _ENDINGS.get(ending, "jsonl" if starts == b"{" else "csv")


@lru_cache(maxsize=64)
def keys_of(columns: tuple[str, ...]) -> tuple[Mapping[str, str], tuple[Problem, ...]]:
    """Return the column of each key, and the columns that stand for none or are too many.

    Case, surrounding space, and spaces and hyphens for underscores do not matter. A single
    column that ends in `id` or `identifier` is the id.
    """
    found: dict[str, str] = {}
    problems = []
    for column in columns:
        key = key_of(column)
        if key not in KEYS:
            problems.append((column, f"unknown; known are {' '.join(KEYS)}; remove or rename it"))
        elif key in found:
            both = f"stands for {key}, and so does {found[key]!r}"
            problems.append((column, f"{both}; keep the one that is meant and remove the other"))
        else:
            found[key] = column
    return found, tuple(problems)


def key_of(column: str) -> str:
    """Return the key that a column stands for; its normal form if it is unknown."""
    normal = re.sub(r"[\s_-]+", "_", column.strip().casefold())
    return "id" if _ID.fullmatch(normal) else _SYNONYMS.get(normal, normal)


def csv_rows(file: BinaryIO) -> Iterator[Row]:
    """Yield the rows of a CSV file, delimited as in its first line."""
    # Bytes that are not UTF-8 become lone surrogates, so that errors can name their line.
    text = io.TextIOWrapper(file, "utf-8-sig", "surrogateescape", newline="")
    limits = FileLimits.current()
    lines = _limited(iter(partial(text.readline, limits.line + 1), ""), limits)
    blank, first = 0, ""
    try:
        for first in lines:
            if first.strip():
                break
            blank += 1
    except csv.Error as error:
        yield blank + 1, str(error)
        return
    delimiter = max(",;\t", key=first.count)
    rows = csv.reader(chain([first], lines), delimiter=delimiter, strict=True)
    while True:
        line = blank + rows.line_num + 1
        try:
            row = next(rows, None)
        except csv.Error as error:
            yield line, f"not CSV: {error}; double the quotes inside of a quoted cell"
            continue
        if row is None:
            return
        yield line, row


def _limited(lines: Iterator[str], limits: FileLimits) -> Iterator[str]:
    for line in lines:
        if len(line) > limits.line:
            raise csv.Error(f"a line too long; {limits.advice('line')}")
        yield line


def excel_rows(path: Path, file: BinaryIO, sheet: str | None) -> Iterator[Row]:
    """Yield the rows of the named sheet, or of the first one, as texts."""
    try:
        openpyxl = import_module("openpyxl")
    except ImportError:
        raise MissingExtraError(
            f"{path}: reading Excel files needs the package openpyxl: pip install 'sgtb[excel]'"
        ) from None
    try:
        with zipfile.ZipFile(file) as archive:
            size = sum(member.file_size for member in archive.infolist())
        limits = FileLimits.current()
        if size > limits.whole:
            raise KnowledgeBaseError(
                f"{path}: {size:,} bytes unpacked; {limits.advice('whole')}, or save it as CSV"
            )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of styles and extensions that are left out
            book = openpyxl.load_workbook(file, read_only=True, data_only=True)
        sheets = {found.title: found for found in book.worksheets}
        chosen = sheets.get(sheet) if sheet is not None else next(iter(sheets.values()), None)
        if chosen is None:
            raise KnowledgeBaseError(f"{path}: no sheet {sheet!r}; there are {list(sheets)}")
        chosen.reset_dimensions()  # stated ones may be wrong
        for number, row in enumerate(chosen.iter_rows(values_only=True), 1):
            if number > _MAX_ROWS:
                yield number, f"more than {_MAX_ROWS:,} rows; save it as CSV"
                return
            yield number, [_cell(value) for value in row]
    except (KnowledgeBaseError, GeneratorExit):
        raise
    except Exception as error:  # openpyxl raises any type on damaged files
        raise KnowledgeBaseError(
            f"{path}: not an Excel file, or damaged: {error}; save it again as .xlsx, or as CSV"
        ) from None


def _cell(value: Any) -> str:
    """Return the text of a cell; whole numbers have no decimal point."""
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)
