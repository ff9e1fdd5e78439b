"""Texts of users on a terminal: shown as they are, not as markup or emoji of rich."""

import ast
import io
import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import sgtb
from sgtb.boosting import SearchPlan
from sgtb.cli.main import app
from sgtb.cli.views.progress_views import StageProgress
from tests.helpers.problem_builders import estimator, random_problems

NAME = "[red]Orlan[/red] :apple: [/]"
SOURCES = sorted(Path(sgtb.__file__).parent.rglob("*.py"))


def run(*arguments: object) -> str:
    result = CliRunner().invoke(app, [str(one) for one in arguments], env={"COLUMNS": "200"})
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture
def kb(tmp_path):
    record = {"id": "Q1", "name": NAME, "aliases": ["Orlan"], "description": f"about {NAME}"}
    sgtb.build_kb([record], tmp_path / "kb").close()
    return tmp_path / "kb"


def test_entities(kb):
    card = run("kb", "show", kb, "Q1")
    assert f"about {NAME}" in card
    assert NAME in card.splitlines()[0]
    candidates = run("kb", "show", kb, "Orlan")
    assert f"about {NAME}" in candidates
    assert candidates.count(NAME) == 2


def test_control_characters_do_not_reach_the_terminal(tmp_path):
    record = {"id": "Q1", "name": "Orlan", "description": "a \x1b[31mred\x07 \u202eword"}
    sgtb.build_kb([record], tmp_path / "kb").close()
    for wanted in ("Q1", "Orlan"):
        shown = run("kb", "show", tmp_path / "kb", wanted)
        assert "a \N{REPLACEMENT CHARACTER}[31mred" in shown
        assert not set(shown) & set("\x1b\x07\u202e")


def test_the_check_of_a_corpus(kb, tmp_path):
    mention = {"start": 0, "end": 5, "entity": f"No {NAME}"}
    file = tmp_path / "[red] :apple:.jsonl"
    file.write_text(json.dumps({"text": "Orlan won.", "mentions": [mention]}) + "\n")
    report = run("corpus", "check", file, "--kb", kb)
    assert report.startswith(f"{file}: ")
    assert f"  No {NAME}, 1 mention" in report


def test_the_file_of_a_model(tmp_path):
    file = tmp_path / "[red] :apple:.model"
    problems = random_problems(np.random.default_rng(5), n_documents=6)
    estimator(SearchPlan("local"), n_trees=1).fit(problems).save(file)
    assert str(file) in run("learner", "info", file).replace("\n", "")


class Terminal(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        """Return True."""
        return True


def test_stages(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    terminal = Terminal()
    with StageProgress(stream=terminal) as progress:
        progress(f"on {NAME}", 1, 2)
        progress.end_stage(f"done: {NAME}")
        progress(f"after {NAME}", 1, 2)
    for text in ("on", "done:", "after"):
        assert f"{text} {NAME}" in terminal.getvalue()


def test_all_consoles_and_columns():
    needed = {"Console": {"markup", "emoji"}, "TextColumn": {"markup"}}
    calls = [
        (file.name, node.func.id, {one.arg for one in node.keywords if _is_false(one.value)})
        for file in SOURCES
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in needed
    ]
    assert {name for _, name, _ in calls} == set(needed)
    assert [call for call in calls if not needed[call[1]] <= call[2]] == []


def _is_false(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is False
