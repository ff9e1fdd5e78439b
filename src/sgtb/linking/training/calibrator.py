"""Calibrator: what documents that took no part in training tell about a linker's own decisions.

They tell how often it is right when it is so and so sure, how often a name means nothing in the
knowledge base, and below which confidence not linking is the better answer.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from sgtb.core.dtypes import Doubles, Ints, Longs
from sgtb.core.progress import Progress, silent
from sgtb.core.records import NIL, Document
from sgtb.core.segments import group_max
from sgtb.kb.knowledge_base import KnowledgeBase
from sgtb.linking.calibration.confidence import KINDS, NEVER, SAME, Bools, Confidence, Curve, Kind
from sgtb.linking.calibration.decision_policy import DecisionPolicy
from sgtb.linking.calibration.isotonic import falling_curve, rising_curve
from sgtb.linking.calibration.nil_rule import (
    NilKind,
    NilRule,
    best_threshold,
    choose_threshold,
    unknown_as_nil,
)
from sgtb.linking.link_options import LinkerSettings
from sgtb.linking.linker import Linker
from sgtb.linking.linker_model import LinkerModel

FOLDS = 5
"""Dev documents are dealt into so many to compare kinds of confidence."""
NEEDED: dict[Kind, int] = {"plain": 0, "temperature": 50, "isotonic": 200}
"""Mentions with several candidates from which on a kind of confidence is tried."""
CLEARLY = 3
"""Right answers that something must win on documents held out before it is believed in."""
CERTAIN = 1e-6
"""In log loss no confidence is nearer to 0 or 1: one wrong certainty would cost without end."""
_TEMPERATURES = tuple(10 ** (i / 100) for i in range(-100, 101))
_ALL = 1_000_000


class Observed(NamedTuple):
    """What a linker that trusts its search said of K annotated mentions that have candidates.

    document     i8[K]    the number of the mention's document
    offsets      i8[K+1]  the candidates of each; where NIL is one, it is the last
    probability  f8[C]    by the search
    choice       i4[K]    counted within the mention
    nil          b1[K]    whether it is NIL
    right        b1[K]    whether it is right
    outside      b1[K]    whether NIL would be
    no_candidates  b1[N]  whether the mentions without candidates are NIL
    """

    document: Longs
    offsets: Longs
    probability: Doubles
    choice: Ints
    nil: Bools
    right: Bools
    outside: Bools
    no_candidates: Bools

    def take(self, mentions: Longs) -> "Observed":
        """Return some of the mentions."""
        sizes = np.diff(self.offsets)[mentions]
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        rows = np.repeat(self.offsets[mentions] - offsets[:-1], sizes) + np.arange(offsets[-1])
        return Observed(
            self.document[mentions], offsets, self.probability[rows], self.choice[mentions],
            self.nil[mentions], self.right[mentions], self.outside[mentions], self.no_candidates,
        )  # fmt: skip

    @property
    def several(self) -> Bools:
        """Whether a mention has more than one candidate."""
        return np.diff(self.offsets) > 1

    def chosen(self, confidence: Confidence) -> Doubles:
        """Return how sure each choice is."""
        probability = confidence.probabilities(self.probability, self.offsets)
        own = probability[self.offsets[:-1] + self.choice]
        return confidence.of_chosen(own, self.several, self.nil)


def observe(
    model: LinkerModel,
    kb: KnowledgeBase,
    documents: Sequence[Document],
    progress: Progress = silent,
) -> Observed:
    """Link annotated documents, trusting the search."""
    given = unknown_as_nil(kb, documents)
    candidate = model.nil.kind == "candidate"
    plain = replace(
        model, confidence=Confidence(), nil=NilRule("candidate" if candidate else "never")
    )
    settings = LinkerSettings(candidates=_ALL, near_names=model.candidates.near_names)
    rows: list[tuple[int, int, bool, bool, bool]] = []
    probability: list[float] = []
    sizes: list[int] = []
    no_candidates: list[bool] = []
    for d, linked in enumerate(Linker(plain, kb, settings).pipe(given)):
        progress("confidence", d + 1, len(given))
        for mention, link in zip(given[d].mentions, linked.links, strict=True):
            if mention.gold is None:
                continue
            outside = mention.gold == NIL
            if not link.candidates:
                no_candidates.append(outside)
                continue
            own = [other.probability for other in link.candidates] + [link.nil] * candidate
            ids = [other.entity for other in link.candidates]
            place = len(ids) if link.entity is None else ids.index(link.entity)
            good = outside if link.entity is None else link.entity == mention.gold
            rows.append((d, place, link.entity is None, good, outside))
            probability += own
            sizes.append(len(own))
    document, choice, nil, right, out = np.array(rows, np.int64).reshape(len(rows), 5).T
    return Observed(
        document, np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]),
        np.array(probability, np.float64), choice.astype(np.int32), nil.astype(np.bool_),
        right.astype(np.bool_), out.astype(np.bool_), np.array(no_candidates, np.bool_),
    )  # fmt: skip


class Fitted(NamedTuple):
    """The confidence that dev prefers, and the log loss of every kind on held-out folds."""

    confidence: Confidence
    losses: dict[str, float]


def fit_confidence(seen: Observed) -> Fitted:
    """Fit the kinds of confidence that there is enough for; keep the best on documents held out."""
    tried = [kind for kind in KINDS if seen.several.sum() >= NEEDED[kind]]
    splits = _splits(seen.document)
    if not splits:
        return Fitted(Confidence(), {})
    losses: dict[str, float] = {}
    for kind in tried:
        total = 0.0
        for others, own in splits:
            fitted, held = _fit(kind, seen.take(others)), seen.take(own)
            total += log_loss(held.chosen(fitted), held.right) * len(own)
        losses[kind] = total / len(seen.right)
    best = min(tried, key=losses.__getitem__)  # the simpler of equals
    return Fitted(_fit(best, seen), losses)


def _splits(document: Longs) -> list[tuple[Longs, Longs]]:
    """Deal mentions into folds by their documents: per fold all others, and its own."""
    numbers, which = np.unique(document, return_inverse=True)
    n_folds = min(FOLDS, len(numbers))
    if n_folds < 2:
        return []
    fold = (np.random.default_rng(0).permutation(len(numbers)) % n_folds)[which]
    return [(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in range(n_folds)]


def _fit(kind: Kind, seen: Observed) -> Confidence:
    alone = ~seen.several
    n, overall = int(alone.sum()), float(seen.right.mean())
    single = (int(seen.right[alone].sum()) + overall) / (n + 1) if n else None
    if kind == "temperature":
        return Confidence(kind, _temperature(seen), 1.0 if single is None else single)
    if kind == "isotonic":
        own = seen.probability[seen.offsets[:-1] + seen.choice]
        entity = _curve(own, seen.right, seen.several & ~seen.nil)
        nil = _curve(own, seen.right, seen.nil)
        return Confidence(kind, 1.0, entity.y[-1] if single is None else single, entity, nil)
    return Confidence("plain", 1.0, 1.0 if single is None else single)


def _curve(probability: Doubles, right: Bools, of: Bools) -> Curve:
    return rising_curve(probability[of], right[of]) if of.any() else SAME


def _temperature(seen: Observed) -> float:
    """Return the temperature of the least log loss, of some that are an even ratio apart."""
    several = seen.take(np.flatnonzero(seen.several))
    if not len(several.right):
        return 1.0
    tried = [Confidence("temperature", warm) for warm in _TEMPERATURES]
    losses = [log_loss(several.chosen(one), several.right) for one in tried]
    return tried[int(np.argmin(losses))].temperature


def log_loss(confidence: Doubles, right: Bools) -> float:
    """Return the mean of -log of the probability given to what turned out; 0 of nothing."""
    if not len(right):
        return 0.0
    clipped = np.clip(confidence, CERTAIN, 1 - CERTAIN)
    return float(-np.log(np.where(right, clipped, 1 - clipped)).mean())


@dataclass(frozen=True)
class Calibrated:
    """A model that knows how sure it is.

    right      how many answers on dev are right, links and NIL
    mentions   how many there are: dev mentions that have candidates
    precision  the share of right ones among its links on dev; NaN without any
    """

    model: LinkerModel
    losses: dict[str, float]
    right: int
    mentions: int
    precision: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for people."""
        return {
            "confidence": self.model.confidence.kind,
            "log_loss": {kind: round(loss, 6) for kind, loss in self.losses.items()},
            "nil": self.model.nil.kind,
            "threshold": self.model.nil.threshold,
            "right": self.right,
            "mentions": self.mentions,
            "precision": None if np.isnan(self.precision) else round(self.precision, 6),
        }


def calibrate(
    model: LinkerModel, kb: KnowledgeBase, dev: Sequence[Document], kind: NilKind,
    precision: float | None = None, progress: Progress = silent,
) -> Calibrated:  # fmt: skip
    """Fit confidence and NIL rule of a model.

    kind       of the NIL rule; "candidate" if and only if the model has NIL as a candidate
    precision  wanted of links; None: the threshold with most right answers, NIL included
    """
    seen = observe(model, kb, dev, progress)
    if not len(seen.right):  # no annotated mention has a candidate: nothing is learned of links
        rule = NilRule(kind, no_candidates=_nil_share(seen.no_candidates))
        return Calibrated(replace(model, nil=rule), {}, 0, 0, np.nan)
    fitted = fit_confidence(seen)
    confidence = fitted.confidence
    rule = NilRule(kind, 0.0, _shares(seen, confidence, kind), _nil_share(seen.no_candidates))
    links = _in_best_entity(seen, DecisionPolicy(confidence, rule))
    if kind != "never":
        rule = replace(rule, threshold=_threshold(seen, links, kind, precision))
    given = rule.links(links, seen.nil)
    right = given & seen.right
    return Calibrated(
        replace(model, confidence=confidence, nil=rule), fitted.losses,
        int((right | (~given & seen.outside)).sum()), len(right),
        float(right.sum() / given.sum()) if given.any() else np.nan,
    )  # fmt: skip


def _shares(seen: Observed, confidence: Confidence, kind: NilKind) -> Curve:
    """Return how often mentions are NIL, by the confidence in their links."""
    if kind == "candidate" or not seen.outside.any():
        return NEVER
    return falling_curve(seen.chosen(confidence), seen.outside)


def _nil_share(outside: Bools) -> float:
    """Return how often mentions without candidates are NIL; half of one more is."""
    return float((outside.sum() + 0.5) / (len(outside) + 1)) if len(outside) else 0.0


def _in_best_entity(seen: Observed, policy: DecisionPolicy) -> Doubles:
    """Return the confidence in each mention's best entity, be it the answer or not."""
    free = np.ones(len(seen.choice), np.bool_)
    probability, _ = policy.calibrate(seen.probability, seen.offsets, seen.choice, free)
    own: Doubles = probability[seen.offsets[:-1] + seen.choice]
    if not policy.nil_is_a_candidate:
        return own
    probability[seen.offsets[1:] - 1] = -1.0
    best: Doubles = np.where(seen.nil, group_max(probability, seen.offsets), own)
    return best


def _threshold(seen: Observed, links: Doubles, kind: NilKind, precision: float | None) -> float:
    """Return the least confidence of links; NIL that the search chose is none whatever it says."""
    asked = ~seen.nil
    if precision is not None and asked.any():
        return choose_threshold(links[asked], seen.right[asked], precision)
    if kind == "candidate":
        return 0.0
    won = 0
    for others, own in _splits(seen.document):
        chosen = best_threshold(links[others], seen.right[others], seen.outside[others])
        below = own[links[own] < chosen]
        won += int(seen.outside[below].sum()) - int(seen.right[below].sum())
    return best_threshold(links, seen.right, seen.outside) if won >= CLEARLY else 0.0
