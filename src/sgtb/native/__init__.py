"""The compiled core: kernels in C++, built for the baseline processor and for x86-64-v3.

The build is chosen at import. `SGTB_NATIVE=baseline` forces the baseline; results are the same.
"""

import os
from typing import Any

from sgtb.native import _baseline

_build: Any = _baseline
if os.environ.get("SGTB_NATIVE") != "baseline" and _baseline.supports_v3():
    from sgtb.native import _v3 as _build

BUILD: str = _build.__name__.rpartition("_")[2]
"""The build in use: "baseline" or "v3"."""


def __getattr__(name: str) -> Any:
    return getattr(_build, name)
