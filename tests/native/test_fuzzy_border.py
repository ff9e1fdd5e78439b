"""The border of the fuzzy index: arrays that do not fit are refused by name."""

from types import SimpleNamespace

import numpy as np
import pytest

from sgtb.kb.fuzzy_index import FuzzyIndex, NameTexts
from sgtb.native import count_name_tokens, fill_name_index, search_names

NAMES = ("barack obama", "barack h obama", "michael jordan", "new york")


def index_of(names):
    return FuzzyIndex.build(NameTexts.of(name.encode() for name in names))


def search_arguments(index, queries, containing=False):
    n, limit = len(queries.offsets) - 1, 3
    return SimpleNamespace(
        index=SimpleNamespace(**index._asdict()),
        queries=SimpleNamespace(**queries._asdict()),
        max_read=100,
        max_compared=10,
        containing=containing,
        found=SimpleNamespace(
            n_found=np.zeros(n, np.int32),
            name=np.zeros((n, limit), np.int32),
            scores=np.zeros((n, limit, 4), np.float32),
        ),
    )


def changed(array, at, value):
    array = array.copy()
    array[at] = value
    return array


def set_field(arguments, where, change):
    record, _, name = where.rpartition(".")
    owner = getattr(arguments, record) if record else arguments
    setattr(owner, name, change(getattr(owner, name)) if callable(change) else change)


DAMAGED = [
    ("index.text", lambda a: a[:5], "index.offsets"),
    ("index.offsets", lambda a: changed(a, slice(None), 2**32 - 1), "index.offsets"),
    ("index.offsets", lambda a: a[::-1].copy(), "index.offsets"),
    ("index.offsets", lambda a: a[:-1], "index.norm"),
    ("index.offsets", lambda a: a[:0], "index.offsets"),
    ("index.starts", lambda a: a[:-1], "index.starts"),
    ("index.starts", lambda a: a | np.uint32(2**31), "index.starts"),
    ("index.starts", lambda a: a[-1] - a, "index.starts"),
    ("index.postings", lambda a: a + np.uint32(4), "index.postings"),
    ("index.postings", lambda a: a | np.uint32(2**31), "index.postings"),
    ("index.postings", lambda a: a[:0], "index.starts"),
    ("index.weight", lambda a: a[:-1], "index.starts"),
    ("index.weight", lambda a: a * np.uint8(0), "index.weight"),
    ("index.norm", lambda a: a[:-1], "index.norm"),
    ("index.norm", lambda a: a * np.float32(0), "index.norm"),
    ("index.norm", lambda a: a * np.float32(np.nan), "index.norm"),
    ("index.norm", lambda a: -a, "index.norm"),
    ("queries.offsets", lambda a: a[:0], "queries.offsets"),
    ("queries.offsets", lambda a: a + np.uint32(90), "queries.offsets"),
    ("queries.offsets", lambda a: a[::-1].copy(), "queries.offsets"),
    ("max_compared", -1, "max_compared"),
    ("max_compared", 2**62, "max_compared"),
    ("found.n_found", np.zeros(3, np.int32), "found.n_found"),
    ("found.name", np.zeros((3, 3), np.int32), "found.name"),
    ("found.name", np.zeros((2, 4), np.int32), "found.scores"),
    ("found.scores", np.zeros((2, 3, 3), np.float32), "found.scores"),
]  # fmt: skip


@pytest.mark.parametrize("containing", [False, True])
@pytest.mark.parametrize(("where", "change", "complaint"), DAMAGED)
def test_damaged_indexes_are_refused(where, change, complaint, containing):
    """Also norms and weights that would make a score NaN, which cannot be sorted."""
    arguments = search_arguments(index_of(NAMES), NameTexts.of([b"barack", b"obama"]), containing)
    search_names(*vars(arguments).values())
    assert arguments.found.n_found.all()
    set_field(arguments, where, change)
    with pytest.raises(ValueError, match=complaint.rpartition(".")[2]):
        search_names(*vars(arguments).values())


@pytest.mark.parametrize(
    ("where", "change"),
    [
        ("index.text", lambda a: a.astype(np.int8)),
        ("index.offsets", lambda a: a.astype(np.int32)),
        ("index.offsets", lambda a: a[::2]),
        ("index.starts", lambda a: a.astype(np.uint64)),
        ("index.postings", lambda a: a.astype(np.float32)),
        ("index.weight", lambda a: a.astype(np.uint16)),
        ("index.norm", lambda a: a.astype(np.float64)),
        ("found.name", lambda a: a.T),
        ("found.scores", lambda a: a[0]),
        ("max_read", 1.5),
    ],
)
def test_arrays_of_another_kind_are_refused(where, change):
    arguments = search_arguments(index_of(NAMES), NameTexts.of([b"barack", b"obama"]))
    set_field(arguments, where, change)
    with pytest.raises(TypeError, match=rf"^{where}: "):
        search_names(*vars(arguments).values())


def test_random_damage_is_refused_or_found():
    """Any values of the arrays: names are found, or an error names the array."""
    rng, index, refused = np.random.default_rng(5), index_of(NAMES), 0
    for n in range(1000):
        arguments = search_arguments(index, NameTexts.of([b"barack obama", b"new"]), bool(n % 2))
        field = rng.choice(["offsets", "starts", "postings", "weight", "norm"])
        array = getattr(index, field)
        bad = array.copy()
        share = rng.choice([0.02, 0.5, 1])
        bad.view(np.uint8)[rng.random(bad.nbytes) < share] = rng.integers(0, 256)
        setattr(arguments.index, field, bad)
        try:
            search_names(*vars(arguments).values())
        except ValueError as error:
            assert any(name in str(error) for name in index._fields)  # noqa: PT017
            refused += 1
    assert 200 < refused < 900


@pytest.mark.parametrize("limit", [0, -1, -(2**63), 2**63 - 1])
def test_any_number_of_postings_may_be_read(limit):
    for containing in (False, True):
        queries = NameTexts.of([b"barack", b"obama"])
        arguments = search_arguments(index_of(NAMES), queries, containing)
        arguments.max_read = limit
        search_names(*vars(arguments).values())
        # Names that contain a name are read from its rarest word, which the build limits.
        some = limit > 0 or containing
        assert arguments.found.n_found.tolist() == ([2, 2] if some else [0, 0])


def build_arguments():
    index = index_of(NAMES)
    return SimpleNamespace(
        names=SimpleNamespace(text=index.text, offsets=index.offsets),
        first=0, last=len(NAMES), weight=index.weight, starts=index.starts,
        next=index.starts[:-1].copy(), postings=np.zeros_like(index.postings),
        norm=np.zeros_like(index.norm),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("where", "change", "complaint"),
    [
        ("names.offsets", lambda a: a[:0], "names.offsets"),
        ("names.offsets", lambda a: a + np.uint32(1), "names.offsets"),
        ("names.offsets", lambda a: a[::-1].copy(), "names.offsets"),
        ("names.text", lambda a: a[:-1], "names.offsets"),
        ("weight", lambda a: a[:-1], "starts"),
        ("weight", lambda a: a[:0], "starts"),
        ("starts", lambda a: a[:-1], "starts"),
        ("starts", lambda a: a[:0], "starts"),
        ("starts", lambda a: a[::-1].copy(), "starts"),
        ("next", lambda a: a[:-1], "next"),
        ("first", -1, "first"),
        ("first", len(NAMES) + 1, "first"),
        ("last", len(NAMES) + 1, "last"),
        ("postings", lambda a: a[:-1], "starts"),
        ("norm", lambda a: a[:-1], "norm"),
    ],
)
def test_arguments_of_a_build_that_do_not_fit_are_refused(where, change, complaint):
    arguments = build_arguments()
    fill_name_index(*vars(arguments).values())
    set_field(arguments, where, change)
    with pytest.raises(ValueError, match=complaint.rpartition(".")[2]):
        fill_name_index(*vars(arguments).values())


def test_numbers_of_buckets_are_powers_of_two():
    names = NameTexts.of([b"obama"])
    for n in (0, 3, 1000):
        with pytest.raises(ValueError, match=r"^counts: its length is no power of two$"):
            count_name_tokens(names, 0, 1, np.zeros(n, np.uint32))
    arguments = build_arguments()
    starts = arguments.starts
    arguments.weight, arguments.starts = (
        arguments.weight[:1000],
        changed(starts[:1001], 1000, starts[-1]),
    )
    arguments.next = arguments.next[:1000]
    with pytest.raises(ValueError, match=r"^weight: its length is no power of two$"):
        fill_name_index(*vars(arguments).values())
    with pytest.raises(ValueError, match=r"offsets: "):
        count_name_tokens(NameTexts(names.text, names.offsets[:0]), 0, 0, np.zeros(4, np.uint32))
    with pytest.raises(ValueError, match=r"offsets: "):
        count_name_tokens(NameTexts(names.text[:2], names.offsets), 0, 1, np.zeros(4, np.uint32))
