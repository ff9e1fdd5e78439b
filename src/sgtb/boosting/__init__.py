"""The learner: structured gradient tree boosting on arrays."""

from sgtb.boosting.data.pairs import BlockPairs as BlockPairs
from sgtb.boosting.data.pairs import PairTable as PairTable
from sgtb.boosting.data.pairs import TablePairs as TablePairs
from sgtb.boosting.data.problems import Problems as Problems
from sgtb.boosting.estimator import StructuredGradientBoosting as StructuredGradientBoosting
from sgtb.boosting.explain.contributions import Contribution as Contribution
from sgtb.boosting.explain.contributions import Contributions as Contributions
from sgtb.boosting.explain.counterfactuals import Counterfactuals as Counterfactuals
from sgtb.boosting.search.beam import PLANS as PLANS
from sgtb.boosting.search.beam import Decoding as Decoding
from sgtb.boosting.search.beam import SearchPlan as SearchPlan
from sgtb.boosting.trainer import TrainingSettings as TrainingSettings
from sgtb.boosting.training_progress import Check as Check
from sgtb.boosting.training_progress import TrainingProgress as TrainingProgress
from sgtb.boosting.trees.grower import TreeSettings as TreeSettings
