"""Spellings and the index of names: bytes and back, priors against exact fractions, ties."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sgtb.core.errors import KnowledgeBaseError
from sgtb.kb.layout import MAX_SPELLING
from sgtb.kb.name_index import (
    MAX_COUNT,
    Spelling,
    by_name,
    merged,
    pack_name,
    pack_spellings,
    priors,
    unpack_name,
    unpack_spellings,
)

texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
spellings = st.lists(st.builds(Spelling, texts, st.integers(0, 31), st.integers(1, MAX_COUNT)))


@settings(deadline=None, derandomize=True)
@given(spellings)
def test_spellings_come_back(given_ones):
    assert unpack_spellings(pack_spellings(given_ones)) == tuple(given_ones)


@settings(deadline=None, derandomize=True)
@given(spellings, st.data())
def test_spellings_cut_off_are_refused_or_shorter(given_ones, data):
    packed = pack_spellings(given_ones)
    cut = packed[: data.draw(st.integers(0, max(len(packed) - 1, 0)))]
    try:
        found = unpack_spellings(cut)
    except ValueError:
        return
    assert found == tuple(given_ones)[: len(found)]


def test_a_cut_within_a_head_or_a_text_is_refused():
    packed = pack_spellings([Spelling("name", 0, 1)])
    for size in range(1, len(packed)):
        with pytest.raises(ValueError, match="truncated"):
            unpack_spellings(packed[:size])


def test_spellings_that_do_not_fit_are_refused():
    pack_spellings([Spelling("x" * MAX_SPELLING, 0, MAX_COUNT)])
    with pytest.raises(KnowledgeBaseError, match="2,000 bytes"):
        pack_spellings([Spelling("x" * (MAX_SPELLING + 1), 0, 1)])
    with pytest.raises(KnowledgeBaseError, match="at least 1"):
        pack_spellings([Spelling("x", 0, 0)])


def test_equal_spellings_are_added_up_and_others_stay_apart():
    found = merged(
        [Spelling("b", 0, 2), Spelling("a", 1, 1), Spelling("b", 0, 3), Spelling("a", 0, 1)]
    )
    assert found == (Spelling("a", 0, 1), Spelling("a", 1, 1), Spelling("b", 0, 5))
    most = merged([Spelling("a", 0, MAX_COUNT), Spelling("a", 0, 1)])
    assert most == (Spelling("a", 0, MAX_COUNT),)


def test_names_are_counted_in_their_normal_form_by_source():
    found = by_name([Spelling("U.S.", 0, 2), Spelling("US", 0, 3), Spelling("us", 1, 4)])
    assert found == {(b"us", 0): 5, (b"us", 1): 4}
    most = by_name([Spelling("A", 0, MAX_COUNT), Spelling("a", 0, 9)])
    assert most == {(b"a", 0): MAX_COUNT}


counts = st.integers(1, 4).flatmap(
    lambda sources: st.dictionaries(
        st.integers(0, 40),
        st.lists(st.integers(0, 9), min_size=sources, max_size=sources).filter(any),
        min_size=1,
        max_size=8,
    )
)


def exact_priors(table):
    sources = range(len(next(iter(table.values()))))
    totals = [sum(row[s] for row in table.values()) for s in sources]
    known = [s for s in sources if totals[s]]
    return {
        e: sum(Fraction(row[s], totals[s]) for s in known) / len(known) for e, row in table.items()
    }


@settings(deadline=None, derandomize=True)
@given(counts)
def test_priors_are_the_mean_over_the_sources_that_know_the_name(table):
    found = priors(table, [1.0] * len(next(iter(table.values()))))
    exact = exact_priors(table)
    assert list(found) == list(table)
    for entity, prior in found.items():
        assert prior == pytest.approx(float(exact[entity]), rel=1e-12, abs=1e-15)
    assert sum(found.values()) == pytest.approx(1)


@settings(deadline=None, derandomize=True)
@given(counts, st.lists(st.sampled_from([1.0, 2.0, np.inf]), min_size=41, max_size=41), st.data())
def test_a_packed_name_has_the_likeliest_first(table, fames, data):
    sources = len(next(iter(table.values())))
    ids = data.draw(st.permutations([b"%02d" % i for i in range(41)]))
    packed = pack_name(table, [1.0] * sources, (3, 5), lambda number: (fames[number], ids[number]))
    value = unpack_name(packed, sources)
    assert (value.linked, value.pages) == (3, 5)
    exact = exact_priors(table)
    order = sorted(table, key=lambda e: (-np.float32(exact[e]), fames[e], ids[e]))
    assert value.candidates["entity"].tolist() == order
    assert value.candidates["prior"].tolist() == [np.float32(float(exact[e])) for e in order]
    assert value.counts.tolist() == [table[e] for e in order]


@settings(deadline=None, derandomize=True)
@given(counts, st.integers(1, 200))
def test_a_name_of_another_length_is_refused_or_has_whole_candidates(table, cut):
    sources = len(next(iter(table.values())))
    packed = pack_name(table, [1.0] * sources, (0, 0), lambda number: (0.0, b""))[:-cut]
    try:
        value = unpack_name(packed, sources)
    except ValueError:
        return
    assert 8 + value.candidates.nbytes + value.counts.nbytes == len(packed)
