"""The starter's linker, and documents of it: some as they are, some with gold outside the base."""

from dataclasses import replace

import pytest

from experiments.starter_data import read_contrast, read_starter
from sgtb.core.records import NIL, Document
from sgtb.linking.linker import Linker


@pytest.fixture(scope="session")
def linker():
    with Linker.starter() as linker:
        yield linker


@pytest.fixture(scope="session")
def documents() -> list[Document]:
    """Two dozen documents, most of them hard, without splits."""
    pairs = [document for _, *texts in read_contrast() for document in texts]
    return [replace(d, split="") for d in [*pairs[:12], *read_starter()["test"][:12]]]


@pytest.fixture(scope="session")
def mixed(documents) -> list[Document]:
    """The same documents; of every second one, the first gold is unknown and the last is NIL."""
    changed = []
    for i, document in enumerate(documents):
        first, *rest = document.mentions
        if i % 2 and rest:
            lacking = replace(first, gold="Q999", title="A title nobody has")
            *rest, last = rest
            document = replace(document, mentions=(lacking, *rest, replace(last, gold=NIL)))
        changed.append(document)
    return changed
