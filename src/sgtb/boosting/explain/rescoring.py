"""Rescoring: the decisions of a decoding repeated, as input of the explanation kernels.

A decoding keeps the choices of its best sequence y, not the scores behind them. Rescoring repeats
the decisions in their order, with y_1:t-1 as the only history. Pooling adds the same numbers in
the same order as the search, and sums of leaf values are exact: factors have the search's bits.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sgtb.boosting.data.problems import Problems
from sgtb.boosting.search.beam import SearchArrays, SearchInput
from sgtb.boosting.search.decoder import Decoding
from sgtb.boosting.search.plan import SearchPlan
from sgtb.boosting.search.visit_order import visit_order
from sgtb.boosting.trees.tree_masks import TreeMasks
from sgtb.core.dtypes import Ints
from sgtb.core.errors import ProblemsError


class Rescoring(NamedTuple):
    """The kernels' view: the search's arrays, and the best sequences of the documents.

    choices    i4[M]
    direction  i1[D]
    use_masks  whether `masks` covers the trees that test global features; else trees are walked
    """

    search: SearchArrays
    choices: Ints
    direction: npt.NDArray[np.int8]
    n_trees: int
    use_masks: bool
    masks: TreeMasks


def rescoring(given: SearchInput, decoding: Decoding) -> Rescoring:
    """Return the rescoring of a decoding; raise if it is not one of these documents."""
    problems, model = given.problems, given.model
    _check(problems, model.plan, decoding, given.clamp)
    order = visit_order(problems, problems.sizes > 0, given.clamp)
    return Rescoring(
        search=given.arrays(order, 1),
        choices=decoding.choices,
        direction=decoding.direction,
        n_trees=model.n_trees,
        use_masks=model.masks is not None,
        masks=model.masks or TreeMasks.empty(),
    )


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
