"""Lines of pages: JSON Lines in chunks, and the shards that a worker process writes for a chunk.

    pages-N.tsv  place, lists, id, title, key of the title, type, description
    names-N.tsv  place, kind, name, use, hash
    cased-N.txt  cased text; lines end with \\n, pages with \\f

The place of a page is its index among the chunk's usable pages; N is the number of the chunk.
"""

import codecs
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from sgtb.core.errors import CorpusError
from sgtb.core.limits import FileLimits
from sgtb.formats.corpus_source import open_lines
from sgtb.formats.json_lines import JsonLine, json_object
from sgtb.kb.build.usable_names import clean, is_id, is_name, title_problem
from sgtb.pages.cased_text import BREAK, COMMA, SENTENCE, CasedWords, name_use, uses_alone
from sgtb.pages.page_names import page_facts, short_forms
from sgtb.pages.pages_settings import IdKey
from sgtb.text.normalization import normal_name, title_key
from sgtb.wikipedia.build.build_report import DroppedPage
from sgtb.wikipedia.build.page_counters import name_hashes
from sgtb.wikipedia.build.page_rows import shard

PAGE_COLUMNS = {
    "place": "INTEGER", "lists": "TINYINT", "id": "VARCHAR", "title": "VARCHAR",
    "key": "VARCHAR", "type": "VARCHAR", "description": "VARCHAR",
}  # fmt: skip
NAME_COLUMNS = {
    "place": "INTEGER", "kind": "TINYINT", "name": "VARCHAR", "use": "TINYINT", "hash": "UBIGINT",
}  # fmt: skip
TITLE, STATED = 0, 1
"""Kinds of names: the title, and what follows from it or is stated by first sentences."""

_CHUNK = 4 << 20
_SIGNS = SENTENCE + BREAK + COMMA
_words = CasedWords()


class LineChunk(NamedTuple):
    """Whole lines of a file; `number` counts chunks of all files, `line` is the first line."""

    number: int
    file: str
    line: int
    data: bytes


def line_chunks(files: Sequence[Path]) -> Iterator[LineChunk]:
    """Yield the lines of files, plain or packed with gzip, bzip2 or xz."""
    number = 0
    for file in files:
        line = 1
        with open_lines(file) as stream:
            while data := stream.read(_CHUNK):
                data += stream.readline(FileLimits.current().line)
                if line == 1:
                    data = data.removeprefix(codecs.BOM_UTF8)
                yield LineChunk(number, str(file), line, data)
                number += 1
                line += data.count(b"\n")


def write_page_rows(chunk: LineChunk, folder: Path, ids: IdKey) -> tuple[int, list[DroppedPage]]:
    """Write the shards of a chunk; return the number of lines, and those that cannot be used."""
    rows = _PageRows(ids)
    dropped: list[DroppedPage] = []
    n_lines = 0
    for number, raw in enumerate(chunk.data.split(b"\n"), chunk.line):
        if not raw.strip():
            continue
        n_lines += 1
        line = JsonLine(chunk.file, number, {})
        try:
            line = line._replace(fields=json_object(raw))
            rows.add(line)
        except (CorpusError, ValueError) as error:
            reason = str(error).removeprefix(f"{chunk.file}, line {number}: ")
            title = line.fields.get("title")
            shown = clean(title) if isinstance(title, str) else ""
            dropped.append(DroppedPage(chunk.file, number, shown, reason))
    rows.write(folder, chunk.number)
    return n_lines, dropped


def short_names(title: str, type: str, cased: str) -> list[str]:
    """Return the short forms of a title that a page's own cased text uses alone."""
    return [
        clean(form)
        for form in short_forms(title, type)
        if is_name(form) and uses_alone(cased, _words.line(form).rstrip(_SIGNS))
    ]


class _PageRows:
    """Collects the rows of a chunk."""

    def __init__(self, ids: IdKey) -> None:
        self._ids = ids
        self._pages: list[str] = []
        self._names: list[tuple[int, int, str, int]] = []
        self._normal: list[str] = []
        self._texts: list[str] = []

    def add(self, line: JsonLine) -> None:
        """Add a page; CorpusError if its line cannot be used."""
        title = clean(" ".join(line.text("title").split()))
        if problem := title_problem(title):
            raise line.error(problem)
        given = line.fields.get("id")
        id = title if self._ids == "title" or given in (None, "") else line.id()
        if not is_id(id):
            raise line.error(f'"id" {id[:40]!r}: too long, or with control characters')
        text = line.optional_text("text") or ""
        facts = page_facts(title, text)
        place = len(self._pages)
        fields = (
            place, int(facts.lists), id, title, title_key(title), facts.type, facts.description,
        )  # fmt: skip
        self._pages.append("\t".join(map(str, fields)) + "\n")
        if not facts.lists:
            cased = "".join(f"{_words.line(one)}\n" for one in text.split("\n") if one.strip())
            for name in facts.names:
                kind = TITLE if name == title else STATED
                self._name(place, kind, name, name_use(name, normal_name(name)))
            for name in short_names(title, facts.type, cased):
                self._name(place, STATED, name, 0)  # too ambiguous to be searched for
            self._texts.append(cased)
        self._texts.append("\f")

    def _name(self, place: int, kind: int, name: str, use: int) -> None:
        self._names.append((place, kind, name, use))
        self._normal.append(normal_name(name))

    def write(self, folder: Path, number: int) -> None:
        hashes = name_hashes(self._normal).tolist()
        names = (
            f"{place}\t{kind}\t{name}\t{use}\t{hash}\n"
            for (place, kind, name, use), hash in zip(self._names, hashes, strict=True)
        )
        for kind, lines in (("pages", self._pages), ("names", names), ("cased", self._texts)):
            data = "".join(lines).encode("utf-8", "replace")
            shard(folder, kind, number).write_bytes(data)
