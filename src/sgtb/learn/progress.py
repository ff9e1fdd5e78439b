"""Progress of a training: a bar on a terminal, plain lines elsewhere."""

import sys
from types import TracebackType
from typing import Self, TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from sgtb.learn.trainer import Progress as Told


class TrainingBar:
    """A callback that shows trees, accuracies and the time left; a context manager."""

    def __init__(self, title: str = "training", stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._title = title
        self._bar: Progress | None = None
        if self._stream.isatty():
            self._bar = Progress(
                TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(),
                TextColumn("trees  {task.fields[note]}"),
                console=Console(file=self._stream), transient=True,
            )  # fmt: skip
            self._task = self._bar.add_task(title, total=None, note="")

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

    def __call__(self, told: Told) -> None:
        """Show what a training tells."""
        if self._bar is not None:
            self._bar.update(
                self._task, total=told.n_trees_wanted, completed=told.n_trees, note=_note(told)
            )
        elif told.checks and told.checks[-1].n_trees == told.n_trees:
            print(
                f"{self._title}: {told.n_trees}/{told.n_trees_wanted} trees, {_note(told)}",
                file=self._stream, flush=True,
            )  # fmt: skip


def _note(told: Told) -> str:
    dev = told.checks[-1].dev_accuracy if told.checks else None
    parts = [f"train {told.train_accuracy:.2%}"]
    if dev is not None:
        parts.append(f"dev {dev:.2%}")
    minutes, seconds = divmod(round(told.seconds_left), 60)
    parts.append(f"{minutes}:{seconds:02} left")
    return ", ".join(parts)
