"""The compiled core: kernels in C++, built for the baseline processor and for x86-64-v3.

The build is chosen at import: the fastest that the processor can run. Results are the same bits.
`SGTB_NATIVE=baseline` or `SGTB_NATIVE=v3` forces one.
"""

import os
from importlib import import_module
from typing import Any

from sgtb.core.errors import MissingExtraError, SettingsError


def _load() -> Any:
    try:
        baseline = import_module("sgtb.native._baseline")
    except ImportError as error:
        raise MissingExtraError(
            f"the compiled core of sgtb is missing, or was built for another Python ({error}): "
            "run `make setup` in a checkout, or `pip install` the package"
        ) from error
    wanted = os.environ.get("SGTB_NATIVE", "")
    if wanted not in ("", "baseline", "v3"):
        raise SettingsError(f"SGTB_NATIVE={wanted}: must be baseline or v3")
    if wanted == "v3" and not baseline.supports_v3():
        raise SettingsError("SGTB_NATIVE=v3: this processor or platform needs baseline")
    if wanted == "baseline" or not baseline.supports_v3():
        return baseline
    return import_module("sgtb.native._v3")


_build = _load()
BUILD: str = _build.__name__.rpartition("_")[2]
"""The build in use: "baseline" or "v3"."""


def __getattr__(name: str) -> Any:
    # Kept, because some kernels are imported within functions.
    kernel = globals()[name] = getattr(_build, name)
    return kernel
