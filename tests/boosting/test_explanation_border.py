"""Arrays that the explanation kernels refuse: an error that names the array, never a crash."""

from functools import cache
from typing import Any

import numpy as np
import pytest

import sgtb.boosting.explain.contributions
import sgtb.boosting.explain.counterfactuals
import sgtb.native
from sgtb.boosting import SearchPlan
from tests.helpers.problem_builders import estimator, random_problems


@cache
def captured(depth: int) -> dict[str, dict[str, Any]]:
    """The arguments of both kernels, as Python passes them."""
    problems = random_problems(np.random.default_rng(7), n_documents=4, source="table")
    fitted = estimator(SearchPlan("bsg"), n_trees=4, depth=depth).fit(problems)
    decoding = fitted.decode(problems)
    calls: dict[str, dict[str, Any]] = {}

    def keep(patch: pytest.MonkeyPatch, module: Any, kernel: str, *names: str) -> None:
        run = getattr(module, kernel)

        def called(*given: Any) -> None:
            calls[kernel] = dict(zip(names, given, strict=True))
            run(*given)

        patch.setattr(module, kernel, called)

    with pytest.MonkeyPatch.context() as patch:
        keep(patch, sgtb.boosting.explain.counterfactuals, "score_counterfactuals",
             "documents", "rescoring", "factor", "margin", "out")  # fmt: skip
        keep(patch, sgtb.boosting.explain.contributions, "explain_documents",
             "documents", "rescoring", "mentions", "runner_ups", "out")  # fmt: skip
        fitted.counterfactuals(problems, decoding)
        fitted.contributions(problems, decoding, [0, 1], [1, 2])
    return calls


def changed(value: Any, path: str, change: Any) -> Any:
    """A copy of nested records in which one array is another one."""
    name, _, rest = path.partition(".")
    if not name:
        return change(value)
    inner = changed(getattr(value, name), rest, change)
    if hasattr(value, "_replace"):
        return value._replace(**{name: inner})
    return type(value)(**{**vars(value), name: inner})


def put(place: Any, number: float) -> Any:
    def change(array: np.ndarray) -> np.ndarray:
        other = array.copy()
        other[place] = number
        return other

    return change


def shorter(array: np.ndarray) -> np.ndarray:
    return array[:-1].copy()


def strided(array: np.ndarray) -> np.ndarray:
    return np.repeat(array, 2, axis=-1)[..., ::2]


def read_only(array: np.ndarray) -> np.ndarray:
    other = array.copy()
    other.flags.writeable = False
    return other


def as_type(dtype: Any) -> Any:
    return lambda array: array.astype(dtype)


COMMON = [
    ("documents", put(0, 99), "documents"),
    ("documents", put(0, -1), "documents"),
    ("documents", as_type(np.int64), "documents"),
    ("rescoring.choices", shorter, "choices"),
    ("rescoring.choices", put(0, 4), "choices"),
    ("rescoring.choices", put(0, -1), "choices"),
    ("rescoring.direction", put(0, 1), "direction"),
    ("rescoring.direction", shorter, "direction"),
    ("rescoring.direction", as_type(np.int32), "rescoring.direction"),
    ("rescoring.n_trees", lambda n: n + 1, "n_trees"),
    ("rescoring.search.mention_offsets", put(1, 99), "mention_offsets"),
    ("rescoring.search.candidate_offsets", put(1, 99), "candidate_offsets"),
    ("rescoring.search.entity", put(0, 99), "entity"),
    ("rescoring.search.local", shorter, "local"),
    ("rescoring.search.global_thresholds", shorter, "global_thresholds"),
    ("rescoring.search.step_offsets", put(1, -3), "step_offsets"),
    ("rescoring.search.mention", put((0, 0), 99), "mention"),
    ("rescoring.search.step_blocks", put((0, 1), -(2**63)), "step_blocks"),
    ("rescoring.search.step_blocks", put((0, 1), 2**63 - 1), "step_blocks"),
    ("rescoring.search.pairs.row", put(0, 99), "pairs.row"),
    ("rescoring.search.pairs.link_offsets", put((0, 1), 9999), "pairs.link_offsets"),
    ("rescoring.search.forest.roots", put(0, 9999), "forest.roots"),
    ("rescoring.search.forest.nodes", put(0, -1), "forest.nodes"),
    ("rescoring.search.forest.value", shorter, "forest.value"),
]
OF_COUNTERFACTUALS = [
    ("factor", shorter, "factor"),
    ("factor", as_type(np.float32), "factor"),
    ("out.total", shorter, "out.total"),
    ("out.score", shorter, "out.score"),
    ("out.probability", read_only, "out.probability"),
]
OF_CONTRIBUTIONS = [
    ("mentions", put(0, 999), "mentions"),
    ("mentions", put(0, -1), "mentions"),
    ("mentions", shorter, "runner_ups"),
    ("runner_ups", put(0, 4), "runner_ups"),
    ("runner_ups", put(1, -1), "runner_ups"),
    ("rescoring.search.forest.depth", lambda depth: 0, "forest.depth"),
    ("out.local", shorter, "out.local"),
    ("out.offsets", put(0, 1), "out.offsets"),
    ("out.offsets", put(1, 1), "out.offsets"),
    ("out.offsets", put(1, 99), "out.offsets"),
    ("out.mentions", shorter, "out.offsets"),
    ("out.mentions", strided, "out.mentions"),
    ("out.total", shorter, "out.total"),
]


@pytest.mark.parametrize(
    ("kernel", "path", "change", "name"),
    [
        *(("score_counterfactuals", *case) for case in COMMON + OF_COUNTERFACTUALS),
        *(("explain_documents", *case) for case in COMMON + OF_CONTRIBUTIONS),
    ],
)
def test_arrays_that_do_not_fit_are_refused(kernel, path, change, name):
    call = captured(3)[kernel]
    argument, _, rest = path.partition(".")
    given = {**call, argument: changed(call[argument], rest, change)}
    with pytest.raises((ValueError, TypeError), match=name):
        getattr(sgtb.native, kernel)(*given.values())
