"""Workloads: jobs of known size, and their predicted cost."""

from dataclasses import dataclass

from sgtb.capacity.cost_model import (
    GB,
    Cluster,
    Costs,
    Estimate,
    link_cost,
    list_cost,
    wikipedia_cost,
)
from sgtb.core.errors import SettingsError

PAGES = 800
"""Training pages of `sgtb wikipedia`."""
ENGLISH_XML = 100 * GB


@dataclass(frozen=True)
class Workload:
    """A job; the one size that is not 0 tells its kind.

    xml         bytes of XML of a dump, for `sgtb wikipedia`
    entities    entities of a list, for `sgtb kb build list`
    documents   documents to link, with a knowledge base made of `kb_xml` bytes of XML
    characters  mean length of a document
    """

    name: str
    xml: float = 0.0
    entities: float = 0.0
    documents: float = 0.0
    characters: float = 1000.0
    kb_xml: float = ENGLISH_XML

    def __post_init__(self) -> None:
        sizes = (self.xml, self.entities, self.documents)
        if min(sizes) < 0 or sum(size > 0 for size in sizes) != 1:
            raise SettingsError(
                f"{self.name}: give one of bytes of XML, entities and documents, above 0"
            )

    def estimate(self, costs: Costs, cluster: Cluster) -> Estimate:
        """Predict its cost on a cluster."""
        if self.xml:
            return wikipedia_cost(costs, self.xml * costs.packed_share, PAGES, cluster)
        if self.entities:
            return list_cost(costs, self.entities, cluster)
        kb = self.kb_xml * costs.kb_share
        return link_cost(costs, self.documents, self.characters, kb, cluster)


WORKLOADS = {
    "simple": Workload("Simple English Wikipedia, 1.4 GB of XML", xml=1.4 * GB),
    "english": Workload("English Wikipedia, 100 GB of XML", xml=ENGLISH_XML),
    "wikidata": Workload("Wikidata labels, 100,000,000 entities", entities=1e8),
    "documents-1e8": Workload("10^8 documents", documents=1e8),
    "documents-1e9": Workload("10^9 documents", documents=1e9),
}
"""Workloads that `sgtb plan` shows; sizes of the Wikipedias are assumed, rounded."""
