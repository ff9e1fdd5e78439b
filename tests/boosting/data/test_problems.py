"""Problems and pair sources: packing, cutting, joining, files, and every refusal."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.naive import documents_of
from sgtb.boosting import PLANS, BlockPairs, PairTable, Problems, SearchPlan, TablePairs
from sgtb.core.errors import ModelFileError, ProblemsError
from sgtb.core.tensor_file import read_tensors, write_tensors
from tests.helpers.problem_builders import estimator, random_problems

SOURCES = ["block", "table", "none"]


def assert_equal(a: Problems, b: Problems) -> None:
    for name in ("mention_offsets", "candidate_offsets", "gold", "entity", "entity_offsets"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), name)
    assert a.local.tobytes() == b.local.tobytes()
    assert a.n_pair == b.n_pair
    assert type(a.pairs) is type(b.pairs)
    for x, y in zip(documents_of(a), documents_of(b), strict=True):
        assert all_pairs(x) == all_pairs(y)


def all_pairs(document):
    n = 1 + max((e for mention in document.entity for e in mention), default=-1)
    return [document.phi_E(a, b) for a in range(n) for b in range(n)]


def plain() -> dict:
    """Two documents: two mentions of two and one candidates, then one mention of two."""
    return {
        "local": [[[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0]]], [[[7.0, 8.0], [9.0, 10.0]]]],
        "gold": [[1, 0], [None]],
        "entity": [[["b", "a"], ["b"]], [["x", "y"]]],
        "pairs": lambda a, b: [float(a == b)],
    }


# Packing


def test_lists_are_packed():
    p = Problems.from_lists(**plain())
    assert (p.n_documents, p.n_mentions, p.n_candidates, p.n_local, p.n_pair) == (2, 3, 5, 2, 1)
    assert p.mention_offsets.tolist() == [0, 2, 3]
    assert p.candidate_offsets.tolist() == [0, 2, 3, 5]
    assert p.gold.tolist() == [1, 0, -1]
    assert p.entity.tolist() == [1, 0, 1, 0, 1]  # numbered within the document, by id
    assert p.entity_offsets.tolist() == [0, 2, 4]
    assert p.local.tolist() == [[1, 2], [3, 4], [5, 6], [7, 8], [9, 10]]
    assert isinstance(p.pairs, BlockPairs)
    assert p.pairs.block.tolist() == [1, 0, 0, 1, 1, 0, 0, 1]


def test_candidates_without_entity_all_differ():
    p = Problems.from_lists([[[[0.0], [0.0]], [[0.0]]]])
    assert p.entity.tolist() == [0, 1, 2]
    assert p.gold.tolist() == [-1, -1]
    assert p.n_pair == 0


def test_row_numbers_of_a_table_are_entities():
    table = PairTable.build(9, [np.eye(9)])
    p = Problems.from_lists([[[[0.0], [0.0]]]], entity=[[[7, 2]]], pairs=table)
    assert isinstance(p.pairs, TablePairs)
    assert p.pairs.row.tolist() == [2, 7]
    assert p.entity.tolist() == [1, 0]


# Cutting, joining, files


@given(st.integers(0, 10_000), st.sampled_from(SOURCES), st.data())
def test_parts_joined_again_are_the_whole(seed, source, data):
    p = random_problems(np.random.default_rng(seed), n_documents=4, source=source)
    cut = data.draw(st.integers(0, 4))
    assert_equal(Problems.concatenate([p[:cut], p[cut:]]), p)
    assert_equal(Problems.concatenate(list(p)), p)


@pytest.mark.parametrize("source", SOURCES)
def test_documents_are_taken_in_the_order_asked_for(source):
    p = random_problems(np.random.default_rng(1), n_documents=4, source=source)
    taken = p[[3, 0, 3]]
    assert len(taken) == 3
    for document, d in zip(documents_of(taken), (3, 0, 3), strict=True):
        original = documents_of(p)[d]
        assert document.local == original.local
        assert document.entity == original.entity
        assert document.gold == original.gold
        assert all_pairs(document) == all_pairs(original)


def test_ways_to_name_documents():
    p = random_problems(np.random.default_rng(2), n_documents=4)
    assert_equal(p[1], p[1:2])
    assert_equal(p[-1], p[3:])
    assert_equal(p[np.int64(2)], p[2])
    assert_equal(p[np.array([True, False, False, True])], p[[0, 3]])
    assert_equal(p[::-1], p[[3, 2, 1, 0]])
    for outside in (4, -5):
        with pytest.raises(IndexError, match="of 4"):
            p[outside]


def test_parts_that_do_not_fit_are_not_joined():
    rng = np.random.default_rng(3)
    p = random_problems(rng)
    with pytest.raises(ProblemsError, match="nothing to concatenate"):
        Problems.concatenate([])
    with pytest.raises(ProblemsError, match="local features"):
        Problems.concatenate([p, random_problems(rng, n_local=3)])
    with pytest.raises(ProblemsError, match="pair features"):
        Problems.concatenate([p, random_problems(rng, n_pair=3)])
    with pytest.raises(ProblemsError, match="equal pair tables"):
        Problems.concatenate([p, random_problems(rng, source="table")])
    tables = [random_problems(rng, source="table") for _ in range(2)]
    with pytest.raises(ProblemsError, match="equal pair tables"):
        Problems.concatenate(tables)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("seed", range(4))
def test_compacted_problems_are_the_same_without_unused_rows(seed, source):
    whole = random_problems(np.random.default_rng(seed), n_documents=5, source=source)
    for documents in (whole, whole[1:2], whole[3:], whole[:0]):
        compacted = documents.compacted()
        assert_equal(compacted, documents)
        again = Problems.from_tensors(compacted.tensors(), compacted.n_pair)
        assert_equal(again, documents)
        assert again.digest() == compacted.digest()
        if isinstance(compacted.pairs, TablePairs):
            assert compacted.pairs.table.n_rows == len(np.unique(documents.pairs.row))


def test_digests_differ_where_documents_do():
    whole = random_problems(np.random.default_rng(0), source="table")
    others = [
        whole[1:],
        replace(whole, gold=np.full_like(whole.gold, -1)),
        replace(whole, local=np.nextafter(whole.local, np.float32(9))),
        replace(whole, local=whole.local[:, :1].copy()),
    ]
    assert len({problems.digest() for problems in (whole, *others)}) == 5
    without = [replace(whole, pairs=BlockPairs(np.zeros(0, np.float32), 0)) for _ in range(2)]
    assert without[0].digest() == without[1].digest() != whole.digest()


@pytest.mark.parametrize("source", SOURCES)
def test_saved_problems_come_back(tmp_path, source):
    p = random_problems(np.random.default_rng(4), source=source)
    p.save(tmp_path / "p")
    again = Problems.load(tmp_path / "p")
    assert_equal(again, p)
    again.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "p").read_bytes()


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("gold", lambda a: a + 99),
        ("mention_offsets", lambda a: a[::-1].copy()),
        ("local", lambda a: a * np.float32("nan")),
        ("entity_offsets", lambda a: a.astype(np.int32)),
        ("row", lambda a: a + 10_000),
        ("link_targets", lambda a: a - 10_000),
        ("link_offsets", lambda a: a[:, ::-1].copy()),
        ("vectors", lambda a: a[1:]),
    ],
)
def test_damaged_problems_files_are_refused(tmp_path, name, change):
    path = tmp_path / "p"
    random_problems(np.random.default_rng(5), source="table").save(path)
    tensors, record = read_tensors(path, "problems", 1)
    write_tensors(path, {**tensors, name: change(tensors[name])}, record)
    with pytest.raises(ModelFileError, match=re.escape(str(path))):
        Problems.load(path)


@pytest.mark.parametrize("n_pair", [-1, 3, "two", None, 10**30])
def test_impossible_records_of_problems_files_are_refused(tmp_path, n_pair):
    path = tmp_path / "p"
    random_problems(np.random.default_rng(6)).save(path)
    tensors, record = read_tensors(path, "problems", 1)
    write_tensors(path, tensors, {**record, "n_pair": n_pair})
    with pytest.raises(ModelFileError):
        Problems.load(path)


# Pair tables


@given(st.integers(0, 10_000))
def test_links_are_summed_whatever_their_direction(seed):
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(1, 6)), int(rng.integers(0, 30))
    a, b, count = rng.integers(n, size=m), rng.integers(n, size=m), rng.integers(1, 9, size=m)
    expected: dict = {}
    for x, y, k in zip(a, b, count, strict=True):
        expected[x, y] = expected.get((x, y), 0) + int(k)
        if x != y:
            expected[y, x] = expected[x, y]
    flip = rng.random(m) < 0.5
    for rows, others in ((a, b), (np.where(flip, a, b), np.where(flip, b, a))):
        table = PairTable.build(n, links=[(rows, others, count)])
        p = Problems.from_lists([[[[0.0]] * n]], entity=[[list(range(n))]], pairs=table)
        (document,) = documents_of(p)
        for x in range(n):
            for y in range(n):
                assert document.phi_E(x, y) == [expected.get((x, y), 0)]


def test_several_spaces_and_relations_are_features_in_their_order():
    table = PairTable.build(
        3,
        [[[1, 0], [2, 1], [0, 3]], [[2], [4], [8]]],
        [([0], [1], [5]), ([2, 2], [0, 0], [1, 2])],
    )
    assert (table.n_rows, table.n_features) == (3, 4)
    p = Problems.from_lists([[[[0.0]] * 3]], entity=[[[0, 1, 2]]], pairs=table)
    (document,) = documents_of(p)
    assert document.phi_E(0, 1) == document.phi_E(1, 0) == [2, 8, 5, 0]
    assert document.phi_E(0, 2) == document.phi_E(2, 0) == [0, 16, 0, 3]


@pytest.mark.parametrize(
    ("spaces", "links", "complaint"),
    [
        ([np.zeros((3, 2))], [], r"vector space 0 has shape \(3, 2\); it needs 2 rows"),
        ([np.zeros(2)], [], "vector space 0"),
        ([[[math.nan], [0.0]]], [], "NaN"),
        ([], [([0], [2], [1])], "links 0: a row number is outside 0..1"),
        ([], [([0], [1], [1]), ([-1], [0], [1])], "links 1: a row number"),
        ([], [([0, 1], [1], [1])], "links 0: .* differ in length"),
        ([], [([0], [1], [math.inf])], "infinite"),
    ],
)
def test_impossible_tables_are_refused(spaces, links, complaint):
    with pytest.raises(ProblemsError, match=complaint):
        PairTable.build(2, spaces, links)


# Refusals, by document and mention


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_features_must_be_finite(value):
    given_ = plain()
    given_["local"][1][0][1][0] = value
    with pytest.raises(
        ValueError, match=rf"document 1, mention 0: candidate 1 has {value} in .* 0"
    ):
        Problems.from_lists(**given_)


def test_features_beyond_float32_are_infinite():
    given_ = plain()
    given_["local"][0][1][0][1] = 1e39
    with pytest.raises(ValueError, match=r"document 0, mention 1: candidate 0 has inf"):
        Problems.from_lists(**given_)


@pytest.mark.parametrize("gold", [2, -2, 99])
def test_gold_must_be_a_candidate(gold):
    given_ = plain()
    given_["gold"][1][0] = gold
    with pytest.raises(ValueError, match=rf"document 1, mention 0: gold is {gold}.* 2 candidates"):
        Problems.from_lists(**given_)


def test_gold_of_a_mention_without_candidates():
    with pytest.raises(ValueError, match=r"document 0, mention 1: gold is 0.* 0 candidates"):
        Problems.from_lists([[[[1.0]], []]], [[0, 0]])


@pytest.mark.parametrize(("entity", "of"), [(-1, 2), (2, 2)])
def test_entities_must_be_numbered_within_the_document(entity, of):
    p = Problems.from_lists(**plain())
    changed = p.entity.copy()
    changed[4] = entity
    complaint = rf"document 1, mention 0: candidate 1 has entity {entity}.* {of} entities"
    with pytest.raises(ValueError, match=complaint):
        replace(p, entity=changed)


def test_an_entity_is_listed_once_per_mention():
    given_ = plain()
    given_["entity"][1][0] = ["x", "x"]
    with pytest.raises(ValueError, match=r"document 1, mention 0: candidate 1 repeats entity 0"):
        Problems.from_lists(**given_)


@pytest.mark.parametrize(
    ("name", "values", "complaint"),
    [
        ("mention_offsets", [1, 2, 3], "mention_offsets must begin with 0"),
        ("mention_offsets", [0, 2, 4], "document 1: mention_offsets ends at 4.* 3 mentions"),
        ("mention_offsets", [0, 2, 1], "document 1: mention_offsets decreases from 2"),
        ("mention_offsets", [], "mention_offsets must begin with 0"),
        ("candidate_offsets", [0, 3, 2, 5], "document 0, mention 1: candidate_offsets decreases"),
        ("candidate_offsets", [0, 2, 3, 4], "document 1, mention 0: candidate_offsets ends at 4"),
        ("candidate_offsets", [1, 2, 3, 5], "candidate_offsets must begin with 0"),
        ("gold", [0, 0], "gold has 2 values for 3 mentions"),
    ],
)
def test_offsets_must_add_up(name, values, complaint):
    p = Problems.from_lists(**plain())
    with pytest.raises(ValueError, match=complaint):
        replace(p, **{name: np.array(values, np.int32)})


def test_empty_candidate_offsets_are_refused():
    p = Problems.from_lists(**plain())
    with pytest.raises(ProblemsError):
        replace(p, candidate_offsets=np.zeros(0, np.int32))


@pytest.mark.parametrize("values", [[0, 2], [1, 2, 4], [0, 5, 4], []])
def test_entity_offsets_must_add_up(values):
    p = Problems.from_lists(**plain())
    with pytest.raises(ValueError, match="entity_offsets must start at 0"):
        replace(p, entity_offsets=np.array(values, np.int64))


def test_every_candidate_needs_features():
    p = Problems.from_lists(**plain())
    with pytest.raises(ValueError, match="local has 4 rows for 5 candidates"):
        replace(p, local=p.local[1:])


@pytest.mark.parametrize(
    ("name", "kind"), [("gold", np.int64), ("local", np.float64), ("entity_offsets", np.int32)]
)
def test_arrays_have_one_type(name, kind):
    p = Problems.from_lists(**plain())
    with pytest.raises(ProblemsError, match=f"{name} must be a .-dimensional array of"):
        replace(p, **{name: getattr(p, name).astype(kind)})


def test_lists_of_different_lengths_are_refused():
    for name, value, complaint in (
        ("gold", [[1, 0]], "gold has 1 documents, local has 2"),
        ("entity", [], "entity has 0 documents, local has 2"),
        ("gold", [[1], [None]], "document 0 has 2 mentions, but 1 gold"),
        ("entity", [[["b", "a"], ["b"]], [["x"]]], "document 1: entity and local differ"),
    ):
        with pytest.raises(ValueError, match=complaint):
            Problems.from_lists(**{**plain(), name: value})


def test_every_candidate_has_equally_many_features():
    given_ = plain()
    given_["local"][0][1][0] = [5.0]
    with pytest.raises(ValueError, match=r"document 0, mention 1: candidate 0 has 1 local feat"):
        Problems.from_lists(**given_)


def test_entity_ids_need_an_order():
    given_ = plain()
    given_["entity"][1][0] = ["x", 3]
    with pytest.raises(ValueError, match=r"document 1: .* no order"):
        Problems.from_lists(**given_)


def test_pair_functions_are_symmetric_finite_and_of_one_length():
    for pairs, complaint in (
        (lambda a, b: [float(a < b)], "document 0: pair features are not symmetric"),
        (lambda a, b: [math.nan if "x" in a + b else 0.0], "document 1: a pair feature is NaN"),
        (lambda a, b: [0.0] * (2 if "x" in a + b else 1), "document 1: the pair function must"),
        (lambda a, b: [0.0] * (2 if a in "xy" else 1), "document 1: the pair function must"),
    ):
        with pytest.raises(ValueError, match=complaint):
            Problems.from_lists(**{**plain(), "pairs": pairs})


def test_blocks_must_fit_the_entities():
    p = Problems.from_lists(**plain())
    with pytest.raises(ProblemsError, match=r"hold 7 values, .* need 8"):
        replace(p, pairs=BlockPairs(p.pairs.block[1:], 1))


def test_rows_of_a_table_must_exist():
    table = PairTable.build(2, [[[1.0], [2.0]]])
    with pytest.raises(ValueError, match=r"document 1: entity 0 points to row 2 of .* 2 rows"):
        Problems.from_lists([[[[0.0]]], [[[0.0]]]], entity=[[[0]], [[2]]], pairs=table)
    p = Problems.from_lists([[[[0.0]]]], entity=[[[0]]], pairs=table)
    with pytest.raises(ProblemsError, match="0 table rows are given for 1 entities"):
        replace(p, pairs=TablePairs.of(np.zeros(0, np.int32), table))
    with pytest.raises(ProblemsError, match=r"the names of entities must be .* one per row"):
        replace(p, pairs=replace(p.pairs, name=np.zeros(2, np.int64)))


# Nothing to decide


@pytest.mark.parametrize("name", PLANS)
def test_empty_documents_and_mentions_without_candidates(name):
    rng = np.random.default_rng(7)
    train = random_problems(rng)
    fitted = estimator(SearchPlan(name), n_trees=3).fit(train)
    empty = Problems.from_lists([[], [[], []], []])
    holes = replace(
        empty, local=np.zeros((0, 2), np.float32), pairs=BlockPairs(np.zeros(0, np.float32), 2)
    )
    decoding = fitted.decode(holes, n_best=2)
    assert decoding.choices.tolist() == [-1, -1]
    assert decoding.probability.tolist() == [0, 0]
    assert decoding.n_sequences.tolist() == [0, 0, 0]
    assert decoding.document(0).choices.tolist() == []
    assert fitted.score(holes) == 0.0
    none = holes[:0]
    assert len(none) == 0
    assert fitted.predict(none).tolist() == []
    assert fitted.score(none) == 0.0
    # Beside others, they change nothing.
    mixed = Problems.concatenate([holes, train, holes])
    np.testing.assert_array_equal(fitted.predict(mixed), [-1, -1, *fitted.predict(train), -1, -1])


def test_zero_documents():
    p = Problems.from_lists([])
    assert (len(p), p.n_mentions, p.n_candidates) == (0, 0, 0)
    assert list(p) == []
    with pytest.raises(ProblemsError, match="no mention of the training documents has a gold"):
        estimator(SearchPlan("bsg")).fit(p)
