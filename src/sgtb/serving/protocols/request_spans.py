"""Links of given spans, checked and linked even where they overlap, or of detected mentions."""

from collections.abc import Sequence
from typing import Any

from sgtb.core.errors import RequestError
from sgtb.linking.links import Link, Request, Span
from sgtb.serving.engine import Engine, check_number
from sgtb.serving.error_responses import TooManyError
from sgtb.serving.link_requests import Options


def given_span(text: str, start: Any, end: Any, name: str | None = None) -> Span:
    """Return a span; a RequestError if it is outside of the text or does not match its name."""
    for value in (start, end):
        if not isinstance(value, int) or isinstance(value, bool):
            raise RequestError(f"the offset of a mention is {value!r:.40}; it must be a number")
    if not 0 <= start < end <= len(text):
        raise RequestError(
            f"the mention {start} to {end} is outside of a text of {len(text)} code points"
            + _units(text, start, name)
        )
    if name is not None and text[start:end] != name:
        raise RequestError(
            f"the mention {name!r:.60} is {text[start:end]!r:.60} at {start} to {end}"
            + (_units(text, start, name) or "; count code points")
        )
    return Span(start, end)


def _units(text: str, start: int, name: str | None) -> str:
    """Return a hint if an offset counts UTF-16 units, as in Java and JavaScript."""
    before = text.encode("utf-16-le", "surrogatepass")[: 2 * max(start, 0)]
    at = len(before.decode("utf-16-le", "replace"))
    if not name or at == start or not text.startswith(name, at):
        return ""
    return "; the offsets count UTF-16 units, and should count code points"


async def link_text(
    engine: Engine, text: str, spans: Sequence[Span] | None, options: Options
) -> Sequence[Link]:
    """Return the links of spans, overlapping ones in separate rounds, or of found mentions."""
    if spans is None:
        return (await engine.link(Request(text), options)).links
    check_number(len(spans), engine.settings)
    rounds = _rounds(spans, engine.settings.max_batch)
    linked = await engine.link_many(
        [(Request(text, tuple(spans[i] for i in one)), options) for one in rounds]
    )
    found: dict[int, Link] = {}
    for one, document in zip(rounds, linked, strict=True):
        by_place = {(link.start, link.end): link for link in document.links}
        found |= {i: by_place[spans[i].start, spans[i].end] for i in one}
    return [found[i] for i in range(len(spans))]


def _rounds(spans: Sequence[Span], most: int) -> list[list[int]]:
    """Distribute the indices of spans over rounds without overlaps."""
    rounds: list[list[int]] = []
    ends: list[int] = []
    for i in sorted(range(len(spans)), key=lambda i: (spans[i].start, spans[i].end, i)):
        free = next((j for j, end in enumerate(ends) if end <= spans[i].start), len(ends))
        if free == len(ends):
            if free == most:
                raise TooManyError(f"more than {most:,} spans overlap at one place", most)
            rounds.append([])
            ends.append(0)
        rounds[free].append(i)
        ends[free] = spans[i].end
    return rounds
