"""The protocol of DBpedia Spotlight: annotate, candidates, disambiguate and spot."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool

from sgtb.core.errors import RequestError
from sgtb.kb.knowledge_base import TOP, KnowledgeBase
from sgtb.linking.links import Alternative, Link
from sgtb.serving.engine import Engine
from sgtb.serving.link_requests import Options
from sgtb.serving.protocols.entity_iris import entity_iri, local_name, prefix_of
from sgtb.serving.protocols.form_bodies import fields_of
from sgtb.serving.protocols.marked_text import Spotted, read_markup, read_spots, read_xml
from sgtb.serving.protocols.nif_protocol import MEDIA_TYPE, LinkedContext, turtle, wants_turtle
from sgtb.serving.protocols.request_spans import link_text
from sgtb.serving.routes import json_response

_TYPES = {
    "PER": "DBpedia:Person,Schema:Person",
    "ORG": "DBpedia:Organisation,Schema:Organization",
    "LOC": "DBpedia:Place,Schema:Place",
}
_SPOTTERS: Mapping[str, Callable[[str], Spotted]] = {
    "SpotXmlParser": read_xml,
    "WikiMarkupSpotter": read_markup,
}
"""Spotters that read mentions marked in the text; any other name stands for our detection."""


@dataclass(frozen=True)
class SpotlightQuery:
    """Parameters of a request."""

    spotted: Spotted
    given: bool  # whether the mentions are marked in the text
    confidence: float
    support: int
    types: frozenset[str]
    blacklist: bool
    echo: Mapping[str, str]  # repeated in the response

    def wants(self, type_: str, support: int) -> bool:
        """Whether entities of this type and support are wanted."""
        known = {name for name in _TYPES.get(type_, "").lower().split(",") if name}
        known |= {name.partition(":")[2] for name in known}
        listed = not self.types or bool(known & self.types) != self.blacklist
        return support >= self.support and listed


def router(engine: Engine) -> APIRouter:
    """Return the routes, each for GET and POST."""
    routes, settings = APIRouter(include_in_schema=False), engine.settings
    some = Options(candidates=min(2, settings.max_candidates))
    many = Options(candidates=min(TOP, settings.max_candidates))

    async def links_of(query: SpotlightQuery, options: Options) -> Sequence[Link]:
        text, spans = query.spotted
        return await link_text(engine, text, spans if query.given else None, options)

    async def annotated(request: Request, query: SpotlightQuery) -> Response:
        links = await links_of(query, some)
        kb = engine.linker.kb
        prefix = prefix_of(kb, settings.entity_prefix)
        if wants_turtle(request):
            kept = [link for link, _ in _kept(query, links, kb)]
            linked = LinkedContext("", query.spotted.text, [("", link) for link in kept])
            return Response(turtle([linked], prefix), media_type=MEDIA_TYPE)
        return await _json(
            lambda: {
                **query.echo,
                "Resources": [
                    _resource(link, support, prefix) for link, support in _kept(query, links, kb)
                ],
            }
        )

    async def annotate(request: Request) -> Response:
        """Detect and link mentions."""
        return await annotated(request, await _read_query(request))

    async def disambiguate(request: Request) -> Response:
        """Link the mentions marked in a text."""
        return await annotated(request, await _read_query(request, read_spots))

    async def candidates(request: Request) -> Response:
        """Detect mentions and return their candidates."""
        query = await _read_query(request)
        links = await links_of(query, many)
        kb = engine.linker.kb
        prefix = prefix_of(kb, settings.entity_prefix)
        return await _json(lambda: _forms(query, _candidates(query, links, kb, prefix)))

    async def spot(request: Request) -> Response:
        """Detect mentions."""
        query = await _read_query(request)
        links = await links_of(query, some)
        return await _json(lambda: _forms(query, [_form(link) for link in links]))

    for handler in (annotate, candidates, disambiguate, spot):
        for path in (f"/rest/{handler.__name__}", f"/rest/{handler.__name__}/"):
            routes.add_api_route(path, handler, methods=["GET", "POST"], response_model=None)
    return routes


async def _json(record: Callable[[], Any]) -> Response:
    """Serialise a response off the event loop: it may look up thousands of candidates."""
    return await run_in_threadpool(lambda: json_response(record()))


async def _read_query(
    request: Request, read: Callable[[str], Spotted] | None = None
) -> SpotlightQuery:
    """Parse a request off the event loop: it may be long."""
    return await run_in_threadpool(_query, await fields_of(request), read)


def _query(
    fields: Mapping[str, str], read: Callable[[str], Spotted] | None = None
) -> SpotlightQuery:
    """Return the parameters of a request, whose text `read` or its spotter reads."""
    for name in ("url", "sparql"):
        if fields.get(name):
            raise RequestError(f"{name!r} is not supported; leave it out")
    text = fields.get("text")
    if not text:
        raise RequestError('"text" is missing')
    policy = fields.get("policy") or "whitelist"
    if policy not in ("whitelist", "blacklist"):
        raise RequestError(f'"policy" is {policy!r:.40}; it must be whitelist or blacklist')
    read = read or _SPOTTERS.get(fields.get("spotter", ""))
    spotted = Spotted(text, ()) if read is None else read(text)
    confidence = _number(fields, "confidence")
    support, types = int(_number(fields, "support")), fields.get("types", "")
    return SpotlightQuery(
        spotted,
        read is not None,
        confidence,
        support,
        frozenset(name.strip().lower() for name in types.split(",") if name.strip()),
        policy == "blacklist",
        {
            "@text": spotted.text,
            "@confidence": str(confidence),
            "@support": str(support),
            "@types": types,
            "@sparql": "",
            "@policy": policy,
        },
    )


def _number(fields: Mapping[str, str], name: str) -> float:
    given = fields.get(name) or "0"
    try:
        value = float(given)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise RequestError(f"{name!r} is {given!r:.40}; it must be a number")
    return value


def _kept(
    query: SpotlightQuery, links: Iterable[Link], kb: KnowledgeBase
) -> Iterable[tuple[Link, int]]:
    """Yield the wanted links with the support of their entities."""
    for link in links:
        if link.entity is not None and link.confidence >= query.confidence:
            support = _support(kb, link.entity)
            if query.wants(link.type, support):
                yield link, support


def _resource(link: Link, support: int, prefix: str) -> dict[str, str]:
    assert link.entity is not None
    others = [other.probability for other in link.candidates if other.entity != link.entity]
    return {
        "@URI": entity_iri(link.entity, link.title, prefix),
        "@support": str(support),
        "@types": _TYPES.get(link.type, ""),
        "@surfaceForm": link.text,
        "@offset": str(link.start),
        "@similarityScore": _score(link.confidence),
        "@percentageOfSecondRank": _share(max(others, default=0.0), link.confidence),
    }


def _candidates(
    query: SpotlightQuery, links: Iterable[Link], kb: KnowledgeBase, prefix: str
) -> list[dict[str, Any]]:
    """Return the mentions that have wanted candidates, with these."""
    forms = []
    for link in links:
        kept = []
        for other in link.candidates:
            support = _support(kb, other.entity)
            if other.probability >= query.confidence and query.wants(other.type, support):
                kept.append((other, support))
        after = [*(other.probability for other, _ in kept[1:]), 0.0]
        resources = [
            _candidate(other, support, second, prefix)
            for (other, support), second in zip(kept, after, strict=False)
        ]
        if resources:
            forms.append({**_form(link), "resource": resources})
    return forms


def _candidate(other: Alternative, support: int, second: float, prefix: str) -> dict[str, str]:
    probability = _score(other.probability)
    return {
        "@label": other.title or other.entity,
        "@uri": local_name(other.entity, other.title, prefix),
        "@contextualScore": probability,
        "@percentageOfSecondRank": _share(second, other.probability),
        "@support": str(support),
        "@priorScore": _score(other.prior),
        "@finalScore": probability,
        "@types": _TYPES.get(other.type, "").replace(",", ", "),
    }


def _form(link: Link) -> dict[str, Any]:
    return {"@name": link.text, "@offset": str(link.start)}


def _forms(query: SpotlightQuery, forms: list[dict[str, Any]]) -> dict[str, Any]:
    return {"annotation": {"@text": query.spotted.text, "surfaceForm": forms}}


def _support(kb: KnowledgeBase, id_: str) -> int:
    """Return the number of links to an entity, as stated by the source or as counted."""
    number = kb.number(id_)
    if number is None:  # the knowledge base was replaced
        return 0
    row = kb.rows[number]
    return int(row["in_links"] if row["stated_in"] < 0 else row["stated_in"])


def _score(value: float) -> str:
    return str(round(value, 6)) if value == value else "0.0"


def _share(second: float, first: float) -> str:
    return _score(min(1.0, second / first)) if first > 0 else "0.0"
