"""The documentation: its code runs, its output is true, and no command is left out."""

import dataclasses
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

import sgtb
from docs.hooks import FEATURE_GROUPS, feature_table
from sgtb.boosting import SearchPlan, TrainingSettings, TreeSettings
from sgtb.cli.main import app
from sgtb.linking.features.schema import LABELS
from tests.helpers.pages import (
    DOCS,
    PAGES,
    ROOT,
    blocks,
    commands_in,
    name_of,
    run_code,
    session_of,
    untrailed,
    with_records,
    write_files,
)

SOURCES = ROOT / "src" / "sgtb"


def pages_with(kind: str) -> list[Any]:
    return [pytest.param(page, id=name_of(page)) for page in PAGES if any(blocks(page, kind))]


@pytest.mark.parametrize("page", pages_with("python"))
def test_python_code_prints_what_the_page_says(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_files(page, tmp_path)
    names: dict[str, Any] = {"__name__": "__main__"}
    for i, (code, output) in enumerate(blocks(page, "python")):
        title = f"{page.name}, python block {i}"
        printed = run_code(code, names, title)
        if output is not None:
            assert untrailed(printed) == untrailed(output), title


@pytest.mark.parametrize("page", pages_with("console"))
def test_commands_print_what_the_page_says(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_files(page, tmp_path)
    for session, _ in blocks(page, "console"):
        if commands := commands_in(session):
            assert session_of(commands) == untrailed(session)


def commands_of(command: Any, path: str) -> Iterator[str]:
    """Walk the tree of commands; leaves only."""
    if not hasattr(command, "list_commands"):
        yield path
        return
    for name in command.list_commands(None):
        yield from commands_of(command.get_command(None, name), f"{path} {name}")


def test_every_command_is_documented() -> None:
    text = "\n".join(page.read_text("utf-8") for page in PAGES)
    commands = list(commands_of(typer.main.get_command(app), "sgtb"))
    assert "sgtb learner train" in commands
    missing = [command for command in commands if command not in text]
    assert not missing, f"mention these commands in README.md or docs/: {missing}"


def test_the_readme_shows_what_make_demo_runs() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    text = re.search(r"^DEMO := (.*)$", makefile, re.MULTILINE)
    recipe = re.search(r"^demo: .*\n((?:\t.*\n)+)", makefile, re.MULTILINE)
    assert text
    assert recipe
    run = [line.strip().replace("$(BIN)/", "") for line in recipe[1].splitlines()]
    readme = (ROOT / "README.md").read_text("utf-8")
    shown = readme.partition("<!-- demo output -->")[2].partition("<!-- /demo output -->")[0]
    commands = [line[2:] for line in shown.splitlines() if line.startswith("$ ")]
    assert commands == [line.replace("$(DEMO)", text[1]) for line in run]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_recorded_tables_are_those_of_their_records(page: Path) -> None:
    text = page.read_text("utf-8")
    assert with_records(text) == text, "`make docs` refreshes them"


def test_figures_in_the_readmes_text_are_in_its_outputs() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    outputs = re.findall(r"^(?:```.*?^```|\|.*?)$", text, re.MULTILINE | re.DOTALL)
    prose = re.sub(r"^(?:```.*?^```|\|.*?)$", "", text, flags=re.MULTILINE | re.DOTALL)
    claimed = set(re.findall(r"[\d.,]*\d (?:%|ms|s|MB)(?!\w)", prose)) - {"99 %"}
    assert [c for c in claimed if c not in "\n".join(outputs)] == []


def test_the_readme_takes_two_minutes_to_read() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    prose = re.sub(r"\]\([^)]*\)|<!--.*?-->|\|", "", prose)
    assert len(prose.split()) <= 600


def test_every_group_of_features_is_explained() -> None:
    assert FEATURE_GROUPS in (DOCS / "design" / "how-it-decides.md").read_text("utf-8")
    rows = re.findall(r"^\| `([a-z ]+)` \| (.*?) \|", feature_table(), re.MULTILINE)
    assert rows == [*LABELS.items()]


@pytest.mark.parametrize("settings", [SearchPlan, TreeSettings, TrainingSettings])
def test_every_setting_is_documented_with_its_default(settings: Any) -> None:
    text = (DOCS / "guide" / "learner.md").read_text("utf-8")
    for field in dataclasses.fields(settings):
        row = re.search(rf"^\| `{field.name}` \| (.*?) \|", text, re.MULTILINE)
        assert row, f"docs/guide/learner.md has no row for {settings.__name__}.{field.name}"
        default = f'"{field.default}"' if isinstance(field.default, str) else str(field.default)
        assert row[1].strip("`") == default


def test_every_folder_is_described() -> None:
    text = (DOCS / "design" / "architecture.md").read_text("utf-8")
    described = re.findall(r"^\| `([\w/]+)` \| ", text, re.MULTILINE)
    folders = {path.parent.relative_to(SOURCES).as_posix() for path in SOURCES.rglob("*.py")} - {
        "."
    }
    assert sorted(described) == sorted(folders)


def test_every_public_name_is_on_the_api_page() -> None:
    text = (DOCS / "reference" / "api.md").read_text("utf-8")
    missing = [n for n in sgtb.__all__ if n != "__version__" and f"\n::: sgtb.{n}\n" not in text]
    assert not missing


def test_the_site_builds_without_warnings(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr


def test_links_between_pages_lead_somewhere() -> None:
    for page in [*PAGES, ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md"]:
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_files_named_on_pages_exist() -> None:
    named = re.compile(r"`((?:src|tests|benchmarks|experiments|tools|docs)/[a-z0-9_./-]+\.\w+)`")
    for page in [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md"]:
        for path in named.findall(page.read_text("utf-8")):
            assert (ROOT / path).exists(), f"{name_of(page)} names {path}"
