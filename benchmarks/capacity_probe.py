"""The capacity probe: processor time of the parts of large jobs, in a fresh process, as JSON.

python -m benchmarks.capacity_probe TASK WORD ...
"""

import hashlib
import json
import resource
import shutil
import sys
import threading
from collections.abc import Callable
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from benchmarks.resident import resident

HOLD_OUT = 0.2


def processor_seconds() -> float:
    """Return the processor time of this process and of its children that have ended."""
    usage = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in usage)


def folder_bytes(folder: Path) -> int:
    """Return the bytes of all existing files."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except OSError:  # deleted meanwhile
            continue
    return total


def build(dump: str, place: str, workers: str) -> dict[str, Any]:
    """Build from a dump; with one worker, reading and counting are timed separately."""
    from sgtb.wikipedia.build.build_settings import HoldOut, WikiSettings
    from sgtb.wikipedia.build.dump_build import build_wiki

    target, most, ended = Path(place), 0, threading.Event()

    def watch() -> None:
        nonlocal most
        while not ended.wait(0.5):
            most = max(most, folder_bytes(target))

    reading = 0.0

    def note(stage: str, done: int, total: int) -> None:
        nonlocal reading
        if stage == "reading":
            reading = processor_seconds() - begin

    threading.Thread(target=watch, daemon=True).start()
    begin = processor_seconds()
    settings = WikiSettings(workers=int(workers), hold_out=HoldOut(HOLD_OUT))
    report = build_wiki([Path(dump)], target, settings, note)
    seconds = processor_seconds() - begin
    ended.set()
    size = folder_bytes(target)
    return {
        "seconds": seconds, "reading": reading, "kb_bytes": size,
        "work_bytes": max(0, most - size), "entities": report.entities,
    }  # fmt: skip


def train(dump: str, place: str, pages: str, model: str, texts: str) -> dict[str, Any]:
    """Read held-out pages, and train a linker on their links; write the texts of some."""
    from sgtb.cli.commands.train import grow, prepare_given
    from sgtb.cli.train_input import TrainingOptions, from_links
    from sgtb.kb.knowledge_base import KnowledgeBase

    with KnowledgeBase.open(place) as kb:
        begin = processor_seconds()
        given = from_links(kb, [Path(dump)], int(pages), 1, True)
        middle = processor_seconds()
        settings = TrainingOptions(threads=1).settings(given)
        prepared = prepare_given(kb, given, settings, "none", True)
        grow(prepared, settings, given, None, True).save(model)
        end = processor_seconds()
    Path(texts).write_text(json.dumps([document.text for document in given.train.documents]))
    return {"links": middle - begin, "seconds": end - middle, "pages": int(pages)}


def link(
    model: str, place: str, texts: str, documents: str, characters: str, jobs: str
) -> dict[str, Any]:
    """Link parts of pages, after a first pass over some; count what is printed."""
    from sgtb.linking.linker import Linker

    n, size = int(documents), int(characters)
    parts = [
        text[i : i + size]
        for text in json.loads(Path(texts).read_text())
        for i in range(0, len(text) - size, size)
    ]
    chosen = list(islice(cycle(parts), n))
    with Linker(model, place) as linker:
        list(linker.pipe(chosen[:64]))
        begin = processor_seconds()
        written = 0
        for document in linker.pipe(chosen, jobs=int(jobs)):
            written += len(json.dumps(document.to_dict()))
        memory = resident().anon_mb
        linker.close()  # ends the workers, whose time then counts
        seconds = processor_seconds() - begin
    return {"seconds": seconds, "bytes": written, "anon_mb": memory, "documents": len(chosen)}


def start(model: str, place: str) -> dict[str, Any]:
    """Load a linker, and link a sentence."""
    from sgtb.linking.linker import Linker

    with Linker(model, place) as linker:
        linker("The king of Norway went to Scotland.")
    return {"seconds": processor_seconds()}


def entity_list(path: str, place: str) -> dict[str, Any]:
    """Build from a list."""
    from sgtb.kb.build.list_build import build_list

    begin = processor_seconds()
    report = build_list(Path(path), Path(place))
    return {
        "seconds": processor_seconds() - begin, "entities": report.entities,
        "kb_bytes": folder_bytes(Path(place)),
    }  # fmt: skip


def ship(source: str, target: str) -> dict[str, Any]:
    """Copy a file, and verify the copy."""
    begin = processor_seconds()
    shutil.copyfile(source, target)
    with open(target, "rb") as file:
        hashlib.file_digest(file, "sha256")
    return {"seconds": processor_seconds() - begin, "bytes": Path(target).stat().st_size}


_TASKS: dict[str, Callable[..., dict[str, Any]]] = {
    task.__name__: task for task in (build, entity_list, link, ship, start, train)
}

if __name__ == "__main__":
    name, *words = sys.argv[1:]
    print(json.dumps(_TASKS[name](*words)), flush=True)
