"""Lines of a TSV that a user gives, with errors that name file, line and value."""

import os
from collections.abc import Iterator
from pathlib import Path

from sgtb.core.errors import KnowledgeBaseError

_LONGEST = 1 << 16


def tsv_lines(
    path: str | os.PathLike[str], fields: tuple[str, ...]
) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the fields of every line that is not empty; # begins no comment."""
    path = Path(path)
    try:
        with open(path, "rb") as file:
            number = 0
            while raw := file.readline(_LONGEST):
                number += 1
                if not raw.endswith(b"\n") and len(raw) == _LONGEST:
                    raise line_error(path, number, f"longer than {_LONGEST:,} bytes")
                try:
                    line = raw.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
                except UnicodeDecodeError as error:
                    raise line_error(path, number, f"not UTF-8 ({error.reason})") from None
                if not line.strip():
                    continue
                found = [field.strip() for field in line.split("\t")]
                if len(found) != len(fields) or not all(found):
                    form = "<TAB>".join(fields)
                    raise line_error(path, number, f"{line[:60]!r} is not {form}")
                yield number, found
    except FileNotFoundError:
        raise KnowledgeBaseError(f"{path}: there is no such file") from None
    except OSError as error:
        raise KnowledgeBaseError(f"{path}: cannot be read: {error.strerror}") from None


def line_error(path: Path, line: int, message: str) -> KnowledgeBaseError:
    """Return the error for a line."""
    return KnowledgeBaseError(f"{path}, line {line}: {message}")
