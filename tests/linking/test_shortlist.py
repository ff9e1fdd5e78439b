"""The shortlist: who is searched, who is not, and that it changes no decision worth the name."""

import numpy as np
import pytest

from sgtb.linking import problem_packing as module
from sgtb.linking.candidates.candidate_table import MATCHES, CandidateTable
from sgtb.linking.features.schema import SCHEMA
from sgtb.linking.problem_packing import LEAST, shortlisted


def candidates_of(sizes, gold):
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    n = int(offsets[-1])
    return CandidateTable(
        (), (), np.array([0, len(sizes)], np.int32), offsets, np.arange(n, dtype=np.int32),
        np.array(gold, np.int32), np.linspace(0, 1, n).astype(np.float32),
        np.linspace(0, 1, n * len(MATCHES)).astype(np.float32).reshape(n, -1),
    )  # fmt: skip


def features_of(below, name="joint_score_below_best"):
    features = np.zeros((len(below), len(SCHEMA.names)), np.float32)
    features[:, SCHEMA.names.index(name)] = below
    return features


BELOW = [0.0, -7.9, -8.1, -30.0, -20.0, 0.0, -50.0, 0.0]
SIZES, GOLD = [4, 3, 1], [3, 0, 0]


def test_the_hopeless_are_left_out_but_two_stay():
    short = shortlisted(candidates_of(SIZES, GOLD), features_of(BELOW), SCHEMA, ())
    assert short.rows.tolist() == [0, 1, 4, 5, 7]
    assert short.candidates.candidate_offsets.tolist() == [0, 2, 4, 5]
    assert short.candidates.entity.tolist() == [0, 1, 4, 5, 7]
    assert short.candidates.gold.tolist() == [-1, 0, 0]  # the first is not searched
    np.testing.assert_array_equal(
        short.candidates.prior, candidates_of(SIZES, GOLD).prior[short.rows]
    )
    np.testing.assert_array_equal(
        short.candidates.match, candidates_of(SIZES, GOLD).match[short.rows]
    )


@pytest.mark.parametrize(
    ("without", "name"),
    [((), "joint_score_below_best"), (("joint ranker",), "rank_score_below_best")],
)
def test_the_ranker_asked_is_the_one_that_the_model_sees(without, name):
    short = shortlisted(candidates_of(SIZES, GOLD), features_of(BELOW, name), SCHEMA, without)
    assert len(short.rows) == 5
    other = "rank_score_below_best" if not without else "joint_score_below_best"
    short = shortlisted(candidates_of(SIZES, GOLD), features_of(BELOW, other), SCHEMA, without)
    assert len(short.rows) == len(BELOW)


def test_without_a_ranker_all_are_searched():
    without = ("joint ranker", "ranker")
    short = shortlisted(candidates_of(SIZES, GOLD), features_of(BELOW), SCHEMA, without)
    assert short.rows.tolist() == list(range(len(BELOW)))


def test_ties_for_the_second_place_go_to_the_first_candidate():
    below = [-40.0, -9.0, -9.0, 0.0]
    short = shortlisted(candidates_of([4], [-1]), features_of(below), SCHEMA, ())
    assert (LEAST, short.rows.tolist()) == (2, [1, 3])


def test_decisions_are_the_same_without_it(linker_of, unseen, monkeypatch):
    short = [link for one in linker_of().pipe(unseen) for link in one.links]
    monkeypatch.setattr(module, "MARGIN", np.inf)
    whole = [link for one in linker_of().pipe(unseen) for link in one.links]
    differ = [a for a, b in zip(short, whole, strict=True) if a.entity != b.entity]
    assert len(differ) <= len(short) / 100
    assert all(link.confidence < 0.9 for link in differ)


def test_the_best_are_kept_as_sorting_would():
    rng = np.random.default_rng(3)
    sizes = rng.integers(1, 7, 200)
    below = -rng.integers(0, 16, sizes.sum()).astype(np.float32)  # many are equal
    below[np.cumsum(sizes) - 1] = 0
    short = shortlisted(candidates_of(sizes, [-1] * 200), features_of(below), SCHEMA, ())
    group = np.repeat(np.arange(200), sizes)
    order = np.lexsort((-below, group))
    place = np.arange(len(order)) - (np.cumsum(sizes) - sizes)[group]
    kept = np.union1d(np.flatnonzero(below >= -module.MARGIN), order[place < LEAST])
    assert short.rows.tolist() == kept.tolist()
