"""Calibrator: fits confidence and NIL rule on held-out documents."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from sgtb.core.dtypes import Bools, Doubles, Ints, Longs
from sgtb.core.progress import Progress, silent
from sgtb.core.records import NIL, Document
from sgtb.core.sparse_matrix import group_max
from sgtb.kb.knowledge_base import KnowledgeBase
from sgtb.linking.calibration.confidence import (
    KINDS,
    NEVER,
    SAME,
    Confidence,
    Curve,
    Kind,
    NilKind,
    NilRule,
    best_threshold,
    choose_threshold,
    unknown_as_nil,
)
from sgtb.linking.calibration.isotonic import falling_curve, rising_curve
from sgtb.linking.decisions import DecisionPolicy
from sgtb.linking.link_options import LinkerSettings
from sgtb.linking.linker import Linker
from sgtb.linking.linker_model import LinkerModel

FOLDS = 5
"""Folds of dev documents to compare kinds of confidence."""
NEEDED: dict[Kind, int] = {"plain": 0, "temperature": 50, "isotonic": 200}
"""Mentions with several candidates that a kind of confidence needs."""
CLEARLY = 3
"""Right answers on held-out documents by which a more complex rule must be better."""
CERTAIN = 1e-6
"""Confidences are clipped by this in the log loss, to keep it finite."""
_TEMPERATURES = tuple(10 ** (i / 100) for i in range(-100, 101))
_ALL = 1_000_000


class Observed(NamedTuple):
    """Uncalibrated decisions for K annotated mentions with candidates.

    document     i8[K]    number of the document
    offsets      i8[K+1]  of candidates, with a NIL candidate last
    probability  f8[C]    of the search
    choice       i4[K]    counted within the mention
    nil          b1[K]    whether the choice is NIL
    right        b1[K]    whether the choice is right
    outside      b1[K]    whether the gold is NIL
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
        """Return the confidence of each choice."""
        probability = confidence.probabilities(self.probability, self.offsets)
        own = probability[self.offsets[:-1] + self.choice]
        return confidence.of_chosen(own, self.several, self.nil)


def observe(
    model: LinkerModel,
    kb: KnowledgeBase,
    documents: Sequence[Document],
    progress: Progress = silent,
) -> Observed:
    """Link annotated documents without calibration."""
    given = unknown_as_nil(kb, documents)
    candidate = model.nil.kind == "candidate"
    plain = replace(
        model, confidence=Confidence(), nil=NilRule("candidate" if candidate else "never")
    )
    settings = LinkerSettings(candidates=_ALL)
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
    """The best confidence, and the log loss of every kind on held-out folds."""

    confidence: Confidence
    losses: dict[str, float]


def fit_confidence(seen: Observed) -> Fitted:
    """Fit all kinds of confidence with enough data; return the best on held-out folds."""
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
    best = min(tried, key=losses.__getitem__)  # ties to the simpler
    return Fitted(_fit(best, seen), losses)


def _splits(document: Longs) -> list[tuple[Longs, Longs]]:
    """Split mentions into folds by document; return the others and the own of each fold."""
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
    """Return the temperature with the least log loss."""
    several = seen.take(np.flatnonzero(seen.several))
    if not len(several.right):
        return 1.0
    tried = [Confidence("temperature", warm) for warm in _TEMPERATURES]
    losses = [log_loss(several.chosen(one), several.right) for one in tried]
    return tried[int(np.argmin(losses))].temperature


def log_loss(confidence: Doubles, right: Bools) -> float:
    """Return the mean log loss; 0 without observations."""
    if not len(right):
        return 0.0
    clipped = np.clip(confidence, CERTAIN, 1 - CERTAIN)
    return float(-np.log(np.where(right, clipped, 1 - clipped)).mean())


@dataclass(frozen=True)
class Calibrated:
    """A calibrated model and its results on dev.

    right      right answers, NIL included
    mentions   mentions with candidates
    precision  of the links; NaN without any
    """

    model: LinkerModel
    losses: dict[str, float]
    right: int
    mentions: int
    precision: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
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

    kind       of the NIL rule; "candidate" if and only if the model has a NIL candidate
    precision  wanted of links; None: most right answers, NIL included
    """
    seen = observe(model, kb, dev, progress)
    if not len(seen.right):  # no annotated mention has candidates
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
    """Return the share of NIL by the confidence in links."""
    if kind == "candidate" or not seen.outside.any():
        return NEVER
    return falling_curve(seen.chosen(confidence), seen.outside)


def _nil_share(outside: Bools) -> float:
    """Return the smoothed share of NIL among mentions without candidates."""
    return float((outside.sum() + 0.5) / (len(outside) + 1)) if len(outside) else 0.0


def _in_best_entity(seen: Observed, policy: DecisionPolicy) -> Doubles:
    """Return the confidence in each mention's best entity."""
    free = np.ones(len(seen.choice), np.bool_)
    probability, _ = policy.calibrate(seen.probability, seen.offsets, seen.choice, free)
    own: Doubles = probability[seen.offsets[:-1] + seen.choice]
    if not policy.nil_is_a_candidate:
        return own
    probability[seen.offsets[1:] - 1] = -1.0
    best: Doubles = np.where(seen.nil, group_max(probability, seen.offsets), own)
    return best


def _threshold(seen: Observed, links: Doubles, kind: NilKind, precision: float | None) -> float:
    """Choose the minimum confidence of links."""
    chosen_entity = ~seen.nil
    if precision is not None and chosen_entity.any():
        return choose_threshold(links[chosen_entity], seen.right[chosen_entity], precision)
    if kind == "candidate":
        return 0.0
    won = 0
    for others, own in _splits(seen.document):
        chosen = best_threshold(links[others], seen.right[others], seen.outside[others])
        below = own[links[own] < chosen]
        won += int(seen.outside[below].sum()) - int(seen.right[below].sum())
    return best_threshold(links, seen.right, seen.outside) if won >= CLEARLY else 0.0
