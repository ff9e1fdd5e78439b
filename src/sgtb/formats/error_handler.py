"""ErrorHandler: what happens to errors of a corpus file while it is read."""

from collections.abc import Callable

from sgtb.core.errors import CorpusError, SgtbError

ErrorAt = Callable[[str], CorpusError]
"""Makes an error with file and line from a message."""


class ErrorHandler:
    """Strict handler: the first error ends the reading.

    With a handler that does not raise, readers skip the mention, line or document and go on.
    """

    def error(self, error: SgtbError) -> None:
        """Handle a mention, line or document that cannot be read."""
        raise error

    def repair(self, error: CorpusError) -> None:
        """Handle an error that the reader could repair."""


class ErrorList(ErrorHandler):
    """Collects errors and repairs in the order of the file."""

    def __init__(self) -> None:
        self.errors: list[SgtbError] = []
        self.repairs: list[CorpusError] = []

    def error(self, error: SgtbError) -> None:
        """Append an error."""
        self.errors.append(error)

    def repair(self, error: CorpusError) -> None:
        """Append a repair."""
        self.repairs.append(error)
