"""`sgtb wikipedia` against a real server on this machine, killed and continued."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sgtb import Linker
from sgtb.cli.main import app
from tests.helpers.dump_server import dump_server, generated_dump, parts_of

DATE, WIKI = "20260101", "simplewiki"
OPTIONS = ("--workers", "1", "--threads", "1", "--pages", "100", "--attempts", "1", "--yes")
STARTED = "from sgtb.cli.main import app; app()"


def run(*arguments, code=0, input=None):
    result = CliRunner().invoke(app, ["wikipedia", *map(str, arguments)], input=input)
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    return parts_of(generated_dump(tmp_path_factory.mktemp("xml"), 900_000), 3)


@pytest.fixture
def server(parts):
    with dump_server() as server:
        server.publish(WIKI, DATE, parts)
        server.publish(WIKI, "20260120", {}, status="in-progress")
        yield server


@pytest.fixture(scope="module")
def at_hand(parts, tmp_path_factory):
    """The linker of an undisturbed run from files at hand."""
    files = tmp_path_factory.mktemp("files")
    for end, data in parts.items():
        (files / f"{WIKI}-{DATE}-pages-articles-multistream{end}").write_bytes(data)
    folder = tmp_path_factory.mktemp("job") / "simple"
    result = run("simple", "-o", folder, "--dump-dir", files, *OPTIONS)
    assert f"{folder}/linker: " in result.stdout
    assert "accuracy on " in result.stdout
    assert not (folder / "dumps").exists()
    return folder


def digests(linker: Path) -> dict[str, str]:
    return {
        str(path.relative_to(linker)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(linker.rglob("*"))
        if path.is_file() and "lock" not in path.name
    }


def test_files_at_hand_give_a_working_linker(at_hand):
    with Linker.from_pretrained(at_hand / "linker") as linker:
        assert linker.model.mention_tagger is None, "links do not show what a mention is"
        title = linker.kb.id_of(0)
        assert linker(f"It is said that {title} was seen again.").links
    card = (at_hand / "linker" / "README.md").read_text()
    assert "held-out pages" in card
    again = run("simple", "-o", at_hand, "--json", "--quiet")
    told = json.loads(again.stdout)
    assert (told["wiki"], told["date"]) == (WIKI, DATE)
    assert told["accuracy"]["linker"] > 0.5
    assert told["test_documents"] >= 10


def test_too_few_held_out_pages(at_hand, tmp_path):
    files = json.loads((at_hand / "state.json").read_text())["settings"]["dump_dir"]
    given = ("simple", "-o", tmp_path / "few", "--dump-dir", files, "--hold-out", 0.01, *OPTIONS)
    told = run(*given, code=1).stderr
    assert "5 train, 0 dev and 0 test pages held out, too few to train and test with" in told
    assert f"a larger --hold-out than 0.01, and --dump-dir {files}" in told
    assert (tmp_path / "few" / "kb" / "kb.json").exists()


class Process:
    """The command in a process of its own, which is killed at a moment."""

    def __init__(self, server, folder: Path) -> None:
        command = [sys.executable, "-c", STARTED, "wikipedia", "simple", "-o", str(folder)]
        self.process = subprocess.Popen(
            [*command, "--mirror", server.url, *OPTIONS],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip

    def kill_when(self, moment) -> None:
        deadline = time.monotonic() + 300
        while not moment():
            assert self.process.poll() is None, self.process.communicate()[0]
            assert time.monotonic() < deadline
            time.sleep(0.005)
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.communicate()

    def output(self, code: int) -> str:
        text = self.process.communicate(timeout=300)[0]
        assert self.process.returncode == code, text
        assert "Traceback" not in text
        return text


def test_faults_and_kills_at_every_stage_end_in_the_same_linker(server, at_hand, tmp_path):
    folder, dumps = tmp_path / "simple", tmp_path / "simple" / "dumps"
    names = [path.rpartition("/")[2] for path in server.files if path.endswith(".bz2")]
    first, second, third = sorted(names)
    place = f"/{WIKI}/{DATE}/{third}"

    # The first part arrives in pieces, the second is cut for good.
    server.cuts = {first: [1000, 5000], second: [7000, 0]}
    told = Process(server, folder).output(1)
    assert f"{second}: the connection was closed early; given up after 1 attempts; 7,000" in told
    assert server.requested(first) == [None, "bytes=1000-", "bytes=6000-"]

    # The third part is missing, then another than listed.
    content = server.files.pop(place)
    assert "the server does not have this part" in Process(server, folder).output(1)
    assert server.requested(second)[-1] == "bytes=7000-"
    server.files[place] = content[:-1] + b"?"
    assert f"kept as {dumps / third}.wrong" in Process(server, folder).output(1)
    server.files[place] = content
    assert {path.name for path in dumps.iterdir()} == {first, second, f"{third}.wrong"}

    # Killed within the download, the build, the training, and before and within packing.
    server.flowing.clear()
    part = dumps / f"{third}.part"
    Process(server, folder).kill_when(lambda: part.exists() and part.stat().st_size > 0)
    server.flowing.set()
    Process(server, folder).kill_when(lambda: any((folder / "kb").glob("data-*/work/*")))
    assert len(server.requested(first)) == 3, "parts that are there are not downloaded again"
    Process(server, folder).kill_when((folder / "model.checkpoint").exists)
    built = (folder / "kb" / "kb.json").stat().st_mtime_ns
    Process(server, folder).kill_when((folder / "model.safetensors").exists)
    Process(server, folder).kill_when(lambda: any(folder.glob(".linker.*")))
    requests = len(server.requests)
    assert f"{folder}/linker: " in Process(server, folder).output(0)

    assert (folder / "kb" / "kb.json").stat().st_mtime_ns == built
    assert len(server.requests) == requests, "nothing is requested after the download"
    assert digests(folder / "linker") == digests(at_hand / "linker")
    assert not any(folder.glob(".*"))


def test_it_asks_before_it_downloads_or_writes(server, tmp_path):
    folder = tmp_path / "simple"
    asked = ("simple", "-o", folder, "--mirror", server.url, "--workers", "2")
    for answer in ("n\n", ""):
        result = run(*asked, code=1, input=answer)
        assert f"{WIKI} {DATE}: 3 files, " in result.stderr
        assert "GB more of disk (" in result.stderr
        assert "GB of memory" in result.stderr
        assert "not confirmed; nothing was downloaded" in result.stderr
    assert not folder.exists()
    assert not any(path.endswith(".bz2") for path, _ in server.requests)


def test_a_server_without_a_complete_dump(server, tmp_path):
    result = run("de", "-o", tmp_path / "de", "--mirror", server.url, "-y", code=1)
    assert "/dewiki/: no such edition" in result.stderr
    assert not (tmp_path / "de").exists()


def test_a_folder_of_another_job_is_refused(at_hand, tmp_path):
    before = (at_hand / "state.json").read_bytes()
    for options, complaint in {
        ("simple", "--pages", 50): "begun with pages 100, not 50",
        ("simple", "--hold-out", 0.3): "begun with hold-out",
        ("de",): "begun with wiki 'simplewiki', not 'dewiki'",
    }.items():
        assert complaint in run(*options, "-o", at_hand, code=1).stderr
    assert (at_hand / "state.json").read_bytes() == before
    (tmp_path / "state.json").write_text('{"format": 9}')
    assert "not the state of a job: format 9" in run("simple", "-o", tmp_path, code=1).stderr


def test_two_processes_in_one_folder(server, tmp_path):
    server.flowing.clear()
    one = Process(server, tmp_path / "simple")
    part = tmp_path / "simple" / "dumps"
    while not any(part.glob("*.part")):
        assert one.process.poll() is None
        time.sleep(0.005)
    other = Process(server, tmp_path / "simple").output(1)
    assert "another process works in this folder" in other
    one.kill_when(lambda: True)


def test_real_dumps_from_a_server(data, tmp_path):
    """Two real dumps as parts, with connections cut, and without ranges."""
    files = data / "dumps"
    real = (
        "enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2",
        "enwiki-minidump.xml.bz2",
    )
    if not all((files / name).exists() for name in real):
        pytest.skip(f"no {' and '.join(real)} in {files}")
    ends = ("1.xml-p1p30302.bz2", "2.xml-p30303p40000.bz2")
    with dump_server() as server:
        server.ranges = False
        parts = {end: (files / name).read_bytes() for end, name in zip(ends, real, strict=True)}
        server.publish("enwiki", DATE, parts)
        server.cuts[f"enwiki-{DATE}-pages-articles-multistream{ends[0]}"] = [400_000, 1_000_000]
        folder = tmp_path / "en"
        few = ("--pages", "12", "--hold-out", "0.3", "--red-links", "1")
        run("en", "-o", folder, "--mirror", server.url, *OPTIONS, *few)
    with Linker.from_pretrained(folder / "linker") as linker:
        assert any(link.entity == "Anarchism" for link in linker("Anarchism is old.").links)


@pytest.mark.skipif("SGTB_LONG" not in os.environ, reason="takes minutes; set SGTB_LONG to run it")
def test_a_whole_small_encyclopedia_from_a_server(data, tmp_path):
    import bz2

    xml = bz2.decompress((data / "dumps" / "schools-2007.xml.bz2").read_bytes())
    with dump_server() as server:
        server.publish("enwiki", DATE, parts_of(xml, 4))
        name = next(path for path in server.files if "multistream3" in path).rpartition("/")[2]
        server.cuts[name] = [2_000_000, 3_000_000]
        folder = tmp_path / "schools"
        result = run("en", "-o", folder, "--mirror", server.url, "--workers", "2", "-y", "--json")
    told = json.loads(result.stdout)
    assert told["accuracy"]["linker"] > 0.9
    with Linker.from_pretrained(folder / "linker") as linker:
        links = linker("Oslo is the capital of Norway.").links
    assert {link.entity for link in links} >= {"Oslo", "Norway"}
