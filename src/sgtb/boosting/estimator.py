"""StructuredGradientBoosting: the learner as one object with the habits of scikit-learn."""

import dataclasses
import os
import weakref
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from sgtb.boosting.data.binning import Binner
from sgtb.boosting.data.problems import Problems
from sgtb.boosting.explain.contributions import (
    Contribution,
    Contributions,
    checked_questions,
    explain,
)
from sgtb.boosting.explain.counterfactuals import Alternatives, weigh
from sgtb.boosting.model_file import Checkpoint, Model, load_model, save_model
from sgtb.boosting.search.candidate_blocks import bin_local
from sgtb.boosting.search.decoder import Decoding, checked_clamp, decode
from sgtb.boosting.search.plan import MAX_BEAM_WIDTH, PlanName, SearchPlan
from sgtb.boosting.trainer import Job, TrainingSettings, accuracy_of, train
from sgtb.boosting.training_progress import Callback, Check, TrainingBar
from sgtb.boosting.trees.forest import ForestArrays
from sgtb.boosting.trees.grower import TreeSettings
from sgtb.boosting.trees.tree_masks import AskingTrees, asking_trees
from sgtb.core.dtypes import Bytes, Ints
from sgtb.core.errors import NotFittedError, ProblemsError, SettingsError
from sgtb.core.settings import check_integer
from sgtb.core.tensor_file import MAX_BYTES
from sgtb.core.thread_pool import Crew


class StructuredGradientBoosting:
    """A joint model of documents of choices: F is a sum of trees, found by search plans.

    plan      a SearchPlan, or the name of one
    trees     how trees are grown
    training  how many, and how long to go on

    `get_params` and `set_params` reach into all three (``trees__depth=5``), so scikit-learn's
    `clone` and search tools can be used; a document is their sample.
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
        self._binned: tuple[weakref.ref[Problems], Binner, Bytes] | None = None
        self._asked: tuple[ForestArrays, AskingTrees | None] | None = None

    def fit(
        self,
        train_documents: Problems | Sequence[Problems],
        dev: Problems | Sequence[Problems] | None = None,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
        callbacks: Sequence[Callback] = (),
        progress: bool = False,
    ) -> Self:
        """Train; with `dev`, keep the number of trees that does best there.

        checkpoint  a file to keep the state in; a killed run, started again, goes on from it
        callbacks   called with a TrainingProgress after every tree; True ends the training
        progress    show a bar on standard error
        """
        settings = self._settings()
        job = Job(_joined(train_documents), None if dev is None else _joined(dev), *settings)
        store = None if checkpoint is None else Checkpoint(checkpoint, job)
        with ExitStack() as stack:
            told = list(callbacks)
            if progress:
                told.append(stack.enter_context(TrainingBar()))
            trained = train(job, told, store)
        forest = trained.forest.first(trained.best)
        self._model = Model(forest, *settings, job.train.n_local, job.train.n_pair, trained.checks)
        return self

    def predict(self, documents: Problems | Sequence[Problems]) -> Ints:
        """Return the choice at every mention, counted within it; -1 without candidates."""
        return self.decode(documents).choices

    def decode(
        self,
        documents: Problems | Sequence[Problems],
        n_best: int = 1,
        clamp: npt.ArrayLike | None = None,
    ) -> Decoding:
        """Search every document.

        n_best  sequences wanted per document; a beam holds no more than its width
        clamp   per mention, the choice that is certain, or -1. Clamped mentions are decided
                before all others, so that every other choice takes them into account
        """
        model, problems = self.model, self._checked(documents)
        check_integer("n_best", n_best, 1, MAX_BEAM_WIDTH)
        fixed = checked_clamp(problems, clamp)
        forest, local, pooled = model.compiled
        with self._crew_for(problems) as crew:
            return decode(
                problems, self._bins(problems, local, crew), pooled.thresholds, forest,
                model.forest.n_trees, model.plan, crew, n_best, fixed,
                self._asking(forest, pooled.n_features),
            )  # fmt: skip

    def alternatives(
        self,
        documents: Problems | Sequence[Problems],
        decoding: Decoding,
        clamp: npt.ArrayLike | None = None,
        margin: float = 8.0,
    ) -> Alternatives:
        """Weigh every candidate of decoded documents, all other decisions as they were.

        clamp   the one that the documents were decoded with
        margin  how far below the chosen candidate's own factor another one's may be and
                still be followed into the factors of later mentions; inf follows all
        """
        model, problems = self.model, self._checked(documents)
        fixed = checked_clamp(problems, clamp)
        forest, local, pooled = model.compiled
        with self._crew_for(problems) as crew:
            return weigh(
                problems, self._bins(problems, local, crew), pooled.thresholds, forest,
                model.forest.n_trees, model.plan, decoding, crew, fixed, margin,
                self._asking(forest, pooled.n_features),
            )  # fmt: skip

    def contributions(
        self,
        documents: Problems | Sequence[Problems],
        decoding: Decoding,
        mentions: npt.ArrayLike,
        rivals: npt.ArrayLike,
        clamp: npt.ArrayLike | None = None,
    ) -> Contributions:
        """Say why the chosen candidates are ahead of others: K questions, K answers.

        mentions  rows of the documents' mentions, K of them
        rivals    for each of these the candidate to compare with, counted within the mention
        clamp     the one that the documents were decoded with
        """
        model, problems = self.model, self._checked(documents)
        fixed = checked_clamp(problems, clamp)
        questions = checked_questions(problems, mentions, rivals)
        forest, local, pooled = model.compiled
        with self._crew_for(problems) as crew:
            return explain(
                problems, self._bins(problems, local, crew), pooled.thresholds, forest,
                model.forest.n_trees, model.plan, decoding, crew, *questions, fixed,
                self._asking(forest, pooled.n_features),
            )  # fmt: skip

    def contribution(
        self,
        documents: Problems | Sequence[Problems],
        decoding: Decoding,
        mention: int,
        rival: int,
        clamp: npt.ArrayLike | None = None,
    ) -> Contribution:
        """Say why the choice at one mention is ahead of a rival."""
        return self.contributions(documents, decoding, [mention], [rival], clamp)[0]

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
            names = (
                {f.name for f in dataclasses.fields(settings)} if settings is not None else set()
            )
            if settings is None or field not in names:
                raise SettingsError(
                    f"there is no parameter {key!r}; there are {', '.join(self.get_params())}"
                )
            setattr(self, group, dataclasses.replace(settings, **{field: value}))
        return self

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what this is; only scikit-learn asks."""
        from sklearn.utils import Tags, TargetTags

        return Tags(estimator_type=None, target_tags=TargetTags(required=False))

    def __sklearn_is_fitted__(self) -> bool:
        return self._model is not None

    def __getstate__(self) -> dict[str, Any]:
        # Weak references cannot be pickled, and what is soon made again need not be.
        return {**self.__dict__, "_binned": None, "_asked": None}

    def __repr__(self) -> str:
        return f"StructuredGradientBoosting({self.plan!r}, {self.trees!r}, {self.training!r})"

    def _bins(self, problems: Problems, binner: Binner, crew: Crew) -> Bytes:
        """Return the local features on bins; those of the documents seen last are still known.

        Who decodes documents mostly asks for alternatives and contributions next.
        """
        last = self._binned
        if last is not None and last[0]() is problems and last[1] is binner:
            return last[2]
        bins = bin_local(problems, binner, crew)
        self._binned = weakref.ref(problems), binner, bins
        return bins

    def _asking(self, forest: ForestArrays, n_global: int) -> AskingTrees | None:
        """Return the asking trees of the model, found when first asked for."""
        last = self._asked
        if last is None or last[0] is not forest:
            last = forest, asking_trees(forest, self.model.forest.n_trees, n_global)
            self._asked = last
        return last[1]

    def _settings(self) -> tuple[SearchPlan, TreeSettings, TrainingSettings]:
        plan = self.plan if isinstance(self.plan, SearchPlan) else SearchPlan(self.plan)
        return plan, self.trees or TreeSettings(), self.training or TrainingSettings()

    def _checked(self, documents: Problems | Sequence[Problems]) -> Problems:
        """Return the documents as one, if the model can be asked about them."""
        model, problems = self.model, _joined(documents)
        for name in ("n_local", "n_pair"):
            if getattr(problems, name) != getattr(model, name):
                raise ProblemsError(
                    f"the documents have {getattr(problems, name)} {name[2:]} features, "
                    f"the model was trained with {getattr(model, name)}"
                )
        return problems

    def _crew_for(self, problems: Problems) -> Crew:
        return Crew(self._settings()[2].threads if len(problems) > 1 else 1)

    def _groups(self) -> dict[str, SearchPlan | TreeSettings | TrainingSettings]:
        return dict(zip(_GROUPS, self._settings(), strict=True))


_GROUPS = ("plan", "trees", "training")


def _joined(documents: Problems | Sequence[Problems]) -> Problems:
    return documents if isinstance(documents, Problems) else Problems.concatenate(list(documents))
