"""Settings from plain dictionaries and back, with misspelt keys noticed."""

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any, TypeVar

from sgtb.boosting.search.plan import SearchPlan
from sgtb.boosting.trainer import TrainingSettings
from sgtb.boosting.trees.grower import TreeSettings
from sgtb.core.errors import SettingsError

Settings = TypeVar("Settings", SearchPlan, TreeSettings, TrainingSettings)


def from_dict(kind: type[Settings], values: Mapping[str, Any]) -> Settings:
    """Make settings of a dictionary; an unknown key or a value of the wrong type is an error."""
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


def to_dict(settings: SearchPlan | TreeSettings | TrainingSettings) -> dict[str, Any]:
    """Return settings as a dictionary."""
    return asdict(settings)
