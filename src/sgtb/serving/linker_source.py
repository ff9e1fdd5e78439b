"""Where the linker of a service is loaded from."""

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sgtb.core.errors import SettingsError
from sgtb.linking.links import Request, Span
from sgtb.linking.mentions.mention_settings import MentionSettings
from sgtb.starter import STARTER

if TYPE_CHECKING:  # the parent of server processes does not import the linker
    from sgtb.linking.linker import Linker

Path = str | os.PathLike[str]
_WARM_UP_ENTITIES = 4


@dataclass(frozen=True)
class LinkerSource:
    """A model and a knowledge base on disk; the starter if both are None."""

    model: Path | None = None  # a model file, or a folder of `sgtb pack`; None: the starter's
    kb: Path | None = None  # None: that of the packed folder
    mentions: MentionSettings = field(default_factory=MentionSettings)
    fuzzy: bool | None = None  # whether unknown names match similar ones; None: as in training

    def __post_init__(self) -> None:
        named = self.model is None or str(self.model) == STARTER
        if not named and self.kb is None and not os.path.isdir(str(self.model)):
            raise SettingsError("a model needs a knowledge base; without both it is the starter")

    def load(self) -> "Linker":
        """Load the linker and warm it up."""
        from sgtb.linking.link_options import LinkerSettings, LinkOptions
        from sgtb.linking.linker import Linker

        settings = LinkerSettings(mentions=self.mentions, fuzzy=self.fuzzy)
        linker = Linker(self.model, self.kb, settings)
        # Two mentions with two candidates each, with reasons, so that all code is loaded.
        kb = linker.kb
        first = range(min(_WARM_UP_ENTITIES, len(kb.rows)))
        ids = [kb.id_of(number) for number in first if kb.rows["alive"][number]]
        spans = (Span(0, 1, None, tuple(ids[::2])), Span(2, 3, None, tuple(ids[1::2])))
        linker.link("A B")
        linker.link(Request("A B", spans), LinkOptions(2, reasons=True))
        return linker
