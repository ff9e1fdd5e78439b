"""Naive twin: the learner as the paper describes it, one row at a time.

Plain lists, tuples and dicts, and scikit-learn's trees. The tests compare the fast
kernels with it, and `make bench` measures it as the baseline. It is meant to be read
with the paper (Yang, Irsoy and Rahman, NAACL 2018), not to be fast.

    documents_of   Problems, pulled apart            collect    the points of one document
    row_of         φ(x, y_t, y_1:t-1)                fit_tree   h_m, from points
    score_row      F = Σ η h_m (φ)                   decode     the best sequence
                                                     naive_fit  all of it, epoch after epoch

Sums are written as loops: since Python 3.12 `sum` of floats compensates for rounding, and the
sums would differ from those of the kernels.
"""

import math
import multiprocessing
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import numpy as np
from sklearn.tree import DecisionTreeRegressor

from sgtb.boosting.data.pairs import BlockPairs, TablePairs
from sgtb.boosting.data.problems import Problems
from sgtb.boosting.search.beam import SearchPlan

FORWARD, BACKWARD = 0, 1

Row = list[float]
Choices = tuple[int, ...]  # one candidate position per visited mention, first decided first
Score = Callable[[Row], float]
Factor = Callable[["Walk", Choices, int], tuple[Row, float]]  # row and F of a next decision
Outside = dict[int, dict[int, float]]  # mention, candidate: its best score in the pass before
PairFeatures = Callable[[int, int], Row]


@dataclass(frozen=True)
class NaiveDocument:
    """One document: per mention its candidates' φ_L and entities, and the gold position or -1.

    `phi_E` gives the `n_pair` pair features of two entities.
    """

    local: list[list[Row]]
    entity: list[list[int]]
    gold: list[int]
    n_pair: int
    phi_E: PairFeatures  # noqa: N815 (the paper's name)


@dataclass(frozen=True)
class Walk:
    """What one pass over a document visits: mentions in order, and candidates of each."""

    document: NaiveDocument
    plan: SearchPlan
    direction: int
    mentions: tuple[int, ...]
    allowed: tuple[Sequence[int], ...]
    gold: Choices | None = None


class Hypothesis(NamedTuple):
    """A partial sequence y_1:t, the row of each of its decisions, and S (equation 1)."""

    choices: Choices
    rows: tuple[Row, ...]
    S: float


class Step(NamedTuple):
    """A beam step: the top B, the gold prefix if it is not among them, and the best scores."""

    kept: list[Hypothesis]
    missed: list[Hypothesis]
    best: dict[int, float]


class Point(NamedTuple):
    """A training point: (direction, step, y_1:t), φ, and the residual −g (equation 6)."""

    identity: tuple[int, int, Choices]
    row: Row
    residual: float


class Sequenced(NamedTuple):
    """A whole sequence of a final beam: a choice per mention (-1: none), S and p (equation 2)."""

    choices: list[int]
    S: float
    p: float


@dataclass(frozen=True)
class Decoded:
    """The best sequence, with a probability for each of its choices, and the final beam."""

    choices: list[int]
    probabilities: list[float]
    score: float
    beam: list[Sequenced]


START = Hypothesis((), (), 0.0)


# Documents and their features ---------------------------------------------------------------


def documents_of(problems: Problems) -> list[NaiveDocument]:
    """Pull the flat arrays apart into one plain document each."""
    documents = []
    for d in range(problems.n_documents):
        mentions = range(problems.mention_offsets[d], problems.mention_offsets[d + 1])
        slices = [slice(*problems.candidate_offsets[m : m + 2].tolist()) for m in mentions]
        documents.append(
            NaiveDocument(
                [problems.local[s].tolist() for s in slices],
                [problems.entity[s].tolist() for s in slices],
                [int(problems.gold[m]) for m in mentions],
                problems.n_pair,
                _pair_reader(problems, d),
            )
        )
    return documents


def _pair_reader(problems: Problems, d: int) -> PairFeatures:
    """φ_E of two entities of document `d`, "extracted once and retrieved later" (section 4.3)."""
    source = problems.pairs
    start, stop = problems.entity_offsets[d : d + 2].tolist()
    if isinstance(source, BlockPairs):
        sizes = np.diff(problems.entity_offsets[: d + 1]) ** 2 * source.n_features
        n, k, begin = stop - start, source.n_features, int(sizes.sum())
        block = source.block[begin : begin + n * n * k].reshape(n, n, k)
        return lambda a, b: block[a, b].tolist()

    rows, names = source.row[start:stop].tolist(), source.name[start:stop].tolist()
    seen: dict[tuple[int, int], Row] = {}

    def look_up(a: int, b: int) -> Row:
        if (a, b) not in seen:
            apart = a == b or names[a] != names[b]
            found = _table_features(source, rows[a], rows[b])
            seen[a, b] = found if apart else [0.0] * len(found)
        return seen[a, b]

    return look_up


def _table_features(source: TablePairs, a: int, b: int) -> Row:
    """Dot products of the two rows' vectors, then their links (kept at the lower row)."""
    table, low, high = source.table, min(a, b), max(a, b)
    values = []
    for start, stop in zip(table.space_offsets[:-1], table.space_offsets[1:], strict=True):
        values.append(float(np.dot(table.vectors[a, start:stop], table.vectors[b, start:stop])))
    for offsets in table.link_offsets:
        i = bisect_left(table.link_targets, high, offsets[low], offsets[low + 1])
        found = i < offsets[low + 1] and table.link_targets[i] == high
        values.append(float(table.link_counts[i]) if found else 0.0)
    return values


def row_of(walk: Walk, prefix: Choices, candidate: int) -> Row:
    """φ = φ_L ⊕ mean φ_E ⊕ max φ_E over the decisions of `prefix` (section 4.2).

    `candidate` is one of the mention that comes after `prefix`. With no decision taken yet
    the global part is zero; a plan without history has no global part.
    """
    document, entity = walk.document, walk.document.entity
    mention = walk.mentions[len(prefix)]
    local = document.local[mention][candidate]
    if not walk.plan.uses_history:
        return local
    if not prefix:
        return local + [0.0] * (2 * document.n_pair)
    here = entity[mention][candidate]
    history = [entity[m][c] for m, c in zip(walk.mentions, prefix, strict=False)]
    by_feature = list(zip(*[document.phi_E(here, other) for other in history], strict=True))
    mean = [_total(values) / len(history) for values in by_feature]
    maximum = [max(values) for values in by_feature]
    pooled: Row = np.array(mean + maximum, np.float32).tolist()  # features are float32
    return local + pooled


# Search -------------------------------------------------------------------------------------


def softmax(scores: Sequence[float]) -> list[float]:
    """p of equation 2, with Z summed over the given scores only."""
    highest = max(scores)
    weights = [math.exp(S - highest) for S in scores]
    Z = _total(weights)
    return [weight / Z for weight in weights]


def beam_step(
    walk: Walk, beam: list[Hypothesis], factor: Factor, outside: Outside | None = None
) -> Step:
    """Extend every hypothesis by every candidate, and keep the top B (algorithm 1).

    Ranked by S(y_1:t), plus the candidate's best score in the pass before if there was one.
    Ties go to the lower entity number, then to the hypothesis that ranked higher.
    """
    t = len(beam[0].choices)
    mention = walk.mentions[t]
    expansions = []
    best: dict[int, float] = {}
    for rank, h in enumerate(beam):
        for c in walk.allowed[t]:
            row, F = factor(walk, h.choices, c)
            S = h.S + F
            key = S if outside is None else S + outside[mention][c]
            best[c] = max(S, best.get(c, S))
            expansions.append((-key, walk.document.entity[mention][c], rank, c, row, S))
    expansions.sort(key=lambda expansion: expansion[:3])

    kept, missed = [], []
    for place, (_, _, rank, c, row, S) in enumerate(expansions):
        h = beam[rank]
        if place < walk.plan.beam_width:
            kept.append(Hypothesis((*h.choices, c), (*h.rows, row), S))
        elif walk.gold is not None and (*h.choices, c) == walk.gold[: t + 1]:
            missed.append(Hypothesis((*h.choices, c), (*h.rows, row), S))
    return Step(kept, missed, best)


def beam_search(
    walk: Walk, factor: Factor, outside: Outside | None = None
) -> tuple[list[list[Hypothesis]], Outside]:
    """One pass: the beam after every step (with the gold prefix, if known), and the best scores."""
    beam, beams, best = [START], [], {}
    for mention in walk.mentions:
        step = beam_step(walk, beam, factor, outside)
        beam = step.kept + step.missed
        beams.append(beam)
        best[mention] = step.best
    return beams, best


def bidirectional_search(
    forward: Walk, backward: Walk, factor: Factor
) -> Iterator[tuple[int, Walk, list[list[Hypothesis]]]]:
    """Algorithm 1: yield round, walk and beams of every pass.

    S(y_T:t), the score of the other direction, is that of its best sequence ending in y_t,
    computed by the pass before. The first pass has none.
    """
    outside: Outside | None = None
    for r in range(forward.plan.rounds):
        for walk in (forward, backward):
            beams, outside = beam_search(walk, factor, outside)
            yield r, walk, beams


# Training -----------------------------------------------------------------------------------


def collect(
    document: NaiveDocument, plan: SearchPlan, score: Score, last_round_only: bool = False
) -> list[Point]:
    """Return the training points of a document, F given by `score` (section 3).

    Mentions without gold candidate are left out: neither visited nor part of a history.
    """
    return collect_with(document, plan, _fresh(score), last_round_only)


def collect_with(
    document: NaiveDocument, plan: SearchPlan, factor: Factor, last_round_only: bool = False
) -> list[Point]:
    """As `collect`, but rows and scores come from `factor`, which may cache them."""
    forward = _training_walk(document, plan, FORWARD)
    if plan.name == "local":
        return _local_points(forward, factor)
    if plan.name in ("bs", "laso"):
        return _update_points(forward, factor)
    if plan.name == "bsg":
        return _beam_points(forward, beam_search(forward, factor)[0])
    points = []
    backward = _training_walk(document, plan, BACKWARD)
    for r, walk, beams in bidirectional_search(forward, backward, factor):
        if not last_round_only or r == plan.rounds - 1:
            points += _beam_points(walk, beams)
    return points


def _training_walk(document: NaiveDocument, plan: SearchPlan, direction: int) -> Walk:
    mentions = [m for m, gold in enumerate(document.gold) if gold >= 0]
    if direction == BACKWARD:
        mentions.reverse()
    allowed = tuple(range(len(document.local[m])) for m in mentions)
    gold = tuple(document.gold[m] for m in mentions)
    return Walk(document, plan, direction, tuple(mentions), allowed, gold)


def _local_points(walk: Walk, factor: Factor) -> list[Point]:
    """Every mention alone: equation 6 with T = 1, all its candidates in the beam."""
    assert walk.gold is not None
    points = []
    for t, gold in enumerate(walk.gold):
        scored = _scored_alone(walk, t, factor)
        p = softmax([F for _, _, F in scored])
        for (c, row, _), p_c in zip(scored, p, strict=True):
            points.append(Point((walk.direction, t, (c,)), row, (c == gold) - p_c))
    return points


def _beam_points(walk: Walk, beams: list[list[Hypothesis]]) -> list[Point]:
    """BSG: at every step, 1[y_1:t = y*_1:t] − p(y_1:t | x) of the beam (equation 6)."""
    assert walk.gold is not None
    points = []
    for t, beam in enumerate(beams):
        for h, p in zip(beam, softmax([h.S for h in beam]), strict=True):
            is_gold = h.choices == walk.gold[: t + 1]
            points.append(Point((walk.direction, t, h.choices), h.rows[t], is_gold - p))
    return points


def _update_points(walk: Walk, factor: Factor) -> list[Point]:
    """Early update and LaSO (section 3.1): gradients when gold leaves the beam, or after T.

    Early update ends there. LaSO continues from the gold prefix alone.
    """
    points, beam, first = [], [START], 0
    last = len(walk.mentions) - 1
    for t in range(len(walk.mentions)):
        step = beam_step(walk, beam, factor)
        beam = step.kept
        if step.missed or t == last:
            points += _prefix_points(walk, step.kept + step.missed, first, t)
            if walk.plan.name == "bs":
                break
            beam, first = step.missed, t + 1
    return points


def _prefix_points(walk: Walk, sequences: list[Hypothesis], first: int, last: int) -> list[Point]:
    """Equation 6 at steps `first` to `last`; p(y_1:i | x) is summed over all that share y_1:i."""
    assert walk.gold is not None
    p = softmax([h.S for h in sequences])
    points = []
    for i in range(first, last + 1):
        marginal: dict[Choices, float] = {}
        row: dict[Choices, Row] = {}
        for h, p_h in zip(sequences, p, strict=True):
            prefix = h.choices[: i + 1]
            marginal[prefix] = marginal.get(prefix, 0.0) + p_h
            row[prefix] = h.rows[i]
        for prefix, p_prefix in marginal.items():
            is_gold = prefix == walk.gold[: i + 1]
            points.append(Point((walk.direction, i, prefix), row[prefix], is_gold - p_prefix))
    return points


def fit_tree(rows: Any, residuals: Any, depth: int = 3, min_leaf: int = 1) -> DecisionTreeRegressor:
    """h_m: a least-squares regression tree on rows and residuals (end of section 2.1)."""
    tree = DecisionTreeRegressor(max_depth=depth, min_samples_leaf=min_leaf, random_state=0)
    return tree.fit(np.asarray(rows, np.float32), np.asarray(residuals, np.float64))


def score_row(
    trees: Sequence[DecisionTreeRegressor], row: Row, learning_rate: float = 1.0
) -> float:
    """F = Σ η h_m(φ) (equation 7), for one row.

    Calls scikit-learn's compiled tree directly. `DecisionTreeRegressor.predict` would validate
    its input first, which takes many times as long for a single row: the choice favours the
    twin.
    """
    return _add_trees(0.0, trees, np.array([row], np.float32), learning_rate)


def _add_trees(F: float, trees: Iterable[DecisionTreeRegressor], x: Any, eta: float) -> float:
    for tree in trees:
        F += eta * float(tree.tree_.predict(x)[0, 0])
    return F


class Memory:
    """Rows and scores of one document, kept between epochs: only new trees are added.

    The paper's source calls it "partial structure score caching". Entries that an epoch did not
    use are dropped after the next `turn`, so that memory does not grow with every tree.
    """

    def __init__(self, trees: list[DecisionTreeRegressor], learning_rate: float) -> None:
        self.trees, self.learning_rate = trees, learning_rate
        self.before: dict[Any, tuple[Any, float, int]] = {}
        self.now: dict[Any, tuple[Any, float, int]] = {}

    def turn(self) -> None:
        """Begin an epoch."""
        self.before, self.now = self.now, {}

    def factor(self, walk: Walk, prefix: Choices, candidate: int) -> tuple[Row, float]:
        """Return the row and F, from the last epoch where available."""
        key = (walk.direction, walk.mentions[len(prefix)], prefix, candidate)
        entry = self.now.get(key) or self.before.get(key)
        if entry is None:
            entry = np.array([row_of(walk, prefix, candidate)], np.float32), 0.0, 0
        x, F, done = entry
        F = _add_trees(F, self.trees[done:], x, self.learning_rate)
        self.now[key] = x, F, len(self.trees)
        return x[0].tolist(), F


def naive_fit(
    documents: Sequence[NaiveDocument],
    plan: SearchPlan,
    n_trees: int,
    depth: int = 3,
    learning_rate: float = 1.0,
    min_leaf: int = 1,
    processes: int = 2,
    remember: bool = False,
) -> list[DecisionTreeRegressor]:
    """Fit `n_trees` trees, one per epoch (figure 1b), documents spread over processes.

    Every process keeps its documents from epoch to epoch, and is sent the new tree only. With
    `remember` it also keeps their rows and scores. Neither changes the trees.
    """
    context = multiprocessing.get_context("fork")
    by_size = sorted(range(len(documents)), key=lambda d: -len(documents[d].local))
    shares = [by_size[w::processes] for w in range(processes)]
    pipes, workers, trees = [], [], list[DecisionTreeRegressor]()
    for share in shares:
        pipe, end = context.Pipe()
        given = ([documents[d] for d in share], plan, learning_rate, remember)
        workers.append(context.Process(target=_work, args=(*given, end, pipe), daemon=True))
        workers[-1].start()
        end.close()
        pipes.append(pipe)
    try:
        for _ in range(n_trees):
            points = _points_of_all(pipes, shares, trees[-1:])
            rows = np.concatenate([x for x, _ in points])
            trees.append(fit_tree(rows, np.concatenate([r for _, r in points]), depth, min_leaf))
    finally:
        # All pipes before the first join: a worker inherits the ends of those made before its own.
        for pipe in pipes:
            pipe.close()
        for worker in workers:
            worker.join()
    return trees


def _points_of_all(
    pipes: list[Any], shares: list[list[int]], new_trees: list[DecisionTreeRegressor]
) -> list[tuple[Any, Any]]:
    """Rows and residuals of all documents, in the documents' order."""
    for pipe in pipes:
        pipe.send(new_trees)
    collected: dict[int, tuple[Any, Any]] = {}
    for pipe, share in zip(pipes, shares, strict=True):
        collected.update(zip(share, pipe.recv(), strict=True))
    return [collected[d] for d in sorted(collected) if len(collected[d][1])]


def _work(
    documents: list[NaiveDocument],
    plan: SearchPlan,
    eta: float,
    remember: bool,
    pipe: Connection,
    other_end: Connection,
) -> None:
    """A process: receive new trees, send back (rows, residuals) per document."""
    other_end.close()  # a fork has a copy of it, and would wait for itself to close it
    trees: list[DecisionTreeRegressor] = []
    memories = [Memory(trees, eta) for _ in documents]
    fresh = _fresh(lambda row: score_row(trees, row, eta))
    while True:
        try:
            trees += pipe.recv()
        except EOFError:
            return
        answer = []
        for document, memory in zip(documents, memories, strict=True):
            memory.turn()
            points = collect_with(document, plan, memory.factor if remember else fresh)
            rows = np.array([point.row for point in points], np.float32)
            answer.append((rows, np.array([point.residual for point in points])))
        pipe.send(answer)


# Decoding -----------------------------------------------------------------------------------


def decode(
    document: NaiveDocument,
    plan: SearchPlan,
    score: Score,
    clamp: Sequence[int | None] | None = None,
) -> Decoded:
    """Find the best sequence (equation 3), F given by `score`.

    Mentions without candidates are left out; their choice is -1 and has probability 0.
    `clamp` fixes the candidate of some mentions, which are then decided first.
    """
    factor = _fresh(score)
    forward = decoding_walk(document, plan, FORWARD, clamp)
    if plan.name == "local":
        return _decode_local(forward, factor)
    if plan.name != "bibsg":
        return _best_of(forward, beam_search(forward, factor)[0])
    backward = decoding_walk(document, plan, BACKWARD, clamp)
    passes = list(bidirectional_search(forward, backward, factor))
    finals = [_best_of(walk, beams) for _, walk, beams in passes[-2:]]
    # "The sequence with the higher conditional probability score" (end of section 3.2).
    return max(finals, key=lambda final: max(final.beam, key=lambda s: s.S).p)


def decoding_walk(
    document: NaiveDocument, plan: SearchPlan, direction: int, clamp: Sequence[int | None] | None
) -> Walk:
    """Clamped mentions first, in document order in both directions; then the others."""
    fixed = {m: c for m, c in enumerate(clamp or ()) if c is not None}
    others = [m for m, rows in enumerate(document.local) if rows and m not in fixed]
    if direction == BACKWARD:
        others.reverse()
    mentions = (*fixed, *others)
    allowed = tuple([fixed[m]] if m in fixed else range(len(document.local[m])) for m in mentions)
    return Walk(document, plan, direction, mentions, allowed)


def _best_of(walk: Walk, beams: list[list[Hypothesis]]) -> Decoded:
    """The highest S of the final beam, and what share of the beam agrees with each choice."""
    beam = beams[-1] if beams else [START]
    p = softmax([h.S for h in beam])
    best = max(beam, key=lambda h: h.S)  # the first of equals
    agreeing = [
        _total(p_h for h, p_h in zip(beam, p, strict=True) if h.choices[t] == choice)
        for t, choice in enumerate(best.choices)
    ]
    return Decoded(
        _by_mention(walk, best.choices, -1),
        _by_mention(walk, agreeing, 0.0),
        best.S,
        [
            Sequenced(_by_mention(walk, h.choices, -1), h.S, p_h)
            for h, p_h in zip(beam, p, strict=True)
        ],
    )


def _decode_local(walk: Walk, factor: Factor) -> Decoded:
    """Every mention alone. The one sequence's p is the product of its choices' p."""
    choices, probabilities, S = [], [], 0.0
    for t, mention in enumerate(walk.mentions):
        scored = _scored_alone(walk, t, factor)
        p = softmax([F for _, _, F in scored])
        entity = walk.document.entity[mention]
        i = min(range(len(scored)), key=lambda i: (-scored[i][2], entity[scored[i][0]]))
        choices.append(scored[i][0])
        probabilities.append(p[i])
        S += scored[i][2]
    by_mention = _by_mention(walk, choices, -1)
    beam = [Sequenced(by_mention, S, math.prod(probabilities))]
    return Decoded(by_mention, _by_mention(walk, probabilities, 0.0), S, beam)


# Helpers ------------------------------------------------------------------------------------


def _fresh(score: Score) -> Factor:
    """Compute every row and score on each call."""

    def factor(walk: Walk, prefix: Choices, candidate: int) -> tuple[Row, float]:
        row = row_of(walk, prefix, candidate)
        return row, score(row)

    return factor


def _scored_alone(walk: Walk, t: int, factor: Factor) -> list[tuple[int, Row, float]]:
    """Candidate, row and F of the t-th mention, with no history."""
    alone = replace(walk, mentions=walk.mentions[t : t + 1], allowed=walk.allowed[t : t + 1])
    return [(c, *factor(alone, (), c)) for c in walk.allowed[t]]


def _by_mention(walk: Walk, decided: Sequence[Any], absent: Any) -> list[Any]:
    """Put values of the visited mentions back into document order."""
    values = [absent] * len(walk.document.local)
    for mention, value in zip(walk.mentions, decided, strict=True):
        values[mention] = value
    return values


def _total(values: Iterable[float]) -> float:
    total = 0.0
    for value in values:
        total += value
    return total
