"""Decimal rows: lines of a key and numbers in decimal, read by a kernel.

The kernel reads what it is sure of and stops before the first line that is not plain: a number
it cannot round safely, a key with spaces, a wrong number of values. Such a line is for Python.
"""

import numpy as np
import numpy.typing as npt

from sgtb.kernels import NO, YES, ZERO, inner, int64, kernel

Bytes = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]
Longs = npt.NDArray[np.int64]

# Kernels see characters as numbers.
_SPACE, _TAB, _RETURN, _LINE_END = 32, 9, 13, 10
_PLUS, _MINUS, _POINT, _NINE, _ZERO, _SMALL_E, _LARGE_E = 43, 45, 46, 57, 48, 101, 69

_POWERS: Doubles = np.array([float(f"1e{k}") for k in range(301)])
_MOST_ROWS = 4096
_FULL = 10**17  # a mantissa that takes no further digit; it is exact to 17 of them
# A few roundings of double precision, on either side.
_BELOW, _ABOVE = 1 - 2**-50, 1 + 2**-50


class DecimalRows:
    """Reads rows of `dimensions` values; `separator`, space or tab, ends the key."""

    def __init__(self, dimensions: int, separator: bytes) -> None:
        self._separator = separator[0]
        rows = min(_MOST_ROWS, (1 << 20) // dimensions + 1)
        self._out: Floats = np.empty((rows, dimensions), np.float32)
        self._begins: Longs = np.zeros(rows + 1, np.int64)
        self._ends: Longs = np.zeros(rows, np.int64)

    def read(self, data: bytes, at: int, most: int) -> tuple[list[bytes], Floats, int]:
        """Read at most `most` whole lines of `data` from `at`.

        Return keys, vectors, and where the first line begins that is not read.
        """
        self._begins[0] = at
        n = int(read_rows(
            np.frombuffer(data, np.uint8), self._separator, most, _POWERS,
            self._begins, self._ends, self._out,
        ))  # fmt: skip
        begins, ends = self._begins[: n + 1].tolist(), self._ends[:n].tolist()
        keys = [data[a:b] for a, b in zip(begins[:n], ends, strict=True)]
        return keys, self._out[:n].copy(), begins[n]


@kernel
def read_rows(
    data: Bytes, separator: int, most: int, powers: Doubles,
    begins: Longs, ends: Longs, out: Floats,
) -> int:  # fmt: skip
    """Read lines into rows of `out`, the first from begins[0]; return how many.

    Row r has its key in data[begins[r]:ends[r]], and the line after it begins at begins[r + 1].
    """
    for row in range(min(most, out.shape[0])):
        at = begins[row]
        end = at
        while end < data.shape[0] and data[end] != _LINE_END:
            end += 1
        if end == data.shape[0]:
            return int64(row)
        key_end = at
        while key_end < end and data[key_end] != separator:
            key_end += 1
        # From the right, so that too many values do not end up in the key unnoticed.
        stop = end
        for k in range(out.shape[1] - 1, -1, -1):
            while stop > key_end and is_blank(data[stop - 1]):
                stop -= 1
            start = stop
            while start > key_end and not is_blank(data[start - 1]):
                start -= 1
            value = decimal(data, start, stop, powers)
            if value != value:
                return int64(row)
            out[row, k] = value
            stop = start
        while stop > key_end and is_blank(data[stop - 1]):
            stop -= 1
        if stop != key_end or key_end == at:
            return int64(row)
        ends[row] = key_end
        begins[row + 1] = end + 1
    return int64(min(most, out.shape[0]))


@inner
def is_blank(sign: int) -> bool:
    """Whether bytes.split() splits here."""
    return sign == _SPACE or _TAB <= sign <= _RETURN


@inner
def decimal(data: Bytes, start: int, stop: int, powers: Doubles) -> float:
    """Return the number in data[start:stop], to single precision; nan for anything in doubt."""
    i = start
    minus = NO
    if i < stop and (data[i] == _MINUS or data[i] == _PLUS):
        minus = data[i] == _MINUS
        i += 1
    mantissa, exponent, digits = ZERO, ZERO, ZERO
    point = NO
    while i < stop:
        if _ZERO <= data[i] <= _NINE:
            digits += 1
            if mantissa < _FULL:
                mantissa = mantissa * 10 + (int64(data[i]) - _ZERO)
                exponent -= 1 if point else 0
            else:
                exponent += 0 if point else 1
        elif data[i] == _POINT and not point:
            point = YES
        else:
            break
        i += 1
    if digits == 0:
        return np.nan
    if i < stop:
        if data[i] != _SMALL_E and data[i] != _LARGE_E:
            return np.nan
        i += 1
        down = NO
        if i < stop and (data[i] == _MINUS or data[i] == _PLUS):
            down = data[i] == _MINUS
            i += 1
        if i == stop or stop - i > 4:
            return np.nan
        power = ZERO
        while i < stop:
            if data[i] < _ZERO or data[i] > _NINE:
                return np.nan
            power = power * 10 + (int64(data[i]) - _ZERO)
            i += 1
        exponent += -power if down else power
    if exponent <= -powers.shape[0] or exponent >= powers.shape[0]:
        return np.nan
    if exponent < 0:
        wide = mantissa / powers[-exponent]
    else:
        wide = mantissa * powers[exponent]
    # `wide` is off by a few roundings at most. If both ends of that range give the same number
    # in single precision, so does the number that is written; else Python has to look.
    low, high = np.float32(wide * _BELOW), np.float32(wide * _ABOVE)
    if low != high:
        return np.nan
    return -float(low) if minus else float(low)
