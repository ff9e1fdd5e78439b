"""Commands run with a linker that is no model."""

from collections.abc import Callable
from typing import Any

import pytest
from typer.testing import CliRunner

from sgtb.cli.commands import explain, link
from sgtb.cli.main import app
from tests.helpers.cli_answers import FakeLinker


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[FakeLinker]:
    """The linkers that commands open from now on: fakes."""
    linkers: list[FakeLinker] = []

    def open_linker(model: Any, kb: Any, settings: Any, quiet: bool = False) -> FakeLinker:
        linkers.append(FakeLinker(settings))
        return linkers[-1]

    monkeypatch.setattr(link, "open_linker", open_linker)
    monkeypatch.setattr(explain, "open_linker", open_linker)
    return linkers


@pytest.fixture
def run(opened: list[FakeLinker]) -> Callable[..., Any]:
    """Run a command that should succeed; with `code`, one that should end with that."""

    def run(*arguments: object, code: int = 0, input: str | bytes | None = None) -> Any:
        result = CliRunner().invoke(app, [str(argument) for argument in arguments], input=input)
        assert result.exit_code == code, result.output
        assert "Traceback" not in result.output
        return result

    return run
