"""The prefix cache: what is known of partial sequences met before.

When a hypothesis arrives at a step, every candidate of the step's mention is scored under
its history. Most hypotheses of one epoch were there in the epoch before, or some epochs
ago, so each step keeps a table of slots, one per prefix:

    step 4   slot 0   prefix 17 = prefix 9 + choice 2    trees 41   bins, scores of 11 candidates
             slot 1   prefix 23 = prefix 9 + choice 0    trees 42   ...

A prefix is known by the number of the prefix it extends and the choice it adds; numbers are
never given twice in a document, so equal numbers mean equal histories. A slot knows how many
trees its scores hold and only the later ones are added. The slot that was not used for the
longest time makes room for a new prefix.
"""

from typing import NamedTuple

import numpy as np

from sgtb.kernels import inner
from sgtb.learn.dtypes import Bytes, Doubles, Ints
from sgtb.learn.lanes import LANES

ROOT = 1
"""The number of the empty prefix's parent; 0 marks a slot never used."""


class PrefixCache(NamedTuple):
    """Slots of all steps. A direction of search has its own region of tables.

    n_slots   per table
    n_tables  per region: one a step
    n_blocks  per region: lane blocks of all steps together
    n_global  features in `bins`
    prefix, parent, choice, trees, used   i4, per slot
    counter   i4, per document: the last number given to a prefix
    clock     i4, per document: passes so far
    score     f8[., 16], per slot and block of its step
    bins      u1[., 16], per slot, global feature and block of its step
    """

    n_slots: int
    n_tables: int
    n_blocks: int
    n_global: int
    prefix: Ints
    parent: Ints
    choice: Ints
    trees: Ints
    used: Ints
    counter: Ints
    clock: Ints
    score: Doubles
    bins: Bytes


def prefix_cache(
    n_slots: int, n_regions: int, n_tables: int, n_blocks: int, n_documents: int, n_global: int
) -> PrefixCache:
    """Make an empty cache."""
    slots = n_regions * n_tables * n_slots
    blocks = n_regions * n_blocks * n_slots
    prefix, parent, choice, trees, used = (np.zeros(slots, np.int32) for _ in range(5))
    return PrefixCache(
        n_slots, n_tables, n_blocks, n_global, prefix, parent, choice, trees, used,
        np.full(n_documents, ROOT, np.int32), np.zeros(n_documents, np.int32),
        np.zeros((blocks, LANES)), np.zeros((max(blocks * n_global, 1), LANES), np.uint8),
    )  # fmt: skip


@inner
def forget(cache: PrefixCache, n_regions: int, first_table: int, n_tables: int) -> None:
    """Empty the tables of one document."""
    for region in range(n_regions):
        start = (region * cache.n_tables + first_table) * cache.n_slots
        for slot in range(start, start + n_tables * cache.n_slots):
            cache.prefix[slot] = 0
            cache.parent[slot] = 0
            cache.used[slot] = 0


@inner
def find_slot(cache: PrefixCache, table: int, parent: int, choice: int) -> int:
    """Return the slot of a prefix in the table beginning at slot `table`, or -1."""
    for slot in range(table, table + cache.n_slots):
        if cache.parent[slot] == parent and cache.choice[slot] == choice:
            return slot
    return -1


@inner
def take_slot(cache: PrefixCache, table: int, parent: int, choice: int, number: int) -> int:
    """Give the slot longest out of use to a new prefix; its scores hold no tree yet."""
    oldest = table
    for slot in range(table + 1, table + cache.n_slots):
        if cache.used[slot] < cache.used[oldest]:
            oldest = slot
    cache.prefix[oldest] = number
    cache.parent[oldest] = parent
    cache.choice[oldest] = choice
    cache.trees[oldest] = 0
    return oldest
