"""The structured learner: documents of joint choices, trees, beams. It knows only arrays."""

from sgtb.boosting.data.pairs import BlockPairs, PairTable, TablePairs
from sgtb.boosting.data.problems import Problems
from sgtb.boosting.estimator import StructuredGradientBoosting
from sgtb.boosting.explain.contributions import Contribution, Contributions
from sgtb.boosting.explain.counterfactuals import Alternatives
from sgtb.boosting.search.decoder import Decoding
from sgtb.boosting.search.plan import PLANS, SearchPlan
from sgtb.boosting.trainer import TrainingSettings
from sgtb.boosting.training_progress import Check, TrainingProgress
from sgtb.boosting.trees.grower import TreeSettings

__all__ = [
    "PLANS",
    "Alternatives",
    "BlockPairs",
    "Check",
    "Contribution",
    "Contributions",
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
