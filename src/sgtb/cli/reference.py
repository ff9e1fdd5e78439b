"""The reference of all commands, as Markdown: `python -m sgtb.cli.reference > docs/cli.md`."""

import re
import types
from collections.abc import Iterator
from enum import Enum
from inspect import cleandoc
from pathlib import Path
from typing import Any, NamedTuple, Union, get_args, get_origin, get_type_hints

import typer

from sgtb.cli.main import app

_WORDS = {int: "N", float: "X", str: "TEXT", Path: "PATH"}
"""What stands for a value, by its type."""
_MARKUP = re.compile(r"\[/?bold\]")
_HEAD = """# Commands

All commands of `sgtb`, with every argument and option. This page is made by
`python -m sgtb.cli.reference`, from what `--help` says.

- What is for programs goes to standard output, mostly as JSON with `--json`; all talk goes to
  standard error.
- A command ends with 0 if it did what was asked, with 1 if it could not (one line says why), with 2
  if it was called wrongly, with 130 after Ctrl-C.
- `SGTB_DEBUG=1` shows where in the program an unforeseen error came from.
"""


class Command(NamedTuple):
    """A command, or a group of commands, by the words it is called with."""

    path: str
    command: Any

    @property
    def is_group(self) -> bool:
        """Whether it has commands of its own."""
        return hasattr(self.command, "list_commands")


def commands() -> Iterator[Command]:
    """Yield all commands and groups that are not hidden, a group before its commands."""
    yield from _walk(Command("sgtb", typer.main.get_command(app)))


def reference() -> str:
    """Return the whole page."""
    found = list(commands())
    places = "\n".join(
        f"{'  ' * (c.path.count(' ') - 1)}- [`{c.path}`](#{c.path.replace(' ', '-')})"
        for c in found[1:]
    )
    return "\n".join([_HEAD, "The commands:\n", places, "", *map(_section, found)])


def parameters(command: Command) -> list[Any]:
    """Return the arguments and options of a command that are not hidden."""
    return [p for p in command.command.params if not getattr(p, "hidden", False)]


def help_of(command: Command) -> tuple[list[str], list[str]]:
    """Return the paragraphs of a command's help, and the lines of its examples."""
    text, examples = [], []
    for paragraph in re.split(r"\n\s*\n", cleandoc(command.command.help or "")):
        plain = _MARKUP.sub("", paragraph).replace("\b", "").strip("\n")
        if (match := re.match(r"\s*Examples?:\s*", plain)) is not None:
            examples += [line.strip() for line in plain[match.end() :].splitlines()]
        elif plain.strip():
            text.append(" ".join(plain.split()))
    return text, examples


def _walk(command: Command) -> Iterator[Command]:
    yield command
    if command.is_group:
        for name in command.command.list_commands(None):
            child = command.command.get_command(None, name)
            if not child.hidden:
                yield from _walk(Command(f"{command.path} {name}", child))


def _section(command: Command) -> str:
    text, examples = help_of(command)
    rows = [_row(command, p) for p in parameters(command)]
    parts = [f"{'#' * max(2, command.path.count(' ') + 1)} {command.path}", *map(_escaped, text)]
    if not command.is_group:
        parts.insert(1, f"```text\n{_synopsis(command)}\n```")
    if rows:
        table = ["| argument or option | default | |", "|---|---|---|", *rows]
        parts.append("\n".join(table))
    if examples:
        parts.append("\n".join(["```sh", *examples, "```"]))
    return "\n\n".join(parts) + "\n"


def _synopsis(command: Command) -> str:
    found = parameters(command)
    options = [_spelled(command, p) for p in found if _is_option(p) and p.required]
    places = [_place(p) for p in found if not _is_option(p)]
    rest = ["[OPTIONS]"] if any(_is_option(p) and not p.required for p in found) else []
    return " ".join([command.path, *rest, *options, *places])


def _row(command: Command, parameter: Any) -> str:
    if _is_option(parameter):
        names = [*parameter.opts, *parameter.secondary_opts]
        shown = ", ".join(f"`{name}`" for name in names)
        if value := _value(command, parameter):
            shown += f" `{value}`"
    else:
        shown = f"`{_place(parameter)}`"
    help = " ".join((parameter.help or "").split())
    if parameter.multiple:
        help += " May be given several times."
    return f"| {_cell(shown)} | {_cell(_default(parameter))} | {_cell(_escaped(help))} |"


def _is_option(parameter: Any) -> bool:
    return bool(parameter.param_type_name == "option")


def _place(parameter: Any) -> str:
    """Return what an argument is called in a synopsis, in brackets where it may be missing."""
    name = parameter.metavar or parameter.name.upper()
    return name if parameter.required or name.startswith("[") else f"[{name}]"


def _spelled(command: Command, option: Any) -> str:
    longest = max(option.opts, key=len)
    return f"{longest} {_value(command, option)}".strip()


def _value(command: Command, option: Any) -> str:
    """Return the word for an option's value; none where it is a switch."""
    if option.is_flag or option.secondary_opts:
        return ""
    if option.metavar:
        return str(option.metavar)
    kind = _plain_type(get_type_hints(command.command.callback)[option.name])
    if isinstance(kind, type) and issubclass(kind, Enum):
        return "|".join(str(item.value) for item in kind)
    return _WORDS.get(kind, "VALUE")


def _plain_type(hint: Any) -> Any:
    """Return the type of one value: without None, and without the list around it."""
    if get_origin(hint) in (Union, types.UnionType):
        hint = next(part for part in get_args(hint) if part is not type(None))
    return get_args(hint)[0] if get_origin(hint) is list else hint


def _default(parameter: Any) -> str:
    if parameter.required:
        return "required"
    if isinstance(parameter.show_default, str):
        return f"`{parameter.show_default}`"
    default = parameter.default
    if default is None or default in ("", (), []) or default is False:
        return ""
    return f"`{default.value if isinstance(default, Enum) else default}`"


def _escaped(text: str) -> str:
    """Return text in which Markdown sees no markup; what is in backquotes is left alone."""
    return re.sub(r"([*_<>\[\]])", r"\\\1", text)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    print(reference(), end="")
