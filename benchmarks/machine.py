"""The machine that a run was measured on."""

import os
import platform
from typing import Any

import numpy as np

from sgtb.native import BUILD


def machine(**more: Any) -> dict[str, Any]:
    """Return a description of the machine."""
    return {
        "cpus": os.cpu_count(),
        "architecture": platform.machine(),
        "system": platform.system(),
        "python": platform.python_version(),
        "kernels": BUILD,
        "numpy": np.__version__,
        **more,
    }


def load() -> float | None:
    """Return the load of the machine; None if unknown."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else None
