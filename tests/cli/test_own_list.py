"""Commands with an own list: the starter's model, clashing titles, output to train on."""

import json

import pytest
from typer.testing import CliRunner

from sgtb.cli.main import app
from sgtb.cli.views.link_view import print_links
from sgtb.formats.registry import read_documents
from sgtb.linking.links import Alternative, Link, LinkedDocument
from sgtb.starter import KB, MODEL
from tests.helpers.first_hour import write_data

TEXT = "Berg kept goal for United."


def run(*arguments, code=0):
    result = CliRunner().invoke(app, [*map(str, arguments)], env={"COLUMNS": "80"})
    assert result.exit_code == code, result.output
    return result


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("own")
    write_data(folder)
    run("kb", "build", "list", folder / "entities.csv", "-o", folder / "my.kb")
    return folder


def test_a_knowledge_base_alone_is_used_with_the_starters_model_and_said_so(place):
    result = run("link", TEXT, "--kb", place / "my.kb", "--json", "--no-reasons")
    assert result.stderr == f"no --model given: the starter's model links to {place / 'my.kb'}\n"
    assert [link["entity"] for link in json.loads(result.stdout)["links"]] == ["P2", "O1"]
    assert run("link", TEXT, "--kb", place / "my.kb", "--quiet").stderr == ""
    named = run("link", TEXT, "--kb", place / "my.kb", "--model", "starter", "--json")
    assert named.stderr == ""
    assert json.loads(named.stdout)["links"][0]["entity"] == "P2"
    judged = run("evaluate", place / "texts.jsonl", "--kb", place / "my.kb", "--samples", 39)
    assert "the starter's model links to" in judged.stderr
    assert "starter" in judged.stdout
    explained = run("explain", TEXT, "Berg", "--kb", place / "my.kb")
    assert "Berg: Carl Berg" in explained.stdout


def test_what_a_knowledge_base_lacks_is_named(place, tmp_path):
    (tmp_path / "names.csv").write_text("id,name\nA,Amman\nB,Basel\n")
    run("kb", "build", "list", tmp_path / "names.csv", "-o", tmp_path / "names")
    result = run("link", "From Amman to Basel.", "--kb", tmp_path / "names", "--json")
    assert "has no descriptions and no links and no popularity and no types, which" in result.stderr
    assert [link["entity"] for link in json.loads(result.stdout)["links"]] == ["A", "B"]
    quiet = run("link", "From Amman to Basel.", "--kb", tmp_path / "names", "--quiet")
    assert quiet.stderr == ""


def test_the_starter_has_a_name():
    expected = run("link", "Jordan met Pippen.").stdout
    assert run("link", "Jordan met Pippen.", "--model", "starter").stdout == expected
    assert run("link", "Jordan met Pippen.", "--model", "starter", "--kb", KB).stdout == expected
    result = run("link", "x", "--model", "missing", code=2)
    assert "missing: no such file or folder; `starter` is" in " ".join(result.output.split())


def test_linked_text_can_be_corrected_and_trained_on(place):
    linked = place / "linked.jsonl"
    lines = []
    for document in list(read_documents(place / "texts.jsonl"))[:8]:
        out = run("link", document.text, "--kb", place / "my.kb", "--json", "--quiet").stdout
        record = json.loads(out)
        assert record["text"] == document.text
        for link in record["links"]:
            if link["text"] == "Berg":
                link["entity"] = "P1"  # the correction; title and candidates stay as they were
        lines.append(json.dumps(record))
    linked.write_text("\n".join(lines) + "\n", "utf-8")
    documents = list(read_documents(linked))
    assert {m.gold for d in documents for m in d.mentions if m.text == "Berg"} == {"P1"}
    assert all(m.title is None and m.candidates is None for d in documents for m in d.mentions)
    result = run(
        "train", "--kb", place / "my.kb", "--train", linked, "-o", place / "again.model",
        "--trees", 2, "--without", "coherence", "--without", "similarity",
    )  # fmt: skip
    assert "again.model: bsg, 2 trees" in result.stdout
    assert run("corpus", "check", linked).exit_code == 0


def shown(document, capsys, *describe):
    print_links(document, False, False, *describe)
    return capsys.readouterr().out


def test_entities_of_one_title_are_told_apart(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    others = (
        Alternative("E1", "Berg", "PER", 0.6, 0.5), Alternative("E2", "Berg", "PER", 0.3, 0.5),
        Alternative("E3", "Ada", "PER", 0.1, 0.5),
    )  # fmt: skip
    link = Link(0, 4, "Berg", "E1", "Berg", "PER", 0.6, "exact", others)
    document = LinkedDocument("Berg", (link,))
    told = shown(document, capsys, {"E1": "a chemist", "E2": "x" * 90}.get)
    assert "Berg (a chemist)" in told
    assert "Berg (…) 30 %" in told or f"({'x' * 39}" in told or "…" in told
    assert "Berg (E1)" in shown(document, capsys), "without descriptions, by their ids"
    alone = LinkedDocument(
        "Berg", (Link(0, 4, "Berg", "E1", "Berg", "PER", 1, "exact", others[::2]),)
    )
    assert "(a chemist)" not in shown(alone, capsys, {"E1": "a chemist"}.get)


def test_an_explanation_tells_entities_of_one_title_apart(tmp_path):
    names = tmp_path / "towns.csv"
    head, river = "id,name,type,popularity,description,links", "R,River,LOC,1,a river,T1"
    towns = "T1,Milltown,LOC,9,,R\nT2,Milltown,LOC,1,,"
    names.write_text(f"{head}\n{towns}\n{river}\n", "utf-8")
    run("kb", "build", "list", names, "-o", tmp_path / "kb")
    linker = ("--model", MODEL, "--kb", tmp_path / "kb")
    assert "Milltown (T1)" in run("link", "Milltown is by River.", *linker).stdout
    told = run("explain", "Milltown is by River.", "Milltown", *linker).stdout
    assert "Milltown: Milltown (T1), confidence" in told
    assert "Milltown (T1) leads Milltown (T2) by" in told
    assert told.count("Milltown (T2)") == 2, "in the table of candidates, too"


def test_the_table_shows_nil_where_it_is_likelier_than_the_next(capsys):
    others = (Alternative("E1", "A", "PER", 0.6, 0.5), Alternative("E2", "B", "PER", 0.1, 0.5))
    link = Link(0, 1, "A", "E1", "A", "PER", 0.6, "exact", others, nil=0.3)
    assert "NIL 30 %" in shown(LinkedDocument("A", (link,)), capsys)
    less = Link(0, 1, "A", "E1", "A", "PER", 0.6, "exact", others, nil=0.05)
    assert "B 10 %" in shown(LinkedDocument("A", (less,)), capsys)


def test_a_small_dev_is_warned_of_and_the_report_is_one_page(place):
    page = place / "report.html"
    result = run(
        "train", "--kb", place / "my.kb", "--train", place / "texts.jsonl", "-o", place / "m",
        "--trees", 4, "--report", page,
    )  # fmt: skip
    warned = "warning: dev has 24 mentions with a known entity, too few to choose by"
    assert warned in result.stderr
    assert "the simpler settings are kept" in result.stderr
    assert "dev as in the progress: " in result.stdout
    assert "95 % intervals" in result.stdout
    text = page.read_text("utf-8")
    for heading in (
        "Accuracy while training", "Calibration on dev", "Importance of feature groups",
        "orst documents",
    ):  # fmt: skip
        assert heading in text
    assert "Chosen on 24 mentions: too few to trust" in text
    assert "<script" not in text
    assert "http" not in text.replace("http-equiv", "")
    packed = run("pack", place / "packed", "--model", place / "m", "--kb", place / "my.kb")
    assert packed.exit_code == 0
    card = (place / "packed" / "README.md").read_text("utf-8")
    assert "left-out mentions: too few to trust" in card
    assert "0.0000" not in card


def test_unknown_groups_are_refused_with_the_known_ones(place):
    result = run(
        "train", "--kb", place / "my.kb", "--train", place / "texts.jsonl", "-o", place / "m",
        "--without", "nothing", code=1,
    )  # fmt: skip
    assert "no feature group; there are popularity" in result.stderr


def test_lower_case_text_gets_a_hint():
    result = run("link", "jordan met pippen")
    assert "no mentions found; --any-case also finds names without capitals" in result.stderr
