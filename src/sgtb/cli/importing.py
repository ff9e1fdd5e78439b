"""Imports of large modules without garbage collection."""

import gc
from importlib import import_module
from typing import Any


def imported(module: str) -> Any:
    """Import a module with garbage collection disabled, which takes less time."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        return import_module(module)
    finally:
        if collecting:
            gc.enable()
