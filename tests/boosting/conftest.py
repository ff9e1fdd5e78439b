"""Settings of hypothesis for the learner's tests: seeded; fewer examples with a sanitized core."""

import os

from hypothesis import settings

settings.register_profile("sgtb", deadline=None, derandomize=True, max_examples=60)
settings.register_profile("sanitized", deadline=None, derandomize=True, max_examples=15)
settings.load_profile("sanitized" if os.environ.get("SGTB_SANITIZED") else "sgtb")
