"""The choice of a NIL rule: which kind the data allow, and which of them dev prefers."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal, get_args

from sgtb.core.errors import SettingsError
from sgtb.core.progress import Progress, silent
from sgtb.core.records import NIL, Document, Mention
from sgtb.kb.knowledge_base import KnowledgeBase
from sgtb.linking.calibration.confidence import check_share
from sgtb.linking.calibration.nil_rule import NilKind, NilRule
from sgtb.linking.linker_model import LinkerModel
from sgtb.linking.training.calibrator import CLEARLY, Calibrated, calibrate

NilWish = Literal["auto", "never", "threshold", "candidate"]
NIL_WISHES: tuple[NilWish, ...] = get_args(NilWish)
ENOUGH = 20
"""NIL mentions with candidates that train needs before NIL is tried as a candidate."""


def check_wishes(nil: str, precision: float | None) -> None:
    """Raise unless a kind of NIL rule, and the precision wanted of links, make sense."""
    if nil not in NIL_WISHES:
        raise SettingsError(f"nil must be one of {', '.join(NIL_WISHES)}, not {nil!r}")
    if precision is not None:
        check_share("nil_precision", precision)
        if nil == "never":
            raise SettingsError(
                "nil_precision needs a threshold below which nothing is linked; nil='never' "
                "forbids one"
            )


def choose_trust(
    grow: Callable[[], LinkerModel],
    grow_with_nil: Callable[[], LinkerModel],
    kb: KnowledgeBase,
    train: Sequence[Mention],
    dev: Sequence[Document],
    wish: NilWish,
    precision: float | None,
    say: Progress = silent,
) -> LinkerModel:
    """Train a model that knows how sure it is and what is NIL.

    grow           trains one without NIL among its candidates
    grow_with_nil  trains one that has it; asked for only where it may be kept
    train          the training mentions that have candidates
    wish           the kind of rule; auto: that with most right answers on dev, links and NIL
    precision      wanted of links; None: no more than makes most answers right
    """
    n_train = sum(mention.gold == NIL for mention in train)
    if wish == "candidate" and not n_train:
        raise SettingsError(
            "nil='candidate' learns from training mentions that have candidates and are NIL; "
            "there are none"
        )
    if not dev:
        if wish == "threshold" or precision is not None:
            raise SettingsError(
                "a NIL threshold is chosen on dev documents; give some, or set nil='never'"
            )
        return _unmeasured(grow_with_nil()) if wish == "candidate" else grow()
    has_nil = any(mention.gold == NIL for document in dev for mention in document.mentions)
    tried: list[Calibrated] = []
    if wish != "candidate":
        bounded = wish == "threshold" or precision is not None or (wish == "auto" and has_nil)
        kind: NilKind = "threshold" if bounded else "never"
        tried.append(calibrate(grow(), kb, dev, kind, precision, say))
    if wish == "candidate" or (wish == "auto" and has_nil and n_train >= ENOUGH):
        tried.append(calibrate(_unmeasured(grow_with_nil()), kb, dev, "candidate", precision, say))
    simple, best = tried[0], tried[-1]
    if best.right < simple.right + CLEARLY and len(tried) > 1:
        best = simple
    told = {"chosen": best.model.nil.kind, "tried": [one.to_dict() for one in tried]}
    return replace(best.model, origin={**best.model.origin, "calibration": told})


def _unmeasured(model: LinkerModel) -> LinkerModel:
    return replace(model, nil=NilRule("candidate"))
