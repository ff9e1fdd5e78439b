"""Mention detection by a spaCy pipeline."""

import os
import re
from collections.abc import Callable
from importlib import import_module
from typing import Any

from sgtb.core.errors import MissingExtraError, RequestError, SettingsError

Spans = tuple[tuple[int, int], ...]

AMOUNTS = frozenset("CARDINAL DATE MONEY ORDINAL PERCENT QUANTITY TIME".split())
"""Labels of amounts and dates, which are not linked."""

_SURROGATE = re.compile("[\ud800-\udfff]")
_BEFORE = re.compile(r"(?:the\s)?\s*")
_AFTER = re.compile(r"(?:['’][sS])?\s*\Z")


class SpacyMentions:
    """Finds mentions with a spaCy pipeline: any that sets `doc.ents`."""

    def __init__(self, nlp: Callable[[str], Any]) -> None:
        self.nlp = nlp

    @classmethod
    def load(cls, name: str | os.PathLike[str]) -> "SpacyMentions":
        """Load a pipeline by the name of its package or from its folder."""
        try:
            spacy = import_module("spacy")
        except ImportError as error:
            raise MissingExtraError(
                f"finding mentions with spaCy needs the package {error.name or 'spacy'}: "
                "pip install 'sgtb[spacy]'"
            ) from None
        try:
            nlp = spacy.load(name)
        except OSError as error:
            reason = str(error).splitlines()[0]
            raise SettingsError(
                f"spaCy cannot load {str(name)!r}: {reason} Install a pipeline, as with "
                "`python -m spacy download en_core_web_sm`, or give the folder of one"
            ) from None
        if not nlp.pipe_names:
            raise SettingsError(
                f"the spaCy pipeline {str(name)!r} has no components, so it finds nothing; "
                "choose one with a named entity recogniser"
            )
        return cls(nlp)

    def find(self, text: str) -> Spans:
        """Return start and end of each mention, in order, without overlaps.

        A leading "the" and a genitive are trimmed; amounts and dates are left out.
        """
        limit = getattr(self.nlp, "max_length", len(text))
        if len(text) > limit:
            raise RequestError(
                f"a text of {len(text)} code points is longer than the {limit} that this spaCy "
                "pipeline takes; divide it, or raise `nlp.max_length`"
            )
        # Lone surrogates cannot be encoded; offsets must not change.
        doc = self.nlp(_SURROGATE.sub("\ufffd", text))
        found = []
        for ent in doc.ents:
            if ent.label_ not in AMOUNTS:
                start, end = trimmed(text, ent.start_char, ent.end_char)
                if start < end:
                    found.append((start, end))
        return tuple(found)


def trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """Trim article, genitive and white space."""
    before = _BEFORE.match(text, start, end)
    start = before.end() if before else start
    after = _AFTER.search(text[start:end])
    return start, start + after.start() if after else end
