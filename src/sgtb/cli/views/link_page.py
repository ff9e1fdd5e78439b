"""Linked documents as one HTML file without network access."""

from collections.abc import Iterable, Iterator
from html import escape
from typing import Any

from sgtb.cli.views.link_view import (
    FOUND,
    NOT_IN_KB,
    Describe,
    percent,
    reason_text,
    without_confidence,
)
from sgtb.cli.views.page_files import inline_json, page_ends
from sgtb.linking.links import Link, LinkedDocument

_KINDS = {"PER": "people", "ORG": "organisations", "LOC": "places", "MISC": "other names"}
_SHADES = 10


def page_parts(documents: Iterable[LinkedDocument], describe: Describe) -> Iterator[str]:
    """Yield the page in parts, one per document."""
    head, tail = page_ends("link_page", "Linked text")
    legend = "".join(f'<li class="{kind}"><i></i>{words}</li>' for kind, words in _KINDS.items())
    yield head + _HEADER.format(legend=legend)
    for number, document in enumerate(documents):
        yield _section(document, number, describe)
    yield _PANEL + tail


def _section(document: LinkedDocument, number: int, describe: Describe) -> str:
    heading = f"<h2>{escape(document.id)}</h2>" if document.id else ""
    nothing = "" if document.links else '<p class="none-found">no mentions found</p>'
    return (
        f'<section class="document" id="document-{number}">{heading}'
        f'<p class="text" dir="auto">{_marked(document)}</p>{nothing}'
        f'<script type="application/json">{_data(document, describe)}</script></section>\n'
    )


def _marked(document: LinkedDocument) -> str:
    """Return the text with its mentions marked."""
    parts, at = [], 0
    for i, link in enumerate(document.links):
        parts.append(escape(document.text[at : link.start]))
        parts.append(
            f'<span class="{_classes(link)}" tabindex="0" role="button" data-at="{i}" '
            f'title="{escape(_tip(link))}">{escape(document.text[link.start : link.end])}</span>'
        )
        at = link.end
    parts.append(escape(document.text[at:]))
    return "".join(parts)


def _classes(link: Link) -> str:
    kind = link.type if link.type in _KINDS else "none"
    if link.entity is None:
        return f"m {kind} c0 nil"
    return f"m {kind} c{round(_SHADES * min(1.0, max(0.0, link.confidence)))}"


def _tip(link: Link) -> str:
    answer = NOT_IN_KB if link.entity is None else link.title
    return (
        answer if without_confidence(link) else f"{answer}, confidence {percent(link.confidence)}"
    )


def _data(document: LinkedDocument, describe: Describe) -> str:
    """Return the data of the panel as JSON."""
    links: list[dict[str, Any]] = []
    about: dict[str, str] = {}
    for link in document.links:
        record = link.to_dict()
        record["how"] = f"found by {FOUND[link.found]}"
        for reason, item in zip(link.reasons, record["reasons"], strict=True):
            item["text"] = reason_text(reason)
        links.append(record)
        for id in (link.entity, *(other.entity for other in link.candidates)):
            if id is not None and id not in about:
                about[id] = describe(id)
    return inline_json({"links": links, "about": about})


_HEADER = """<header><h1>Linked text</h1>
<ul class="legend">{legend}<li>stronger colour: higher confidence</li></ul></header>
<main>
<div>
"""

_PANEL = """</div>
<aside id="panel" aria-live="polite" aria-label="Selected name"><p class="hint">Point at a \
name, or move to it with Tab and the arrow keys. A click keeps it selected, Escape deselects \
it.</p></aside>
</main>
"""
