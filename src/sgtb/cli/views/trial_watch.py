"""The watch over a search for settings: a bar on a terminal, a line for each trial elsewhere."""

from typing import TYPE_CHECKING, TextIO

from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn

from sgtb.core.progress import ProgressDisplay

if TYPE_CHECKING:
    from sgtb.boosting.training_progress import TrainingProgress
    from sgtb.linking.training.tuning import Outcome, Trial


class TrialWatch(ProgressDisplay):
    """Told after every tree of a trial, and after every trial; shows a bar."""

    def __init__(self, quiet: bool = False, stream: TextIO | None = None) -> None:
        super().__init__(
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(),
            TextColumn("trees"), TimeElapsedColumn(),
            stream=stream, quiet=quiet,
        )  # fmt: skip
        self._quiet = quiet
        if self._bar is not None:
            self._task = self._bar.add_task("", total=None)

    def __call__(self, trial: "Trial", progress: "TrainingProgress") -> None:
        """Move the bar."""
        if self._bar is not None:
            self._bar.update(
                self._task, description=str(trial), total=progress.n_trees_wanted,
                completed=progress.n_trees,
            )  # fmt: skip

    def end(self, number: int, outcome: "Outcome") -> None:
        """Say how a trial went."""
        line = (
            f"trial {number}: {outcome.trial}: {outcome.n_trees} trees, dev "
            f"{outcome.right:,} of {outcome.asked:,} ({outcome.accuracy:.2%}), "
            f"log loss {outcome.log_loss:.4f}, {outcome.seconds:.1f} s"
        )
        if not self._quiet:
            self._print_line(line)
