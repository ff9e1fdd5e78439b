"""The history of benchmarks: lines appended, and compared with those of the same machine kind."""

import io
import json

from rich.console import Console

from benchmarks.history import HISTORY, KIND, append, comparison, last_of_kind, record_of


def test_the_last_line_of_the_same_kind_of_machine_is_found(tmp_path):
    path = tmp_path / "history.jsonl"
    assert last_of_kind(path, {}) is None
    here = record_of({"bsg": 2.0, "new": 1.0})
    other = here | {"machine": here["machine"] | {"cpus": 999}, "commit": "other"}
    for record in (here | {"commit": "first", "figures": {"bsg": 4.0}}, other):
        append(record, path)
    found = last_of_kind(path, here["machine"])
    assert found is not None
    assert found["commit"] == "first"
    console = Console(file=io.StringIO(), width=100)
    console.print(comparison(found, here))
    shown = console.file.getvalue()
    assert "-50.0 %" in shown
    assert "new" not in shown  # no figure to compare with


def test_every_line_of_the_committed_history_is_whole():
    for line in HISTORY.read_text("utf-8").splitlines():
        record = json.loads(line)
        assert set(record) == {"version", "commit", "date", "machine", "figures"}
        assert set(KIND) <= set(record["machine"])
        assert record["figures"]["bsg"] > 0
