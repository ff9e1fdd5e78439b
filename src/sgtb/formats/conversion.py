"""Conversion: documents of one format written in another, and what was lost on the way."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sgtb.core.errors import CorpusError
from sgtb.core.records import Document
from sgtb.formats.capacity import Losses
from sgtb.formats.registry import detect_format, format_for, read_documents, write_counting

Passing = Callable[[Iterator[Document]], Iterator[Document]]
"""Gives documents on, and may count them."""


@dataclass(frozen=True)
class Conversion:
    """What was read and written.

    losses  what the target cannot hold, in words, and how often
    """

    source: str
    source_format: str
    target: str
    target_format: str
    documents: int
    mentions: int
    written: int
    losses: dict[str, int]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "read": {
                "path": self.source,
                "format": self.source_format,
                "documents": self.documents,
                "mentions": self.mentions,
            },
            "written": {
                "path": self.target,
                "format": self.target_format,
                "documents": self.written,
            },
            "losses": self.losses,
        }


def convert(
    source: Path,
    target: Path,
    source_format: str | None = None,
    target_format: str | None = None,
    passing: Passing = iter,
) -> Conversion:
    """Write the documents of a file in another format, one at a time where both are of lines.

    source_format  None: found out from what the file holds
    target_format  None: the one that the name of the target ends in
    """
    if source.resolve() == target.resolve():
        raise CorpusError(f"{target}: this is what is read, too; name another file to write")
    read_as = source_format or detect_format(source)
    write_as = target_format or format_for(target)
    count, losses = _Count(), Losses()
    documents = count.passing(passing(read_documents(source, read_as)))
    written = write_counting(documents, target, write_as, losses)
    return Conversion(
        str(source),
        read_as,
        str(target),
        write_as,
        count.documents,
        count.mentions,
        written,
        dict(losses.most_common()),
    )


class _Count:
    """How much has passed."""

    def __init__(self) -> None:
        self.documents = self.mentions = 0

    def passing(self, documents: Iterator[Document]) -> Iterator[Document]:
        for document in documents:
            self.documents += 1
            self.mentions += len(document.mentions)
            yield document
