"""Conversion of documents from one format to another, with counts of losses."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sgtb.core.errors import CorpusError
from sgtb.core.records import Document
from sgtb.formats.corpus_format import Losses
from sgtb.formats.error_handler import ErrorHandler
from sgtb.formats.registry import detect_format, format_for, read_documents, write_documents


@dataclass(frozen=True)
class Conversion:
    """Report of a conversion."""

    source: str
    source_format: str
    target: str
    target_format: str
    documents: int
    mentions: int
    written: int
    losses: dict[str, int]  # number of omissions by description

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON object."""
        read = {"path": self.source, "format": self.source_format}
        return {
            "read": {**read, "documents": self.documents, "mentions": self.mentions},
            "written": {
                "path": self.target, "format": self.target_format, "documents": self.written,
            },
            "losses": self.losses,
        }  # fmt: skip


def convert(
    source: Path,
    target: Path,
    source_format: str | None = None,
    target_format: str | None = None,
    progress: Callable[[Iterator[Document]], Iterator[Document]] = iter,
    handler: ErrorHandler | None = None,
) -> Conversion:
    """Write the documents of a file in another format, one at a time if both have lines.

    source_format  None: detected from the content
    target_format  None: by the ending of the target
    progress       wraps the iterator of documents, to show progress
    handler        of what cannot be read; None: the first error ends the conversion
    """
    if source.resolve() == target.resolve():
        raise CorpusError(f"{target}: source and target are the same; name another target")
    read_as = source_format or detect_format(source)
    write_as = target_format or format_for(target)
    read: Counter[str] = Counter()
    losses = Losses()

    def counted() -> Iterator[Document]:
        for document in progress(read_documents(source, read_as, handler)):
            read["documents"] += 1
            read["mentions"] += len(document.mentions)
            yield document

    written = write_documents(counted(), target, write_as, losses)
    return Conversion(
        str(source), read_as, str(target), write_as, documents=read["documents"],
        mentions=read["mentions"], written=written, losses=dict(losses.most_common()),
    )  # fmt: skip
