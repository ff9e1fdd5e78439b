"""The report of the linker on AIDA-CoNLL: plain data and table."""

from collections.abc import Iterator
from typing import Any

from experiments.aida_linker import KNOWS, TESTED, LinkerResult, LinkerRun, Tested

Rows = Iterator[tuple[str, ...]]

HEADINGS = ("through", "candidates", "test", "dev", "recall", "recalled", "trees")


def as_json(result: LinkerResult, peak_bytes: int) -> dict[str, Any]:
    """Return the result as plain data; all shares in percent."""
    reproduced, listed = result.reproduced, result.runs["listed"].tested["test"].accuracy
    test = reproduced.accuracy["test"]
    return {
        "plan": result.trial.plan,
        "seed": result.trial.seed,
        "kb": {
            **{key: result.kb[key] for key in ("entities", "names", "aliases", "links")},
            "note": KNOWS,
        },
        "reproduce_aida": {
            **{split: _percent(reproduced.accuracy[split].micro) for split in TESTED},
            "trees": reproduced.n_trees,
        },
        "linker": {way: _run(run) for way, run in result.runs.items()},
        "difference": {
            "points": _percent(listed.micro - test.micro),
            "mentions_decided_differently": result.differing,
            "mentions": test.total,
        },
        "recall_without_lists_of_test": _percent(result.known_before.share),
        "seconds": round(result.seconds, 1),
        "peak_megabytes": round(peak_bytes / 2**20),
    }


def _run(run: LinkerRun) -> dict[str, Any]:
    return {
        **{split: _tested(tested) for split, tested in run.tested.items()},
        "trees": run.n_trees,
    }


def _tested(tested: Tested) -> dict[str, float | None]:
    return {
        "accuracy": _percent(tested.accuracy.micro),
        "macro": _percent(tested.accuracy.macro),
        "recall": _percent(tested.recall.share),
        "accuracy_on_recalled": _percent(tested.on_recalled),
        "seconds": round(tested.seconds, 1),
    }


def rows(record: dict[str, Any]) -> Rows:
    """Yield the lines of the table, under HEADINGS."""
    own = record["reproduce_aida"]
    yield "aida", "listed", _two(own["test"]), _two(own["dev"]), "", "", str(own["trees"])
    for way, run in record["linker"].items():
        test = run["test"]
        yield (
            "Linker.pipe", way, _two(test["accuracy"]), _two(run["dev"]["accuracy"]),
            _two(test["recall"]), _two(test["accuracy_on_recalled"]), str(run["trees"]),
        )  # fmt: skip


def notes(record: dict[str, Any]) -> tuple[str, ...]:
    """Return notes on the table."""
    kb, difference = record["kb"], record["difference"]
    return (
        f"Plan {record['plan']}, seed {record['seed']}. test, dev: in-KB accuracy in percent; "
        "recall, recalled: mentions of test whose gold is among the candidates, and the accuracy "
        "on these.",
        f"Of the {difference['mentions']:,} linked mentions of test, with the lists of PPRforNED, "
        f"{difference['mentions_decided_differently']:,} are decided differently by the linker "
        f"and by `python -m experiments aida`: {difference['points']:+.2f} points.",
        f"listed: candidates are those that PPRforNED lists for the document. by name: all "
        "mentions, those outside the knowledge base too, are given as spans, and candidates are "
        f"looked up; trained likewise. {kb['note']} With the names of titles, train and dev alone "
        f"recall would be about {_two(record['recall_without_lists_of_test'])} %.",
        f"Knowledge base: {kb['entities']:,} entities, {kb['names']:,} names, {kb['links']:,} "
        f"links. {record['seconds']:.0f} s, {record['peak_megabytes']} MB.",
    )


def _percent(value: float) -> float | None:
    """Return a share in percent; None for a share of nothing: JSON has no NaN."""
    return None if value != value else round(100 * value, 2)


def _two(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
