"""Files of vectors: every format as its own tool writes it, and every kind of damage."""

import bz2
import gzip
import lzma
import pickle
import tracemalloc
import zlib

import joblib
import numpy as np
import pytest
from gensim.models import KeyedVectors
from hypothesis import given
from hypothesis import strategies as st

from sgtb.core.errors import KnowledgeBaseError, SettingsError
from sgtb.text import vector_file
from sgtb.text.vector_file import entity_title, open_vectors

KEYS = ["the", "cat", "Zürich", "ENTITY/Michael_Jordan", "1984", "ENTITY/1984_(novel)"]


def vectors(rows=6, dimensions=3):
    found = np.random.default_rng(0).normal(size=(rows, dimensions))
    return found.astype(np.float32)


def text(keys=KEYS, matrix=None, separator=" ", end="\n", header=True):
    matrix = vectors(len(keys)) if matrix is None else matrix
    lines = [f"{len(keys)} {matrix.shape[1]}\n"] if header else []
    for key, row in zip(keys, matrix, strict=True):
        lines.append(f"{key}{separator}{' '.join(map(str, row))}{end}")
    return "".join(lines).encode()


def binary(keys=KEYS, matrix=None, end=b""):
    matrix = vectors(len(keys)) if matrix is None else matrix
    rows = [
        key.encode() + b" " + row.tobytes() + end for key, row in zip(keys, matrix, strict=True)
    ]
    return b"%d %d\n" % matrix.shape + b"".join(rows)


FORMATS = {
    "word2vec text": text(),
    "word2vec binary": binary(),
    "GloVe text": text(header=False),
    "wikipedia2vec text": text(separator="\t", header=False),
}


@pytest.fixture
def write(tmp_path):
    def write(data, name="vectors"):
        (tmp_path / name).write_bytes(data)
        return tmp_path / name

    return write


def read(path, size=10_000):
    keys, parts = [], []
    for found, matrix in open_vectors(path).batches(size):
        assert matrix.dtype == np.float32
        assert 0 < len(found) == len(matrix) <= size
        keys += found
        parts.append(matrix)
    return keys, np.concatenate(parts) if parts else None


def refused(path, *parts):
    """Read a file that is wrong; return the message, which names the file and the parts."""
    with pytest.raises(KnowledgeBaseError) as caught:
        read(path)
    assert str(caught.value).startswith(str(path))
    for part in parts:
        assert part in str(caught.value)
    return str(caught.value)


def same(found, keys=KEYS, matrix=None):
    assert found[0] == keys
    np.testing.assert_array_equal(found[1], vectors(len(keys)) if matrix is None else matrix)


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress])
@pytest.mark.parametrize("name", FORMATS)
def test_every_format_plain_and_packed(write, name, pack):
    path = write(pack(FORMATS[name]))
    found = open_vectors(str(path))
    assert (found.path, found.format, found.dimensions) == (path, name, 3)
    assert found.count == (6 if name.startswith("word2vec") else None)
    same(read(path))


@pytest.mark.parametrize("flag", [False, True])
@pytest.mark.parametrize("dimensions", [1, 2, 7, 100])
def test_what_gensim_writes(tmp_path, flag, dimensions):
    keys = [f"word{i}" for i in range(500)] + ["é" * 40]
    matrix = vectors(len(keys), dimensions) * 0.1
    model = KeyedVectors(dimensions)
    model.add_vectors(keys, matrix)
    for name in ("plain", "packed.gz", "packed.bz2"):
        model.save_word2vec_format(str(tmp_path / name), binary=flag)
        found = open_vectors(tmp_path / name)
        expected = "word2vec binary" if flag else "word2vec text"
        assert (found.format, found.count, found.dimensions) == (expected, 501, dimensions)
        same(read(tmp_path / name), keys, matrix)


def test_what_gensim_writes_without_a_header(tmp_path):
    model = KeyedVectors(3)
    model.add_vectors(KEYS, vectors())
    model.save_word2vec_format(str(tmp_path / "glove"), write_header=False)
    assert open_vectors(tmp_path / "glove").format == "GloVe text"
    same(read(tmp_path / "glove"))


def test_what_the_first_word2vec_writes(write):
    # It ends the rows of its binary format with a line end, and lines of text with a space.
    same(read(write(binary(end=b"\n"))))
    same(read(write(text(end=" \n"))))
    same(read(write(text(end="\r\n"))))


def test_keys_with_spaces(write):
    keys = ["New York City", "Windows 95", "Web 2.0", "a"]
    for data in (text(keys), text(keys, header=False), text(keys, separator="\t", header=False)):
        same(read(write(data)), keys)


def test_titles_of_entities():
    assert entity_title("ENTITY/Michael_Jordan") == "Michael Jordan"
    assert entity_title("ENTITY/Michael Jordan") == "Michael Jordan"
    assert entity_title("entity") is None


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("size", [1, 2, 4, 6, 7])
def test_batches_have_the_size_asked_for(write, name, size):
    found = open_vectors(write(FORMATS[name]))
    sizes = [len(keys) for keys, _ in found.batches(size)]
    assert sizes == [size] * (6 // size) + [6 % size] * (6 % size > 0)
    same(read(found.path, size))


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("block", [1, 2, 3, 7, 20, 64])
def test_blocks_may_end_anywhere(write, name, block, monkeypatch):
    monkeypatch.setattr(vector_file, "_BLOCK", block)
    same(read(write(FORMATS[name] + b"\n \n")))


def test_batches_of_less_than_one_are_refused(write):
    with pytest.raises(SettingsError, match="batches of 0"):
        open_vectors(write(text())).batches(0)


def test_a_file_is_read_again_and_again(write):
    found = open_vectors(write(text()))
    first, second = found.batches(2), found.batches(2)
    assert next(first)[0] == next(second)[0] == KEYS[:2]
    first.close()
    assert next(second)[0] == KEYS[2:4]


def test_a_large_file_is_not_held_in_memory(write, monkeypatch):
    keys = [f"key{i}" for i in range(20_000)]
    path = write(text(keys, vectors(len(keys), 20)))
    monkeypatch.setattr(vector_file, "_BLOCK", 1 << 14)
    read(write(text(), "warm"))
    tracemalloc.start()
    try:
        for _ in open_vectors(path).batches(100):
            pass
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert path.stat().st_size > 4_000_000
    assert peak < 2_000_000


# Damage.


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress])
@pytest.mark.parametrize("name", FORMATS)
def test_a_file_cut_anywhere_gives_an_error_or_fewer_whole_vectors(write, name, pack):
    data = pack(FORMATS[name])
    counted = name.startswith("word2vec")
    whole = pack is not bytes or counted
    for end in range(len(data)):
        path = write(data[:end])
        try:
            keys, matrix = read(path)
        except KnowledgeBaseError as error:
            assert str(error).startswith(str(path))  # noqa: PT017
        else:
            # A file that does not say how many it has may end after any line.
            assert not whole
            assert data[:end].endswith(b"\n")
            same((keys, matrix), KEYS[: len(keys)], vectors()[: len(keys)])


def test_a_line_end_may_be_missing_after_binary_rows(write):
    same(read(write(binary(end=b"\n")[:-1])))


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("at", range(0, 120, 3))
def test_any_changed_byte_gives_an_error_or_vectors(write, name, at):
    data = bytearray(FORMATS[name])
    for new in (0, 10, 32, 48, 65, 128, 255):
        data[at % len(data)] = new
        try:
            keys, matrix = read(write(bytes(data)))
        except KnowledgeBaseError:
            continue
        assert len(set(keys)) == len(keys) == len(matrix)
        assert np.isfinite(matrix).all()


@given(st.binary(max_size=80), st.booleans())
def test_noise_gives_an_error_or_vectors(tmp_path_factory, noise, header):
    path = tmp_path_factory.getbasetemp() / "noise"
    path.write_bytes((b"2 2\n" if header else b"") + noise)
    try:
        keys, matrix = read(path)
    except KnowledgeBaseError as error:
        assert str(path) in str(error)  # noqa: PT017
    else:
        assert len(keys) == len(matrix)


@pytest.mark.parametrize(
    ("first", "parts"),
    [
        ("0 3", ["'0 3'"]),
        ("-1 3", ["'-1 3'"]),
        ("6 0", ["'6 0'"]),
        ("6 4097", ["4097 dimensions", "4096"]),
        ("9" * 5000 + " 3", ["'999", "count and dimensions"]),
        ("99999999999 3", ["99999999999 vectors of 3", "do not fit into"]),
        ("60 3", ["60 vectors of 3", "do not fit into"]),
    ],
)
def test_absurd_headers(write, first, parts):
    for data in (text(), binary()):
        refused(write(first.encode() + b"\n" + data.partition(b"\n")[2]), "line 1: ", *parts)


def test_an_absurd_header_of_a_packed_file(write):
    data = b"99999999 3\n" + text().partition(b"\n")[2]
    refused(write(gzip.compress(data)), "line 1: 99999999 vectors")
    data = b"7 3\n" + text().partition(b"\n")[2]
    refused(write(gzip.compress(data)), "line 8: no vector; line 1 announces 7, the file has 6")


def test_too_many_dimensions_without_a_header(write):
    refused(write(b"a" + b" 1" * 4097 + b"\n"), "line 1: 4097 dimensions")


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ("cat 1 2", ["2 values after 'cat'; line 1 announces 3"]),
        ("cat", ["0 values after 'cat'"]),
        ("1 2 3", ["2 values after '1'"]),
        (" 1 2 3", ["2 values"]),
        ("cat 0.125 1 2 3", ["4 values after 'cat 0.125'; line 1 announces 3"]),
        ("cat -0.5 1 2 3", ["4 values"]),
        ("cat 1e-05 1 2 3", ["4 values"]),
        ("cat 1 x 3", ["'x' is not a number"]),
        ("cat 1 1_0 3", ["'1_0' is not a number"]),
        ("cat 1 0x2 3", ["'0x2' is not a number"]),
        ("cat 1 nan 3", ["a value of 'cat' is nan"]),
        ("cat 1 -inf 3", ["a value of 'cat' is -inf"]),
        ("cat 1 1e39 3", ["a value of 'cat' is inf"]),
        ("cat 0 -0.0 1e-99", ["the vector of 'cat' is all zeros"]),
        ("cat 1 2 3\n\ndog 1 2 3", ["no vector"]),
        ("dog 1 2 3", ["'dog' is repeated, first in line 2"]),
        ("c\udcfft 1 2 3", ["'c\\xfft' is not UTF-8"]),
        ("c" * 2_000_000, ["longer than 262,144 bytes"]),
    ],
)
def test_wrong_lines(write, line, parts):
    data = f"4 3\ndog 1 2 3\nhen 1 2 3\n{line}\nowl 1 2 3\n".encode(errors="surrogateescape")
    number = 5 if "\n" in line else 4
    refused(write(data), f", line {number}: ", *parts)
    if "\n" not in line:
        glove = data.partition(b"\n")[2]
        refused(write(glove), ", line 3: ", *(part.replace("announces", "has").replace(
            "line 2", "line 1") for part in parts))  # fmt: skip


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ("cat 1 2", ["0 values after 'cat 1 2'; line 1 has 3"]),
        ("Apollo 13\t1 2", ["2 values after 'Apollo 13'"]),
        ("cat\t1 2 3 4", ["4 values after 'cat'; line 1 has 3"]),
        ("\t1 2 3", ["no key"]),
        ("cat\t1 2 x", ["'x' is not a number"]),
        ("dog\t1 2 3", ["'dog' is repeated, first in line 1"]),
    ],
)
def test_wrong_lines_of_wikipedia2vec(write, line, parts):
    refused(write(f"dog\t1 2 3\n{line}\n".encode()), ", line 2: ", *parts)


def test_wrong_rows_of_the_binary_format(write):
    for row, value in ((1, np.nan), (4, np.inf)):
        matrix = vectors()
        matrix[row, 1] = value
        refused(
            write(binary(matrix=matrix)), f"row {row + 1}: a value of {KEYS[row]!r}", str(value)
        )
    matrix = vectors()
    matrix[2] = 0
    refused(write(binary(matrix=matrix)), "row 3: the vector of 'Zürich' is all zeros")
    refused(write(binary([*KEYS[:5], "cat"])), "row 6: 'cat' is repeated, first in row 2")
    refused(write(binary([*KEYS[:5], ""])), "row 6: there is no key")
    refused(
        write(binary().replace("ü".encode(), b"\xff\xff")), "row 3: ", "\\xff\\xffrich", "UTF-8"
    )
    long = binary([*KEYS[:5], "x" * 20_000])
    refused(write(long), "row 6: no space ends the key 'xxx")
    refused(write(gzip.compress(binary()[:-1])), "row 6: the file is truncated", "6 rows")


def test_damage_is_found_across_blocks(write, monkeypatch):
    monkeypatch.setattr(vector_file, "_BLOCK", 100)
    keys = [f"key{i}" for i in range(300)]
    for twice in (0, 150, 298):
        keys[299] = f"key{twice}"
        refused(write(text(keys)), f"line 301: 'key{twice}' is repeated, first in line {twice + 2}")
        refused(write(binary(keys)), f"row 300: 'key{twice}' is repeated, first in row {twice + 1}")


def test_keys_with_the_same_hash_are_no_duplicates(write, monkeypatch):
    monkeypatch.setattr(vector_file, "hash", len, raising=False)
    same(read(write(text())))
    refused(write(text([*KEYS[:5], "cat"])), "line 7: 'cat' is repeated, first in line 3")


def test_what_follows_the_last_vector(write):
    for end in (b"\n\n", b" \n", b"\r\n"):
        same(read(write(text() + end)))
        same(read(write(binary() + end)))
    refused(write(text() + b"more 1 2 3\n"), "line 8: 'more 1 2 3' follows the last of 6 vectors")
    refused(write(text() + b"\n\n" + b"more"), "line 8: 'more' follows")
    refused(write(binary() + b"more"), "row 7: 'more' follows the last of 6 vectors")
    glove = text(header=False)
    same(read(write(glove + b"\n\n")))
    refused(write(glove + b"\nmore 1 2 3\n"), "line 7: 'more 1 2 3' follows an empty line")


def test_a_last_line_without_an_end_may_be_cut_off(write):
    refused(write(text()[:-1]), "line 7: 'ENTITY/1984_(novel)", "no line end", "add one")
    refused(write(text(header=False)[:-1]), "line 6: ", "no line end")


def test_a_broken_packing(write):
    packed = bytearray(gzip.compress(text()))
    packed[-5] ^= 1  # the checksum
    refused(write(bytes(packed)), "cannot be read")
    packed[12] ^= 255
    refused(write(bytes(packed)), "cannot be read")
    for pack in (bz2.compress, lzma.compress):
        packed = bytearray(pack(text()))
        packed[30] ^= 255
        refused(write(bytes(packed)), "cannot be read")


class Trap:
    """Whoever reads it runs its code."""

    def __reduce__(self):
        return pytest.fail, ("the pickle was read",)


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, zlib.compress])
@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_pickles_are_refused_with_the_way_out(write, pack, protocol):
    message = refused(write(pack(pickle.dumps(Trap(), protocol))))
    assert "pickle" in message
    assert ".save_text(" in message
    assert ".save_word2vec_format(" in message


def test_what_gensim_and_joblib_save_is_refused(tmp_path):
    model = KeyedVectors(3)
    model.add_vectors(KEYS, vectors())
    model.save(str(tmp_path / "model.kv"), sep_limit=0)
    refused(tmp_path / "model.kv", "a pickle", "save_word2vec_format")
    refused(tmp_path / "model.kv.vectors.npy", "numpy", "save_word2vec_format")
    for compress in (0, 3, ("gzip", 3), ("bz2", 3)):
        joblib.dump({"syn0": vectors()}, tmp_path / "model.pkl", compress=compress)
        refused(tmp_path / "model.pkl", "pickle", "save_text")


@pytest.mark.parametrize(
    ("data", "part"),
    [
        (b"", "the file is empty"),
        (b"PK\x03\x04...", "zip archive"),
        (b"\xfd7zXZ\x00", "cannot be read"),
        (b"\x28\xb5\x2f\xfd...", "zstd"),
        (b"<html>\n<body>\n", "'<html>' is neither"),
        (b"\n", "'' is neither"),
        (b"cat\n", "'cat' is neither"),
        (b"cat dog\n", "is neither"),
        (b"\x00" * 300_000, "no line end in 262,144 bytes"),
        (b"3 3\n", "do not fit into the file"),
    ],
)
def test_foreign_files(write, data, part):
    refused(write(data), part)


def test_files_that_are_not_there(tmp_path):
    refused(tmp_path / "none", "no such file")
    refused(tmp_path, "cannot be read")
