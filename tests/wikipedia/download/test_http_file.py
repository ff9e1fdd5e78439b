"""Downloads from a real server that cuts connections, sends errors, or knows no ranges."""

import hashlib
import os
from dataclasses import replace

import pytest

from sgtb.core.errors import DownloadError
from sgtb.wikipedia.download.http_file import RemoteFile, download, read_url
from tests.helpers.dump_server import dump_server

DATA = os.urandom(300_000)
NAME = "part.bz2"


@pytest.fixture
def server():
    with dump_server() as server:
        server.files[f"/{NAME}"] = DATA
        yield server


@pytest.fixture
def file(server):
    return RemoteFile(f"{server.url}/{NAME}", NAME, len(DATA), hashlib.sha1(DATA).hexdigest())


def test_a_file_arrives_whole_under_its_name_only(server, file, tmp_path):
    seen = []
    path = download(file, tmp_path, 1, seen.append)
    assert path.read_bytes() == DATA
    assert [one.name for one in tmp_path.iterdir()] == [NAME]
    assert seen == sorted(seen)
    assert seen[-1] == len(DATA)
    download(file, tmp_path, 1)
    assert server.requested(NAME) == [None], "a complete file is not requested again"


def test_cut_connections_are_resumed_by_ranges(server, file, tmp_path):
    server.cuts[NAME] = [100_000, 1, 150_000]
    assert download(file, tmp_path, 1).read_bytes() == DATA
    assert server.requested(NAME) == [None, "bytes=100000-", "bytes=100001-", "bytes=250001-"]


def test_without_ranges_what_is_there_is_skipped(server, file, tmp_path):
    server.ranges = False
    server.cuts[NAME] = [200_000]
    assert download(file, tmp_path, 1).read_bytes() == DATA
    assert server.requested(NAME) == [None, "bytes=200000-"]


def test_a_server_that_never_gets_further_is_given_up(server, file, tmp_path):
    server.ranges = False
    server.cuts[NAME] = [150_000, 150_000, 149_999, 10]
    with pytest.raises(DownloadError, match=r"closed early; given up after 2 attempts; 150,000 b"):
        download(file, tmp_path, 2)
    assert (tmp_path / f"{NAME}.part").read_bytes() == DATA[:150_000]
    server.cuts.clear()
    assert download(file, tmp_path, 1).read_bytes() == DATA


def test_temporary_errors_are_retried_and_others_are_not(server, file, tmp_path):
    server.errors[NAME] = [503]
    assert download(file, tmp_path, 2).read_bytes() == DATA
    (tmp_path / NAME).unlink()
    server.errors[NAME] = [403]
    with pytest.raises(DownloadError, match="HTTP 403"):
        download(file, tmp_path, 9)


def test_a_missing_file(server, file, tmp_path):
    server.files.clear()
    with pytest.raises(DownloadError, match=r"part\.bz2: the server does not have this part"):
        download(file, tmp_path, 9)
    assert read_url(f"{server.url}/x") is None


def test_a_wrong_checksum_keeps_the_file_aside(server, file, tmp_path):
    wrong = replace(file, digest="0" * 40)
    with pytest.raises(DownloadError, match=r"lists 0000.*kept as .*part\.bz2\.wrong"):
        download(wrong, tmp_path, 1)
    assert [one.name for one in tmp_path.iterdir()] == [f"{NAME}.wrong"]
    md5 = replace(file, digest=hashlib.md5(DATA).hexdigest().upper(), method="md5")
    assert download(md5, tmp_path, 1).read_bytes() == DATA


@pytest.mark.parametrize("have", [0, 1000])
def test_a_file_of_another_size(server, file, tmp_path, have):
    (tmp_path / f"{NAME}.part").write_bytes(DATA[:have])
    with pytest.raises(DownloadError, match="but the dump lists"):
        download(replace(file, size=len(DATA) + 1), tmp_path, 9)
    assert (tmp_path / f"{NAME}.part").stat().st_size == have


def test_a_shorter_file_at_the_server(server, file, tmp_path):
    (tmp_path / f"{NAME}.part").write_bytes(DATA)
    with pytest.raises(DownloadError, match="shorter than the dump lists"):
        download(replace(file, size=len(DATA) + 1), tmp_path, 9)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full, a disk that is full")
def test_a_full_disk_is_not_tried_again(server, file, tmp_path):
    (tmp_path / f"{NAME}.part").symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left"):
        download(file, tmp_path, 9)
    assert server.requested(NAME) == [None]


def test_a_file_that_does_not_end(server, file, tmp_path):
    """A response without a length, longer than listed."""
    server.unlimited.add(NAME)
    with pytest.raises(DownloadError, match="longer than the 1,000 bytes listed"):
        download(replace(file, size=1000), tmp_path, 9)
    assert (tmp_path / f"{NAME}.part").stat().st_size <= 1000
    assert download(file, tmp_path, 1).read_bytes() == DATA


def test_no_server(tmp_path):
    with dump_server() as server:
        url = server.url
    with pytest.raises(DownloadError, match=r"connection failed \(Connection refused\); given up"):
        read_url(f"{url}/x", 1)
    for url in ("dumps.example/x", "file:///etc/hostname"):
        with pytest.raises(DownloadError, match="not an address that begins with http"):
            read_url(url)
    with pytest.raises(DownloadError, match="http://a b/"):
        read_url("http://a b/")
