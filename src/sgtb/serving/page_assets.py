"""The web page: its files, served with ETags, and example texts of a knowledge base."""

import hashlib
from dataclasses import dataclass
from importlib.resources import files

import numpy as np
from fastapi import APIRouter, Request, Response

from sgtb import starter
from sgtb.kb.knowledge_base import KnowledgeBase

_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
_PATHS = {"index.html": "/", "docs.html": "/docs"}

MAX_TEXTS = 6
_SAMPLE = 400  # entities looked at, spread evenly over the knowledge base
_NEIGHBOURS = 3
_MAX_DESCRIPTION = 160


@dataclass(frozen=True)
class PageFile:
    """A file of the page."""

    content: bytes
    type: str
    etag: str

    def answer(self, request: Request) -> Response:
        """Return the file, or 304 if the browser has it."""
        # Revalidated each time, so that an upgrade replaces all files at once.
        headers = {"ETag": self.etag, "Cache-Control": "no-cache"}
        known = request.headers.get("if-none-match", "")
        if self.etag in (tag.strip().removeprefix("W/") for tag in known.split(",")):
            return Response(status_code=304, headers=headers)
        return Response(self.content, media_type=self.type, headers=headers)


def page_files() -> dict[str, PageFile]:
    """Return the files of the page by name."""
    found = {}
    folder = files("sgtb.serving").joinpath("page")
    for file in sorted(folder.iterdir(), key=lambda file: file.name):
        type_ = _TYPES.get(file.name.rpartition(".")[2])
        if type_ is not None:
            content = file.read_bytes()
            etag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
            found[file.name] = PageFile(content, type_, etag)
    return found


def router() -> APIRouter:
    """Return the routes: the page at /, the API's documentation at /docs, files below /page/."""
    routes = APIRouter(include_in_schema=False)
    for name, file in page_files().items():
        path = _PATHS.get(name, f"/page/{name}")
        routes.add_api_route(path, file.answer, methods=["GET", "HEAD"], response_model=None)
    return routes


def example_texts(kb: KnowledgeBase) -> list[dict[str, str]]:
    """Return examples as records of name and text.

    Those of the starter are written by hand. Those of another knowledge base consist of an
    ambiguous name, the description of one of its entities, and entities that it links to.
    """
    if kb.path.resolve() == starter.KB.resolve():
        lines = starter.EXAMPLES.read_text("utf-8").splitlines()
        return [dict(zip(("name", "text"), line.split("\t"), strict=True)) for line in lines]
    sample = np.unique(np.linspace(0, len(kb) - 1, min(_SAMPLE, len(kb))).astype(np.int64))
    found: dict[str, tuple[tuple[int, int, int], str]] = {}
    for number in sample.tolist():
        spelled = (spelling.text for spelling in kb.spellings_of(number))
        name = next((text for text in spelled if len(kb.candidates(text, 2)) > 1), "")
        if not name:  # of no other entity, too
            continue
        text, evidence = _text(kb, number, name)
        rank = (-evidence, -int(kb.rows[number]["in_links"]), number)
        found[name] = min(found.get(name, (rank, text)), (rank, text))
    best = sorted((rank, name, text) for name, (rank, text) in found.items())
    return [{"name": name, "text": text} for _, name, text in best[:MAX_TEXTS]]


def _text(kb: KnowledgeBase, number: int, name: str) -> tuple[str, int]:
    """Return the text about an entity and the amount of its evidence."""
    description = kb.description_of(number).strip()[:_MAX_DESCRIPTION].rstrip(" .")
    linked = [kb.title_of(int(other)) for other in kb.links(number)[:_NEIGHBOURS]]
    text = f"{name}, {description}." if description else f"{name}."
    text += f" See {' and '.join(linked)}." if linked else ""
    return text.strip(), bool(description) + len(linked)
