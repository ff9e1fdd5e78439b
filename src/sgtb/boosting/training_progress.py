"""Progress of a training: a bar on a terminal, plain lines elsewhere."""

from typing import TextIO

from rich.progress import BarColumn, MofNCompleteColumn, TextColumn

from sgtb.boosting.trainer import Progress as Told
from sgtb.core.progress_bars import Barred


class TrainingBar(Barred):
    """A callback that shows trees, accuracies and the time left; a context manager."""

    def __init__(self, title: str = "training", stream: TextIO | None = None) -> None:
        super().__init__(
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(),
            TextColumn("{task.fields[note]}"),
            stream=stream,
        )  # fmt: skip
        self._title = self._shown = title
        if self._bar is not None:
            self._task = self._bar.add_task(title, total=None, note="")

    def stage(self, stage: str, done: int, total: int) -> None:
        """Show what else a training does, and which one the next trees are of."""
        self._shown = f"{self._title}, {stage}"
        if self._bar is not None:
            self._bar.update(
                self._task, description=self._shown, total=total or None, completed=done, note=""
            )

    def __call__(self, told: Told) -> None:
        """Show what a training tells."""
        if self._bar is not None:
            self._bar.update(
                self._task, total=told.n_trees_wanted, completed=told.n_trees,
                note=f"trees  {_note(told)}",
            )  # fmt: skip
        elif told.checks and told.checks[-1].n_trees == told.n_trees:
            self._say(f"{self._shown}: {told.n_trees}/{told.n_trees_wanted} trees, {_note(told)}")


def _note(told: Told) -> str:
    dev = told.checks[-1].dev_accuracy if told.checks else None
    parts = [f"train {told.train_accuracy:.2%}"]
    if dev is not None:
        parts.append(f"dev {dev:.2%}")
    minutes, seconds = divmod(round(told.seconds_left), 60)
    parts.append(f"{minutes}:{seconds:02} left")
    return ", ".join(parts)
