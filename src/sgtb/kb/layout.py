"""Layout of a knowledge base on disk: files and their items.

    KB/
      kb.json            format, and the valid data folder; replaced atomically
      lock               write lock
      data-000001/
        names.mdb        LMDB: state, ids, names, words, and rows changed since the build
        entities.bin     one ROW an entity, by number
        text.bin         per entity, without gaps: id, title, description, spellings
        links.bin        i4, the targets of each entity's links, ascending
        near.bin         NEAR, the entities linked near it, ascending
        vectors.bin      f2[dimensions], unit length
        words.bin        f2[dimensions], unit length
        sums.json        checksums of the blocks of all files, see block_sums.py
        fuzzy_*.bin      the arrays of the fuzzy index of names, see fuzzy_index.py

Files are little-endian, begin with a HEADER, and only grow. Their valid sizes are in names.mdb,
written by the transaction that makes a change valid.
"""

import struct

import numpy as np

FORMAT = 2  # version of the format; readers refuse newer ones

POINTER = "kb.json"
LOCK = "lock"
NAMES = "names.mdb"
SUMS = "sums.json"

MAX_KEY = 500  # bytes of an id, and of a name in normal form; LMDB's limit is 511
MAX_SPELLING = 2000  # bytes of a name as written; much longer ones than a key are punctuation
MAX_TEXT = 1 << 20  # bytes of a title, a description, all spellings of one entity
MAX_DIMENSIONS = 4096
MAX_OWN_TYPES = 1000  # names of types other than the coarse ones; they are part of the state

HEADER = struct.Struct("<8sII16s16s16x")  # magic, format, bytes per item, name of the column, build
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
        ("links", "<i4"),  # number
        ("in_links", "<i4"),  # links to it in this knowledge base
        ("stated_out", "<i4"),  # links in the whole source, as stated by it; -1: unknown
        ("stated_in", "<i4"),
        ("near", "<i4"),  # number
        ("popularity", "<f4"),
        ("vector", "<i4"),  # its row in vectors.bin; -1: none
        ("type", "u1"),  # coarse type; 0: unknown
        ("alive", "u1"),
        ("own_type", "<u2"),  # name of its type in the state, from 1, if it is no coarse one
    ]
)
TEXT_SIZES = ("id_size", "title_size", "description_size", "spellings_size")
"""Sizes of the parts of an entity's text."""
NEAR = np.dtype([("other", "<i4"), ("count", "<u4")])
CANDIDATE = np.dtype([("entity", "<i4"), ("prior", "<f4")])

SPELLING = struct.Struct("<BIH")  # source, count, bytes of the spelling that follows
NAME_PAGES = struct.Struct("<II")
"""Head of a name's value: pages on which it is a link, pages on which it occurs."""
NUMBER = struct.Struct("<I")
PATCH = struct.Struct(">I")
"""The key of a changed row: big-endian, so that LMDB keeps them in order."""


DTYPES = {
    "entities": ROW,
    "text": np.dtype("u1"),
    "links": np.dtype("<i4"),
    "near": NEAR,
    "vectors": np.dtype("<f2"),
    "words": np.dtype("<f2"),
    "fuzzy_text": np.dtype("u1"),
    "fuzzy_offsets": np.dtype("<u4"),
    "fuzzy_starts": np.dtype("<u4"),
    "fuzzy_postings": np.dtype("<u4"),
    "fuzzy_weight": np.dtype("u1"),
    "fuzzy_norm": np.dtype("<f4"),
}
COLUMNS = tuple(DTYPES)
FUZZY_COLUMNS = tuple(column for column in COLUMNS if column.startswith("fuzzy_"))


def item_size(column: str, dimensions: int) -> int:
    """Return the bytes of one item of a column."""
    return DTYPES[column].itemsize * (dimensions if column in ("vectors", "words") else 1)
