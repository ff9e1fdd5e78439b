"""Selection of the NIL rule on dev documents."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal, get_args

from sgtb.core.errors import SettingsError
from sgtb.core.progress import Progress, silent
from sgtb.core.records import NIL, Document, Mention
from sgtb.kb.knowledge_base import KnowledgeBase
from sgtb.linking.calibration.confidence import NilKind, NilRule, check_share
from sgtb.linking.linker_model import LinkerModel
from sgtb.linking.training.calibrator import CLEARLY, Calibrated, calibrate

NilSetting = Literal["auto", "never", "threshold", "candidate"]
NIL_SETTINGS: tuple[NilSetting, ...] = get_args(NilSetting)
ENOUGH = 20
"""NIL mentions with candidates that training needs for a NIL candidate."""


def check_nil_settings(nil: str, precision: float | None) -> None:
    """Raise for an unknown NIL rule or an impossible precision."""
    if nil not in NIL_SETTINGS:
        raise SettingsError(f"nil must be one of {', '.join(NIL_SETTINGS)}, not {nil!r}")
    if precision is not None:
        check_share("nil_precision", precision)
        if nil == "never":
            raise SettingsError("nil_precision needs a NIL threshold, which nil='never' forbids")


def choose_nil_rule(
    grow: Callable[[], LinkerModel],
    grow_with_nil: Callable[[], LinkerModel],
    kb: KnowledgeBase,
    train: Sequence[Mention],
    dev: Sequence[Document],
    nil: NilSetting,
    precision: float | None,
    progress: Progress = silent,
) -> LinkerModel:
    """Train and calibrate a model; choose its NIL rule.

    grow           trains a model without a NIL candidate
    grow_with_nil  trains a model with a NIL candidate; called only if needed
    train          training mentions with candidates
    nil            kind of rule; auto: most right answers on dev, NIL included
    precision      wanted of links; None: most right answers
    """
    n_train = sum(mention.gold == NIL for mention in train)
    if nil == "candidate" and not n_train:
        raise SettingsError(
            "nil='candidate' needs training mentions that have candidates and are NIL; there are "
            "none"
        )
    if not dev:
        if nil == "threshold" or precision is not None:
            raise SettingsError(
                "a NIL threshold is chosen on dev documents; give some, or set nil='never'"
            )
        return _unmeasured(grow_with_nil()) if nil == "candidate" else grow()
    has_nil = any(mention.gold == NIL for document in dev for mention in document.mentions)
    tried: list[Calibrated] = []
    if nil != "candidate":
        bounded = nil == "threshold" or precision is not None or (nil == "auto" and has_nil)
        kind: NilKind = "threshold" if bounded else "never"
        tried.append(calibrate(grow(), kb, dev, kind, precision, progress))
    if nil == "candidate" or (nil == "auto" and has_nil and n_train >= ENOUGH):
        tried.append(
            calibrate(_unmeasured(grow_with_nil()), kb, dev, "candidate", precision, progress)
        )
    simple, best = tried[0], tried[-1]
    if best.right < simple.right + CLEARLY and len(tried) > 1:
        best = simple
    calibration = {"chosen": best.model.nil.kind, "tried": [one.to_dict() for one in tried]}
    return replace(best.model, origin={**best.model.origin, "calibration": calibration})


def _unmeasured(model: LinkerModel) -> LinkerModel:
    return replace(model, nil=NilRule("candidate"))
