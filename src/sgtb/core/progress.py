"""Stages of long work: who waits for it may be told how far it is."""

from collections.abc import Callable

Progress = Callable[[str, int, int], None]
"""Told a stage, how much of it is done, and of how much; of 0: nobody knows."""


def silent(stage: str, done: int, total: int) -> None:
    """Tell nobody."""
