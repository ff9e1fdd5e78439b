"""Plain values: commands get what typer would have given them, and its errors."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import pytest
import typer
import typer.core
from typer.testing import CliRunner

from sgtb.cli import plain_values

pytestmark = pytest.mark.skipif(
    not hasattr(typer.core, "build_runtime_param"), reason="this typer checks nothing by pydantic"
)


class Colour(StrEnum):
    red = "red"
    blue = "blue"


app = typer.Typer()


@app.command()
def command(
    texts: Annotated[list[str] | None, typer.Argument()] = None,
    word: str = "word",
    number: Annotated[int, typer.Option(min=1)] = 3,
    share: Annotated[float, typer.Option(max=1.0)] = 0.5,
    maybe: float | None = None,
    flag: bool = False,
    answer: Annotated[bool | None, typer.Option("--yes/--no")] = None,
    file: Annotated[Path, typer.Option(exists=True)] = Path("missing"),
    more: Annotated[list[Path] | None, typer.Option()] = None,
    colour: Colour = Colour.red,
) -> None:
    values = (texts, word, number, share, maybe, flag, answer, file, more, colour)
    print(values, [type(value) for value in values])


HERE = ["--file", __file__]


@pytest.mark.parametrize(
    "words",
    [
        [], HERE, [*HERE, "a", "b"], [*HERE, "--number", "7"], [*HERE, "--number", "0"],
        [*HERE, "--number", "x"], [*HERE, "--share", "2"], [*HERE, "--share", "1"],
        [*HERE, "--maybe", "0.25"], [*HERE, "--maybe", "y"], [*HERE, "--flag", "--no"],
        [*HERE, "--word", ""], [*HERE, "--more", "p", "--more", "q"], [*HERE, "--colour", "blue"],
        [*HERE, "--colour", "green"],
    ],
)  # fmt: skip
def test_values_and_errors_are_those_of_typer(monkeypatch, words):
    usual = CliRunner().invoke(app, words)
    # Set to what it is, so that it is set back.
    monkeypatch.setattr(typer.core, "build_runtime_param", typer.core.build_runtime_param)
    plain_values.spare_pydantic()
    spared = CliRunner().invoke(app, words)
    assert (spared.exit_code, spared.output) == (usual.exit_code, usual.output)


def test_pydantic_is_asked_only_where_there_is_something_to_check(monkeypatch):
    asked = []

    def build(descriptor):
        asked.append(descriptor.annotation)
        raise RuntimeError

    monkeypatch.setattr(typer.core, "build_runtime_param", build)
    plain_values.spare_pydantic()
    plain_values.spare_pydantic()  # once is enough
    CliRunner().invoke(app, ["text"])
    assert asked == [Path]  # a default, too, must exist


def test_another_typer_is_left_alone(monkeypatch):
    monkeypatch.delattr(typer.core, "build_runtime_param")
    plain_values.spare_pydantic()
    assert not hasattr(typer.core, "build_runtime_param")
