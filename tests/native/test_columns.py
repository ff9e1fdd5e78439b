"""The columns that kernels write are those that Python names."""

import re
from pathlib import Path

import pytest

import sgtb
from sgtb.linking.features.contexts import PLACES
from sgtb.linking.features.groups.similarity import DESCRIPTIONS, OVERLAPS
from sgtb.linking.features.groups.surface import NAMES

NATIVE = Path(sgtb.__file__).parent / "native"
LINKED = tuple(name for name in DESCRIPTIONS if name.startswith("linked_"))


@pytest.mark.parametrize(
    ("file", "enum", "names"),
    [
        ("features.cpp", "NameColumn", NAMES),
        ("similarity.cpp", "OverlapColumn", OVERLAPS),
        ("similarity.cpp", "LinkedColumn", LINKED),
        ("contexts.cpp", "PlaceColumn", PLACES),
    ],
)
def test_enums_have_the_names_of_the_columns(file, enum, names):
    found = re.search(rf"enum {enum} {{([^}}]*)}}", (NATIVE / file).read_text())
    assert found is not None
    *columns, count = re.findall(r"\w+", found[1])
    assert tuple(map(str.lower, columns)) == names
    assert count.startswith("N_")
