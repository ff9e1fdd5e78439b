"""TrialFile: finished trials as JSON lines; an unfinished last line is ignored.

Trials are stored under a key of their documents, so a file may hold trials of several sets.
"""

import json
import os
from pathlib import Path
from typing import Any

from sgtb.core.errors import SettingsError
from sgtb.core.files import naming, sync_folder


class TrialFile:
    """An append-only file, created on first use."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def records(self, key: str) -> list[dict[str, Any]]:
        """Return the records of a key, in order."""
        return [entry["trial"] for entry in self._entries() if entry["data"] == key]

    def append(self, key: str, record: dict[str, Any]) -> None:
        """Append a record durably; a crash leaves all of it or nothing."""
        line = json.dumps({"data": key, "trial": record}, allow_nan=False) + "\n"
        new = not self.path.exists()
        with naming(self.path), open(self.path, "ab") as file:
            file.truncate(len(self._whole()))  # drops an unfinished line
            file.write(line.encode())
            file.flush()
            os.fsync(file.fileno())
        if new:
            sync_folder(self.path.parent)

    def _whole(self) -> bytes:
        """Return the complete lines."""
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
                    f"{self.path}, line {number}: not a finished trial; use another file for the "
                    "state of the search, or delete this one"
                )
            entries.append(entry)
        return entries
