"""What worker processes run in tests; a module of its own, so that they start quickly."""

import multiprocessing
import os
import signal

from sgtb.wikipedia.dump.chunk_pages import ChunkPages
from sgtb.wikipedia.dump.page_xml import DumpPage


def keep(pages: ChunkPages) -> tuple[DumpPage, ...]:
    return pages.pages


def count(pages: ChunkPages) -> int:
    return len(pages.pages)


def die(pages: ChunkPages) -> None:
    if multiprocessing.parent_process() is not None:
        os.kill(os.getpid(), signal.SIGKILL)


def fail(pages: ChunkPages) -> None:
    raise KeyError("of the function")
