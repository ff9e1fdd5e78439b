"""Request bodies of clients of other services: forms, JSON, and Python dictionaries.

The content type is often missing or wrong. Some clients send a printed Python dictionary, which the
services they were made for accept.
"""

import json
import math
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

from starlette.requests import Request

from sgtb.core.errors import RequestError

_MAX_FIELDS = 100
_BOUNDARY = re.compile(r'boundary="?([^";,\s]{1,200})"?', re.IGNORECASE)
_NAME = re.compile(rb'\bname="([^"\r\n]*)"')
# A string in either kind of quotes, to its end or that of the text. It always matches, so that
# matching takes linear time.
_STRING = re.compile(
    r"""u?(?:"(?P<double>[^"\\]*+(?:\\(?:.|\Z)[^"\\]*+)*+)(?:"|\Z)"""
    r"""|'(?P<single>[^'\\]*+(?:\\(?:.|\Z)[^'\\]*+)*+)(?:'|\Z))""",
    re.DOTALL,
)
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL)
_SHORT = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "\n": ""}
_WORDS = {"True": "true", "False": "false", "None": "null"}
_WORD = re.compile(r"\b(?:True|False|None)\b")


async def text_of(request: Request) -> str:
    """Return the body of a request as text."""
    return _decoded(await request.body(), "the body")


async def fields_of(request: Request) -> Mapping[str, str]:
    """Return the fields of the query or form of a request; of equal names the last."""
    if request.method == "GET":
        return _pairs(request.url.query)
    body = await request.body()
    kind = request.headers.get("content-type", "")
    if kind.lower().startswith("multipart/"):
        return _parts(body, kind)
    # Whatever the header says, it can only be a URL-encoded form.
    return _pairs(_decoded(body, "the form"))


def is_form(request: Request) -> bool:
    """Whether the content type of a request is a form."""
    kind = request.headers.get("content-type", "").lower()
    return kind.startswith(("multipart/form-data", "application/x-www-form-urlencoded"))


def json_object(text: str) -> dict[str, Any]:
    """Parse a JSON object."""
    try:
        value = json.loads(text, parse_constant=_no_number, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        raise RequestError(f"the body is not JSON: {_why(error)}") from None
    if not isinstance(value, dict):
        raise RequestError(f"the body is {value!r:.40}; it must be a JSON object")
    return value


def loose_object(text: str) -> dict[str, Any]:
    """Parse a JSON object or a printed Python dictionary."""
    try:
        return json_object(text)
    except RequestError as error:
        parts, at = [], 0
        for string in _STRING.finditer(text):
            parts += [_plain(text[at : string.start()]), _quoted(string)]
            at = string.end()
        try:
            return json_object("".join([*parts, _plain(text[at:])]))
        except (RequestError, ValueError):
            raise error from None


def _decoded(data: bytes, what: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise RequestError(
            f"{what} is not UTF-8: byte 0x{data[error.start]:02x} at {error.start}"
        ) from None


def _pairs(text: str) -> dict[str, str]:
    try:
        pairs = parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=_MAX_FIELDS)
    except UnicodeDecodeError as error:
        raise RequestError(f"the form is not UTF-8: {_why(error)}") from None
    except ValueError:
        raise RequestError(f"the form has more than {_MAX_FIELDS} fields") from None
    return dict(pairs)


def _parts(body: bytes, kind: str) -> dict[str, str]:
    """Return the fields of a multipart form."""
    boundary = _BOUNDARY.search(kind)
    if boundary is None:
        raise RequestError("the Content-Type of the form names no boundary")
    fields: dict[str, str] = {}
    parts = (b"\r\n" + body).split(b"\r\n--" + boundary[1].encode("latin-1"), _MAX_FIELDS + 1)
    if len(parts) > _MAX_FIELDS + 1:
        raise RequestError(f"the form has more than {_MAX_FIELDS} fields")
    for part in parts[1:]:
        head, found, value = part.partition(b"\r\n\r\n")
        name = _NAME.search(head)
        if found and name:
            key = _decoded(name[1], "the name of a field")
            fields[key] = _decoded(value, f"the field {key!r:.40}")
    return fields


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is not a number")


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError(f"{digits:.40} is not a number of double precision")
    return value


def _plain(text: str) -> str:
    """Convert text outside of strings to JSON."""
    return _WORD.sub(lambda word: _WORDS[word[0]], text)


def _quoted(string: "re.Match[str]") -> str:
    """Convert a string to JSON."""
    body = string["single"] if string["double"] is None else string["double"]
    text = _ESCAPE.sub(_unescaped, body)
    # A character beyond U+FFFF may be written as two escapes.
    return json.dumps(text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass"))


def _unescaped(escape: "re.Match[str]") -> str:
    code = escape[1]
    return chr(int(code[1:], 16)) if len(code) > 1 else _SHORT.get(code, code)


def _why(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    return f"{error!s:.100}"
