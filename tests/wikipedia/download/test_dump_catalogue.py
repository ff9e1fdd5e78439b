"""Which dump is found at a server or in a folder."""

import hashlib
import json

import pytest

from sgtb.core.errors import DownloadError, DumpError, SettingsError
from sgtb.wikipedia.download.dump_catalogue import find_dump, find_files, verify_files, wiki_of
from tests.helpers.dump_server import JOB, dump_server

WHOLE = {".xml.bz2": b"whole"}
PARTS = {"2.xml-p11p200.bz2": b"two", "10.xml-p201p300.bz2": b"ten", "1.xml-p1p10.bz2": b"one"}


@pytest.fixture
def server():
    with dump_server() as server:
        yield server


def test_the_newest_complete_dump(server):
    server.publish("simplewiki", "20251201", WHOLE)
    server.publish("simplewiki", "20260101", {".xml.bz2": b"newer"})
    server.publish("simplewiki", "20260120", WHOLE, status="in-progress")
    server.files["/simplewiki/20260201/dumpstatus.json"] = b"{broken"
    server.files["/simplewiki/20260220/readme.txt"] = b""
    dump = find_dump("simple", server.url + "/", 1)
    assert (dump.wiki, dump.date, dump.size) == ("simplewiki", "20260101", 5)
    (file,) = dump.files
    assert file.digest == hashlib.sha1(b"newer").hexdigest()
    assert file.url.endswith("/simplewiki/20260101/simplewiki-20260101-pages-articles-"
                             "multistream.xml.bz2")  # fmt: skip


def test_parts_come_in_the_order_of_their_pages_without_the_whole(server):
    server.publish("enwiki", "20260101", {**PARTS, **WHOLE})
    ends = [file.name.partition("multistream")[2] for file in find_dump("en", server.url, 1).files]
    assert ends == ["1.xml-p1p10.bz2", "2.xml-p11p200.bz2", "10.xml-p201p300.bz2"]


def test_a_dump_with_a_gap_is_not_complete(server):
    server.publish("enwiki", "20251201", WHOLE)
    server.publish("enwiki", "20260101", {k: v for k, v in PARTS.items() if k[0] != "2"})
    assert find_dump("en", server.url, 1).date == "20251201"


@pytest.mark.parametrize(("sums", "method"), [(("md5",), "md5"), ((), "sha1")])
def test_other_sources_of_checksums(server, sums, method):
    server.publish("enwiki", "20260101", WHOLE, checksums=sums)
    status = "/enwiki/20260101/dumpstatus.json"
    if not sums:
        with pytest.raises(DownloadError, match="lists no checksum"):
            find_dump("en", server.url, 1)
        record = json.loads(server.files[status])
        for file in record["jobs"][JOB]["files"].values():
            file["sha1"] = hashlib.sha1(b"whole").hexdigest()
        server.files[status] = json.dumps(record).encode()
    (file,) = find_dump("en", server.url, 1).files
    assert (file.method, file.digest) == (method, hashlib.new(method, b"whole").hexdigest())


def test_no_complete_dump_says_why(server):
    server.publish("dewiki", "20260101", WHOLE, status="waiting")
    server.files["/dewiki/20251201/x"] = b""
    with pytest.raises(
        DownloadError, match=r"20260101: articles are 'waiting'; 20251201: no dumpstatus\.json"
    ):
        find_dump("de", server.url, 1)
    with pytest.raises(DownloadError, match="no such edition; check the language code 'xx'"):
        find_dump("xx", server.url, 1)


def test_languages():
    assert wiki_of("zh-min-nan") == "zh_min_nanwiki"
    assert wiki_of("simplewiki") == wiki_of("Simple") == "simplewiki"
    for wrong in ("", "../x", "en/", "e n"):
        with pytest.raises(SettingsError, match="not a language code"):
            wiki_of(wrong)


def test_files_at_hand(tmp_path):
    for date, parts in (("20251201", WHOLE), ("20260101", PARTS)):
        for end, data in parts.items():
            (tmp_path / f"enwiki-{date}-pages-articles-multistream{end}").write_bytes(data)
    dump = find_files("en", tmp_path)
    assert (dump.date, [file.size for file in dump.files]) == ("20260101", [3, 3, 3])
    verify_files(dump, tmp_path)
    name = dump.files[1].name
    (tmp_path / "enwiki-20260101-sha1sums.txt").write_text(f"{'0' * 40}  {name}\n")
    with pytest.raises(DumpError, match=f"{name}: its sha1 is"):
        verify_files(find_files("en", tmp_path), tmp_path)
    assert (tmp_path / name).exists()
    (tmp_path / name).unlink()
    with pytest.raises(DumpError, match="pages 11 to 200 are missing"):
        find_files("en", tmp_path)
    with pytest.raises(DumpError, match="no dump of dewiki; expected dewiki-DATE"):
        find_files("de", tmp_path)
