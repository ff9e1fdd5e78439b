"""The history of benchmarks: one line of JSON per full run, compared with the one before.

`make bench` appends the figures of `benchmarks.versions` to benchmarks/history.jsonl, with version,
commit and machine, and prints them next to the last line of the same kind of machine.
"""

import json
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.table import Table

import sgtb
from benchmarks.machine import machine
from benchmarks.probes import ROOT

HISTORY = ROOT / "benchmarks" / "history.jsonl"
KIND = ("cpus", "architecture", "system", "kernels")
"""Keys that make two machines comparable."""


def record_of(figures: Mapping[str, float]) -> dict[str, Any]:
    """Return the line of a run."""
    return {
        "version": sgtb.__version__,
        "commit": _commit(),
        "date": datetime.now(UTC).date().isoformat(),
        "machine": machine(),
        "figures": dict(figures),
    }


def last_of_kind(path: Path, kind: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the last line of the same kind of machine; None without any."""
    if not path.exists():
        return None
    lines = path.read_text("utf-8").splitlines()
    records: list[dict[str, Any]] = [json.loads(line) for line in lines if line.strip()]
    alike = [r for r in records if all(r["machine"].get(key) == kind[key] for key in KIND)]
    return alike[-1] if alike else None


def append(record: Mapping[str, Any], path: Path = HISTORY) -> None:
    """Add a line."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")


def comparison(before: Mapping[str, Any], now: Mapping[str, Any]) -> Table:
    """Return a table of the figures of two lines and their change in percent."""
    table = Table("figure", title=f"{before['commit']} ({before['date']}) and {now['commit']}")
    for column in ("before", "now", "change"):
        table.add_column(column, justify="right")
    for key, value in now["figures"].items():
        old = before["figures"].get(key)
        if old:
            table.add_row(key, f"{old:g}", f"{value:g}", f"{100 * (value / old - 1):+.1f} %")
    return table


def _commit() -> str:
    """Return the checked-out commit, with a mark where files differ from it."""
    command = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip() or "unknown"
