"""Hashes of names: 64 bits that stand for the words of a name, in text as in the index.

The hash of a name is made of the hashes of its words, so that a walk over a text reads each
word once, however many names may begin with it.
"""

from collections.abc import Sequence
from typing import cast

import numpy as np
import numpy.typing as npt

from sgtb.kernels import ONE, inner, int64, kernel

Bytes = npt.NDArray[np.uint8]
Longs = npt.NDArray[np.int64]
Hashes = npt.NDArray[np.uint64]

SPACE = int64(0x20)


def _wide(value: int) -> int:
    return cast(int, np.uint64(value))


START = _wide(0xCBF29CE484222325)
_PRIME = _wide(0x100000001B3)
_MIX_1, _MIX_2 = _wide(0xFF51AFD7ED558CCD), _wide(0xC4CEB9FE1A85EC53)
_33 = _wide(33)


def name_hashes(names: Sequence[str]) -> Hashes:
    """Return the hashes of names in normal form."""
    encoded = [name.encode() for name in names]
    offsets = np.zeros(len(names) + 1, np.int64)
    np.cumsum([len(name) for name in encoded], out=offsets[1:])
    out = np.empty(len(names), np.uint64)
    hash_names(np.frombuffer(b"".join(encoded), np.uint8), offsets, out)
    return out


@kernel
def hash_names(flat: Bytes, offsets: Longs, out: Hashes) -> None:
    """Hash names that lie one after the other."""
    for i in range(offsets.shape[0] - 1):
        whole, word = START, START
        for at in range(offsets[i], offsets[i + ONE]):
            if flat[at] == SPACE:
                whole, word = with_word(whole, word), START
            else:
                word = with_byte(word, flat[at])
        out[i] = with_word(whole, word)


@inner
def with_byte(word: int, byte: int) -> int:
    """Return the hash of a word that goes on with a byte."""
    return (word ^ np.uint64(byte)) * _PRIME  # type: ignore[return-value]


@inner
def with_word(name: int, word: int) -> int:
    """Return the hash of a name that goes on with a word."""
    mixed = (name * _PRIME) ^ word
    mixed = (mixed ^ (mixed >> _33)) * _MIX_1
    mixed = (mixed ^ (mixed >> _33)) * _MIX_2
    return mixed ^ (mixed >> _33)
