"""Linker: links texts with a model and a knowledge base."""

import gc
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from sgtb.core.errors import ModelFileError, SettingsError, SgtbError
from sgtb.kb.knowledge_base import KnowledgeBase
from sgtb.linking.entities.entity_source import WORD_VECTORS, KbSource
from sgtb.linking.link_options import LinkerSettings, LinkOptions, check_count
from sgtb.linking.linker_model import LinkerModel
from sgtb.linking.links import Linkable, LinkedDocument, check_many
from sgtb.linking.mentions.chunks import Chunk
from sgtb.linking.pipeline import LinkPipeline
from sgtb.starter import KB, MODEL, STARTER

if TYPE_CHECKING:
    from sgtb.linking.parallel import WorkerPool

ModelSource = str | os.PathLike[str] | LinkerModel
KbSourcePath = str | os.PathLike[str] | KnowledgeBase


class Linker:
    """Links texts to the entities of a knowledge base. Thread-safe."""

    def __init__(
        self,
        model: ModelSource | None = None,
        kb: KbSourcePath | None = None,
        settings: LinkerSettings | None = None,
    ) -> None:
        """Load a model and open a knowledge base.

        model  a model, its file, a folder of `save_pretrained`, or "starter"; None: the starter
        kb     a knowledge base or its folder; None: that of the model's folder
        """
        source, place = resolve_pair(model, kb)
        self.model = source if isinstance(source, LinkerModel) else LinkerModel.load(source)
        self.kb = place if isinstance(place, KnowledgeBase) else KnowledgeBase.open(place)
        self.settings = settings or LinkerSettings()
        self.pipeline = LinkPipeline(self.model, self.kb, self.settings)
        self._closed = False
        self._workers: WorkerPool | None = None

    @classmethod
    def starter(cls, settings: LinkerSettings | None = None) -> "Linker":
        """Load the small model and knowledge base of the package."""
        return cls(STARTER, None, settings)

    @classmethod
    def from_pretrained(
        cls,
        folder: str | os.PathLike[str],
        settings: LinkerSettings | None = None,
        kb: KbSourcePath | None = None,
    ) -> "Linker":
        """Load a folder that `save_pretrained` wrote.

        kb  used instead of the folder's own knowledge base
        """
        from sgtb.linking.pretrained import find_pretrained

        found = find_pretrained(folder)
        return cls(found.model, found.kb_or(kb), settings)

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

    def __call__(self, document: Linkable, options: LinkOptions | None = None) -> LinkedDocument:
        """Link a document, as `link` does."""
        return self.link(document, options)

    def link(self, document: Linkable, options: LinkOptions | None = None) -> LinkedDocument:
        """Link a text, a request with given spans, or a document with its own tokens.

        A missing value has no links; the entities of a spaCy Doc are given spans.

        options  for this call; None: those of the linker's settings
        """
        return self.link_many([document], options)[0]

    def link_many(
        self, documents: Sequence[Linkable], options: LinkOptions | None = None
    ) -> list[LinkedDocument]:
        """Link documents together: faster than one by one, with the same links."""
        self._check_open()
        check_many(documents, "link_many")
        with _no_collection():
            return self.pipeline.link(documents, options or self.settings)

    def pipe(
        self, documents: Iterable[Linkable], jobs: int = 1, options: LinkOptions | None = None
    ) -> Iterator[LinkedDocument]:
        """Link any number of documents, in order, with bounded memory.

        jobs  worker processes, kept for the next call
        """
        check_count("jobs", jobs)
        check_many(documents, "pipe")
        return self._piped(documents, jobs, options)

    def _piped(
        self, documents: Iterable[Linkable], jobs: int, options: LinkOptions | None
    ) -> Iterator[LinkedDocument]:
        from sgtb.linking.parallel import WorkerPool, batches

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

    @property
    def lacking_evidence(self) -> list[str]:
        """Kinds of data that the model was trained with and the knowledge base lacks.

        Their features are equal for all candidates, so that the remaining data decide.
        """
        return sorted(self.model.schema.evidence - KbSource(self.kb).evidence - {WORD_VECTORS})

    def refresh(self) -> bool:
        """Reload the knowledge base if it was updated; return whether it was."""
        self._check_open()
        changed = self.kb.refresh()
        if changed:
            self.pipeline.forget()
            self._end_workers()
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


def resolve_pair(
    model: ModelSource | None, kb: KbSourcePath | None
) -> tuple[ModelSource, KbSourcePath]:
    """Return the model or its file, and the knowledge base or its folder, of a linker's arguments.

    The arguments are those of `Linker`: without a model it is the starter's, and a packed folder
    and the starter have a knowledge base of their own. Raise if there is no such pair.
    """
    if model is None or model == STARTER or str(model) == STARTER:
        model, kb = MODEL, KB if kb is None else kb
    elif not isinstance(model, LinkerModel) and not os.path.exists(model):
        raise ModelFileError(f"{model}: no such file or folder; {STARTER!r} is the bundled model")
    elif not isinstance(model, LinkerModel) and os.path.isdir(model):
        from sgtb.linking.pretrained import find_pretrained

        found = find_pretrained(model)
        model, kb = found.model, found.kb_or(kb)
    if kb is None:
        raise SettingsError(
            f"the model {model!s:.80} needs a knowledge base; only a folder of "
            "Linker.save_pretrained has its own"
        )
    return model, kb


@contextmanager
def _no_collection() -> Iterator[None]:
    """Disable cyclic garbage collection: linking makes no cycles, and a pass visits every token."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
