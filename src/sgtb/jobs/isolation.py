"""Isolation: documents linked in a child process, to find those that kill it.

The child links groups of documents and answers after each. When it ends instead, another child
continues with the next group. Documents of groups that killed a child are linked alone; one that
kills its child twice is rejected.
"""

import json
import subprocess
import sys
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import IO, Any

from sgtb.core.errors import SgtbError
from sgtb.jobs.job_inputs import Item
from sgtb.jobs.worker_linker import link_items, worker_linker
from sgtb.linking.parallel import BATCH
from sgtb.linking.request_json import request_of_fields

DEATHS = 2  # children that a document kills alone before it is rejected
REASON = "linking it ended its worker process every time"
_READY = b"ready\n"


def without_killers(spec: Mapping[str, Any], items: Sequence[Item]) -> list[Item]:
    """Return documents; those that kill a process have a reason instead of their request."""
    given = [i for i, item in enumerate(items) if item.request is not None]
    groups = [given[k : k + BATCH] for k in range(0, len(given), BATCH)]
    suspects = [[i] for group in _deadly(spec, items, groups) for i in group]
    for _ in range(DEATHS):
        suspects = _deadly(spec, items, suspects)
    checked = list(items)
    for [i] in suspects:
        checked[i] = checked[i]._replace(request=None, reason=REASON)
    return checked


def _deadly(
    spec: Mapping[str, Any], items: Sequence[Item], groups: list[list[int]]
) -> list[list[int]]:
    """Return the groups of documents that kill a child which links them."""
    deadly = []
    while groups:
        survived = _until_death(spec, items, groups)
        deadly += groups[survived : survived + 1]
        groups = groups[survived + 1 :]
    return deadly


def _until_death(spec: Mapping[str, Any], items: Sequence[Item], groups: list[list[int]]) -> int:
    """Link groups in a child; return the number of those that it survived."""
    child = subprocess.Popen(
        [sys.executable, "-P", "-m", __spec__.name], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert child.stdin is not None
    assert child.stdout is not None
    at = 0
    try:
        _send(child.stdin, spec)
        if child.stdout.readline() != _READY:
            raise SgtbError(
                f"a child process cannot open the linker and ends with {child.wait()}; is the "
                "machine out of memory?"
            )
        for at, group in enumerate(groups):
            _send(child.stdin, [asdict(items[i].request) for i in group])  # type: ignore[arg-type]
            if child.stdout.readline() != _READY:
                return at
        return len(groups)
    except BrokenPipeError:  # it ended before it read the group
        return at
    finally:
        child.kill()
        child.wait()
        child.stdout.close()
        with suppress(BrokenPipeError):
            child.stdin.close()


def _send(file: IO[bytes], record: object) -> None:
    file.write(json.dumps(record).encode() + b"\n")
    file.flush()


def main() -> None:
    """Link groups of documents of standard input; write a line when ready for the next."""
    linker = worker_linker(json.loads(sys.stdin.readline()))
    assert linker is not None
    print(_READY.decode(), end="", flush=True)
    for line in sys.stdin:
        requests = [
            request_of_fields({"text": one["text"], "mentions": one["spans"]}, "document")
            for one in json.loads(line)
        ]
        deque(link_items(linker, [Item(one.id, 0, one) for one in requests]), maxlen=0)
        print(_READY.decode(), end="", flush=True)


if __name__ == "__main__":
    main()
