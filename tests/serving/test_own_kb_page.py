"""The page with a knowledge base other than the starter, in a real browser."""

import json
import re

import httpx
import pytest
from playwright.sync_api import expect

from sgtb import Linker
from sgtb.kb.build.list_build import build_list
from sgtb.starter import MODEL
from tests.helpers.browser import artifact, served

TOWNS = 10
TEXT = "The council of Milltown met the mayor of River 7. Milltown and Ridge 12 share a school."
INSIDE_TEXT = """() => {
  const text = document.querySelector("#sheet .text"), box = text.getBoundingClientRect();
  const range = document.createRange(), rects = [];
  for (const node of text.childNodes) {
    if (node.nodeType !== Node.TEXT_NODE) continue;
    range.selectNodeContents(node);
    rects.push(...range.getClientRects());
  }
  const between = (low, value, high) => low < value && value < high;
  const inside = (p) => rects.some(
    (r) => between(r.left, p.x, r.right) && between(r.top + 4, p.y, r.bottom - 4));
  let count = 0;
  for (const path of text.querySelectorAll(".lines path")) {
    for (let at = 0; at <= path.getTotalLength(); at += 2) {
      const point = path.getPointAtLength(at);
      if (inside({ x: point.x + box.left, y: point.y + box.top })) count++;
    }
  }
  return [text.querySelectorAll(".lines path").length, count];
}"""


def entities():
    """300 entities, ten of which have the same title."""
    for i in range(TOWNS):
        yield {
            "id": f"T{i}", "name": "Milltown", "type": "LOC", "popularity": 100 - i,
            "description": f"town on River {i} with a mill of its own",
            "links": [f"R{i}"],
        }  # fmt: skip
    for i in range(145):
        yield {
            "id": f"R{i}", "name": f"River {i}", "type": "LOC", "popularity": 5,
            "description": f"water number {i} of the county", "links": [f"T{i % TOWNS}"],
        }  # fmt: skip
    for i in range(145):
        yield {
            "id": f"H{i}", "name": f"Ridge {i}", "type": "LOC", "popularity": 5,
            "description": f"hill number {i} of the county", "links": [f"R{i}"],
        }  # fmt: skip


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("own")
    lines = folder / "entities.jsonl"
    lines.write_text("".join(f"{json.dumps(one)}\n" for one in entities()), "utf-8")
    build_list(lines, folder / "kb")
    with served(lambda: Linker(MODEL, folder / "kb")) as home:
        yield home


def test_the_page_opens_with_an_example_of_the_knowledge_base(visits):
    visit = visits()
    page = visit.go()
    chips = page.locator(".chip").all_text_contents()
    assert "Milltown" in chips
    assert "Jordan" not in chips
    expect(page.locator("#text")).to_have_value(re.compile("Milltown|River|Ridge"))
    expect(page.locator(".m").first).to_be_visible()


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_entities_of_the_same_title_are_told_apart(visits, tmp_path, width, scheme):
    visit = visits(width=width, color_scheme=scheme)
    page = visit.go(TEXT)
    visit.mention("Milltown").click()
    choices = page.locator(".choice", has_text="Milltown")
    labels = [" ".join(text.split()) for text in choices.locator(".name").all_text_contents()]
    assert len(labels) > 3
    assert len(set(labels)) == len(labels)
    assert all(re.search(r"Milltown T\d", label) for label in labels)
    page.locator("#panel details").evaluate_all("all => all.forEach(one => { one.open = true; })")
    expect(page.locator("#panel .about").last).not_to_be_empty()
    page.screenshot(path=artifact(tmp_path, f"own-{width}-{scheme}.png"))


def test_none_of_these_stands_where_its_probability_puts_it(visits):
    above = 0
    for text in (TEXT, "Milltown"):
        page = visits().go(text)
        for place in range(page.locator(".m").count()):
            page.locator(".m").nth(place).click()
            expect(page.locator(".choice").first).to_be_visible()
            above += "None of these" not in page.locator(".choice").last.text_content()
            numbers = [
                0.5 if number == "<1 %" else 99.5 if number == ">99 %" else float(number.split()[0])
                for number in page.locator(".choice .number").all_text_contents()
                if number
            ]
            assert numbers == sorted(numbers, reverse=True)
            page.keyboard.press("Escape")
    assert above, "NIL is likelier than the last candidate of a name"


def test_a_change_between_entities_of_one_title_shows_what_changed(visits):
    visit = visits()
    page = visit.go(TEXT)
    ids = []

    def change_second(route):
        answer = route.fetch()
        body = answer.json()
        link = [one for one in body["links"] if one["text"] == "Milltown"][1]
        other = next(one["entity"] for one in link["candidates"] if one["entity"] != link["entity"])
        ids.extend((link["entity"], other))
        link["entity"] = other
        route.fulfill(response=answer, json=body)

    visit.mention("Milltown").click()
    page.route("**/api/link", change_second, times=1)
    page.locator(".choice[aria-pressed=false]", has_text="Milltown").first.click()
    expect(page.locator("#changes")).to_contain_text("1 correction; 1 other name changed")
    before, after = ids
    expect(page.locator("#changes li")).to_have_text(
        [f"Milltown Milltown ({before}) → Milltown ({after})"]
    )
    # Names whose probabilities changed, but not their entities, are not marked.
    expect(page.locator(".m.changed")).to_have_count(1)


def test_lines_run_beside_the_words(visits, tmp_path):
    visit = visits(width=700)
    page = visit.go(f"{TEXT} " * 3)
    found = 0
    for place in range(page.locator(".m").count()):
        page.locator(".m").nth(place).click()
        lines, inside = page.evaluate(INSIDE_TEXT)
        found += lines
        assert inside == 0, f"mention {place}: a line crosses words"
    assert found > 3
    page.screenshot(path=artifact(tmp_path, "lines.png"))


def test_the_documentation_needs_no_other_host(visits, home, tmp_path):
    visit = visits()
    page = visit.page
    page.goto(f"{home}docs")
    box = page.locator("article", has_text="/api/link/batch")
    expect(box).to_be_visible()
    link = page.locator("article", has=page.get_by_text("/api/link", exact=True))
    expect(link.locator("td code").first).to_have_text("text")
    command = link.locator("pre").text_content()
    body = json.loads(re.search(r"-d '(.*)'$", command, re.DOTALL)[1].replace("'\\''", "'"))
    answer = httpx.post(f"{home}api/link", json=body)
    assert answer.status_code == 200
    page.screenshot(path=artifact(tmp_path, "docs.png"))


def test_protocols_name_entities_by_the_prefix_of_the_knowledge_base(home):
    fields = {"text": TEXT, "confidence": "0"}
    answer = httpx.get(
        f"{home}rest/annotate", params=fields, headers={"Accept": "application/json"}
    )
    addresses = [one["@URI"] for one in answer.json()["Resources"]]
    assert "urn:sgtb:entity:R7" in addresses
    assert all(address.startswith("urn:sgtb:entity:") for address in addresses)
