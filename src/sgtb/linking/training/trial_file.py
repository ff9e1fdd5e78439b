"""TrialFile: finished trials, a line of JSON each; what was being written at the end is not read.

A trial belongs to the documents it was run on, which go by a key: trials of other documents may
stand in the same file, and are left alone.
"""

import json
import os
from pathlib import Path
from typing import Any

from sgtb.core.errors import SettingsError
from sgtb.core.files import sync_folder


class TrialFile:
    """A file that only grows; it need not be there yet."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def records(self, key: str) -> list[dict[str, Any]]:
        """Return what was appended under a key, in order."""
        return [entry["trial"] for entry in self._entries() if entry["data"] == key]

    def append(self, key: str, record: dict[str, Any]) -> None:
        """Add a record; it is on disk, or not there at all."""
        line = json.dumps({"data": key, "trial": record}, allow_nan=False) + "\n"
        new = not self.path.exists()
        with open(self.path, "ab") as file:
            file.truncate(len(self._whole()))  # what a killed run has left unfinished
            file.write(line.encode())
            file.flush()
            os.fsync(file.fileno())
        if new:
            sync_folder(self.path.parent)

    def _whole(self) -> bytes:
        """Return the lines that have their end."""
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return b""
        return data[: data.rfind(b"\n") + 1]

    def _entries(self) -> list[dict[str, Any]]:
        entries = []
        for number, line in enumerate(self._whole().splitlines(), 1):
            try:
                entry = json.loads(line)
                trial, key = entry["trial"], entry["data"]
            except (ValueError, TypeError, KeyError):
                trial = key = None
            if not isinstance(trial, dict) or not isinstance(key, str):
                raise SettingsError(
                    f"{self.path}, line {number}: this is no finished trial; name another file for "
                    "the state of the search, or delete this one"
                )
            entries.append(entry)
        return entries
