"""The spaCy component `sgtb_linker`: links the entities of a Doc jointly."""

import re
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sgtb.core.errors import MissingExtraError, SettingsError, SgtbError

try:
    from spacy.language import Language
except ImportError as error:
    raise MissingExtraError(
        f"a linker in a spaCy pipeline needs the package {error.name or 'spacy'}: "
        "pip install 'sgtb[spacy]'"
    ) from None
from spacy.pipeline import Pipe
from spacy.scorer import Scorer
from spacy.tokens import Doc, Span
from spacy.training import Example
from spacy.util import registry

from sgtb.core.records import NIL
from sgtb.integrations.component_folder import (
    ComponentSource,
    pack_folder,
    read_folder,
    unpack_folder,
    write_folder,
)
from sgtb.integrations.doc_links import clear, put, register
from sgtb.linking.links import Request
from sgtb.linking.links import Span as Place
from sgtb.linking.mentions.spacy_mentions import AMOUNTS, trimmed

if TYPE_CHECKING:
    from sgtb.linking.link_options import LinkerSettings
    from sgtb.linking.linker import Linker

FACTORY = "sgtb_linker"
SCORER = "sgtb.linker_scorer.v1"
_SEEN = re.compile(r"[^\s\ufeff\u200b]")  # as `tokenize` sees it

register()


@dataclass(frozen=True)
class ComponentSettings:
    """Settings of the component; see docs/guide/spacy.md."""

    linker: "LinkerSettings"
    labels_ignore: frozenset[str] = AMOUNTS  # labels of entities that are not linked
    overwrite: bool = True  # whether existing ids are replaced; otherwise they are fixed
    store_kb: bool | None = None  # with the pipeline; None: if it is small
    batch_size: int | None = None  # Docs linked at a time; None: that of `nlp.pipe`

    def __post_init__(self) -> None:
        if self.batch_size is not None and self.batch_size < 1:
            raise SettingsError(f"batch_size must be from 1 up, not {self.batch_size}")


class SgtbLinker(Pipe):
    """A linker in a spaCy pipeline; thread-safe, loaded at its first use."""

    def __init__(
        self,
        name: str,
        settings: ComponentSettings,
        source: ComponentSource,
        scorer: Callable[..., Any] | None = None,
    ) -> None:
        self.name, self.settings, self.scorer = name, settings, scorer
        self._source = source
        self._unpacked: tempfile.TemporaryDirectory[str] | None = None
        self._guard = threading.Lock()
        self._linker: Linker | None = None

    @property
    def linker(self) -> "Linker":
        """The linker, loaded at the first use."""
        with self._guard:
            if self._linker is None:
                self._linker = self._source.open(self.settings.linker)
            return self._linker

    def __call__(self, doc: Doc) -> Doc:
        """Link the entities of a Doc."""
        self._link([doc])
        return doc

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Link Docs in batches; a Doc that fails goes to the error handler."""
        self.linker  # noqa: B018 - a missing model is no error of a single Doc
        given, size = iter(stream), self.settings.batch_size or batch_size
        while docs := list(islice(given, size)):
            try:
                self._link(docs)
            except Exception:
                yield from self._one_by_one(docs)
            else:
                yield from docs

    def _one_by_one(self, docs: Sequence[Doc]) -> Iterator[Doc]:
        handle = self.get_error_handler()
        for doc in docs:
            try:
                self._link([doc])
            except Exception as error:
                handle(self.name, self, [doc], error)
            else:
                yield doc

    def _link(self, docs: Sequence[Doc]) -> None:
        asked = [self._mentions(doc) for doc in docs]
        # Docs are annotated after all are linked: those of a failed batch are unchanged.
        linked = list(self.linker.pipe([request for _, request in asked]))
        for doc, (entities, _), document in zip(docs, asked, linked, strict=True):
            if self.settings.overwrite:
                clear(doc)
            for entity, link in zip(entities, document.links, strict=True):
                for token in entity:
                    token.ent_kb_id_ = NIL if link.entity is None else link.entity
            put(doc, [(entity.start_char, entity.end_char) for entity in entities], document.links)

    def _mentions(self, doc: Doc) -> tuple[list[Span], Request]:
        """Return the entities to link, and the request."""
        text, kb = doc.text, self.linker.kb
        entities: list[Span] = []
        places: list[Place] = []
        for entity in doc.ents:
            start, end = trimmed(text, entity.start_char, entity.end_char)
            if entity.label_ in self.settings.labels_ignore or not _SEEN.search(text, start, end):
                continue
            fixed = None
            if entity.kb_id_ and not self.settings.overwrite:
                fixed = entity.kb_id_
                if kb.number(fixed) is None:
                    continue  # an id of another knowledge base
            entities.append(entity)
            places.append(Place(start, end, fixed))
        return entities, Request(text, tuple(places))

    # Training

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Language | None = None,
        model: str | None = None,
        kb: str | None = None,
    ) -> None:
        """Load the linker; model and kb of the block [initialize] replace those of the config.

        Each replaces its own: a knowledge base alone is used with the model of the config.
        """
        given = _source(model, kb)
        if given != ComponentSource():
            before = self._source
            self._use(ComponentSource(given.model or before.model, given.kb or before.kb))
        self.linker  # noqa: B018 - report missing data now

    def update(self, *_: Any, **__: Any) -> None:
        """Raise an error: the component is not trained by spaCy."""
        raise SgtbError(
            f"{self.name} is not trained by spaCy: `sgtb train` trains it, on a DocBin as well. To "
            f'train other components beside it, put "{self.name}" among the frozen_components'
        )

    # On disk

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Save the linker to a folder, with its knowledge base if that is small or wanted."""
        write_folder(self.linker, Path(path), self.settings.store_kb)

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> "SgtbLinker":
        """Load the linker of a folder written by `to_disk`."""
        self._use(read_folder(Path(path), self._source.kb))
        return self

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """Return the files of `to_disk` as bytes."""
        with tempfile.TemporaryDirectory(prefix="sgtb-") as folder:
            self.to_disk(folder)
            return pack_folder(Path(folder))

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> "SgtbLinker":
        """Load the linker of `to_bytes`, from a temporary folder."""
        folder = tempfile.TemporaryDirectory(prefix="sgtb-")
        unpack_folder(data, Path(folder.name))
        self._use(read_folder(Path(folder.name), self._source.kb))
        self._unpacked = folder  # deleted with this component
        return self

    def _use(self, source: ComponentSource) -> None:
        with self._guard:
            self._source, self._linker, self._unpacked = source, None, None

    def __reduce__(self) -> tuple[Any, ...]:
        # Another process loads the linker itself; files of a temporary folder are sent along.
        state = {
            "data": None if self._unpacked is None else self.to_bytes(),
            "error_handler": getattr(self, "error_handler", None),
        }
        return SgtbLinker, (self.name, self.settings, self._source, self.scorer), state

    def __setstate__(self, state: dict[str, Any]) -> None:
        if state["data"] is not None:
            self.from_bytes(state["data"])
        if state["error_handler"] is not None:
            self.set_error_handler(state["error_handler"])


@Language.factory(
    FACTORY,
    assigns=["token.ent_kb_id", "span._.sgtb", "doc._.sgtb"],
    requires=["doc.ents"],
    default_config={
        "model": None, "kb": None, "reasons": False, "candidates": 5, "nil": None,
        "fuzzy": None, "overwrite": True, "labels_ignore": sorted(AMOUNTS),
        "store_kb": None, "batch_size": None, "scorer": {"@scorers": SCORER},
    },
    # Without weight: the component is not trained.
    default_score_weights={"nel_micro_f": None, "nel_micro_p": None, "nel_micro_r": None},
)  # fmt: skip
def make_linker(
    nlp: Language,
    name: str,
    model: str | Path | None,
    kb: str | Path | None,
    reasons: bool,
    candidates: int,
    nil: float | None,
    fuzzy: bool | None,
    overwrite: bool,
    labels_ignore: list[str],
    store_kb: bool | None,
    batch_size: int | None,
    scorer: Callable[..., Any] | None,
) -> SgtbLinker:
    """Make the component from its config."""
    from sgtb.linking.link_options import LinkerSettings

    linker = LinkerSettings(candidates=candidates, reasons=reasons, fuzzy=fuzzy, nil=nil)
    settings = ComponentSettings(linker, frozenset(labels_ignore), overwrite, store_kb, batch_size)
    return SgtbLinker(name, settings, _source(model, kb), scorer)


@registry.scorers(SCORER)
def make_scorer() -> Callable[..., dict[str, Any]]:
    """Return the scorer."""
    return score_links


def score_links(examples: Iterable[Example], **kwargs: Any) -> dict[str, Any]:
    """Score links as spaCy does; an entity without an id counts as NIL."""
    given = {key: value for key, value in kwargs.items() if key != "negative_labels"}
    return Scorer.score_links(examples, negative_labels=[NIL, ""], **given)


def _source(model: str | Path | None, kb: str | Path | None) -> ComponentSource:
    return ComponentSource(
        *(None if path is None else Path(path).expanduser() for path in (model, kb))
    )
