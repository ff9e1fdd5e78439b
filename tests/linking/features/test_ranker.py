"""The ranker: its kernels against a slow twin, its crosses by hand, and what it learns."""

import math
from collections import defaultdict
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from experiments.entity_tables import listed_candidates, table_facts
from sgtb.core.ragged import Ragged
from sgtb.linking.entities.entity_facts import Titles
from sgtb.linking.features.contexts import Contexts
from sgtb.linking.features.ranker import (
    BINS,
    MIN_SLOPE,
    OPTIMIZER,
    Crosses,
    Cuts,
    Ranker,
    Rankers,
    crosses,
    twins,
)
from sgtb.native import learn_ranks
from tests.helpers.linking_builders import (
    clue_rows,
    document,
    documents,
    entity_table,
    lexicon_of,
    small_setting,
    world,
)

_ALL = (1 << 32) - 1


def hashed(kind: int, clue: int) -> int:
    mixed = (kind * 0x9E3779B1 & _ALL) ^ (clue * 0x85EBCA6B & _ALL)
    return mixed ^ (mixed >> 15)


class NaiveRanker:
    """The twin: lists the crosses of a candidate, and keeps weights in dictionaries."""

    def __init__(self, sides: Crosses, bins, size: int) -> None:
        self.sides, self.bins, self.size = sides, bins, size
        self.weight = defaultdict(float)
        self.seen = defaultdict(float)

    def keys(self, m, c):
        s = self.sides
        kinds = s.kinds.row(c).tolist()
        worded = kinds[: s.n_worded[c]]
        found = []
        for own, clues in (
            (kinds, s.place_clues.row(m).tolist()),
            (worded, s.sentence_clues.row(m).tolist()),
            (worded, s.document_clues.row(s.document[m]).tolist()),
        ):
            found += [hashed(kind, clue) % self.size for kind in own for clue in clues]
        return found + [("bin", f, int(b)) for f, b in enumerate(self.bins[c])]

    def score(self, m, c):
        return sum(self.weight[key] for key in self.keys(m, c))

    def learn(self, m, candidates, gold):
        score = [self.score(m, c) for c in candidates]
        whole = sum(math.exp(s) for s in score)
        slopes = [math.exp(s) / whole - (i == gold) for i, s in enumerate(score)]
        for c, wanted in zip(candidates, slopes, strict=True):
            if abs(wanted) < MIN_SLOPE:
                continue
            for key in self.keys(m, c):
                slope = wanted + OPTIMIZER.decay * self.weight[key]
                self.seen[key] += slope**2
                step = OPTIMIZER.rate * slope / math.sqrt(self.seen[key] + OPTIMIZER.ease)
                self.weight[key] -= step


def random_sides(seed):
    """Six mentions of two documents; one mention has no candidates."""
    rng = np.random.default_rng(seed)
    candidate_offsets = np.array([0, 2, 2, 5, 6, 10, 12], np.int32)

    def hashes(n_rows, low, high):
        sizes = rng.integers(low, high, n_rows)
        indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        return Ragged(indptr, rng.integers(0, 1 << 32, sizes.sum()).astype(np.uint32))

    kinds = hashes(12, 2, 4)
    # Candidates have kinds in common.
    kinds.data[:] = rng.choice(kinds.data[:3], len(kinds.data))
    n_worded = rng.integers(1, 3, 12).astype(np.int32)
    document = np.array([0, 0, 0, 1, 1, 1], np.int32)
    sides = Crosses(
        kinds, n_worded, document, hashes(6, 1, 4), hashes(6, 0, 3), hashes(2, 0, 3),
        *twins(candidate_offsets, document, kinds, n_worded),
    )  # fmt: skip
    bins = rng.integers(0, BINS, (12, 3)).astype(np.uint8)
    gold = np.array([1, -1, 0, 0, 3, 1], np.int32)
    return candidate_offsets, gold, sides, bins


@pytest.mark.parametrize("seed", range(3))
def test_against_the_twin(seed):
    offsets, gold, sides, bins = random_sides(seed)
    order = np.array([0, 2, 3, 4, 5, 5, 2, 0, 4, 4, 4])
    size = 32  # so few places that crosses have to share them
    weights, seen = np.zeros(size), np.zeros(size)
    bin_weights, bin_seen = np.zeros((3, BINS)), np.zeros((3, BINS))
    learn_ranks(
        offsets, gold, sides, bins, order, OPTIMIZER, MIN_SLOPE, weights, seen, bin_weights,
        bin_seen,
    )  # fmt: skip
    twin = NaiveRanker(sides, bins, size)
    for m in order:
        twin.learn(m, range(*offsets[m : m + 2]), gold[m])
    for key, weight in twin.weight.items():
        found = bin_weights[key[1], key[2]] if isinstance(key, tuple) else weights[key]
        assert found == pytest.approx(weight, rel=1e-9, abs=1e-12)
    both = Rankers(Ranker(weights, bin_weights), Ranker(2 * weights, 2 * bin_weights[:2]))
    candidates = SimpleNamespace(candidate_offsets=offsets, n_candidates=12)
    scored = np.array([0, 1, 5, 4])
    out = both.scores(candidates, sides, (bins, bins[:, :2].copy()), scored)
    expected, twice = np.zeros(12), np.zeros(12)
    for m in scored:
        for c in range(*offsets[m : m + 2]):
            expected[c] = twin.score(m, c)
            twice[c] = 2 * (expected[c] - bin_weights[2, bins[c, 2]])
    np.testing.assert_allclose(out, [expected, twice], rtol=1e-9, atol=1e-12)
    assert expected.any()


@pytest.mark.parametrize("seed", range(20))
def test_twins_are_the_first_of_their_kinds(seed):
    offsets, _, s, _ = random_sides(seed)
    mention = np.repeat(np.arange(6), np.diff(offsets))
    kinds = [s.kinds.row(c).tolist() for c in range(12)]
    worded = [own[:n] for own, n in zip(kinds, s.n_worded, strict=True)]
    for c in range(12):
        own = [p for p in range(12) if mention[p] == mention[c] and kinds[p] == kinds[c]]
        same = [p for p in own if s.n_worded[p] == s.n_worded[c]]
        assert s.alike[c] == same[0]
        document = s.document[mention]
        there = [p for p in range(12) if document[p] == document[c] and worded[p] == worded[c]]
        assert s.worded_alike[c] == there[0]


def test_cuts_make_bins_of_about_equal_size():
    rng = np.random.default_rng(0)
    features = np.stack(
        [rng.permutation(24_000), np.full(24_000, 7), rng.integers(0, 2, 24_000)], axis=1
    ).astype(np.float32)
    cuts = Cuts.of(features)
    bins = cuts.apply(features)
    assert bins.dtype == np.uint8
    sizes = np.bincount(bins[:, 0])
    assert len(sizes) == BINS
    assert abs(sizes / 24_000 - 1 / BINS).max() < 0.001
    assert len(np.unique(bins[:, 1])) == 1
    assert len(np.unique(bins[:, 2])) == 2
    order = np.argsort(features[:, 0])
    assert (np.diff(bins[order, 0].astype(int)) >= 0).all()
    beyond = cuts.apply(np.array([[-9e9] * 3, [9e9] * 3], np.float32))
    assert (beyond[0] == bins.min(axis=0)).all()
    assert (beyond[1] < BINS).all()


@pytest.mark.parametrize("n_rows", [0, 1, 4, 7])
@pytest.mark.parametrize("n_columns", [0, 1, 8, 9, 27])
def test_bins_count_the_cuts_below(n_rows, n_columns):
    rng = np.random.default_rng(n_columns)
    values = np.sort(rng.integers(0, 20, (n_columns, BINS - 1)), axis=1).astype(np.float32)
    for column, n in zip(values, rng.integers(0, BINS, n_columns), strict=True):
        column[n:] = np.inf
    features = rng.integers(-1, 21, (n_rows, n_columns)).astype(np.float32)
    bins = Cuts(values).apply(features)
    assert bins.dtype == np.uint8
    assert bins.flags.c_contiguous
    np.testing.assert_array_equal(bins, (values < features[:, :, None]).sum(axis=2))


def test_cuts_by_hand():
    cuts = Cuts(np.array([[1.0, 3.0, np.inf]], np.float32))
    values = np.array([[0.0], [1.0], [1.5], [3.0], [4.0]], np.float32)
    assert cuts.apply(values)[:, 0].tolist() == [0, 0, 1, 1, 2]


def crosses_of(text, titles, types, title_equal, rest_words):
    entities = entity_table(titles, types=types)
    lexicon = lexicon_of([text], entities)
    candidates = listed_candidates([text], entities)
    contexts = Contexts.build(candidates, lexicon)
    facts = table_facts(entities, lexicon)
    return crosses(
        candidates, contexts, facts, np.array(title_equal, np.float32), np.float32(rest_words)
    )


def naive_kinds(candidates, contexts, entities, title_equal, rest_words):
    """The twin: the clues of every candidate as strings, hashed at the end."""
    rows, n_worded = [], []
    offsets = candidates.candidate_offsets.tolist()

    def hashed_clue(clue):
        return int(clue_rows([[clue]]).data[0])

    for m, name in enumerate(contexts.names):
        for c in range(offsets[m], offsets[m + 1]):
            e = candidates.entity[c]
            kinds = sorted(Titles.of([entities.titles[e]]).kinds()[0])
            own = [f"kind:{kind}" for kind in kinds if kind not in name.split()] or ["no kind"]
            marks = [
                hashed_clue(f"type:{entities.types[e]}"),
                hashed_clue(f"equal:{int(title_equal[c])}{int(rest_words[c] == 0)}"),
            ]
            rows.append([*map(hashed_clue, own), *marks, marks[0] ^ marks[1]])
            n_worded.append(len(own) + 1)
    return rows, n_worded


def assert_kinds_like_the_twin(texts, entities, title_equal, rest_words):
    lexicon = lexicon_of(texts, entities)
    candidates = listed_candidates(texts, entities)
    contexts = Contexts.build(candidates, lexicon)
    facts = table_facts(entities, lexicon)
    flags = np.resize(np.float32(title_equal), candidates.n_candidates)
    rest = np.resize(np.float32(rest_words), candidates.n_candidates)
    sides = crosses(candidates, contexts, facts, flags, rest)
    rows, n_worded = naive_kinds(candidates, contexts, entities, flags, rest)
    found = [sides.kinds.row(c).tolist() for c in range(candidates.n_candidates)]
    assert found == rows
    assert sides.n_worded.tolist() == n_worded
    assert sides.kinds.indptr[-1] == len(sides.kinds.data)
    assert (sides.kinds.data.dtype, sides.n_worded.dtype) == (np.uint32, np.int32)
    sizes = np.diff(candidates.mention_offsets)
    assert sides.document.tolist() == [d for d, n in enumerate(sizes) for _ in range(n)]
    return sides


def test_kinds_against_the_twin():
    entities = entity_table(
        ["Orlan", "Orlan national football team", "Orlan F.C.", "Orlan, Norvia", "1994 Orlan Open",
         "Anna Orlan (football player)", "football club of Orlan (team)"],
        types=["GPE", "ORG", "ORG", "GPE", "", "PER", "MISC"],
    )  # fmt: skip
    listed = ",".join(entities.ids)
    names = ("Orlan", "Orlan team", "Football", "FC Orlan", "national football team", "...")
    marks = [f"[{name}|e100||{listed}]" for name in names]
    texts = [document("1", *marks[:4]), document("2"), document("3", *marks[4:], "[x|e100||]")]
    assert_kinds_like_the_twin(texts, entities, [1, 0, 0], [0, 2])


def test_kinds_against_the_twin_in_the_small_world():
    sides = assert_kinds_like_the_twin(documents(8), world(), [0, 1], [0, 1, 3])
    assert len(set(sides.n_worded.tolist())) > 1


def test_kinds_that_the_mention_says_itself_are_left_out():
    text = document("1", "[Orlan team|e100||e100] and [Orlan|e100||e100]")
    titles, types = ["Orlan football team"], ["ORG"]
    sides = crosses_of(text, titles, types, [0, 0], [1, 1])
    first, second = (set(sides.kinds.row(c).tolist()) for c in range(2))
    (team,) = clue_rows([["kind:team"]]).data.tolist()
    assert second - first == {team}
    assert sides.n_worded[1] == sides.n_worded[0] + 1
    assert sides.document.tolist() == [0, 0]


def test_marks_tell_type_and_equality():
    text = document("1", "[Orlan|e100||e100,e101] and [Orlan|e101||e101]")
    titles = ["Orlan", "Orlan"]
    same = crosses_of(text, titles, ["PER", "PER"], [1, 1, 1], [0, 0, 0])
    rows = [same.kinds.row(c).tolist() for c in range(3)]
    assert rows[0] == rows[1] == rows[2]
    typed = crosses_of(text, titles, ["PER", "ORG"], [1, 1, 1], [0, 0, 0])
    rows = [typed.kinds.row(c).tolist() for c in range(3)]
    assert rows[0] != rows[1] == rows[2]
    equal = crosses_of(text, titles, ["PER", "PER"], [1, 0, 0], [0, 1, 0])
    rows = [tuple(equal.kinds.row(c).tolist()) for c in range(3)]
    assert len(set(rows)) == 3


def bins_of(table):
    return Cuts.of(table.local).apply(table.local)


def scores_of(ranker, table, bins, mentions):
    both = Rankers(ranker, ranker).scores(table.candidates, table.crosses, (bins, bins), mentions)
    assert both[0].tobytes() == both[1].tobytes()
    return both[0]


def scores_by_rows(train, rows):
    """Train on the mentions given; return the scores of all candidates."""
    table, bins = train
    everything = np.arange(len(table.candidates.mentions))
    trained = Ranker.train(table.candidates, table.crosses, bins, rows, np.random.default_rng(0))
    return scores_of(trained, table, bins, everything)


@pytest.fixture(scope="module")
def train():
    setting = small_setting()
    table = setting.table(setting.train)
    return table, bins_of(table)


def test_it_learns_to_rank(train):
    candidates = train[0].candidates
    scores = scores_by_rows(train, np.arange(len(candidates.mentions)))
    right = several = 0
    for m, gold in enumerate(candidates.gold):
        own = scores[slice(*candidates.candidate_offsets[m : m + 2])]
        if len(own) > 1:
            several += 1
            right += own.argmax() == gold
    assert right / several > 0.8


def test_only_the_mentions_given_are_learned_from(train):
    table, bins = train
    candidates = table.candidates
    everything = np.arange(len(candidates.mentions))
    half = everything[::2]
    # Another gold for every mention that is not learned from.
    gold = np.where(everything % 2, 0, candidates.gold).astype(np.int32)
    assert (gold != candidates.gold).any()
    other = replace(table, candidates=replace(candidates, gold=gold)), bins
    assert scores_by_rows(train, half).tobytes() == scores_by_rows(other, half).tobytes()
    assert (scores_by_rows(train, everything) != scores_by_rows(other, everything)).any()


def test_scores_are_zero_elsewhere(train):
    table, bins = train
    trained = Ranker.train(
        table.candidates, table.crosses, bins, np.arange(9), np.random.default_rng(0)
    )
    some = np.array([2, 5])
    scores = scores_of(trained, table, bins, some)
    asked = np.zeros(len(scores), bool)
    for m in some:
        asked[slice(*table.candidates.candidate_offsets[m : m + 2])] = True
    assert scores[asked].all()
    assert not scores[~asked].any()


def test_fewer_bits_make_a_smaller_model_that_still_learns(train):
    table, bins = train
    everything = np.arange(len(table.candidates.mentions))
    small = Ranker.train(
        table.candidates, table.crosses, bins, everything, np.random.default_rng(0), bits=10
    )
    assert small.weights.shape == (1 << 10,)
    scores = scores_of(small, table, bins, everything)
    assert scores.any()
    assert (scores != scores_by_rows(train, everything)).any()


def test_nothing_to_learn_from(train):
    scores = scores_by_rows(train, np.zeros(0, np.int64))
    assert not scores.any()


def test_rankers_of_different_sizes_say_together_what_each_says(train):
    table, bins = train
    everything = np.arange(len(table.candidates.mentions))
    asked = table.candidates, table.crosses, bins, everything
    large, small = (
        Ranker.train(*asked, np.random.default_rng(0), bits=bits) for bits in (12, 8)
    )  # fmt: skip
    both = Rankers(large, small).scores(*asked[:2], (bins, bins), everything)
    assert both[0].tobytes() == scores_of(large, table, bins, everything).tobytes()
    assert both[1].tobytes() == scores_of(small, table, bins, everything).tobytes()
    turned = Rankers(small, large).scores(*asked[:2], (bins, bins), everything)
    assert turned[::-1].tobytes() == both.tobytes()
