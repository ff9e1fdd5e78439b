"""StructuredGradientBoosting: the learner with the interface of scikit-learn."""

import dataclasses
import os
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from sgtb.boosting.data.binning import Binner
from sgtb.boosting.data.problems import Problems
from sgtb.boosting.explain.contributions import (
    Contribution,
    Contributions,
    checked_comparisons,
    contributions,
)
from sgtb.boosting.explain.counterfactuals import Counterfactuals, counterfactuals
from sgtb.boosting.model_file import Checkpoint, Model, load_model, save_model
from sgtb.boosting.search.beam import (
    MAX_BEAM_WIDTH,
    Decoding,
    PlanName,
    SearchInput,
    SearchModel,
    SearchPlan,
    bin_local,
    checked_clamp,
    decode,
)
from sgtb.boosting.trainer import (
    JobSettings,
    LocalSource,
    TrainingSettings,
    TrainingSource,
    accuracy_of,
    boost,
)
from sgtb.boosting.training_progress import Callback, Check, TrainingBar
from sgtb.boosting.trees.grower import TreeSettings
from sgtb.core.dtypes import Bytes, Ints
from sgtb.core.errors import NotFittedError, SettingsError
from sgtb.core.settings import check_integer
from sgtb.core.tensor_file import MAX_BYTES
from sgtb.core.thread_pool import ThreadPool


class StructuredGradientBoosting:
    """Structured gradient tree boosting: S = Σ F (eq. 1), F a sum of trees (eq. 7).

    plan      a SearchPlan, or the name of one
    trees     how trees are grown
    training  how many, and when to stop

    `get_params` and `set_params` include the fields of all three (``trees__depth=5``), as
    scikit-learn's `clone` and search tools expect; a document is a sample.
    """

    def __init__(
        self,
        plan: SearchPlan | PlanName = "bsg",
        trees: TreeSettings | None = None,
        training: TrainingSettings | None = None,
    ) -> None:
        self.plan = plan
        self.trees = trees
        self.training = training
        self._model: Model | None = None
        self._search_model: tuple[Model, SearchModel, Binner] | None = None
        self._binned: tuple[weakref.ref[Problems], Binner, Bytes] | None = None

    def fit(
        self,
        train_documents: Problems | Sequence[Problems],
        dev: Problems | Sequence[Problems] | None = None,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
        callbacks: Sequence[Callback] = (),
        progress: bool = False,
    ) -> Self:
        """Train; with `dev`, keep the number of trees with the best accuracy there.

        checkpoint  a file for the state; an interrupted run resumes from it
        callbacks   called with a TrainingProgress after every tree; True ends the training
        progress    show a bar on standard error
        """
        train, held_out = _joined(train_documents), None if dev is None else _joined(dev)
        settings = self.job_settings(train.n_local, train.n_pair)
        with ThreadPool(settings.training.threads) as pool:
            source = LocalSource(train, held_out, settings, pool)
            return self.fit_from(
                source, checkpoint=checkpoint, callbacks=callbacks, progress=progress
            )

    def fit_from(
        self,
        source: TrainingSource,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
        callbacks: Sequence[Callback] = (),
        progress: bool = False,
    ) -> Self:
        """Train on the documents of a source, as `fit` does."""
        settings = source.settings
        store = None
        if checkpoint is not None:
            store = Checkpoint(checkpoint, settings, source.digests())
        with TrainingBar() if progress else nullcontext() as bar:
            trained = boost(source, (*callbacks, *([] if bar is None else [bar])), store)
        self._model = Model.of(trained, trained.best, settings)
        return self

    def job_settings(self, n_local: int, n_pair: int) -> JobSettings:
        """Return the settings of a training on documents with these numbers of features."""
        return JobSettings(*self._settings(), n_local, n_pair)

    def predict(self, documents: Problems | Sequence[Problems]) -> Ints:
        """Return the choice at every mention (eq. 3), counted within it; -1 without candidates."""
        return self.decode(documents).choices

    def decode(
        self,
        documents: Problems | Sequence[Problems],
        n_best: int = 1,
        clamp: npt.ArrayLike | None = None,
    ) -> Decoding:
        """Search every document.

        n_best  sequences wanted per document; a beam holds no more than its width
        clamp   per mention, a fixed choice, or -1. Clamped mentions are decided before all others,
                so that every other choice takes them into account
        """
        if n_best != 1:
            check_integer("n_best", n_best, 1, MAX_BEAM_WIDTH)
        with self._search_input(documents, clamp) as given:
            return decode(given, n_best)

    def counterfactuals(
        self,
        documents: Problems | Sequence[Problems],
        decoding: Decoding,
        clamp: npt.ArrayLike | None = None,
        margin: float = 8.0,
    ) -> Counterfactuals:
        """Score every candidate of decoded documents, all other decisions unchanged.

        clamp   the one that the documents were decoded with
        margin  largest difference of the chosen candidate's own factor and another one's for which
                the factors of later mentions are rescored; inf: always
        """
        with self._search_input(documents, clamp) as given:
            return counterfactuals(given, decoding, margin)

    def contributions(
        self,
        documents: Problems | Sequence[Problems],
        decoding: Decoding,
        mentions: npt.ArrayLike,
        runner_ups: npt.ArrayLike,
        clamp: npt.ArrayLike | None = None,
    ) -> Contributions:
        """Explain why the chosen candidates are ahead of others, in K comparisons.

        mentions    rows of the documents' mentions, K of them
        runner_ups  for each of these the candidate to compare with, counted within the mention
        clamp       the one that the documents were decoded with
        """
        with self._search_input(documents, clamp) as given:
            compared = checked_comparisons(given.problems, mentions, runner_ups)
            return contributions(given, decoding, *compared)

    def contribution(
        self,
        documents: Problems | Sequence[Problems],
        decoding: Decoding,
        mention: int,
        runner_up: int,
        clamp: npt.ArrayLike | None = None,
    ) -> Contribution:
        """Explain why the choice at one mention is ahead of another candidate."""
        return self.contributions(documents, decoding, [mention], [runner_up], clamp)[0]

    def score(
        self, documents: Problems | Sequence[Problems], gold: npt.ArrayLike | None = None
    ) -> float:
        """Return the share of mentions decided right; one without its gold counts as wrong."""
        problems = _joined(documents)
        if gold is not None:
            problems = dataclasses.replace(problems, gold=np.asarray(gold, np.int32))
        return accuracy_of(self.predict(problems), problems)

    @property
    def model(self) -> Model:
        """The trained model."""
        if self._model is None:
            raise NotFittedError("this StructuredGradientBoosting is not trained: call fit or load")
        return self._model

    @property
    def history(self) -> tuple[Check, ...]:
        """The checks made during training."""
        return self.model.checks

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the trained model to one safetensors file."""
        save_model(self.model, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str], max_bytes: int = MAX_BYTES) -> Self:
        """Read a model that `save` wrote; anything else is a ModelFileError."""
        return cls.of(load_model(path, max_bytes))

    @classmethod
    def of(cls, model: Model) -> Self:
        """Return the estimator of a trained model."""
        estimator = cls(model.plan, model.trees, model.training)
        estimator._model = model
        return estimator

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the constructor's arguments, and with `deep` also their fields."""
        params: dict[str, Any] = {name: getattr(self, name) for name in _GROUPS}
        if deep:
            for name, settings in self._groups().items():
                for field in dataclasses.fields(settings):
                    params[f"{name}__{field.name}"] = getattr(settings, field.name)
        return params

    def set_params(self, **params: Any) -> Self:
        """Set arguments by name, fields of the groups as ``group__field``."""
        for name in _GROUPS:
            if name in params:
                setattr(self, name, params.pop(name))
        for key, value in params.items():
            group, _, field = key.partition("__")
            settings = self._groups().get(group)
            if settings is None or field not in {f.name for f in dataclasses.fields(settings)}:
                raise SettingsError(
                    f"there is no parameter {key!r}; there are {', '.join(self.get_params())}"
                )
            setattr(self, group, dataclasses.replace(settings, **{field: value}))
        return self

    def __sklearn_tags__(self) -> Any:
        """Tags of scikit-learn; called by scikit-learn only."""
        from sklearn.utils import Tags, TargetTags

        return Tags(estimator_type=None, target_tags=TargetTags(required=False))

    def __sklearn_is_fitted__(self) -> bool:
        return self._model is not None

    def __getstate__(self) -> dict[str, Any]:
        # The compiled forest is large and soon computed again; weak references cannot be pickled.
        return {**self.__dict__, "_search_model": None, "_binned": None}

    def __repr__(self) -> str:
        return f"StructuredGradientBoosting({self.plan!r}, {self.trees!r}, {self.training!r})"

    @contextmanager
    def _search_input(
        self, documents: Problems | Sequence[Problems], clamp: npt.ArrayLike | None
    ) -> Iterator[SearchInput]:
        model, problems = self.model, _joined(documents)
        expected = model.n_local, model.n_pair
        problems.check_features(expected, "the documents have", "the model was trained with")
        fixed = checked_clamp(problems, clamp)
        compiled, binner = self._compiled(model)
        threads = self._settings()[2].threads if len(problems) > 1 else 1
        with ThreadPool(threads) as pool:
            bins = self._bins(problems, binner, pool)
            yield SearchInput(problems, bins, compiled, fixed, pool)

    def _compiled(self, model: Model) -> tuple[SearchModel, Binner]:
        """Compile the forest for search; the result is kept."""
        last = self._search_model
        if last is None or last[0] is not model:
            compiled = SearchModel.compiled(model.forest, model.plan, model.n_local, model.n_pair)
            last = self._search_model = model, *compiled
        return last[1:]

    def _bins(self, problems: Problems, binner: Binner, pool: ThreadPool) -> Bytes:
        """Bin the local features; cached, as explanations follow the decoding of a document."""
        last = self._binned
        if last is not None and last[0]() is problems and last[1] is binner:
            return last[2]
        bins = bin_local(problems, binner, pool)
        self._binned = weakref.ref(problems), binner, bins
        return bins

    def _settings(self) -> tuple[SearchPlan, TreeSettings, TrainingSettings]:
        plan = self.plan if isinstance(self.plan, SearchPlan) else SearchPlan(self.plan)
        return plan, self.trees or TreeSettings(), self.training or TrainingSettings()

    def _groups(self) -> dict[str, SearchPlan | TreeSettings | TrainingSettings]:
        return dict(zip(_GROUPS, self._settings(), strict=True))


_GROUPS = ("plan", "trees", "training")


def _joined(documents: Problems | Sequence[Problems]) -> Problems:
    return documents if isinstance(documents, Problems) else Problems.concatenate(list(documents))
