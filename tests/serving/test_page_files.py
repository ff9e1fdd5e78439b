"""The files of the page, as they are sent."""

import re

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from sgtb.serving.page_assets import page_files, router

FILES = page_files()
PAGES = ("index.html", "docs.html")


@pytest.fixture(scope="module")
def client():
    app = FastAPI(docs_url=None)
    app.include_router(router())
    return TestClient(app)


def path_of(name):
    return {"index.html": "/", "docs.html": "/docs"}.get(name, f"/page/{name}")


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_sent_once(client, name):
    answer = client.get(path_of(name))
    assert answer.status_code == 200
    assert answer.content == FILES[name].content
    assert answer.headers["content-type"].startswith(
        {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}[
            name.rpartition(".")[2]
        ]
    )
    tag = answer.headers["etag"]
    for known in (tag, f'"other", W/{tag}'):
        again = client.get(path_of(name), headers={"If-None-Match": known})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
    assert client.get(path_of(name), headers={"If-None-Match": '"other"'}).status_code == 200
    head = client.head(path_of(name))
    assert (head.status_code, head.content) == (200, b"")


def test_nothing_else_is_sent(client):
    for path in (
        "/page/",
        "/page/nothing.js",
        "/page/..%2fpage.py",
        "/page/%2e%2e/page.py",
        "/page.py",
    ):
        assert client.get(path).status_code == 404


def test_the_page_is_no_part_of_the_api():
    app = FastAPI()
    app.include_router(router())
    assert app.openapi()["paths"] == {}


def test_the_page_needs_no_other_host_and_nothing_inline():
    html = "".join(FILES[name].content.decode() for name in PAGES)
    assert re.findall(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=", html) == []
    for name, file in FILES.items():
        urls = re.findall(r"https?://[^\s\"']+|(?<=[\"'(])//[^\s\"')]+", file.content.decode())
        assert set(urls) <= {"http://www.w3.org/2000/svg"}, name


def test_what_the_page_names_is_there():
    html = "".join(FILES[name].content.decode() for name in PAGES)
    named = set(re.findall(r"(?:src|href)=\"page/([^\"]+)\"", html))
    for name, file in FILES.items():
        if name.endswith(".js"):
            named |= set(re.findall(r"from \"\./([^\"]+)\"", file.content.decode()))
    assert named == set(FILES) - set(PAGES)


def test_no_file_makes_markup_of_text():
    for name, file in FILES.items():
        found = re.findall(
            r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|Function\(",
            file.content.decode(),
        )
        assert found == [], name
