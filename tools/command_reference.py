"""The command reference: `python -m tools.command_reference > docs/reference/cli.md`."""

import re

import typer
from typer.cli import get_docs_for_click

from sgtb.cli.main import app

HEAD = """# Commands

All commands of `sgtb`, generated from their `--help`. `sgtb COMMAND --help` prints the same.

- Output for programs goes to standard output, as JSON with `--json`; progress and messages go to
  standard error.
- Exit codes: 0 success, 1 failure (one line says why), 2 wrong usage, 130 after Ctrl-C.
- `SGTB_DEBUG=1` shows the traceback of an unexpected error.

"""
_EXAMPLES = re.compile(r"^Examples?:((?:\n? +.*)+)\n", re.MULTILINE)


def command_reference() -> str:
    """Return the page: typer's own, with examples as code."""
    command = typer.main.get_command(app)
    context = typer.Context(command, max_content_width=0)
    text = get_docs_for_click(obj=command, ctx=context, name="sgtb", indent=1)
    text = text.replace("\b", "").replace("```console\n$ ", "```text\n")  # no command to be tested
    return HEAD + _EXAMPLES.sub(_code, text).strip() + "\n"


def _code(examples: re.Match[str]) -> str:
    lines = [line.strip() for line in examples[1].strip().splitlines()]
    return "\n".join(["```sh", *lines, "```", ""])


if __name__ == "__main__":
    print(command_reference(), end="")
