"""The report of the WNED experiment: plain data, its tables, and both as files in a folder."""

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from experiments.aida import spread_of
from experiments.markdown import markdown_table
from experiments.wned import AIDA_TEST, TrainingRun, WnedResult
from sgtb.core.files import write_whole
from sgtb.evaluation.linkers.scores import SetScores, SystemScores
from sgtb.evaluation.metrics import share
from sgtb.formats.codecs.wned_corpus import WNED_SETS

Rows = Iterator[tuple[str, ...]]

PAPER: Mapping[str, Mapping[str, float]] = {
    "local": {"ace": 89.2, "aquaint": 90.3, "msnbc": 91.1, "clueweb": 78.8, "wikipedia": 75.0},
    "bs": {"ace": 88.9, "aquaint": 90.5, "msnbc": 92.4, "clueweb": 81.7, "wikipedia": 76.4},
    "bsg": {"ace": 88.6, "aquaint": 89.4, "msnbc": 92.5, "clueweb": 81.7, "wikipedia": 78.4},
    "bibsg": {"ace": 88.5, "aquaint": 89.9, "msnbc": 92.6, "clueweb": 81.8, "wikipedia": 79.2},
}
"""Table 3 of the paper: Bag-of-Title F1 by plan and set, with candidates from all of Wikipedia."""
PAPER_AIDA: Mapping[str, float] = {"local": 88.4, "bs": 91.7, "bsg": 92.4, "bibsg": 93.0}
"""Table 2 of the paper without PPRforNED: in-KB accuracy on AIDA-test."""

BOUND = (
    "This is not the paper's Wikipedia of 2017: a mention whose gold the knowledge base lacks, or "
    "whose name does not find it, cannot be right. Compare the figures on all gold with the "
    "recall, and only then with the paper."
)
"""Must accompany the figures."""
COVERAGE_HEADINGS = ("set", "documents", "mentions", "gold in KB, %", "recall, %", "ambiguous, %")
HEADINGS = ("system", *WNED_SETS, "mean", AIDA_TEST)
NOTHING = "–"


class Metric(NamedTuple):
    """A figure of a system on a set, in percent.

    title  heading of its table
    """

    title: str
    of: Callable[[str, SystemScores], float]


def _all_gold(name: str, scores: SystemScores) -> float:
    return scores.named.micro if name == AIDA_TEST else scores.titles.f1


def _ece(name: str, scores: SystemScores) -> float:
    return math.nan if scores.calibration is None else scores.calibration.ece


def _ece_in_kb(name: str, scores: SystemScores) -> float:
    return math.nan if scores.calibration_in_kb is None else scores.calibration_in_kb.ece


METRICS: Mapping[str, Metric] = {
    "ambiguous": Metric(
        "Accuracy on recalled ambiguous mentions", lambda _, scores: scores.ambiguous.micro
    ),
    "recalled": Metric(
        "Accuracy on recalled mentions", lambda _, scores: scores.accuracy_on_recalled
    ),
    "all_gold": Metric("All gold: Bag-of-Title F1; AIDA test: accuracy", _all_gold),
    "ece": Metric("Calibration error (ECE); gold outside the KB is wrong", _ece),
    "ece_in_kb": Metric("Calibration error (ECE), gold in the KB", _ece_in_kb),
}


def as_json(result: WnedResult, kb: str, peak_bytes: int) -> dict[str, Any]:
    """Return the result as plain data; all shares in percent.

    kb  name of the knowledge base
    """
    names = dict.fromkeys(run.training.name for run in result.runs)
    return {
        "kb": {"name": kb, **result.kb, "note": BOUND},
        "trainings": {
            name: _training([run for run in result.runs if run.training.name == name])
            for name in names
        },
        "paper": _paper(),
        "seeds": len({run.seed for run in result.runs}),
        "seconds": round(result.seconds, 1),
        "peak_megabytes": round(peak_bytes / 2**20),
    }


def _training(runs: Sequence[TrainingRun]) -> dict[str, Any]:
    first, training = runs[0], runs[0].training
    sets = first.evaluation.sets
    systems = [*sets[0].systems]
    learned = [training.train, *([training.dev] if training.refit else [])]
    return {
        "documents": sum(len(data.documents) for data in learned),
        "mentions": sum(data.n_mentions for data in learned),
        "known": sum(data.n_known for data in learned),
        "trees": {plan: [run.n_trees[plan] for run in runs] for plan in first.n_trees},
        "coverage": {one.name: _coverage(one) for one in sets},
        "systems": {
            system: {key: _figures(runs, system, metric) for key, metric in METRICS.items()}
            for system in systems
        },
        "best_baseline": max(
            (s for s in systems if s not in first.n_trees),
            key=lambda s: _mean(first, s, METRICS["ambiguous"]), default=None,
        ),
    }  # fmt: skip


def _coverage(one: SetScores[SystemScores]) -> dict[str, Any]:
    named, scores = one.known + one.unknown, next(iter(one.systems.values()))
    return {
        "documents": one.documents,
        "mentions": named,
        "in_kb": _percent(share(one.known, named)),
        "recall": _percent(share(scores.recall.found, named)),
        "ambiguous": _percent(share(scores.ambiguous.total, scores.recall.found)),
    }


def _figures(runs: Sequence[TrainingRun], system: str, metric: Metric) -> dict[str, Any]:
    """Return a figure on every set, and the mean of the five sets; spread over seeds."""
    names = [one.name for one in runs[0].evaluation.sets]
    figures = {
        name: [metric.of(name, run.evaluation[name].systems[system]) for run in runs]
        for name in names
    }
    figures["mean"] = [_mean(run, system, metric) for run in runs]
    return {name: _spread(values) for name, values in figures.items()}


def _mean(run: TrainingRun, system: str, metric: Metric) -> float:
    """Return the mean over WNED's sets, without those that have no such mention."""
    sets = (one for one in run.evaluation.sets if one.name in WNED_SETS)
    values = [metric.of(one.name, one.systems[system]) for one in sets]
    found = [value for value in values if not math.isnan(value)]
    return sum(found) / len(found) if found else math.nan


def _paper() -> dict[str, dict[str, float]]:
    return {
        plan: {**row, "mean": round(sum(row.values()) / len(row), 2), AIDA_TEST: PAPER_AIDA[plan]}
        for plan, row in PAPER.items()
    }


def coverage_rows(record: dict[str, Any], training: str) -> Rows:
    """Yield coverage and recall per set, under COVERAGE_HEADINGS."""
    for name, row in record["trainings"][training]["coverage"].items():
        counts = (f"{row[key]:,}" for key in ("documents", "mentions"))
        yield name, *counts, *(_number(row[key]) for key in ("in_kb", "recall", "ambiguous"))


def figure_rows(record: dict[str, Any], training: str, metric: str) -> Rows:
    """Yield one figure of all systems, and of the paper's where it is the same, under HEADINGS."""
    systems, several = record["trainings"][training]["systems"], record["seeds"] > 1
    for system, figures in systems.items():
        row = [figures[metric].get(name) for name in HEADINGS[1:]]
        if any(row):
            yield system, *(_cell(value, several) for value in row)
    if metric == "all_gold":
        for plan, figures in record["paper"].items():
            if plan in systems:
                cells = (_number(figures[name]) for name in HEADINGS[1:])
                yield f"paper, {plan}", *cells


def notes(record: dict[str, Any]) -> tuple[str, ...]:
    """Return notes on the tables."""
    kb = record["kb"]
    trees = "; ".join(
        f"{name}: " + ", ".join(f"{p} {'/'.join(map(str, n))}" for p, n in one["trees"].items())
        for name, one in record["trainings"].items()
    )
    sizes = "; ".join(
        f"{name}: {one['documents']:,} documents, {one['mentions']:,} mentions, {one['known']:,} "
        f"of a known entity; best baseline on ambiguous mentions {one['best_baseline']}"
        for name, one in record["trainings"].items()
    )
    return (
        f"Knowledge base {kb['name']}: {kb['entities']:,} entities, {kb['names']:,} names, "
        f"{kb['links']:,} links. {kb['note']}",
        "In percent. recall: gold among the candidates, of all mentions; ambiguous: recalled with "
        "two candidates or more; mean: of WNED's five sets. Every mention with candidates is "
        "linked. prior, in-links, popularity: the candidate that ranks first, nothing learned.",
        f"Trained on {sizes}.",
        f"{record['seeds']} seed(s), trees: {trees}; {record['seconds']:.0f} s, "
        f"{record['peak_megabytes']} MB.",
    )


def write_report(record: dict[str, Any], folder: Path) -> None:
    """Write wned.md and wned.json."""
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / "wned.json", (json.dumps(record, indent=2) + "\n").encode())
    parts = ["# WNED: tested on other domains\n", f"{record['kb']['note']}\n"]
    for training in record["trainings"]:
        parts.append(f"## Trained on {training}\n")
        parts.append(markdown_table(COVERAGE_HEADINGS, coverage_rows(record, training)))
        for key, metric in METRICS.items():
            parts.append(f"{metric.title}:\n")
            parts.append(markdown_table(HEADINGS, figure_rows(record, training, key)))
    parts += [f"{note}\n" for note in notes(record)]
    write_whole(folder / "wned.md", "\n".join(parts).encode())


def _spread(values: Sequence[float]) -> dict[str, float] | None:
    """Return mean and standard deviation; None for shares of nothing: JSON has no NaN."""
    return None if any(map(math.isnan, values)) else spread_of(values)


def _cell(value: dict[str, float] | None, several: bool) -> str:
    spread = f" ± {value['std']:.1f}" if several and value else ""
    return _number((value or {}).get("mean")) + spread


def _percent(value: float) -> float | None:
    return None if math.isnan(value) else round(100 * value, 2)


def _number(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.1f}"
