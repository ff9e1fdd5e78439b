"""Limits of files that are read: checked before anything is parsed."""

import os
from dataclasses import dataclass, fields
from typing import Any

from sgtb.core.errors import SettingsError

_SHORT = 1 << 12


@dataclass(frozen=True, slots=True)
class FileLimits:
    """Limits of files; the environment variable of a field is SGTB_MAX_ and its name."""

    # bytes of a file that is read as a whole, unpacked: NIF, DocBin, AIDA, archives
    whole: int = 1 << 29
    ratio: int = 200  # unpacked bytes per byte on disk, beyond the first 16 MiB
    line: int = 1 << 26  # bytes of a line, unpacked
    items: int = 1_000_000  # values of a JSON object on one line

    @classmethod
    def current(cls) -> "FileLimits":
        """Return the limits of the environment; unset ones are the defaults."""
        given = {field.name: os.environ.get(_variable(field.name)) for field in fields(cls)}
        return cls(**{name: _number(name, text) for name, text in given.items() if text})

    def advice(self, field: str) -> str:
        """Return how to raise a limit, for messages."""
        return f"the limit is {getattr(self, field):,}; {_variable(field)}=N sets another"


def check_items(line: bytes | str) -> None:
    """Raise a ValueError for JSON of more values than the limit.

    Counted before parsing, by the characters that each further value needs: parsed, a value takes
    up to a hundred times its bytes. Lines of a few values are not counted.
    """
    if len(line) <= _SHORT:
        return
    limits = FileLimits.current()
    marks: Any = (b",", b"[", b"{") if isinstance(line, bytes) else ",[{"
    count = sum(map(line.count, marks))
    if count > limits.items:
        raise ValueError(f"about {count:,} values; {limits.advice('items')}")


def _variable(field: str) -> str:
    return f"SGTB_MAX_{field.upper()}"


def _number(field: str, text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) == 0:
        raise SettingsError(f"{_variable(field)}={text!r:.40}: not a whole number above 0")
    return int(text)
