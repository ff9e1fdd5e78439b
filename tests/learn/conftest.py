"""Settings of hypothesis for the learner's tests: seeded, and patient with compiling kernels."""

import os

from hypothesis import settings

settings.register_profile("sgtb", deadline=None, derandomize=True, max_examples=60)
settings.register_profile("nojit", deadline=None, derandomize=True, max_examples=10)
settings.load_profile("nojit" if os.environ.get("NUMBA_DISABLE_JIT") == "1" else "sgtb")
