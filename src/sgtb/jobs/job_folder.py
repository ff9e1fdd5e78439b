"""Job folder: the durable state of a job, so that any engine can continue it.

JOB/
  manifest.json        what the job is: its parts with hashes, and digests of all that decides
  part-NNNNN.parquet   the output of a part
  part-NNNNN.json      its sidecar: rows, hash, counts and its own hash, written after the data
  rejected.parquet     documents without output, with reasons
  _SUCCESS             counts; written last

A part is valid if its sidecar has the hash of its data. Every file is written under a temporary
name, synced and renamed, and the same job gives the same bytes: processes may share a job.
"""

import hashlib
import json
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from sgtb.core.errors import JobError
from sgtb.core.files import write_whole

FORMAT = 1
MANIFEST, REJECTED, SUCCESS = "manifest.json", "rejected.parquet", "_SUCCESS"
_STALE_SECONDS = 3600  # age of temporary files that are deleted: no file takes that long to write


class JobFolder:
    """A folder and the manifest of its job."""

    def __init__(self, path: Path, manifest: Mapping[str, Any]) -> None:
        self.path = path
        self.manifest: dict[str, Any] = {"format": FORMAT, **manifest}

    def begin(self) -> None:
        """Write the manifest, or raise unless the one in the folder is equal."""
        path = self.path / MANIFEST
        if path.is_file():
            self._compare(path)
        else:
            if self.path.exists() and (not self.path.is_dir() or any(self.path.iterdir())):
                raise JobError(f"{self.path}: exists and has no {MANIFEST}; name a new folder")
            self.path.mkdir(parents=True, exist_ok=True)
            write_whole(path, _json(self.manifest))
        for stale in self.path.glob(".*-*"):
            with suppress(FileNotFoundError):
                if time.time() - stale.stat().st_mtime > _STALE_SECONDS:
                    stale.unlink()

    def record(self, part: int, check_data: bool = True) -> dict[str, Any] | None:
        """Return the sidecar of a part; None unless it (`check_data`: its data, too) is valid."""
        try:
            record = dict(json.loads(self._sidecar(part).read_bytes()))
            if record.pop("check") != sha256(_json(record)):
                return None
            if check_data and sha256(self.data_path(part).read_bytes()) != record["sha256"]:
                return None
        except (FileNotFoundError, ValueError, KeyError, TypeError, RecursionError):
            return None
        return record

    def write_part(self, part: int, data: bytes, record: Mapping[str, Any]) -> None:
        """Write the output of a part, then its sidecar."""
        write_whole(self.data_path(part), data)
        whole = {**record, "sha256": sha256(data)}
        write_whole(self._sidecar(part), _json({**whole, "check": sha256(_json(whole))}))

    def finish(self, rejected: bytes, summary: Mapping[str, Any]) -> None:
        """Write the rejected documents, then the counts."""
        write_whole(self.path / REJECTED, rejected)
        write_whole(self.path / SUCCESS, _json(summary))

    def data_path(self, part: int) -> Path:
        """Return the path of the output of a part."""
        return self.path / f"part-{part:05d}.parquet"

    def _sidecar(self, part: int) -> Path:
        return self.path / f"part-{part:05d}.json"

    def _compare(self, path: Path) -> None:
        try:
            found = json.loads(path.read_bytes())
            if not isinstance(found, dict):
                raise ValueError("not an object")
        except (ValueError, RecursionError) as error:
            raise JobError(f"{path}: damaged ({error}); name a new folder") from None
        if differing := _differences(found, json.loads(_json(self.manifest))):
            raise JobError(
                f"{self.path}: holds another job, which differs in {', '.join(differing)}; "
                "name a new folder, or run the command that it was started with"
            )


def sha256(data: bytes) -> str:
    """Return the hash of data as it is written in manifests and sidecars."""
    return hashlib.sha256(data).hexdigest()


def _differences(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[str]:
    """Return the keys in which two manifests differ, of nested objects as well."""
    differing = []
    for key in sorted({*found, *wanted}):
        a, b = found.get(key), wanted.get(key)
        if isinstance(a, dict) and isinstance(b, dict):
            differing += [f"{key}.{inner}" for inner in _differences(a, b)]
        elif a != b:
            differing.append(key)
    return differing


def _json(record: Mapping[str, Any]) -> bytes:
    return (json.dumps(record, indent=1, sort_keys=True) + "\n").encode()
