"""Vectors for a knowledge base from dumps: trained on their text, or copied from a file.

`train_vectors` trains words and entities together, by word2vec: skip-gram with negative sampling.
Entities are tokens among the words of a line. `line_of_page` builds the lines, with P the page's
own entity:

    P the city of paris PARIS lies on the river seine SEINE P in the north of france FRANCE

The entity of a link follows the link's words instead of replacing them, so that both have the
context of the link, as in the anchor model of wikipedia2vec. The page's own entity is repeated
every few words, so that every word of the page is in its context. Entities that no page links to
then have a vector, too, and often mentioned ones stay close to the text of their own page.
"""

import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sgtb.core.errors import KnowledgeBaseError, import_extra
from sgtb.core.progress import Progress
from sgtb.core.settings import check_integer
from sgtb.kb.build.kb_writer import KbWriter
from sgtb.text.normalization import normal_name
from sgtb.text.vector_file import VectorFile, entity_title
from sgtb.wikipedia.build.build_report import VectorCounts
from sgtb.wikipedia.build.build_settings import TableSettings
from sgtb.wikipedia.build.duckdb_store import DuckDbStore, as_ints
from sgtb.wikipedia.build.page_counters import PAGE_BITS
from sgtb.wikipedia.build.page_rows import ASIDE, END_OF_PAGE

ENTITY = "\x1f"
"""Prefix of an entity's token, followed by its number. It occurs in no normalised word."""
Lines = Callable[[], Iterator[list[str]]]
EpochProgress = Callable[[int, int], None]
NormalTitle = Callable[[str], str | None]
_NEGATIVE = 5
_SAMPLE = 1e-3
_MAX_LINE = 10_000  # gensim silently drops further tokens of a line
_MAX_COUNTED = 10_000_000
_BATCH = 10_000
_MAX_WORDS = 1_000_000


@dataclass(frozen=True, slots=True)
class TrainedVectors:
    """Vectors of tokens, by descending frequency, then by token."""

    words: list[str]  # words and entity tokens
    matrix: npt.NDArray[np.float32]  # f4[W, D], vectors of `words`, not normalised

    def of_words(self) -> tuple[list[str], npt.NDArray[np.float32]]:
        """Return words without entity tokens, and their vectors."""
        rows = [i for i, word in enumerate(self.words) if not word.startswith(ENTITY)]
        return [self.words[i] for i in rows], self.matrix[rows]

    def of_entities(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
        """Return entity numbers, ascending, and their vectors."""
        rows = [i for i, word in enumerate(self.words) if word.startswith(ENTITY)]
        numbers = np.array([int(self.words[i][1:]) for i in rows], np.int32)
        order = np.argsort(numbers)
        return numbers[order], self.matrix[rows][order]


def entity_token(number: int) -> str:
    """Return the token of an entity."""
    return f"{ENTITY}{number}"


def line_of_page(
    page: int, words: Sequence[str], links: Iterable[tuple[int, int]], every: int = 10
) -> list[str]:
    """Return a training line of a page.

    page   number of the page's own entity
    links  (index after its last word, entity number) of each link, ascending
    every  interval of the page's entity in tokens; at most twice the window covers all words
    """
    tokens: list[str] = []
    done = 0
    for end, number in links:
        tokens += words[done:end]
        tokens.append(entity_token(number))
        done = end
    tokens += words[done:]
    line = []
    for start in range(0, len(tokens), every):
        line.append(entity_token(page))
        line += tokens[start : start + every]
    return line


def train_vectors(
    lines: Lines, *,
    dimensions: int = 100, epochs: int = 5, window: int = 5, min_count: int = 5,
    max_words: int | None = None, seed: int = 1, progress: EpochProgress | None = None,
) -> TrainedVectors:  # fmt: skip
    """Train vectors of the tokens that occur at least `min_count` times in `lines`.

    Deterministic on one kind of machine: gensim trains with one thread and a stable hash.

    lines      returns a new iterator over the same lines; called `epochs` + 1 times
    max_words  number of most frequent words to keep, besides entities
    progress   Progress callback; takes epochs done and epochs.
    """
    given = {"dimensions": dimensions, "epochs": epochs, "window": window, "min_count": min_count}
    for name, value in {**given, "max_words": 1 if max_words is None else max_words}.items():
        check_integer(name, value, 1, 2**31)
    check_integer("seed", seed, 0, 2**32 - 1)
    word2vec = import_extra("gensim.models.word2vec", "wiki", "training vectors needs")
    counts, n_lines, n_tokens = _counted(lines)
    frequent = sorted((-n, word) for word, n in counts.items() if n >= min_count)
    words = (word for _, word in frequent if not word.startswith(ENTITY))
    chosen = set(islice(words, max_words))
    kept = {word: -n for n, word in frequent if word in chosen or word.startswith(ENTITY)}
    del counts, frequent, chosen
    if not kept:
        raise KnowledgeBaseError(
            f"no vectors to train: none of {n_tokens} tokens in {n_lines} lines occurs {min_count} "
            "times; give more text, or lower min_count"
        )
    model = word2vec.Word2Vec(
        vector_size=dimensions, window=window, sg=1, hs=0, negative=_NEGATIVE, sample=_SAMPLE,
        min_count=1, sorted_vocab=0, seed=seed, workers=1,
        hashfxn=lambda token: zlib.crc32(token.encode()),  # the same in every process
        # The learning rate falls from batch to batch; small corpora need several batches.
        batch_words=max(100, min(_MAX_LINE, n_tokens // 100)),
    )  # fmt: skip
    model.build_vocab_from_freq(kept, corpus_count=n_lines)
    corpus = _Corpus(lines, n_lines, epochs, progress or (lambda done, total: None))
    try:
        model.train(
            corpus, total_examples=n_lines, total_words=n_tokens, epochs=epochs, callbacks=[corpus]
        )
    finally:
        corpus.stopped = True
    return TrainedVectors(list(model.wv.index_to_key), np.array(model.wv.vectors, np.float32))


class _Corpus:
    """Iterable over the lines and gensim callback.

    gensim reads in a thread and hangs if that raises, so an error ends the lines early and is
    raised at the end of the epoch.
    """

    def __init__(self, lines: Lines, n_lines: int, epochs: int, progress: EpochProgress) -> None:
        self._lines, self._n_lines, self._epochs, self._progress = lines, n_lines, epochs, progress
        self._epoch = self._yielded = 0
        self._failure: Exception | None = None
        self.stopped = False

    def __iter__(self) -> Iterator[list[str]]:
        self._yielded = 0
        try:
            for line in _split_long(self._lines()):
                if self.stopped:  # end gensim's thread after training has failed
                    return
                self._yielded += 1
                yield line
        except Exception as error:
            self._failure = error

    def on_train_begin(self, model: object) -> None:
        self._progress(0, self._epochs)

    def on_epoch_begin(self, model: object) -> None:
        pass

    def on_epoch_end(self, model: object) -> None:
        if self._failure is not None:
            raise self._failure
        if self._yielded != self._n_lines:
            raise KnowledgeBaseError(
                f"the text had {self._n_lines} lines when words were counted, and {self._yielded} "
                "now; `lines` must start again from the beginning each time"
            )
        self._epoch += 1
        self._progress(self._epoch, self._epochs)

    def on_train_end(self, model: object) -> None:
        pass


def _split_long(lines: Iterable[list[str]]) -> Iterator[list[str]]:
    for line in lines:
        for start in range(0, len(line), _MAX_LINE):
            yield line[start : start + _MAX_LINE] if len(line) > _MAX_LINE else line


def _counted(lines: Lines) -> tuple[Counter[str], int, int]:
    """Return counts per token, and the numbers of lines and tokens. Rare words are pruned."""
    counts: Counter[str] = Counter()
    n_lines = n_tokens = rare = 0
    limit = _MAX_COUNTED
    for line in _split_long(lines()):
        counts.update(line)
        n_lines += 1
        n_tokens += len(line)
        if len(counts) > limit:
            rare += 1
            counts = Counter(
                {word: n for word, n in counts.items() if n > rare or word.startswith(ENTITY)}
            )
            limit = max(_MAX_COUNTED, len(counts) + _MAX_COUNTED // 2)
    return counts, n_lines, n_tokens


def write_corpus(db: DuckDbStore, text: Path, chunk: int, corpus: Path) -> None:
    """Append the training lines of a chunk's pages to a corpus file."""
    first, last = chunk << PAGE_BITS, (chunk + 1 << PAGE_BITS) - 1
    owners = db.arrays(
        "SELECT page, number FROM owners WHERE page BETWEEN $1 AND $2 ORDER BY page", first, last
    )
    found = db.arrays(
        "SELECT page, line, word, number FROM placed WHERE page BETWEEN $1 AND $2 "
        "AND number >= 0 AND word >= 0 ORDER BY page, line, word, ordinal",
        first, last,
    )  # fmt: skip
    links: defaultdict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    columns = (found[name].tolist() for name in ("page", "line", "word", "number"))
    for page, number, word, entity in zip(*columns, strict=True):
        links[page, number].append((word, entity))
    pages = text.read_bytes().decode().split(END_OF_PAGE)
    with open(corpus, "ab") as file:
        for page, owner in zip(owners["page"].tolist(), owners["number"].tolist(), strict=True):
            lines = pages[page - first].partition(ASIDE)[0].split("\n")
            for number, line in enumerate(lines):
                if line:
                    tokens = line_of_page(owner, line.split(" "), links.get((page, number), ()))
                    file.write((" ".join(tokens) + "\n").encode())


def train(
    corpus: Path, writer: KbWriter, settings: TableSettings, progress: Progress
) -> VectorCounts:
    """Train vectors on a corpus file and write them."""

    def lines() -> Iterator[list[str]]:
        with open(corpus, encoding="utf-8", newline="\n") as file:
            for line in file:
                yield line[:-1].split(" ")

    max_words = max(_BATCH, min(_MAX_WORDS, settings.memory // (16 * settings.dimensions)))
    trained = train_vectors(
        lines, dimensions=settings.dimensions, min_count=settings.min_count, max_words=max_words,
        progress=partial(progress, "training vectors"),
    )  # fmt: skip
    numbers, matrix = trained.of_entities()
    words, word_matrix = trained.of_words()
    for at in range(0, len(numbers), _BATCH):
        writer.vectors(numbers[at : at + _BATCH], matrix[at : at + _BATCH])
    for at in range(0, len(words), _BATCH):
        writer.words(words[at : at + _BATCH], word_matrix[at : at + _BATCH])
    return VectorCounts(settings.dimensions, len(numbers), len(words), 0)


def copy_vectors(
    file: VectorFile, writer: KbWriter, db: DuckDbStore, path: Path, title: NormalTitle,
    progress: Progress,
) -> VectorCounts:  # fmt: skip
    """Write the vectors of a file, by way of one at `path`; the first of equal keys counts."""
    db.run(
        "CREATE TABLE entity_keys (title VARCHAR, item BIGINT); "
        "CREATE TABLE word_keys (word VARCHAR, item BIGINT)"
    )
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
    entities, words = db.count_of("entity_rows"), db.count_of("word_rows")
    return VectorCounts(file.dimensions, entities, words, unknown)


def _load_keys(
    file: VectorFile, db: DuckDbStore, path: Path, title: NormalTitle, progress: Progress
) -> tuple[int, int]:
    """Write vectors to a file, keys to tables; return how many, and how many are unknown."""
    total = unknown = 0
    with open(path, "wb") as out:
        for keys, matrix in file.batches(_BATCH):
            entities: list[tuple[str, int]] = []
            words: list[tuple[str, int]] = []
            for row, key in enumerate(keys, total):
                named = entity_title(key)
                known = normal_name(key) if named is None else title(named)
                if not known or (named is None and " " in known):
                    unknown += 1
                else:
                    (words if named is None else entities).append((known, row))
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
