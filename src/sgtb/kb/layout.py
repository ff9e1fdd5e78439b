"""Layout: which files make a knowledge base, and how their items look.

    KB/
      kb.json            format, and which data folder is the valid one; replaced in one rename
      lock               held by whoever writes
      data-000001/
        names.mdb        LMDB: state, ids, names, words, and rows changed since the build
        entities.bin     one ROW an entity, by number
        text.bin         per entity, without gaps: id, title, description, spellings
        links.bin        i4, the targets of each entity's links, ascending
        near.bin         NEAR, the entities it was met with, ascending
        vectors.bin      f2[dimensions], unit length
        words.bin        f2[dimensions], unit length

Files are little-endian, begin with a HEADER, and only ever grow. How much of each is valid is
written in names.mdb, in the transaction that makes a change valid.
"""

import struct

import numpy as np

FORMAT = 1
"""The version of all this. A reader refuses what is newer than itself."""

POINTER = "kb.json"
LOCK = "lock"
NAMES = "names.mdb"
COLUMNS = ("entities", "text", "links", "near", "vectors", "words")

MAX_KEY = 500
"""Bytes of an id, and of a name in normal form: LMDB's keys hold 511."""
MAX_SPELLING = 2000
"""Bytes of a name as it is written: one much longer than a key is punctuation."""
MAX_TEXT = 1 << 20
"""Bytes of a title, a description, all spellings of one entity."""
MAX_DIMENSIONS = 4096

HEADER = struct.Struct("<8sII16s16s16x")
"""Magic, format, bytes of an item, name of the column, the build that it belongs to."""
MAGIC = b"sgtb-kb\0"

ROW = np.dtype(
    [
        ("text_at", "<i8"),
        ("links_at", "<i8"),
        ("near_at", "<i8"),
        ("id_size", "<i4"),
        ("title_size", "<i4"),
        ("description_size", "<i4"),
        ("spellings_size", "<i4"),
        ("links", "<i4"),  # how many
        ("in_links", "<i4"),  # links of this knowledge base that lead here
        ("stated_out", "<i4"),  # what the source says of a wider world; -1: nothing
        ("stated_in", "<i4"),
        ("near", "<i4"),  # how many
        ("popularity", "<f4"),
        ("vector", "<i4"),  # its row in vectors.bin; -1: none
        ("type", "u1"),
        ("alive", "u1"),
        ("unused", "<u2"),
    ]
)
NEAR = np.dtype([("other", "<i4"), ("count", "<u4")])
CANDIDATE = np.dtype([("entity", "<i4"), ("prior", "<f4")])

SPELLING = struct.Struct("<BIH")
"""Source, count, bytes of the spelling that follows."""
NAME_PAGES = struct.Struct("<II")
"""At the head of a name's value: pages that link it, pages it occurs in."""
NUMBER = struct.Struct("<I")
PATCH = struct.Struct(">I")
"""The key of a changed row: big-endian, so that LMDB keeps them in order."""


def item_size(column: str, dimensions: int) -> int:
    """Return the bytes of one item of a column."""
    sizes = {"entities": ROW.itemsize, "text": 1, "links": 4, "near": NEAR.itemsize}
    return sizes.get(column) or 2 * dimensions
