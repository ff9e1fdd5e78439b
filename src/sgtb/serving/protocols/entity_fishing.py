"""The protocol of entity-fishing: `disambiguate` for texts, and `segmentation`."""

import time
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool

import sgtb
from sgtb.core.errors import RequestError
from sgtb.formats.rdf_turtle import ITEM
from sgtb.kb.knowledge_base import KnowledgeBase
from sgtb.linking.links import Link, Span
from sgtb.linking.links import Request as LinkRequest
from sgtb.serving.engine import Engine, check_length, check_number
from sgtb.serving.link_requests import FixedLink, Options
from sgtb.serving.protocols.form_bodies import fields_of, is_form, loose_object, text_of
from sgtb.serving.protocols.request_spans import given_span
from sgtb.serving.routes import json_response
from sgtb.serving.service_settings import ServeSettings
from sgtb.text.tokenization import segment

_TYPES = {"PER": "PERSON", "ORG": "ORGANISATION", "LOC": "LOCATION"}
_REFERENCES = ("wikipediaExternalRef", "wikidataId")
_KEPT = ("text", "shortText", "nbest", "sentences", "processSentence", "mentions", "customisation")
"""Keys repeated in the response, so that it can be sent back as the next query."""


@dataclass(frozen=True)
class FishingQuery:
    """Parameters of a request."""

    text: str
    given: Mapping[tuple[int, int], Mapping[str, Any]]  # entities by their spans
    only: bool  # whether to link only the given mentions
    wanted: Sequence[tuple[int, int]] | None  # disjoint, sorted spans of wanted mentions; None: all
    best: int  # number of entities returned per mention

    def wants(self, link: Link) -> bool:
        """Whether a link is returned: given mentions always are."""
        if (link.start, link.end) in self.given:
            return True
        if link.entity is None:
            return False
        if self.wanted is None:
            return True
        before = bisect_right(self.wanted, link.start, key=lambda place: place[0])
        return before > 0 and link.start < self.wanted[before - 1][1]


def router(engine: Engine) -> APIRouter:
    """Return the routes of entity-fishing."""
    routes, settings = APIRouter(include_in_schema=False), engine.settings

    @routes.post("/disambiguate")
    async def disambiguate(request: Request) -> Response:
        """Link a text. Given entities are fixed and influence the others."""
        begin = time.perf_counter()
        text = await _query_of(request)
        body = await run_in_threadpool(loose_object, text)
        query = await run_in_threadpool(_query, body, settings)
        document, options = _link_request(query, engine.linker.kb, settings)
        links = (await engine.link(document, options)).links
        return await run_in_threadpool(lambda: json_response(_response(body, query, links, begin)))

    @routes.post("/segmentation")
    async def segmentation(request: Request) -> Response:
        """Return the sentences of a text, which clients need for long texts."""
        text = (await fields_of(request)).get("text")
        if text is None:
            raise RequestError('the form has no "text"')
        check_length(text, settings.max_characters)
        places = await run_in_threadpool(_sentences, text)
        spans = [{"offsetStart": start, "offsetEnd": end} for start, end in places]
        return json_response({"sentences": spans})

    return routes


async def _query_of(request: Request) -> str:
    """Return the query: a field of a form, or the body."""
    if not is_form(request):
        return await text_of(request)
    fields = await fields_of(request)
    if fields.get("file"):
        raise RequestError("files are not supported; send their text")
    if "query" not in fields:
        raise RequestError('the form has no "query"')
    return fields["query"]


def _query(body: Mapping[str, Any], settings: ServeSettings) -> FishingQuery:
    inputs = [key for key in ("text", "shortText", "termVector") if body.get(key)]
    if inputs == ["termVector"]:
        raise RequestError('"termVector" is not supported; send a "text"')
    if len(inputs) > 1:
        raise RequestError(f"the query has {' and '.join(inputs)}; it can have one of them")
    if not inputs and "text" not in body and "shortText" not in body:
        raise RequestError('the query has no "text"')
    text = body.get(inputs[0] if inputs else "text", "")
    if not isinstance(text, str):
        raise RequestError(f"the text is {text!r:.40}; it must be a string")
    check_length(text, settings.max_characters)
    entities = _list(body, "entities")
    check_number(len(entities), settings)
    best = body.get("nbest") or 1
    if not isinstance(best, int) or best < 0:
        raise RequestError(f'"nbest" is {best!r:.40}; it must be a number')
    return FishingQuery(
        text, _given(text, entities), body.get("mentions") == [], _wanted(text, body), int(best)
    )


def _list(body: Mapping[str, Any], key: str) -> list[Any]:
    value = body.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        raise RequestError(f"{key!r} is {value!r:.40}; it must be a list")
    return value


def _given(text: str, entities: Sequence[Any]) -> dict[tuple[int, int], Mapping[str, Any]]:
    """Return the given entities by their spans; of overlapping ones the first."""
    found: dict[tuple[int, int], Mapping[str, Any]] = {}
    for entity in entities:
        if not isinstance(entity, dict):
            raise RequestError(f'"entities" has {entity!r:.40}; it must be an object')
        name = entity.get("rawName")
        span = given_span(
            text, entity.get("offsetStart"), entity.get("offsetEnd"),
            name if isinstance(name, str) else None,
        )  # fmt: skip
        found.setdefault((span.start, span.end), entity)
    kept: dict[tuple[int, int], Mapping[str, Any]] = {}
    end = 0
    for place in sorted(found, key=lambda place: (place[0], -place[1])):
        if place[0] >= end:
            kept[place] = found[place]
            end = place[1]
    return kept


def _wanted(text: str, body: Mapping[str, Any]) -> list[tuple[int, int]] | None:
    """Return the sentences whose mentions are wanted."""
    numbers = _list(body, "processSentence")
    if not numbers:
        return None
    given = [_span(text, one) for one in _list(body, "sentences")] or _sentences(text)
    for number in numbers:
        if not isinstance(number, int) or not 0 <= number < len(given):
            raise RequestError(
                f'"processSentence" has {number!r:.40}; there are {len(given)} sentences'
            )
    wanted: list[tuple[int, int]] = []
    for start, end in sorted({given[number] for number in numbers}):
        last = wanted[-1][1] if wanted else 0
        if end > last:
            wanted.append((max(start, last), end))
    return wanted


def _span(text: str, sentence: Any) -> tuple[int, int]:
    if not isinstance(sentence, dict):
        raise RequestError(f'"sentences" has {sentence!r:.40}; it must be an object')
    span = given_span(text, sentence.get("offsetStart"), sentence.get("offsetEnd"))
    return span.start, span.end


def _sentences(text: str) -> list[tuple[int, int]]:
    """Return the sentences of a text, extended so that they cover all of it."""
    tokens, lines = segment(text)
    starts = [tokens.starts[first] for first, _ in lines][1:]
    return list(zip([0, *starts], [*starts, len(text)], strict=True)) if text else []


def _link_request(
    query: FishingQuery, kb: KnowledgeBase, settings: ServeSettings
) -> tuple[LinkRequest, Options]:
    """Return the request for the engine: given entities are fixed, given mentions added."""
    fixed, added = [], []
    for (start, end), entity in query.given.items():
        references = [str(entity[key]) for key in _REFERENCES if _is_reference(entity.get(key))]
        if references:
            # An unknown entity is returned, but has no influence.
            known = next((id_ for id_ in references if kb.number(id_) is not None), None)
            fixed.append(FixedLink(start, end, known))
        else:
            added.append(Span(start, end))
    candidates = min(max(query.best, 1), settings.max_candidates)
    options = Options(candidates=candidates, fixed=tuple(fixed), added=tuple(added))
    return LinkRequest(query.text, () if query.only else None), options


def _is_reference(value: Any) -> bool:
    """Return whether a value is an id; negative numbers stand for none."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value >= 0
    return isinstance(value, str) and value != ""


def _response(
    body: Mapping[str, Any], query: FishingQuery, links: Sequence[Link], begin: float
) -> dict[str, Any]:
    language = body.get("language")
    entities = [entity for link in links if query.wants(link) for entity in _entities(query, link)]
    return {
        "software": "sgtb",
        "version": sgtb.__version__,
        "runtime": round(1000 * (time.perf_counter() - begin)),
        **{key: body[key] for key in _KEPT if key in body},
        "language": language if isinstance(language, dict) else {"lang": "en", "conf": 0.0},
        "entities": entities,
    }


def _entities(query: FishingQuery, link: Link) -> list[dict[str, Any]]:
    """Return the records of a mention: its entity, or its best candidates."""
    place = {"rawName": link.text, "offsetStart": link.start, "offsetEnd": link.end}
    given = query.given.get((link.start, link.end))
    if link.fixed and given is not None:
        echo = {key: given[key] for key in (*_REFERENCES, "preferredTerm") if key in given}
        if link.entity is not None:  # a corrected entity may still carry the old term
            echo["preferredTerm"] = link.title or link.entity
        type_ = _TYPES.get(link.type, given.get("type"))
        return [{**place, **_typed(type_), **_scores(1.0), **echo}]
    if link.entity is None:
        return [{**place, **_scores(link.confidence)}]
    if query.best <= 1:
        known = _named(link.entity, link.title)
        return [{**place, **_typed(_TYPES.get(link.type)), **_scores(link.confidence), **known}]
    return [
        {
            **place,
            **_typed(_TYPES.get(other.type)),
            **_scores(other.probability),
            **_named(other.entity, other.title),
        }
        for other in link.candidates
    ]


def _named(id_: str, title: str) -> dict[str, Any]:
    """Return an id under the key of entity-fishing for its kind."""
    if ITEM.fullmatch(id_):
        reference: dict[str, Any] = {"wikidataId": id_}
    else:
        number = id_.isascii() and id_.isdigit() and str(int(id_)) == id_
        reference = {"wikipediaExternalRef": int(id_) if number else id_}
    return {**reference, "preferredTerm": title or id_}


def _typed(type_: Any) -> dict[str, Any]:
    return {"type": type_} if type_ else {}


def _scores(value: float) -> dict[str, float]:
    """Return a confidence under its present and its older names."""
    score = round(value, 6)
    return {"confidence_score": score, "nerd_score": score, "nerd_selection_score": score}
