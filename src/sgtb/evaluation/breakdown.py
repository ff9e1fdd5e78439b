"""A breakdown of accuracy by ambiguity, type, document length, or frequency in training."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from sgtb.core.errors import SettingsError
from sgtb.core.records import Document, Mention
from sgtb.evaluation.metrics import share
from sgtb.evaluation.system_answers import Candidates, SystemAnswers, candidates_of

By = Literal["ambiguity", "type", "length", "words", "frequency"]
UNTYPED = "?"  # the label of mentions without a type


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


_BOUNDS = {
    "ambiguity": (0, (0, 1, 5, 10, 20, 30)),
    "length": (1, (5, 10, 20, 40)),
    "words": (0, (50, 100, 200, 500, 1000)),
    "frequency": (0, (0, 1, 9, 99)),
}
"""The lowest number, and the ends of all ranges but the last, which has none."""
_Cell = tuple[int, str]  # a slice's place in the order, and its label


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
        n_known = sum(1 for _ in document.in_kb())
        for mention, entity, listed in zip(document.mentions, entities, candidates, strict=True):
            if mention.in_kb:
                cell = self._cell(document, n_known, mention, len(listed))
                self._total[cell] += 1
                self._correct[cell] += entity == mention.gold

    def slices(self) -> tuple[Slice, ...]:
        """Return the slices so far, in their order; none is empty."""
        cells = sorted(self._total)
        return tuple(Slice(cell[1], self._correct[cell], self._total[cell]) for cell in cells)

    def _cell(self, document: Document, n_known: int, mention: Mention, n_listed: int) -> _Cell:
        if self._by == "type":
            label = mention.type or UNTYPED
            return label == UNTYPED, label
        n = {
            "ambiguity": n_listed, "length": n_known, "words": len(document.tokens),
            "frequency": self._seen.get(mention.gold or "", 0),
        }[self._by]  # fmt: skip
        first, bounds = _BOUNDS[self._by]
        place = bisect_left(bounds, n)
        if place == len(bounds):
            return place, f">{bounds[-1]}"
        start, end = bounds[place - 1] + 1 if place else first, bounds[place]
        return place, f"{start}" if start == end else f"{start}–{end}"


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
