"""Reports of `sgtb train` and `sgtb tune`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich import box
from rich.table import Table

from sgtb.cli.views.link_view import open_console
from sgtb.core.intervals import FEW_MENTIONS

if TYPE_CHECKING:
    from sgtb.linking.training.tuning import Outcome


def print_model(result: dict[str, Any]) -> None:
    """Print the size of a model and its accuracy on dev."""
    print(
        f"{result['model']}: {result['plan']}, {result['trees']} trees, "
        f"{result['bytes'] / 1e6:.1f} MB, learned from {result['learnable']:,} mentions"
    )
    if result["origin"].get("refit"):
        print("trained on all documents; the accuracy on dev is that of the training without it")
    if result["dev"] is None:
        print("accuracy unknown: no dev mention has an entity")
        return
    if result["progress"] is not None:
        print(
            f"dev as in the progress: {result['progress']:.2%} of the mentions with candidates, "
            "NIL and hidden entities included"
        )
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
        recalled, ambiguous, gain = scores["recalled"], scores["ambiguous"], ""
        if ambiguous["gain"] is not None:
            value, low, high = ambiguous["gain"]
            gain = f"{value:+.2f} ({low:+.1f} to {high:+.1f})"
        table.add_row(system, _share(recalled), _share(ambiguous), gain)
    open_console().print(table)
    print("percent of the mentions with their entity among the candidates, 95 % intervals")


def print_trials(outcomes: Sequence["Outcome"], best: "Outcome") -> None:
    """Print all trials and mark the best."""
    table = number_table(
        "", "plan", "beam", "depth", "η", "trees", "right", "dev accuracy", "loss", "s"
    )
    for number, outcome in enumerate(outcomes, 1):
        trial, (low, high) = outcome.trial, outcome.interval
        table.add_row(
            f"{number}{' *' if outcome is best else ''}", trial.plan, str(trial.beam),
            str(trial.depth), f"{trial.eta:g}", str(outcome.n_trees),
            f"{outcome.right:,}/{outcome.asked:,}",
            f"{outcome.accuracy:.1%} ({100 * low:.0f}-{100 * high:.0f})",
            f"{outcome.log_loss:.3f}", f"{outcome.seconds:.0f}",
        )  # fmt: skip
    open_console().print(table)
    print("in parentheses: 95 % interval of the accuracy; * the settings of the model")


def choice_line(outcomes: Sequence["Outcome"], chosen: "Outcome") -> str:
    """Return which trial is kept, and whether dev could tell."""
    from sgtb.linking.training.tuning import best_of

    best, number = best_of(outcomes), outcomes.index(chosen) + 1
    if chosen is best:
        return f"training with the best of {len(outcomes)} trials: {number}"
    few = ": too few to choose by" if best.asked < FEW_MENTIONS else ""
    return (
        f"training with trial {number} of {len(outcomes)}, the simplest that {best.asked:,} dev "
        f"mentions cannot tell from the best, {outcomes.index(best) + 1}{few}"
    )


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
