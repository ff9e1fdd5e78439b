"""Reports of `sgtb train` and `sgtb tune`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from sgtb.linking.training.tuning import Outcome


def print_model(result: dict[str, Any]) -> None:
    """Print the size of a model and its accuracy on dev."""
    print(
        f"{result['model']}: {result['plan']}, {result['trees']} trees, "
        f"{result['bytes'] / 1e6:.1f} MB, learned from {result['learnable']:,} mentions"
    )
    if result["dev"] is None:
        print("accuracy unknown: no dev mention has an entity")
    else:
        print_accuracy("dev", result["dev"])


def print_accuracy(name: str, result: dict[str, Any]) -> None:
    """Print the accuracy of systems."""
    test = result["test"]
    print(
        f"{name}: {test['documents']:,} documents, {test['mentions']:,} mentions; "
        f"{test['known']:,} with a known entity, {test['recalled']:,} with it among their "
        f"candidates, {test['ambiguous']:,} ambiguous"
    )
    table = number_table("accuracy", "all", "ambiguous", "gain on ambiguous")
    for system, scores in result["systems"].items():
        recalled, ambiguous = scores["recalled"], scores["ambiguous"]
        table.add_row(
            system, _share(recalled), _share(ambiguous), _gain(ambiguous["gain"])
        )  # fmt: skip
    Console().print(table)


def print_trials(outcomes: Sequence["Outcome"], best: "Outcome") -> None:
    """Print all trials and mark the best."""
    table = number_table(
        "", "plan", "beam", "depth", "η", "trees", "dev accuracy", "log loss", "seconds"
    )
    for number, outcome in enumerate(outcomes, 1):
        trial = outcome.trial
        table.add_row(
            f"{number}{' *' if outcome is best else ''}", trial.plan, str(trial.beam),
            str(trial.depth), f"{trial.eta:g}", str(outcome.n_trees),
            f"{outcome.right:,}/{outcome.asked:,}  {outcome.accuracy:.2%}",
            f"{outcome.log_loss:.4f}", f"{outcome.seconds:.1f}",
        )  # fmt: skip
    Console().print(table)


def outcome_line(number: int, outcome: "Outcome") -> str:
    """Return the result of a trial on one line."""
    return (
        f"trial {number}: {outcome.trial}: {outcome.n_trees} trees, dev "
        f"{outcome.right:,} of {outcome.asked:,} ({outcome.accuracy:.2%}), "
        f"log loss {outcome.log_loss:.4f}, {outcome.seconds:.1f} s"
    )


def number_table(*columns: str) -> Table:
    """Return a table whose columns but the first are numbers."""
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
