"""Files written whole or not at all."""

import os
import threading

import pytest

from sgtb.core.files import write_whole


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
