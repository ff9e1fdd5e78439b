"""The files of the web page, served with ETags."""

import hashlib
from dataclasses import dataclass
from importlib.resources import files

from fastapi import APIRouter, Request, Response

_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
_PATHS = {"index.html": "/", "docs.html": "/docs"}


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
    for file in sorted(
        files("sgtb.serving").joinpath("page").iterdir(), key=lambda file: file.name
    ):
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
