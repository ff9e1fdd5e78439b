"""`sgtb convert` and `sgtb corpus check`: what they say, and how they end."""

import json

import pytest
from typer.testing import CliRunner

from sgtb.cli.main import app
from sgtb.formats.registry import FORMATS, read_documents
from tests.helpers.kb_worlds import build
from tests.helpers.published_corpora import FILES


def sgtb(*arguments: object, code: int = 0):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "news.jsonl"
    path.write_text(FILES["jsonl"])
    return path


@pytest.fixture
def kb(tmp_path):
    return build(tmp_path, [{"id": "Q2", "name": "Vessa"}, {"id": "Q3", "name": "Anna Mecc"}])


def test_convert_says_what_it_did_and_what_was_lost(corpus, tmp_path):
    out = tmp_path / "news.zelda.jsonl"
    assert sgtb("convert", corpus, out).stdout == (
        f"read {corpus}, jsonl: 2 documents, 4 mentions\n"
        f"wrote {out}, zelda: 2 documents\n"
        "not representable in zelda, left out:\n"
        "  1 mentions that are not annotated\n"
        "  1 mentions that mean nothing in the knowledge base (NIL)\n"
        "  1 types\n"
        "  1 lists of candidates\n"
        "  1 splits of documents\n"
    )
    assert [len(document.mentions) for document in read_documents(out)] == [1, 1]


def test_convert_for_programs(corpus, tmp_path):
    out = tmp_path / "news.x"
    done = json.loads(sgtb("convert", corpus, out, "--to", "jsonl", "--json").stdout)
    assert done == {
        "read": {"path": str(corpus), "format": "jsonl", "documents": 2, "mentions": 4},
        "written": {"path": str(out), "format": "jsonl", "documents": 2},
        "losses": {},
    }


@pytest.mark.parametrize("format", FORMATS)
def test_convert_there_and_back(corpus, tmp_path, format):
    out = tmp_path / "out"
    sgtb("convert", corpus, out, "--to", format)
    sgtb("convert", out, tmp_path / "back.jsonl.gz", "--from", format)
    golds = [m.gold for d in read_documents(tmp_path / "back.jsonl.gz") for m in d.mentions]
    title_instead = {"wned": "Anna Meck"}
    assert [gold for gold in golds if gold not in (None, "NIL")] == [
        "Q2", title_instead.get(format, "13")
    ]  # fmt: skip


def test_convert_refuses_in_one_line(corpus, tmp_path):
    for arguments, code, message in (
        ((corpus, corpus), 1, "source and target are the same"),
        ((corpus, tmp_path / "a.csv"), 1, "no format has this ending; choose one of aida"),
        ((corpus, tmp_path / "no" / "a.jsonl"), 1, "there is no folder"),
        ((corpus, tmp_path / "a", "--to", "xml"), 2, "'xml' is none of"),
        ((corpus, tmp_path / "a", "--from", "zelda", "--to", "jsonl"), 1, "news.jsonl, line 1: "),
        ((tmp_path / "none", tmp_path / "a"), 2, "exist"),
    ):
        assert message in " ".join(sgtb("convert", *arguments, code=code).output.split())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["news.jsonl"]


def test_check_of_a_good_file(corpus):
    shown = sgtb("corpus", "check", corpus).stdout
    assert "news.jsonl: jsonl" in shown
    assert "no errors" in shown
    assert "knowledge base" not in shown


def test_check_against_a_knowledge_base(corpus, kb):
    shown = sgtb("corpus", "check", corpus, "--kb", kb).stdout
    rows = [" ".join(row.split()) for row in shown.splitlines()]
    assert "in the knowledge base 1 50.0%" in rows
    assert "among candidates 1 100.0%" in rows
    assert "not in the knowledge base: 1 entities" in rows
    assert "13 (Anna Meck), 1 mention; has nearly this name: Q3 (Anna Mecc)" in rows
    assert "no errors" in rows


def test_check_ends_with_one_if_anything_is_wrong(corpus, tmp_path):
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"text": "x"}\n[]\n[]\n[]\n')
    shown = sgtb("corpus", "check", corpus, bad, "--most", 2, code=1).stdout
    assert "unreadable, or not matching the text: 3" in shown
    assert f"{bad}, line 3: not a JSON object, but []" in shown
    assert "… and 1 more" in shown
    assert shown.count("no errors") == 1


def test_check_for_programs(corpus, kb, tmp_path):
    bad = tmp_path / "bad.jsonl"
    bad.write_text("[]\n")
    result = sgtb("corpus", "check", corpus, bad, "--json", "--kb", kb, "--format", "jsonl", code=1)
    good, wrong = map(json.loads, result.stdout.splitlines())
    assert (good["documents"], good["errors"], good["nil_share"]) == (2, 0, 0.333333)
    assert good["kb"]["unknown"][0]["suggestions"][0]["id"] == "Q3"
    assert (wrong["documents"], wrong["errors"], wrong["kb"]["recall"]) == (0, 1, None)


def test_check_of_an_unknown_format_is_one_line(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("Orlan won.")
    assert "unknown format" in sgtb("corpus", "check", path, code=1).output
