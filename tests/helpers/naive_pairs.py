"""Pair features of a table, one pair of entities after the other."""

from itertools import pairwise

import numpy as np

from sgtb.boosting.data.pairs import BlockPairs, TablePairs
from sgtb.core.dtypes import Floats, Longs


def dense_pairs(pairs: TablePairs, entity_offsets: Longs) -> BlockPairs:
    """Return the same pair features as blocks."""
    table, values = pairs.table, []
    for first, last in pairwise(entity_offsets):
        entities = [*zip(pairs.row[first:last], pairs.name[first:last], strict=True)]
        for one, name in entities:
            for other, other_name in entities:
                if one != other and name == other_name:  # such two do not support each other
                    values += [0.0] * pairs.n_features
                    continue
                for begin, end in pairwise(table.space_offsets):
                    values.append(_product(*table.vectors[[one, other], begin:end]))
                low, high = sorted((one, other))
                for offset in table.link_offsets:
                    own = slice(offset[low], offset[low + 1])
                    counts = dict(zip(table.link_targets[own], table.link_counts[own], strict=True))
                    values.append(counts.get(high, 0))
    return BlockPairs(np.array(values, np.float32), pairs.n_features)


def _product(a: Floats, b: Floats) -> np.float32:
    """Add up in the order of columns, rounded after every step, as searches do."""
    total = np.float32(0)
    for x, y in zip(a, b, strict=True):
        total = np.float32(total + np.float32(x * y))
    return total
