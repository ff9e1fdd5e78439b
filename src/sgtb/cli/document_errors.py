"""Bad documents: the handler of --on-error, and the list of those that were skipped."""

import sys
from itertools import islice

from sgtb.core.errors import SgtbError
from sgtb.formats.error_handler import ErrorHandler

_LISTED = 20
"""Errors that are listed; all are counted."""


class SkippedDocuments(ErrorHandler):
    """Handler that skips: collects each error once, as files are read once per linker."""

    def __init__(self) -> None:
        self._errors: dict[str, None] = {}

    def error(self, error: SgtbError) -> None:
        """Count an error."""
        self._errors[str(error)] = None

    def print(self) -> None:
        """Print number and list on standard error, if there are errors."""
        if not self._errors:
            return
        count = len(self._errors)
        more = "" if count <= _LISTED else f"; the first {_LISTED}"
        print(f"skipped, cannot be read: {count:,}{more}:", file=sys.stderr)
        for text in islice(self._errors, _LISTED):
            print(f"  {text}", file=sys.stderr, flush=True)


def handler_for(choice: str) -> ErrorHandler:
    """Return the handler of a choice of --on-error."""
    return SkippedDocuments() if choice == "skip" else ErrorHandler()


def print_skipped(handler: ErrorHandler) -> None:
    """Print what a handler has skipped."""
    if isinstance(handler, SkippedDocuments):
        handler.print()
