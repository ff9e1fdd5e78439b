"""Systems under evaluation: the linker itself, and baselines that rank its candidates."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sgtb.core.errors import SettingsError
from sgtb.kb.knowledge_base import KnowledgeBase
from sgtb.linking.entities.entity_source import LINKS, NAME_PRIORS, POPULARITY, KbSource
from sgtb.linking.links import Alternative, LinkedDocument

System = Callable[[LinkedDocument], Sequence[str | None]]
"""Returns the chosen entity of every mention of a document that is linked with all candidates."""

BASELINES = ("prior", "in-links", "popularity")
"""The candidate with the highest prior, the most in-links, the highest popularity."""
_EVIDENCE = {"prior": NAME_PRIORS, "in-links": LINKS, "popularity": POPULARITY}


def chosen_by_linker(linked: LinkedDocument) -> Sequence[str | None]:
    """Return the entities that the linker chose."""
    return [link.entity for link in linked.links]


@dataclass(frozen=True)
class Baseline:
    """Chooses the candidate that ranks highest, never NIL; ties go to the lower number."""

    kb: KnowledgeBase
    name: str

    def __post_init__(self) -> None:
        if self.name not in BASELINES:
            raise SettingsError(
                f"there is no baseline {self.name!r}; choose of {', '.join(BASELINES)}"
            )

    def __call__(self, linked: LinkedDocument) -> Sequence[str | None]:
        """Return the choice for every mention; None without candidates."""
        return [self._best(link.candidates) for link in linked.links]

    def _best(self, candidates: Sequence[Alternative]) -> str | None:
        ranked = [(self._rank(other), -(self.kb.number(other.entity) or 0)) for other in candidates]
        return candidates[ranked.index(max(ranked))].entity if ranked else None

    def _rank(self, candidate: Alternative) -> float:
        rank = candidate.prior
        if self.name != "prior":
            row = self.kb.rows[self.kb.number(candidate.entity)]
            stated = "stated_in" if row["stated_in"] >= 0 else "in_links"  # else as counted
            rank = float(row["popularity" if self.name == "popularity" else stated])
        return -1.0 if rank != rank else rank  # unknown ranks last


def baselines_of(kb: KnowledgeBase) -> tuple[str, ...]:
    """Return the baselines for which a knowledge base has the evidence."""
    evidence = KbSource(kb).evidence
    return tuple(name for name in BASELINES if _EVIDENCE[name] in evidence)
