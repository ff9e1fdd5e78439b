"""Progress of a training: what callbacks receive, and a display of it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TextIO

from sgtb.core.progress import ProgressDisplay


class Check(NamedTuple):
    """Accuracies after `n_trees` trees.

    train_accuracy is a by-product of the search before the last tree. Its beams keep the gold
    path, so it is slightly too high.
    """

    n_trees: int
    train_accuracy: float
    dev_accuracy: float | None


@dataclass(frozen=True)
class TrainingProgress:
    """The state of a training after a tree."""

    n_trees: int
    n_trees_wanted: int
    train_accuracy: float
    checks: tuple[Check, ...]
    seconds: float
    seconds_left: float


Callback = Callable[[TrainingProgress], bool | None]
"""Called after every tree; True ends the training."""


class TrainingBar(ProgressDisplay):
    """Callback that shows trees, accuracies and the time left."""

    def __init__(self, title: str = "training", stream: TextIO | None = None) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn

        super().__init__(
            TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(),
            TextColumn("{task.fields[note]}", markup=False),
            stream=stream,
        )  # fmt: skip
        self._title = self._shown = title
        if self._bar is not None:
            self._task = self._bar.add_task(title, total=None, note="")

    def stage(self, stage: str, done: int, total: int) -> None:
        """Show a stage other than boosting; the trees that follow are shown under its name."""
        self._shown = f"{self._title}, {stage}"
        if self._bar is not None:
            self._bar.update(
                self._task, description=self._shown, total=total or None, completed=done, note=""
            )

    def __call__(self, progress: TrainingProgress) -> None:
        """Show the progress of a training."""
        n, wanted = progress.n_trees, progress.n_trees_wanted
        if self._bar is not None:
            note = f"trees  {_note(progress)}"
            self._bar.update(self._task, total=wanted, completed=n, note=note)
        elif progress.checks and progress.checks[-1].n_trees == n:
            self._print_line(f"{self._shown}: {n}/{wanted} trees, {_note(progress)}")


def _note(progress: TrainingProgress) -> str:
    dev = progress.checks[-1].dev_accuracy if progress.checks else None
    parts = [f"train {progress.train_accuracy:.2%}"]
    if dev is not None:
        parts.append(f"dev {dev:.2%}")
    minutes, seconds = divmod(round(progress.seconds_left), 60)
    parts.append(f"{minutes}:{seconds:02} left")
    return ", ".join(parts)
