"""Requests as JSON objects: text, id and mentions, with validation."""

import json
from collections.abc import Mapping
from typing import Any

from sgtb.core.errors import RequestError
from sgtb.core.limits import check_items
from sgtb.formats.json_lines import json_shown, whole_number
from sgtb.linking.links import Request, Span

MAX_ID = 1_000
"""Characters of an id, which the output repeats for every link."""


class InputError(RequestError):
    """An unreadable input, with its place."""


def request_of(line: str, place: str, id: str = "") -> Request:
    """Parse a request from JSON: text, optionally id and mentions.

    Of a mention start, end, fixed and candidates are read, and text is compared with the text
    there; other keys are ignored.
    """
    try:
        check_items(line)
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{place}: not JSON: {error}") from None
    if not isinstance(record, dict):
        raise InputError(f'{place}: not a JSON object such as {{"text": "…"}}')
    return request_of_fields(record, place, id)


def request_of_fields(record: Mapping[str, Any], place: str, id: str = "") -> Request:
    """Return the request of a JSON object or a row, as `request_of` does."""
    text = record.get("text")
    if not isinstance(text, str):
        raise InputError(f'{place}: "text" should be a string, not {json_shown(text)}')
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f'{place}: character {error.start} of "text" is a lone surrogate'
        ) from None
    given = record.get("id", id)
    if isinstance(given, bool) or not isinstance(given, str | int):
        raise InputError(f'{place}: "id" should be a string, not {json_shown(given)}')
    if "id" in record and len(str(given)) > MAX_ID:
        raise InputError(f'{place}: "id" has more than {MAX_ID:,} characters')
    mentions, spans = record.get("mentions"), None
    if mentions is not None:
        if not isinstance(mentions, list):
            raise InputError(f'{place}: "mentions" should be a list, not {json_shown(mentions)}')
        spans = [_span(m, text, f"{place}, mention {i}") for i, m in enumerate(mentions, 1)]
    return Request(text, spans, str(given))


def _span(mention: Any, text: str, place: str) -> Span:
    def error(message: str) -> InputError:
        return InputError(f"{place}: {message}")

    if not isinstance(mention, dict):
        raise error(f"not an object with start and end, but {json_shown(mention)}")
    start, end = (whole_number(mention.get(key), key, error) for key in ("start", "end"))
    if not 0 <= start < end <= len(text):
        raise error(
            f"start {start} and end {end} are no span of the text of {len(text):,} characters"
        )
    own, found = mention.get("text"), text[start:end]
    if isinstance(own, str) and own != found:
        raise error(
            f"start {start} and end {end} are those of {json_shown(found)}, not of "
            f"{json_shown(own)}; count in code points"
        )
    fixed, ids = mention.get("fixed"), mention.get("candidates")
    if fixed is not None and not isinstance(fixed, str):
        raise error(f'"fixed" should be the id of an entity, not {json_shown(fixed)}')
    if ids is not None and not (isinstance(ids, list) and all(isinstance(i, str) for i in ids)):
        raise error(f'"candidates" should be a list of ids, not {json_shown(ids)}')
    return Span(start, end, fixed, None if ids is None else tuple(ids))
