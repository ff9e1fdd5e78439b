"""Replace the outputs that the pages show by what their code and commands print today.

`make docs` runs it after a change that is meant to change what is printed. Read the difference
before committing it: the text around an output may mention its numbers.
"""

import contextlib
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.helpers.pages import (
    BLOCK,
    PAGES,
    commands_in,
    name_of,
    run_code,
    session_of,
    untrailed,
    with_records,
    write_files,
)


def refreshed(page: Path) -> str:
    """Return a page with true outputs; its code and commands run in a temporary folder."""
    names: dict[str, Any] = {"__name__": "__main__"}

    def with_output(block: re.Match[str]) -> str:
        if block["kind"] == "python":
            output = run_code(block["body"], names)
            if block["output"] is None:
                return block[0]
            return block[0].replace(block["output"], f"{untrailed(output)}\n")
        commands = commands_in(block["body"])
        return f"```console\n{session_of(commands)}\n```" if commands else block[0]

    text = with_records(page.read_text("utf-8"))
    for kind in ("python", "console"):  # as in the tests: a folder for each
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            write_files(page, Path(folder))
            text = BLOCK.sub(lambda b, k=kind: with_output(b) if b["kind"] == k else b[0], text)
    return text


if __name__ == "__main__":
    os.environ.setdefault("COLUMNS", "80")
    wanted = sys.argv[1:]
    for page in PAGES:
        if wanted and page.name not in wanted:
            continue
        before, after = page.read_text("utf-8"), refreshed(page)
        if after != before:
            page.write_text(after, "utf-8")
            print(f"{name_of(page)}: refreshed")
