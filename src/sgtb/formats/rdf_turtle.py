"""Turtle: statements of NIF, read by rdflib and written as text."""

import logging
import re
from collections.abc import Callable
from typing import Any

from sgtb.core.errors import SgtbError, import_extra

NIF = "http://persistence.uni-leipzig.org/nlp2rdf/ontologies/nif-core#"
ITS = "http://www.w3.org/2005/11/its/rdf#"
TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
_XSD = "http://www.w3.org/2001/XMLSchema#"
WIKIDATA = "http://www.wikidata.org/entity/"
ITEM = re.compile(r"Q[1-9][0-9]*")  # the id of a Wikidata item
HEAD = f"@prefix nif: <{NIF}> .\n@prefix itsrdf: <{ITS}> .\n@prefix xsd: <{_XSD}> .\n"
Statements = dict[str, dict[str, list[str]]]  # values by subject and predicate, in order
_ESCAPES = re.compile(r'[\x00-\x1f\x7f"\\]')
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "\\": "\\\\"}


class TurtleError(SgtbError):
    """Text that is not Turtle: the line and the reason."""

    def __init__(self, line: int, why: str) -> None:
        super().__init__(line, why)
        self.line, self.why = line, why


def read_turtle(text: str, base: str, check: Callable[[], None] = lambda: None) -> Statements:
    """Return the statements of a text; blank nodes begin with _:.

    base   IRI that relative ones are resolved against
    check  called before each statement, to limit them
    """
    rdflib = import_extra("rdflib", "nif", "reading NIF needs")
    found: Statements = {}

    def named(node: Any) -> str:
        return f"_:{node}" if isinstance(node, rdflib.BNode) else str(node)

    def add(triple: tuple[Any, Any, Any]) -> None:
        check()
        subject, predicate, value = map(named, triple)
        found.setdefault(subject, {}).setdefault(predicate, []).append(value)

    graph: Any = rdflib.Graph(bind_namespaces="none")
    graph.add = add  # a graph has no order
    # Nothing is written with these prefixes, and each would be compared with all others.
    graph.bind = lambda *_, **__: None
    logger = logging.getLogger("rdflib.term")
    before, logger.disabled = logger.disabled, True  # callers check numbers and IRIs themselves
    try:
        graph.parse(data=text.removeprefix("\ufeff"), format="turtle", publicID=base)
    except SgtbError:
        raise
    except Exception as error:  # rdflib raises any exception on damaged documents
        why = str(getattr(error, "_why", "")) or f"{type(error).__name__}: {error}"
        raise TurtleError(getattr(error, "lines", 0) + 1, why) from None
    finally:
        logger.disabled = before
    return found


def index(value: int) -> str:
    """Return an offset as a literal."""
    return f'"{value}"^^xsd:nonNegativeInteger'


def escaped(text: str) -> str:
    """Return a text as part of a literal."""
    return _ESCAPES.sub(lambda found: _SHORT.get(found[0]) or unicode_escape(found), text)


def unicode_escape(character: "re.Match[str]") -> str:
    """Return the escape of a matched character."""
    return f"\\u{ord(character[0]):04X}"
