"""SearchPlan: the partial sequences a search visits, and those that become training points."""

from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

from sgtb.core.errors import SettingsError
from sgtb.core.settings import check_integer

PlanName = Literal["local", "bs", "laso", "bsg", "bibsg"]
PLANS: tuple[PlanName, ...] = get_args(PlanName)

MAX_BEAM_WIDTH = 4096


class PlanRules(NamedTuple):
    """The rules of a plan, as kernels read them.

    uses_history        a choice depends on the choices before it
    bidirectional       mentions are also visited from last to first
    early_update        points only where the gold prefix leaves the beam, and at the end; else
                        beams keep the gold prefix, and every step gives points
    continue_from_gold  after such an error the search continues from the gold prefix
    """

    uses_history: bool = True
    bidirectional: bool = False
    early_update: bool = False
    continue_from_gold: bool = False


_RULES: dict[PlanName, PlanRules] = {
    "local": PlanRules(uses_history=False),
    "bs": PlanRules(early_update=True),
    "laso": PlanRules(early_update=True, continue_from_gold=True),
    "bsg": PlanRules(),
    "bibsg": PlanRules(bidirectional=True),
}


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
    def rules(self) -> PlanRules:
        """The rules of the plan."""
        return _RULES[self.name]

    @property
    def uses_history(self) -> bool:
        """Whether a choice depends on the choices before it."""
        return self.rules.uses_history

    def n_features(self, n_local: int, n_pair: int) -> int:
        """Return the length of a row: local features, then means, then maxima."""
        return n_local + (2 * n_pair if self.uses_history else 0)

    @property
    def bidirectional(self) -> bool:
        """Whether mentions are also visited from last to first."""
        return self.rules.bidirectional
