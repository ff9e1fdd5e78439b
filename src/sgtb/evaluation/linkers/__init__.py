"""Evaluation of linkers on documents with gold, and their mistakes."""

from sgtb.evaluation.linkers.data_sets import CorpusFile, data_sets
from sgtb.evaluation.linkers.end_to_end import EndToEndScores, evaluate_end_to_end
from sgtb.evaluation.linkers.linker_evaluation import evaluate_linkers
from sgtb.evaluation.linkers.mistakes import Mistake, find_mistakes
from sgtb.evaluation.linkers.runs import EvaluationSettings
from sgtb.evaluation.linkers.scores import (
    Evaluation,
    IncompleteEvaluationError,
    SetScores,
    SystemScores,
)

__all__ = [
    "CorpusFile", "EndToEndScores", "Evaluation", "EvaluationSettings", "IncompleteEvaluationError",
    "Mistake", "SetScores", "SystemScores", "data_sets", "evaluate_end_to_end", "evaluate_linkers",
    "find_mistakes",
]  # fmt: skip
