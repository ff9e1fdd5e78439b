"""Plain values of options: those that are what they should be, without asking pydantic.

typer has had all values checked by pydantic for some time, and importing that takes a tenth of a
second. What is left at its default, or is a text, needs no checking.
"""

from collections.abc import Callable
from typing import Any

import typer.core

Build = Callable[[Any], Any]
_NAME = "build_runtime_param"


def spare_pydantic() -> None:
    """Make this process check values by pydantic only where there is something to check."""
    build: Build | None = getattr(typer.core, _NAME, None)
    if build is not None and not isinstance(build, _Sparing):  # other releases have no such thing
        setattr(typer.core, _NAME, _Sparing(build))


class _Sparing:
    """Stands where typer makes the checks of an option."""

    def __init__(self, build: Build) -> None:
        self._build = build

    def __call__(self, descriptor: Any) -> "_Check":
        return _Check(self._build, descriptor)


class _Check:
    """The check of an option's values."""

    def __init__(self, build: Build, descriptor: Any) -> None:
        self._build, self._descriptor = build, descriptor

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return a value as the command takes it, or raise typer's error."""
        kind = self._descriptor.annotation
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        if kind in (bool, int, float) and type(value) is kind and value is param.default:
            return value
        if kind is str and type(value) is str:
            return value
        if kind == list[str] and isinstance(value, tuple | list):
            return list(value)
        return self._build(self._descriptor).coerce(value, param=param, ctx=ctx)
