"""Bodies: what requests to the API hold and what its answers hold, as the OpenAPI page shows it."""

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from sgtb.linking.links import Request, Span
from sgtb.serving.link_requests import FixedLink, Options

JORDAN = "Jordan scored, Pippen passed, and the Bulls beat Utah again."


def _whole(value: Any) -> Any:
    """Return 1 for 1.0: to JSON they are the same number."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Offset = Annotated[int, Field(strict=True, ge=0, le=2**53), BeforeValidator(_whole)]
Count = Annotated[int, Field(strict=True, ge=1), BeforeValidator(_whole)]
Id = Annotated[str, Field(min_length=1, max_length=1_000)]


class Asked(BaseModel):
    """The base of what a request holds: a key that is not known is an error, not passed over."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class SpanBody(Asked):
    """A mention given by the caller."""

    start: Annotated[Offset, Field(description="its first code point in the text")]
    end: Annotated[Offset, Field(description="the code point after its last")]
    fixed: Annotated[Id | None, Field(description="the id it certainly means")] = None
    candidates: Annotated[
        list[Id] | None, Field(description="the ids it may mean; null: as the names have it")
    ] = None

    def span(self) -> Span:
        """Return it as a linker takes it."""
        given = None if self.candidates is None else tuple(self.candidates)
        return Span(self.start, self.end, self.fixed, given)


class FixedBody(Asked):
    """A mention that the caller decided."""

    start: Offset
    end: Offset
    entity: Annotated[Id | None, Field(description="the id it means; null: it is NIL")]


class LinkBody(Asked):
    """A text to be linked."""

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
    spans: Annotated[
        list[SpanBody] | None, Field(description="its mentions; null: they are found")
    ] = None
    fixed: Annotated[
        list[FixedBody] | None,
        Field(description="decided mentions, beside those given or found; where they overlap, "
              "instead of them"),
    ] = None  # fmt: skip
    candidates: Annotated[Count, Field(description="given per mention")] = 5
    reasons: Annotated[bool, Field(strict=True, description="whether links have reasons")] = False
    nil: Annotated[
        float | None,
        Field(strict=True, ge=0, le=1, allow_inf_nan=False,
              description="links with less confidence become NIL; 0 links all; null: as the "
              "model learned to"),
    ] = None  # fmt: skip
    id: Annotated[str, Field(max_length=1_000, description="the answer carries it")] = ""

    def question(self) -> tuple[Request, Options]:
        """Return it as an engine takes it."""
        spans = None if self.spans is None else tuple(span.span() for span in self.spans)
        fixed = tuple(FixedLink(one.start, one.end, one.entity) for one in self.fixed or ())
        options = Options(self.candidates, self.reasons, self.nil, fixed)
        return Request(self.text, spans, self.id), options


class BatchBody(Asked):
    """Texts to be linked, each by itself."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"documents": [{"id": "a", "text": JORDAN}, {"id": "b", "text": ""}]}]
        }
    )
    documents: list[LinkBody]


class Told(BaseModel):
    """The base of what an answer holds."""


class AlternativeTold(Told):
    """A candidate of a mention."""

    entity: str
    title: str
    type: str
    probability: float
    prior: float | None


class ReasonTold(Told):
    """A part of the score difference between an answer and its runner-up."""

    kind: str
    name: str
    value: float
    mention: int | None


class LinkTold(Told):
    """A mention and the entity it means; null: NIL."""

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
    candidates: list[AlternativeTold]
    runner_up: str | None
    lead: float | None
    reasons: list[ReasonTold]


class DocumentTold(Told):
    """A document of a batch."""

    id: str | None = None
    links: list[LinkTold]


class LinksTold(DocumentTold):
    """The links of a text, in its order."""

    milliseconds: float


class BatchTold(Told):
    """The documents of a batch, in its order."""

    documents: list[DocumentTold]
    milliseconds: float


class AliasTold(Told):
    """A name of an entity, and how often it was met."""

    name: str
    count: int


class NeighbourTold(Told):
    """An entity that another links to."""

    id: str
    title: str


class EntityTold(Told):
    """What is known about an entity; of names and links the first, and how many there are."""

    id: str
    title: str
    type: str
    description: str
    popularity: float | None
    in_links: int
    out_links: int
    aliases: list[AliasTold]
    n_aliases: int
    links: list[NeighbourTold]
    n_links: int


class CandidateTold(Told):
    """An entity that a name may mean."""

    entity: str
    title: str
    type: str
    prior: float


class CandidatesTold(Told):
    """The entities that a name may mean, likeliest first."""

    name: str
    candidates: list[CandidateTold]


class ModelTold(Told):
    """The model that links."""

    plan: str
    beam: int
    trees: int
    nil: str


class KbTold(Told):
    """What the service links with."""

    version: str
    entities: int
    names: int
    build: str
    generation: int
    fingerprint: str
    sources: list[str]
    model: ModelTold
    limits: dict[str, Any]


class StateTold(Told):
    """Whether the service is well."""

    status: str


class FailureTold(Told):
    """What went wrong."""

    code: str
    message: str
    limit: float | None = None


class ErrorTold(Told):
    """The answer to a request that was refused."""

    error: FailureTold
