"""Unpacking: small files that unpack to much are refused before they take memory."""

import gzip
import io
import lzma
import resource
import tarfile
import time
import zlib
from pathlib import Path

import pytest

from sgtb.cli.link_input import read_requests, source_of
from sgtb.core.errors import CorpusError, KnowledgeBaseError, RequestError
from sgtb.formats.rdf_turtle import HEAD, read_turtle
from sgtb.formats.registry import detect_format, read_documents
from sgtb.kb.build.list_build import build_list
from tests.helpers.kb_processes import forked

MOST = 200 << 20
BLOCK = 1 << 24
LARGE = 40
"""Blocks of a large file: 640 MiB."""


def refusal(work):
    """Return the message of an error, and the memory that it took to come to it."""

    def measured():
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        try:
            work()
        except (CorpusError, KnowledgeBaseError, RequestError) as error:
            return str(error), (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) << 10
        return "", 0

    message, used = forked(measured)
    assert used < MOST
    return message


def read(path: Path, format: str | None = None) -> list[object]:
    return list(read_documents(path, format))


@pytest.mark.parametrize("format", ["nif", "wned"])
def test_gzip_of_a_whole_file_is_limited(tmp_path, format):
    path = tmp_path / "corpus.gz"
    path.write_bytes(gzip.compress(HEAD.encode()) + gzip.compress(b" " * BLOCK) * LARGE)
    message = refusal(lambda: read(path, format))
    assert message.startswith(f"{path}: cannot be read: it unpacks to more than 200 times its byte")
    assert message.endswith("the limit is 200; SGTB_MAX_RATIO=N sets another")


def test_xz_of_a_whole_file_is_limited(tmp_path):
    path = tmp_path / "corpus.ttl.xz"
    path.write_bytes(lzma.compress(b"\n" * BLOCK, preset=0) * LARGE)
    assert "SGTB_MAX_RATIO" in refusal(lambda: read(path, "nif"))


def test_a_docbin_is_limited(tmp_path):
    pytest.importorskip("spacy")
    path = tmp_path / "corpus.spacy"
    packer = zlib.compressobj(1)
    path.write_bytes(
        packer.compress(b"\x81\xa7version")
        + b"".join(packer.compress(bytes(BLOCK)) for _ in range(LARGE))
        + packer.flush()
    )
    assert refusal(lambda: read(path, "docbin")).startswith(
        f"{path}: it unpacks to too many bytes; the limit is "
    )


def test_a_sparse_file_in_an_archive_is_refused(tmp_path):
    """GNU tar states the size of a file of zeros, and stores none of them."""
    path = tmp_path / "corpus.tar"
    with tarfile.open(path, "w", format=tarfile.GNU_FORMAT) as archive:
        member = tarfile.TarInfo("ace/RawText/a")
        member.type, member.size = tarfile.GNUTYPE_SPARSE, 0
        archive.addfile(member, io.BytesIO())
    data = bytearray(path.read_bytes())
    data[386:398], data[398:410] = b"00000000000\0", b"00000000000\0"  # one empty part
    data[483:495] = b"70000000000\0"  # 7.5 GB
    data[148:156] = b" " * 8
    data[148:156] = b"%06o\0 " % sum(data[:512])
    path.write_bytes(data)
    assert "a file of 7,516,192,768 bytes" in refusal(lambda: read(path, "wned"))


def test_a_line_of_a_million_values_is_refused_before_it_is_parsed(tmp_path):
    """Parsed, each value here takes thirty times its bytes."""
    line = b'{"id": "a", "text": "x", "name": "x", "aliases": [' + b'{"":0},' * 2_000_000 + b"0]}\n"
    path = tmp_path / "list.jsonl.gz"
    path.write_bytes(gzip.compress(line, 1))
    for work in (
        lambda: build_list(path, tmp_path / "kb"),
        lambda: read(path, "jsonl"),
        lambda: detect_format(path) and read(path),
        lambda: list(read_requests([source_of(str(path), "whole")], 2_000_000)),
    ):
        message = refusal(work)
        assert "line 1: " in message
        assert "values; the limit is 1,000,000; SGTB_MAX_ITEMS=N sets another" in message


def test_a_list_of_entities_is_limited_by_the_ratio(tmp_path):
    path = tmp_path / "list.jsonl.gz"
    line = b" " * 1023 + b"\n"  # long lines, as each takes its time
    path.write_bytes(gzip.compress(line * (BLOCK // len(line))) * LARGE)
    message = refusal(lambda: build_list(path, tmp_path / "kb"))
    assert "it unpacks to more than 200 times its bytes" in message


def test_prefixes_of_turtle_take_linear_time():
    """Ten times as many take ten times as long, not a hundred times; measured by turns."""

    def seconds(count: int) -> float:
        prefixes = "".join(f"@prefix p{i}: <http://example.org/{i}/> .\n" for i in range(count))
        begin = time.process_time()
        read_turtle(HEAD + prefixes, "file:///x")
        return time.process_time() - begin

    pytest.importorskip("rdflib")
    seconds(10)
    assert min(seconds(5000) for _ in range(2)) < 30 * max(seconds(500) for _ in range(2))
