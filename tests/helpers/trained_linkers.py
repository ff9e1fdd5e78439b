"""Settings of quickly trained linkers, and spans to link."""

from sgtb.boosting.search.beam import SearchPlan
from sgtb.boosting.trainer import TrainingSettings
from sgtb.boosting.trees.grower import TreeSettings
from sgtb.linking.links import Span
from sgtb.linking.training.linker_training import LinkerTraining

PLANS = ("local", "bs", "bsg", "bibsg")
QUICK = LinkerTraining(
    plan=SearchPlan("bsg", beam_width=3),
    trees=TreeSettings(learning_rate=0.3, depth=3, min_leaf=10),
    training=TrainingSettings(n_trees=20, check_every=20, threads=1),
    folds=2,
    bits=10,
    topic_width=16,
    nil="never",
)
"""Coarse settings that still get nine mentions in ten right."""


def spans_of(document):
    """Return the mentions of a document as spans."""
    return [Span(mention.start, mention.end) for mention in document.mentions]
