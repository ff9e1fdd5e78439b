"""The report of the WNED experiment: its two tables, and Markdown and JSON in a folder."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from experiments.markdown import markdown_table
from experiments.wned import BASELINE
from sgtb.core.files import write_whole

Rows = Iterator[tuple[str, ...]]

SET_HEADINGS = ("set", "documents", "mentions", "gold in KB, %", "recall, %")
SCORE_HEADINGS = ("set", "plan", "paper", "BoT F1", "P", "R", "accuracy", "recalled")
NOTHING = "–"


def set_rows(record: dict[str, Any]) -> Rows:
    """Yield what the knowledge base allows for, set by set, under SET_HEADINGS."""
    for name, given in record["sets"].items():
        counts = (f"{given[key]:,}" for key in ("documents", "mentions"))
        yield name, *counts, _number(given["in_kb"]), _number(given["recall"])


def score_rows(record: dict[str, Any]) -> Rows:
    """Yield the paper's Table 3 beside ours and the baseline, under SCORE_HEADINGS."""
    several = record["seeds"] > 1
    for name, given in record["sets"].items():
        yield name, BASELINE, NOTHING, *_scores(given["baseline"], several=False)
        for plan, system in given["systems"].items():
            yield name, plan, _number(system["paper_bot_f1"]), *_scores(system, several)


def _scores(scores: dict[str, Any], several: bool) -> Iterator[str]:
    """Yield means, and how seeds spread around the main ones where there are several."""
    for key in ("bot_f1", "bot_precision", "bot_recall", "accuracy", "accuracy_on_recalled"):
        values = scores[key] or {}
        spread = several and values and key not in ("bot_precision", "bot_recall")
        yield _number(values.get("mean")) + (f" ± {values['std']:.1f}" if spread else "")


def notes(record: dict[str, Any]) -> tuple[str, ...]:
    """Return what must be read with the tables."""
    kb = record["kb"]
    trees = "; ".join(f"{plan} {'/'.join(map(str, n))}" for plan, n in record["trees"].items())
    return (
        f"Knowledge base: {kb['name']}, {kb['entities']:,} entities. {kb['note']}",
        "BoT F1, P, R: Bag-of-Title scores in percent, redirects not followed; paper: its Table 3. "
        "accuracy: of all linked mentions; recalled: of those whose gold is among the candidates. "
        f"{BASELINE}: the candidate with the most in-links, nothing learned.",
        f"{record['seeds']} seed(s), trees: {trees}; {record['seconds']:.0f} s, "
        f"{record['peak_megabytes']} MB.",
    )


def write_report(record: dict[str, Any], folder: Path) -> None:
    """Write wned.md and wned.json."""
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / "wned.json", (json.dumps(record, indent=2) + "\n").encode())
    parts = [
        "# WNED: trained on AIDA-CoNLL, tested on other domains\n",
        markdown_table(SET_HEADINGS, set_rows(record)),
        markdown_table(SCORE_HEADINGS, score_rows(record)),
        *(f"{note}\n" for note in notes(record)),
    ]
    write_whole(folder / "wned.md", "\n".join(parts).encode())


def _number(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.1f}"
