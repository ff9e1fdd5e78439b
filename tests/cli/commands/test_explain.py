"""`sgtb explain`: one mention in full."""

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from sgtb.cli.main import app
from sgtb.cli.views.explain_view import print_explanation
from sgtb.linking.links import LinkedDocument, Request
from tests.helpers.cli_answers import DESCRIPTIONS, answer

TEXT = "Jordan won six rings with the Bulls. Nobody knew Jordan then."


def test_everything_about_a_mention(run):
    shown = run("explain", TEXT, "Jordan").stdout
    for words in (
        TEXT, "Jordan: Michael Jordan, confidence 90 %", "characters 0 to 6, found by exact name",
        "0.400", "a player & more", "a <b>kingdom</b>", "Michael Jordan leads Jordan by 1.25:",
        "supported by Bulls (Chicago <Bulls>)", "popularity among the candidates",
        "name similarity",
    ):  # fmt: skip
        assert words in shown
    assert "\x1b" not in shown


def test_reasons_are_bars_to_both_sides(run):
    lines = run("explain", TEXT, "Jordan").stdout.splitlines()
    plus, minus = (next(line for line in lines if line.startswith(v)) for v in ("+1.50", "−0.50"))
    assert plus.count("█") == 12
    assert minus.count("█") == 4
    assert minus.rindex("█") < plus.index("█")


def test_the_first_of_several_unless_told_where(run):
    assert json.loads(run("explain", TEXT, "Jordan", "--json").stdout)["start"] == 0
    assert json.loads(run("explain", TEXT, "jordan", "--at", 50, "--json").stdout)["start"] == 49
    told = json.loads(run("explain", TEXT, "--at", 34, "--json").stdout)
    assert told["text"] == "Bulls"
    assert told["candidates"][0]["description"] == DESCRIPTIONS["T"]


def test_the_same_spelling_goes_before_one_in_other_letters(run, monkeypatch):
    text = "JORDAN and Jordan"
    (jordan,) = answer(Request("Jordan")).links
    links = (
        replace(jordan, text="JORDAN"),
        replace(jordan, start=11, end=17),
    )
    monkeypatch.setattr(
        "tests.helpers.cli_answers.FakeLinker.link",
        lambda self, request: LinkedDocument(text, links),
    )
    assert json.loads(run("explain", text, "Jordan", "--json").stdout)["start"] == 11
    assert json.loads(run("explain", text, "jordan", "--json").stdout)["start"] == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("Jordn",), "no mention 'Jordn'; the text has 'Jordan' at 0, 'Bulls' at 30"),
        (("Bulls", "--at", 2), "no mention 'Bulls' at character 2; the text has"),
        (("--at", 7), "no mention at character 7"),
    ],
)
def test_a_mention_that_is_not_there(run, arguments, words):
    result = run("explain", TEXT, *arguments, code=1)
    assert words in result.stderr
    assert result.stdout == ""
    assert "the text has none" in run("explain", "no name", "x", code=1).stderr


def test_wrong_calls(run, tmp_path):
    assert "give a mention" in run("explain", TEXT, code=2).stderr
    many = tmp_path / "a.jsonl"
    many.write_text("")
    said = run("explain", many, "x", code=2).stderr
    assert "several documents" in " ".join(said.replace("│", " ").split())
    assert "--kb" in run("explain", TEXT, "x", "--model", __file__, code=2).stderr


def test_files_and_what_nobody_knows(run, tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("before " * 40 + TEXT + " after" * 40)
    shown = run("explain", file, "Nobody").stdout
    assert "Nobody: not in the knowledge base" in shown
    assert shown.startswith("… ")
    assert "…\n" in shown
    context = shown.partition("\n\n")[0].split()
    assert context[:2] == ["…", "before"]  # no word is cut
    assert context[-2:] == ["after", "…"]


def test_nothing_competed(capsys):
    document = answer(Request("Bulls"))
    print_explanation(document, document.links[0], DESCRIPTIONS)
    assert "There is no other candidate." in capsys.readouterr().out


def test_starter_explains():
    """The real thing: needs the model and the knowledge base that come with the package."""
    arguments = ["explain", "Jordan won six rings with the Bulls.", "Jordan"]
    shown = CliRunner().invoke(app, arguments)
    assert shown.exit_code == 0, shown.output
    assert "Michael Jordan leads" in shown.stdout
    told = json.loads(CliRunner().invoke(app, [*arguments, "--json"]).stdout)
    assert told["entity"] == "Michael Jordan"
    assert len(told["candidates"]) > 5, "all of them"
    assert sum(r["value"] for r in told["reasons"]) == pytest.approx(told["lead"], abs=1e-3)
    assert told["candidates"][0]["description"].startswith("guard who won six")
