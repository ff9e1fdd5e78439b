"""Choosers: what a system answers, read from a linked document; baselines that learned nothing."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sgtb.core.errors import SettingsError
from sgtb.kb.knowledge_base import KnowledgeBase
from sgtb.linking.entities.entity_source import LINKS, NAME_PRIORS, POPULARITY, KbSource
from sgtb.linking.links import Alternative, LinkedDocument

Chooser = Callable[[LinkedDocument], Sequence[str | None]]
"""Given a document with all candidates of its mentions: the id that each of them means."""

BASELINES = ("prior", "in-links", "popularity")
"""The candidate that the name means most often; that most pages link to; the best known one."""
_EVIDENCE = {"prior": NAME_PRIORS, "in-links": LINKS, "popularity": POPULARITY}


def decided(linked: LinkedDocument) -> Sequence[str | None]:
    """Choose what the linker chose."""
    return [link.entity for link in linked.links]


@dataclass(frozen=True)
class Baseline:
    """Chooses the candidate that ranks highest; of equals, the one of the lower number.

    Links are always made where there is a candidate.
    """

    kb: KnowledgeBase
    name: str

    def __post_init__(self) -> None:
        if self.name not in BASELINES:
            raise SettingsError(
                f"there is no baseline {self.name!r}; choose of {', '.join(BASELINES)}"
            )

    def __call__(self, linked: LinkedDocument) -> Sequence[str | None]:
        """Choose for every mention; None where there is no candidate."""
        return [self._best(link.candidates) for link in linked.links]

    def _best(self, candidates: Sequence[Alternative]) -> str | None:
        ranked = [(self._rank(other), -(self.kb.number(other.entity) or 0)) for other in candidates]
        return candidates[ranked.index(max(ranked))].entity if ranked else None

    def _rank(self, candidate: Alternative) -> float:
        if self.name == "prior":
            rank = candidate.prior
        else:
            row = self.kb.rows[self.kb.number(candidate.entity)]
            if self.name == "popularity":
                rank = float(row["popularity"])
            else:  # what the source states of a wider world, else what is known here
                rank = float(row["stated_in"] if row["stated_in"] >= 0 else row["in_links"])
        return -1.0 if rank != rank else rank  # what is not known ranks last


def baselines_of(kb: KnowledgeBase) -> tuple[str, ...]:
    """Return the baselines that a knowledge base has the evidence for."""
    evidence = KbSource(kb).evidence
    return tuple(name for name in BASELINES if _EVIDENCE[name] in evidence)
