"""Results in the forms of other tools."""

import json
import subprocess
import sys
from html.parser import HTMLParser

import pytest
import spacy

import sgtb
from sgtb import Link, LinkedDocument
from sgtb.core.errors import RequestError
from sgtb.linking.link_export import COLUMNS
from sgtb.linking.links import Alternative

TEXT = "Jordan met Pippen."
OTHERS = (Alternative("E1", "A <b>", "PER", 0.7, 0.5), Alternative("E2", "A <b>", "LOC", 0.2, 0.5))
DOCUMENT = LinkedDocument(
    "A & <i>B</i>\nC",
    (
        Link(0, 1, "A", "E1", "A <b>", "PER", 0.7, "exact", OTHERS, nil=0.1),
        Link(13, 14, "C", None, "", "", 0.9, "exact", nil=0.9),
    ),
    "d1",
)


@pytest.fixture(scope="module")
def linked():
    with sgtb.load() as linker:
        yield linker(TEXT)


def test_representations_are_short():
    assert repr(DOCUMENT) == "<LinkedDocument 'd1' 'A & <i>B</i>\\nC', 2 links>"
    assert repr(DOCUMENT.links[0]) == "<Link 'A' [0:1] A <b> (E1), 70%>"
    assert repr(DOCUMENT.links[1]) == "<Link 'C' [13:14] NIL, 90%>"
    assert len(repr(LinkedDocument("x" * 10_000, ()))) < 120
    assert repr(LinkedDocument("", ())) == "<LinkedDocument '', 0 links>"


def test_plain_data_has_the_text(linked):
    assert linked.to_dict()["text"] == TEXT
    assert "text" not in linked.to_dict(text=False)
    assert json.loads(linked.to_json()) == linked.to_dict()
    assert json.loads(linked.links[0].to_json()) == linked.links[0].to_dict()
    assert "\n" not in DOCUMENT.to_json()


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_frame_has_a_row_per_link(library, linked):
    frame = linked.to_frame(library)
    assert type(frame).__module__.split(".")[0] == library
    assert tuple(frame.columns) == COLUMNS
    assert list(frame["entity"]) == ["Michael Jordan", "Scottie Pippen"]
    assert list(frame["start"]) == [0, 11]
    empty = LinkedDocument("", ()).to_frame(library)
    assert (len(empty), tuple(empty.columns)) == (0, COLUMNS)
    with pytest.raises(RequestError, match="'pandas' and 'polars'"):
        linked.to_frame("arrow")


def frame_without(*packages: str) -> subprocess.CompletedProcess[str]:
    """Make a frame in a process in which packages cannot be imported."""
    code = (
        "import sys, importlib.util\n"
        f"absent = {packages!r}\n"
        "find = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, *a: None if name in absent else find(name, *a)\n"
        "for name in absent: sys.modules[name] = None\n"
        "import sgtb; print(sgtb.load('starter')('Jordan met Pippen.').to_frame())\n"
    )
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)


def test_without_pandas_polars_is_used_and_without_both_the_extra_is_named():
    whole = frame_without()
    assert whole.stdout.split()[:4] == ["start", "end", "text", "entity"]
    assert frame_without("pandas").stdout.startswith("shape: (2, 9)")
    neither = frame_without("pandas", "polars")
    last = neither.stderr.strip().splitlines()[-1]
    assert last.endswith("a data frame needs the package pandas: pip install 'sgtb[frame]'")


class _Text(HTMLParser):
    """Collects the text and the tags of a fragment."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.text, self.tags, self.titles = "", [], []
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.titles += [value for name, value in attributes if name == "title"]

    def handle_data(self, data):
        self.text += data


def test_a_notebook_shows_marked_text_and_no_markup_of_its_own():
    found = _Text(DOCUMENT._repr_html_())
    assert found.text == "A A <b> 70% & <i>B</i>\nC NIL 90%"
    assert set(found.tags) == {"div", "mark", "small"}
    assert found.titles == ["A <b> (E1) 70%\nA <b> (E2) 20%\nNIL 10%", "NIL 90%"]
    long = LinkedDocument("x" * 50_000, (Link(40_000, 40_001, "x", "E", "E", "", 1.0, "exact"),))
    assert len(long._repr_html_()) < 21_000
    assert "<mark" not in long._repr_html_()


def test_displacy_draws_it(linked):
    given = linked.to_displacy()
    html = spacy.displacy.render(given, style="ent", manual=True, jupyter=False)
    assert "Michael Jordan" in html
    assert [ent["label"] for ent in DOCUMENT.to_displacy()["ents"]] == ["PER", "NIL"]


def test_spacy_spans_and_back(linked):
    doc = spacy.blank("en")(TEXT)
    spans = linked.to_spans(doc)
    assert [(s.text, s.label_, s.kb_id_) for s in spans] == [
        ("Jordan", "PER", "Michael Jordan"),
        ("Pippen", "PER", "Scottie Pippen"),
    ]
    doc.ents = spans[1:]
    with sgtb.load() as linker:
        assert [link.text for link in linker(doc).links] == ["Pippen"]
        assert [link.text for link in linker(spacy.blank("en")(TEXT)).links] == ["Jordan", "Pippen"]
        again = linker.link(sgtb.Request(TEXT, spans))
        assert [(link.start, link.end) for link in again.links] == [(0, 6), (11, 17)]
    with pytest.raises(RequestError, match="the Doc does not have 'Jordan' at 0 to 6"):
        linked.to_spans(spacy.blank("en")("Another text."))
