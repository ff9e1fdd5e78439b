"""Data sets: named documents with gold, read again for every iteration."""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sgtb.core.errors import CorpusError
from sgtb.core.records import Document
from sgtb.formats.codecs.wned_folder import read_wned_sets
from sgtb.formats.error_handler import ErrorHandler, ErrorList
from sgtb.formats.registry import detect_format, read_documents

_PACKED = (".gz", ".bz2", ".xz", ".tar")


@dataclass(frozen=True)
class CorpusFile:
    """The documents of a file or folder, streamed.

    format  None: found out from what the file holds
    split   only documents of this split; None: all
    handler of what cannot be read; None: the first error is raised
    """

    path: Path
    format: str | None = None
    split: str | None = None
    handler: ErrorHandler | None = None

    def __iter__(self) -> Iterator[Document]:
        none = True
        for document in read_documents(self.path, self.format, self.handler):
            if self.split is None or document.split == self.split:
                none = False
                yield document
        if none:
            wanted = "" if self.split is None else f" of the split {self.split!r}"
            raise CorpusError(f"{self.path}: there is no document{wanted} in it")


def data_sets(
    paths: Sequence[str | os.PathLike[str]],
    format: str | None = None,
    split: str | None = None,
    handler: ErrorHandler | None = None,
) -> dict[str, Iterable[Document]]:
    """Return the data sets of some files, each under the name of its file.

    WNED's archive, or the folder it unpacks to, has five sets in it and gives as many. They are
    small, and are kept in memory.
    """
    found: list[tuple[Path, str, Iterable[Document]]] = []
    for path in map(Path, paths):
        if not path.exists():
            raise CorpusError(f"{path}: there is no such file or folder")
        kind = format or detect_format(path)
        if kind == "wned" and split is None:
            # A few annotations of WNED have no text, and cannot be mentions: readers note that.
            sets = read_wned_sets(path, handler or ErrorList())
            found += [(path, name or _stem(path), documents) for name, documents in sets]
        else:
            found.append((path, _stem(path), CorpusFile(path, kind, split, handler)))
    return _named(found)


def _named(found: Sequence[tuple[Path, str, Iterable[Document]]]) -> dict[str, Iterable[Document]]:
    """Return data sets by name; where two have one name, their paths tell them apart."""
    times = Counter(name for _, name, _ in found)
    named = {}
    for path, name, documents in found:
        full = name if times[name] == 1 else str(path / name if name != _stem(path) else path)
        if full in named:
            raise CorpusError(f"{path}: this data set is given twice; give it once")
        named[full] = documents
    return named


def _stem(path: Path) -> str:
    name = path.name or str(path)
    while name.endswith(_PACKED):
        name = name.rpartition(".")[0]
    return name if path.is_dir() else Path(name).stem or name
