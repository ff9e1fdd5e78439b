"""Links in the forms of other tools: data frames, HTML, displaCy and spaCy spans."""

from html import escape
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal

from sgtb.core.errors import MissingExtraError, RequestError, import_extra
from sgtb.core.records import NIL
from sgtb.linking.links import Link, LinkedDocument

FrameLibrary = Literal["pandas", "polars"]
COLUMNS = (
    "start", "end", "text", "entity", "title", "type", "confidence", "nil", "found",
)  # fmt: skip
"""Columns of a data frame."""
_MOST_SHOWN = 20_000  # characters of a text that a notebook shows
_ALTERNATIVES = 4
_COLOURS = {"PER": "#cfe8ff", "ORG": "#d9f2d0", "LOC": "#ffe7c2", "MISC": "#ecdcff", NIL: "#e6e6e6"}
_OTHER_TYPE = "#f3e2d5"


def link_frame(document: LinkedDocument, library: FrameLibrary | None) -> Any:
    """Return a data frame of the links."""
    rows = {name: [getattr(link, name) for link in document.links] for name in COLUMNS}
    if library is None:
        library = "polars" if find_spec("pandas") is None and find_spec("polars") else "pandas"
    if library == "pandas":
        return import_extra("pandas", "frame", "a data frame needs").DataFrame(rows)
    if library != "polars":
        raise RequestError(f"a data frame of {library!r}; there are 'pandas' and 'polars'")
    if find_spec("polars") is None:
        raise MissingExtraError("a data frame of polars needs the package polars: install it")
    return import_module("polars").DataFrame(rows)


def displacy_input(document: LinkedDocument) -> dict[str, Any]:
    """Return the links with their types as labels."""
    entities = [
        {
            "start": link.start, "end": link.end, "label": _label(link),
            "kb_id": link.entity or "", "kb_url": "#",
        }
        for link in document.links
    ]  # fmt: skip
    return {"text": document.text, "ents": entities, "title": document.id or None}


def spacy_span(link: Link, doc: Any) -> Any:
    """Return the span of a link in a spaCy Doc; tokens that it touches are included."""
    if doc.text[link.start : link.end] != link.text:
        raise RequestError(
            f"the Doc does not have {link.text!r:.80} at {link.start} to {link.end}; it must be of "
            "the text that was linked"
        )
    return doc.char_span(
        link.start, link.end, _label(link), link.entity or NIL, alignment_mode="expand"
    )


def marked_html(document: LinkedDocument) -> str:
    """Return the text with marked links; a tooltip has confidence and alternatives."""
    text, parts, at = document.text, [], 0
    for link in document.links:
        if link.end > _MOST_SHOWN:
            break
        parts += [escape(text[at : link.start]), _mark(link)]
        at = link.end
    rest = text[at:]
    if len(text) > _MOST_SHOWN:
        rest = f"{text[at : max(at, _MOST_SHOWN)]} …"
    return (
        '<div style="line-height:2.4;white-space:pre-wrap;overflow-wrap:anywhere">'
        f"{''.join(parts)}{escape(rest)}</div>"
    )


def _label(link: Link) -> str:
    return NIL if link.entity is None else link.type or "ENTITY"


def _mark(link: Link) -> str:
    colour = _COLOURS.get(_label(link), _OTHER_TYPE)
    note = f"{NIL if link.entity is None else link.title} {link.confidence:.0%}"
    return (
        f'<mark title="{escape(_tooltip(link))}" style="background:{colour};color:#1a1a1a;'
        f"padding:.25em .4em;border-radius:.35em;-webkit-box-decoration-break:clone;"
        f'box-decoration-break:clone">{escape(link.text)} '
        f'<small style="color:#4a4a4a">{escape(note)}</small></mark>'
    )


def _tooltip(link: Link) -> str:
    shown = link.candidates[:_ALTERNATIVES]
    lines = [f"{other.title} ({other.entity}) {other.probability:.0%}" for other in shown]
    return "\n".join([*lines, f"{NIL} {link.nil:.0%}"] if link.nil else lines) or "no candidates"
