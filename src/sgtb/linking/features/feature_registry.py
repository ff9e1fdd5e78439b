"""The registry: all feature groups, found in the modules of `features.groups`."""

from importlib import import_module
from operator import attrgetter
from pkgutil import iter_modules

from sgtb.linking.features import groups
from sgtb.linking.features.feature_group import FeatureGroup


def _declared() -> tuple[FeatureGroup, ...]:
    modules = [import_module(f"{groups.__name__}.{m.name}") for m in iter_modules(groups.__path__)]
    found = (group for module in modules for group in module.GROUPS)
    return tuple(sorted(found, key=attrgetter("position")))


GROUPS = _declared()
COMPUTED = tuple(group for group in GROUPS if group.compute is not None)
LEARNED = tuple(group for group in GROUPS if group.compute is None)
"""Groups whose columns are filled by trained models; they come after the computed ones."""
COLLECTIVE = tuple(group.key for group in GROUPS if group.collective)
"""Keys of the groups that a local model must not use."""
LABELS = {group.key: group.label for group in GROUPS}
"""Labels by key."""
