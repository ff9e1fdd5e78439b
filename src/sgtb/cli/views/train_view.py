"""What `sgtb train` and `sgtb tune` print."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from sgtb.linking.training.tuning import Outcome


def print_model(told: dict[str, Any]) -> None:
    """Print what was trained, and how good it is on dev."""
    print(
        f"{told['model']}: {told['plan']}, {told['trees']} trees, {told['bytes'] / 1e6:.1f} MB, "
        f"learned from {told['learnable']:,} mentions"
    )
    if told["dev"] is None:
        print("nothing is known of its accuracy: no dev mention means an entity")
    else:
        print_accuracy("dev", told["dev"])


def print_accuracy(name: str, told: dict[str, Any]) -> None:
    """Print how systems do on some documents."""
    test = told["test"]
    print(
        f"{name}: {test['documents']:,} documents, {test['mentions']:,} mentions; "
        f"{test['known']:,} mean a known entity, {test['recalled']:,} have it among their "
        f"candidates, {test['ambiguous']:,} have others, too"
    )
    table = _table("accuracy", "of all", "of the ambiguous", "gain there")
    for system, scores in told["systems"].items():
        recalled, ambiguous = scores["recalled"], scores["ambiguous"]
        table.add_row(
            system, _share(recalled), _share(ambiguous), _gain(ambiguous["gain"])
        )  # fmt: skip
    Console().print(table)


def print_trials(outcomes: Sequence["Outcome"], best: "Outcome") -> None:
    """Print all trials, the best marked."""
    table = _table("", "plan", "beam", "depth", "η", "trees", "dev accuracy", "log loss", "seconds")
    for number, outcome in enumerate(outcomes, 1):
        trial = outcome.trial
        table.add_row(
            f"{number}{' *' if outcome is best else ''}", trial.plan, str(trial.beam),
            str(trial.depth), f"{trial.eta:g}", str(outcome.n_trees),
            f"{outcome.right:,}/{outcome.asked:,}  {outcome.accuracy:.2%}",
            f"{outcome.log_loss:.4f}", f"{outcome.seconds:.1f}",
        )  # fmt: skip
    Console().print(table)


def _table(*columns: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for i, column in enumerate(columns):
        table.add_column(column, justify="right" if i else "left", no_wrap=True)
    return table


def _share(scores: dict[str, Any]) -> str:
    if scores["accuracy"] is None:
        return "-"
    low, high = scores["interval"]
    return f"{scores['accuracy']:.2f} ({low:.1f}-{high:.1f})"


def _gain(values: Sequence[float] | None) -> str:
    return "" if values is None else f"{values[0]:+.2f} ({values[1]:+.1f} to {values[2]:+.1f})"
