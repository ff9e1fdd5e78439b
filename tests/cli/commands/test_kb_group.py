"""The commands `sgtb kb …`: what they print, as people and as programs read it."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sgtb.cli.main import app

LIST = """\
{"id": "Q1", "name": "Orlan", "aliases": ["City of Orlan"], "type": "LOC", "links": ["Q2"]}
{"id": "Q2", "name": "Orlan Rovers", "aliases": [{"name": "Orlan", "count": 3}], "type": "ORG"}
"""
DUMP = """<mediawiki>
<page><title>Orlan</title><ns>0</ns><id>1</id><revision><id>1</id><text>'''Orlan''' is a city. \
Its club is [[Orlan Rovers|Orlan]].</text></revision></page>
<page><title>Orlan Rovers</title><ns>0</ns><id>2</id><revision><id>2</id><text>A club of \
[[Orlan]]s.</text></revision></page>
<page><title>Rovers</title><ns>0</ns><id>3</id><revision><id>3</id><text>#REDIRECT [[Orlan Rovers]]\
</text></revision></page>
</mediawiki>
"""


def run(*arguments: object, fails: bool = False) -> str:
    """Run a command and return what it printed: on standard error where it should fail."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert (result.exit_code != 0) == fails, result.output
    assert "Traceback" not in result.output
    return result.stderr if fails else result.stdout


def told(*arguments: object) -> dict:
    return json.loads(run(*arguments, "--json"))


@pytest.fixture
def listed(tmp_path: Path) -> Path:
    path = tmp_path / "list.jsonl"
    path.write_text(LIST)
    return path


@pytest.fixture
def kb(tmp_path: Path, listed: Path) -> Path:
    run("kb", "build", "jsonl", listed, "-o", tmp_path / "kb")
    return tmp_path / "kb"


def test_build_says_what_was_built(tmp_path, listed):
    out = tmp_path / "new"
    assert run("kb", "build", "jsonl", listed, "-o", out, "-q") == (
        f"{out}: 2 entities, 3 names, 1 links\n"
    )
    report = told("kb", "build", "jsonl", listed, "-o", out)
    assert (report["entities"], report["names"], report["links"]) == (2, 3, 1)


def test_changes_that_a_build_replaces_are_counted(tmp_path, listed, kb):
    def notes():
        result = CliRunner().invoke(app, ["kb", "build", "list", str(listed), "-o", str(kb), "-q"])
        assert result.exit_code == 0
        return result.stderr

    assert "change" not in notes()
    more = tmp_path / "more.jsonl"
    more.write_text('{"id": "Q3", "name": "Vessa"}\n')
    run("kb", "add", kb, more)
    assert "replace this knowledge base and 1 change(s)" in notes()
    assert "change" not in notes()
    (kb / "kb.json").write_text("{")  # a damaged one may be built again
    assert "change" not in notes()


def test_a_list_of_any_format_builds(tmp_path, listed):
    (tmp_path / "a.csv").write_text("ID,Label,Type\nQ1,Orlan,city\n")
    book = pytest.importorskip("openpyxl").Workbook()
    for sheet, id_ in ((book.active, "Q1"), (book.create_sheet("New"), "Q2")):
        sheet.append(["id", "name"])
        sheet.append([id_, "Orlan"])
    book.save(tmp_path / "a.xlsx")
    out = tmp_path / "new"
    for command in ("list", "csv", "jsonl"):
        for file in (listed, tmp_path / "a.csv", tmp_path / "a.xlsx"):
            assert told("kb", "build", command, file, "-o", out)["entities"] == 1 + (file == listed)
    run("kb", "build", "list", tmp_path / "a.xlsx", "--sheet", "New", "-o", out)
    assert told("kb", "show", out, "Q2")["entity"]["title"] == "Orlan"
    run("kb", "build", "list", tmp_path / "a.xlsx", "-o", out)
    assert told("kb", "add", out, tmp_path / "a.xlsx", "--sheet", "New")["added"] == 1
    assert told("kb", "update", out, tmp_path / "a.xlsx")["changed"] == 1
    said = run("kb", "update", out, tmp_path / "a.csv", "--sheet", "New", fails=True)
    assert said == f"sgtb: {tmp_path / 'a.csv'}: not an Excel file; leave out the sheet\n"


def test_all_errors_of_a_list_are_printed(tmp_path, kb):
    path = tmp_path / "bad.csv"
    path.write_text("id,name,popularity\nQ3,Three,high\nQ4,,1\n")
    expected = (
        f"{path}, line 2, column popularity: 'high' is not a number; write one like 12.5, or leave "
        f"the cell empty\n{path}, line 3, column name: missing; every record needs one\n"
        f"sgtb: {path}: 2 errors; nothing was built or changed\n"
    )
    assert run("kb", "build", "list", path, "-o", tmp_path / "new", "-q", fails=True) == expected
    assert run("kb", "add", kb, path, fails=True) == expected
    assert not (tmp_path / "new").exists()


def test_csv_builds_the_same(tmp_path, kb):
    table = tmp_path / "list.csv"
    table.write_text(
        "id,name,aliases,type,links\nQ1,Orlan,City of Orlan,LOC,Q2\nQ2,Orlan Rovers,Orlan,ORG,\n"
    )
    run("kb", "build", "csv", table, "-o", tmp_path / "other")
    assert (
        told("kb", "show", tmp_path / "other", "Q1")["entity"]
        == told("kb", "show", kb, "Q1")["entity"]
    )


def test_info(kb):
    info = told("kb", "info", kb)
    assert {
        "entities": 2,
        "aliases": 4,
        "links": 1,
        "words": 0,
        "format": 2,
    }.items() <= info.items()
    assert "entities" in run("kb", "info", kb)


def test_show_a_name_and_an_entity(kb):
    shown = told("kb", "show", kb, "ORLAN's")
    assert [(c["id"], c["prior"]) for c in shown["candidates"]] == [("Q2", 0.75), ("Q1", 0.25)]
    assert shown["candidates"][0]["spellings"] == {"Orlan": 3}
    assert shown["entity"] is None
    card = told("kb", "show", kb, "Q1")["entity"]
    assert (card["title"], card["links"], card["popularity"]) == ("Orlan", ["Q2"], None)
    assert "0.750" in run("kb", "show", kb, "Orlan")
    assert "City of Orlan" in run("kb", "show", kb, "Q1")
    assert "no name and no id 'nobody'" in run("kb", "show", kb, "nobody", fails=True)
    assert len(told("kb", "show", kb, "Orlan", "-k", 1)["candidates"]) == 1


def test_add_update_remove(tmp_path, kb):
    new = tmp_path / "new.jsonl"
    new.write_text('{"id": "Q3", "name": "Orlan Post", "aliases": ["Orlan"], "links": ["Q1"]}\n')
    assert run("kb", "add", kb, new) == "1 added; now 3 entities\n"
    assert "line 1, key id: 'Q3' already exists" in run("kb", "add", kb, new, fails=True)
    new.write_text('{"id": "Q3", "description": "a paper"}\n')
    assert told("kb", "update", kb, new)["changed"] == 1
    card = told("kb", "show", kb, "Q3")["entity"]
    assert (card["description"], card["title"]) == ("a paper", "Orlan Post")
    assert ": ok" in run("kb", "check", kb)
    assert told("kb", "remove", kb, "--id", "Q3") == {
        "added": 0, "changed": 0, "removed": 1, "unknown_links": 0, "entities": 2, "generation": 3,
    }  # fmt: skip
    ids = tmp_path / "ids.txt"
    ids.write_text("Q1\n")
    assert run("kb", "remove", kb, ids) == "1 removed; now 1 entities\n"
    assert "no entity 'Q1'" in run("kb", "remove", kb, ids, fails=True)
    assert "give a file of ids" in run("kb", "remove", kb, fails=True)
    assert told("kb", "check", kb)["ok"] is True


def test_check_finds_damage(kb):
    text = next(kb.glob("data-*/text.bin"))
    data = bytearray(text.read_bytes())
    data[-1] ^= 1
    text.write_bytes(data)
    assert "checksum" in run("kb", "check", kb, fails=True)
    result = CliRunner().invoke(app, ["kb", "check", str(kb), "--json"])
    assert result.exit_code == 1
    report = json.loads(result.stdout)
    assert report["ok"] is False
    assert [str(text) in problem for problem in report["problems"]] == [True]


def test_export_builds_the_same(tmp_path, kb):
    out = tmp_path / "all.jsonl"
    assert run("kb", "export", kb, "-o", out) == f"{out}: 3 lines\n"
    assert run("kb", "export", kb) == out.read_text()
    run("kb", "build", "jsonl", out, "-o", tmp_path / "again")
    assert run("kb", "export", tmp_path / "again") == out.read_text()
    said = run("kb", "export", kb, "-o", kb / "kb.json", fails=True)
    assert "within the knowledge base" in " ".join(said.replace("│", " ").split())
    assert run("kb", "export", kb) == out.read_text()


def test_unknown_links_are_refused_or_left_out(tmp_path):
    path = tmp_path / "list.jsonl"
    path.write_text('{"id": "Q1", "name": "Orlan", "links": ["Q9"]}\n')
    out = tmp_path / "kb"
    said = run("kb", "build", "jsonl", path, "-o", out, fails=True)
    assert f"{path}, line 1, key links: no entity has the id 'Q9'" in said
    assert not out.exists()
    assert "left out: 1 links" in run(
        "kb", "build", "jsonl", path, "-o", out, "--skip-unknown-links"
    )


def test_wiki(tmp_path):
    dump = tmp_path / "dump.xml"
    dump.write_text(DUMP)
    report = told("kb", "build", "wiki", dump, "-o", tmp_path / "wiki", "-q")
    assert report["pages"]["redirects"] == 1
    assert report["entities"] == 2
    said = run("kb", "build", "wiki", dump, "-o", tmp_path / "wiki", "-q")
    assert "2 articles, 1 redirects" in " ".join(said.split())
    shown = told("kb", "show", tmp_path / "wiki", "Rovers")
    assert [c["id"] for c in shown["candidates"]] == ["Orlan Rovers"]


def test_wiki_says_what_was_dropped_and_strict_refuses(tmp_path):
    dump = tmp_path / "dump.xml"
    dump.write_text(DUMP.replace("</mediawiki>", "<page><title>Torn</title><ns>0"))
    assert "dropped: " in run("kb", "build", "wiki", dump, "-o", tmp_path / "wiki", "-q")
    said = run("kb", "build", "wiki", dump, "-o", tmp_path / "other", "--strict", fails=True)
    assert f"{dump}, line 5" in said
    assert not (tmp_path / "other").exists()
    assert told("kb", "info", tmp_path / "wiki")["entities"] == 2


def test_pprforned(tmp_path, data):
    out = tmp_path / "ppr"
    report = told("kb", "build", "pprforned", data / "pprforned", "-o", out, "-q")
    assert (report["entities"], report["links"]) == (36_545, 247_540)
    assert told("kb", "check", out)["ok"] is True


def test_no_knowledge_base_there(tmp_path):
    for command in ("info", "check", "export"):
        assert "no such folder" in run("kb", command, tmp_path / "none", fails=True)
    assert "no knowledge base" in run("kb", "info", tmp_path, fails=True)


def test_pages_and_merge(tmp_path: Path, kb: Path):
    pages = tmp_path / "pages.jsonl"
    pages.write_text(
        '{"id": "Q3", "title": "Dovel", "text": "Dovel is a river near Orlan Rovers."}\n'
        '{"id": "Q2", "title": "Orlan Rovers", "text": "Orlan Rovers is a club."}\nbad\n'
    )
    printed = run("kb", "build", "pages", pages, "-o", tmp_path / "river")
    assert "entities        2  1 links" in printed
    assert f"dropped: {pages}, line 3: " in printed
    assert told("kb", "build", "pages", pages, "-o", tmp_path / "river")["uses"]["clear"] == 1
    printed = run("kb", "merge", kb, tmp_path / "river", "-o", tmp_path / "all")
    assert printed.strip().endswith("3 entities (2 + 2, 1 united), 4 names, 2 links")
    assert told("kb", "merge", kb, tmp_path / "river", "-o", tmp_path / "all")["united"] == 1
    assert "ids: 'x'" in run(
        "kb", "build", "pages", pages, "-o", tmp_path / "x", "--ids", "x", fails=True
    )
    assert "--strict" in run(
        "kb", "build", "pages", pages, "-o", tmp_path / "x", "--strict", fails=True
    )
    assert "at least two" in run("kb", "merge", kb, "-o", tmp_path / "x", fails=True)
