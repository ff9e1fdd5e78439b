"""The watch over a demo: a bar on a terminal, plain lines elsewhere, both on standard error."""

from typing import TextIO

from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn

from sgtb.bars import Barred
from sgtb.cli.demo import DemoRun, DemoSettings, Watch
from sgtb.learn import Progress
from sgtb.learn.plan import PlanName


class DemoWatch(Barred, Watch):
    """Draws one bar over the trees of all trainings, and leaves a line for each."""

    def __init__(self, settings: DemoSettings, stream: TextIO | None = None) -> None:
        super().__init__(
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(),
            TextColumn("trees"), TimeElapsedColumn(),
            stream=stream,
        )  # fmt: skip
        self._n_trees = settings.training.n_trees
        self._done = 0
        if self._bar is not None:
            total = len(settings.seeds) * len(settings.plans) * self._n_trees
            self._task = self._bar.add_task("", total=total)

    def begin(self, seed: int, plan: PlanName) -> None:
        """Say what is being trained."""
        if self._bar is not None:
            self._bar.update(self._task, description=f"seed {seed}, {plan}")

    def tree(self, told: Progress) -> None:
        """Move the bar."""
        if self._bar is not None:
            self._bar.update(self._task, completed=self._done + told.n_trees)

    def end(self, run: DemoRun) -> None:
        """Say how it went; move the bar past the trees that early stopping has saved."""
        self._done += self._n_trees
        if self._bar is not None:
            self._bar.update(self._task, completed=self._done)
        self._say(
            f"seed {run.seed}, {run.plan}: {run.n_trees} trees, dev {run.dev_accuracy:.2%}, "
            f"test {run.test_accuracy:.2%}, {run.seconds:.2f} s"
        )
