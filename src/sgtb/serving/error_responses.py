"""Failures: what a service refuses, and how it says so. Every answer of that kind is JSON."""

from typing import Any

from starlette.responses import JSONResponse

from sgtb.core.errors import SgtbError

INTERNAL = "something went wrong inside the service; its log tells what"


class ServeError(SgtbError):
    """A request that is not answered.

    status       the HTTP status
    code         what went wrong, for programs
    limit        the limit that was met
    retry_after  seconds after which it may go better
    """

    status = 422
    code = "bad_request"

    def __init__(
        self, message: str, limit: float | None = None, retry_after: int | None = None
    ) -> None:
        super().__init__(message)
        self.limit, self.retry_after = limit, retry_after


class TooLongError(ServeError):
    """A body or a text beyond its limit."""

    status, code = 413, "too_long"


class TooManyError(ServeError):
    """More spans, documents or candidates than one request may have."""

    status, code = 422, "too_many"


class OverloadedError(ServeError):
    """So much waits to be linked that no more is taken."""

    status, code = 503, "overloaded"


class TooLateError(ServeError):
    """The time that a request may take is over."""

    status, code = 503, "too_late"


class NotFoundError(ServeError):
    """There is nothing of that name."""

    status, code = 404, "not_found"


def failure_record(code: str, message: str, limit: float | None = None) -> dict[str, Any]:
    """Return a failure as plain data."""
    limited = {} if limit is None else {"limit": limit}
    return {"error": {"code": code, "message": message, **limited}}


def failure_response(
    status: int,
    code: str,
    message: str,
    limit: float | None = None,
    headers: dict[str, str] | None = None,
) -> JSONResponse:
    """Return the answer that tells of a failure."""
    return JSONResponse(failure_record(code, message, limit), status, headers)


def response_of(error: ServeError) -> JSONResponse:
    """Return the answer to a request that is refused."""
    later = {} if error.retry_after is None else {"retry-after": str(error.retry_after)}
    return failure_response(error.status, error.code, str(error), error.limit, later)
