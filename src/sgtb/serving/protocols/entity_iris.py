"""IRIs of entities, for protocols that have IRIs instead of ids."""

import re
from urllib.parse import quote

from sgtb import starter
from sgtb.formats.rdf_turtle import ITEM, WIKIDATA
from sgtb.kb.knowledge_base import KnowledgeBase

WIKIPEDIA = "https://{language}.wikipedia.org/wiki/"
OWN = "urn:sgtb:entity:"  # prefix of knowledge bases that are not of Wikipedia
NOT_IN_KB = "http://aksw.org/notInWiki/"  # prefix by which GERBIL recognises NIL
_IRI = re.compile(r"https?://[^\x00-\x20<>\"{}|\\^`]+")
_SAFE = "(),'!*:;@$~"
"""Besides letters and digits; no slash, as an id is no path, and no plus, a space to Java."""
_BY_TITLE = ("/wiki/", "/resource/")


def prefix_of(kb: KnowledgeBase, given: str | None) -> str:
    """Return the given prefix, or else Wikipedia's for its titles, and a URN for other ids."""
    if given is not None:
        return given
    origin = kb.state.origin
    if origin.get("kind") == "wiki":
        return WIKIPEDIA.format(language=origin.get("language") or "en")
    of_titles = origin.get("built from") == "pprforned" or kb.path.resolve() == starter.KB.resolve()
    return WIKIPEDIA.format(language="en") if of_titles else OWN


def entity_iri(id: str, title: str, prefix: str) -> str:
    """Return the IRI of an entity.

    An id that is an IRI is unchanged; a Wikidata id gets the prefix of Wikidata. Others follow the
    given prefix, with underscores for spaces; after a prefix that ends in `/wiki/` or `/resource/`
    the title stands instead of the id, if there is one, as in Wikipedia and DBpedia.
    """
    if _IRI.fullmatch(id):
        return id
    if ITEM.fullmatch(id):
        return WIKIDATA + id
    return prefix + local_name(id, title, prefix)


def local_name(id: str, title: str, prefix: str) -> str:
    """Return the part after the prefix."""
    if ITEM.fullmatch(id):
        return id
    return _named((prefix.endswith(_BY_TITLE) and title) or id)


def nil_iri(name: str) -> str:
    """Return the IRI of a NIL mention."""
    return NOT_IN_KB + _named(name)


def _named(name: str) -> str:
    return quote(name.replace(" ", "_"), safe=_SAFE, errors="replace")  # lone surrogates
