"""The counter of documents: a changing line on a terminal, now and then one elsewhere."""

import sys
import time
from collections.abc import Callable, Iterator, Sized
from operator import attrgetter
from typing import Any, TextIO, TypeVar

D = TypeVar("D")

_PATIENCE = 2.0
"""Seconds before the first line: of quick work nothing need be said."""
_PAUSE = 10.0
_PAUSE_ON_TERMINAL = 0.2


class Counter:
    """Counts documents that pass, and says so on standard error.

    Where documents are printed on the same terminal, they are progress enough. The last line has
    all of them, but what was said already is not said again.

    noun, parts  what of the documents is counted besides
    """

    def __init__(
        self,
        quiet: bool = False,
        stream: TextIO | None = None,
        noun: str = "link",
        parts: Callable[[Any], Sized] = attrgetter("links"),
    ) -> None:
        self._noun, self._parts = noun, parts
        self._stream = stream or sys.stderr
        self._changing = self._stream.isatty()
        self._quiet = quiet or (self._changing and sys.stdout.isatty())
        self._pause = _PAUSE_ON_TERMINAL if self._changing else _PAUSE
        self.documents = self.links = 0

    def passing(self, documents: Iterator[D]) -> Iterator[D]:
        """Yield documents on, counted."""
        begun = time.monotonic()
        due = begun + (self._pause if self._changing else _PATIENCE)
        said = 0
        try:
            for document in documents:
                self.documents += 1
                self.links += len(self._parts(document))
                if not self._quiet and (now := time.monotonic()) >= due:
                    due, said = now + self._pause, self.documents
                    self._say(now - begun)
                yield document
        finally:
            if said:
                if said < self.documents:
                    self._say(time.monotonic() - begun)
                if self._changing:
                    print(file=self._stream, flush=True)

    @property
    def sum(self) -> str:
        """How many documents and links there were, in words."""
        return f"{_counted(self.documents, 'document')}, {_counted(self.links, self._noun)}"

    def _say(self, seconds: float) -> None:
        rate = self.documents / max(seconds, 1e-9)
        line = f"{self.sum}, {rate:,.1f} documents a second"
        begin, end = ("\r", "\x1b[K") if self._changing else ("", "\n")
        print(f"{begin}{line}", end=end, file=self._stream, flush=True)


def _counted(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"
