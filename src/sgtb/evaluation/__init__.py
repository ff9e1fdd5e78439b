"""Evaluation: metrics, reliability, bootstrap intervals, tables and plots."""

from sgtb.evaluation.bootstrap import (
    Difference,
    Interval,
    interval,
    paired_bootstrap,
    ratio_interval,
)
from sgtb.evaluation.breakdown import Slice, breakdown
from sgtb.evaluation.markdown import markdown_table
from sgtb.evaluation.metrics import (
    Accuracy,
    Ambiguity,
    PrecisionRecall,
    Recall,
    ambiguity,
    bag_of_titles,
    candidate_recall,
    in_kb_accuracy,
)
from sgtb.evaluation.nil_scores import NilCurve, NilScores, nil_curve, nil_scores
from sgtb.evaluation.reliability import Calibration, calibration
from sgtb.evaluation.system_answers import SystemAnswers

__all__ = [
    "Accuracy",
    "Ambiguity",
    "Calibration",
    "Difference",
    "Interval",
    "NilCurve",
    "NilScores",
    "PrecisionRecall",
    "Recall",
    "Slice",
    "SystemAnswers",
    "ambiguity",
    "bag_of_titles",
    "breakdown",
    "calibration",
    "candidate_recall",
    "in_kb_accuracy",
    "interval",
    "markdown_table",
    "nil_curve",
    "nil_scores",
    "paired_bootstrap",
    "ratio_interval",
]
