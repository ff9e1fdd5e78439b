"""Arrays that the kernels of coherence, ranking and words refuse: an error that names them."""

from collections.abc import Iterator
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import sgtb.native
from experiments.entity_tables import TableSource, listed_candidates
from sgtb.core import sparse_matrix
from sgtb.core.sparse_matrix import SparseMatrix
from sgtb.linking import decisions, problem_packing
from sgtb.linking.candidates import candidate_table
from sgtb.linking.entities import background, entity_facts
from sgtb.linking.features import ranker, schema
from sgtb.linking.features.contexts import Repeats
from sgtb.linking.features.groups import coherence
from sgtb.linking.features.schema import SCHEMA
from tests.helpers.linking_builders import small_setting

MODULES = (
    background, candidate_table, coherence, decisions, entity_facts, problem_packing, ranker,
    schema, sgtb.native,
)  # fmt: skip
KERNELS = {
    "count_votes": "candidates name prior links spaces reach out",
    "random_walk": "nodes place prior links n_rounds restart out",
    "join_links": "number offsets linked columns column_offsets",
    "multiply_sparse_f4": "indptr indices data dense out",
    "multiply_sparse_f8": "indptr indices data dense out",
    "sum_weighted_rows": "indptr rows weights matrix out",
    "list_kinds": "candidate_offsets entity names kind_clues kind_words type_clue title_equal "
    "rest_words no_kind equal offsets kinds n_worded",
    "find_alike": "candidate_offsets document kinds n_worded alike worded_alike",
    "count_cuts": "features cuts out",
    "learn_ranks": "candidate_offsets gold sides bins order optimizer min_slope weights seen "
    "bin_weights bin_seen",
    "score_candidates": "candidate_offsets sides local joint mentions weights local_weights "
    "joint_weights out",
    "learn_tags": "clues tags order optimizer weights seen",
    "tag_probabilities": "clues weights out",
    "keep_best": "below offsets least kept",
    "merge_orders": "found searched rows offsets below entity order",
    "keep_strongest": "begins in_links top numbers offsets",
    "fill_word_table": "words left_out hashes numbers",
    "number_words": "table texts in_normal_form offsets numbers skipped",
    "sum_words": "linked texts weight own offsets columns values",
    "hash_texts": "texts out",
    "fingerprint_names": "names out",
}
"""The kernels and the names of their arguments."""


@cache
def captured() -> dict[str, dict[str, Any]]:
    """The arguments of all kernels, as Python passes them."""
    calls: dict[str, dict[str, Any]] = {}

    def keep(patch: pytest.MonkeyPatch, module: Any, kernel: str) -> None:
        run = getattr(module, kernel)

        def called(*given: Any) -> Any:
            calls[kernel] = dict(zip(KERNELS[kernel].split(), given, strict=True))
            return run(*given)

        patch.setattr(module, kernel, called)

    with pytest.MonkeyPatch.context() as patch:
        for kernel in KERNELS:
            for module in MODULES:
                if hasattr(module, kernel):
                    keep(patch, module, kernel)
        _run_all()
    return calls


def _run_all() -> None:
    setting = small_setting()
    table = setting.table(setting.train)
    candidates, rng = table.candidates, np.random.default_rng(0)
    everything = np.arange(len(candidates.mentions))
    cuts = ranker.Cuts.of(table.local)
    bins = cuts.apply(table.local)
    trained = ranker.Ranker.train(candidates, table.crosses, bins, everything, rng, bits=8)
    pair = bins, bins
    ranker.Rankers(trained, trained).scores(candidates, table.crosses, pair, everything)
    tags = ranker.Tagger.train(table.contexts.tag_clues, table.tags, everything, rng, bits=8)
    tags.probabilities(table.contexts.tag_clues)
    coherence.coherence_features(Repeats.of(candidates, table.contexts), setting.facts)
    entity_facts.neighbours(setting.facts.number, setting.facts.linked)
    problem_packing.pair_table(setting.facts, rows=np.arange(0, len(setting.facts), 2))
    for dtype in (np.float32, np.float64):
        SparseMatrix.of([0, 0, 1], [1, 2, 0], [1, 2, 3], (2, 3)).times(np.ones((3, 5), dtype))
    sparse_matrix.group_rows(
        np.ones((3, 5), np.float32), np.array([0, 1, 1, 2]), np.ones(4), np.array([0, 0, 1, 1]), 2
    )
    features = rng.random((candidates.n_candidates, len(SCHEMA.names))).astype(np.float32) * 20 - 20
    short = problem_packing.shortlisted(candidates, features, SCHEMA, ())
    n, m = short.candidates.n_candidates, len(candidates.mentions)
    system = SimpleNamespace(
        decode=lambda *_, **__: SimpleNamespace(choices=np.zeros(m, np.int32)),
        counterfactuals=lambda *_: SimpleNamespace(score=rng.random(n), probability=rng.random(n)),
    )
    decided = decisions.decide(short.candidates, system, np.full(m, -1, np.int32), False)
    decisions.with_unsearched(decided, short, candidates)
    source = TableSource(setting.entities)
    some = source.rows(np.arange(5))
    some = some._replace(descriptions=some.titles)
    background.descriptions(some, source, setting.lexicon)
    rows = {"stated_in": np.arange(30), "in_links": np.arange(30)}
    numbers = np.arange(12, dtype=np.int32)
    candidate_table.strongest(SimpleNamespace(rows=rows), numbers, [5, 7], 3)


def leaves(value: Any, path: str) -> Iterator[tuple[str, np.ndarray]]:
    """The arrays of an argument that its kernel reads, with their paths."""
    if isinstance(value, np.ndarray):
        yield path, value
    own = vars(value) if isinstance(value, SimpleNamespace) else getattr(value, "_fields", ())
    for name in own:
        if (path, name) != ("nodes", "number"):  # which no kernel of these reads
            yield from leaves(getattr(value, name), f"{path}.{name}")


def changed(value: Any, path: str, change: Any) -> Any:
    """A copy of nested records in which one array is another one."""
    name, _, rest = path.partition(".")
    if not name:
        return change(value)
    inner = changed(getattr(value, name), rest, change)
    if hasattr(value, "_replace"):
        return value._replace(**{name: inner})
    return type(value)(**{**vars(value), name: inner})


def table_of(change: Any) -> Any:
    """A change of both columns of a table of words."""
    return lambda table: SimpleNamespace(hashes=change(table.hashes), numbers=change(table.numbers))


def refused(kernel: str, path: str, change: Any, error: Any, match: str | None = None) -> None:
    call = {name: _copied(value) for name, value in captured()[kernel].items()}
    argument, _, rest = path.partition(".")
    call[argument] = changed(call[argument], rest, change)
    with pytest.raises(error, match=match):
        getattr(sgtb.native, kernel)(*call.values())


def _copied(value: Any) -> Any:
    return value.copy() if isinstance(value, np.ndarray) else value


@pytest.mark.parametrize("kernel", KERNELS)
def test_arrays_of_another_type_or_layout_are_refused(kernel):
    getattr(sgtb.native, kernel)(*map(_copied, captured()[kernel].values()))
    for name, value in captured()[kernel].items():
        for path, array in leaves(value, name):
            assert array.size > 1, path
            other = np.float32 if array.dtype == np.float64 else np.float64
            refused(kernel, path, lambda a, other=other: a.astype(other), TypeError, path)
            refused(kernel, path, lambda a: np.repeat(a, 2, axis=-1)[..., ::2], TypeError, path)
            refused(kernel, path, lambda a: a[None], TypeError, path)


ANY_LENGTH = {
    "learn_ranks.order", "learn_tags.order", "score_candidates.mentions",
    "score_candidates.weights", "random_walk.place", "tag_probabilities.weights",
    "list_kinds.kinds", "multiply_sparse_f4.dense", "multiply_sparse_f8.dense",
    "sum_weighted_rows.matrix",
    "number_words.numbers", "sum_words.columns",
    "fingerprint_names.out.words.data", "fingerprint_names.out.trigrams.data",
}  # fmt: skip
"""Arrays whose length nothing else says, or that may be longer than needed."""


@pytest.mark.parametrize("kernel", KERNELS)
def test_arrays_that_are_too_short_are_refused(kernel):
    for name, value in captured()[kernel].items():
        for path, _ in leaves(value, name):
            if f"{kernel}.{path}" not in ANY_LENGTH:
                refused(kernel, path, lambda array: array[:-1].copy(), ValueError)
                refused(kernel, path, lambda array: array[:0].copy(), ValueError)


def put(place: Any, number: float) -> Any:
    def change(array: np.ndarray) -> np.ndarray:
        other = array.copy()
        other[place] = number
        return other

    return change


MUCH = 1 << 30


@pytest.mark.parametrize("number", [-7, MUCH])
@pytest.mark.parametrize(
    "path",
    [
        "count_votes.candidates.entity", "count_votes.candidates.mention_offsets",
        "count_votes.candidates.candidate_offsets", "count_votes.name",
        "count_votes.links.indptr", "count_votes.links.indices",
        "random_walk.nodes.offsets", "random_walk.nodes.entity",
        "random_walk.nodes.place", "random_walk.place", "random_walk.links.indices",
        "join_links.offsets",
        "multiply_sparse_f4.indptr", "multiply_sparse_f8.indices", "sum_weighted_rows.indptr",
        "list_kinds.candidate_offsets", "list_kinds.entity", "list_kinds.names.indptr",
        "list_kinds.kind_clues.indptr", "list_kinds.kind_words.indptr",
        "find_alike.candidate_offsets", "find_alike.kinds.indptr", "find_alike.n_worded",
        "learn_ranks.candidate_offsets", "learn_ranks.order", "learn_ranks.sides.kinds.indptr",
        "learn_ranks.sides.n_worded", "learn_ranks.sides.document",
        "learn_ranks.sides.place_clues.indptr", "learn_ranks.sides.sentence_clues.indptr",
        "learn_ranks.sides.document_clues.indptr", "score_candidates.sides.alike",
        "score_candidates.sides.worded_alike", "score_candidates.mentions",
        "learn_tags.clues.indptr", "learn_tags.tags", "learn_tags.order",
        "tag_probabilities.clues.indptr", "keep_best.offsets", "merge_orders.found",
        "merge_orders.searched", "merge_orders.rows", "merge_orders.offsets",
        "keep_strongest.begins", "number_words.texts.starts", "number_words.texts.ends",
        "sum_words.linked.indptr", "sum_words.linked.data", "sum_words.texts.indptr",
        "sum_words.own.indptr", "hash_texts.texts.starts", "hash_texts.texts.ends",
        "fingerprint_names.names.starts", "fingerprint_names.names.ends",
    ],
)  # fmt: skip
def test_indices_beyond_their_arrays_are_refused(path, number):
    kernel, _, rest = path.partition(".")
    name = rest.rpartition(".")[2]
    refused(kernel, rest, put(1, number), ValueError, name)


@pytest.mark.parametrize(
    ("path", "change", "match"),
    [
        ("learn_ranks.bins", put((0, 0), 255), "bins"),
        ("score_candidates.joint", put((0, 0), 24), "joint"),
        ("count_votes.reach", lambda _: -1, "reach"),
        ("count_votes.spaces", lambda spaces: [spaces[0], spaces[1][:-1]], "spaces"),
        ("list_kinds.no_kind", lambda _: -1, "no_kind"),
        ("merge_orders.rows", lambda rows: rows[::-1].copy(), "rows"),
        ("number_words.table", table_of(lambda column: column[:-1]), "numbers"),
        ("number_words.table", table_of(np.zeros_like), "no place is empty"),
        ("number_words.numbers", lambda numbers: numbers[:1].copy(), "numbers"),
        ("sum_words.columns", lambda columns: columns[:1].copy(), "values"),
        ("fingerprint_names.out.words.data", lambda items: items[:1].copy(), "out.words.data"),
        (
            "fingerprint_names.out.trigrams.data",
            lambda items: items[:1].copy(),
            "out.trigrams.data",
        ),
    ],
)
def test_other_values_that_are_refused(path, change, match):
    kernel, _, rest = path.partition(".")
    refused(kernel, rest, change, ValueError, match)


def test_records_lack_no_field():
    candidates = listed_candidates((), small_setting().entities)
    given = {**captured()["count_votes"], "candidates": SimpleNamespace(entity=candidates.entity)}
    with pytest.raises(TypeError, match=r"candidates\.mention_offsets: is missing"):
        sgtb.native.count_votes(*given.values())
