"""Bars of progress: drawn on a terminal while work goes on, gone when it ends."""

import sys
from types import TracebackType
from typing import Self, TextIO

from rich.console import Console
from rich.progress import Progress, ProgressColumn


class Barred:
    """Who shows a bar while entered; a context manager.

    The bar is None where the stream is no terminal, or quiet is wanted.
    """

    def __init__(
        self, *columns: ProgressColumn, stream: TextIO | None = None, quiet: bool = False
    ) -> None:
        self._stream = stream or sys.stderr
        self._bar: Progress | None = None
        if not quiet and self._stream.isatty():
            self._bar = Progress(*columns, console=Console(file=self._stream), transient=True)

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def _say(self, line: str) -> None:
        """Write a line that stays, above the bar where there is one."""
        if self._bar is not None:
            self._bar.console.print(line, highlight=False)
        else:
            print(line, file=self._stream, flush=True)
