"""Isolation: documents linked one by one in a child process, to find those that kill it.

The child answers after each document. When it ends instead, that document has killed it, and
another child continues there. A document that kills its child twice is rejected.
"""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import IO, Any

from sgtb.core.errors import SgtbError
from sgtb.jobs.job_inputs import Item
from sgtb.jobs.worker_linker import worker_linker
from sgtb.linking.request_json import request_of

DEATHS = 2  # children that a document kills before it is rejected
REASON = "linking it ended its worker process every time"
_READY = b"ready\n"


def without_killers(spec: Mapping[str, Any], items: Sequence[Item]) -> list[Item]:
    """Return documents; those that kill a process have a reason instead of their request."""
    checked = list(items)
    deaths: Counter[int] = Counter()
    at = 0
    while (at := _until_death(spec, checked, at)) < len(checked):
        deaths[at] += 1
        if deaths[at] >= DEATHS:
            checked[at] = checked[at]._replace(request=None, reason=REASON)
    return checked


def _until_death(spec: Mapping[str, Any], items: Sequence[Item], begin: int) -> int:
    """Link documents from `begin` in a child; return the one that it died at, or their number."""
    child = subprocess.Popen(
        [sys.executable, "-m", __spec__.name], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert child.stdin is not None
    assert child.stdout is not None
    at = begin
    try:
        _send(child.stdin, spec)
        if child.stdout.readline() != _READY:
            raise SgtbError("a child process cannot open the linker; is the machine out of memory?")
        for at in range(begin, len(items)):
            if (request := items[at].request) is not None:
                _send(child.stdin, asdict(request))
                if child.stdout.readline() != _READY:
                    return at
        return len(items)
    except BrokenPipeError:  # it ended before it read the document
        return at
    finally:
        child.kill()
        child.wait()
        child.stdout.close()


def _send(file: IO[bytes], record: Mapping[str, Any]) -> None:
    file.write(json.dumps(record).encode() + b"\n")
    file.flush()


def main() -> None:
    """Link documents of standard input; write a line when ready for the next."""
    linker = worker_linker(json.loads(sys.stdin.readline()))
    assert linker is not None
    print(_READY.decode(), end="", flush=True)
    for line in sys.stdin:
        record = json.loads(line)
        try:
            linker.link(request_of(json.dumps({**record, "mentions": record["spans"]}), "document"))
        except Exception as error:  # rejected with its reason by the caller
            print(f"{type(error).__name__}: {error}", file=sys.stderr)
        print(_READY.decode(), end="", flush=True)


if __name__ == "__main__":
    main()
