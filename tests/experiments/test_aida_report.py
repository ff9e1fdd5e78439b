"""The report of the AIDA experiment: files, tables and pictures."""

import json
from dataclasses import replace

import pytest

from experiments import plots
from experiments.aida import AidaResult, Removal, Run, as_json
from experiments.aida_report import differences, table_2, write_report
from sgtb.boosting.training_progress import Check
from sgtb.evaluation.bootstrap import Difference
from tests.helpers.answer_builders import accuracy

CHECKS = (Check(3, 0.8, 0.7), Check(6, 0.9, 0.75))


def result(plans=("local", "bs", "laso", "bsg", "bibsg"), removals=()):
    runs = tuple(
        Run(plan, 0, accuracy([3, 2], [4, 4]), accuracy([min(i, 4), 3], [4, 4]), 6, 61.4, CHECKS)
        for i, plan in enumerate(plans)
    )
    return AidaResult(runs, 2.0, 99.0, removals)


def cells(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in row.strip("| ").split(" | ")] for row in table.splitlines()]


def test_the_paper_stands_beside_our_numbers():
    head, _, *rows = cells(table_2(as_json(result(), 0)))
    assert head == ["system", "plan", "paper, test", "sgtb, test", "sgtb, dev", "training"]
    assert rows[0] == [
        "Gradient tree boosting", "`local`", "93.1", "37.50", "62.50", "61 s",
    ]  # fmt: skip
    assert [row[1] for row in rows] == ["`local`", "`bs`", "`laso`", "`bsg`", "`bibsg`"]
    assert [row[2] for row in rows] == ["93.1", "95.1", "", "95.5", "95.9"]


def test_several_seeds_have_a_spread():
    one = result(("bsg",))
    several = replace(one, runs=(*one.runs, replace(one.runs[0], seed=1)))
    _, _, row = cells(table_2(as_json(several, 0)))
    assert row[3:5] == ["37.50 ± 0.00", "62.50 ± 0.00"]


def test_differences_have_signs():
    _, _, *rows = cells(differences(as_json(result(("local", "bs")), 0)))
    assert rows[0][:2] == ["`local` to `bs`", "+12.50"]


REMOVALS = tuple(
    Removal(group, 4, 0.875, Difference(value, value - 0.01, value + 0.01, 0.95, 99, 0.04))
    for group, value in (("name", -0.02), ("prior", 0.001))
)


def test_all_files_are_written(tmp_path):
    folder = tmp_path / "new" / "report"
    made = result(removals=REMOVALS)
    record = as_json(made, 5 * 2**20)
    write_report(made, record, folder)
    assert sorted(file.name for file in folder.iterdir()) == [
        "ablation.png", "aida.json", "aida.md", "curves.png",
    ]  # fmt: skip
    assert json.loads((folder / "aida.json").read_text()) == record
    for name in ("curves.png", "ablation.png"):
        assert (folder / name).read_bytes().startswith(b"\x89PNG")
    text = (folder / "aida.md").read_text()
    assert table_2(record) in text
    assert differences(record) in text
    for name in ("curves.png", "ablation.png"):
        assert f"]({name})" in text
    assert "1 seed(s)" in text
    assert "5 MB" in text
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    write_report(made, record, folder)
    assert before == {file.name: file.read_bytes() for file in folder.iterdir()}


def test_the_ablation_is_held_against_its_own_reference(tmp_path, monkeypatch):
    """Its systems are trained in another way than the runs, and may be of another plan."""
    drawn = []
    monkeypatch.setattr(plots, "ablation", lambda *arguments: drawn.append(arguments))
    made = result(("local",), REMOVALS)
    write_report(made, as_json(made, 0), tmp_path)
    bars = [("name", -0.02, 0.01), ("prior", 0.001, 0.01)]
    assert [(name, *map(pytest.approx, values)) for name, *values in bars] == drawn[0][0]
    assert drawn[0][1] == 0.875


@pytest.mark.parametrize("plan", ["local", "bsg"])
def test_one_plan_without_ablation(tmp_path, plan):
    made = result((plan,))
    write_report(made, as_json(made, 0), tmp_path)
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        "aida.json",
        "aida.md",
        "curves.png",
    ]
    text = (tmp_path / "aida.md").read_text()
    assert "Differences" not in text
    assert "ablation" not in text
