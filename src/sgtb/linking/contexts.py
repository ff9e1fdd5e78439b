"""Contexts: what surrounds each mention, as word bags, places and hashed clues.

A clue is a small observation ("the next word is a number"), hashed to an integer. The tagger and
the ranker learn weights for clues; a feature that trees can use is made of those weights.
"""

import re
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sgtb.learn.dtypes import Floats, Longs
from sgtb.linking.choices import Choices
from sgtb.linking.lexicon import UNKNOWN, Lexicon
from sgtb.linking.sparse import Sparse
from sgtb.records import Document, Mention
from sgtb.text.normalize import STOP_WORDS, normal_phrase, normal_words

WINDOW = 5
"""Tokens on either side of a mention that are its near context."""

PLACES = (
    "dateline", "in_brackets", "before_number", "after_number", "after_preposition",
    "beside_versus", "in_topic_document", "in_headline", "sentence_digits", "sentence_capitals",
    "document_digits", "sentence_length", "sentence_place", "upper_case", "same_name",
    "document_mentions",
)  # fmt: skip

_DATE = re.compile(r"\d{4}-\d\d(-\d\d)?$")
_PREPOSITIONS = frozenset("in at from near to".split())
_VERSUS = frozenset("v vs versus beat against defeated over with".split())
_DATE_REACH = 5
_OUTSIDE = "<>"


@dataclass(frozen=True)
class Clues:
    """Hashed clues per row: row r has values[offsets[r] : offsets[r + 1]]."""

    offsets: Longs
    values: npt.NDArray[np.uint32]

    @classmethod
    def of(cls, rows: Iterable[Iterable[str]]) -> "Clues":
        """Hash clues given as strings."""
        sizes, values = [0], []
        for row in rows:
            values += [zlib.crc32(clue.encode()) for clue in row]
            sizes.append(len(values))
        return cls(np.array(sizes, np.int64), np.array(values, np.uint32))


@dataclass(frozen=True)
class Contexts:
    """The surroundings of M mentions in D documents; bags have unit rows, stop words left out.

    names, full_names        normal form of each mention, and of the longest mention in the
                             document that contains it
    name_bag, sentence_bag, window_bag     M rows
    document_bag, headline_bag             D rows
    place       f4[M, len(PLACES)]
    place_clues, sentence_clues, tag_clues     M rows
    document_clues                             D rows
    """

    names: tuple[str, ...]
    full_names: tuple[str, ...]
    name_bag: Sparse
    sentence_bag: Sparse
    window_bag: Sparse
    document_bag: Sparse
    headline_bag: Sparse
    place: Floats
    place_clues: Clues
    sentence_clues: Clues
    tag_clues: Clues
    document_clues: Clues

    @classmethod
    def build(cls, choices: Choices, lexicon: Lexicon) -> "Contexts":
        """Look around every mention asked about."""
        scenes = [
            _Scene(document, lexicon, choices.mentions[first:last])
            for document, first, last in zip(
                choices.documents, choices.mention_offsets[:-1], choices.mention_offsets[1:],
                strict=True,
            )
        ]  # fmt: skip
        views = [view for scene in scenes for view in scene.views()]
        return cls(
            tuple(view.name for view in views),
            tuple(view.full_name for view in views),
            _bag([view.own_words for view in views], lexicon),
            _bag([view.sentence_words for view in views], lexicon),
            _bag([view.window_words for view in views], lexicon),
            _bag([scene.words for scene in scenes], lexicon),
            _bag([scene.headline for scene in scenes], lexicon),
            np.array([view.place for view in views], np.float32).reshape(-1, len(PLACES)),
            Clues.of(view.place_clues for view in views),
            Clues.of(view.sentence_clues for view in views),
            Clues.of(view.tag_clues for view in views),
            Clues.of(scene.clues() for scene in scenes),
        )


@dataclass(frozen=True)
class _View:
    """A mention as seen in its document."""

    name: str
    full_name: str
    own_words: Longs
    sentence_words: Longs
    window_words: Longs
    place: tuple[float, ...]
    place_clues: list[str]
    sentence_clues: list[str]
    tag_clues: list[str]


class _Scene:
    """A document while its mentions are looked at."""

    def __init__(self, document: Document, lexicon: Lexicon, asked: Sequence[Mention]) -> None:
        self._document, self._lexicon, self._asked = document, lexicon, asked
        self._low = [token.text.lower() for token in document.tokens]
        parts = [normal_words(token.text) for token in document.tokens]
        self._starts = np.cumsum([0, *map(len, parts)])
        self._spelt = [word for part in parts for word in part]
        self.words = lexicon.numbers(self._spelt).astype(np.int64)
        first = document.sentences[0] if document.sentences else (0, 0)
        self.headline = self._slice(*first)
        self._is_digit = np.array([_has_digit(word) for word in self._low], bool)
        self._is_capital = np.array([t.text[:1].isupper() for t in document.tokens], bool)
        self._topic = _topic(self._low)
        self._names = Counter(normal_phrase(mention.text) for mention in document.mentions)
        self._sentence_of = np.repeat(
            np.arange(len(document.sentences)), [stop - a for a, stop in document.sentences]
        )

    def _slice(self, first: int, stop: int) -> Longs:
        """Return the words of tokens `first` to `stop` - 1."""
        return self.words[self._starts[first] : self._starts[stop]]

    def clues(self) -> list[str]:
        """Return the clues of the document: its headline, and its words of middling frequency."""
        lexicon = self._lexicon
        first = self._document.sentences[0] if self._document.sentences else (0, 0)
        head = self._spelt[: self._starts[first[1]]]
        weight = {
            word: float(lexicon.weight[number])
            for word, number in zip(self._spelt, self.words, strict=True)
            if number != UNKNOWN
        }
        telling = sorted(w for w, x in weight.items() if _COMMON < x < _RARE and not w.isdigit())
        return [
            *(f"h:{word}" for word in dict.fromkeys(head) if weight.get(word, 0) > 0),
            *(f"d:{word}" for word in telling[:_MOST_WORDS]),
        ]

    def views(self) -> list[_View]:
        """Look at every mention asked about."""
        return [self._view(mention) for mention in self._asked]

    def _view(self, mention: Mention) -> _View:
        first, stop = mention.first, mention.stop
        number = int(self._sentence_of[first])
        begin = self._document.sentences[number][0]
        end = self._document.sentences[int(self._sentence_of[stop - 1])][1]
        name = normal_phrase(mention.text)
        low = max(0, first - WINDOW), min(len(self._low), stop + WINDOW)
        around = self._spelt[self._starts[begin] : self._starts[first]]
        around = around + self._spelt[self._starts[stop] : self._starts[end]]
        place, signs = self._place(mention, number, begin, end, name)
        return _View(
            name, self._full_name(name), self._slice(first, stop),
            np.concatenate([self._slice(begin, first), self._slice(stop, end)]),
            np.concatenate([self._slice(low[0], first), self._slice(stop, low[1])]),
            place, signs, [f"s:{w}" for w in dict.fromkeys(around) if _tells(w)],
            self._tag_clues(mention, begin, end, number, int(4 * place[8]), bool(place[0])),
        )  # fmt: skip

    def _full_name(self, name: str) -> str:
        """Return the longest name in the document that contains this one as words."""
        longest = name
        for other in self._names:
            if other.count(" ") > longest.count(" ") and f" {name} " in f" {other} ":
                longest = other
        return longest

    def _near(self, position: int, begin: int, end: int) -> str:
        """Return a token of the sentence, all numbers alike."""
        if not begin <= position < end:
            return _OUTSIDE
        return "0" if self._is_digit[position] else self._low[position]

    def _place(
        self, mention: Mention, number: int, begin: int, end: int, name: str
    ) -> tuple[tuple[float, ...], list[str]]:
        first, stop = mention.first, mention.stop
        before, after = self._near(first - 1, begin, end), self._near(stop, begin, end)
        before2, after2 = self._near(first - 2, begin, end), self._near(stop + 1, begin, end)
        dated = any(_DATE.match(word) for word in self._low[stop : min(stop + _DATE_REACH, end)])
        bracketed = before == "(" and after == ")"
        digits = float(self._is_digit[begin:end].mean())
        place = (
            dated, bracketed, after == "0", before == "0", before in _PREPOSITIONS,
            before in _VERSUS or after in _VERSUS, self._topic != "", number == 0, digits,
            float(self._is_capital[begin:end].mean()), float(self._is_digit.mean()), end - begin,
            number / len(self._document.sentences), mention.text.isupper(), self._names[name],
            len(self._asked),
        )  # fmt: skip
        table = int(4 * digits)
        clues = [
            "always", f"topic:{self._topic}", f"before:{before}", f"after:{after}",
            f"dated:{dated}", f"bracketed:{bracketed}", f"between:{before}|{after}",
            f"before2:{before2}|{before}", f"after2:{after}|{after2}",
            f"ending:{name[-3:]}", f"upper:{mention.text.isupper()}", f"sentence:{min(number, 3)}",
            f"table:{table}", f"topic table:{self._topic}|{table}",
        ]  # fmt: skip
        return place, clues

    def _tag_clues(
        self, mention: Mention, begin: int, end: int, number: int, table: int, dated: bool
    ) -> list[str]:
        first, stop, topic = mention.first, mention.stop, self._topic
        words = self._low[first:stop]
        before, after = self._near(first - 1, begin, end), self._near(stop, begin, end)
        before2, after2 = self._near(first - 2, begin, end), self._near(stop + 1, begin, end)
        length = min(len(words), 4)
        return [
            "always", *(f"word:{word}" for word in words), f"all:{' '.join(words)}",
            f"first:{words[0]}", f"last:{words[-1]}",
            f"ending3:{words[-1][-3:]}", f"ending2:{words[-1][-2:]}",
            f"before:{before}", f"after:{after}", f"between:{before}|{after}",
            f"before2:{before2}|{before}", f"after2:{after}|{after2}",
            f"second before:{before2}", f"second after:{after2}",
            f"shape:{_shape(mention.text)}", f"length:{length}", f"length:{length}|{before}",
            f"topic:{topic}", f"topic:{topic}|{before}", f"topic:{topic}||{after}",
            f"topic:{topic}|table:{table}", f"topic:{topic}|length:{length}",
            f"dated:{dated}", f"sentence:{min(number, 3)}", f"table:{table}",
            f"opens:{first == begin}", f"opens:{first == begin}|{table}|{topic}",
        ]  # fmt: skip


_COMMON, _RARE, _MOST_WORDS = 1.0, 5.0, 150
"""Document words serve as clues if their weight lies between these; so many at most."""


def _tells(word: str) -> bool:
    return word not in STOP_WORDS and not word.isdigit()


def _has_digit(word: str) -> bool:
    return any(character.isdigit() for character in word)


def _topic(low: Sequence[str]) -> str:
    """Return the topic word of an agency headline: "SOCCER - …" or "NBA BASKETBALL - …"."""
    for i in (1, 2):
        if len(low) > i and low[i] == "-":
            return low[i - 1]
    return ""


def _shape(text: str) -> str:
    """Return the outline of a name: Xx for capitals and small letters, 0 for digits."""
    kinds = "".join(
        "0" if c.isdigit() else "X" if c.isupper() else "x" if c.isalpha() else c for c in text
    )
    return re.sub(r"(.)\1+", r"\1\1", kinds)


def _bag(rows: Sequence[Longs], lexicon: Lexicon) -> Sparse:
    """Return rows of words, weighted by rarity and damped count, scaled to length one."""
    sizes = [len(row) for row in rows]
    words = np.concatenate([*rows, np.zeros(0, np.int64)])
    own = np.repeat(np.arange(len(rows)), sizes)
    telling = (words != UNKNOWN) & (lexicon.weight[words] > 0)
    counts = Sparse.of(
        own[telling], words[telling], np.ones(int(telling.sum())), (len(rows), len(lexicon.words))
    )
    weight = (1 + np.log(counts.values)) * lexicon.weight[counts.columns]
    return counts.with_values(weight).unit_rows()
