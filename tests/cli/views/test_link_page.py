"""The page of links: true to the text, closed to markup, and in need of nothing else."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

from sgtb.cli.views.link_page import page_parts
from sgtb.linking.links import LinkedDocument, Request
from tests.helpers.cli_answers import DESCRIPTIONS, answer

NASTY = '<script>alert("1")</script> & Jordan\'s\n  <img src=x onerror=alert(2)> Bulls </p> Nobody'


class Page(HTMLParser):
    """What a browser would see: elements, attributes, texts and scripts."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.spans: list[str] = []
        self.data: list[dict] = []
        self.style = self.script = ""
        self.feed(source)
        self.close()

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.tags.append((tag, attributes))
        if tag not in ("meta",):
            self.open.append(tag)
        if attributes.get("class") == "text":
            self.texts.append("")
        if tag == "span":
            self.spans.append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1:] == ["script"]:
            if self.tags[-1][1].get("type") == "application/json":
                self.data.append(json.loads(data))
            else:
                self.script += data
        elif self.open[-1:] == ["style"]:
            self.style += data
        elif "p" in self.open and self.texts and "aside" not in self.open:
            if self.open[-1] == "span":
                self.spans[-1] += data
            if not (self.tags[-1][0] == "p" and self.tags[-1][1].get("class") == "none-found"):
                self.texts[-1] += data


def page_of(*documents: LinkedDocument) -> Page:
    return Page("".join(page_parts(documents, lambda id: DESCRIPTIONS.get(id, ""))))


def linked(text: str, id: str = "") -> LinkedDocument:
    return answer(Request(text, id=id))


def test_texts_are_there_to_the_letter():
    page = page_of(linked(NASTY), linked(""), linked("No names, <b>none</b>."))
    assert page.open == []
    assert page.texts == [NASTY, "", "No names, <b>none</b>."]
    assert page.spans == ["Jordan", "Bulls", "Nobody"]


def test_markup_in_texts_titles_and_descriptions_stays_text():
    page = page_of(linked(NASTY, id='<b id="x">'))
    allowed = {
        "html", "head", "meta", "title", "style", "body", "header", "h1", "ul", "li", "i", "main",
        "div", "section", "h2", "p", "span", "script", "aside",
    }  # fmt: skip
    assert {tag for tag, _ in page.tags} == allowed
    assert not any(name.startswith("on") for _, attributes in page.tags for name in attributes)
    source = "".join(page_parts([linked(NASTY)], DESCRIPTIONS.__getitem__))
    assert source.count("</script>") == source.count("<script") == 2
    about = page.data[0]["about"]
    assert about == DESCRIPTIONS


def test_nothing_comes_from_elsewhere():
    page = page_of(linked("Jordan and the Bulls"))
    for _, attributes in page.tags:
        assert not {"src", "href", "action", "style", "srcset"} & attributes.keys()
    assert "@import" not in page.style
    assert "url(" not in page.style
    addresses = set(re.findall(r"https?://[^\"']+", page.script + page.style))
    assert addresses <= {"http://www.w3.org/2000/svg"}, "a name, which nobody looks up"
    assert not re.search(r"innerHTML|insertAdjacentHTML|document\.write|eval\(", page.script)


def test_only_its_own_style_and_script_may_run():
    page = page_of(linked("Jordan"))
    policy = next(
        attributes["content"]
        for tag, attributes in page.tags
        if attributes.get("http-equiv") == "Content-Security-Policy"
    )
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    for kind, text in (("style", page.style), ("script", page.script)):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy


def test_mentions_show_type_and_confidence():
    page = page_of(linked("Jordan, Bulls, Nobody"))
    spans = [attributes for tag, attributes in page.tags if tag == "span"]
    assert [span["class"] for span in spans] == ["m PER c9", "m ORG c10", "m none c0 nil"]
    assert [span["title"] for span in spans] == [
        "Michael Jordan, confidence 90 %", "Chicago <Bulls>, confidence 100 %",
        "not in the knowledge base",
    ]  # fmt: skip
    assert all(span["tabindex"] == "0" and span["role"] == "button" for span in spans)
    for name in (name for span in spans for name in span["class"].split()):
        assert f".{name}" in page.style


def test_panel_has_what_the_records_say():
    document = linked("Jordan won with the Bulls")
    (data,) = page_of(document).data
    first = data["links"][0]
    assert first["reasons"][0]["text"] == "supported by Bulls"
    assert first["how"] == "found by exact name"
    assert first["candidates"] == document.links[0].to_dict()["candidates"]


def test_documents_are_written_as_they_come():
    taken = []

    def documents():
        for text in ("one", "two"):
            taken.append(text)
            yield linked(text)

    parts = page_parts(documents(), str)
    next(parts)
    assert taken == []
    next(parts)
    assert taken == ["one"]


def test_both_lights_and_narrow_screens():
    style = page_of(linked("Jordan")).style
    assert "color-scheme: light dark" in style
    assert "max-width" in style
