"""IRIs of entities: how ids of a knowledge base are written where a protocol wants addresses."""

import re
from urllib.parse import quote

WIKIDATA = "http://www.wikidata.org/entity/"
NOT_IN_KB = "http://aksw.org/notInWiki/"
"""What GERBIL knows mentions by that are not in the knowledge base."""
_ITEM = re.compile(r"Q[1-9][0-9]*")
_IRI = re.compile(r"https?://[^\x00-\x20<>\"{}|\\^`]+")
_SAFE = "(),'!*:;@$~"
"""Besides letters and digits; no slash, for an id is no path, and no plus, which Java reads as a
space."""
_BY_TITLE = ("/wiki/", "/resource/")


def entity_iri(id: str, title: str, prefix: str) -> str:
    """Return the address of an entity.

    An id that is one stays as it is, and one of Wikidata gets Wikidata's. All others follow the
    prefix, with underscores for spaces. Wikipedia and DBpedia name pages by titles: behind a prefix
    that ends in `/wiki/` or `/resource/` the title stands, if there is one, and else the id.
    """
    if _IRI.fullmatch(id):
        return id
    if _ITEM.fullmatch(id):
        return WIKIDATA + id
    return prefix + local_name(id, title, prefix)


def local_name(id: str, title: str, prefix: str) -> str:
    """Return what follows the prefix."""
    if _ITEM.fullmatch(id):
        return id
    return _named((prefix.endswith(_BY_TITLE) and title) or id)


def nil_iri(name: str) -> str:
    """Return the address of a mention that is not in the knowledge base."""
    return NOT_IN_KB + _named(name)


def wikidata_item(id: str) -> bool:
    """Whether an id is one of Wikidata."""
    return _ITEM.fullmatch(id) is not None


def _named(name: str) -> str:
    return quote(name.replace(" ", "_"), safe=_SAFE)
