"""LinkerCache: knowledge base and models of the linker experiment, cached by fingerprints.

A fingerprint covers files, code and settings: a change of any of them is a miss.
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from experiments.aida_data import AidaData, Say, code_fingerprint, silent
from experiments.kb_cache import pprforned_kb
from sgtb.core.errors import ModelFileError
from sgtb.kb.knowledge_base import KnowledgeBase
from sgtb.linking.linker_model import LinkerModel
from sgtb.linking.training.linker_training import LinkerTraining

_TRAINING_CODE = ("boosting",)
"""Besides the code of features, which is part of the fingerprint of the data."""


class LinkerCache:
    """A cache folder."""

    def __init__(self, folder: Path, say: Say = silent) -> None:
        self._folder, self._say = folder, say

    def kb(self, data: AidaData) -> KnowledgeBase:
        """Open the knowledge base of PPRforNED; the first time, build it."""
        return KnowledgeBase.open(pprforned_kb(data.folder, self._folder, self._say))

    def model(
        self,
        name: str,
        data: AidaData,
        kb: KnowledgeBase,
        settings: LinkerTraining,
        train: Callable[[], LinkerModel],
    ) -> LinkerModel:
        """Return a cached model, or train and cache it.

        name  distinguishes models of the same data and settings
        """
        made_of = [
            name, data.fingerprint, kb.state.fingerprint, asdict(settings),
            code_fingerprint(*_TRAINING_CODE),
        ]  # fmt: skip
        path = self._folder / f"linker-{_digest(made_of)}.safetensors"
        if path.exists():
            try:
                model = LinkerModel.load(path)
            except ModelFileError:
                pass  # a damaged cache file is a miss
            else:
                self._say(f"model, {name}: from {path}")
                return model
        model = train()
        path.parent.mkdir(parents=True, exist_ok=True)
        model.save(path)
        return model


def _digest(made_of: list[Any]) -> str:
    return hashlib.sha256(json.dumps(made_of, sort_keys=True).encode()).hexdigest()[:16]
