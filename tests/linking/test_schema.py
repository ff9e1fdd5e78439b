"""The schema: names, groups and what can be left out."""

from collections import Counter

import pytest

from sgtb.errors import SettingsError
from sgtb.linking.schema import BEYOND_THE_MENTION, FIXED, LEARNED, PAIRS, SCHEMA, VERSION


def test_names_are_unique():
    assert [name for name, n in Counter(SCHEMA.names).items() if n > 1] == []
    assert len(set(SCHEMA.pairs)) == len(SCHEMA.pairs)


def test_it_has_a_version_and_all_groups():
    assert isinstance(VERSION, int)
    assert SCHEMA.version == VERSION >= 1
    assert SCHEMA.groups == (*FIXED, *LEARNED)
    assert SCHEMA.pairs == PAIRS
    assert len(SCHEMA.names) == sum(map(len, (*FIXED.values(), *LEARNED.values())))


def test_a_group_is_one_block_of_columns():
    for group in SCHEMA.groups:
        own = [i for i, feature in enumerate(SCHEMA.features) if feature.group == group]
        assert own == list(range(own[0], own[-1] + 1))


def test_columns_without_groups():
    everything = list(range(len(SCHEMA.features)))
    assert SCHEMA.columns_without(()) == everything
    assert SCHEMA.columns_without(SCHEMA.groups) == []
    left = SCHEMA.columns_without(["name", "place"])
    assert {SCHEMA.features[i].group for i in left} == set(SCHEMA.groups) - {"name", "place"}
    assert left == sorted(left)


def test_an_unknown_group_is_refused_with_those_there_are():
    with pytest.raises(SettingsError, match="there is no feature group 'nmae'") as caught:
        SCHEMA.columns_without(["name", "nmae"])
    assert all(group in str(caught.value) for group in SCHEMA.groups)


def test_a_local_model_does_without_other_mentions():
    assert set(BEYOND_THE_MENTION) < set(SCHEMA.groups)
    assert "coherence" in BEYOND_THE_MENTION
