"""Decimal rows: read as Python's own float would, or left."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sgtb.native import read_decimal_rows
from sgtb.text.vector_file import DecimalRows


def by_python(data: bytes, at: int, dimensions: int, separator: bytes):
    """Read rows the slow and obvious way, up to the first that is not plain."""
    keys, rows = [], []
    for line in data[at:].split(b"\n")[:-1]:
        key, found, rest = line.partition(separator)
        words = rest.split()
        plain = key and found and len(words) == dimensions
        if not plain or any(set(word) - set(b"0123456789+-.eE") for word in words):
            break
        try:
            row = [float(word) for word in words]
        except ValueError:
            break
        keys.append(key)
        rows.append(row)
        at += len(line) + 1
    with np.errstate(over="ignore"):
        return keys, np.array(rows, float).reshape(-1, dimensions).astype(np.float32), at


def test_plain_lines_are_read_and_the_others_left():
    data = b"a 1 -2.5\nb  .5\t+1e-3 \r\nc 1. 2E2\nd 1 2 3\ne 1 2\n"
    keys, matrix, at = DecimalRows(2, b" ").read(data, 0, 9)
    assert keys == [b"a", b"b", b"c"]
    np.testing.assert_array_equal(matrix, np.array([[1, -2.5], [0.5, 1e-3], [1, 200]], np.float32))
    assert data[at:].startswith(b"d")
    keys, matrix, at = DecimalRows(2, b" ").read(data, data.index(b"b"), 1)
    assert keys == [b"b"]
    assert data[at:].startswith(b"c")


def test_the_separator_ends_the_key():
    rows = DecimalRows(1, b"\t")
    assert rows.read(b"New York\t1\n", 0, 1)[0] == [b"New York"]
    for line in (b"New York 1\n", b"New\tYork\t1\n", b"\t1\n", b"York 1\t2 3\n", b"York\t\n"):
        assert rows.read(line, 0, 1)[0] == []


@pytest.mark.parametrize(
    "word",
    ["", "-", ".", "e5", "1e", "1e+", "1e99999", "nan", "inf", "1_0", "0x1", "1,5", "1e5.", "--1"],
)
def test_what_is_no_plain_number_is_left(word):
    assert DecimalRows(1, b" ").read(f"a {word}\n".encode(), 0, 1)[2] == 0


def test_a_line_without_end_is_left():
    assert DecimalRows(1, b" ").read(b"a 1\nb 2", 0, 9)[::2] == ([b"a"], 4)
    assert DecimalRows(1, b" ").read(b"", 0, 9)[::2] == ([], 0)


def same_or_left(word: str):
    keys, matrix, _ = DecimalRows(1, b" ").read(f"a {word}\n".encode(), 0, 1)
    if not keys:
        return False
    with np.errstate(over="ignore", under="ignore"):
        expected = np.array([[float(word)]]).astype(np.float32)
    assert matrix.tobytes() == expected.tobytes()
    return True


@given(st.floats(allow_nan=False, allow_infinity=False))
@example(1e-300)
@example(3.4028235677973366e38)  # halfway to what float32 cannot hold
@example(-0.0)
def test_doubles_are_rounded_as_python_and_numpy_do(value):
    same_or_left(repr(value))
    same_or_left(f"{value:.25e}")


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
@example(49537592.0)  # what is written for it lies halfway between two singles
def test_singles_come_back(value):
    same_or_left(str(np.float32(value)))
    same_or_left(f"{value:.6f}")


def test_all_singles_are_read():
    values = np.random.default_rng(0).normal(size=500).astype(np.float32)
    values *= 10.0 ** np.random.default_rng(1).integers(-8, 7, 500)
    assert all(same_or_left(str(np.float32(value))) for value in values.tolist())


@given(st.from_regex(r"[-+]?[0-9]{0,30}\.?[0-9]{0,30}([eE][-+]?[0-9]{1,4})?", fullmatch=True))
@example("9" * 40)
@example("0." + "0" * 40 + "1")
@example("16777217")  # halfway between two singles
def test_any_decimal_is_read_as_python_does_or_left(word):
    try:
        float(word)
    except ValueError:
        assert not DecimalRows(1, b" ").read(f"a {word}\n".encode(), 0, 1)[0]
    else:
        same_or_left(word)


@given(st.text(alphabet="ab1.-e \t\n\r\x0b\x00", max_size=60), st.sampled_from([b" ", b"\t"]))
def test_lines_are_split_as_the_twin_does(text, separator):
    data = text.encode()
    keys, matrix, at = DecimalRows(2, separator).read(data, 0, 99)
    expected, values, stop = by_python(data, 0, 2, separator)
    # A number beyond double precision may be left, never more read.
    assert keys == expected[: len(keys)]
    np.testing.assert_array_equal(matrix, values[: len(keys)])
    assert at <= stop


def test_many_rows_are_read_in_turns():
    data = b"".join(b"k%d %d\n" % (i, i) for i in range(10_000))
    rows, at, found = DecimalRows(1, b" "), 0, []
    while at < len(data):
        keys, matrix, at = rows.read(data, at, 1 << 62)
        assert keys
        found += matrix[:, 0].tolist()
    assert found == list(range(10_000))


OUT, KEYS = np.zeros((2, 1), np.float32), np.zeros((2, 2), np.int64)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("a 1\n", 32, 0, 1, KEYS, OUT), "data"),
        ((b"a 1\n", 256, 0, 1, KEYS, OUT), "separator"),
        ((b"a 1\n", 32, 5, 1, KEYS, OUT), "at"),
        ((b"a 1\n", 32, -1, 1, KEYS, OUT), "at"),
        ((b"a 1\n", 32, 0, 1, KEYS[:1], OUT), "keys"),
        ((b"a 1\n", 32, 0, 1, np.zeros((2, 3), np.int64), OUT), "keys"),
        ((b"a 1\n", 32, 0, 1, KEYS, OUT.astype(float)), "out"),
        ((b"a 1\n", 32, 0, 1, KEYS, OUT[:, 0]), "out"),
    ],
)
def test_bad_arguments_are_named(arguments, problem):
    with pytest.raises((TypeError, ValueError), match=rf"^{problem}\b"):
        read_decimal_rows(*arguments)
    assert read_decimal_rows(b"a 1\n", 32, 0, -1, KEYS, OUT) == (0, 0)
