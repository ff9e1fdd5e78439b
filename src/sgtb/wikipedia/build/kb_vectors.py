"""Vectors for a knowledge base from dumps: trained on their text, or copied from a file."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sgtb.core.progress import Progress
from sgtb.kb.build.kb_writer import KbWriter
from sgtb.text.normalization import normal_name
from sgtb.text.vector_file import VectorFile, entity_title
from sgtb.wikipedia.build.build_report import VectorCounts
from sgtb.wikipedia.build.duckdb_store import Arrays, DuckDbStore, as_ints
from sgtb.wikipedia.build.page_rows import ASIDE, END_OF_PAGE, PAGE_BITS
from sgtb.wikipedia.build.train_vectors import line_of_page, train_vectors

_BATCH = 10_000
_MAX_WORDS = 1_000_000

NormalTitle = Callable[[str], str | None]


def write_corpus(db: DuckDbStore, text: Path, chunk: int, corpus: Path) -> None:
    """Append the training lines of a chunk's pages to a corpus file."""
    first, last = chunk << PAGE_BITS, (chunk + 1 << PAGE_BITS) - 1
    owners = db.arrays(
        "SELECT page, number FROM owners WHERE page BETWEEN $1 AND $2 ORDER BY page", first, last
    )
    links = db.arrays(
        "SELECT page, line, word, number FROM placed WHERE page BETWEEN $1 AND $2 "
        "AND number >= 0 AND word >= 0 ORDER BY page, line, word, ordinal",
        first, last,
    )  # fmt: skip
    owner = dict(zip((owners["page"] - first).tolist(), owners["number"].tolist(), strict=True))
    pages = text.read_bytes().decode().split(END_OF_PAGE)
    with open(corpus, "ab") as file:
        for position, links_of_line in _links_by_page(links, first, len(pages)):
            if position not in owner:
                continue
            text_lines = pages[position].partition(ASIDE)[0].split("\n")
            for number, line in enumerate(text_lines):
                if line:
                    tokens = line_of_page(
                        owner[position], line.split(" "), links_of_line.get(number, ())
                    )
                    file.write((" ".join(tokens) + "\n").encode())


def train(
    corpus: Path,
    writer: KbWriter,
    *,
    dimensions: int,
    min_count: int,
    memory: int,
    progress: Progress,
) -> VectorCounts:
    """Train vectors on a corpus file and write them."""

    def lines() -> Iterator[list[str]]:
        with open(corpus, encoding="utf-8", newline="\n") as file:
            for line in file:
                yield line[:-1].split(" ")

    trained = train_vectors(
        lines,
        dimensions=dimensions,
        min_count=min_count,
        max_words=max(_BATCH, min(_MAX_WORDS, memory // (16 * dimensions))),
        progress=lambda done, total: progress("training vectors", done, total),
    )
    numbers, matrix = trained.of_entities()
    words, word_matrix = trained.of_words()
    for at in range(0, len(numbers), _BATCH):
        writer.vectors(numbers[at : at + _BATCH], matrix[at : at + _BATCH])
    for at in range(0, len(words), _BATCH):
        writer.words(words[at : at + _BATCH], word_matrix[at : at + _BATCH])
    return VectorCounts(dimensions, len(numbers), len(words), 0)


def copy_vectors(
    file: VectorFile,
    writer: KbWriter,
    db: DuckDbStore,
    folder: Path,
    title: NormalTitle,
    progress: Progress,
) -> VectorCounts:
    """Write the vectors of a file; the first one counts where two have the same key.

    title  returns the normal form of a title, None if it is not one
    """
    db.run(
        "CREATE TABLE entity_keys (title VARCHAR, item BIGINT); "
        "CREATE TABLE word_keys (word VARCHAR, item BIGINT)"
    )
    path = folder / "vectors.f4"
    total, unknown = _load_keys(file, db, path, title, progress)
    db.run(
        "CREATE TABLE entity_rows AS SELECT number, min(item) AS item FROM entity_keys "
        "JOIN entities USING (title) GROUP BY 1 ORDER BY 1"
    )
    db.run(
        "CREATE TABLE word_rows AS SELECT min(item) AS item, word FROM word_keys "
        "GROUP BY 2 ORDER BY 1"
    )
    unknown += db.count_of("entity_keys") - db.count_of("entity_rows")
    matrix: npt.NDArray[np.float32] = np.memmap(path, "<f4", "r", 0, (total, file.dimensions))
    for found in db.batches("entity_rows", "number", _BATCH, "number, item"):
        writer.vectors(as_ints(found["number"]), np.asarray(matrix[found["item"]]))
    for found in db.batches("word_rows", "item", _BATCH, "word, item"):
        writer.words(found["word"].tolist(), np.asarray(matrix[found["item"]]))
    return VectorCounts(
        dimensions=file.dimensions,
        entities=db.count_of("entity_rows"),
        words=db.count_of("word_rows"),
        unknown=unknown,
    )


def _load_keys(
    file: VectorFile, db: DuckDbStore, path: Path, title: NormalTitle, progress: Progress
) -> tuple[int, int]:
    """Write the vectors to a flat file and their keys to tables.

    Return the number of vectors, and of keys that are neither a title nor a word.
    """
    total = unknown = 0
    with open(path, "wb") as out:
        for keys, matrix in file.batches(_BATCH):
            entities: list[tuple[str, int]] = []
            words: list[tuple[str, int]] = []
            for row, key in enumerate(keys, total):
                named = entity_title(key)
                if named is None:
                    word = normal_name(key)
                    if word and " " not in word:
                        words.append((word, row))
                    else:
                        unknown += 1
                elif (normal := title(named)) is not None:
                    entities.append((normal, row))
                else:
                    unknown += 1
            for table, name, found in (
                ("entity_keys", "title", entities),
                ("word_keys", "word", words),
            ):
                names, items = np.array(found, object).reshape(-1, 2).T
                db.append(table, {name: names, "item": items.astype(np.int64)})
            out.write(matrix.astype("<f4").tobytes())
            total += len(keys)
            progress("reading vectors", total, max(file.count or total, total))
    return total, unknown


def _links_by_page(
    links: Arrays, first: int, pages: int
) -> Iterator[tuple[int, dict[int, list[tuple[int, int]]]]]:
    """Yield the position of every page of a chunk, and (word, entity) of its links by line."""
    begins = np.searchsorted(links["page"], first + np.arange(pages + 1))
    line, word, number = (links[name].tolist() for name in ("line", "word", "number"))
    for position in range(pages):
        found: dict[int, list[tuple[int, int]]] = {}
        for i in range(begins[position], begins[position + 1]):
            found.setdefault(line[i], []).append((word[i], number[i]))
        yield position, found
