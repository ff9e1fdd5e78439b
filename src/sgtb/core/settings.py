"""Settings dataclasses: range checks, and conversion from and to dictionaries."""

import math
from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from sgtb.core.errors import SettingsError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Settings = TypeVar("Settings", bound="DataclassInstance")


def check_integer(name: str, value: object, low: int, high: int) -> None:
    """Raise unless a setting is an integer from `low` to `high`."""
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise SettingsError(f"{name} is {value!r}; it must be a whole number, {low} to {high}")


def check_number(name: str, value: object, low: float, high: float) -> None:
    """Raise unless a setting is a finite number from `low` to `high`."""
    if not isinstance(value, int | float) or not (math.isfinite(value) and low <= value <= high):
        raise SettingsError(f"{name} is {value}; it must be {low:g} to {high:g}")


def from_dict(kind: type[Settings], values: Mapping[str, Any]) -> Settings:
    """Make settings from a dictionary; unknown keys and values of a wrong type are errors."""
    known = {field.name: field for field in fields(kind)}
    for key, value in values.items():
        if key not in known:
            raise SettingsError(
                f"{kind.__name__} has no setting {key!r}; it has {', '.join(known)}"
            )
        default = known[key].default
        right = value is None or isinstance(value, str if isinstance(default, str) else int | float)
        if not right or (isinstance(value, bool) and not isinstance(default, bool)):
            raise SettingsError(f"{kind.__name__}.{key} cannot be {value!r}")
    return kind(**values)


class AdaGrad(NamedTuple):
    """Settings of a step: w -= rate * g / sqrt(G + ease).

    g is the gradient plus decay * w, and G the sum of its squares so far.
    """

    rate: float
    decay: float
    ease: float
