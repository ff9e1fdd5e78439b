"""Two versions beside each other: what is compared, never the timings themselves."""

import io
import sys
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks import linker_probe, versions
from benchmarks.install_size import required, sizes
from benchmarks.probes import ROOT, checkout_of, environment_of
from benchmarks.versions import OTHERS, OURS, QUICK, ROWS, Part


def _run(speed, first, processor=None):
    return {"docs_per_second": speed, "first_docs_per_second": first, "processor_ms": processor}


def test_reasons_are_what_comes_on_top_of_plain_text():
    figures = versions.linking_figures(
        {
            "spans": _run(400.0, 100.0, 2.5),
            "spans, 2 processes": _run(700.0, 90.0),
            "text": _run(250.0, 80.0, 4.0),
            "text, reasons": _run(200.0, 70.0, 4.75),
        }
    )
    assert figures["reasons_ms"] == pytest.approx(0.75)
    assert (figures["spans_two"], figures["text_first"]) == (700.0, 80.0)


def test_versions_take_turns_and_medians_count(monkeypatch):
    asked = []
    taken = iter([3.0, 1.0, 5.0, 2.0, 4.0, 9.0])

    def measured(extent, python, folder):
        asked.append(python)
        return {"bsg": next(taken)}

    monkeypatch.setitem(versions._MEASURES, Part.training, measured)
    extent = versions.Extent(False, 3, 10, 0, 0, 1)
    pythons = {OTHERS: "old", OURS: "new"}
    result = versions.measure(extent, [Part.training], pythons, Path())
    assert asked == ["old", "new", "new", "old", "old", "new"]
    assert result[OTHERS] == {"bsg": 3.0}
    assert result[OURS] == {"bsg": 5.0}


def test_the_table_has_every_row_and_its_ratio():
    half = {row.key: 2.0 for row in ROWS}
    result = {"quick": False, "rounds": 3, "trees": 250, OTHERS: half, OURS: dict.fromkeys(half, 1)}
    shown = _shown(result)
    assert "bibsg, 500 trees" in shown
    lines = [line for line in shown.splitlines() if "×" in line]
    assert len(lines) == len(ROWS)
    for row, line in zip(ROWS, lines, strict=True):
        assert ("× 0.50" if row.more else "× 2.00") in line


def test_without_another_version_there_are_no_ratios():
    shown = _shown({"quick": True, "rounds": 1, "trees": 50, OURS: {"bsg": 1.5}})
    assert "1.50 s" in shown
    assert "ratio" not in shown


def _shown(result):
    console = Console(file=io.StringIO(), width=120)
    console.print(versions.table_of(result))
    return console.file.getvalue()


def test_a_first_link_in_this_very_process():
    answer = linker_probe.first_link("Jordan won six rings with the Bulls.")
    assert answer["links"] > 0
    assert 0 <= answer["import_seconds"] <= answer["seconds"]
    assert answer["rss_mb"] > 10


def test_commands_and_sizes_of_this_interpreter():
    figures = versions.installing(QUICK, sys.executable, Path())
    assert figures["installed_mb"] > 10  # numpy alone has more
    assert figures["command_first"] > 0
    found = sizes("sgtb")
    assert {"sgtb", "numpy", "rich"} <= set(found)
    assert "pytest" not in found


def test_requirements_of_extras_do_not_count():
    given = ["numpy>=1.26", "rdflib>=7.0; extra == 'nif'", 'x-y ; python_version < "3"']
    assert required(given) == ["numpy", "x-y"]


def test_another_version_runs_the_benchmarks_of_its_own_checkout(tmp_path, monkeypatch):
    other = tmp_path / ".venv" / "bin" / "python"
    with pytest.raises(RuntimeError, match=r"has no benchmarks/probes\.py.*make baseline-env"):
        checkout_of(str(other))
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks" / "probes.py").touch()
    assert checkout_of(str(other)) == tmp_path
    assert checkout_of(sys.executable) == ROOT
    monkeypatch.setenv("PYTHONPATH", "src")
    assert environment_of(sys.executable)["PYTHONPATH"] == "src"
    assert "PYTHONPATH" not in environment_of(str(other))


def test_markdown_has_the_rows_asked_for():
    figures = {row.key: 2.0 for row in ROWS}
    result = {"trees": 250, OTHERS: figures, OURS: dict.fromkeys(figures, 1.0)}
    shown = versions.markdown_of(result, ("bsg",)).splitlines()
    assert shown[2:] == ["| training bsg, 250 trees | 2.00 s | 1.00 s | 2.0 |"]
    assert len(versions.markdown_of(result).splitlines()) == 2 + len(ROWS)
