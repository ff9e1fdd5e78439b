"""Errors of the service and their JSON responses."""

from typing import Any

from starlette.responses import JSONResponse

from sgtb.core.errors import SgtbError

INTERNAL = "internal error; see the log of the service"


class ServeError(SgtbError):
    """A refused request; it names the exceeded limit, or the seconds until a retry may succeed."""

    status = 422
    code = "bad_request"  # for programs

    def __init__(
        self, message: str, limit: float | None = None, retry_after: int | None = None
    ) -> None:
        super().__init__(message)
        self.limit, self.retry_after = limit, retry_after


class TooLongError(ServeError):
    """A body or text is too long."""

    status, code = 413, "too_long"


class TooManyError(ServeError):
    """A request has too many spans, documents or candidates."""

    status, code = 422, "too_many"


class OverloadedError(ServeError):
    """The queue is full, or the service is not ready."""

    status, code = 503, "overloaded"


class TooLateError(ServeError):
    """The time limit of a request was exceeded."""

    status, code = 503, "too_late"


class NotFoundError(ServeError):
    """No such entity."""

    status, code = 404, "not_found"


def failure_record(code: str, message: str, limit: float | None = None) -> dict[str, Any]:
    """Return the JSON record of an error."""
    extra = {} if limit is None else {"limit": limit}
    return {"error": {"code": code, "message": message, **extra}}


def failure_response(
    status: int,
    code: str,
    message: str,
    limit: float | None = None,
    headers: dict[str, str] | None = None,
) -> JSONResponse:
    """Return the JSON response of an error."""
    return JSONResponse(failure_record(code, message, limit), status, headers)


def response_of(error: ServeError) -> JSONResponse:
    """Return the response to a refused request."""
    headers = {} if error.retry_after is None else {"retry-after": str(error.retry_after)}
    return failure_response(error.status, error.code, str(error), error.limit, headers)
