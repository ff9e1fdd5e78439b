"""Shortcuts: load a linker, build a knowledge base and train, each with one call."""

import atexit
import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sgtb.core.errors import CorpusError, EntityListError, KnowledgeBaseError, SettingsError
from sgtb.core.records import Document
from sgtb.kb.knowledge_base import KnowledgeBase
from sgtb.linking.link_options import LinkerSettings
from sgtb.linking.linker import KbSourcePath, Linker, ModelSource
from sgtb.linking.links import LinkedDocument, is_missing
from sgtb.starter import STARTER

if TYPE_CHECKING:
    from sgtb.linking.training.linker_training import LinkerTraining

_LISTS = ("aliases", "links")  # columns whose cells may hold several values, separated by |
_TEXTS = ("id", "name")

EntityTable = str | os.PathLike[str] | Iterable[str | Mapping[str, Any]] | Any
"""A file, names, records, or a data frame."""
TrainingDocument = Document | LinkedDocument | Mapping[str, Any]
DocumentSource = str | os.PathLike[str] | Iterable[TrainingDocument | str | os.PathLike[str]]
"""A file of annotated documents, several, or documents."""


def load(
    model: ModelSource = STARTER,
    kb: KbSourcePath | None = None,
    settings: LinkerSettings | None = None,
    *,
    candidates: int | None = None,
    reasons: bool | None = None,
    nil: float | None = None,
    fuzzy: bool | None = None,
    beam_width: int | None = None,
) -> Linker:
    """Load a linker: the starter, a packed folder, or a model with its knowledge base.

    model       "starter", a folder of `Linker.save_pretrained`, a model file or a model
    kb          a folder or a knowledge base; with the starter's model, one that has
                descriptions, types, popularity and links
    settings    all settings; those below replace single ones
    candidates  alternatives per link
    reasons     whether links have reasons
    nil         links below this confidence become NIL; 0 links every mention with candidates
    fuzzy       whether names that are not listed get candidates of similarly spelt names
    beam_width  hypotheses kept by the search
    """
    given: dict[str, Any] = {
        "candidates": candidates, "reasons": reasons, "nil": nil, "fuzzy": fuzzy,
        "beam_width": beam_width,
    }  # fmt: skip
    stated = {name: value for name, value in given.items() if value is not None}
    return Linker(model, kb, replace(settings or LinkerSettings(), **stated))


def build_kb(
    entities: EntityTable,
    path: str | os.PathLike[str] | None = None,
    *,
    skip_unknown_links: bool = False,
    variants: bool = True,
) -> KnowledgeBase:
    """Build a knowledge base from a list of entities, and open it.

    entities  a file (JSON Lines, CSV, Excel), a list of names or of records with the keys id, name,
              aliases, description, type, popularity and links, or a data frame with such columns
    path      folder to write; None: a temporary one, deleted when the process ends
    skip_unknown_links  whether links to ids that are not in the list are left out
    variants  whether rules make further names: surnames, acronyms, word order and others
    """
    from sgtb.kb.build.list_build import build_list
    from sgtb.kb.name_variants import DEFAULT_RULES

    if path is None:
        folder = tempfile.mkdtemp(prefix="sgtb-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        path = Path(folder) / "kb"
    target = Path(path)
    options: Any = {
        "skip_unknown_links": skip_unknown_links, "variants": DEFAULT_RULES if variants else None
    }  # fmt: skip
    if isinstance(entities, str | os.PathLike):
        build_list(Path(entities), target, **options)
        return KnowledgeBase.open(target)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "entities.jsonl"
        with open(file, "w", encoding="utf-8") as stream:
            for number, record in enumerate(_records(entities), 1):
                try:
                    stream.write(json.dumps(record) + "\n")
                except (TypeError, ValueError) as error:
                    raise KnowledgeBaseError(f"record {number}: {error}") from None
        try:
            build_list(file, target, **options)
        except EntityListError as error:
            raise EntityListError(*(_by_record(text, file) for text in error.args)) from None
        except KnowledgeBaseError as error:
            raise KnowledgeBaseError(_by_record(str(error), file)) from None
    return KnowledgeBase.open(target)


def train(
    kb: KbSourcePath,
    documents: DocumentSource,
    dev: DocumentSource | None = None,
    settings: "LinkerTraining | None" = None,
    *,
    without: Sequence[str] = (),
    refit: bool = False,
    seed: int = 0,
) -> Linker:
    """Train a linker; `save_pretrained` writes it to a folder.

    kb         a knowledge base or its folder
    documents  annotated documents, their files, or records as `sgtb link --json` prints them
    dev        documents for model selection; None: a fifth of the documents
    settings   None: by the size of the data
    without    feature groups to leave out
    refit      whether to train again on all documents, with the number of trees that dev chose
    """
    from sgtb.linking.training.linker_training import train_linker
    from sgtb.linking.training.training_data import TrainingData, settings_for, split_off_dev

    opened = kb if isinstance(kb, KnowledgeBase) else KnowledgeBase.open(kb)
    learn: Sequence[Document] = list(_documents(documents))
    held: Sequence[Document] = [] if dev is None else list(_documents(dev))
    if dev is None:
        learn, held = split_off_dev(learn, seed=seed)
    data, chosen = TrainingData.of(opened, learn), TrainingData.of(opened, held)
    if settings is None:
        settings = settings_for(data.n_known, len(data.documents), chosen.n_known)
        settings = replace(settings, seed=seed, training=replace(settings.training, seed=seed))
    refit = (refit or settings.refit) and bool(chosen.documents)
    settings = replace(settings, without=(*settings.without, *without), refit=refit)
    counts = {"train": len(data.documents), "dev": len(chosen.documents)}
    origin = {"documents": counts, **({"refit": True} if refit else {})}
    model = train_linker(opened, data.documents, chosen.documents, settings, origin=origin)
    return Linker(model, opened)


def calibrate(
    linker: Linker, documents: DocumentSource, *, nil_precision: float | None = None
) -> Linker:
    """Return the linker with confidence and NIL rule fitted to annotated documents.

    documents      annotated documents of the kind that will be linked, not those trained on
    nil_precision  wanted precision of links; less confident links become NIL
    """
    from sgtb.linking.training.recalibration import recalibrate
    from sgtb.linking.training.training_data import TrainingData

    given = TrainingData.of(linker.kb, _documents(documents))
    fitted = recalibrate(linker.pipeline, given.documents, nil_precision=nil_precision)
    return Linker(fitted.model, linker.kb, linker.settings)


def _records(entities: Any) -> Iterator[dict[str, Any]]:
    """Yield the records of a list or a data frame."""
    for number, row in enumerate(_rows(entities), 1):
        if isinstance(row, str):
            yield {"id": row, "name": row}
        elif isinstance(row, Mapping):
            cells = {str(key): _cell(key, cell) for key, cell in row.items()}
            yield {key: value for key, value in cells.items() if value is not None}
        else:
            raise KnowledgeBaseError(
                f"record {number}: {row!r:.60} is neither a name nor a record such as "
                '{"id": "C1", "name": "Acme"}'
            )


def _rows(entities: Any) -> Iterable[Any]:
    if hasattr(entities, "to_dicts"):  # polars
        return entities.to_dicts()  # type: ignore[no-any-return]
    if hasattr(entities, "to_dict") and hasattr(entities, "columns"):  # pandas
        return entities.to_dict("records")  # type: ignore[no-any-return]
    if isinstance(entities, Mapping) or not isinstance(entities, Iterable):
        raise KnowledgeBaseError(
            f"{entities!r:.60} is no list of entities; give a file, a list of names or records, or "
            "a data frame"
        )
    return entities


def _cell(key: object, value: Any) -> Any:
    """Return the value of a field for JSON; None: missing."""
    if hasattr(value, "tolist"):  # of numpy
        value = value.tolist()
    if is_missing(value):
        return None
    if key in _LISTS and isinstance(value, str):
        return [part for part in map(str.strip, value.split("|")) if part]
    if key in _TEXTS and isinstance(value, int | float) and not isinstance(value, bool):
        return str(int(value) if float(value).is_integer() else value)
    return list(value) if isinstance(value, tuple | set) else value


def _by_record(message: str, file: Path) -> str:
    """Return a message that counts records of the caller instead of lines of a temporary file."""
    return message.replace(f"{file}, line ", "record ").replace(f"{file}: ", "entities: ")


def _documents(given: DocumentSource) -> Iterator[Document]:
    from sgtb.formats.codecs.jsonl import document_of
    from sgtb.formats.registry import read_documents

    if isinstance(given, str | os.PathLike):
        given = [given]
    if isinstance(given, Mapping | Document | LinkedDocument) or not isinstance(given, Iterable):
        raise SettingsError(f"{given!r:.60} is no list of documents; give a list or a file")
    for number, one in enumerate(given, 1):
        if isinstance(one, Document):
            yield one
        elif isinstance(one, LinkedDocument | Mapping):
            yield document_of(dict(one) if isinstance(one, Mapping) else one.to_dict(), number)
        elif isinstance(one, str | os.PathLike):
            yield from read_documents(Path(one))
        else:
            raise CorpusError(
                f"document {number}: {one!r:.60} is no annotated document such as "
                '{"text": "…", "mentions": [{"start": 0, "end": 5, "entity": "Q7"}]}'
            )
