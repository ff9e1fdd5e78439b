"""Complete representations of results, for comparisons; NaN equals NaN."""

from dataclasses import fields, is_dataclass
from typing import Any


def exact(value: Any) -> str:
    """Return a value with all fields of all records in it."""
    if is_dataclass(value):
        own = ", ".join(f"{f.name}={exact(getattr(value, f.name))}" for f in fields(value))
        return f"{type(value).__name__}({own})"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(exact, value))}]"
    return repr(value)
