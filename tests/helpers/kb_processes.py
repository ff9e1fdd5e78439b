"""Processes and file systems that tests of a knowledge base need."""

import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest


def forked(work: Callable[[], Any]) -> Any:
    """Run something in a forked child and return what it returns, or raise what it raises."""
    if not hasattr(os, "fork"):
        pytest.skip("this system has no fork")
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        try:
            outcome = True, work()
        except BaseException as error:
            outcome = False, error
        with open(write, "wb") as pipe:
            pickle.dump(outcome, pipe)
        os._exit(0)
    os.close(write)
    with open(read, "rb") as pipe:
        data = pipe.read()
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0, f"the child ended with {status}"
    good, result = pickle.loads(data)
    if not good:
        raise result
    return result


def contents(folder: Path) -> dict[str, bytes]:
    """Everything in a folder but lock files, whose bytes tell who uses it."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.endswith("lock")
    }


@contextmanager
def small_disk(folder: Path, size: int) -> Iterator[Path]:
    """A file system of its own in memory, of so many bytes, while one may mount it."""
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("only root on Linux may mount a small disk")
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(folder)]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("this system does not let one mount a small disk")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(folder: Path) -> Path:
    """Fill a disk to the last byte, with a file that may be deleted."""
    path = folder / "filler"
    with open(path, "wb", buffering=0) as file:
        for size in (1 << 16, 1 << 12, 1):
            try:
                while file.write(bytes(size)) == size:
                    pass
            except OSError:
                continue
    return path
