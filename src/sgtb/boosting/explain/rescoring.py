"""Replays: decoded documents and their model, bundled for the explanation kernels.

A decoding keeps the choices of its best sequence y, not the scores that led to them. A replay
repeats the decisions in their order, with y_1:t-1 as the only history. Pooling adds the same
numbers in the same order as the search, and sums of leaf values are exact: factors have the
search's bits.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sgtb.boosting.data.problems import Problems
from sgtb.boosting.search.beam import SearchArrays
from sgtb.boosting.search.decoder import Decoding, search_arrays
from sgtb.boosting.search.plan import SearchPlan
from sgtb.boosting.search.visit_order import routes
from sgtb.boosting.trees.forest import ForestArrays
from sgtb.boosting.trees.tree_masks import AskingTrees, no_trees
from sgtb.core.dtypes import Bytes, Floats, Ints
from sgtb.core.errors import ProblemsError
from sgtb.core.thread_pool import Crew


class Replay(NamedTuple):
    """What the kernels read: the search's view of the documents, and their best sequences.

    choices    i4[M]
    direction  i1[D]
    answered   whether `asking` holds the trees that ask about global features; without them,
               trees are walked
    """

    search: SearchArrays
    choices: Ints
    direction: npt.NDArray[np.int8]
    n_trees: int
    answered: bool
    asking: AskingTrees


def replay(
    problems: Problems, local: Bytes, global_thresholds: Floats, forest: ForestArrays,
    n_trees: int, plan: SearchPlan, decoding: Decoding, clamp: Ints | None,
    asking: AskingTrees | None,
) -> Replay:  # fmt: skip
    """Bundle decoded documents with their model; raise if they do not fit together."""
    fixed = np.full(problems.n_mentions, -1, np.int32) if clamp is None else clamp
    _check(problems, plan, decoding, fixed)
    visits = routes(problems, problems.sizes > 0, fixed)
    s = search_arrays(problems, local, global_thresholds, forest, plan, visits, fixed, 1)
    return Replay(
        s, decoding.choices, decoding.direction, n_trees, asking is not None, asking or no_trees()
    )


def run_shares(replay: Replay, crew: Crew, run: Callable[[Ints], None]) -> None:
    """Call `run` with shares of all documents, in threads."""
    s = replay.search
    steps = np.diff(s.step_offsets).astype(np.int64)
    candidates = np.diff(s.candidate_offsets[s.mention_offsets])
    if len(steps):
        shares = crew.shares(candidates * (steps + 16))
        crew.run([lambda share=share: run(share) for share in shares])  # type: ignore[misc]


def _check(problems: Problems, plan: SearchPlan, decoding: Decoding, clamp: Ints) -> None:
    """Raise unless the decoding is one of these documents."""
    if not np.array_equal(decoding.mention_offsets, problems.mention_offsets):
        raise ProblemsError("the decoding is of other documents; decode these ones first")
    sizes, choices = problems.sizes, decoding.choices
    for wrong, complaint in (
        ((choices >= sizes) | ((choices < 0) & (sizes > 0)), "the mention has {} candidates"),
        ((clamp >= 0) & (choices != clamp), "it is clamped to {1}"),
    ):
        if wrong.any():
            m = int(np.argmax(wrong))
            raise ProblemsError(
                f"{problems.where(m)}: the decoding has choice {choices[m]}, but "
                f"{complaint.format(sizes[m], clamp[m])}; decode with the same documents and clamp"
            )
    if decoding.direction.any() and not plan.bidirectional:
        raise ProblemsError(
            f"the decoding went backward, which plan {plan.name} never does; "
            "decode with the same model"
        )
