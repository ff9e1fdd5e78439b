"""Request bodies and responses of the API, as the OpenAPI document shows them.

The numbers of items of a body are checked before its content.
"""

import json
from functools import partial
from typing import Annotated, Any, TypeVar

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request as HttpRequest

from sgtb.core.errors import RequestError
from sgtb.linking.links import Request, Span
from sgtb.serving.engine import check_number, check_size
from sgtb.serving.link_requests import FixedLink, Options
from sgtb.serving.service_settings import ServeSettings

MAX_INLINE = 20_000
"""Bytes of a body that are parsed on the event loop; more would delay other requests."""
_WIDEST_BEAM = 64  # the time of a search grows with the width of its beam
JORDAN = "Jordan scored, Pippen passed, and the Bulls beat Utah again."


def _whole(value: Any) -> Any:
    """Return 1 for 1.0: equal numbers in JSON."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Offset = Annotated[int, Field(strict=True, ge=0, le=2**53), BeforeValidator(_whole)]
Count = Annotated[int, Field(strict=True, ge=1), BeforeValidator(_whole)]
Width = Annotated[int, Field(strict=True, ge=1, le=_WIDEST_BEAM), BeforeValidator(_whole)]
Id = Annotated[str, Field(min_length=1, max_length=1_000)]
Item = TypeVar("Item")
Listed = Annotated[list[Item], Field(fail_fast=True)]


class RequestBody(BaseModel):
    """Base of request bodies: unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class SpanBody(RequestBody):
    """A mention given by the caller."""

    start: Annotated[Offset, Field(description="first code point of the mention")]
    end: Annotated[Offset, Field(description="code point after its last")]
    fixed: Annotated[Id | None, Field(description="id of the entity, if known")] = None
    candidates: Annotated[
        Listed[Id] | None, Field(description="ids of the candidates; null: looked up by name")
    ] = None

    def span(self) -> Span:
        """Return the span for the linker."""
        given = None if self.candidates is None else tuple(self.candidates)
        return Span(self.start, self.end, self.fixed, given)


class FixedBody(RequestBody):
    """A mention linked by the caller."""

    start: Offset
    end: Offset
    entity: Annotated[Id | None, Field(description="id of the entity; null: NIL")]


class LinkBody(RequestBody):
    """A text to link."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"text": JORDAN},
                {"text": JORDAN, "spans": [{"start": 0, "end": 6}], "reasons": True},
                {"text": JORDAN, "fixed": [{"start": 0, "end": 6, "entity": "Jordan"}]},
            ]
        }
    )
    text: Annotated[str, Field(description="plain text; offsets count its code points")]
    spans: Annotated[Listed[SpanBody] | None, Field(description="mentions; null: detected")] = None
    fixed: Annotated[
        Listed[FixedBody] | None,
        Field(description="mentions linked by the caller; they replace overlapping mentions"),
    ] = None
    candidates: Annotated[Count, Field(description="candidates returned per mention")] = 5
    reasons: Annotated[bool, Field(strict=True, description="whether to explain links")] = False
    nil: Annotated[
        float | None,
        Field(strict=True, ge=0, le=1, allow_inf_nan=False,
              description="links with less confidence become NIL; 0 links all; null: decided by "
              "the model"),
    ] = None  # fmt: skip
    beam_width: Annotated[
        Width | None,
        Field(description="hypotheses kept by the search; null: as the model was trained with"),
    ] = None
    id: Annotated[str, Field(max_length=1_000, description="returned in the response")] = ""

    def query(self) -> tuple[Request, Options]:
        """Return the request for the engine."""
        spans = None if self.spans is None else tuple(span.span() for span in self.spans)
        fixed = tuple(FixedLink(one.start, one.end, one.entity) for one in self.fixed or ())
        options = Options(self.candidates, self.reasons, self.nil, self.beam_width, fixed)
        return Request(self.text, spans, self.id), options


class BatchBody(RequestBody):
    """Texts to link, each by itself."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"documents": [{"id": "a", "text": JORDAN}, {"id": "b", "text": ""}]}]
        }
    )
    documents: Listed[LinkBody]


Body = TypeVar("Body", bound=BaseModel)


async def body_of(request: HttpRequest, model: type[Body], settings: ServeSettings) -> Body:
    """Return the body of a request, whatever its content type: `curl -d` declares a form."""
    data = await request.body()
    parse = partial(parse_body, data, model, settings)
    return parse() if len(data) <= MAX_INLINE else await run_in_threadpool(parse)


def parse_body(data: bytes, model: type[Body], settings: ServeSettings) -> Body:
    """Parse and validate a body."""
    try:
        record = json.loads(data)
    except RecursionError:
        raise RequestError("the body is nested too deeply") from None
    except ValueError as error:
        raise RequestError(f"the body is not JSON: {error!s:.100}") from None
    _check_items(record, settings)
    try:
        return model.model_validate(record)
    except ValidationError as error:
        raise RequestValidationError(error.errors(include_url=False, include_input=False)) from None


def _check_items(record: Any, settings: ServeSettings) -> None:
    """Raise if lists of a body have too many items."""
    if not isinstance(record, dict):
        return
    documents = record.get("documents", [record])
    if not isinstance(documents, list):
        return
    check_size(len(documents), settings)
    for document in documents:
        if isinstance(document, dict):
            given = [document.get(key) for key in ("spans", "fixed")]
            check_number(sum(len(one) for one in given if isinstance(one, list)), settings)


class AlternativeModel(BaseModel):
    """A candidate of a mention."""

    entity: str
    title: str
    type: str
    probability: float
    prior: float | None


class ReasonModel(BaseModel):
    """A part of the score difference between the chosen candidate and the runner-up."""

    kind: str
    name: str
    value: float
    mention: int | None


class LinkModel(BaseModel):
    """A mention and its entity; null: NIL."""

    start: int
    end: int
    text: str
    entity: str | None
    title: str
    type: str
    confidence: float | None
    nil: float | None
    found: str
    fixed: bool
    candidates: list[AlternativeModel]
    runner_up: str | None
    lead: float | None
    reasons: list[ReasonModel]


class DocumentModel(BaseModel):
    """A document of a batch."""

    id: str | None = None
    links: list[LinkModel]


class LinkResponse(DocumentModel):
    """The links of a text, in order."""

    milliseconds: float


class BatchResponse(BaseModel):
    """The documents of a batch, in order."""

    documents: list[DocumentModel]
    milliseconds: float


class AliasModel(BaseModel):
    """A name of an entity and its count."""

    name: str
    count: int


class NeighbourModel(BaseModel):
    """An entity that another links to."""

    id: str
    title: str


class EntityResponse(BaseModel):
    """An entity, with its first names and links and their total numbers."""

    id: str
    title: str
    type: str
    description: str
    popularity: float | None
    in_links: int
    out_links: int
    aliases: list[AliasModel]
    n_aliases: int
    links: list[NeighbourModel]
    n_links: int


class CandidateModel(BaseModel):
    """A candidate of a name."""

    entity: str
    title: str
    type: str
    prior: float


class CandidatesResponse(BaseModel):
    """The candidates of a name, likeliest first."""

    name: str
    candidates: list[CandidateModel]


class ModelInfo(BaseModel):
    """The model in use."""

    plan: str
    beam: int
    trees: int
    nil: str


class KbResponse(BaseModel):
    """The knowledge base, the model and the limits of the service.

    feature_labels  names of the feature groups that reasons refer to, for display
    examples        short texts with ambiguous names: `name` and `text`
    """

    version: str
    entities: int
    names: int
    build: str
    generation: int
    fingerprint: str
    sources: list[str]
    model: ModelInfo
    limits: dict[str, Any]
    feature_labels: dict[str, str]
    examples: list[dict[str, str]]


class StatusResponse(BaseModel):
    """The state of the service."""

    status: str


class ErrorModel(BaseModel):
    """An error."""

    code: str
    message: str
    limit: float | None = None


class ErrorResponse(BaseModel):
    """The response to a refused request."""

    error: ErrorModel
