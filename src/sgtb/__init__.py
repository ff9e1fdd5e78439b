"""sgtb: collective entity disambiguation by structured gradient tree boosting."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sgtb.boosting import Problems, SearchPlan, StructuredGradientBoosting
    from sgtb.kb import KnowledgeBase
    from sgtb.linking.link_options import LinkerSettings
    from sgtb.linking.linker import Linker
    from sgtb.linking.links import Link, LinkedDocument, Request, Span
    from sgtb.linking.shortcuts import build_kb, calibrate, load, train

__all__ = [
    "KnowledgeBase", "Link", "LinkedDocument", "Linker", "LinkerSettings", "Problems", "Request",
    "SearchPlan", "Span", "StructuredGradientBoosting", "__version__", "build_kb", "calibrate",
    "load", "train",
]  # fmt: skip
__version__ = "0.1.0"

# Names are imported when they are first used: looking up names in a knowledge base needs no linker,
# which would be most of the time and memory that an import takes.
_HOMES = {
    "KnowledgeBase": "sgtb.kb",
    "Link": "sgtb.linking.links",
    "LinkedDocument": "sgtb.linking.links",
    "Linker": "sgtb.linking.linker",
    "LinkerSettings": "sgtb.linking.link_options",
    "Problems": "sgtb.boosting",
    "Request": "sgtb.linking.links",
    "SearchPlan": "sgtb.boosting",
    "Span": "sgtb.linking.links",
    "StructuredGradientBoosting": "sgtb.boosting",
    "build_kb": "sgtb.linking.shortcuts",
    "calibrate": "sgtb.linking.shortcuts",
    "load": "sgtb.linking.shortcuts",
    "train": "sgtb.linking.shortcuts",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'sgtb' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
