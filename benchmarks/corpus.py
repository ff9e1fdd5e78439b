"""Benchmark of corpora: speed and memory of reading and writing formats.

    python -m benchmarks.corpus                 a generated JSONL of 200 MB, and one of 20 MB
    python -m benchmarks.corpus --json          one JSON object on standard output
    python -m benchmarks.corpus --mb 20         another size; the smaller one is a tenth

Each task runs in a separate process, whose peak of resident memory is reported. The two sizes
show whether memory grows with the file.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from benchmarks.child import peak_mb
from sgtb.core.errors import CorpusError
from sgtb.core.records import Document
from sgtb.formats.annotated import Annotation, annotated_document
from sgtb.formats.conversion import convert
from sgtb.formats.error_handler import ErrorHandler
from sgtb.formats.registry import read_documents, write_documents
from sgtb.formats.survey import survey

_SENTENCE = "{} went from {} to Orlan, where {} and others sat by the river all day. "
_BYTES_A_DOCUMENT = 4590
"""Approximate size of a document of `documents` as JSONL."""
_WORKS = ("read", "check", "zelda")


def documents(count: int) -> Iterator[Document]:
    """Yield generated documents of 40 sentences with 20 mentions."""
    random = Random(1)
    for number in range(count):
        text, annotations = "", []
        for i in range(40):
            names = [f"Name{random.randrange(10_000)}" for _ in range(3)]
            sentence = _SENTENCE.format(*names)
            for name in names[:2] if i % 4 == 0 else ():
                start = len(text) + sentence.index(name)
                annotations.append(Annotation(start, start + len(name), f"Q{name[4:]}"))
            text += sentence
        yield annotated_document(
            str(number), text, annotations, error=CorpusError, handler=ErrorHandler()
        )


def work(kind: str, path: Path) -> dict[str, Any]:
    """Read, check or convert a file; return time and memory of this process."""
    idle = peak_mb()
    begin = time.perf_counter()
    if kind == "read":
        count = sum(1 for _ in read_documents(path))
    elif kind == "check":
        count = survey(path).documents
    else:
        count = convert(path, path.with_suffix(f".{kind}"), target_format=kind).documents
    seconds = time.perf_counter() - begin
    size = path.stat().st_size / 1e6
    return {
        "work": kind,
        "mb": round(size, 1),
        "documents": count,
        "seconds": round(seconds, 1),
        "mb_a_second": round(size / seconds, 2),
        "peak_mb": round(peak_mb(), 1),
        "peak_before_mb": round(idle, 1),
    }


def main(
    mb: Annotated[int, typer.Option(min=1, help="MB of the larger file.")] = 200,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    child: Annotated[str, typer.Option(hidden=True)] = "",
) -> None:
    """Measure reading, checking and converting of a generated JSONL."""
    if child:
        kind, _, file = child.partition(":")
        print(json.dumps(work(kind, Path(file))))
        return
    talk = Console(stderr=True, highlight=False)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for size in (max(mb // 10, 1), mb):
            path = Path(folder, f"{size}.jsonl")
            talk.print(f"writing {size} MB")
            write_documents(documents(int(size * 1e6 / _BYTES_A_DOCUMENT)), path, "jsonl")
            for kind in _WORKS:
                talk.print(f"{kind}, {size} MB")
                rows.append(_in_a_child(kind, path))
    if as_json:
        print(json.dumps({"corpus": rows}))
    else:
        _print(rows)


def _in_a_child(kind: str, path: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.corpus", "--child", f"{kind}:{path}"]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    row: dict[str, Any] = json.loads(done.stdout)
    return row


def _print(rows: list[dict[str, Any]]) -> None:
    table = Table("work", "MB", "documents", "seconds", "MB/s", "peak MB", "before", box=None)
    for row in rows:
        table.add_row(*(str(value) for value in row.values()))
    Console(highlight=False).print(table)


if __name__ == "__main__":
    typer.run(main)
