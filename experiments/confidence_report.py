"""The report of confidence on AIDA-CoNLL: plain data, tables and figures."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from experiments.aida_linker import KNOWS
from experiments.confidence_aida import (
    CANDIDATE,
    LISTED,
    PRECISE,
    PRECISION,
    TESTED,
    ConfidenceResult,
    SplitScores,
    System,
)
from experiments.markdown import markdown_table
from sgtb.core.files import write_whole
from sgtb.evaluation.metrics import NilScores, PrecisionRecall
from sgtb.evaluation.plots import nil_precision_recall, reliability

Rows = Iterator[tuple[str, ...]]

CONFIDENCE_HEADINGS = ("texts", "mentions", "NIL", "right", "ECE default", "ECE", "others", "floor")
NIL_HEADINGS = (
    "NIL", "split", "all right", "in KB", "lost", "links right", "NIL P", "NIL R", "NIL F1",
)  # fmt: skip


def as_json(result: ConfidenceResult) -> dict[str, Any]:
    """Return the result as plain data; shares in percent, calibration errors as they are."""
    return {
        "plan": result.trial.plan,
        "seed": result.trial.seed,
        "precision_wanted": 100 * PRECISION,
        "systems": {name: _system(system) for name, system in result.systems.items()},
        "elsewhere": {
            name: {**_split_scores(split), "ece_others": round(result.left_out[name], 4)}
            for name, split in result.elsewhere.items()
        },
        "note": KNOWS,
        "seconds": round(result.seconds, 1),
    }


def _system(system: System) -> dict[str, Any]:
    return {
        "confidence": system.model.confidence.to_dict(),
        "nil": asdict(system.model.nil),
        "trees": system.model.forest.forest.n_trees,
        **{split: _split_scores(system.scores[split]) for split in TESTED},
    }


def _split_scores(split: SplitScores) -> dict[str, Any]:
    return {
        "mentions_with_candidates": split.after.n,
        "right": _percent(split.after.accuracy),
        "ece_before": round(split.before.ece, 4),
        "ece": round(split.after.ece, 4),
        "ece_floor": round(split.floor, 4),
        "log_loss_before": round(split.before.log_loss, 4),
        "log_loss": round(split.after.log_loss, 4),
        "in_kb_accuracy": _percent(split.in_kb),
        "in_kb_accuracy_if_all_linked": _percent(split.always),
        "in_kb_accuracy_lost": _percent(split.always - split.in_kb),
        "all_mentions": _scores(split.scores),
        "mentions_decided": _scores(split.decided),
        "best_threshold_f1": None if split.curve is None else _percent(split.curve.f1.max()),
    }


def _scores(scores: NilScores) -> dict[str, Any]:
    return {
        "accuracy": _percent(scores.accuracy),
        "links": _retrieval(scores.links),
        "nil": _retrieval(scores.nil),
    }


def _retrieval(counts: PrecisionRecall) -> dict[str, Any]:
    return {
        "right": counts.right, "said": counts.predicted, "gold": counts.gold,
        "precision": _percent(counts.precision), "recall": _percent(counts.recall),
        "f1": _percent(counts.f1),
    }  # fmt: skip


def confidence_rows(record: dict[str, Any]) -> Rows:
    """Yield confidence and accuracy on test and elsewhere, under CONFIDENCE_HEADINGS."""
    tested = {f"test, {name}": system["test"] for name, system in record["systems"].items()}
    for name, test in {**tested, **record["elsewhere"]}.items():
        yield (
            name, f"{test['mentions_with_candidates']:,}",
            f"{test['mentions_decided']['nil']['gold']:,}", _two(test["right"]),
            f"{test['ece_before']:.3f}", f"{test['ece']:.3f}", _three(test.get("ece_others")),
            f"{test['ece_floor']:.3f}",
        )  # fmt: skip


def nil_rows(record: dict[str, Any]) -> Rows:
    """Yield scores of NIL over the mentions with candidates, under NIL_HEADINGS."""
    for name in (CANDIDATE, PRECISE):
        for split in TESTED:
            found = record["systems"][name][split]
            scores = found["mentions_decided"]
            nil, links = scores["nil"], scores["links"]
            yield (
                name.partition(", ")[2], split, _two(scores["accuracy"]),
                _two(found["in_kb_accuracy"]), _two(found["in_kb_accuracy_lost"]),
                _two(links["precision"]), _two(nil["precision"]), _two(nil["recall"]),
                _two(nil["f1"]),
            )  # fmt: skip


def notes(record: dict[str, Any]) -> tuple[str, ...]:
    """Return notes on the tables."""
    test = record["systems"][CANDIDATE]["test"]
    nil, rest = test["all_mentions"]["nil"], test["mentions_decided"]["nil"]
    rule = record["systems"][PRECISE]["nil"]
    return (
        f"Plan {record['plan']}, seed {record['seed']}. Trained on train, calibrated on dev and "
        "left-out topics of train. All shares in percent, of mentions that have candidates; ECE "
        "with 10 bins of equal width. default: the confidence of a linker without observations. "
        "others: calibrated on dev and the other sets of WNED, as `sgtb calibrate` does. "
        "floor: the ECE to be expected of as many answers that are right as often as said. "
        "lost: points of in-KB accuracy that linking every name would have more. Sets of other "
        "domains are linked by name, NIL as a candidate; what the knowledge base lacks is NIL.",
        f"{LISTED}: the paper's setting, linked mentions with PPRforNED's lists. Their gold is "
        "always listed, and NIL mentions mostly have no list, so NIL is not to be learned there. "
        f"by name: all mentions, looked up by their names. {record['note']}",
        f"Of the {nil['gold']:,} NIL mentions of test, {nil['gold'] - rest['gold']:,} have no "
        f"candidate by their names and are NIL without a decision. With them, NIL has precision "
        f"{_two(nil['precision'])}, recall {_two(nil['recall'])} and F1 {_two(nil['f1'])}.",
        f"precise: the threshold, {rule['threshold']:.3f}, from which on "
        f"{record['precision_wanted']:.0f} % of the links on dev are right. "
        f"{record['seconds']:.0f} s.",
    )


def write_report(result: ConfidenceResult, record: dict[str, Any], folder: Path) -> None:
    """Write JSON, Markdown and figures to a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / "confidence.json", (json.dumps(record, indent=2) + "\n").encode())
    parts = [
        markdown_table(CONFIDENCE_HEADINGS, [*confidence_rows(record)]),
        markdown_table(NIL_HEADINGS, [*nil_rows(record)]),
        "\n\n".join(notes(record)),
    ]
    write_whole(folder / "confidence.md", ("\n".join(parts) + "\n").encode())
    test = {name: system.scores["test"] for name, system in result.systems.items()}
    drawn = {name: test[name].after for name in (LISTED, CANDIDATE)}
    drawn |= {name: split.after for name, split in result.elsewhere.items()}
    reliability(drawn, folder / "reliability.png")
    curves = {CANDIDATE: test[CANDIDATE].curve}
    nil_precision_recall(
        {name: curve for name, curve in curves.items() if curve is not None},
        {name: test[name].scores.nil for name in curves},
        folder / "nil.png",
    )


def _percent(value: float) -> float | None:
    """Return a share in percent; None for a share of nothing: JSON has no NaN."""
    return None if value != value else round(100 * float(value), 2)


def _three(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _two(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
