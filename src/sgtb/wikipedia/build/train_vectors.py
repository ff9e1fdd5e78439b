"""TrainedVectors: vectors of words and entities, trained together by word2vec.

Entities are tokens among the words of a line (skip-gram with negative sampling). `line_of_page`
builds the lines, with P the page's own entity:

    P the city of paris PARIS lies on the river seine SEINE P in the north of france FRANCE

The entity of a link follows the link's words instead of replacing them, so that both have the
context of the link, as in the anchor model of wikipedia2vec. The page's own entity is repeated
every few words, so that every word of the page is in its context. Entities that no page links to
then have a vector, too, and often mentioned ones stay close to the text of their own page.
"""

import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
import numpy.typing as npt

from sgtb.core.errors import KnowledgeBaseError, import_extra
from sgtb.core.settings import check_integer

ENTITY = "\x1f"
"""Prefix of an entity's token, followed by its number. It occurs in no normalised word."""

Lines = Callable[[], Iterator[list[str]]]
EpochProgress = Callable[[int, int], None]

_NEGATIVE = 5
_SAMPLE = 1e-3
_MAX_LINE = 10_000  # gensim silently drops further tokens of a line
_MAX_COUNTED = 10_000_000


@dataclass(frozen=True, slots=True)
class TrainedVectors:
    """Vectors of tokens, by descending frequency, then by token.

    words   words and entity tokens
    matrix  f4[W, D], vectors of `words`, not normalised
    """

    words: list[str]
    matrix: npt.NDArray[np.float32]

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
    kept = _vocabulary(counts, min_count, max_words)
    del counts
    if not kept:
        raise KnowledgeBaseError(
            f"no vectors to train: none of {n_tokens} tokens in {n_lines} lines occurs {min_count} "
            "times; give more text, or lower min_count"
        )
    model = word2vec.Word2Vec(
        vector_size=dimensions, window=window, sg=1, hs=0, negative=_NEGATIVE, sample=_SAMPLE,
        min_count=1, sorted_vocab=0, seed=seed, workers=1, hashfxn=_stable_hash,
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
        self._epoch = 0
        self._yielded = 0
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


def _vocabulary(counts: Counter[str], min_count: int, max_words: int | None) -> dict[str, int]:
    """Return the counts of the tokens to train, in the order of their rows."""
    frequent = sorted((-n, word) for word, n in counts.items() if n >= min_count)
    words = ((word, -n) for n, word in frequent if not word.startswith(ENTITY))
    chosen = {word for word, _ in islice(words, max_words)}
    return {word: -n for n, word in frequent if word in chosen or word.startswith(ENTITY)}


def _stable_hash(text: str) -> int:
    """Return a hash that is the same in every process."""
    return zlib.crc32(text.encode())
