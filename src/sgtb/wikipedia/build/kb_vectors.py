"""Vectors for a knowledge base from dumps: trained on their text, or taken from a file."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sgtb.core.progress import Progress
from sgtb.kb.build.kb_writer import KbWriter
from sgtb.text.normalization import normal_name
from sgtb.text.vector_file import VectorFile, entity_title
from sgtb.wikipedia.build.build_report import VectorCounts
from sgtb.wikipedia.build.duckdb_store import Arrays, Counting, as_ints
from sgtb.wikipedia.build.page_rows import ASIDE, END_OF_PAGE, PAGE_BITS
from sgtb.wikipedia.build.train_vectors import line_of_page, train_vectors

_BATCH = 10_000
_MOST_WORDS = 1_000_000

NormalTitle = Callable[[str], str | None]


def write_corpus(counting: Counting, text: Path, chunk: int, corpus: Path) -> None:
    """Append the lines of a chunk's pages to a corpus: words, and entities after their links."""
    first, last = chunk << PAGE_BITS, (chunk + 1 << PAGE_BITS) - 1
    owners = counting.arrays(
        "SELECT page, number FROM owners WHERE page BETWEEN $1 AND $2 ORDER BY page", first, last
    )
    links = counting.arrays(
        "SELECT page, line, word, number FROM placed WHERE page BETWEEN $1 AND $2 "
        "AND number >= 0 AND word >= 0 ORDER BY page, line, word, ordinal",
        first, last,
    )  # fmt: skip
    owner = dict(zip((owners["page"] - first).tolist(), owners["number"].tolist(), strict=True))
    pages = text.read_bytes().decode().split(END_OF_PAGE)
    with open(corpus, "ab") as file:
        for place, lines in _by_page(links, first, len(pages)):
            if place not in owner:
                continue
            shown = pages[place].partition(ASIDE)[0]
            for number, line in enumerate(shown.split("\n")):
                if line:
                    tokens = line_of_page(owner[place], line.split(" "), lines.get(number, ()))
                    file.write((" ".join(tokens) + "\n").encode())


def train(
    corpus: Path, writer: KbWriter, dimensions: int, min_count: int, memory: int, say: Progress
) -> VectorCounts:
    """Train vectors on a corpus and give them to the writer."""

    def lines() -> Iterator[list[str]]:
        with open(corpus, encoding="utf-8", newline="\n") as file:
            for line in file:
                yield line[:-1].split(" ")

    trained = train_vectors(
        lines,
        dimensions=dimensions,
        min_count=min_count,
        max_words=max(_BATCH, min(_MOST_WORDS, memory // (16 * dimensions))),
        progress=lambda done, total: say("training vectors", done, total),
    )
    numbers, matrix = trained.of_entities()
    words, of_words = trained.of_words()
    for at in range(0, len(numbers), _BATCH):
        writer.vectors(numbers[at : at + _BATCH], matrix[at : at + _BATCH])
    for at in range(0, len(words), _BATCH):
        writer.words(words[at : at + _BATCH], of_words[at : at + _BATCH])
    return VectorCounts(dimensions, len(numbers), len(words), 0)


def take(
    file: VectorFile,
    writer: KbWriter,
    counting: Counting,
    folder: Path,
    title: NormalTitle,
    say: Progress,
) -> VectorCounts:
    """Give the vectors of a file to the writer; of a word that comes twice, the first."""
    counting.run(
        "CREATE TABLE entity_keys (title VARCHAR, place BIGINT); "
        "CREATE TABLE word_keys (word VARCHAR, place BIGINT)"
    )
    path = folder / "vectors.f4"
    total, unknown = _load(file, counting, path, title, say)
    counting.run(
        "CREATE TABLE entity_rows AS SELECT number, min(place) AS place FROM entity_keys "
        "JOIN entities USING (title) GROUP BY 1 ORDER BY 1"
    )
    counting.run(
        "CREATE TABLE word_rows AS SELECT min(place) AS place, word FROM word_keys "
        "GROUP BY 2 ORDER BY 1"
    )
    unknown += counting.count_of("entity_keys") - counting.count_of("entity_rows")
    matrix: npt.NDArray[np.float32] = np.memmap(path, "<f4", "r", 0, (total, file.dimensions))
    for low, high in counting.spans("entity_rows", "number", _BATCH):
        found = counting.arrays(
            "SELECT number, place FROM entity_rows WHERE number BETWEEN $1 AND $2 ORDER BY number",
            low, high,
        )  # fmt: skip
        writer.vectors(as_ints(found["number"]), np.asarray(matrix[found["place"]]))
    for low, high in counting.spans("word_rows", "place", _BATCH):
        rows = counting.rows(
            "SELECT word, place FROM word_rows WHERE place BETWEEN $1 AND $2 ORDER BY place",
            low, high,
        )  # fmt: skip
        places = np.array([place for _, place in rows], np.int64)
        writer.words([word for word, _ in rows], np.asarray(matrix[places]))
    kept = counting.count_of("entity_rows"), counting.count_of("word_rows")
    return VectorCounts(file.dimensions, *kept, unknown)


def _load(
    file: VectorFile, counting: Counting, path: Path, title: NormalTitle, say: Progress
) -> tuple[int, int]:
    """Write the vectors to a flat file and their keys to tables; return how many, and how many
    keys are neither a title nor a word."""
    total = unknown = 0
    with open(path, "wb") as out:
        for keys, matrix in file.batches(_BATCH):
            entities: list[tuple[str, int]] = []
            words: list[tuple[str, int]] = []
            for place, key in enumerate(keys, total):
                named = entity_title(key)
                if named is None:
                    word = normal_name(key)
                    if word and " " not in word:
                        words.append((word, place))
                    else:
                        unknown += 1
                elif (normal := title(named)) is not None:
                    entities.append((normal, place))
                else:
                    unknown += 1
            for table, name, found in (
                ("entity_keys", "title", entities),
                ("word_keys", "word", words),
            ):
                counting.append(
                    table,
                    {
                        name: np.array([key for key, _ in found], object),
                        "place": np.array([place for _, place in found], np.int64),
                    },
                )
            out.write(matrix.astype("<f4").tobytes())
            total += len(keys)
            say("reading vectors", total, max(file.count or total, total))
    return total, unknown


def _by_page(
    links: Arrays, first: int, pages: int
) -> Iterator[tuple[int, dict[int, list[tuple[int, int]]]]]:
    """Yield for every page of a chunk its place, and where its entities stand, by line."""
    begins = np.searchsorted(links["page"], first + np.arange(pages + 1))
    line, word, number = (links[name].tolist() for name in ("line", "word", "number"))
    for place in range(pages):
        found: dict[int, list[tuple[int, int]]] = {}
        for i in range(begins[place], begins[place + 1]):
            found.setdefault(line[i], []).append((word[i], number[i]))
        yield place, found
