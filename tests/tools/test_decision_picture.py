"""The picture of a decision: lines, labels, and the committed one as the starter makes it."""

import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from sgtb import Linker, LinkerSettings
from sgtb.linking.links import Alternative, Link, LinkedDocument, Reason
from tools.decision_picture import EXAMPLE, LEAST, OTHERS, Arc, arcs, main, picture

DOCS = Path(__file__).parents[2] / "docs" / "design"
_NUMBER = re.compile(r"[+−]?\d+(?:\.\d+)?")


def link(text: str, start: int, *others: str, reasons: tuple[Reason, ...] = ()) -> Link:
    chosen = Alternative(text, f"{text} & Co", "ORG", 0.75, 0.5)
    candidates = (chosen, *(Alternative(id, id, "", 0.25, 0.5) for id in others))
    return Link(
        start, start + len(text), text, text, chosen.title, "ORG", 0.75, "exact", candidates,
        reasons=reasons,
    )  # fmt: skip


def goes_with(mention: int, value: float) -> Reason:
    return Reason("mention", "?", value, mention)


DOCUMENT = LinkedDocument(
    "Ash met <Elm> and Fir.",
    (
        link("Ash", 0, "b", "c", "d", "e", "f", reasons=(goes_with(2, 0.5), goes_with(1, 0.04))),
        link("Elm", 9, "b", reasons=(goes_with(0, 0.04), Reason("features", "name", 2.0))),
        link("Fir", 18, reasons=(goes_with(0, -0.9), goes_with(1, 0.3))),
    ),
)


def drawn(document: LinkedDocument) -> ElementTree.Element:
    return ElementTree.fromstring(picture(document))


def texts(root: ElementTree.Element, kind: str) -> list[str]:
    found = root.iter("{http://www.w3.org/2000/svg}text")
    return ["".join(e.itertext()) for e in found if kind in e.attrib["class"].split()]


def test_a_line_is_the_sum_of_both_ways():
    assert arcs(DOCUMENT.links) == [Arc(1, 2, 0.3), Arc(0, 2, pytest.approx(-0.4))]
    assert LEAST > 0.08  # Ash and Elm say too little to each other


def test_everything_is_in_the_picture():
    root = drawn(DOCUMENT)
    assert texts(root, "said") == [DOCUMENT.text]
    assert texts(root, "mention") == ["Ash", "Elm", "Fir"]
    assert texts(root, "title") == ["Ash & Co", "Elm & Co", "Fir & Co"]
    assert texts(root, "other") == [*"bcd", "b"]  # of five others OTHERS are shown
    assert len("bcdef") - OTHERS == 2
    assert "and 2 more" in texts(root, "small")
    assert texts(root, "value") == ["−0.40", "+0.30"]
    assert "no other" in texts(root, "share")


def test_lines_are_as_wide_as_what_they_stand_for():
    lines = [e for e in drawn(DOCUMENT).iter() if "line" in e.attrib.get("class", "").split()][:2]
    assert [e.attrib["class"] for e in lines] == ["line odds", "line with"]
    assert [float(e.attrib["stroke-width"]) for e in lines] == [1.8, 1.35]


def test_nothing_to_draw_is_a_picture_too():
    assert texts(drawn(LinkedDocument("No names.", ())), "said") == ["No names."]
    alone = replace(DOCUMENT, links=(link("Ash", 0),))
    assert texts(drawn(alone), "mention") == ["Ash"]


def test_the_committed_picture_is_what_the_starter_decides(capsys):
    main()
    made = capsys.readouterr().out
    committed = (DOCS / "decision.svg").read_text("utf-8")
    assert _NUMBER.sub("0", made) == _NUMBER.sub("0", committed)
    numbers = [
        [float(n.replace("−", "-")) for n in _NUMBER.findall(svg)] for svg in (made, committed)
    ]
    # The last digits of a score may differ on another machine.
    assert numbers[0] == pytest.approx(numbers[1], abs=0.1)


def test_the_picture_shows_the_text_of_its_page():
    page = (DOCS / "how-it-decides.md").read_text("utf-8")
    assert f"\n> {EXAMPLE}\n" in page


def test_the_example_means_two_things_by_one_name():
    with Linker.starter(LinkerSettings()) as linker:
        homers = [found.entity for found in linker(EXAMPLE).links if found.text == "Homer"]
    assert homers == ["Homer Simpson", "Homer"]
