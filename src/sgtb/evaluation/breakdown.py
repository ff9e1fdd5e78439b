"""A breakdown: accuracy by how ambiguous mentions are, by their type, or by document length."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

from sgtb.errors import SettingsError
from sgtb.evaluation.answers import Answers
from sgtb.evaluation.candidates import Candidates, candidates_of
from sgtb.evaluation.metrics import share
from sgtb.records import Document

By = Literal["ambiguity", "type", "length"]
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


def breakdown(
    documents: Sequence[Document],
    answers: Answers,
    by: By,
    candidates: Candidates | None = None,
) -> tuple[Slice, ...]:
    """Cut the in-KB mentions into slices; each is in one slice, and no slice is empty.

    by  "ambiguity": the number of candidates, the mentions' own or the given
        "type": the annotated type
        "length": the number of in-KB mentions in the document
    """
    if by not in get_args(By):
        known = ", ".join(get_args(By))
        raise SettingsError(f"there is no breakdown by {by!r}; choose one of {known}")
    if by == "ambiguity":
        cells = _by_ambiguity(documents, candidates)
    elif by == "type":
        cells = _by_type(documents)
    else:
        cells = _by_length(documents)
    correct: Counter[_Cell] = Counter()
    total: Counter[_Cell] = Counter()
    for (document, entities), row in zip(answers.beside(documents), cells, strict=True):
        for mention, entity, cell in zip(document.mentions, entities, row, strict=True):
            if mention.in_kb:
                total[cell] += 1
                correct[cell] += entity == mention.gold
    return tuple(Slice(cell.label, correct[cell], total[cell]) for cell in sorted(total))


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


def _by_ambiguity(
    documents: Sequence[Document], candidates: Candidates | None
) -> Iterable[list[_Cell]]:
    for row in candidates_of(documents, candidates):
        yield [_AMBIGUITY.cell(len(listed)) for listed in row]


def _by_type(documents: Sequence[Document]) -> Iterable[list[_Cell]]:
    for document in documents:
        labels = (mention.type or UNTYPED for mention in document.mentions)
        yield [_Cell(label == UNTYPED, label) for label in labels]


def _by_length(documents: Sequence[Document]) -> Iterable[list[_Cell]]:
    for document in documents:
        cell = _LENGTH.cell(sum(1 for _ in document.in_kb()))
        yield [cell] * len(document.mentions)
