"""The watch over a demo: a bar on a terminal, plain lines elsewhere, both on standard error."""

import sys
from types import TracebackType
from typing import Self, TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from sgtb.cli.demo import DemoRun, DemoSettings, Watch
from sgtb.learn import Progress
from sgtb.learn.plan import PlanName


def demo_watch(settings: DemoSettings, stream: TextIO | None = None) -> Watch:
    """Choose the watch that fits where standard error goes."""
    stream = stream or sys.stderr
    return BarWatch(settings, stream) if stream.isatty() else LineWatch(stream)


class LineWatch(Watch):
    """Writes a line when a training has ended."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def compiling(self) -> None:
        """Say why nothing happens for a while."""
        self._say("loading kernels (after an install they are compiled first, which takes a while)")

    def end(self, run: DemoRun) -> None:
        """Say how it went."""
        self._say(_note(run))

    def _say(self, line: str) -> None:
        print(line, file=self._stream, flush=True)


class BarWatch(Watch):
    """Draws one bar over the trees of all trainings, and leaves a line for each."""

    def __init__(self, settings: DemoSettings, stream: TextIO) -> None:
        self._n_trees = settings.training.n_trees
        self._done = 0
        self._bar = Bar(
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(),
            TextColumn("trees"), TimeElapsedColumn(),
            console=Console(file=stream), transient=True,
        )  # fmt: skip
        total = len(settings.seeds) * len(settings.plans) * self._n_trees
        self._task = self._bar.add_task("", total=total)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def compiling(self) -> None:
        """Say why nothing happens for a while."""
        self._bar.update(self._task, description="loading kernels (the first time: compiling)")

    def begin(self, seed: int, plan: PlanName) -> None:
        """Say what is being trained."""
        self._bar.update(self._task, description=f"seed {seed}, {plan}")

    def tree(self, told: Progress) -> None:
        """Move the bar."""
        self._bar.update(self._task, completed=self._done + told.n_trees)

    def end(self, run: DemoRun) -> None:
        """Move the bar past the trees that early stopping has saved."""
        self._done += self._n_trees
        self._bar.update(self._task, completed=self._done)
        self._bar.console.print(_note(run), highlight=False)


def _note(run: DemoRun) -> str:
    return (
        f"seed {run.seed}, {run.plan}: {run.n_trees} trees, dev {run.dev_accuracy:.2%}, "
        f"test {run.test_accuracy:.2%}, {run.seconds:.2f} s"
    )
