"""The naive twin against numbers worked out by hand, and against brute force."""

import itertools
import math

import numpy as np
import pytest

from benchmarks.naive import (
    BACKWARD,
    FORWARD,
    collect,
    decode,
    documents_of,
    fit_tree,
    naive_fit,
    score_row,
)
from sgtb.boosting.data.pairs import PairTable
from sgtb.boosting.data.problems import Problems
from sgtb.boosting.search.beam import PLANS, SearchPlan


def problem(local, gold=None, entity=None, pairs=None):
    """One document, out of a list of mentions."""
    wrapped = Problems.from_lists(
        [local], None if gold is None else [gold], None if entity is None else [entity], pairs
    )
    return documents_of(wrapped)[0]


def first(row):
    return row[0]


def everything(row):
    return math.fsum(row)


def by_identity(points):
    assert len({point.identity for point in points}) == len(points)
    return {point.identity: point for point in points}


def random_problems(rng, n_documents=1, n_mentions=3, n_candidates=3):
    """Documents whose rows all differ."""
    local = rng.normal(size=(n_documents, n_mentions, n_candidates, 2)).tolist()
    gold = rng.integers(n_candidates, size=(n_documents, n_mentions)).tolist()
    return Problems.from_lists(local, gold, pairs=_pair)


def _pair(a, b):
    """Some symmetric values of two (mention, candidate) ids."""
    x, y = a[0] * 3 + a[1], b[0] * 3 + b[1]
    return [math.sin(1 + x * y), math.cos(x + y)]


# Rows


def test_row_pools_mean_and_maximum_over_the_history():
    values = {frozenset("ac"): 1.0, frozenset("bc"): 4.0, frozenset("ab"): 0.5}
    document = problem(
        [[[10.0]], [[20.0]], [[30.0]]],
        [0, 0, 0],
        [["a"], ["b"], ["c"]],
        lambda a, b: [values.get(frozenset(a + b), 0.0), -values.get(frozenset(a + b), 0.0)],
    )
    rows = [point.row for point in collect(document, SearchPlan("bsg"), first)]
    assert rows == [
        [10.0, 0.0, 0.0, 0.0, 0.0],
        [20.0, 0.5, -0.5, 0.5, -0.5],
        [30.0, 2.5, -2.5, 4.0, -1.0],
    ]
    assert [point.row for point in collect(document, SearchPlan("local"), first)] == [
        [10.0], [20.0], [30.0],
    ]  # fmt: skip


def test_pooled_mean_is_rounded_to_float32():
    document = problem(
        [[[0.0]]] * 4, [0] * 4, [[0], [1], [2], [3]], lambda a, b: [float(a + b == 3)]
    )
    last = collect(document, SearchPlan("bsg"), first)[-1]
    assert last.row[1] == float(np.float32(1 / 3)) != 1 / 3


def test_table_pairs_are_dot_products_and_links_of_either_direction():
    table = PairTable.build(
        4, [[[1, 2], [3, 4], [5, 6], [7, 8]]], [([3, 1], [0, 2], [9, 7]), ([2], [2], [5])]
    )
    problems = Problems.from_lists(
        [[[[0.0]]], [[[0.0], [0.0]], [[0.0]]]], entity=[[[2]], [[3, 0], [1]]], pairs=table
    )
    one, two = documents_of(problems)
    assert one.phi_E(0, 0) == [61.0, 0.0, 5.0]
    # Entities of the second document in the order of their ids: rows 0, 1, 3.
    assert two.phi_E(0, 2) == two.phi_E(2, 0) == [23.0, 9.0, 0.0]
    assert two.phi_E(1, 2) == [53.0, 0.0, 0.0]


def test_block_pairs_are_read_from_the_right_document():
    problems = Problems.from_lists(
        [[[[0.0]] * 2], [[[0.0]] * 3]],
        entity=[[[1, 2]], [[3, 4, 5]]],
        pairs=lambda a, b: [a * b, 1],
    )
    one, two = documents_of(problems)
    assert one.phi_E(0, 1) == [2.0, 1.0]
    assert two.phi_E(2, 0) == [15.0, 1.0]


# Points


def test_local_points_are_a_softmax_per_mention():
    document = problem([[[math.log(3)], [0.0]], [[5.0]]], [1, 0])
    points = by_identity(collect(document, SearchPlan("local"), first))
    assert points[FORWARD, 0, (0,)].residual == pytest.approx(-0.75)
    assert points[FORWARD, 0, (1,)].residual == pytest.approx(0.75)
    assert points[FORWARD, 1, (0,)].residual == 0.0


def test_gold_prefix_is_added_to_the_beam_not_swapped_in():
    document = problem([[[2.0], [1.0], [0.0]], [[1.0], [0.0]]], [2, 1])
    points = collect(document, SearchPlan("bsg", beam_width=2), first)
    assert [point.identity for point in points] == [
        (FORWARD, 0, (0,)), (FORWARD, 0, (1,)), (FORWARD, 0, (2,)),
        (FORWARD, 1, (0, 0)), (FORWARD, 1, (1, 0)), (FORWARD, 1, (2, 1)),
    ]  # fmt: skip
    z = math.exp(2) + math.exp(1) + 1
    assert [point.residual for point in points[:3]] == pytest.approx(
        [-math.exp(2) / z, -math.exp(1) / z, 1 - 1 / z]
    )
    # S is 3, 2 (as for (0, 1), whose last entity number is higher) and 0.
    z = math.exp(3) + math.exp(2) + 1
    assert [point.residual for point in points[3:]] == pytest.approx(
        [-math.exp(3) / z, -math.exp(2) / z, 1 - 1 / z]
    )


def test_ties_go_to_the_lower_entity_then_to_the_better_hypothesis():
    document = problem([[[1.0], [0.0]], [[0.0], [1.0]]], entity=[[5, 3], [9, 2]])
    beam = decode(document, SearchPlan("bsg", beam_width=4), first).beam
    # (1, 1) and (0, 0) both have S = 1; candidate 1 of the second mention is entity 2.
    assert [s.choices for s in beam] == [[0, 1], [1, 1], [0, 0], [1, 0]]
    beam = decode(document, SearchPlan("bsg", beam_width=4), lambda row: 0.0).beam
    assert [s.choices for s in beam] == [[1, 1], [0, 1], [1, 0], [0, 0]]
    assert [s.p for s in beam] == [0.25] * 4


def test_early_update_stops_where_gold_leaves_the_beam():
    document = problem([[[0.0], [1.0]], [[1.0], [0.0]], [[0.0], [1.0]]], [1, 1, 1])
    points = by_identity(collect(document, SearchPlan("bs", beam_width=1), first))
    p = 1 / (1 + math.exp(-1))  # of (1, 0) with S = 2 against gold (1, 1) with S = 1
    residuals = {identity: point.residual for identity, point in points.items()}
    assert residuals == pytest.approx(
        {(FORWARD, 0, (1,)): 0.0, (FORWARD, 1, (1, 0)): -p, (FORWARD, 1, (1, 1)): p}
    )


def test_laso_goes_on_from_the_gold_prefix():
    document = problem(
        [[[0.0], [1.0]], [[1.0], [0.0]], [[0.0], [1.0]], [[1.0], [0.0]]], [1, 1, 1, 0]
    )
    points = by_identity(collect(document, SearchPlan("laso", beam_width=1), first))
    p = 1 / (1 + math.exp(-1))
    residuals = {identity: point.residual for identity, point in points.items()}
    assert residuals == pytest.approx(
        {
            (FORWARD, 0, (1,)): 0.0, (FORWARD, 1, (1, 0)): -p, (FORWARD, 1, (1, 1)): p,
            (FORWARD, 2, (1, 1, 1)): 0.0, (FORWARD, 3, (1, 1, 1, 0)): 0.0,
        }
    )  # fmt: skip


def test_mentions_without_gold_or_candidates_are_not_visited():
    local = [[[1.0], [0.0]], [], [[3.0], [2.0]], [[0.0], [1.0]]]
    entity = [[0, 1], [], [2, 3], [4, 5]]
    pairs = {"pairs": lambda a, b: [a + b]}
    whole = problem(local, [0, None, None, 1], entity, **pairs)
    for plan in map(SearchPlan, PLANS):
        points = collect(whole, plan, everything)
        assert {point.identity[1] for point in points} == {0, 1}
        # The pooled values of a history of one: mean and maximum are the same.
        assert all(point.row[1:] == [] or point.row[1] == point.row[2] for point in points)
    assert decode(whole, SearchPlan("bsg"), first).choices == [0, -1, 0, 1]
    nothing = problem([[], [[1.0]]], [None, None])
    assert collect(nothing, SearchPlan("bibsg"), first) == []


def test_second_pass_ranks_by_what_the_first_one_found():
    # F is the local value, plus the pair value where there is a history. From the left alone
    # candidate 0 of the first mention looks better; what the last mention adds favours 1.
    bonus = {(1, 3): 5.0}
    document = problem(
        [[[1.0], [0.0]], [[1.0], [0.0]]],
        [0, 0],
        [[0, 1], [2, 3]],
        lambda a, b: [bonus.get((min(a, b), max(a, b)), 0.0)],
    )
    plan = SearchPlan("bibsg", beam_width=1, rounds=2)
    points = collect(document, plan, lambda row: row[0] + row[1])
    # Forward 1: (0), then (0, 0) with S = 2: gold throughout. It leaves 1 and 0 for the first
    # mention's candidates, 2 and 1 for the second's. Backward 1 ranks the second mention by
    # 1 + 2 against 0 + 1, then the first by 2 + 1 against 1 + 0. So all is gold, residual 0.
    assert [point.identity for point in points] == [
        (FORWARD, 0, (0,)), (FORWARD, 1, (0, 0)), (BACKWARD, 0, (0,)), (BACKWARD, 1, (0, 0)),
    ] * 2  # fmt: skip
    assert len(collect(document, plan, first, last_round_only=True)) == 4

    wide = SearchPlan("bibsg", beam_width=2, rounds=1)
    points = collect(document, wide, lambda row: row[0] + row[1])
    # Forward: both prefixes; then S: 00 2, 01 1, 10 1, 11 5. It keeps 11 and 00, and leaves
    # 1, 0 for the first mention and 2, 5 for the second. Backward ranks 0 + 5 before 1 + 2,
    # then reaches 11 with 5 + 0 and 00 with 2 + 1.
    assert [point.identity for point in points] == [
        (FORWARD, 0, (0,)), (FORWARD, 0, (1,)), (FORWARD, 1, (1, 1)), (FORWARD, 1, (0, 0)),
        (BACKWARD, 0, (1,)), (BACKWARD, 0, (0,)), (BACKWARD, 1, (1, 1)), (BACKWARD, 1, (0, 0)),
    ]  # fmt: skip
    z = 1 + math.exp(-3)
    p = 1 / (1 + math.exp(1))  # of candidate 1 of the last mention: S = 0 against gold's 1
    assert [point.residual for point in points[4:]] == pytest.approx([-p, p, -1 / z, 1 / z])


# Brute force


def all_scores(document, score):
    """S of every sequence, from rows made here, not by the twin."""
    scores = {}
    for choices in itertools.product(*[range(len(rows)) for rows in document.local]):
        S = 0.0
        for t, c in enumerate(choices):
            pairs = [
                document.phi_E(document.entity[t][c], document.entity[s][choices[s]])
                for s in range(t)
            ]
            pooled = [np.mean(pairs, axis=0), np.max(pairs, axis=0)] if pairs else np.zeros((2, 2))
            S += score([*document.local[t][c], *np.float32(pooled).ravel().tolist()])
        scores[choices] = S
    return scores


@pytest.mark.parametrize("name", ["bs", "laso", "bsg", "bibsg"])
def test_wide_beam_equals_enumeration(name):
    (document,) = documents_of(random_problems(np.random.default_rng(3)))
    plan = SearchPlan(name, beam_width=27)
    scores = all_scores(document, everything)
    Z = math.fsum(math.exp(S) for S in scores.values())
    gold = tuple(document.gold)
    points = [p for p in collect(document, plan, everything) if p.identity[:2] == (FORWARD, 2)]
    assert len(points) == 27 * (plan.rounds if name == "bibsg" else 1)
    for point in points:
        choices = point.identity[2]
        assert (choices == gold) - point.residual == pytest.approx(math.exp(scores[choices]) / Z)

    if name != "bibsg":  # whose answer may be the backward pass's
        decoded = decode(document, plan, everything)
        best = max(scores, key=lambda choices: scores[choices])
        assert tuple(decoded.choices) == best
        assert decoded.score == pytest.approx(scores[best])
        for m, choice in enumerate(best):
            agreeing = math.fsum(math.exp(S) for y, S in scores.items() if y[m] == choice)
            assert decoded.probabilities[m] == pytest.approx(agreeing / Z)


def test_residual_is_the_derivative_of_the_loss():
    (document,) = documents_of(random_problems(np.random.default_rng(4), n_mentions=3))
    gold = tuple(document.gold)

    def loss(score):
        scores = all_scores(document, score)
        return math.log(math.fsum(math.exp(S) for S in scores.values())) - scores[gold]

    step = 1e-5
    points = collect(document, SearchPlan("bs", beam_width=27), everything)
    assert len(points) == 3 + 9 + 27
    for point in points:

        def shifted(row, by, target=point.row):
            return everything(row) + by * np.allclose(row, target, rtol=0, atol=1e-6)

        above, below = loss(lambda row: shifted(row, step)), loss(lambda row: shifted(row, -step))
        assert point.residual == pytest.approx((below - above) / (2 * step), abs=1e-6)


# Decoding


def test_clamped_mentions_are_decided_first_and_seen_by_the_others():
    # Mention 0 prefers candidate 0 by itself, and candidate 1 beside entity 3 of mention 1.
    document = problem(
        [[[1.0], [0.0]], [[1.0], [0.0]]],
        None,
        [[0, 1], [2, 3]],
        lambda a, b: [4.0 * ({a, b} == {1, 3})],
    )
    for name in ("bs", "bsg", "bibsg"):
        free = decode(document, SearchPlan(name, beam_width=1), lambda row: row[0] + row[1])
        assert free.choices == [0, 0]
        held = decode(
            document, SearchPlan(name, beam_width=1), lambda row: row[0] + row[1], [None, 1]
        )
        assert (held.choices, held.score, held.probabilities[1]) == ([1, 1], 4.0, 1.0)
    local = decode(document, SearchPlan("local"), first, [None, 1])
    assert (local.choices, local.probabilities[1]) == ([0, 1], 1.0)


@pytest.mark.parametrize(("local", "runner_up"), [((3.0, 1.0), [0, 1]), ((1.0, 3.0), [1, 0])])
def test_bidirectional_answer_is_the_more_probable_of_the_two(local, runner_up):
    # The pair of both candidates 0 doubles the local value of the one decided last.
    document = problem(
        [[[value], [0.0]] for value in local],
        entity=[[0, 1], [2, 3]],
        pairs=lambda a, b: [float({a, b} == {0, 2})],
    )
    plan = SearchPlan("bibsg", beam_width=2)
    decoded = decode(document, plan, lambda row: row[0] * (1 + row[1]))
    # The pass that ends with the 3 has S = 1 + 6 before 3, the other one S = 3 + 2 before 3.
    assert (decoded.choices, decoded.score) == ([0, 0], 7.0)
    assert [(s.choices, s.S) for s in decoded.beam] == [([0, 0], 7.0), (runner_up, 3.0)]
    p = 1 / (1 + math.exp(-4))
    assert [s.p for s in decoded.beam] == pytest.approx([p, 1 - p])
    assert decoded.probabilities == pytest.approx([p if c else 1.0 for c in runner_up])


def test_decoding_nothing():
    decoded = decode(problem([[], []]), SearchPlan("bsg"), first)
    assert (decoded.choices, decoded.probabilities, decoded.score) == ([-1, -1], [0.0, 0.0], 0.0)
    assert decode(problem([]), SearchPlan("bibsg"), first).choices == []


# Fitting


def test_score_row_is_what_the_trees_predict():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(50, 3)).astype(np.float32)
    trees = [fit_tree(rows, rng.normal(size=50), depth=2) for _ in range(2)]
    expected = 0.5 * sum(tree.predict(rows[7:8])[0] for tree in trees)
    assert score_row(trees, rows[7].tolist(), 0.5) == pytest.approx(expected)
    assert score_row([], rows[7].tolist()) == 0.0


@pytest.mark.parametrize("name", PLANS)
def test_fit_does_not_depend_on_processes_or_memory(name):
    documents = documents_of(random_problems(np.random.default_rng(5), n_documents=4))
    plan = SearchPlan(name, beam_width=2)
    fitted = [
        naive_fit(documents, plan, 4, processes=processes, remember=remember)
        for processes, remember in [(1, False), (2, False), (3, True)]
    ]
    values = [np.concatenate([tree.tree_.value.ravel() for tree in trees]) for trees in fitted]
    assert values[0].tobytes() == values[1].tobytes() == values[2].tobytes()

    # Epoch by epoch, by hand.
    trees = []
    for _ in range(4):
        points = [p for x in documents for p in collect(x, plan, lambda row: score_row(trees, row))]
        trees.append(fit_tree([p.row for p in points], [p.residual for p in points]))
    assert np.concatenate([t.tree_.value.ravel() for t in trees]).tobytes() == values[0].tobytes()


def test_fitting_raises_the_gold_sequence():
    documents = documents_of(random_problems(np.random.default_rng(6), n_documents=3))
    trees = naive_fit(documents, SearchPlan("bsg"), 30, processes=2)
    chosen = [decode(x, SearchPlan("bsg"), lambda row: score_row(trees, row)) for x in documents]
    assert [y.choices for y in chosen] == [x.gold for x in documents]
