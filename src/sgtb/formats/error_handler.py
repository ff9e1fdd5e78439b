"""ErrorHandler: what happens to errors of a corpus file while it is read."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sgtb.core.errors import CorpusError, SgtbError

ErrorAt = Callable[[str], CorpusError]  # makes an error with file and line from a message


class ErrorHandler:
    """Strict handler: the first error ends the reading.

    With a handler that does not raise, readers skip the mention, line or document and go on.
    """

    def error(self, error: SgtbError) -> None:
        """Handle a mention, line or document that cannot be read."""
        raise error

    def repair(self, error: CorpusError) -> None:
        """Handle an error that the reader could repair."""

    @contextmanager
    def skipping(self) -> Iterator[None]:
        """Handle a CorpusError of the block, whose remainder is then skipped."""
        try:
            yield
        except CorpusError as error:
            self.error(error)


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
