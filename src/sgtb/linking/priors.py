"""Priors: how well known candidates are, as such and next to the mention's other candidates."""

import numpy as np

from sgtb.kernels import int64, kernel
from sgtb.learn.dtypes import Doubles, Floats, Ints
from sgtb.linking.choices import Choices
from sgtb.linking.facts import EntityFacts
from sgtb.linking.segments import rank, relative

POPULARITIES = ("log_in_links", "log_out_links", "popularity", "log_degree")
PRIORS = (
    "candidates", "in_link_prior", "popularity_prior", "in_links_below_best",
    "out_links_below_best", "popularity_below_best", "in_link_rank", "popularity_rank",
)  # fmt: skip
NAME_PRIOR_FEATURES = ("name_prior", "name_prior_below_best", "name_prior_rank")


def popularity_features(choices: Choices, facts: EntityFacts) -> Floats:
    """Return f4[C, len(POPULARITIES)]."""
    return np.stack([getattr(facts, name)[choices.entity] for name in POPULARITIES], axis=1)


def prior_features(choices: Choices, facts: EntityFacts) -> Floats:
    """Return f4[C, len(PRIORS)]; a prior is a candidate's share of its mention's total."""
    offsets, entity = choices.candidate_offsets, choices.entity
    odds = np.exp(relative(facts.popularity[entity].astype(np.float64), offsets))
    out = np.empty((len(entity), len(PRIORS)), np.float32)
    compare_priors(
        offsets, entity, facts.in_links, facts.log_in_links, facts.log_out_links, facts.popularity,
        odds, out,
    )  # fmt: skip
    return out


@kernel
def compare_priors(
    offsets: Ints, entity: Ints, in_links: Ints, log_in: Floats, log_out: Floats,
    popularity: Floats, odds: Doubles, out: Floats,
) -> None:  # fmt: skip
    """Compare the candidates of each mention with each other.

    odds  of each candidate, against the most popular of its mention
    """
    for m in range(offsets.shape[0] - 1):
        first, last = offsets[m], offsets[m + 1]
        links, total = 0.0, 0.0
        best_in, best_out, best = -np.inf, -np.inf, -np.inf
        for c in range(first, last):
            e = int64(entity[c])
            links += in_links[e] + 1.0
            total += odds[c]
            best_in = max(best_in, float(log_in[e]))
            best_out = max(best_out, float(log_out[e]))
            best = max(best, float(popularity[e]))
        for c in range(first, last):
            e = int64(entity[c])
            out[c, 0] = last - first
            out[c, 1] = (in_links[e] + 1.0) / max(links, 1e-300)
            out[c, 2] = odds[c] / max(total, 1e-300)
            out[c, 3] = float(log_in[e]) - best_in
            out[c, 4] = float(log_out[e]) - best_out
            out[c, 5] = float(popularity[e]) - best
            in_rank, rank = 0, 0
            for other in range(first, last):
                in_rank += log_in[entity[other]] > log_in[e]
                rank += popularity[entity[other]] > popularity[e]
            out[c, 6], out[c, 7] = in_rank, rank


def name_prior_features(choices: Choices) -> Floats:
    """Return f4[C, len(NAME_PRIOR_FEATURES)]; 0 where nothing is known of a name."""
    offsets, prior = choices.candidate_offsets, np.nan_to_num(choices.prior).astype(np.float64)
    columns = [prior, relative(prior, offsets), rank(prior, offsets)]
    return np.stack(columns, axis=1).astype(np.float32)
