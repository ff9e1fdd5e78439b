"""Complaints: what a reader says of a file that is not as it should be, and who hears it."""

from collections.abc import Callable

from sgtb.core.errors import CorpusError

ErrorAt = Callable[[str], CorpusError]
"""Makes an error out of a message: knows file and line."""


class Complaints:
    """Hears what is wrong with a file. This one is strict: the first error ends the reading.

    One that only takes notes lets a reader leave out what is wrong and go on with the next mention
    or line.
    """

    def wrong(self, error: CorpusError) -> None:
        """Hear of a mention, a line or a document that cannot be read."""
        raise error

    def repaired(self, error: CorpusError) -> None:
        """Hear of something that was wrong and could be put right."""


class Notes(Complaints):
    """Takes notes of everything, in the order of the file."""

    def __init__(self) -> None:
        self.errors: list[CorpusError] = []
        self.repairs: list[CorpusError] = []

    def wrong(self, error: CorpusError) -> None:
        """Note an error."""
        self.errors.append(error)

    def repaired(self, error: CorpusError) -> None:
        """Note a repair."""
        self.repairs.append(error)
