"""Names of types: common ones for the coarse types, and others kept as own types."""

from collections.abc import Iterable, Iterator

from sgtb.core.errors import KnowledgeBaseError
from sgtb.kb.entity import TYPES
from sgtb.kb.layout import MAX_OWN_TYPES

_COMMON = {
    "PER": "per pers person persons people human humans individual",
    "ORG": "org organisation organisations organization organizations company companies "
    "corporation business enterprise institution agency university school team club band",
    "LOC": "loc location locations place places gpe geo city cities town village country countries "
    "continent region province county municipality settlement river lake mountain island",
    "MISC": "misc miscellaneous other",
}
COARSE_TYPES = {name: coarse for coarse, names in _COMMON.items() for name in names.split()}
"""Coarse types by the names that stand for them, in lower case."""


def coarse_type(name: str) -> str:
    """Return the coarse type that a name in any case stands for, else the name itself."""
    return COARSE_TYPES.get(name.casefold(), name)


class OwnTypes:
    """Numbers of the types that are not coarse, from 1, in the order of their first use."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._numbers = {name: i for i, name in enumerate(names, 1)}

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def number(self, name: str) -> int:
        """Return the number of a type, a new one if needed; 0: a coarse type."""
        if name in TYPES:
            return 0
        number = self._numbers.setdefault(name, len(self._numbers) + 1)
        if number > MAX_OWN_TYPES:
            raise KnowledgeBaseError(
                f"type {name!r} is one too many; {MAX_OWN_TYPES:,} besides {', '.join(TYPES[1:])} "
                "are possible; put what describes one entity into its description"
            )
        return number
