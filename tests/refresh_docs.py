"""Rewrites the outputs that the pages show by what their code and commands print today.

`make docs` runs it, after a change that is meant to change what is printed. Read the difference
before you commit it: the words around an output may speak of its numbers.
"""

import contextlib
import io
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.test_docs import _BLOCK, PAGES, output_of, untrailed, write_files


def refreshed(page: Path) -> str:
    """Return the page with true outputs; its code and commands run in a folder of their own."""
    names: dict[str, Any] = {"__name__": "__main__"}

    def printed(block: re.Match[str]) -> str:
        if block["kind"] == "python" and block["output"] is None:
            _run(block["body"], names)
            return block[0]
        if block["kind"] == "python":
            output = _run(block["body"], names)
            return block[0].replace(block["output"], f"{untrailed(output)}\n")
        commands = [line for line in block["body"].splitlines() if line.startswith("$ ")]
        if not all(command.startswith("$ sgtb ") for command in commands):
            return block[0]
        shown = "".join(f"{command}\n{output_of(command[2:])}" for command in commands)
        return f"```console\n{untrailed(shown)}\n```"

    text = page.read_text("utf-8")
    for kind in ("python", "console"):  # as the tests do: each in a folder of its own
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            write_files(page, Path(folder))
            text = _BLOCK.sub(lambda b, k=kind: printed(b) if b["kind"] == k else b[0], text)
    return text


def _run(code: str, names: dict[str, Any]) -> str:
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(code, names)
    return output.getvalue()


if __name__ == "__main__":
    os.environ.setdefault("COLUMNS", "80")
    wanted = sys.argv[1:]
    for page in PAGES:
        if wanted and page.name not in wanted:
            continue
        before, after = page.read_text("utf-8"), refreshed(page)
        if after != before:
            page.write_text(after, "utf-8")
            print(f"{page.name}: refreshed")
