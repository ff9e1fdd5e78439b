"""A breakdown of accuracy by ambiguity, type, document length, or frequency in training."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

from sgtb.core.errors import SettingsError
from sgtb.core.records import Document, Mention
from sgtb.evaluation.metrics import share
from sgtb.evaluation.system_answers import Candidates, SystemAnswers, candidates_of

By = Literal["ambiguity", "type", "length", "words", "frequency"]
UNTYPED = "?"
"""The label of mentions without a type."""


@dataclass(frozen=True, slots=True)
class Slice:
    """The in-KB mentions that have something in common, and how many were answered right."""

    label: str
    correct: int
    total: int

    @property
    def accuracy(self) -> float:
        """The share of correct mentions in the slice."""
        return share(self.correct, self.total)


class _Cell(NamedTuple):
    """A slice's place in the order, and its label."""

    place: int
    label: str


class Tally:
    """Slices that are counted document by document.

    by    "ambiguity": the number of candidates
          "type": the annotated type
          "length": the number of in-KB mentions in the document
          "words": the number of tokens in the document
          "frequency": mentions of the gold in training
    seen  from entity id to the number of training mentions that mean it; for "frequency" only
    """

    def __init__(self, by: By, seen: Mapping[str, int] | None = None) -> None:
        if by not in get_args(By):
            known = ", ".join(get_args(By))
            raise SettingsError(f"there is no breakdown by {by!r}; choose one of {known}")
        if by == "frequency" and seen is None:
            raise SettingsError(
                "a breakdown by frequency needs `seen`: the training mentions of each entity"
            )
        self._by: By = by
        self._seen = seen or {}
        self._correct: Counter[_Cell] = Counter()
        self._total: Counter[_Cell] = Counter()

    def add(
        self,
        document: Document,
        entities: Sequence[str | None],
        candidates: Sequence[Sequence[str]],
    ) -> None:
        """Count a document with the answers to its mentions, and their candidates."""
        whole = self._of_document(document)
        for mention, entity, listed in zip(document.mentions, entities, candidates, strict=True):
            if mention.in_kb:
                cell = whole or self._of_mention(mention, listed)
                self._total[cell] += 1
                self._correct[cell] += entity == mention.gold

    def slices(self) -> tuple[Slice, ...]:
        """Return the slices so far, in their order; none is empty."""
        return tuple(
            Slice(cell.label, self._correct[cell], self._total[cell])
            for cell in sorted(self._total)
        )

    def _of_document(self, document: Document) -> _Cell | None:
        """Return the slice that all mentions of a document belong to, if it is one."""
        if self._by == "length":
            return _LENGTH.cell(sum(1 for _ in document.in_kb()))
        if self._by == "words":
            return _WORDS.cell(len(document.tokens))
        return None

    def _of_mention(self, mention: Mention, candidates: Sequence[str]) -> _Cell:
        if self._by == "ambiguity":
            return _AMBIGUITY.cell(len(candidates))
        if self._by == "frequency":
            return _FREQUENCY.cell(self._seen.get(mention.gold or "", 0))
        label = mention.type or UNTYPED
        return _Cell(label == UNTYPED, label)


def breakdown(
    documents: Sequence[Document],
    answers: SystemAnswers,
    by: By,
    candidates: Candidates | None = None,
    seen: Mapping[str, int] | None = None,
) -> tuple[Slice, ...]:
    """Cut the in-KB mentions into slices; each is in one slice, and no slice is empty.

    by, seen    as of a `Tally`
    candidates  instead of the mentions' own
    """
    tally = Tally(by, seen)
    rows = candidates_of(documents, candidates)
    for (document, entities), row in zip(answers.beside(documents), rows, strict=True):
        tally.add(document, entities, row)
    return tally.slices()


class _Buckets:
    """Ranges of whole numbers: up to each bound, and a last one beyond all."""

    def __init__(self, first: int, bounds: Sequence[int]) -> None:
        starts = [first, *(bound + 1 for bound in bounds[:-1])]
        labels = [
            f"{start}" if start == end else f"{start}–{end}"
            for start, end in zip(starts, bounds, strict=True)
        ]
        self._bounds = bounds
        self._labels = [*labels, f">{bounds[-1]}"]

    def cell(self, n: int) -> _Cell:
        """Return the range that holds a number."""
        place = bisect_left(self._bounds, n)
        return _Cell(place, self._labels[place])


_AMBIGUITY = _Buckets(0, (0, 1, 5, 10, 20, 30))
_LENGTH = _Buckets(1, (5, 10, 20, 40))
_WORDS = _Buckets(0, (50, 100, 200, 500, 1000))
_FREQUENCY = _Buckets(0, (0, 1, 9, 99))
