"""LinkerModel: a trained linker in one safetensors file.

It holds forest, feature models, words, topics and schema, but no knowledge base: it works with any
that has the evidence of the schema.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from sgtb.boosting.model_file import Model, model_of, model_record, model_tensors
from sgtb.core.errors import ModelFileError, SgtbError
from sgtb.core.tensor_file import MAX_BYTES, Tensors, read_tensors, take, write_tensors
from sgtb.linking.calibration.confidence import Confidence, NilRule
from sgtb.linking.candidates.candidate_lookup import CandidateSettings
from sgtb.linking.candidates.weak_names import TrainedNames
from sgtb.linking.entities.background import Background, Lexicon
from sgtb.linking.entities.entity_source import ALL_EVIDENCE
from sgtb.linking.features.feature_matrix import Featurizer
from sgtb.linking.features.ranker import BINS, TAGS, Cuts, Ranker, Rankers, Tagger
from sgtb.linking.features.schema import COLLECTIVE, VERSION, Schema
from sgtb.linking.mentions.mention_tagger import MENTION_TAGS, MentionTagger
from sgtb.linking.nil_candidate import NIL_FEATURES, TrainingCounts

KIND = "linker"
FORMAT = 4
_FOREST = "forest "
_LARGEST = 1e15  # limit of all numbers, so that sums stay within float32
_MOST_COUNTED = 1 << 53
_TENSORS = {
    "words": (np.uint8, 1), "texts_with": (np.int32, 1), "titles_with": (np.int32, 1),
    "vectors": (np.float32, 2), "topic_words": (np.int32, 1), "topics": (np.float64, 2),
    "tagger": (np.float64, 2),
    "local": (np.float64, 1), "local_bins": (np.float64, 2), "local_cuts": (np.float32, 2),
    "joint": (np.float64, 1), "joint_bins": (np.float64, 2), "joint_cuts": (np.float32, 2),
    "memory": (np.uint8, 1),
}  # fmt: skip
_MENTION_TAGGER = "mention_tagger"


@dataclass(frozen=True)
class LinkerModel:
    """A trained linker without its knowledge base."""

    schema: Schema
    without: tuple[str, ...]  # feature groups left out
    candidates: CandidateSettings  # settings of the candidate lookup in training
    background: Background
    featurizer: Featurizer
    forest: Model
    origin: dict[str, Any]  # description of the training data
    confidence: Confidence = field(default_factory=Confidence)
    nil: NilRule = field(default_factory=NilRule)
    training_counts: TrainingCounts = field(default_factory=TrainingCounts)
    trained_names: TrainedNames = field(default_factory=TrainedNames)
    mention_tagger: MentionTagger | None = None  # None: mentions are found by rules

    @property
    def seen(self) -> Mapping[str, int]:
        """Number of training mentions by entity id."""
        return self.training_counts.entities

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model; equal models have equal bytes."""
        background, lexicon = self.background, self.background.lexicon
        models, counts = self.featurizer, self.training_counts
        memory = [counts.entities, counts.outside, counts.inside, self.trained_names.counts]
        tensors: Tensors = {
            "words": np.frombuffer("\n".join(lexicon.words).encode(), np.uint8),
            "texts_with": lexicon.texts_with, "titles_with": lexicon.titles_with,
            "vectors": lexicon.vectors,
            "topic_words": background.topic_words, "topics": background.topics,
            "tagger": models.tagger.weights,
            "local": models.rankers.local.weights,
            "local_bins": models.rankers.local.bin_weights,
            "local_cuts": models.local_cuts.values,
            "joint": models.rankers.joint.weights,
            "joint_bins": models.rankers.joint.bin_weights,
            "joint_cuts": models.joint_cuts.values,
            "memory": np.frombuffer(json.dumps(memory, separators=(",", ":")).encode(), np.uint8),
        }  # fmt: skip
        if self.mention_tagger is not None:
            tensors[_MENTION_TAGGER] = self.mention_tagger.weights
        for name, array in model_tensors(self.forest).items():
            tensors[f"{_FOREST}{name}"] = array
        record = {
            "kind": KIND,
            "version": FORMAT,
            "schema": {
                "version": self.schema.version,
                "evidence": sorted(self.schema.evidence),
                "features": list(self.schema.names),
                "pairs": list(self.schema.pairs),
            },
            "without": list(self.without),
            "candidates": asdict(self.candidates),
            "texts": lexicon.n_texts,
            "titles": lexicon.n_titles,
            "least_popularity": background.least_popularity,
            "forest": model_record(self.forest),
            "origin": self.origin,
            "confidence": self.confidence.to_dict(),
            "nil": asdict(self.nil),
        }
        write_tensors(path, tensors, record)

    @classmethod
    def load(cls, path: str | os.PathLike[str], max_bytes: int = MAX_BYTES) -> "LinkerModel":
        """Read a model file; raise a ModelFileError for anything else."""
        tensors, record = read_tensors(path, KIND, FORMAT, max_bytes)
        forest = {
            name.removeprefix(_FOREST): tensors.pop(name)
            for name in list(tensors)
            if name.startswith(_FOREST)
        }
        own = {_MENTION_TAGGER: (np.float64, 2)} if _MENTION_TAGGER in tensors else {}
        take(tensors, {**_TENSORS, **own}, path)
        try:
            return _model(tensors, forest, record, path)
        except SgtbError as error:
            text = str(error).removeprefix(f"{path}: ")
            raise ModelFileError(f"{path}: {text}") from None
        except (
            KeyError, TypeError, AttributeError, ValueError, OverflowError, RecursionError
        ) as error:  # fmt: skip
            text = f"its record is incomplete or malformed ({error})"
            raise ModelFileError(f"{path}: {text}") from None


def _model(tensors: Tensors, forest: Tensors, record: dict[str, Any], path: object) -> LinkerModel:
    schema = _schema(record["schema"])
    without = tuple(record["without"])
    lexicon = _lexicon(tensors, record)
    fixed = schema.features[: len(schema.fixed)]
    n_fixed, n_local = len(fixed), sum(feature.group not in COLLECTIVE for feature in fixed)
    featurizer = Featurizer(
        Tagger(_hashed(tensors, "tagger", (len(TAGS),))),
        Rankers(_ranker(tensors, "local", n_local), _ranker(tensors, "joint", n_fixed)),
        _cuts(tensors, "local_cuts", n_local),
        _cuts(tensors, "joint_cuts", n_fixed),
    )
    model = model_of(forest, record["forest"], path)
    _moderate(model.forest.value, "the values of its leaves")
    rule = NilRule(**record["nil"])
    own = len(NIL_FEATURES) if rule.kind == "candidate" else 0
    n_columns = len(schema.columns_without(without)) + own
    if model.n_local != n_columns or model.n_pair != len(schema.pairs):
        raise ModelFileError("its trees and its schema differ in their features")
    least = record["least_popularity"]
    if not isinstance(least, int | float) or not abs(least) <= _LARGEST:
        raise ModelFileError(f"its least popularity is {least!r}")
    if not isinstance(record["origin"], dict):
        raise ModelFileError("its origin is no JSON object")
    memory = json.loads(tensors["memory"].tobytes())
    if not isinstance(memory, list) or [type(part) for part in memory] != [dict] * 4:
        raise ModelFileError("its memory does not hold four tables of counts")
    tagger = None
    if _MENTION_TAGGER in tensors:
        tagger = MentionTagger(_hashed(tensors, _MENTION_TAGGER, (len(MENTION_TAGS),)))
    return LinkerModel(
        schema, without, CandidateSettings(**record["candidates"]),
        Background(lexicon, *_topics(tensors, len(lexicon.words)), float(least)),
        featurizer, model, record["origin"], Confidence.from_dict(record["confidence"]),
        rule, TrainingCounts(*memory[:3]), TrainedNames(memory[3]), tagger,
    )  # fmt: skip


def _schema(record: dict[str, Any]) -> Schema:
    if record["version"] != VERSION:
        raise ModelFileError(
            f"its features are of version {record['version']!r}; this release makes {VERSION}: "
            "train it again"
        )
    evidence = record["evidence"]
    if not isinstance(evidence, list) or not ALL_EVIDENCE.issuperset(evidence):
        raise ModelFileError(f"its evidence is {evidence!r:.80}")
    most = Schema.of(frozenset(evidence))
    names = record["features"]
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ModelFileError(f"its features are {names!r:.80}")
    schema = Schema.named(VERSION, most.evidence, names, most.pairs)
    # Computed groups that were added later may be missing, learned ones may not.
    if (
        list(schema.names) != names
        or not set(schema.features).issubset(most.features)
        or schema.learned != most.learned
        or list(schema.pairs) != record["pairs"]
    ):
        raise ModelFileError("its features are not those of this release; train it again")
    return schema


def _lexicon(tensors: Tensors, record: dict[str, Any]) -> Lexicon:
    text = tensors["words"].tobytes().decode()
    words = tuple(text.split("\n")) if text else ()
    n = len(words)
    if any(len(tensors[name]) != n for name in ("texts_with", "titles_with", "vectors")):
        raise ModelFileError(f"it has {n} words, but counts or vectors of another number")
    if any(a >= b for a, b in pairwise(words)):
        raise ModelFileError("its words are not in order")
    counts = record["texts"], record["titles"]
    for name, most in zip(("texts_with", "titles_with"), counts, strict=True):
        given = tensors[name]
        whole = isinstance(most, int) and not isinstance(most, bool) and 0 <= most < _MOST_COUNTED
        if not whole or given.min(initial=0) < 0 or given.max(initial=0) > most:
            raise ModelFileError(f"its counts {name} do not fit the {most!r} counted")
    _moderate(tensors["vectors"], "its word vectors")
    return Lexicon(
        words, counts[0], tensors["texts_with"], counts[1], tensors["titles_with"],
        tensors["vectors"],
    )  # fmt: skip


def _topics(tensors: Tensors, n_words: int) -> tuple[Any, Any]:
    words, topics = tensors["topic_words"], tensors["topics"]
    if len(words) != len(topics):
        raise ModelFileError("its topics do not fit their words")
    _moderate(topics, "its topics")
    if len(words) and not (words[0] >= 0 and words[-1] < n_words and (np.diff(words) > 0).all()):
        raise ModelFileError("the words of its topics are out of range or order")
    return words, topics


def _hashed(tensors: Tensors, name: str, width: tuple[int, ...]) -> Any:
    """Return weights of hashed clues; their number must be a power of two."""
    weights = tensors[name]
    size = len(weights)
    if weights.shape[1:] != width or size < 2 or size & (size - 1) or size > 1 << 30:
        raise ModelFileError(f"the weights {name} have the shape {weights.shape}")
    _moderate(weights, f"the weights {name}")
    return weights


def _moderate(numbers: Any, name: str) -> None:
    if not (np.abs(numbers) <= _LARGEST).all():  # False for NaN
        raise ModelFileError(f"one of {name} is NaN, infinite or beyond {_LARGEST:.0e}")


def _ranker(tensors: Tensors, name: str, n_features: int) -> Ranker:
    bins = tensors[f"{name}_bins"]
    if bins.shape != (n_features, BINS):
        raise ModelFileError(f"the bins of ranker {name} do not fit {n_features} features")
    _moderate(bins, f"the bins of ranker {name}")
    return Ranker(_hashed(tensors, name, ()), bins)


def _cuts(tensors: Tensors, name: str, n_features: int) -> Cuts:
    values = tensors[name]
    if values.shape != (n_features, BINS - 1) or np.isnan(values).any():
        raise ModelFileError(f"{name} do not fit {n_features} features")
    return Cuts(values)
