"""Importing a lot: without looking for garbage, for there is none yet, and a lot to look at."""

import gc
from importlib import import_module
from typing import Any


def imported(module: str) -> Any:
    """Return a module, imported together with all that it needs."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        return import_module(module)
    finally:
        if collecting:
            gc.enable()
