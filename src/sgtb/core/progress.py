"""Progress of long work: a callback for its stages, and a display for terminals."""

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Self, TextIO

if TYPE_CHECKING:
    import rich.progress

Progress = Callable[[str, int, int], None]
"""Progress callback: stage, work done, total work (0 where unknown)."""


def silent(stage: str, done: int, total: int) -> None:
    """Ignore progress."""


class ProgressDisplay:
    """Shows a progress bar, which disappears at the end; none without terminal or with `quiet`."""

    def __init__(
        self,
        *columns: "rich.progress.ProgressColumn",
        stream: TextIO | None = None,
        quiet: bool = False,
    ) -> None:
        self._stream = stream or sys.stderr
        self._bar: rich.progress.Progress | None = None
        if not quiet and self._stream.isatty():
            # Imported here: most users of the callback type never show a bar.
            from rich.console import Console
            from rich.progress import Progress as Bar

            # Names of files and data sets are shown as they are.
            console = Console(file=self._stream, highlight=False, markup=False, emoji=False)
            self._bar = Bar(*columns, console=console, transient=True)

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def _print_line(self, line: str) -> None:
        """Print a permanent line, above the bar if there is one."""
        if self._bar is not None:
            self._bar.console.print(line)
        else:
            print(line, file=self._stream, flush=True)
