"""TrainedVectors: vectors of words and entities, learned together from lines of text.

An entity is a token among the words, and word2vec (skip-gram with negative sampling) treats it
like any other: tokens that are met in the same company get similar vectors. So the lines decide
what the vector of an entity means. `line_of_page` makes them thus, P being the page's own entity:

    P the city of paris PARIS lies on the river seine SEINE P in the north of france FRANCE

The entity of a link stands after the link's words, not in their place: it meets the words around
the link, as in the anchor model of wikipedia2vec, and the words of its names keep their company.
The page's own entity opens the line and comes again every few words, so that all words of the
page meet it: an entity that no page links to has a vector too, and one that many pages mention in
passing is drawn to what its own page says. It also meets the entities that its page links to.
At the beginning of the line only, it would meet just the first words of each paragraph.
"""

import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import islice

import numpy as np
import numpy.typing as npt

from sgtb.core.errors import KnowledgeBaseError, MissingExtraError, SettingsError

ENTITY = "\x1f"
"""What an entity's token starts with, before its number in decimal. No normal word holds it."""

Lines = Callable[[], Iterator[list[str]]]
Progress = Callable[[int, int], None]

_NEGATIVE = 5
_SAMPLE = 1e-3
_LONGEST = 10_000  # gensim silently drops what a line has beyond this
_MOST_COUNTED = 10_000_000


@dataclass(frozen=True, slots=True)
class TrainedVectors:
    """Vectors of tokens; the frequent ones first, of equally frequent ones the smaller token.

    words   words, and tokens of entities among them
    matrix  f4[W, D], row i is the vector of words[i]; not of length one
    """

    words: list[str]
    matrix: npt.NDArray[np.float32]

    def of_words(self) -> tuple[list[str], npt.NDArray[np.float32]]:
        """Return the words that are no entities, and their vectors."""
        rows = [i for i, word in enumerate(self.words) if not word.startswith(ENTITY)]
        return [self.words[i] for i in rows], self.matrix[rows]

    def of_entities(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
        """Return the numbers of the entities, ascending, and their vectors."""
        rows = [i for i, word in enumerate(self.words) if word.startswith(ENTITY)]
        numbers = np.array([int(self.words[i][1:]) for i in rows], np.int32)
        order = np.argsort(numbers)
        return numbers[order], self.matrix[rows][order]


def entity_token(number: int) -> str:
    """Return the token that stands for an entity."""
    return f"{ENTITY}{number}"


def line_of_page(
    page: int, words: Sequence[str], links: Iterable[tuple[int, int]], every: int = 10
) -> list[str]:
    """Return a line of a page to train on.

    page   number of the page's own entity
    links  per link the place after its last word in `words`, ascending, and its entity's number
    every  after how many tokens the page's entity comes again; twice the window lets all meet it
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
    max_words: int | None = None, seed: int = 1, progress: Progress | None = None,
) -> TrainedVectors:  # fmt: skip
    """Train vectors of the tokens that occur `min_count` times or more in `lines`.

    The same lines give the same vectors, to the last bit on one kind of machine: gensim has one
    thread to train with, and nothing depends on the hashes of strings.

    lines      starts the lines from the beginning, as often as it is called: `epochs` + 1 times
    max_words  how many words to keep, the most frequent; entities are not among them
    progress   called with (epochs done, epochs), first when the words are counted
    """
    _check(dimensions, epochs, window, min_count, max_words, seed)
    try:
        word2vec = import_module("gensim.models.word2vec")
    except ImportError as error:
        raise MissingExtraError(
            f"training vectors needs the package {error.name or 'gensim'}: pip install 'sgtb[wiki]'"
        ) from None
    counts, n_lines, n_tokens = _counted(lines)
    kept = _vocabulary(counts, min_count, max_words)
    del counts
    if not kept:
        raise KnowledgeBaseError(
            f"no vectors to train: of {n_tokens} tokens in {n_lines} lines none comes {min_count} "
            "times; give more text, or lower min_count"
        )
    model = word2vec.Word2Vec(
        vector_size=dimensions, window=window, sg=1, hs=0, negative=_NEGATIVE, sample=_SAMPLE,
        min_count=1, sorted_vocab=0, seed=seed, workers=1, hashfxn=_stable_hash,
        # The learning rate falls from batch to batch; a small corpus should have some of them.
        batch_words=max(100, min(_LONGEST, n_tokens // 100)),
    )  # fmt: skip
    model.build_vocab_from_freq(kept, corpus_count=n_lines)
    corpus = _Corpus(lines, n_lines, epochs, progress or _silent)
    try:
        model.train(
            corpus, total_examples=n_lines, total_words=n_tokens, epochs=epochs, callbacks=[corpus]
        )
    finally:
        corpus.stopped = True
    return TrainedVectors(list(model.wv.index_to_key), np.array(model.wv.vectors, np.float32))


class _Corpus:
    """The lines as gensim wants them: an iterable, which is also told when epochs end.

    gensim reads in a thread of its own, and waits forever if that fails. So an error ends the
    lines early, and is raised at the end of the epoch.
    """

    def __init__(self, lines: Lines, n_lines: int, epochs: int, progress: Progress) -> None:
        self._lines, self._n_lines, self._epochs, self._progress = lines, n_lines, epochs, progress
        self._epoch = 0
        self._given = 0
        self._failure: Exception | None = None
        self.stopped = False

    def __iter__(self) -> Iterator[list[str]]:
        self._given = 0
        try:
            for line in _cut(self._lines()):
                if self.stopped:  # training has ended early; so should its thread
                    return
                self._given += 1
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
        if self._given != self._n_lines:
            raise KnowledgeBaseError(
                f"the text to train on had {self._n_lines} lines when words were counted, and "
                f"{self._given} now; it must start again from the beginning each time"
            )
        self._epoch += 1
        self._progress(self._epoch, self._epochs)

    def on_train_end(self, model: object) -> None:
        pass


def _cut(lines: Iterable[list[str]]) -> Iterator[list[str]]:
    for line in lines:
        for start in range(0, len(line), _LONGEST):
            yield line[start : start + _LONGEST] if len(line) > _LONGEST else line


def _counted(lines: Lines) -> tuple[Counter[str], int, int]:
    """Count tokens, lines and all tokens together. Rare words go when there are too many."""
    counts: Counter[str] = Counter()
    n_lines = n_tokens = rare = 0
    room = _MOST_COUNTED
    for line in _cut(lines()):
        counts.update(line)
        n_lines += 1
        n_tokens += len(line)
        if len(counts) > room:
            rare += 1
            counts = Counter(
                {word: n for word, n in counts.items() if n > rare or word.startswith(ENTITY)}
            )
            room = max(_MOST_COUNTED, len(counts) + _MOST_COUNTED // 2)
    return counts, n_lines, n_tokens


def _vocabulary(counts: Counter[str], min_count: int, max_words: int | None) -> dict[str, int]:
    """Return the tokens to train with their counts, in the order of their rows."""
    frequent = sorted((-n, word) for word, n in counts.items() if n >= min_count)
    words = ((word, -n) for n, word in frequent if not word.startswith(ENTITY))
    chosen = {word for word, _ in islice(words, max_words)}
    return {word: -n for n, word in frequent if word in chosen or word.startswith(ENTITY)}


def _check(
    dimensions: int, epochs: int, window: int, min_count: int, max_words: int | None, seed: int
) -> None:
    settings = {
        "dimensions": dimensions,
        "epochs": epochs,
        "window": window,
        "min_count": min_count,
        "max_words": 1 if max_words is None else max_words,
    }
    for name, value in settings.items():
        if value < 1:
            raise SettingsError(f"{name} is {value}; it must be at least 1")
    if not 0 <= seed < 1 << 32:
        raise SettingsError(f"seed is {seed}; it must be from 0 to {(1 << 32) - 1}")


def _stable_hash(text: str) -> int:
    """Hash a string alike in every process, as Python's own hash does not."""
    return zlib.crc32(text.encode())


def _silent(epoch: int, epochs: int) -> None:
    pass
