"""Hypothesis strategies: documents with answers of every kind, and pairs of systems."""

from hypothesis import strategies as st

from sgtb.core.records import NIL
from sgtb.evaluation import SystemAnswers
from tests.helpers.answer_builders import accuracy, document, mention

ENTITIES = ["a", "b", "c", NIL, None]
MENTIONS = [
    mention(gold, title=title, type=type, candidates=("a",) * size)
    for gold in ENTITIES
    for title in (None, "a", "x_y")
    for type in (None, "", "PER", "ORG")
    for size in (0, 1, 2, 6, 11, 21, 31)
]
ROWS = st.lists(st.tuples(st.sampled_from(MENTIONS), st.sampled_from(ENTITIES)), max_size=7)


@st.composite
def answered(draw):
    """Documents, and answers to their mentions."""
    rows = draw(st.lists(ROWS, max_size=4))
    documents = [document(f"d{i}", *(m for m, _ in row)) for i, row in enumerate(rows)]
    return documents, SystemAnswers.of(documents, [[said for _, said in row] for row in rows])


@st.composite
def two_systems(draw):
    """The accuracies of two systems on the same documents, with something to compare."""
    total = draw(st.lists(st.integers(0, 6), min_size=1, max_size=8).filter(any))
    one, other = ([draw(st.integers(0, n)) for n in total] for _ in range(2))
    return accuracy(one, total), accuracy(other, total)
