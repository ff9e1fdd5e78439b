"""The generated corpus: what it promises about sizes, seeds and leaks."""

import hashlib
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from benchmarks.generated_corpus import CorpusShape, Splits, generate, generate_splits
from sgtb.boosting.data.pairs import TablePairs
from sgtb.boosting.data.problems import Problems
from sgtb.core.errors import SettingsError


@pytest.fixture(scope="module")
def corpus() -> Problems:
    return generate()


def _table_pairs(p: Problems) -> TablePairs:
    assert isinstance(p.pairs, TablePairs)
    return p.pairs


def _digest(p: Problems) -> str:
    pairs = _table_pairs(p)
    arrays = [p.mention_offsets, p.candidate_offsets, p.gold, p.entity, p.entity_offsets, p.local]
    arrays += [pairs.row, pairs.table.vectors, pairs.table.link_offsets]
    arrays += [pairs.table.link_targets, pairs.table.link_counts]
    return hashlib.sha256(b"".join(a.tobytes() for a in arrays)).hexdigest()


def _document_of_mention(p: Problems) -> np.ndarray:
    return np.repeat(np.arange(p.n_documents), np.diff(p.mention_offsets))


def _rows(p: Problems) -> np.ndarray:
    """Return the table row of every candidate."""
    mention = np.repeat(np.arange(p.n_mentions), np.diff(p.candidate_offsets))
    document = _document_of_mention(p)[mention]
    return _table_pairs(p).row[p.entity_offsets[document] + p.entity]


def _standard_errors_from_chance(p: Problems, hit: np.ndarray, above: int) -> float:
    """How far a guess is from chance, over mentions with at least `above` candidates.

    Mentions that take up a name share its candidates, so a document, not a mention, is the
    unit of the spread.
    """
    sizes = np.diff(p.candidate_offsets)
    surplus = np.where(sizes >= above, hit - 1 / sizes, 0.0)
    by_document = np.bincount(_document_of_mention(p), surplus)
    return float(by_document.sum() / np.sqrt((by_document**2).sum()))


def test_same_seed_gives_the_same_bytes(corpus: Problems) -> None:
    assert _digest(corpus) == _digest(generate(CorpusShape(), seed=0))
    tiny = CorpusShape.tiny()
    assert _digest(generate(tiny, 1)) != _digest(generate(tiny, 2))


def test_the_global_generator_is_neither_used_nor_moved() -> None:
    np.random.seed(1)  # noqa: NPY002
    first = _digest(generate(CorpusShape.tiny()))
    after = np.random.get_state()[1].copy()  # noqa: NPY002
    np.random.seed(1)  # noqa: NPY002
    assert np.array_equal(after, np.random.get_state()[1])  # noqa: NPY002
    np.random.seed(2)  # noqa: NPY002
    assert first == _digest(generate(CorpusShape.tiny()))


def test_the_default_is_shaped_like_aida(corpus: Problems) -> None:
    lengths, sizes = np.diff(corpus.mention_offsets), np.diff(corpus.candidate_offsets)
    assert corpus.n_documents == 946
    assert abs(corpus.n_mentions - 18_500) < 200
    assert lengths.min() >= 1
    assert (lengths < 8).mean() > 0.15
    assert 3 <= (lengths > 100).sum() <= 40
    assert sizes.mean() == pytest.approx(11, abs=0.4)
    assert (sizes.min(), sizes.max()) == (1, 30)
    assert (corpus.gold >= 0).all()
    assert (corpus.n_local, corpus.n_pair) == (40, 5)
    assert CorpusShape().n_pair == 5


def test_pairs_are_cosines_and_sparse_links(corpus: Problems) -> None:
    table = _table_pairs(corpus).table
    for start, stop in pairwise(table.space_offsets):
        np.testing.assert_allclose(
            np.linalg.norm(table.vectors[:, start:stop], axis=1), 1, atol=1e-5
        )
    degrees = np.diff(table.link_offsets[:, [0, -1]], axis=1).ravel() * 2 / table.n_rows
    assert len(degrees) == 2
    assert (degrees > 2).all()
    assert (degrees < 50).all()


def test_right_readings_cohere_and_so_do_wrong_ones(corpus: Problems) -> None:
    vectors = _table_pairs(corpus).table.vectors[:, :32]
    rows, document = _rows(corpus), _document_of_mention(corpus)
    gold = rows[corpus.candidate_offsets[:-1] + corpus.gold]
    next_to_each_other = np.flatnonzero(np.diff(document) == 0)
    right = (vectors[gold[next_to_each_other]] * vectors[gold[next_to_each_other + 1]]).sum(axis=1)

    # The best wrong pair of two neighbours against the best pair of unrelated mentions.
    def best_wrong(a: int, b: int) -> float:
        left, here = (
            vectors[np.delete(rows[slice(*corpus.candidate_offsets[m : m + 2])], corpus.gold[m])]
            for m in (a, b)
        )
        return float((left @ here.T).max()) if len(left) and len(here) else 0.0

    some = next_to_each_other[::40]
    wrong = np.mean([best_wrong(m, m + 1) for m in some])
    unrelated = np.mean([best_wrong(m, (m + 9001) % corpus.n_mentions) for m in some])
    assert right.mean() > 0.2
    assert wrong > unrelated + 0.03


def test_some_mentions_repeat_an_entity_of_the_document(corpus: Problems) -> None:
    gold = corpus.entity[corpus.candidate_offsets[:-1] + corpus.gold]
    distinct = len(np.unique(np.stack([_document_of_mention(corpus), gold]), axis=1).T)
    assert 0.1 < 1 - distinct / corpus.n_mentions < 0.5


def test_entities_of_a_document_are_numbered_by_table_row(corpus: Problems) -> None:
    row, offsets = _table_pairs(corpus).row, corpus.entity_offsets
    assert all((np.diff(row[a:b]) > 0).all() for a, b in pairwise(offsets))


@pytest.mark.parametrize("guess", ["first", "last", "lowest entity", "highest entity"])
def test_order_does_not_tell_the_gold(corpus: Problems, guess: str) -> None:
    start, sizes = corpus.candidate_offsets[:-1], np.diff(corpus.candidate_offsets)
    entity = corpus.entity.astype(np.int64)
    right = entity[start + corpus.gold]
    hit = {
        "first": corpus.gold == 0,
        "last": corpus.gold == sizes - 1,
        "lowest entity": right == np.minimum.reduceat(entity, start),
        "highest entity": right == np.maximum.reduceat(entity, start),
    }[guess]
    assert hit.mean() == pytest.approx((1 / sizes).mean(), abs=0.01)
    assert abs(_standard_errors_from_chance(corpus, hit, above=2)) < 4


def test_the_prior_helps_but_is_often_wrong(corpus: Problems) -> None:
    start, prior = corpus.candidate_offsets[:-1], corpus.local[:, 0]
    np.testing.assert_allclose(np.add.reduceat(prior, start), 1, atol=1e-5)
    hit = prior[start + corpus.gold] == np.maximum.reduceat(prior, start)
    assert 0.45 < hit.mean() < 0.7


def test_splits_share_the_world_and_no_document() -> None:
    shape = replace(CorpusShape(), n_documents=20)
    splits = generate_splits(shape, seed=3, dev=7, test=9)
    assert isinstance(splits, Splits)
    assert [len(p) for p in (splits.train, splits.dev, splits.test)] == [20, 7, 9]
    assert _table_pairs(splits.train).table is _table_pairs(splits.test).table
    assert _digest(splits.train) == _digest(generate(shape, seed=3))
    assert _digest(splits.dev) != _digest(splits.test)
    assert len(Problems.concatenate([splits.train, splits.dev, splits.test])) == 36


def test_tiny_corpora() -> None:
    p = generate(CorpusShape.tiny())
    assert (p.n_documents, p.n_mentions, p.n_candidates) == (5, 20, 60)
    assert (p.n_local, p.n_pair) == (6, 2)
    alone = generate(replace(CorpusShape.tiny(), fixed_candidates=1, dimensions=(), n_relations=0))
    assert (alone.n_candidates, alone.n_pair) == (20, 0)


def test_one_huge_document() -> None:
    p = generate(CorpusShape.huge_document())
    assert (p.n_documents, p.n_mentions, p.n_candidates) == (1, 1000, 30_000)
    assert (np.diff(p.candidate_offsets) == 30).all()
    assert p.entity_offsets[-1] > 5_000


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_documents", 0), ("mean_mentions", 0.5), ("mean_candidates", 31), ("repeated", 1.5),
        ("local_noise", float("nan")), ("coherence", -1), ("dimensions", (8, 0)),
        ("n_entities", 50), ("n_topics", 1), ("fixed_candidates", 0),
    ],
)  # fmt: skip
def test_impossible_shapes_are_refused_by_name(name: str, value: object) -> None:
    with pytest.raises(SettingsError, match=name):
        replace(CorpusShape(), **{name: value})


def test_splits_need_documents() -> None:
    with pytest.raises(SettingsError, match="dev is 0"):
        generate_splits(CorpusShape.tiny(), dev=0)
