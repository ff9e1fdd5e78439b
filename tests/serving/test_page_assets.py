"""The page, driven in a real browser against a real service."""

import json
import re

import pytest
from playwright.sync_api import expect

from sgtb import Linker
from sgtb.kb.build.list_build import build_list
from sgtb.starter import ENTITIES, MODEL
from tests.helpers.browser import artifact, served, state_of

JORDAN = (
    "Jordan passed, Pippen scored, and the Bulls beat Utah again. In Amman the king of Jordan "
    "watched them on television; in Petra nobody did."
)
JUNO = "Juno went around Jupiter."
"""By itself a spacecraft and a planet; with one of them a god, the other is one, too."""


@pytest.fixture(scope="module")
def home(browser):
    with served(Linker.starter) as home:
        yield home


@pytest.fixture
def visit(visits):
    return visits()


def background(page, selector="body"):
    return page.evaluate(
        "s => getComputedStyle(document.querySelector(s)).backgroundColor", selector
    )


def luminance(colour):
    return sum(int(part) for part in re.findall(r"\d+", colour)[:3]) / 3


def correct_juno(visit):
    visit.mention("Juno").click()
    visit.page.locator(".choice", has_text="Juno (mythology)").click()
    expect(visit.mention("Jupiter")).to_have_class(re.compile(r"\bchanged\b"))


def test_what_is_typed_is_linked_when_typing_stops(visit, tmp_path):
    page = visit.go()
    asked = len([url for url in visit.requests if url.endswith("/api/link")])
    page.fill("#text", "")
    page.locator("#text").press_sequentially("Pippen beat Utah", delay=5)
    expect(visit.mention("Utah")).to_have_class(re.compile(r"\bm (ORG|LOC)\b"))
    expect(visit.mention("Pippen")).to_have_class(re.compile(r"\bm PER\b"))
    expect(page.locator("#status")).to_have_text(re.compile(r"^2 names in \d+ ms$"))
    # Not once per key.
    assert len([url for url in visit.requests if url.endswith("/api/link")]) - asked <= 4
    visit.type(JORDAN)
    strengths = [
        float(share.rstrip("%"))
        for share in page.locator(".m").evaluate_all(
            "marks => marks.map(mark => mark.style.getPropertyValue('--strength'))"
        )
    ]
    assert len(strengths) == 7
    assert max(strengths) > min(strengths) > 0
    expect(visit.mention("Jordan")).to_have_attribute(
        "title", re.compile("Michael Jordan, person, ")
    )
    expect(visit.mention("Jordan", 1)).to_have_class(re.compile(r"\bLOC\b"))
    page.screenshot(path=artifact(tmp_path, "linked.png"))


def test_an_opened_mention_shows_candidates_reasons_and_lines(visit, tmp_path):
    page = visit.go(JORDAN)
    expect(page.locator("#panel")).to_contain_text("Select a name")
    visit.mention("Utah").click()
    panel = page.locator("#panel")
    expect(panel.locator("h2")).to_have_text("Utah Jazz")
    expect(panel).to_contain_text("twice finalists with Stockton and Malone")
    choices = panel.locator(".choice")
    assert choices.count() >= 4
    expect(choices.first).to_have_attribute("aria-pressed", "true")
    expect(choices.first.locator(".number")).to_have_text(re.compile(r"^\d+ %$"))
    expect(choices.filter(has_text="None of these")).to_have_count(1)
    expect(panel).to_contain_text("Why not Utah")
    values = [
        float(value.replace("−", "-"))
        for value in panel.locator(".reasons .number").all_text_contents()
    ]
    total = float(panel.locator(".total .number").text_content().replace("−", "-"))
    assert sum(values) == pytest.approx(total, abs=0.006 * len(values))
    widths = panel.locator(".reasons .scale i").evaluate_all("bars => bars.map(b => b.offsetWidth)")
    assert widths[0] == max(widths) > 20
    expect(visit.mention("Bulls")).to_have_class(re.compile(r"\bfor\b"))
    assert page.locator(".lines path").count() == page.locator(".m.for, .m.against").count() >= 2
    expect(visit.mention("Utah")).to_have_attribute("aria-expanded", "true")
    page.screenshot(path=artifact(tmp_path, "opened.png"), full_page=True)
    # One with a single candidate is compared with NIL, and supports others.
    visit.mention("Pippen").click()
    expect(panel).to_contain_text("Why a link")
    expect(panel).to_contain_text("Supports")
    expect(panel).to_contain_text("Jordan (Michael Jordan)")
    expect(visit.mention("Jordan")).to_have_class(re.compile(r"\bfor\b"))
    panel.get_by_role("button", name="Close").click()
    expect(panel).to_contain_text("Select a name")
    assert page.locator(".lines").count() == 0


def test_a_correction_changes_another_mention(visit, tmp_path):
    page = visit.go(JUNO)
    expect(visit.mention("Jupiter")).to_have_attribute("title", re.compile("^Jupiter, "))
    correct_juno(visit)
    expect(visit.mention("Juno")).to_have_class(re.compile(r"\bfixed\b"))
    expect(visit.mention("Jupiter")).to_have_attribute(
        "aria-label", re.compile(r"^Jupiter: Jupiter \(mythology\).*before: Jupiter$")
    )
    expect(page.locator("#changes")).to_contain_text("1 correction; 1 other name changed")
    expect(page.locator("#changes li")).to_have_text("Jupiter Jupiter → Jupiter (mythology)")
    # What was fixed can be chosen anew.
    expect(page.locator("#panel")).to_contain_text("your correction")
    expect(page.locator(".choice", has_text="Juno (spacecraft)")).to_have_attribute(
        "aria-pressed", "false"
    )
    page.screenshot(path=artifact(tmp_path, "corrected.png"))
    page.locator("#changes").get_by_role("button", name="Jupiter").click()
    expect(page.locator("#panel .was")).to_contain_text("before: Jupiter")
    visit.mention("Juno").click()
    page.get_by_role("button", name="Remove the correction").click()
    expect(visit.mention("Jupiter")).to_have_attribute("title", re.compile("^Jupiter, "))
    expect(page.locator("#changes")).to_be_empty()


def test_a_mention_can_be_corrected_to_nothing(visit):
    page = visit.go(JORDAN)
    visit.mention("Pippen").click()
    page.locator(".choice", has_text="None of these").click()
    expect(visit.mention("Pippen")).to_have_class(re.compile(r"\bnil\b.*\bfixed\b"))
    expect(page.locator("#panel h2")).to_have_text("“Pippen”")
    # Lines still go where the reasons say.
    visit.mention("Utah").click()
    expect(visit.mention("Bulls")).to_have_class(re.compile(r"\bfor\b"))
    expect(visit.mention("Pippen")).not_to_have_class(re.compile(r"\b(for|against)\b"))
    page.get_by_role("button", name="Undo all").click()
    expect(visit.mention("Pippen")).to_have_attribute("title", re.compile("^Scottie Pippen"))


def test_an_edit_elsewhere_keeps_a_correction(visit):
    page = visit.go(JUNO)
    correct_juno(visit)
    visit.type(f"🙂 Well: {JUNO}")
    visit.type(f"🙂 Well: {JUNO} So it was.")
    expect(visit.mention("Juno")).to_have_class(re.compile(r"\bfixed\b"))
    expect(visit.mention("Jupiter")).to_have_attribute(
        "title", re.compile(r"^Jupiter \(mythology\)")
    )
    visit.type("June went around Jupiter.")
    expect(page.locator(".m.fixed")).to_have_count(0)


def test_a_link_brings_text_and_corrections_back(visits, visit):
    page = visit.go(JUNO)
    correct_juno(visit)
    again = visits()
    again.page.goto(page.url)
    expect(again.mention("Jupiter")).to_have_class(re.compile(r"\bchanged\b"))
    expect(again.mention("Juno")).to_have_class(re.compile(r"\bfixed\b"))
    expect(again.page.locator("#text")).to_have_value(JUNO)
    again.page.reload()
    expect(again.mention("Jupiter")).to_have_class(re.compile(r"\bchanged\b"))
    again.mention("Juno").click()
    expect(again.page.locator(".choice", has_text="Juno (spacecraft)")).to_have_count(1)
    # A second address in the same page.
    visit.type(JORDAN)
    again.page.evaluate("hash => { location.hash = hash; }", page.url.partition("#")[2])
    expect(again.page.locator("#text")).to_have_value(JORDAN)
    expect(again.page.locator(".m.fixed")).to_have_count(0)


def test_corrections_of_another_knowledge_base_are_left_out(visit):
    page = visit.page
    page.goto(f"{visit.home}#{state_of(JUNO, [[0, 4, 'Q42']])}")
    expect(page.locator("#status")).to_contain_text("2 names")
    expect(page.locator("#status")).to_contain_text("do not fit this knowledge base")
    assert page.locator(".m.fixed").count() == 0
    assert [line for line in visit.complaints if "422" not in line] == []
    visit.complaints.clear()


BROKEN = ("x", "%00", "WzEsIng", "WzEsIngiLFtbMCw5LCJhIl1dXQ", "WzEsWyJ4Il0sW11d", "A" * 90_000)
"""Nothing, no base64, half a record, a correction beyond the end, no text, far too much."""


def test_a_broken_link_is_no_harm(visit):
    page = visit.page
    page.goto(f"{visit.home}#{BROKEN[0]}")
    expect(visit.mention("Utah")).to_be_visible()
    for state in BROKEN[1:]:
        page.evaluate("state => { location.hash = state; }", state)
    page.wait_for_timeout(100)
    expect(visit.mention("Utah")).to_be_visible()


def test_what_the_other_tests_rely_on(visit):
    """Inline scripts and other hosts are refused, and that does not go unnoticed."""
    page = visit.go()
    page.evaluate(
        """() => {
          const script = document.createElement("script");
          script.textContent = "window.ran = true";
          const image = new Image();
          image.src = "http://127.0.0.2:9/x.png";
          document.body.append(script, image);
        }"""
    )
    page.wait_for_timeout(100)
    assert page.evaluate("window.ran") is None
    assert len(visit.complaints) == 2
    assert all("Content Security Policy" in line for line in visit.complaints)
    visit.complaints.clear()
    visit.requests[:] = [url for url in visit.requests if "127.0.0.2" not in url]


def test_a_text_too_long_for_a_link_has_none(visit):
    page = visit.go()
    visit.type(JUNO + " And so on." * 900)
    expect(visit.mention("Jupiter")).to_be_visible()
    assert "#" not in page.url
    expect(page.locator("#copy")).to_be_disabled()


def test_emoji_do_not_shift_mentions(visit):
    text = "🎸🪐👩‍🚀 Pippen 🏀 beat Utah 𝔘"
    page = visit.go(text)
    assert page.locator(".m").all_text_contents() == ["Pippen", "Utah"]


def test_download_holds_text_corrections_and_links(visit):
    page = visit.go(JUNO)
    correct_juno(visit)
    with page.expect_download() as download:
        page.locator("#download").click()
    data = json.loads(download.value.path().read_text("utf-8"))
    assert data["text"] == JUNO
    assert data["fixed"] == [{"start": 0, "end": 4, "entity": "Juno (mythology)"}]
    assert [link["title"] for link in data["links"]] == ["Juno (mythology)", "Jupiter (mythology)"]


def test_copy_link_gives_the_address(visit, home):
    page = visit.go(JUNO)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=home.rstrip("/"))
    page.locator("#copy").click()
    expect(page.locator("#status")).to_have_text("link copied")
    assert page.evaluate("navigator.clipboard.readText()") == page.url


def test_the_graph_is_the_same_each_time_and_opens_mentions(visits, tmp_path):
    drawn = []
    for _ in range(2):
        visit = visits()
        page = visit.go(JORDAN)
        expect(page.locator("#graph .node")).to_have_count(7)
        drawn.append(page.locator("#graph").evaluate("box => box.innerHTML"))
    assert drawn[0] == drawn[1]
    assert page.locator("#graph .edge.for").count() >= 3
    assert page.locator("#graph .edge.linked").count() >= 2  # Amman, Petra and their country
    boxes = [node.bounding_box() for node in page.locator("#graph .node circle").all()]
    assert len({(round(box["x"]), round(box["y"])) for box in boxes}) == 7
    page.locator("#graph .node", has_text="Amman").click()
    expect(page.locator("#panel h2")).to_have_text("Amman")
    expect(visit.mention("Amman")).to_have_class(re.compile(r"\bopened\b"))
    page.locator("#graph-card").screenshot(path=artifact(tmp_path, "graph.png"))


def tab_to(page, selector, text):
    """Press Tab until something of this kind with this text has the focus."""
    for _ in range(30):
        page.keyboard.press("Tab")
        node = page.locator(f"{selector}:focus")
        if node.count() and text in node.text_content():
            return
    raise AssertionError(f"Tab does not reach {text}")


def test_everything_can_be_done_with_the_keyboard(visit):
    page = visit.go(JUNO)
    page.locator("#text").focus()
    tab_to(page, ".chip", "Juno")
    tab_to(page, ".m", "Juno")
    page.keyboard.press("ArrowRight")
    expect(visit.mention("Jupiter")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#panel h2")).to_be_focused()
    tab_to(page, ".choice", "Jupiter (mythology)")
    page.keyboard.press("Enter")
    expect(visit.mention("Juno")).to_have_class(re.compile(r"\bchanged\b"))
    expect(page.locator("#panel h2")).to_be_focused()
    page.keyboard.press("Escape")
    expect(visit.mention("Jupiter")).to_be_focused()
    page.keyboard.press("Home")
    expect(visit.mention("Juno")).to_be_focused()
    page.keyboard.press("Space")
    expect(page.locator("#panel h2")).to_have_text("Juno (mythology)")
    page.keyboard.press("Escape")
    tab_to(page, "#changes button", "Undo all")
    page.keyboard.press("Enter")
    expect(page.locator(".m.changed")).to_have_count(0)
    expect(visit.mention("Juno")).to_be_focused()
    tab_to(page, ".node", "Juno (spacecraft)")
    page.keyboard.press("Enter")
    expect(page.locator("#panel h2")).to_have_text("Juno (spacecraft)")


def test_what_a_screen_reader_is_told(visit):
    page = visit.go(JUNO)
    page.locator("#graph .node").first.wait_for()
    visit.mention("Juno").click()
    for name in ("Your text", "Examples", "Linked text", "Entity graph"):
        assert name in page.locator("body").aria_snapshot()
    for name in (
        r"^Jupiter: Jupiter, \w+, confidence >?\d+ %$",
        r"^Jupiter, supported by Juno \(spacecraft\)$",
    ):
        page.get_by_role("button", name=re.compile(name)).wait_for()
    expect(page.get_by_role("status")).to_have_text(re.compile("2 names"))
    expect(page.get_by_role("complementary", name="Selected name")).to_be_visible()
    unnamed = page.evaluate(
        "[...document.querySelectorAll('button, [role=button], textarea, a')]"
        ".filter(n => !(n.textContent.trim() || n.getAttribute('aria-label') || n.labels?.length))"
        ".map(n => n.outerHTML)"
    )
    assert unnamed == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark_follow_the_system_and_the_button(visits, scheme, tmp_path):
    visit = visits(color_scheme=scheme)
    page = visit.go(JORDAN)
    was = luminance(background(page))
    assert (was < 60) == (scheme == "dark")
    visit.mention("Utah").click()
    page.screenshot(path=artifact(tmp_path, f"{scheme}.png"))
    page.locator("#theme").click()
    other = "Light theme" if scheme == "light" else "Dark theme"
    expect(page.locator("#theme")).to_have_text(other)
    assert (luminance(background(page)) < 60) != (scheme == "dark")
    page.reload()
    page.wait_for_selector(".m")
    assert (luminance(background(page)) < 60) != (scheme == "dark")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_can_be_read_on_what_they_stand_on(visits, scheme):
    """4.5 to 1, as WCAG asks of small letters."""
    page = visits(color_scheme=scheme).go(JORDAN)
    ratios = page.evaluate(
        """() => {
          const probe = document.body.appendChild(document.createElement("i"));
          const value = (name) => {
            probe.style.color = `var(--${name})`;
            return getComputedStyle(probe).color;
          };
          const light = (rgb) => rgb.match(/[0-9]+/g).map((n) => Number(n) / 255)
            .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
            .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
          const words = ["ink", "soft", "accent", "against", "PER", "ORG", "LOC", "MISC"];
          return words.flatMap((word) => ["ground", "sheet", "lift"].map((on) => {
            const [a, b] = [light(value(word)), light(value(on))].sort((x, y) => y - x);
            return [word, on, (a + 0.05) / (b + 0.05)];
          }));
        }"""
    )
    assert [found for found in ratios if not found[2] >= 4.5] == []


@pytest.mark.parametrize("width", [320, 400])
def test_a_phone_is_wide_enough(visits, width, tmp_path):
    visit = visits(width=width, height=780, has_touch=True, is_mobile=True)
    page = visit.go(JORDAN)
    overflow = "document.documentElement.scrollWidth - innerWidth"
    assert page.evaluate(overflow) <= 0
    page.screenshot(path=artifact(tmp_path, f"phone-{width}.png"))
    visit.mention("Petra").tap()
    expect(page.locator("#panel h2")).to_have_text("Petra")
    assert page.evaluate(overflow) <= 0
    # The panel lies at the bottom, and not over the mention it tells about.
    panel, mention = page.locator("#panel").bounding_box(), visit.mention("Petra").bounding_box()
    assert panel["y"] + panel["height"] == pytest.approx(780, abs=1)
    assert 0 <= mention["y"] < mention["y"] + mention["height"] <= panel["y"]
    visit.mention("Utah").tap()
    page.screenshot(path=artifact(tmp_path, f"phone-{width}-opened.png"))
    page.get_by_role("button", name="Close").tap()
    expect(page.locator("#panel")).to_contain_text("Select a name")


MARKUP = "<img src=x onerror=\"alert('text')\"><script>alert(1)</script>"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory, browser):
    """A service whose knowledge base has markup wherever words may stand."""
    folder = tmp_path_factory.mktemp("hostile")
    entities = [
        {"id": f"../../<i>{i}</i>?#&%2F", "name": f"<b onclick=alert({i})>Zorb{i}</b>",
         "type": "ORG",
         "description": "<script>alert('d')</script><img src=x onerror=alert('d')> &amp;",
         "aliases": [{"name": "Zorb", "count": 3}], "links": ["Petra"], "popularity": 2}
        for i in (1, 2)
    ]  # fmt: skip
    lines = folder / "entities.jsonl"
    told = "".join(f"{json.dumps(entity)}\n" for entity in entities)
    lines.write_text(ENTITIES.read_text("utf-8") + told, "utf-8")
    build_list(lines, folder / "kb")
    with served(lambda: Linker(MODEL, folder / "kb")) as home:
        yield home


def test_markup_stays_text_in_text_title_and_description(visits, hostile, tmp_path):
    visit = visits(home=hostile)
    page = visit.go(f"{MARKUP} Zorb came to Petra with </textarea><svg onload=alert(2)> &lt;")
    visit.mention("Zorb").click()
    expect(page.locator("#panel h2")).to_have_text(
        re.compile(r"^<b onclick=alert\(\d\)>Zorb\d</b>$")
    )
    expect(page.locator("#panel .head")).to_contain_text("<script>alert('d')</script><img src=x")
    expect(page.locator("#sheet")).to_contain_text(MARKUP)
    page.locator(".choice", has_text="Zorb2").click()
    expect(page.locator("#panel")).to_contain_text("your correction")
    expect(page.locator("#graph .node", has_text="Zorb2")).to_have_count(1)
    assert page.locator("img, script:not([src]), [onclick], [onload], [onerror]").count() == 0
    page.screenshot(path=artifact(tmp_path, "markup.png"))
    again = visits(home=hostile)
    again.page.goto(page.url)
    expect(again.mention("Zorb")).to_have_class(re.compile(r"\bfixed\b"))


def answer_once(page, status, headers, body):
    """Let the next question be answered like this; later ones reach the service."""
    page.route(
        "**/api/link",
        lambda route: route.fulfill(
            status=status, headers=headers, content_type="application/json", body=json.dumps(body)
        ),
        times=1,
    )


def test_a_name_that_means_nothing_known_says_so(visit):
    page = visit.go()
    candidate = {"entity": "Utah", "title": "Utah", "type": "LOC", "probability": 0.2, "prior": 0.5}
    link = {
        "start": 0, "end": 4, "text": "Utah", "entity": None, "title": "", "type": "",
        "confidence": 0.7, "nil": 0.7, "found": "exact", "fixed": False, "candidates": [candidate],
        "runner_up": "Utah", "lead": None,
        "reasons": [{"kind": "features", "name": "nil", "value": 0.5, "mention": None}],
    }  # fmt: skip
    answer_once(page, 200, {}, {"links": [link], "milliseconds": 1})
    page.fill("#text", "Utah won")
    expect(visit.mention("Utah")).to_have_class(re.compile(r"\bnil\b"))
    expect(visit.mention("Utah")).to_have_attribute(
        "title", "not in the knowledge base, confidence 70 %"
    )
    visit.mention("Utah").click()
    panel = page.locator("#panel")
    expect(panel).to_contain_text("not in the knowledge base")
    expect(panel).to_contain_text("fit of the candidates")
    expect(panel.locator(".choice[aria-pressed=true]")).to_contain_text("70 %")
    expect(page.locator("#graph-card")).to_be_hidden()


def test_a_busy_service_is_asked_again(visit):
    page = visit.go()
    answer_once(page, 503, {"Retry-After": "1"}, {"error": {"code": "overloaded", "message": "x"}})
    page.fill("#text", JUNO)
    expect(visit.mention("Jupiter")).to_be_visible()
    assert [line for line in visit.complaints if "503" not in line] == []
    visit.complaints.clear()  # the browser's own line about the 503


def test_what_the_service_refuses_is_said(visit):
    page = visit.go()
    page.fill("#text", "Utah " * 20_001)
    expect(page.locator("#status")).to_have_class("failed")
    expect(page.locator("#status")).to_contain_text("100,000")
    visit.type(JUNO)
    expect(page.locator("#status")).to_have_text(re.compile("2 names"))
    assert [line for line in visit.complaints if "413" not in line] == []
    visit.complaints.clear()


def test_a_service_that_is_gone_loses_nothing(visit):
    page = visit.go()
    page.route("**/api/link", lambda route: route.abort(), times=1)
    page.fill("#text", JUNO)
    expect(page.locator("#status")).to_contain_text("does not respond")
    expect(page.locator("#text")).to_have_value(JUNO)
    visit.type(f"{JUNO} ")
    expect(visit.mention("Jupiter")).to_be_visible()
    assert [line for line in visit.complaints if "ERR_FAILED" not in line] == []
    visit.complaints.clear()


def test_a_long_text_is_linked_without_reasons(visit):
    page = visit.go()
    visit.type("Pippen beat Utah. " + "Nothing happened then. " * 900)
    visit.mention("Utah").click()
    expect(page.locator("#panel")).to_contain_text("Reasons are given for shorter texts only")
    assert page.locator(".choice").count() >= 2


def test_an_emptied_field_empties_the_page(visit):
    page = visit.go(JORDAN)
    visit.mention("Utah").click()
    page.locator("#clear").click()
    assert page.locator(".m").count() == 0
    expect(page.locator("#graph-card")).to_be_hidden()
    expect(page.locator("#panel")).to_contain_text("Select a name")
    expect(page.locator("#text")).to_be_focused()
    assert "#" not in page.url


def test_every_example_is_linked(visit):
    page = visit.go()
    for button in page.locator("#examples button").all():
        with page.expect_response("**/api/link"):
            button.click()
        expect(page.locator("#status")).to_have_text(re.compile(r"^[2-9] names in"))
