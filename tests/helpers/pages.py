"""The documentation's pages: their code blocks, their files, and what their commands print."""

import contextlib
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from benchmarks.versions import markdown_of
from sgtb.cli.main import app

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]

# Modules of this repository that the pages run with `python -m`, besides `sgtb …`.
RUNNABLE = ("benchmarks.generated_corpus", "benchmarks.trace_link")

_FLAGS = re.MULTILINE | re.DOTALL
# A block, and the ```text block after it if nothing but white space stands between them.
BLOCK = re.compile(
    r"^```(?P<kind>python|console)\n(?P<body>.*?)^```$(?:\s*^```text\n(?P<output>.*?)^```$)?",
    _FLAGS,
)


README_SPEED = (
    "bsg", "bibsg", "paper", "spans_two", "text", "reasons_ms", "command", "starter", "starter_mb",
    "installed_mb",
)  # fmt: skip
"""Rows of the speed table in the README; docs/experiments/speed.md has them all."""


def with_records(text: str) -> str:
    """Return a page with its recorded tables, between comments such as <!-- speed -->."""
    versions = json.loads((ROOT / "benchmarks" / "versions.json").read_text("utf-8"))
    aida = (DOCS / "experiments" / "aida.md").read_text("utf-8")
    records = {
        "speed": markdown_of(versions, README_SPEED),
        "versions": markdown_of(versions),
        "accuracy": re.search(r"^\| system .*?(?=\n\n)", aida, _FLAGS)[0],  # type: ignore[index]
    }
    for name, table in records.items():
        between = re.compile(rf"(?<=<!-- {name} -->\n).*?(?=<!-- /{name} -->)", re.DOTALL)
        text = between.sub(lambda _, t=table: f"{t}\n", text)  # type: ignore[misc]
    return text


def name_of(page: Path) -> str:
    """Return the path of a page within the repository."""
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path, kind: str) -> Iterator[tuple[str, str | None]]:
    """Yield the body and the shown output of each block of a kind."""
    for found in BLOCK.finditer(page.read_text("utf-8")):
        if found["kind"] == kind:
            yield found["body"], found["output"]


def write_files(page: Path, folder: Path) -> None:
    """Write the files a page shows (```csv companies.csv), and copy those of its own folder."""
    for file in page.with_suffix("").glob("*.*"):
        shutil.copy(file, folder)
    shown = re.finditer(r"^```(?:csv|json|text) (\S+)\n(.*?)^```$", page.read_text("utf-8"), _FLAGS)
    for block in shown:
        (folder / block[1]).write_text(block[2], "utf-8")


def untrailed(text: str) -> str:
    """Return text without spaces at the ends of its lines."""
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def commands_in(session: str) -> list[str]:
    """Return the commands of a console block; none if one of them cannot be run here."""
    commands = [line[2:] for line in session.splitlines() if line.startswith("$ ")]
    runnable = ("sgtb ", *(f"python -m {module}" for module in RUNNABLE))
    return commands if all(command.startswith(runnable) for command in commands) else []


def session_of(commands: list[str]) -> str:
    """Run commands one after the other; return them with what they print."""
    return untrailed("".join(f"$ {command}\n{output_of(command)}" for command in commands))


def output_of(command: str) -> str:
    """Run a command; return its standard output."""
    program, *arguments = shlex.split(command)
    if program == "sgtb":
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code == 0, result.output
        return str(result.stdout)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    call = [sys.executable, *arguments]
    return subprocess.check_output(call, env=environment, text=True)


def run_code(code: str, names: dict[str, Any], title: str = "page") -> str:
    """Run Python code with global names; return what it prints."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(code, title, "exec"), names)
    return output.getvalue()
