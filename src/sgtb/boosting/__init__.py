"""The learner: structured gradient tree boosting on arrays."""

from sgtb.boosting.data.pairs import BlockPairs, PairTable, TablePairs
from sgtb.boosting.data.problems import Problems
from sgtb.boosting.estimator import StructuredGradientBoosting
from sgtb.boosting.explain.contributions import Contribution, Contributions
from sgtb.boosting.explain.counterfactuals import Counterfactuals
from sgtb.boosting.search.decoder import Decoding
from sgtb.boosting.search.plan import PLANS, SearchPlan
from sgtb.boosting.trainer import TrainingSettings
from sgtb.boosting.training_progress import Check, TrainingProgress
from sgtb.boosting.trees.grower import TreeSettings

__all__ = [
    "PLANS",
    "BlockPairs",
    "Check",
    "Contribution",
    "Contributions",
    "Counterfactuals",
    "Decoding",
    "PairTable",
    "Problems",
    "SearchPlan",
    "StructuredGradientBoosting",
    "TablePairs",
    "TrainingProgress",
    "TrainingSettings",
    "TreeSettings",
]
