"""The script of a first hour: its steps, and the first line that each prints."""

import contextlib
import io
import json
import re
import shlex
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from sgtb.cli.main import app
from sgtb.starter import KB

SCRIPT = Path(__file__).parents[1] / "first_hour.txt"
COMMAND, CALL = "$ ", ">>> "
NOTHING, _LONGEST = "(nothing)", 100
ENTITIES = """id,name,aliases,type,popularity,description,links
P1,Ada Berg,Berg,PER,3,a chemist of Umberg,L1
P2,Carl Berg,Berg,PER,2,a goalkeeper of Umberg United,O1
L1,Umberg,,LOC,9,a town with a university,P1
O1,Umberg United,United,ORG,5,a football club,P2|L1
"""
DEEDS = {"kept goal in": "P2", "lost in": "P2", "taught in": "P1", "wrote in": "P1"}


def steps() -> list[tuple[str, str]]:
    """Return the steps of the script with their first lines."""
    lines = SCRIPT.read_text("utf-8").splitlines()
    found = []
    for i, line in enumerate(lines):
        if line.startswith((COMMAND, CALL)):
            after = lines[i + 1] if i + 1 < len(lines) else ""
            found.append((line, "" if after.startswith((COMMAND, CALL)) else after))
    return found


def write_data(folder: Path) -> None:
    """Write the files that the script uses: entities, and sixty annotated sentences."""
    (folder / "entities.csv").write_text(ENTITIES, "utf-8")
    (folder / "bad.csv").write_text("id,name,popularity\nA,Acme,high\n", "utf-8")
    records = []
    for year in range(1990, 2005):
        for deed, person in DEEDS.items():
            text = f"In {year} Berg {deed} Umberg."
            spans = ((text.index("Berg"), 4, person), (text.index("Umberg"), 6, "L1"))
            mentions = [{"start": at, "end": at + n, "entity": id_} for at, n, id_ in spans]
            records.append(json.dumps({"id": f"{year} {deed}", "text": text, "mentions": mentions}))
    (folder / "texts.jsonl").write_text("\n".join(records) + "\n", "utf-8")


def first_lines() -> Iterator[tuple[str, str]]:
    """Run the steps in the current folder; yield each with the first line that it prints."""
    names: dict[str, Any] = {}
    for step, _ in steps():
        printed = _output(step[2:]) if step.startswith(COMMAND) else _value(step[4:], names)
        lines = [line.strip() for line in printed.splitlines() if line.strip()]
        yield step, _settled(lines[0]) if lines else NOTHING


def _settled(line: str) -> str:
    """Return a line without what another place or another model changes, cut if long."""
    line = re.sub(r"\d+%", "N%", line.replace(str(KB), "STARTER"))
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"


def _output(command: str) -> str:
    arguments = shlex.split(command)[1:]
    result = CliRunner().invoke(app, arguments, env={"COLUMNS": "80"}, prog_name="sgtb")
    assert "Traceback" not in result.output, result.output
    # Usage comes before the error of a wrong one.
    return str(result.output).rpartition("\n\n")[2] if result.exit_code == 2 else result.output


def _value(call: str, names: dict[str, Any]) -> str:
    """Return what an interpreter shows: the value, or the error."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            try:
                value = eval(call, names)
            except SyntaxError:
                exec(call, names)
                value = None
        except Exception as error:
            return f"{type(error).__name__}: {error}"
    return out.getvalue() if value is None else repr(value)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        write_data(Path(folder))
        done = [f"{step}\n{line}" for step, line in first_lines()]
    head = SCRIPT.read_text("utf-8").partition("\n\n")[0]
    SCRIPT.write_text(f"{head}\n\n" + "\n".join(done) + "\n", "utf-8")
