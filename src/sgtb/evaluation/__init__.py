"""Evaluation: how good answers are, how sure that is, and how to show it. It knows records."""

from sgtb.evaluation.answers import Answers
from sgtb.evaluation.bootstrap import Difference, Interval, interval, paired_bootstrap
from sgtb.evaluation.breakdown import Slice, breakdown
from sgtb.evaluation.metrics import (
    Accuracy,
    Ambiguity,
    Recall,
    TitleScore,
    ambiguity,
    bag_of_titles,
    candidate_recall,
    in_kb_accuracy,
)
from sgtb.evaluation.report import markdown_table

__all__ = [
    "Accuracy",
    "Ambiguity",
    "Answers",
    "Difference",
    "Interval",
    "Recall",
    "Slice",
    "TitleScore",
    "ambiguity",
    "bag_of_titles",
    "breakdown",
    "candidate_recall",
    "in_kb_accuracy",
    "interval",
    "markdown_table",
    "paired_bootstrap",
]
