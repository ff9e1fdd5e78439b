"""LinkerCache: knowledge base and models of the linker experiment, kept under fingerprints.

What is kept goes by what it was made of: files, code and settings. Where one of these has
changed the name is another, and it is made anew.
"""

import hashlib
import json
from collections.abc import Callable, Collection
from dataclasses import asdict
from pathlib import Path
from typing import Any

import sgtb
from experiments.aida_data import AidaData, Say, silent
from sgtb.core.errors import KnowledgeBaseError, ModelFileError
from sgtb.kb.build.pprforned_build import build_pprforned
from sgtb.kb.knowledge_base import KnowledgeBase
from sgtb.linking.linker_model import LinkerModel
from sgtb.linking.training.linker_training import LinkerTraining

_KB_CODE = ("corpora", "kb", "text")
_TRAINING_CODE = ("learn",)
"""Beside the code that makes features, which the fingerprint of the data has seen."""


class LinkerCache:
    """A folder with what can be made again."""

    def __init__(self, folder: Path, say: Say = silent) -> None:
        self._folder, self._say = folder, say

    def kb(self, data: AidaData) -> KnowledgeBase:
        """Open the knowledge base of PPRforNED; the first time, build it."""
        archive = data.folder / "pprforned" / "pprforned.tar.xz"
        seen = hashlib.sha256(archive.read_bytes()).hexdigest()
        place = self._folder / f"pprforned-{_digest([seen, _code(_KB_CODE)])}"
        try:
            return KnowledgeBase.open(place)
        except KnowledgeBaseError:  # not there yet, or damaged
            self._say(f"building a knowledge base from PPRforNED: {place}")
        place.parent.mkdir(parents=True, exist_ok=True)
        build_pprforned(archive, place)
        return KnowledgeBase.open(place)

    def model(
        self,
        name: str,
        data: AidaData,
        kb: KnowledgeBase,
        settings: LinkerTraining,
        train: Callable[[], LinkerModel],
    ) -> LinkerModel:
        """Return a model that was trained before, or train it and keep it.

        name  tells models of the same data and settings apart
        """
        made_of = [
            name, data.fingerprint, kb.state.fingerprint, asdict(settings), _code(_TRAINING_CODE),
        ]  # fmt: skip
        path = self._folder / f"linker-{_digest(made_of)}.safetensors"
        if path.exists():
            try:
                model = LinkerModel.load(path)
            except ModelFileError:
                pass  # a damaged file of the cache is made anew
            else:
                self._say(f"model, {name}: from {path}")
                return model
        model = train()
        path.parent.mkdir(parents=True, exist_ok=True)
        model.save(path)
        return model


def _code(parts: Collection[str]) -> str:
    """Return a fingerprint of some of this package's folders."""
    digest = hashlib.sha256()
    for part in parts:
        for source in sorted((Path(sgtb.__file__).parent / part).glob("*.py")):
            digest.update(source.read_bytes())
    return digest.hexdigest()


def _digest(made_of: list[Any]) -> str:
    return hashlib.sha256(json.dumps(made_of, sort_keys=True).encode()).hexdigest()[:16]
