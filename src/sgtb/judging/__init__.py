"""Judging: how good linkers are on documents with gold, and what they get wrong."""

from sgtb.judging.data_sets import CorpusFile, data_sets
from sgtb.judging.evaluate import EvaluationSettings, evaluate_linkers
from sgtb.judging.mistakes import Mistake, find_mistakes
from sgtb.judging.scores import Evaluation, SetScores, SystemScores

__all__ = [
    "CorpusFile",
    "Evaluation",
    "EvaluationSettings",
    "Mistake",
    "SetScores",
    "SystemScores",
    "data_sets",
    "evaluate_linkers",
    "find_mistakes",
]
