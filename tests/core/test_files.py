"""Files written whole or not at all."""

import gzip
import os
import signal
import subprocess
import sys
import threading

import pytest

from sgtb.core.files import (
    exchange,
    new_folder,
    open_unpacked,
    read_limited,
    scratch_folder,
    write_whole,
)


def test_a_file_is_written_and_replaced(tmp_path):
    path = tmp_path / "a.bin"
    write_whole(path, b"first")
    assert path.read_bytes() == b"first"
    write_whole(str(path), b"")
    assert path.read_bytes() == b""
    assert os.listdir(tmp_path) == ["a.bin"]


def test_a_missing_folder_is_named(tmp_path):
    path = tmp_path / "no" / "a.bin"
    with pytest.raises(FileNotFoundError, match="there is no folder") as caught:
        write_whole(path, b"x")
    assert str(path) in str(caught.value)
    assert str(path.parent) in str(caught.value)


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_after_a_failure_the_old_file_stands_and_nothing_else(tmp_path, monkeypatch, step, error):
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")

    def fail(*_):
        raise error

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(type(error)):
        write_whole(path, b"new")
    monkeypatch.undo()
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a.bin"]


def test_a_folder_is_not_overwritten(tmp_path):
    (tmp_path / "a").mkdir()
    with pytest.raises(OSError, match="a"):
        write_whole(tmp_path / "a", b"x")
    assert os.listdir(tmp_path) == ["a"]


def test_writers_at_the_same_time_leave_one_whole_file(tmp_path):
    path = tmp_path / "a.bin"
    contents = [bytes([65 + i]) * 300_000 for i in range(8)]
    writers = [threading.Thread(target=write_whole, args=(path, data)) for data in contents]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert path.read_bytes() in contents
    assert os.listdir(tmp_path) == ["a.bin"]


WRITER = """
import os, signal, sys
from pathlib import Path
from sgtb.core.files import new_folder, replacing, scratch_folder
target = Path(sys.argv[1])
with {opened} as found:
    (found / "part").write_text("x") if isinstance(found, Path) else found.write(b"x" * 99)
    print("ready", flush=True)
    sys.stdin.read()
"""


@pytest.mark.skipif(os.name == "nt", reason="there are no locks of folders")
@pytest.mark.parametrize(
    ("opened", "again"),
    [
        ("replacing(target)", lambda path: write_whole(path, b"new")),
        ("new_folder(target)", lambda path: write_whole(path, b"new")),
        ("scratch_folder('test')", None),
    ],
)
def test_leftovers_of_killed_processes_are_deleted_and_others_are_not(
    tmp_path, monkeypatch, opened, again
):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    command = [sys.executable, "-c", WRITER.format(opened=opened), str(tmp_path / "target")]
    writers = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(2)
    ]
    for writer in writers:
        assert writer.stdout.readline() == b"ready\n"
    killed, alive = writers
    killed.send_signal(signal.SIGKILL)
    killed.wait()

    def run():
        if again is not None:
            again(tmp_path / "target")
        else:
            monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
            with scratch_folder("test"):
                pass

    assert len(leftovers(tmp_path)) == 2
    run()
    (kept,) = leftovers(tmp_path)
    alive.communicate(b"")
    assert alive.returncode == 0, f"{kept} was still in use"
    assert leftovers(tmp_path) == []


def leftovers(folder):
    return [name for name in os.listdir(folder) if name != "target"]


def test_folders_are_exchanged_in_one_step(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).write_text("")
    if not exchange(tmp_path / "a", tmp_path / "b"):
        pytest.skip("this file system cannot exchange two names")
    assert (tmp_path / "a" / "b").exists()
    assert (tmp_path / "b" / "a").exists()
    assert not exchange(tmp_path / "a", tmp_path / "nothing")


def test_a_new_folder_is_deleted_unless_it_was_moved(tmp_path):
    with pytest.raises(KeyboardInterrupt), new_folder(tmp_path / "a"):
        raise KeyboardInterrupt
    assert os.listdir(tmp_path) == []
    with new_folder(tmp_path / "a") as folder:
        os.rename(folder, tmp_path / "a")
    assert os.listdir(tmp_path) == ["a"]


def test_unpacking_ends_at_the_limit_of_the_ratio(tmp_path, monkeypatch):
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(bytes(1 << 24)) * 3)
    with open_unpacked(path) as (file, _), pytest.raises(OSError, match="SGTB_MAX_RATIO=N"):
        read_limited(file)
    monkeypatch.setenv("SGTB_MAX_RATIO", "2000")
    with open_unpacked(path) as (file, position):
        assert len(read_limited(file)) == 3 << 24
        assert position() == path.stat().st_size
    monkeypatch.setenv("SGTB_MAX_WHOLE", "1000")
    with open_unpacked(path) as (file, _), pytest.raises(OSError, match="the limit is 1,000"):
        read_limited(file)


def test_small_files_may_be_compressed_as_much_as_possible(tmp_path):
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(bytes(1 << 23)))
    with open_unpacked(path) as (file, _):
        assert len(read_limited(file)) == 1 << 23


def test_what_is_written_to_a_pipe_can_be_read(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    data = gzip.compress(b"one line\n" * 9)
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(data,))
    writer.start()
    with open_unpacked(tmp_path / "pipe") as (file, _):
        assert file.readline() == b"one line\n"
        assert len(file.read()) == 8 * 9
    writer.join()
