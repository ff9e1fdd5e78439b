"""The watch over a search for settings: a bar on a terminal, a line for each trial elsewhere."""

import sys
from types import TracebackType
from typing import TYPE_CHECKING, Self, TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

if TYPE_CHECKING:
    from sgtb.learn.trainer import Progress
    from sgtb.linking.tuning import Outcome, Trial


class TrialWatch:
    """Told after every tree of a trial, and after every trial; a context manager."""

    def __init__(self, quiet: bool = False, stream: TextIO | None = None) -> None:
        self._quiet = quiet
        self._stream = stream or sys.stderr
        self._bar: Bar | None = None
        if not quiet and self._stream.isatty():
            self._bar = Bar(
                TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(),
                TextColumn("trees"), TimeElapsedColumn(),
                console=Console(file=self._stream), transient=True,
            )  # fmt: skip
            self._task = self._bar.add_task("", total=None)

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

    def __call__(self, trial: "Trial", told: "Progress") -> None:
        """Move the bar."""
        if self._bar is not None:
            self._bar.update(
                self._task, description=str(trial), total=told.n_trees_wanted,
                completed=told.n_trees,
            )  # fmt: skip

    def end(self, number: int, outcome: "Outcome") -> None:
        """Say how a trial went."""
        line = (
            f"trial {number}: {outcome.trial}: {outcome.n_trees} trees, dev "
            f"{outcome.right:,} of {outcome.asked:,} ({outcome.accuracy:.2%}), "
            f"log loss {outcome.log_loss:.4f}, {outcome.seconds:.1f} s"
        )
        if self._bar is not None:
            self._bar.console.print(line, highlight=False)
        elif not self._quiet:
            print(line, file=self._stream, flush=True)
