"""AidaData: AIDA-CoNLL with PPRforNED's candidates; features and problems of each split.

Features are cached by a fingerprint of the input files and of the code.
"""

import hashlib
import json
import os
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

import sgtb
from experiments.aida_candidates import with_candidates
from experiments.entity_tables import TableSource, listed_candidates
from experiments.folds import headline_folds
from sgtb.boosting.data.pairs import PairTable
from sgtb.boosting.data.problems import Problems
from sgtb.core.dtypes import Floats, Ints
from sgtb.core.entities import EntityTable
from sgtb.core.errors import CorpusError, ModelFileError
from sgtb.core.records import Document
from sgtb.core.tensor_file import read_tensors, write_tensors
from sgtb.evaluation.system_answers import SystemAnswers
from sgtb.formats.codecs.aida_conll import ANNOTATIONS, TEXTS, read_aida
from sgtb.formats.codecs.pprforned import read_pprforned
from sgtb.linking.candidates.candidate_table import CandidateTable
from sgtb.linking.entities.background import Background, Lexicon
from sgtb.linking.entities.entity_facts import EntityFacts
from sgtb.linking.features.feature_matrix import Featurizer, Table
from sgtb.linking.features.schema import SCHEMA
from sgtb.linking.features.segmentation import Segments, segmented
from sgtb.linking.problem_packing import pack, pair_table
from sgtb.linking.training.renderings import renderings_of
from sgtb.text.word_vectors import WordVectors

SPLITS = ("train", "dev", "test")
FOLDS = 8
"""Folds of the cross-fitted features of training documents."""

_VERSION = 1
_PACKING_CODE = ("core", "formats", "text", "linking")
Say = Callable[[str], None]


def silent(message: str) -> None:
    """Discard a message."""


@dataclass(frozen=True)
class AidaData:
    """The documents of every split with their candidates."""

    folder: Path
    entities: EntityTable
    candidates: dict[str, CandidateTable]
    fingerprint: str
    seconds: float = 0.0
    """Time of reading."""

    @classmethod
    def read(cls, folder: Path, say: Say = silent) -> "AidaData":
        """Read the corpus and its candidates from a folder with `aida` and `pprforned` in it."""
        archive = folder / "pprforned" / "pprforned.tar.xz"
        names = (ANNOTATIONS, *(name for name, _ in TEXTS))
        files = [folder / "aida" / name for name in names] + [archive]
        for file in files:
            if not file.exists():
                raise CorpusError(
                    f"{file}: there is no such file; --data names the folder that holds "
                    "aida/ and pprforned/"
                )
        say("reading AIDA-CoNLL and PPRforNED")
        begin = time.perf_counter()
        ppr = read_pprforned(archive)
        documents = with_candidates(read_aida(folder / "aida"), ppr)
        candidates = {
            split: listed_candidates([d for d in documents if d.split == split], ppr.entities)
            for split in SPLITS
        }
        stamp = _fingerprint(files)
        return cls(folder, ppr.entities, candidates, stamp, time.perf_counter() - begin)

    def with_dev(self) -> "AidaData":
        """Return the same with the documents of dev among those of train."""
        both = listed_candidates([*self.documents("train"), *self.documents("dev")], self.entities)
        stamp = hashlib.sha256(f"{self.fingerprint} with dev".encode()).hexdigest()
        return replace(self, candidates={**self.candidates, "train": both}, fingerprint=stamp)

    def documents(self, split: str) -> tuple[Document, ...]:
        """Return the documents of a split."""
        return self.candidates[split].documents

    def answers(self, split: str, places: Ints) -> SystemAnswers:
        """Return answers from the positions of the chosen candidates."""
        return answers_of(self.candidates[split], self.entities, places)


def answers_of(candidates: CandidateTable, entities: EntityTable, places: Ints) -> SystemAnswers:
    """Return the entity id of every mention from the positions of chosen candidates."""
    ids = entities.ids
    given = iter(zip(places.tolist(), candidates.candidate_offsets[:-1].tolist(), strict=True))
    rows = []
    for document in candidates.documents:
        row: list[str | None] = []
        for mention in document.mentions:
            place, start = next(given) if mention.in_kb else (-1, 0)
            row.append(ids[candidates.entity[start + place]] if place >= 0 else None)
        rows.append(row)
    return SystemAnswers.of(candidates.documents, rows)


@dataclass(frozen=True)
class PackedAida:
    """The features of all splits for one seed, and the pair features."""

    candidates: dict[str, CandidateTable]
    features: dict[str, Floats]
    pairs: PairTable

    def problems(self, split: str, without: Collection[str] = ()) -> Problems:
        """Return the problems of a split without some feature groups."""
        return pack(self.candidates[split], self.features[split], self.pairs, without)


@dataclass(frozen=True)
class Known:
    """Background and entity facts, which need no training."""

    background: Background
    facts: EntityFacts

    def segmented(self, candidates: CandidateTable) -> Segments:
        """Split documents where their topic changes."""
        every = [mention for document in candidates.documents for mention in document.mentions]
        places = np.flatnonzero([mention.in_kb for mention in every])
        return segmented(candidates, places, self.facts, self.background)

    def table(self, candidates: CandidateTable) -> Table:
        """Return the table of features that need no training, for any documents."""
        return Table.build(candidates, self.facts, self.background.lexicon)


class Packer:
    """Computes and caches features; what does not depend on the seed is computed once."""

    def __init__(self, data: AidaData, cache: Path | None, say: Say = silent) -> None:
        self._data, self._cache, self._say = data, cache, say
        self._tables: dict[str, Table] = {}

    def pack(self, seed: int) -> PackedAida:
        """Return the features for a seed."""
        found = self._cached(seed)
        if found is None:
            found, _ = self.make(seed)
            self._keep(seed, found)
        return found

    def make(self, seed: int) -> tuple[PackedAida, Featurizer]:
        """Compute the features for a seed; also return the featurizer for other documents."""
        data = self._data
        for split in SPLITS:
            if split not in self._tables:
                self._say(f"features of {split}")
                self._tables[split] = self.known.table(self.segments[split].candidates)
        self._say(f"tagger and ranker, seed {seed}")
        folds = headline_folds(data.documents("train"), FOLDS, seed)[self.segments["train"].source]
        featurizer, train = Featurizer.fit(self._tables["train"], folds, seed)
        others = {name: featurizer.features(self._tables[name]) for name in ("dev", "test")}
        features = {"train": train, **others}
        candidates = {split: own.candidates for split, own in self.segments.items()}
        return PackedAida(candidates, features, pair_table(self.known.facts)), featurizer

    @cached_property
    def segments(self) -> dict[str, Segments]:
        """The documents of every split in segments; those of train also in other renderings."""
        data = self._data
        train = data.documents("train")
        copies, copied = renderings_of(train)
        table = listed_candidates([*train, *copies], data.entities)
        tables = {**data.candidates, "train": table}
        found = {split: self.known.segmented(table) for split, table in tables.items()}
        own, source = found["train"]
        document = np.concatenate([np.arange(len(train)), copied])
        return {**found, "train": Segments(own, document[source])}

    @cached_property
    def known(self) -> Known:
        """Lexicon and facts, computed on first use."""
        self._say("preparing lexicon and entity facts")
        data, words = self._data, WordVectors.glove()
        lexicon = Lexicon.build(data.documents("train"), data.entities.titles, words)
        source, numbers = TableSource(data.entities), np.arange(len(data.entities))
        background = Background.of(lexicon, source, numbers)
        return Known(background, EntityFacts.describe(source, background, numbers))

    def _path(self, seed: int) -> Path | None:
        if self._cache is None:
            return None
        return self._cache / f"aida-{self._data.fingerprint[:16]}-{seed}.safetensors"

    def _cached(self, seed: int) -> PackedAida | None:
        path = self._path(seed)
        if path is None or not path.exists():
            return None
        try:
            tensors, record = read_tensors(path, "aida features", _VERSION, 1 << 34)
            features = {split: tensors.pop(f"features {split}") for split in SPLITS}
            candidates = {split: own.candidates for split, own in self.segments.items()}
            whole = all(
                array.shape == (candidates[split].n_candidates, len(SCHEMA.features))
                for split, array in features.items()
            )
            if record.get("fingerprint") != self._data.fingerprint or not whole:
                return None
            packed = PackedAida(candidates, features, PairTable(**tensors))
        except (ModelFileError, ValueError, KeyError, TypeError):
            return None  # a damaged cache file is a miss
        self._say(f"features, seed {seed}: from {path}")
        return packed

    def _keep(self, seed: int, packed: PackedAida) -> None:
        path = self._path(seed)
        if path is None:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        tensors = {f"features {split}": array for split, array in packed.features.items()}
        record = {
            "kind": "aida features", "version": _VERSION, "fingerprint": self._data.fingerprint,
        }  # fmt: skip
        write_tensors(path, {**tensors, **vars(packed.pairs)}, record)


def default_cache() -> Path:
    """Return the cache folder: $XDG_CACHE_HOME/sgtb or ~/.cache/sgtb."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "sgtb"


def code_fingerprint(*folders: str) -> str:
    """Return a digest of all sources in some folders of the package."""
    digest = hashlib.sha256()
    for folder in folders:
        sources = sorted((Path(sgtb.__file__).parent / folder).rglob("*.py"))
        if not sources:
            raise ValueError(f"there is no folder {folder} of sources in sgtb")
        for source in sources:
            digest.update(source.read_bytes())
    return digest.hexdigest()


def _fingerprint(files: Collection[Path]) -> str:
    digest = hashlib.sha256()
    for file in files:
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    digest.update(code_fingerprint(*_PACKING_CODE).encode())
    schema = [SCHEMA.version, *SCHEMA.names, *SCHEMA.pairs, FOLDS, np.__version__]
    digest.update(json.dumps(schema).encode())
    return digest.hexdigest()
