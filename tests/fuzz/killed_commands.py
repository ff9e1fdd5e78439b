"""Kill commands at random moments: `python -m tests.fuzz.killed_commands --moments 100`.

After a kill -9 there is the old state or the new one, whole; and after the next run of the same
command there are no leftovers, neither beside what it writes nor among the temporary files.
"""

import argparse
import os
import re
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from experiments.starter_data import read_starter
from sgtb.cli.main import app
from sgtb.formats.registry import write_documents
from sgtb.kb import KnowledgeBase
from sgtb.kb.export import export_lines
from sgtb.linking.training import training_data
from sgtb.starter import KB, MODEL
from tests.helpers.kb_processes import forked
from tests.helpers.kb_worlds import write_lines

State = Callable[[Path], Any]


class Command(NamedTuple):
    """A command of sgtb in a folder.

    output  what it writes
    state   of the output, in a process of its own
    """

    name: str
    arguments: tuple[str, ...]
    output: str
    state: State


def knowledge_base(path: Path) -> Any:
    """Return the content of a knowledge base; None: there is none."""
    if not (path / "kb.json").exists():
        return None

    def exported() -> list[Any]:
        with KnowledgeBase.open(path) as kb:
            return list(export_lines(kb))

    return forked(exported)


def content(path: Path) -> Any:
    """Return the bytes of a file or of all files in a folder; None: there is none."""
    if path.is_dir():
        files = (file for file in sorted(path.rglob("*")) if file.is_file())
        return {
            str(file.relative_to(path)): file.read_bytes()
            for file in files
            if not file.name.endswith("lock")
        }
    return path.read_bytes() if path.exists() else None


TRAIN = ("--kb", str(KB), "--train", "train.jsonl", "--threads", "1", "--folds", "2", "-q")
COMMANDS = (
    Command("build", ("kb", "build", "jsonl", "new.jsonl", "-o", "kb"), "kb", knowledge_base),
    Command("add", ("kb", "add", "kb", "more.jsonl"), "kb", knowledge_base),
    Command("update", ("kb", "update", "kb", "changes.jsonl"), "kb", knowledge_base),
    Command("remove", ("kb", "remove", "kb", "--id", "e5", "--id", "e6"), "kb", knowledge_base),
    Command("merge", ("kb", "merge", "kb", "other", "-o", "both"), "both", knowledge_base),
    Command("train", ("train", *TRAIN, "--trees", "3", "-o", "my.model"), "my.model", content),
    Command("tune", ("tune", *TRAIN, "--trials", "1", "-o", "tuned.model"), "tuned.model", content),
    Command("pack", ("pack", "packed", "--model", str(MODEL), "--kb", str(KB)), "packed", content),
    Command("convert", ("convert", "train.jsonl", "out.ttl.gz", "-q"), "out.ttl.gz", content),
    Command("convert to a folder", ("convert", "train.jsonl", "wned", "-q"), "wned", content),
    Command("link", ("link", "text.txt", "--html", "out.html", "-q"), "out.html", content),
)


def prepare(folder: Path) -> None:
    """Write the inputs of all commands."""

    def entities(name: str, begin: int, count: int, **more: Any) -> Path:
        lines = [
            {"id": f"e{i}", "name": f"name {i}", "aliases": [f"alias {i % 99}"], **more}
            for i in range(begin, begin + count)
        ]
        return write_lines(folder / f"{name}.jsonl", lines)

    entities("old", 0, 300)
    entities("new", 0, 1500)
    entities("more", 1000, 300)
    entities("changes", 0, 200, description="changed")
    entities("others", 5000, 500)
    start(folder, ("kb", "build", "jsonl", "old.jsonl", "-o", "kb"), wait=True)
    start(folder, ("kb", "build", "jsonl", "others.jsonl", "-o", "other"), wait=True)
    documents = [replace(document, split="") for document in read_starter()["train"][:12]]
    write_documents(documents, folder / "train.jsonl", "jsonl")
    write_documents(documents[:3], folder / "out.ttl.gz", "nif")
    (folder / "text.txt").write_text("Jordan won six titles with Chicago. " * 50)
    (folder / "scores.json").write_text('{"accuracy": 0.5}')
    pack = next(command for command in COMMANDS if command.name == "pack")
    assert start(folder, (*pack.arguments, "--evaluation", "scores.json"), wait=True) == 0


def start(folder: Path, arguments: tuple[str, ...], wait: bool = False) -> int:
    """Run a command in a child; return its process id, or its exit code after waiting."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.chdir(folder)
            nowhere = os.open(os.devnull, os.O_RDWR)
            os.dup2(nowhere, 1)
            os.dup2(nowhere, 2)
            os.environ["TMPDIR"] = tempfile.tempdir = str(folder / "tmp")
            small = replace(training_data._FEW, topic_width=8, bits=10)
            training_data._FEW = small
            app(arguments, standalone_mode=False)
            code = 0
        except SystemExit as error:
            code = int(error.code or 0)
        finally:
            os._exit(code)
    if not wait:
        return child
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def names(folder: Path) -> set[str]:
    """Return the names of all files and folders below a folder, but for locks."""
    found = (path for path in folder.rglob("*") if not path.name.endswith("lock"))
    return {re.sub(r"data-\d+", "data", str(path.relative_to(folder))) for path in found}


def kill_at_moments(command: Command, folder: Path, moments: int, random: Random) -> Counter[str]:
    """Kill a command at random moments, one in each of equal parts of its time; assert that all is
    whole. Return the outcomes.
    """
    outcomes: Counter[str] = Counter()
    saved = folder.with_name(f"{folder.name}-saved")
    shutil.copytree(folder, saved)
    before = command.state(folder / command.output)
    begin = time.monotonic()
    code = start(folder, command.arguments, wait=True)
    seconds = time.monotonic() - begin
    assert code == 0, f"{command.name} ended with {code}"
    after, expected = command.state(folder / command.output), names(folder)
    for moment in range(moments):
        shutil.rmtree(folder)
        shutil.copytree(saved, folder)
        child = start(folder, command.arguments)
        time.sleep(seconds * (moment + random.random()) / moments)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        found = command.state(folder / command.output)
        assert found in (before, after), f"{command.name}: neither the old state nor the new one"
        outcomes["new" if found == after else "old"] += 1
        start(folder, command.arguments, wait=True)  # adding the same again is an error
        assert command.state(folder / command.output) == after, command.name
        left = names(folder) ^ expected
        assert not left, f"{command.name}: leftovers or missing: {sorted(left)}"
    shutil.rmtree(folder)
    shutil.copytree(saved, folder)
    shutil.rmtree(saved)
    return outcomes


def run(moments: int, seed: int, only: tuple[str, ...] = ()) -> Counter[str]:
    """Kill all commands, each at its share of moments."""
    total: Counter[str] = Counter()
    chosen = [command for command in COMMANDS if not only or command.name in only]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "work"
        (folder / "tmp").mkdir(parents=True)
        prepare(folder)
        for i, command in enumerate(chosen):
            share = len(range(i, moments, len(chosen)))
            outcomes = kill_at_moments(command, folder, share, Random(seed + i))
            shown = ", ".join(f"{n} {state}" for state, n in sorted(outcomes.items()))
            print(f"{command.name}: {share} kills: {shown}", flush=True)
            total += outcomes
    return total


def main() -> None:
    """Kill commands; an AssertionError says what is not whole."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--moments", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=())
    options = parser.parse_args()
    total = run(options.moments, options.seed, tuple(options.only))
    print(f"{total.total()} kills: {total['old']} left the old state, {total['new']} the new one")


if __name__ == "__main__":
    sys.exit(main())
