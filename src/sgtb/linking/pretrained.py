"""Pretrained: a linker in one folder.

FOLDER/
  config.json         description for programs
  model.safetensors   the model
  README.md           the model card
  kb/                 the knowledge base, optional
"""

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from sgtb.core.errors import ModelFileError, SgtbError
from sgtb.core.files import exchange, new_folder, sync_folder, write_whole
from sgtb.kb.kb_copy import duplicate
from sgtb.kb.knowledge_base import KnowledgeBase
from sgtb.linking.linker_model import LinkerModel
from sgtb.linking.model_card import model_card

LIBRARY = "sgtb"
FORMAT = 1
CONFIG, MODEL, CARD, KB = "config.json", "model.safetensors", "README.md", "kb"
_OURS = frozenset([CONFIG, MODEL, CARD, KB])
_MOST = 1 << 20  # size limit of config.json in bytes


@dataclass(frozen=True, slots=True)
class Pretrained:
    """Paths of a complete folder."""

    folder: Path
    model: Path
    kb: Path | None  # None: without knowledge base

    def kb_or(self, given: str | os.PathLike[str] | KnowledgeBase | None) -> Any:
        """Return the given knowledge base, or the folder's own."""
        if given is None and self.kb is None:
            raise ModelFileError(
                f"{self.folder}: written without its knowledge base; say which one to use it with"
            )
        return self.kb if given is None else given


def save_pretrained(
    folder: str | os.PathLike[str],
    model: LinkerModel,
    kb: KnowledgeBase,
    evaluation: Mapping[str, Any] | None = None,
    with_kb: bool = True,
) -> None:
    """Write a folder next to its target and rename it; an earlier one is replaced.

    evaluation  names and numbers for the model card, may be nested
    """
    target = Path(folder)
    _check_replaceable(target)
    if not target.parent.is_dir():
        raise SgtbError(f"{target}: there is no folder {target.parent} to write it to")
    _restore(target)
    with new_folder(target) as new:
        model.save(new / MODEL)
        if with_kb:
            duplicate(kb.path, new / KB)
            with KnowledgeBase.open(new / KB) as copy:  # it may have changed meanwhile
                about = copy.info()
        else:
            about = kb.info()
        config = _config(model, about, with_kb)
        card = model_card(target.name, config, model.origin, about, evaluation).encode()
        write_whole(new / CARD, card)
        config["card"] = _digest(card)
        write_whole(new / CONFIG, (json.dumps(config, indent=2) + "\n").encode())
        _put_in_place(new, target)


def find_pretrained(folder: str | os.PathLike[str]) -> Pretrained:
    """Find model and knowledge base in a folder."""
    place = Path(folder)
    config = _read_config(place)
    given = config.get("format")
    if given != FORMAT:
        newer = isinstance(given, int) and given > FORMAT
        way = "pip install --upgrade sgtb" if newer else "save the linker again"
        raise ModelFileError(
            f"{place / CONFIG}: format {given!r}; this release reads {FORMAT}: {way}"
        )
    model = _inside(place, config, "model")
    if model is None or not model.is_file():
        raise ModelFileError(f"{model or place / MODEL}: missing; the folder is not whole")
    kb = _inside(place, config, "kb")
    if kb is not None and not kb.is_dir():
        raise ModelFileError(
            f"{kb}: missing; the folder is not whole. If it was meant to be left out, give another "
            "knowledge base"
        )
    return Pretrained(place, model, kb)


def is_pretrained(folder: str | os.PathLike[str]) -> bool:
    """Return whether a folder has the config of a linker."""
    try:
        return bool(_read_config(Path(folder)))
    except ModelFileError:
        return False


def _config(model: LinkerModel, kb: Mapping[str, Any], with_kb: bool) -> dict[str, Any]:
    plan = model.forest.plan
    return {
        "library": LIBRARY,
        "format": FORMAT,
        "version": version(LIBRARY),
        "model": MODEL,
        "kb": KB if with_kb else None,
        "plan": plan.name,
        "beam_width": plan.beam_width,
        "trees": model.forest.forest.n_trees,
        "nil": model.nil.kind,
        "nil_odds": model.nil.odds,
        "nil_threshold": model.nil.threshold,
        "evidence": sorted(model.schema.evidence),
        "without": list(model.without),
        "entities": kb["entities"],
        "kb_fingerprint": kb["fingerprint"],
    }


def _read_config(place: Path) -> dict[str, Any]:
    path = place / CONFIG
    try:
        with open(path, "rb") as file:
            data = file.read(_MOST + 1)
        if len(data) > _MOST:
            raise ValueError(f"more than {_MOST:,} bytes")
        config = json.loads(data)
        if not isinstance(config, dict) or config.get("library") != LIBRARY:
            raise ValueError(f'it does not say "library": "{LIBRARY}"')
    except (FileNotFoundError, NotADirectoryError):
        there = "no linker" if place.is_dir() else "no such folder"
        raise ModelFileError(
            f"{place}: {there} (no {CONFIG}); `sgtb pack` or Linker.save_pretrained makes one"
        ) from None
    except OSError as error:
        raise ModelFileError(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{path}: not the config of a linker: {error}") from None
    return config


def _inside(place: Path, config: Mapping[str, Any], key: str) -> Path | None:
    """Return a path from the config, which must be a plain name within the folder."""
    name = config.get(key)
    if name is None:
        return None
    if not isinstance(name, str) or name in ("", ".", "..") or set(name) & set("/\\:\0"):
        raise ModelFileError(
            f"{place / CONFIG}: its {key} is {name!r:.80}; it must be a name within the folder"
        )
    return place / name


def _check_replaceable(target: Path) -> None:
    """Raise if replacing the target would lose anything."""
    if not target.name:
        raise SgtbError(f"{str(target)!r} has no name of its own; name a new folder")
    if not target.exists():
        return
    if not target.is_dir():
        raise SgtbError(f"{target}: is a file; name a new folder")
    there = {path.name for path in target.iterdir()}
    foreign = sorted(there - _OURS)
    if foreign or (there and not is_pretrained(target)):
        held = f"{foreign[0]!r}" if foreign else "other files"
        raise SgtbError(
            f"{target}: holds {held}, which is not of a saved linker; name a new folder"
        )
    written = _read_config(target).get("card") if CARD in there else None
    if CARD in there and _digest((target / CARD).read_bytes()) != written:
        raise SgtbError(
            f"{target / CARD} was edited since it was written; name a new folder, or move it away"
        )


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _put_in_place(new: Path, target: Path) -> None:
    """Move a folder to its target; an old one takes its place, to be deleted."""
    sync_folder(new)
    if not target.exists():
        os.rename(new, target)
    elif not exchange(new, target):  # in two steps, which `_restore` undoes after a kill
        os.rename(target, _old(target))
        try:
            os.rename(new, target)
        finally:
            _restore(target)
    sync_folder(target.parent)


def _restore(target: Path) -> None:
    """Move an old folder back if there is no new one; delete it otherwise."""
    old = _old(target)
    if target.exists():
        shutil.rmtree(old, ignore_errors=True)
    elif old.exists():
        os.rename(old, target)


def _old(target: Path) -> Path:
    return target.with_name(f".{target.name}.old")
