"""JSON bodies of the API: limits are checked before the content."""

import json
from functools import partial
from typing import Any, TypeVar

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from sgtb.core.errors import RequestError
from sgtb.serving.engine import check_number, check_size
from sgtb.serving.service_settings import ServeSettings

Body = TypeVar("Body", bound=BaseModel)
MAX_INLINE = 20_000
"""Bytes of a body that are parsed on the event loop; more would delay other requests."""


async def body_of(request: Request, model: type[Body], settings: ServeSettings) -> Body:
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
