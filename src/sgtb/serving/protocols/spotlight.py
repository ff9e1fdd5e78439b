"""DBpedia Spotlight: its annotate, candidates, disambiguate and spot, in JSON or as NIF."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool

from sgtb.core.errors import RequestError
from sgtb.kb.knowledge_base import TOP, KnowledgeBase
from sgtb.linking.links import Alternative, Link
from sgtb.linking.links import Request as Asked
from sgtb.serving.engine import Engine
from sgtb.serving.link_requests import Options
from sgtb.serving.protocols.entity_iris import entity_iri, local_name
from sgtb.serving.protocols.form_bodies import fields_of
from sgtb.serving.protocols.marked_text import Spotted, read_markup, read_spots, read_xml
from sgtb.serving.protocols.nif_turtle import MEDIA_TYPE, Written, turtle, wants_turtle
from sgtb.serving.protocols.request_spans import link_given
from sgtb.serving.routes import json_response
from sgtb.serving.service_settings import ServeSettings

_TYPES = {
    "PER": "DBpedia:Person,Schema:Person",
    "ORG": "DBpedia:Organisation,Schema:Organization",
    "LOC": "DBpedia:Place,Schema:Place",
}
_SPOTTERS: Mapping[str, Callable[[str], Spotted]] = {
    "SpotXmlParser": read_xml,
    "WikiMarkupSpotter": read_markup,
}
"""The spotters that find nothing: the text comes with its spots. Other names mean the linker's."""


@dataclass(frozen=True)
class Question:
    """What a client asks for.

    given  whether the text came with its spots
    shown  the parameters as they are repeated in the answer
    """

    spotted: Spotted
    given: bool
    confidence: float
    support: int
    types: frozenset[str]
    blacklist: bool
    shown: Mapping[str, str]

    def wants(self, type_: str, support: int) -> bool:
        """Whether entities of this type and fame are asked for."""
        known = {name for name in _TYPES.get(type_, "").lower().split(",") if name}
        known |= {name.partition(":")[2] for name in known}
        listed = not self.types or bool(known & self.types) != self.blacklist
        return support >= self.support and listed


def router(engine: Engine, settings: ServeSettings) -> APIRouter:
    """Return the routes, all of them for GET and for POST."""
    routes = APIRouter(include_in_schema=False)
    prefix = settings.entity_prefix
    some = Options(candidates=min(2, settings.max_candidates))  # the second tells how clear it is
    many = Options(candidates=min(TOP, settings.max_candidates))

    async def links_of(question: Question, options: Options) -> Sequence[Link]:
        text, spans = question.spotted
        if question.given:
            return await link_given(engine, text, spans, options)
        return (await engine.link(Asked(text), options)).links

    async def annotated(request: Request, question: Question) -> Response:
        links = await links_of(question, some)
        kb = engine.linker.kb
        if wants_turtle(request):
            kept = [link for link, _ in _kept(question, links, kb)]
            written = Written("", question.spotted.text, [("", link) for link in kept])
            return Response(turtle([written], prefix), media_type=MEDIA_TYPE)
        return await _json(
            lambda: {
                **question.shown,
                "Resources": [
                    _resource(link, support, prefix) for link, support in _kept(question, links, kb)
                ],
            }
        )

    async def annotate(request: Request) -> Response:
        """Find the names in a text and tell what they mean."""
        return await annotated(request, await _asked(request))

    async def disambiguate(request: Request) -> Response:
        """Tell what the names mean that the text comes with."""
        return await annotated(request, await _asked(request, read_spots))

    async def candidates(request: Request) -> Response:
        """Find the names in a text and tell what they may mean."""
        question = await _asked(request)
        links = await links_of(question, many)
        kb = engine.linker.kb
        return await _json(lambda: _forms(question, _candidates(question, links, kb, prefix)))

    async def spot(request: Request) -> Response:
        """Find the names in a text."""
        question = await _asked(request)
        links = await links_of(question, some)
        return await _json(lambda: _forms(question, [_form(link) for link in links]))

    for handler in (annotate, candidates, disambiguate, spot):
        for path in (f"/rest/{handler.__name__}", f"/rest/{handler.__name__}/"):
            routes.add_api_route(path, handler, methods=["GET", "POST"], response_model=None)
    return routes


async def _json(record: Callable[[], Any]) -> Response:
    """Write an answer off the event loop: it may have thousands of candidates to look up."""
    return await run_in_threadpool(lambda: json_response(record()))


async def _asked(request: Request, read: Callable[[str], Spotted] | None = None) -> Question:
    """Read a request off the event loop: it may be long."""
    return await run_in_threadpool(_question, await fields_of(request), read)


def _question(fields: Mapping[str, str], read: Callable[[str], Spotted] | None = None) -> Question:
    """Return what is asked for.

    read  how spots are read out of the text; None: as the spotter says
    """
    for name in ("url", "sparql"):
        if fields.get(name):
            raise RequestError(f"{name!r} is not served here; leave it out")
    text = fields.get("text")
    if not text:
        raise RequestError('there is no "text"')
    policy = fields.get("policy") or "whitelist"
    if policy not in ("whitelist", "blacklist"):
        raise RequestError(f'"policy" is {policy!r:.40}; it must be whitelist or blacklist')
    read = read or _SPOTTERS.get(fields.get("spotter", ""))
    spotted = Spotted(text, ()) if read is None else read(text)
    confidence = _number(fields, "confidence")
    support, types = int(_number(fields, "support")), fields.get("types", "")
    return Question(
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
    question: Question, links: Iterable[Link], kb: KnowledgeBase
) -> Iterable[tuple[Link, int]]:
    """Yield the links that are asked for, with the links to their entities counted."""
    for link in links:
        if link.entity is not None and link.confidence >= question.confidence:
            support = _support(kb, link.entity)
            if question.wants(link.type, support):
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
    question: Question, links: Iterable[Link], kb: KnowledgeBase, prefix: str
) -> list[dict[str, Any]]:
    """Return the mentions that have candidates as they are asked for, with these."""
    forms = []
    for link in links:
        kept = []
        for other in link.candidates:
            support = _support(kb, other.entity)
            if other.probability >= question.confidence and question.wants(other.type, support):
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


def _forms(question: Question, forms: list[dict[str, Any]]) -> dict[str, Any]:
    return {"annotation": {"@text": question.spotted.text, "surfaceForm": forms}}


def _support(kb: KnowledgeBase, id_: str) -> int:
    """Return how many links lead to an entity, as the source states it, or those known here."""
    number = kb.number(id_)
    if number is None:  # the knowledge base was replaced meanwhile
        return 0
    row = kb.rows[number]
    return int(row["in_links"] if row["stated_in"] < 0 else row["stated_in"])


def _score(value: float) -> str:
    return str(round(value, 6)) if value == value else "0.0"


def _share(second: float, first: float) -> str:
    return _score(min(1.0, second / first)) if first > 0 else "0.0"
