"""Model file: a trained model in one safetensors file, fully validated on reading.

A checkpoint is such a file too, with all trees grown so far and a fingerprint of the job.
"""

import hashlib
import json
import math
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sgtb.boosting.search.beam import SearchPlan
from sgtb.boosting.trainer import JobSettings, Trained, TrainingSettings
from sgtb.boosting.training_progress import Check
from sgtb.boosting.trees.forest import MAX_FEATURES, Forest
from sgtb.boosting.trees.grower import MAX_DEPTH, TreeSettings
from sgtb.core.dtypes import MAX_BINS
from sgtb.core.errors import ModelFileError, SgtbError
from sgtb.core.settings import check_integer, from_dict
from sgtb.core.tensor_file import MAX_BYTES, Tensors, read_tensors, take, write_tensors

VERSION = 1
_TENSORS = {
    "roots": (np.int32, 1), "feature": (np.int32, 1), "threshold": (np.float32, 1),
    "left": (np.int32, 1), "value": (np.float64, 1),
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Model:
    """A trained model: the forest, its search plan, and how it was trained."""

    forest: Forest
    plan: SearchPlan
    trees: TreeSettings
    training: TrainingSettings
    n_local: int
    n_pair: int
    checks: tuple[Check, ...]

    @classmethod
    def of(cls, trained: Trained, n_trees: int, settings: JobSettings) -> "Model":
        """Return the model of the first trees of a training."""
        return cls(**vars(settings), forest=trained.forest.first(n_trees), checks=trained.checks)

    @property
    def n_features(self) -> int:
        """Length of a row."""
        return self.plan.n_features(self.n_local, self.n_pair)


def save_model(model: Model, path: str | os.PathLike[str]) -> None:
    """Write a model; equal models give equal bytes."""
    write_tensors(path, model_tensors(model), {**model_record(model), "kind": "model"})


def load_model(path: str | os.PathLike[str], max_bytes: int = MAX_BYTES) -> Model:
    """Read a model, or raise ModelFileError."""
    tensors, record = read_tensors(path, "model", VERSION, max_bytes)
    return model_of(tensors, record, path)


def model_tensors(model: Model) -> Tensors:
    """Return the arrays of a model; `model_record` has the rest."""
    return {name: getattr(model.forest, name) for name in _TENSORS}


def model_record(model: Model) -> dict[str, Any]:
    """Return the JSON part of a model: all but its arrays."""
    return {
        "version": VERSION,
        **_result_settings(model),
        "n_local": model.n_local,
        "n_pair": model.n_pair,
        "checks": [list(check) for check in model.checks],
    }


def model_of(tensors: Tensors, record: dict[str, Any], path: object) -> Model:
    """Make a model of `model_tensors` and `model_record`, or raise a ModelFileError on `path`.

    The tensors must be the model's and no others; further entries of the record are left alone.
    """
    if record.get("version") != VERSION:
        raise ModelFileError(
            f"{path}: a model of format version {record.get('version')!r}; "
            f"this release reads {VERSION}"
        )
    take(tensors, _TENSORS, path)
    forest = Forest(**tensors)
    try:
        for key in ("n_local", "n_pair"):
            check_integer(key, record[key], 0, MAX_FEATURES)
        model = Model(
            forest=forest,
            plan=from_dict(SearchPlan, record["plan"]),
            trees=from_dict(TreeSettings, record["trees"]),
            training=from_dict(TrainingSettings, record["training"]),
            n_local=record["n_local"],
            n_pair=record["n_pair"],
            checks=tuple(_check(entry) for entry in record["checks"]),
        )
        check_forest(forest, model.n_features)
    except SgtbError as error:
        raise ModelFileError(f"{path}: {error}") from None
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
        raise ModelFileError(f"{path}: its record is incomplete or malformed ({error})") from None
    return model


class Checkpoint:
    """File to resume a training from; `digests` are of the training documents and dev, by part."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        settings: JobSettings,
        digests: tuple[list[str], list[str]],
    ) -> None:
        self._path, self._settings = Path(path), settings
        self._fingerprint = fingerprint(settings, digests)

    def resume(self) -> Trained | None:
        """Return the state that an earlier run of the same job stored; None if there is none."""
        if not self._path.exists():
            return None
        tensors, record = read_tensors(self._path, "checkpoint", VERSION)
        if record.get("fingerprint") != self._fingerprint:
            raise ModelFileError(
                f"{self._path}: this checkpoint is of other documents or settings; "
                "delete it, or name another file"
            )
        model = model_of(tensors, record, self._path)
        n_trees, checked = model.forest.n_trees, [check.n_trees for check in model.checks]
        if checked[-1:] != [n_trees] or n_trees > self._settings.training.n_trees:
            raise ModelFileError(f"{self._path}: its checks and its trees do not fit; delete it")
        return Trained(model.forest, model.checks, n_trees)

    def keep(self, trained: Trained) -> None:
        """Write the state."""
        model = Model.of(trained, trained.forest.n_trees, self._settings)
        record = {**model_record(model), "kind": "checkpoint", "fingerprint": self._fingerprint}
        write_tensors(self._path, model_tensors(model), record)


def fingerprint(settings: JobSettings, digests: tuple[list[str], list[str]]) -> str:
    """Return a digest of everything that affects the result of a training."""
    record = {**_result_settings(settings), "train": digests[0], "dev": digests[1]}
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()


def _result_settings(of: Model | JobSettings) -> dict[str, Any]:
    """Return the settings that affect the result; threads and caching do not."""
    training = {key: getattr(of.training, key) for key in _RESULT_SETTINGS}
    return {"plan": asdict(of.plan), "trees": asdict(of.trees), "training": training}


_RESULT_SETTINGS = ("n_trees", "check_every", "patience", "seed")


def _check(entry: Any) -> Check:
    n_trees, train, dev = entry
    numbers = [train] if dev is None else [train, dev]
    if not isinstance(n_trees, int) or not all(
        isinstance(n, int | float) and math.isfinite(n) for n in numbers
    ):
        raise ModelFileError(f"a check of its history is {entry!r}")
    return Check(n_trees, float(train), None if dev is None else float(dev))


def check_forest(forest: Forest, n_features: int) -> None:
    """Raise unless every walk through every tree stays inside it and ends."""
    roots, feature, left = forest.roots, forest.feature, forest.left
    n_nodes = len(feature)
    if any(len(array) != n_nodes for array in (forest.threshold, left, forest.value)):
        raise ModelFileError("its node arrays differ in length")
    sizes = np.diff(roots.astype(np.int64))  # in 32 bits it might wrap around
    if len(roots) == 0 or roots[0] != 0 or roots[-1] != n_nodes or (sizes < 1).any():
        raise ModelFileError("its root offsets do not add up")
    if n_nodes and (feature.min() < -1 or feature.max() >= n_features):
        raise ModelFileError(f"a node tests a feature that is not among the {n_features}")
    if not np.isfinite(forest.threshold).all() or not np.isfinite(forest.value).all():
        raise ModelFileError("a threshold or a leaf value is NaN or infinite")
    _check_links(forest)
    tested, _ = forest.distinct_splits()
    if (tested[MAX_BINS - 1 :] == tested[: 1 - MAX_BINS]).any():
        raise ModelFileError(f"a feature has more than {MAX_BINS - 1} thresholds")


def _check_links(forest: Forest) -> None:
    """Raise unless the children's links make every tree a tree."""
    node = np.arange(len(forest.left))
    wide = forest.roots.astype(np.int64)
    end = np.repeat(forest.roots[1:], wide[1:] - wide[:-1])
    inside = forest.feature >= 0
    if forest.left[~inside].any() or forest.value[inside].any():
        raise ModelFileError("a leaf has children, or an inner node a value")
    left = forest.left[inside].astype(np.int64)
    # A child stands after its parent, which rules out cycles, and in the same tree.
    if (left <= node[inside]).any() or (left + 1 >= end[inside]).any():
        raise ModelFileError("a child index is out of range")
    children = np.sort(np.concatenate([left, left + 1, forest.roots[:-1]]))
    if not np.array_equal(children, node):
        raise ModelFileError("a node has no parent, or more than one")
    if forest.depth() > MAX_DEPTH:
        raise ModelFileError(f"a tree is deeper than {MAX_DEPTH} levels")
