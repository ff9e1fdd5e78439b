"""The structured learner: documents of joint choices, trees, beams. It knows only arrays."""

from sgtb.learn.alternatives import Alternatives
from sgtb.learn.contributions import Contribution, Contributions
from sgtb.learn.decoder import Decoding
from sgtb.learn.estimator import StructuredGradientBoosting
from sgtb.learn.grower import TreeSettings
from sgtb.learn.pairs import BlockPairs, PairTable, TablePairs
from sgtb.learn.plan import PLANS, SearchPlan
from sgtb.learn.problems import Problems
from sgtb.learn.trainer import Check, Progress, TrainingSettings

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
    "Progress",
    "SearchPlan",
    "StructuredGradientBoosting",
    "TablePairs",
    "TrainingSettings",
    "TreeSettings",
]
