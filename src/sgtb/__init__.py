"""sgtb: collective entity disambiguation by structured gradient tree boosting."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sgtb.kb import KnowledgeBase
    from sgtb.learn import Problems, SearchPlan, StructuredGradientBoosting

__all__ = [
    "KnowledgeBase", "Problems", "SearchPlan", "StructuredGradientBoosting", "__version__",
]  # fmt: skip
__version__ = "0.1.0"

# Names are imported when they are first used: looking up names in a knowledge base needs no
# compiler, which would be most of the time and memory that an import takes.
_HOMES = {
    "KnowledgeBase": "sgtb.kb",
    "Problems": "sgtb.learn",
    "SearchPlan": "sgtb.learn",
    "StructuredGradientBoosting": "sgtb.learn",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'sgtb' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
