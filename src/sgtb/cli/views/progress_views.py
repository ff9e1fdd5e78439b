"""Progress on standard error: a bar on a terminal, a line every few seconds elsewhere."""

import sys
import time
from collections.abc import Callable, Iterator, Sized
from operator import attrgetter
from typing import Any, TextIO, TypeVar

from rich.progress import BarColumn, TextColumn, TimeRemainingColumn

from sgtb.core.progress import ProgressDisplay

D = TypeVar("D")

_FIRST_LINE = 2.0  # seconds before the first line without a terminal: quick work prints none
_LINE_INTERVAL = 10.0
_TERMINAL_INTERVAL = 0.2
BYTE_STAGES = frozenset({"downloading", "reading", "writing"})  # stages that count bytes


class StageProgress(ProgressDisplay):
    """Progress callback (stage, done, total) with a bar; a context manager."""

    def __init__(self, quiet: bool = False, stream: TextIO | None = None) -> None:
        super().__init__(
            TextColumn("{task.description:<12}", markup=False), BarColumn(),
            TextColumn("{task.percentage:>3.0f} %  {task.fields[rate]}", markup=False),
            TimeRemainingColumn(compact=True),
            stream=stream, quiet=quiet,
        )  # fmt: skip
        self._quiet = quiet
        self._stage = ""
        self._started = self._printed = 0.0

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Show the progress of a stage."""
        if self._quiet:
            return
        now = time.monotonic()
        if stage != self._stage:
            self._stage, self._started = stage, now
            self._printed = now + _FIRST_LINE - _LINE_INTERVAL
            if self._bar is not None:
                self._task = self._bar.add_task(stage, rate="")
        rate = self._rate(stage, done, now)
        if self._bar is not None:
            self._bar.update(self._task, completed=done, total=max(total, done, 1), rate=rate)
        elif now - self._printed >= _LINE_INTERVAL:
            self._printed = now
            share = f" {done / total:.0%}" if total else ""
            self._print_line(f"{stage}:{share} {rate}".rstrip())

    def end_stage(self, line: str) -> None:
        """Replace the bar of the stage by a line."""
        if self._bar is not None and self._stage:
            self._bar.remove_task(self._task)
        self._stage = ""
        if not self._quiet:
            self._print_line(line)

    def _rate(self, stage: str, done: int, now: float) -> str:
        seconds = now - self._started
        if not done or seconds < 0.5:
            return ""
        if stage in BYTE_STAGES:
            return f"{done / seconds / 1e6:.1f} MB/s"
        return f"{done / seconds:,.0f} per second"


class DocumentCounter:
    """Counts documents and their parts as they pass, and prints the counts now and then.

    Silent if documents are printed on the same terminal.
    """

    def __init__(
        self,
        quiet: bool = False,
        stream: TextIO | None = None,
        noun: str = "link",
        parts: Callable[[Any], Sized] = attrgetter("links"),
    ) -> None:
        self._noun, self._parts = noun, parts
        self._stream = stream or sys.stderr
        self._terminal = self._stream.isatty()
        self._quiet = quiet or (self._terminal and sys.stdout.isatty())
        self._interval = _TERMINAL_INTERVAL if self._terminal else _LINE_INTERVAL
        self.n_documents = self.n_parts = 0

    def passing(self, documents: Iterator[D]) -> Iterator[D]:
        """Yield documents, counted."""
        start = time.monotonic()
        due = start + (self._interval if self._terminal else _FIRST_LINE)
        printed = 0
        try:
            for document in documents:
                self.n_documents += 1
                self.n_parts += len(self._parts(document))
                if not self._quiet and (now := time.monotonic()) >= due:
                    due, printed = now + self._interval, self.n_documents
                    self._print(now - start)
                yield document
        finally:
            if printed:
                if printed < self.n_documents:
                    self._print(time.monotonic() - start)
                if self._terminal:
                    print(file=self._stream, flush=True)

    @property
    def summary(self) -> str:
        """The counts of documents and parts."""
        return f"{counted(self.n_documents, 'document')}, {counted(self.n_parts, self._noun)}"

    def _print(self, seconds: float) -> None:
        rate = self.n_documents / max(seconds, 1e-9)
        line = f"{self.summary}, {rate:,.1f} documents per second"
        begin, end = ("\r", "\x1b[K") if self._terminal else ("", "\n")
        print(f"{begin}{line}", end=end, file=self._stream, flush=True)


def counted(n: int, noun: str) -> str:
    """Return a number with its noun in singular or plural."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"
