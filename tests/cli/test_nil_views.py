"""NIL in tables, explanations, JSON and pages."""

import json
from dataclasses import replace

import pytest

from sgtb.cli.views.explain_view import print_explanation
from sgtb.cli.views.link_page import page_parts
from sgtb.cli.views.link_view import print_links
from sgtb.core.records import NIL
from sgtb.linking.links import LinkedDocument, Reason, Request
from tests.helpers.cli_answers import DESCRIPTIONS, answer

TEXT = "Jordan won."
(LINKED,) = answer(Request(TEXT)).links
WHY = (Reason("features", "nil", 0.75),)
BEATEN = replace(LINKED, runner_up=NIL, nil=0.08, lead=0.75, reasons=WHY)
CHOSEN = replace(
    LINKED, entity=None, title="", type="", confidence=0.62, nil=0.62, runner_up="P", lead=0.75,
    reasons=WHY,
)  # fmt: skip
UNSURE = replace(CHOSEN, lead=float("nan"), reasons=())
UNKNOWN = replace(UNSURE, candidates=(), runner_up=None, confidence=0.97, found="nothing")


def shown(capsys, link, width, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    document = LinkedDocument(TEXT, (link,))
    print_links(document, True, False)
    table = capsys.readouterr().out
    print_explanation(document, link, DESCRIPTIONS)
    return " ".join(table.split()), " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("width", [80, 200])
def test_tables_and_explanations(capsys, monkeypatch, width):
    table, told = shown(capsys, BEATEN, width, monkeypatch)
    assert "NIL 8 %" in table
    assert "+0.75 fit of the candidates" in table
    assert "Michael Jordan leads NIL by 0.75" in told
    assert "8 %" in told
    assert "– NIL not in the knowledge base" in told
    table, told = shown(capsys, CHOSEN, width, monkeypatch)
    assert "not in the knowledge" in table
    assert "62 %" in table
    assert "Michael Jordan 90 %" in table
    assert "Jordan: not in the knowledge base, confidence 62 %" in told
    assert "NIL leads Michael Jordan by 0.75" in told
    _, told = shown(capsys, UNSURE, width, monkeypatch)
    assert "No candidate has enough confidence." in told
    table, told = shown(capsys, UNKNOWN, width, monkeypatch)
    assert "97 %" in table
    assert "confidence 97 %" in told


def test_plain_data():
    told = json.loads(json.dumps(CHOSEN.to_dict(), allow_nan=False))
    assert (told["entity"], told["confidence"], told["nil"]) == (None, 0.62, 0.62)
    assert told["runner_up"] == "P"
    assert BEATEN.to_dict()["runner_up"] == NIL


def test_pages():
    page = "".join(page_parts([LinkedDocument(TEXT, (CHOSEN,))], lambda id: ""))
    assert 'title="not in the knowledge base, confidence 62 %"' in page
    assert '"nil": 0.62' in page


@pytest.mark.parametrize("command", [("link", TEXT), ("explain", TEXT, "Jordan")])
def test_the_option_reaches_the_linker(run, opened, command):
    run(*command, "--nil", "0.7")
    run(*command)
    assert [linker.settings.nil for linker in opened] == [0.7, None]
    assert "--nil" in run(*command, "--nil", "7", code=2).stderr
