"""Passes: documents that go through a linker, and come out beside what they were asked about."""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import replace

from sgtb.core.errors import RequestError
from sgtb.core.records import Document
from sgtb.evaluation.linkers.resolved_gold import Asked, ask
from sgtb.linking.linker import Linker
from sgtb.linking.links import LinkedDocument

ALL = 1000
"""More candidates than a mention has."""


def twin(linker: Linker, reasons: bool) -> Linker:
    """Return a linker like a given one, with a knowledge base and workers of its own to close.

    It gives all candidates: recall is about those that were looked at, not those that are shown.
    """
    settings = replace(linker.settings, candidates=ALL, reasons=reasons)
    return Linker.load(linker.model, linker.kb.path, settings)


def linked(
    linker: Linker, documents: Iterable[Document], jobs: int
) -> Iterator[tuple[Asked, LinkedDocument]]:
    """Link documents whose gold nobody shows to the linker; holds only a few at a time."""
    waiting: deque[Asked] = deque()  # a linker reads ahead

    def noted() -> Iterator[Document]:
        for asked in ask(linker.kb, documents):
            waiting.append(asked)
            yield asked.annotated

    try:
        for found in linker.pipe(noted(), jobs=jobs):
            yield waiting.popleft(), found
    except RequestError as error:
        last = f"one of the documents up to {waiting[-1].annotated.id!r}: " if waiting else ""
        raise RequestError(f"{last}{error}") from None
