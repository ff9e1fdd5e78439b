"""Stages of long work: a bar with rate and time left on a terminal, plain lines elsewhere."""

import time
from typing import TextIO

from rich.progress import BarColumn, TaskID, TextColumn, TimeRemainingColumn

from sgtb.core.progress import ProgressDisplay

_PAUSE = 10.0
"""Seconds between two lines about the same stage, where there is no terminal."""
_PATIENCE = 2.0
"""Seconds before the first."""
BYTES = frozenset({"reading", "writing"})
"""The stages that count bytes of a file."""


class Stages(ProgressDisplay):
    """A function that is told stage, done and total, and shows them; a context manager."""

    def __init__(self, quiet: bool = False, stream: TextIO | None = None) -> None:
        super().__init__(
            TextColumn("{task.description:<12}"), BarColumn(),
            TextColumn("{task.percentage:>3.0f} %  {task.fields[rate]}"),
            TimeRemainingColumn(compact=True),
            stream=stream, quiet=quiet,
        )  # fmt: skip
        self._quiet = quiet
        self._tasks: dict[str, TaskID] = {}
        self._begun = self._said = time.monotonic()
        self._stage = ""

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Show how far a stage is."""
        if self._quiet:
            return
        now = time.monotonic()
        if stage != self._stage:
            self._stage, self._begun = stage, now
            self._said = now + _PATIENCE - _PAUSE
        rate = self._rate(stage, done, now)
        if self._bar is not None:
            if stage not in self._tasks:
                self._tasks[stage] = self._bar.add_task(stage, rate="")
            self._bar.update(
                self._tasks[stage], completed=done, total=max(total, done, 1), rate=rate
            )
        elif now - self._said >= _PAUSE:
            self._said = now
            share = f" {done / total:.0%}" if total else ""
            self._print_line(f"{stage}:{share} {rate}".rstrip())

    def _rate(self, stage: str, done: int, now: float) -> str:
        seconds = now - self._begun
        if not done or seconds < 0.5:
            return ""
        if stage in BYTES:
            return f"{done / seconds / 1e6:.1f} MB/s"
        return f"{done / seconds:,.0f} a second"
