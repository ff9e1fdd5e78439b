"""The report of the AIDA experiment: Markdown, JSON and pictures in a folder."""

import json
from pathlib import Path
from typing import Any

from experiments import plots
from experiments.aida import PAPER, SYSTEMS, AidaResult
from experiments.markdown import markdown_table
from sgtb.core.files import write_whole


def table_2(record: dict[str, Any]) -> str:
    """Return the paper's Table 2, PPRforNED's half, beside ours, as Markdown."""
    rows, columns = [], figures_of(record)
    for plan, system in record["systems"].items():
        paper = PAPER.get(plan)
        rows.append(
            (
                SYSTEMS[plan], f"`{plan}`", "" if paper is None else f"{paper:.1f}",
                *(_spread(system[key], record["seeds"]) for key in columns),
                f"{system['seconds']:.0f} s",
            )
        )  # fmt: skip
    return markdown_table(
        (
            "system",
            "plan",
            "paper, test",
            *(f"sgtb, {one}" for one in columns.values()),
            "training",
        ),
        rows,
    )


def figures_of(record: dict[str, Any]) -> dict[str, str]:
    """Return the figures that a record has of each system, and their headings."""
    known = {"test": "test", "refitted": "test, refitted", "dev": "dev"}
    return {key: known[key] for key in known if all(key in s for s in record["systems"].values())}


def differences(record: dict[str, Any]) -> str:
    """Return the comparisons of plans on test, as Markdown."""
    rows = [
        (
            f"`{d['from']}` to `{d['to']}`", f"{d['points']:+.2f}",
            f"{d['low']:+.2f} to {d['high']:+.2f}", f"{d['p']:.4f}",
        )
        for d in record["differences"]
    ]  # fmt: skip
    return markdown_table(("plans", "points on test", "95 % interval", "p"), rows)


def write_report(result: AidaResult, record: dict[str, Any], folder: Path) -> None:
    """Write aida.md, aida.json, curves.png and, if groups were removed, ablation.png."""
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / "aida.json", (json.dumps(record, indent=2) + "\n").encode())
    parts = [
        "# AIDA-CoNLL with PPRforNED's candidates: in-KB accuracy\n",
        table_2(record),
        "\nMean and standard deviation over "
        f"{record['seeds']} seed(s). Packing {record['packing_seconds']} s, all "
        f"{record['seconds']} s, at most {record['peak_megabytes']} MB.\n",
    ]
    if record["differences"]:
        parts += ["\n## Differences between plans\n", differences(record), "\n"]
    curves = {
        plan: [
            (check.n_trees, check.train_accuracy, check.dev_accuracy)
            for check in result.of(plan)[0].checks
        ]
        for plan in result.plans
    }
    plots.training_curves(curves, folder / "curves.png")
    parts.append("\n## Training\n\n![Accuracy by number of trees](curves.png)\n")
    if result.removals:
        bars = [
            (removal.group, removal.difference.value,
             (removal.difference.high - removal.difference.low) / 2)
            for removal in result.removals
        ]  # fmt: skip
        plots.ablation(bars, result.removals[0].whole, folder / "ablation.png")
        parts.append("\n## Without each group of features\n\n![Change on dev](ablation.png)\n")
    write_whole(folder / "aida.md", "\n".join(parts).encode())


def _spread(values: dict[str, float], seeds: int) -> str:
    mean = f"{values['mean']:.2f}"
    return mean if seeds == 1 else f"{mean} ± {values['std']:.2f}"
