"""Selection of the NIL rule."""

from typing import Literal, get_args

from sgtb.core.dtypes import Bools
from sgtb.core.errors import SettingsError
from sgtb.linking.calibration.confidence import NilKind, check_share

NilSetting = Literal["auto", "never", "candidate"]
NIL_SETTINGS: tuple[NilSetting, ...] = get_args(NilSetting)
ENOUGH = 20
"""NIL mentions with candidates, hidden ones included, that a NIL candidate is learned from."""


def check_nil_settings(nil: str, precision: float | None) -> None:
    """Raise for an unknown NIL rule or an impossible precision."""
    if nil not in NIL_SETTINGS:
        raise SettingsError(f"nil must be one of {', '.join(NIL_SETTINGS)}, not {nil!r}")
    if precision is not None:
        check_share("nil_precision", precision)
        if nil == "never":
            raise SettingsError("nil_precision needs NIL as an answer, which nil='never' forbids")


def nil_kind(nil: NilSetting, outside: int) -> NilKind:
    """Return the rule for a number of NIL training mentions with candidates."""
    if nil == "candidate" and not outside:
        raise SettingsError(
            "nil='candidate' needs training mentions that have candidates and are NIL; there are "
            "none: raise the share of hidden entities"
        )
    return "candidate" if nil == "candidate" or (nil == "auto" and outside >= ENOUGH) else "never"


def nil_share(outside: Bools) -> float:
    """Return the smoothed share of NIL among mentions without candidates."""
    return round((int(outside.sum()) + 1) / (len(outside) + 2), 6)
