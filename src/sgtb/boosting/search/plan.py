"""SearchPlan: the partial sequences a search visits, and those that become training points."""

from dataclasses import dataclass
from typing import Literal, get_args

from sgtb.core.errors import SettingsError
from sgtb.core.settings import check_integer

PlanName = Literal["local", "bs", "laso", "bsg", "bibsg"]
PLANS: tuple[PlanName, ...] = get_args(PlanName)

MAX_BEAM_WIDTH = 4096


@dataclass(frozen=True)
class SearchPlan:
    """How sequences are searched, in training and in prediction.

    name        local   every mention alone, local features only
                bs      beam search, early update: stop when the gold prefix leaves the beam
                laso    as bs, but continue from the gold prefix after an error
                bsg     beam search with the gold path kept in every beam
                bibsg   bsg in both directions, each guided by the other (eq. 10)
    beam_width  hypotheses kept at each step, besides the gold path
    rounds      pairs of forward and backward passes; bibsg only
    """

    name: PlanName = "bsg"
    beam_width: int = 4
    rounds: int = 2

    def __post_init__(self) -> None:
        if self.name not in PLANS:
            raise SettingsError(f"unknown plan {self.name!r}; choose one of {', '.join(PLANS)}")
        check_integer("beam_width", self.beam_width, 1, MAX_BEAM_WIDTH)
        check_integer("rounds", self.rounds, 1, 100)

    @property
    def uses_history(self) -> bool:
        """Whether a choice depends on the choices before it."""
        return self.name != "local"

    @property
    def bidirectional(self) -> bool:
        """Whether mentions are also visited from last to first."""
        return self.name == "bibsg"
