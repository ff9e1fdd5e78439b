"""Resident memory: of a process by kind of pages, of processes that share, of a process tree."""

import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import psutil

MB = 1e6
INTERVAL = 0.05
"""Seconds between two samples of a process tree."""


@dataclass(frozen=True)
class Resident:
    """Resident MB of a process: all, its own, and pages of files."""

    rss_mb: float
    anon_mb: float
    file_mb: float


@dataclass(frozen=True)
class Shared:
    """MB of processes together: pages counted in each of them, and counted once."""

    rss_mb: float
    pss_mb: float

    @property
    def shared_mb(self) -> float:
        """MB saved by sharing."""
        return self.rss_mb - self.pss_mb


def resident(pid: int | None = None) -> Resident:
    """Return the resident memory of a process."""
    try:
        fields = _fields(Path(f"/proc/{pid or 'self'}/status").read_text())
        return Resident(fields["VmRSS"], fields["RssAnon"], fields["RssFile"])
    except (OSError, KeyError):
        rss = psutil.Process(pid).memory_info().rss / MB
        return Resident(rss, float("nan"), float("nan"))


def proportional(pid: int) -> Shared:
    """Return a process's memory with pages of n processes counted as one nth; Linux only."""
    fields = _fields(Path(f"/proc/{pid}/smaps_rollup").read_text())
    return Shared(fields["Rss"], fields["Pss"])


def proportional_files(pid: int, folder: Path) -> Shared:
    """Return the same of the pages that belong to files in a folder."""
    rss = pss = 0.0
    inside = False
    prefix = str(folder.resolve())
    for line in Path(f"/proc/{pid}/smaps").read_text().splitlines():
        name, _, rest = line.partition(" ")
        if not name.endswith(":"):  # the head of a mapping: addresses, ..., path
            inside = prefix in rest
        elif inside and name == "Rss:":
            rss += _mb(rest)
        elif inside and name == "Pss:":
            pss += _mb(rest)
    return Shared(rss, pss)


class TreeWatch:
    """Peak memory of a process and its descendants together.

    rss_mb   all pages, those that several of them share as often as they are mapped
    anon_mb  without pages of files, which the system may drop when memory is short
    """

    def __init__(self, pid: int) -> None:
        self.rss_mb = self.anon_mb = 0.0
        self.samples = self.processes = 0
        self._root = psutil.Process(pid)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.is_set():
            begin = time.perf_counter()
            self._look()
            self._stop.wait(max(0.0, INTERVAL - (time.perf_counter() - begin)))

    def _look(self) -> None:
        try:
            tree = [self._root, *self._root.children(recursive=True)]
        except psutil.Error:
            return
        rss = anon = 0.0
        for process in tree:
            try:
                memory = process.memory_info()
            except psutil.Error:
                continue  # it has ended since
            rss += memory.rss / MB
            anon += (memory.rss - getattr(memory, "shared", 0)) / MB
        self.rss_mb, self.anon_mb = max(self.rss_mb, rss), max(self.anon_mb, anon)
        self.processes = max(self.processes, len(tree))
        self.samples += 1


def _fields(text: str) -> dict[str, float]:
    """Return the lines `Name:   123 kB` in MB."""
    found = {}
    for line in text.splitlines():
        name, _, rest = line.partition(":")
        if rest.endswith(" kB"):
            found[name] = _mb(rest)
    return found


def _mb(kilobytes: str) -> float:
    return int(kilobytes.split()[0]) * 1024 / MB
