"""Sources: packed files, lines and their numbers, titles."""

import bz2
import gzip
import lzma

import pytest

from sgtb.core.errors import CorpusError
from sgtb.formats.corpus_source import (
    SourceFile,
    read_members,
    read_source,
    shown,
    title_of_url,
    unescape_title,
)
from tests.helpers.corpus_files import packed, write

TEXT = "Räuber\nund Ritter\n" * 50
PACKERS = {".xz": lzma.compress, ".gz": gzip.compress, ".bz2": bz2.compress}


@pytest.mark.parametrize("suffix", PACKERS)
def test_packed_files_are_unpacked(tmp_path, suffix):
    path = tmp_path / f"story{suffix}"
    path.write_bytes(PACKERS[suffix](TEXT.encode()))
    assert read_source(path) == SourceFile(str(path), TEXT.encode())


@pytest.mark.parametrize("suffix", PACKERS)
def test_damaged_packed_files_are_refused(tmp_path, suffix):
    path = tmp_path / f"story{suffix}"
    whole = PACKERS[suffix](TEXT.encode())
    middle = len(whole) // 2
    changed = bytes((whole[middle] ^ 0x55,))
    for content in (whole[:middle], whole[:-3], whole[:middle] + changed + whole[middle + 1 :]):
        path.write_bytes(content)
        with pytest.raises(CorpusError, match=rf"story\{suffix}: cannot be decompressed: .*again"):
            read_source(path)


def test_lines_end_with_lf_or_crlf_and_nothing_else():
    data = "\ufeffone\r\ntwo\u0085still\u2028two\x0cyet\rmore\n\nfour".encode()
    assert SourceFile("s", data).lines() == [
        "one",
        "two\u0085still\u2028two\x0cyet\rmore",
        "",
        "four",
    ]
    assert SourceFile("s", b"").lines() == []
    assert SourceFile("s", b"\n").lines() == [""]


def test_a_wrong_byte_is_named_by_line():
    with pytest.raises(CorpusError, match=r"^a/b, line 3: byte 0xe9 is not UTF-8; save"):
        SourceFile("a/b", b"one\ntwo\ncaf\xe9\n").lines()


def test_members_of_folder_and_archive_are_the_same(tmp_path):
    files = {"b/c.txt": b"see", "a.txt": b"ay"}
    archive = tmp_path / "files.tar"
    archive.write_bytes(packed(files))
    assert [(name, source.name, source.data) for name, source in read_members(archive)] == [
        ("b/c.txt", f"{archive}:b/c.txt", b"see"),
        ("a.txt", f"{archive}:a.txt", b"ay"),
    ]
    folder = write(tmp_path / "folder", files)
    assert [(name, source.name, source.data) for name, source in read_members(folder)] == [
        ("a.txt", str(folder / "a.txt"), b"ay"),
        ("b/c.txt", str(folder / "b/c.txt"), b"see"),
    ]


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(CorpusError, match="cannot be read: Is a directory"):
        read_source(tmp_path)


def test_long_values_are_cut_where_errors_quote_them():
    assert shown("a\tb") == r"'a\tb'"
    assert shown("x" * 100) == repr("x" * 60 + "…")


@pytest.mark.parametrize(
    ("written", "title"),
    [
        ("A\\u002eC\\u002e_Vessa", "A.C. Vessa"),
        ("Orl\\u00e1n", "Orlán"),
        ("\\ud83d\\ude00_Day", "😀 Day"),
        ("\\ud83d", "\ufffd"),
        ("C:\\users", "C:\\users"),
        ("100%_Orlan", "100% Orlan"),
    ],
)
def test_titles_are_unescaped(written, title):
    assert unescape_title(written) == title


def test_the_title_of_a_url():
    assert title_of_url("http://en.wikipedia.org/wiki/AC/DC") == "AC/DC"
    assert title_of_url("http://en.wikipedia.org/wiki/Orl%C3%A1n_(A%26B)") == "Orlán (A&B)"
