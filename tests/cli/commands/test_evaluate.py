"""`sgtb evaluate`: tables, JSON, figures and the page of mistakes, on the starter."""

import json
import re
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from experiments.starter_data import read_contrast
from sgtb.cli.main import app
from sgtb.cli.views.error_page import page_parts
from sgtb.cli.views.evaluate_view import percent, signed_points
from sgtb.core.records import NIL
from sgtb.evaluation.linkers.end_to_end import LOSSES
from sgtb.evaluation.linkers.mistakes import AROUND, Mistake
from sgtb.formats.registry import write_documents
from sgtb.linking.links import Link, Reason
from sgtb.starter import KB, MODEL
from tests.cli.views.test_link_page import Page
from tests.helpers.cli_answers import LAND, PLAYER

NASTY = '</script><img src=x onerror="alert(1)"> & Jordan\u2028'


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """Contrast pairs; of each document, the last mention is NIL."""
    documents = []
    for _, *texts in read_contrast()[:8]:
        for document in texts:
            *rest, last = document.mentions
            mentions = (*rest, replace(last, gold=NIL))
            documents.append(replace(document, mentions=mentions, split=""))
    path = tmp_path_factory.mktemp("data") / "hard.jsonl"
    write_documents(documents, path, "jsonl")
    return path


def run(*arguments, code=0):
    result = CliRunner().invoke(app, ["evaluate", *map(str, arguments)])
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result


@pytest.fixture(scope="module")
def all_at_once(file, tmp_path_factory):
    """One run with everything that can be written."""
    folder = tmp_path_factory.mktemp("out")
    result = run(
        file, "--json", "--samples", 99, "--errors", folder / "errors.html",
        "--figure", folder / "trust.png", "--nil-figure", folder / "nil.png", "--max-errors", 5,
    )  # fmt: skip
    return folder, result


def test_tables_for_people(file):
    text = run(file, "--baselines", "--samples", 99, "--quiet").stdout
    assert re.search(r"hard: 16 documents, \d+ mentions: \d+ in the knowledge base, 16 NIL", text)
    rows = {line.split("  ")[0].strip(): line for line in text.splitlines()}
    for row in (
        "in-KB accuracy", "candidate recall", "Bag-of-Title F1", "links: precision", "NIL: F1",
        "calibration error (ECE)", "accuracy minus the first", "type", "candidates of the mention",
    ):  # fmt: skip
        assert row in rows
    head = next(line for line in text.splitlines() if "in percent" in line)
    assert head.split()[2:] == ["starter", "prior", "in-links", "popularity"]


def test_json_has_all_figures(all_at_once):
    _, result = all_at_once
    data = json.loads(result.stdout)
    one = data["sets"]["hard"]["systems"]["starter"]
    assert data["sets"]["hard"]["nil"] == 16
    assert data["settings"]["samples"] == 99
    assert 0.5 < one["accuracy"]["micro"] <= 1
    assert one["nil"]["gold"] == 16
    assert one["by"]["type"]


def test_figures_are_pictures(all_at_once):
    folder, _ = all_at_once
    for name in ("trust.png", "nil.png"):
        assert (folder / name).read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_the_page_of_mistakes_is_whole(all_at_once):
    folder, result = all_at_once
    page = Page((folder / "errors.html").read_text("utf-8"))
    assert page.open == []
    assert 0 < len(page.data) <= 5
    assert f"{len(page.data)} of " in result.stderr
    kinds = {a["data-kind"] for _, a in page.tags if "data-kind" in a}
    assert kinds <= {"NIL missed", "wrong candidate", "not among candidates", "NIL invented"}
    assert "NIL missed" in kinds
    for mistake in page.data:
        assert mistake["gold"] is None or mistake["gold_title"]
        assert mistake["gold"] != mistake["link"]["entity"]


def test_several_models_are_compared(file, tmp_path):
    copy = tmp_path / "copy.safetensors"
    copy.write_bytes(MODEL.read_bytes())
    models = ("--model", MODEL, "--model", copy, "--kb", KB)
    data = json.loads(run(file, *models, "--json", "--samples", 99).stdout)
    systems = data["sets"]["hard"]["systems"]
    assert list(systems) == ["model", "copy"]
    assert systems["copy"]["difference"]["value"] == 0
    assert systems["copy"]["accuracy"] == systems["model"]["accuracy"]
    assert "given twice" in run(file, "--model", MODEL, *models, code=1).stderr


def test_plain_texts_are_linked_and_losses_shown(file):
    text = run(file, "--from-text", "--samples", 99, "--quiet", "--baselines").stdout
    assert re.search(r"hard: 16 documents, \d+ mentions: \d+ in the knowledge base, 16 NIL", text)
    head = next(line for line in text.splitlines() if "in percent" in line)
    assert head.split()[2:] == ["starter", "prior", "in-links", "popularity"]
    rows = [line.split("  ")[0].strip() or line.strip() for line in text.splitlines()]
    for match in ("strong", "weak"):
        assert {f"{of}, {match} match" for of in ("entities", "mentions", "gold lost")} <= {*rows}
    for row in (*LOSSES, "precision", "recall", "F1"):
        assert len(re.findall(rf"^\s+{row}  ", text, re.MULTILINE)) in (2, 4)
    assert "links outside of annotations" in rows
    assert "data " not in text, "no overview of a single data set"


def test_plain_texts_of_several_data_sets_and_models(file, tmp_path):
    other, copy = tmp_path / "other.jsonl", tmp_path / "copy.safetensors"
    other.write_bytes(file.read_bytes())
    copy.write_bytes(MODEL.read_bytes())
    models = ("--model", MODEL, "--model", copy, "--kb", KB, "--from-text", "--samples", 99)
    text = run(file, other, *models).stdout
    assert len(re.findall(r"^ hard +model ", text, re.MULTILINE)) == 2, "scores and losses"
    assert len(re.findall(r"^ +copy ", text, re.MULTILINE)) == 4
    data = json.loads(run(file, other, *models, "--json").stdout)
    assert list(data["sets"]) == ["hard", "other"]
    systems = data["sets"]["hard"]["systems"]
    assert list(systems) == ["model", "copy"]
    assert systems["copy"] == systems["model"] == data["sets"]["other"]["systems"]["copy"]
    strong = systems["model"]["strong"]
    assert 0.5 < strong["entities"]["f1"] <= 1
    lost = sum(stage["gold"] for stage in strong["lost"].values())
    assert strong["entities"]["right"] + lost == strong["entities"]["gold"]


def test_options_of_detection(tmp_path):
    file = tmp_path / "low.jsonl"
    mention = {"start": 0, "end": 6, "entity": "Jordan"}
    file.write_text(json.dumps({"text": "jordan", "mentions": [mention]}) + "\n")

    def detected(*options):
        found = json.loads(run(file, "--from-text", "--json", *options).stdout)
        return found["sets"]["low"]["systems"]["starter"]["strong"]["mentions"]["right"]

    assert detected() == 0
    assert detected("--any-case") == 1


def test_options_that_do_not_go_together(file, tmp_path):
    for option in ("--errors", "--figure", "--nil-figure"):
        result = run(file, "--from-text", option, tmp_path / "x", code=2)
        assert f"{option} needs annotated mentions" in " ".join(result.output.split())
    assert "--any-case needs --from-text" in run(file, "--any-case", code=2).output
    low = run(file, "--min-link-probability", 0.5, code=2).output
    assert "--min-link-probability needs --from-text" in low


def test_wrong_use_is_told(file, tmp_path):
    assert "--model needs --kb" in run(file, "--model", MODEL, code=2).output
    assert "'word' is none of" in run(file, "--format", "word", code=2).output
    assert "no document of the split 'dev'" in run(file, "--split", "dev", code=1).output
    broken = tmp_path / "broken.jsonl"
    broken.write_text('{"text": "x", "mentions": [{"start": 0, "end": 9}]}\n')
    assert "broken.jsonl, line 1" in run(broken, code=1).output


def test_shares_and_points():
    assert [percent(x) for x in (0.5, 1.0, float("nan"))] == ["50.0", "100.0", "–"]
    assert [signed_points(x) for x in (0.01, -0.01, -0.0001)] == ["+1.0", "−1.0", "0.0"]


def mistake(**fields) -> Mistake:
    link = Link(
        0, 6, "Jordan", "L", NASTY, "LOC", 0.9, "exact", (LAND, PLAYER), 1.0, "P",
        (Reason("mention", NASTY, 0.5, 1),),
    )  # fmt: skip
    given = {"system": "a", "data": "b", "document": "c", "kind": "wrong candidate"}
    given |= {"before": NASTY, "after": NASTY, "gold": "P", "gold_title": NASTY, "link": link}
    return Mistake(**{**given, **fields})


def source_of(*mistakes: Mistake) -> str:
    return "".join(page_parts(mistakes, lambda id: NASTY, NASTY))


def test_markup_in_data_stays_text():
    page = Page(source_of(mistake(system=NASTY, data=NASTY, document=NASTY)))
    assert page.open == []
    assert "img" not in {tag for tag, _ in page.tags}
    assert not any(name.startswith("on") for _, attributes in page.tags for name in attributes)
    (data,) = page.data
    assert data["before"] == data["document"] == data["gold_title"] == data["about"]["P"] == NASTY
    record = next(attributes for _, attributes in page.tags if "data-kind" in attributes)
    assert record["data-system"] == NASTY


def test_the_page_asks_nothing_of_the_network():
    page = Page(source_of(mistake()))
    for _, attributes in page.tags:
        assert not {"src", "href", "action", "style", "srcset"} & attributes.keys()
    assert not re.search(r"https?:|@import|url\(", page.script + page.style)
    assert not re.search(r"innerHTML|insertAdjacentHTML|document\.write|eval\(", page.script)
    policy = next(a["content"] for _, a in page.tags if "content" in a and "http-equiv" in a)
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_text_is_cut_between_words():
    long = "word " * 200
    (data,) = Page(source_of(mistake(before=long[-AROUND:], after=f" {long}"[:AROUND]))).data
    assert data["before"].startswith("…word ")
    assert data["before"].endswith("word ")
    assert data["after"].startswith(" word ")
    assert data["after"].endswith("word…")
