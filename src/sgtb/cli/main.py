"""The command `sgtb`: its commands, loaded lazily, and error messages."""

import atexit
import gc
import os
import sys
from typing import Any

import typer
from typer.core import TyperGroup

import sgtb
from sgtb.cli.importing import imported
from sgtb.core.errors import EntityListError, SgtbError
from sgtb.core.files import FULL

STAGES = {
    "Link": ("link", "explain"),
    "Build": ("kb", "wikipedia", "plan"),
    "Train": ("train", "tune", "calibrate", "learner"),
    "Judge": ("evaluate", "corpus", "convert"),
    "Serve and share": ("serve", "pack"),
}
"""Commands and groups by the stage of work at which they are used, as `sgtb --help` lists them."""
COMMANDS = tuple(name for names in STAGES.values() for name in names)
GROUPS = ("corpus", "kb", "learner")  # commands that have commands of their own
_MODULES = {"kb": "kb_group"}  # modules named differently from their command

INTERRUPTED = 130  # exit code after Ctrl-C: 128 plus the number of the signal


class CleanGroup(TyperGroup):
    """Command group that reports errors on standard error, in one line each."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            _fail("stopped", INTERRUPTED)
        except BrokenPipeError:  # `sgtb … | head`: typer handles it
            raise
        except EntityListError as error:
            *errors, last = (" ".join(text.split()) for text in error.args)
            for text in errors:
                print(text, file=sys.stderr)
            _fail(last)
        except (SgtbError, OSError, MemoryError) as error:
            _fail(_line(error))
        except Exception as error:
            if hasattr(error, "exit_code") or isinstance(error, typer.Abort):
                raise  # raised by typer: a usage error, or the end of a command
            if os.environ.get("SGTB_DEBUG"):
                raise
            _fail(f"a bug in sgtb: {_line(error)} (SGTB_DEBUG=1 shows where)")


class LazyGroup(CleanGroup):
    """The group of all commands; the module of a command is imported when it is called."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of commands and groups."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Import a command."""
        if cmd_name not in COMMANDS:
            return None
        app = imported(f"sgtb.cli.commands.{_MODULES.get(cmd_name, cmd_name)}").app
        make = typer.main.get_group if cmd_name in GROUPS else typer.main.get_command
        command = make(app)
        command.name = cmd_name
        command.short_help = (command.help or "").strip().partition("\n")[0]
        if cmd_name in GROUPS:
            command.short_help += f" Commands: {', '.join(_leaves(command))}."
        return command

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands by stage, as `sgtb --help` shows them."""
        for stage, names in STAGES.items():
            with formatter.section(stage):
                rows = [(name, self.get_command(ctx, name).short_help) for name in names]
                formatter.write_dl(rows, col_max=12)


def _leaves(command: Any, path: str = "") -> list[str]:
    """Return the commands of a group, those of its groups after their names."""
    if not hasattr(command, "commands"):
        return [path]
    return [
        leaf
        for name, own in command.commands.items()
        for leaf in _leaves(own, f"{path} {name}".strip())
    ]


class Program(typer.Typer):
    """The program, run in a process of its own."""

    def __call__(self, *args: Any, **options: Any) -> Any:
        """Run it with the arguments of the process."""
        atexit.register(_skip_collection)
        return super().__call__(*args, **options)


def _skip_collection() -> None:
    """Skip the final garbage collection, which takes longer than linking."""
    if "duckdb" not in sys.modules:  # duckdb warns of open connections
        gc.freeze()


app = Program(
    name="sgtb",
    cls=LazyGroup,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode=None,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"sgtb {sgtb.__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: bool = typer.Option(
        False, "--version", callback=_print_version, is_eager=True, help="Print the version."
    ),
) -> None:
    """Link names in text to the entities they mean, all names of a document jointly.

    Example: sgtb link "Jordan won six rings with the Bulls."
    """


def _line(error: BaseException) -> str:
    """Describe an error in one line."""
    if isinstance(error, OSError) and error.strerror:
        # Files name themselves; what is left on a full disk is what was printed.
        unnamed = "standard output: " if error.errno in FULL else ""
        where = f"{error.filename}: " if error.filename else unnamed
        return f"{where}{error.strerror}"
    text = " ".join(str(error).split())
    if isinstance(error, SgtbError):
        return text
    kind = "out of memory" if isinstance(error, MemoryError) else type(error).__name__
    return f"{kind}: {text}" if text else kind


def _fail(line: str, code: int = 1) -> None:
    print(f"sgtb: {line}", file=sys.stderr)
    raise typer.Exit(code)
