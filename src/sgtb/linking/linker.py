"""Linker: links texts with a model and a knowledge base."""

import gc
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from sgtb.core.errors import RequestError, SettingsError, SgtbError
from sgtb.core.records import Document
from sgtb.kb.knowledge_base import KnowledgeBase
from sgtb.linking.entities.entity_source import KbSource
from sgtb.linking.link_options import LinkerSettings, LinkOptions
from sgtb.linking.linker_model import LinkerModel
from sgtb.linking.links import LinkedDocument, Request
from sgtb.linking.mentions.chunks import Chunk
from sgtb.linking.pipeline import Linkable, LinkPipeline

if TYPE_CHECKING:
    from sgtb.linking.parallel import WorkerPool


class Linker:
    """Links texts to the entities of a knowledge base. Thread-safe."""

    def __init__(
        self, model: LinkerModel, kb: KnowledgeBase, settings: LinkerSettings | None = None
    ) -> None:
        model.check(KbSource(kb).evidence, kb.path)
        self.model, self.kb, self.settings = model, kb, settings or LinkerSettings()
        self.pipeline = LinkPipeline(model, kb, self.settings)
        self._closed = False
        self._workers: WorkerPool | None = None

    @classmethod
    def load(
        cls,
        model: str | os.PathLike[str] | LinkerModel,
        kb: str | os.PathLike[str] | KnowledgeBase,
        settings: LinkerSettings | None = None,
    ) -> "Linker":
        """Load a model file and open a knowledge base; raise if they do not fit."""
        trained = model if isinstance(model, LinkerModel) else LinkerModel.load(model)
        opened = kb if isinstance(kb, KnowledgeBase) else KnowledgeBase.open(kb)
        return cls(trained, opened, settings)

    @classmethod
    def starter(cls, settings: LinkerSettings | None = None) -> "Linker":
        """Load the small model and knowledge base of the package."""
        from sgtb.starter import KB, MODEL

        return cls.load(MODEL, KB, settings)

    @classmethod
    def from_pretrained(
        cls,
        folder: str | os.PathLike[str],
        settings: LinkerSettings | None = None,
        kb: str | os.PathLike[str] | KnowledgeBase | None = None,
    ) -> "Linker":
        """Load a folder that `save_pretrained` wrote.

        kb  used instead of the folder's own knowledge base
        """
        from sgtb.linking.pretrained import find_pretrained

        found = find_pretrained(folder)
        return cls.load(found.model, found.kb_or(kb), settings)

    @classmethod
    def open(
        cls,
        model: str | os.PathLike[str] | None = None,
        kb: str | os.PathLike[str] | None = None,
        settings: LinkerSettings | None = None,
    ) -> "Linker":
        """Load a model file with its knowledge base or a packed folder; by default the starter."""
        if model is None:
            if kb is not None:
                raise SettingsError(f"the knowledge base {kb} needs a model")
            return cls.starter(settings)
        if os.path.isdir(model):
            return cls.from_pretrained(model, settings, kb)
        if kb is None:
            raise SettingsError(
                f"the model {model} needs a knowledge base; only a folder of "
                "Linker.save_pretrained has its own"
            )
        return cls.load(model, kb, settings)

    def save_pretrained(
        self,
        folder: str | os.PathLike[str],
        evaluation: Mapping[str, Any] | None = None,
        kb: bool = True,
    ) -> None:
        """Write model, knowledge base and model card to a folder.

        evaluation  names and numbers for the card, may be nested
        kb          whether to copy the knowledge base
        """
        from sgtb.linking.pretrained import save_pretrained

        save_pretrained(folder, self.model, self.kb, evaluation, kb)

    def __call__(self, text: str) -> LinkedDocument:
        """Link a text."""
        return self.link(text)

    def link(self, document: Linkable, options: LinkOptions | None = None) -> LinkedDocument:
        """Link a text, a request with given spans, or a document with its own tokens.

        options  for this call; None: those of the linker's settings
        """
        return self.link_many([document], options)[0]

    def link_many(
        self, documents: Sequence[Linkable], options: LinkOptions | None = None
    ) -> list[LinkedDocument]:
        """Link documents together: faster than one by one, with the same links."""
        self._check_open()
        with _no_collection():
            return self.pipeline.link(documents, options or self.settings)

    def pipe(
        self, documents: Iterable[Linkable], jobs: int = 1, options: LinkOptions | None = None
    ) -> Iterator[LinkedDocument]:
        """Link any number of documents, in order, with bounded memory.

        jobs  worker processes, kept for the next call
        """
        from sgtb.linking.parallel import WorkerPool, batches

        if isinstance(jobs, bool) or not isinstance(jobs, int) or jobs < 1:
            raise SettingsError(f"jobs must be a whole number from 1 up, not {jobs!r}")
        if isinstance(documents, str | Request | Document):
            raise RequestError("pipe takes an iterable of documents; use `link` for one document")
        if jobs == 1:
            for batch in batches(documents):
                yield from self.link_many(batch, options)
            return
        self._check_open()
        if self._workers is None:
            self._workers = WorkerPool(self.link_many)
        yield from self._workers.link(documents, jobs, options or self.settings)

    def to_chunk(self, document: Linkable) -> Chunk:
        """Tokenize a document and find its mentions; drop its annotations."""
        return self.pipeline.to_chunk(document)

    def refresh(self) -> bool:
        """Reload the knowledge base if it was updated; return whether it was."""
        self._check_open()
        changed = self.kb.refresh()
        if changed:
            self.pipeline.forget()
            self._end_workers()
            self.model.check(KbSource(self.kb).evidence, self.kb.path)
        return changed

    def close(self) -> None:
        """End the worker processes and close the knowledge base."""
        self._closed = True
        self._end_workers()
        self.kb.close()

    def _end_workers(self) -> None:
        if self._workers is not None:
            self._workers.end()

    def _check_open(self) -> None:
        if self._closed:
            raise SgtbError("the linker is closed; load it again")

    def __enter__(self) -> "Linker":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        return Linker, (self.model, self.kb, self.settings)

    def __repr__(self) -> str:
        return f"Linker({self.kb!r}, {self.model.forest.plan.name})"


@contextmanager
def _no_collection() -> Iterator[None]:
    """Disable cyclic garbage collection: linking makes no cycles, and a pass visits every token."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
