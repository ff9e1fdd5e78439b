"""Short versions of `make fuzz-files` and `make kill-commands`."""

import os

import pytest

from tests.fuzz.damaged_files import fuzz
from tests.fuzz.killed_commands import run

pytestmark = pytest.mark.skipif(
    not os.path.exists("/proc/self/status"), reason="memory is limited by means of Linux"
)


def test_damaged_files_are_refused_or_usable():
    total = fuzz(150, seed=3)
    assert total["wrong"] == 0
    assert total["refused"] > 100


def test_killed_commands_leave_the_old_state_or_the_new_one():
    assert run(4, seed=5, only=("add", "pack", "convert", "link")).total() == 4
