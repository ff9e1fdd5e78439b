"""The routes of the API."""

import json
import time
from collections import Counter
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel
from starlette.concurrency import run_in_threadpool

import sgtb
from sgtb.linking.linker import Linker
from sgtb.linking.links import LinkedDocument
from sgtb.linking.nil_candidate import REASON_LABELS
from sgtb.serving.engine import Engine
from sgtb.serving.error_responses import NotFoundError, OverloadedError
from sgtb.serving.page_assets import example_texts
from sgtb.serving.schemas import (
    BatchBody,
    BatchResponse,
    CandidatesResponse,
    EntityResponse,
    ErrorResponse,
    KbResponse,
    LinkBody,
    LinkResponse,
    StatusResponse,
    body_of,
)
from sgtb.serving.service_metrics import CONTENT_TYPE
from sgtb.serving.service_settings import ServeSettings

DEFAULT_SHOWN = 50  # names and links of an entity returned by default
MAX_SHOWN = 1_000
BODIES = (LinkBody, BatchBody)
REFERENCE = "#/components/schemas/{model}"
_MAX_INLINE = 200  # links serialised on the event loop; more would delay other requests
_JSON_TEXT, _JSON_ASCII = (
    json.JSONEncoder(ensure_ascii=ascii, allow_nan=False, separators=(",", ":"))
    for ascii in (False, True)
)
_STATE = ("entities", "names", "build", "generation", "fingerprint")
_LIMITS = (
    "max_body_bytes", "max_characters", "max_reasons_characters", "max_spans", "max_batch",
    "max_candidates", "request_seconds",
)  # fmt: skip


def refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the error responses of a route for the OpenAPI document."""
    descriptions = {
        400: "The body is malformed.",
        404: "No such entity.",
        408: "The body did not arrive in time.",
        413: "The body or a text is too long; the error names the limit.",
        422: "The request is invalid, or has too many parts.",
        503: "Overloaded, or not linked in time; retry after the seconds of Retry-After.",
    }
    return {
        status: {"model": ErrorResponse, "description": descriptions[status]}
        for status in (*statuses, 422)
    }


def _takes(body: type[BaseModel]) -> dict[str, Any]:
    """Return the description of a request body for the OpenAPI document."""
    schema = {"$ref": REFERENCE.format(model=body.__name__)}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


def router(engine: Engine) -> APIRouter:
    """Return the routes."""
    api, settings = APIRouter(), engine.settings
    linking = refusals(400, 408, 413, 503)

    @api.post(
        "/api/link", response_model=LinkResponse, responses=linking, tags=["link"],
        openapi_extra=_takes(LinkBody),
    )  # fmt: skip
    async def link(request: Request) -> Response:
        """Link the names in a text, detected or given as spans."""
        begin = time.perf_counter()
        body = await body_of(request, LinkBody, settings)
        document = await engine.link(*body.query())
        return await _json_of([document], lambda: {**document.to_dict(text=False), **_since(begin)})

    @api.post(
        "/api/link/batch", response_model=BatchResponse, responses=linking, tags=["link"],
        openapi_extra=_takes(BatchBody),
    )  # fmt: skip
    async def link_batch(request: Request) -> Response:
        """Link several texts, each by itself."""
        begin = time.perf_counter()
        body = await body_of(request, BatchBody, settings)
        documents = await engine.link_many([document.query() for document in body.documents])
        return await _json_of(
            documents,
            lambda: {"documents": [one.to_dict(text=False) for one in documents], **_since(begin)},
        )

    def shown(what: str) -> Any:
        return Query(ge=0, le=MAX_SHOWN, description=f"{what} returned")

    @api.get(
        "/api/entity/{id:path}", response_model=EntityResponse, responses=refusals(404, 503),
        tags=["knowledge base"],
    )  # fmt: skip
    def entity(
        id: str,
        aliases: Annotated[int, shown("names")] = DEFAULT_SHOWN,
        links: Annotated[int, shown("links")] = DEFAULT_SHOWN,
    ) -> Response:
        """Return what the knowledge base holds about an entity."""
        return json_response(_entity(engine.linker, id, aliases, links))

    @api.get(
        "/api/candidates", response_model=CandidatesResponse, responses=refusals(503),
        tags=["knowledge base"],
    )  # fmt: skip
    def candidates(
        name: Annotated[str, Query(max_length=1_000, description="in upper or lower case")],
        k: Annotated[
            int, Query(ge=1, le=settings.max_candidates, description="maximum number")
        ] = 30,
    ) -> Response:
        """Return the candidates of a name."""
        kb = engine.linker.kb
        found = [
            {
                "entity": one.id,
                "title": one.title,
                "type": kb.type_of(one.number),
                "prior": round(one.prior, 6),
            }
            for one in kb.candidates(name, k)
        ]
        return json_response({"name": name, "candidates": found})

    @api.get("/api/kb", response_model=KbResponse, responses=refusals(503), tags=["knowledge base"])
    def kb() -> Response:
        """Return the knowledge base, the model and the limits of the service."""
        return json_response(_kb(engine.linker, settings))

    @api.get("/healthz", response_model=StatusResponse, tags=["service"])
    async def healthz() -> Response:
        """Return that the service runs."""
        return json_response({"status": "ok"})

    @api.get("/readyz", response_model=StatusResponse, responses=refusals(503), tags=["service"])
    async def readyz() -> Response:
        """Return whether requests are accepted."""
        if not engine.ready:
            raise OverloadedError("the service is starting or ending", retry_after=1)
        return json_response({"status": "ready"})

    @api.get(
        "/metrics", tags=["service"], response_class=Response,
        responses={200: {"content": {CONTENT_TYPE: {"schema": {"type": "string"}}}}},
    )  # fmt: skip
    async def metrics() -> Response:
        """Return metrics for Prometheus."""
        return Response(engine.metrics.text(), headers={"content-type": CONTENT_TYPE})

    return api


def json_response(record: Any) -> Response:
    """Return a JSON response, without escapes of non-ASCII characters."""
    try:
        body = _JSON_TEXT.encode(record).encode()
    except UnicodeEncodeError:  # a lone surrogate
        body = _JSON_ASCII.encode(record).encode()
    return Response(body, media_type="application/json")


async def _json_of(documents: list[LinkedDocument], record: Any) -> Response:
    """Return a response with documents; many links are serialised off the event loop."""
    if sum(len(document.links) for document in documents) <= _MAX_INLINE:
        return json_response(record())
    return await run_in_threadpool(lambda: json_response(record()))


def _since(begin: float) -> dict[str, float]:
    return {"milliseconds": round(1000 * (time.perf_counter() - begin), 3)}


def _entity(linker: Linker, id_: str, n_aliases: int, n_links: int) -> dict[str, Any]:
    kb = linker.kb
    try:
        found = kb.entity(id_)
    except KeyError:
        raise NotFoundError(f"no entity {id_!r:.200} in the knowledge base") from None
    counts: Counter[str] = Counter()
    for alias in found.aliases:
        counts[alias.name] += alias.count
    aliases = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    numbers = [kb.number(other) for other in found.links[:n_links]]
    titles = ["" if number is None else kb.title_of(number) for number in numbers]
    return {
        **{name: getattr(found, name) for name in ("id", "title", "type", "description")},
        "popularity": found.popularity if found.popularity == found.popularity else None,
        "in_links": found.in_links,
        "out_links": found.out_links,
        "aliases": [{"name": name, "count": count} for name, count in aliases[:n_aliases]],
        "n_aliases": len(aliases),
        "links": [
            {"id": other, "title": title} for other, title in zip(found.links, titles, strict=False)
        ],
        "n_links": len(found.links),
    }


def _kb(linker: Linker, settings: ServeSettings) -> dict[str, Any]:
    state, model = linker.kb.state, linker.model
    forest = model.forest
    return {
        "version": sgtb.__version__,
        **{name: getattr(state, name) for name in _STATE},
        "sources": list(state.sources),
        "model": {
            "plan": forest.plan.name,
            "beam": forest.plan.beam_width,
            "trees": forest.forest.n_trees,
            "nil": model.nil.kind,
        },
        "limits": {name: getattr(settings, name) for name in _LIMITS},
        "feature_labels": REASON_LABELS,
        "examples": example_texts(linker.kb),
    }
