"""`sgtb link`: what it takes, what it prints, and how it ends."""

import io
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sgtb.cli.main import app
from sgtb.cli.views import progress_views
from sgtb.cli.views.link_view import bar, percent, print_links, printable, reason_text
from sgtb.cli.views.progress_views import DocumentCounter
from sgtb.linking.features.schema import SCHEMA
from sgtb.linking.links import LinkedDocument, Reason, Request, Span
from sgtb.linking.mentions import spacy_mentions
from sgtb.linking.nil_candidate import REASON_LABELS
from tests.helpers.cli_answers import answer

TEXT = "Jordan won six rings with the Bulls."


def objects(result) -> list[dict]:
    return [json.loads(line) for line in result.stdout.splitlines()]


# What is printed.


def test_a_text_becomes_a_table(run):
    shown = run("link", TEXT).stdout
    for words in (
        "Michael Jordan",
        "PER",
        "90 %",
        "Jordan 10 %",
        "+1.50 supported by Bulls",
        "−0.50",
    ):
        assert words in shown
    assert "\x1b" not in shown, "no colours where there is no terminal"
    assert run("link", TEXT, "--no-reasons").stdout.count("supported by") == 0


def test_table_fits_any_width(run, monkeypatch):
    for width in (40, 60, 80, 120, 200):
        monkeypatch.setenv("COLUMNS", str(width))
        lines = run("link", TEXT).stdout.splitlines()
        assert max(map(len, lines)) <= width
        assert ("██" in "".join(lines)) == (width >= 110)


def test_long_texts_have_a_plain_table_unless_asked(run):
    long = TEXT + " So it was." * 50
    assert "supported by" not in run("link", long).stdout
    assert "supported by" in run("link", long, "--reasons").stdout


def test_marks(capsys):
    print_links(answer(Request("Jordn and Nobody")), False, False)
    shown = capsys.readouterr().out
    assert "Jordn ~ similar name" in shown
    assert "not in the knowledge" in shown
    fixed = replace(answer(Request(TEXT)).links[0], fixed=True)
    print_links(LinkedDocument(TEXT, (fixed,)), False, False)
    assert "Jordan = fixed" in capsys.readouterr().out


def test_json_is_what_the_records_say(run):
    (told,) = objects(run("link", TEXT, "--json"))
    assert told == answer(Request(TEXT)).to_dict()
    (told,) = objects(run("link", TEXT, "--json", "--no-reasons"))
    assert told["links"][0]["reasons"] == []


def test_several_inputs_are_json_lines_and_tables_with_headings(run, tmp_path):
    file = tmp_path / "a.txt"
    file.write_text(TEXT)
    told = objects(run("link", file, "The Bulls lost.", "--json"))
    assert [record.get("id") for record in told] == [str(file), None]
    assert [len(record["links"]) for record in told] == [2, 1]
    shown = " ".join(run("link", file, "No names.").stdout.split())
    assert str(file) in "".join(shown.split())
    assert "no mentions found" in shown


def test_nothing_found_is_no_failure(run):
    for text in ("", "Nothing at all."):
        result = run("link", text)
        assert (result.stdout, result.stderr) == ("", "no mentions found\n")
        result = run("link", text, "--json", "--quiet")
        assert json.loads(result.stdout) == {"text": text, "links": []}
        assert result.stderr == ""


def test_a_text_in_lower_case_gets_a_hint(run):
    text = "nothing at all"
    assert run("link", text).stderr == (
        "no mentions found; --any-case also finds names without capitals\n"
    )
    assert run("link", text, "--any-case").stderr == "no mentions found\n"


def test_terminals_are_not_obeyed():
    assert printable("a\x1b[31m\n b\u202ec") == "a�[31m b�c"
    assert printable("می\u200cخواهم") == "می\u200cخواهم", "what letters need stays"


def test_numbers_as_people_say_them():
    shown = [percent(p) for p in (0.0, 1e-9, 0.004, 0.006, 0.5, 0.994, 0.996, 1.0)]
    assert shown == ["0 %", "<1 %", "<1 %", "1 %", "50 %", "99 %", ">99 %", "100 %"]
    assert [bar(share, 4) for share in (0.0, 0.5, 1.0, 2.0)] == ["", "██", "████", "████"]


def test_every_group_of_features_has_words():
    missing = [group for group in SCHEMA.groups if group not in REASON_LABELS]
    assert not missing
    assert reason_text(Reason("mention", "Bulls", -1.0, 1)) == "contradicted by Bulls"
    assert reason_text(Reason("features", "something new", 1.0)) == "something new"


# Options.


def test_options_become_settings(run, opened):
    run("link", TEXT)
    plain = opened[-1].settings
    assert (plain.candidates, plain.reasons, plain.fuzzy) == (5, True, None)
    assert plain.mentions.capitals
    run(
        "link", TEXT, "--candidates", 2, "--fuzzy", "--any-case",
        "--min-link-probability", 0.3, "--jobs", 3,
    )  # fmt: skip
    asked = opened[-1].settings
    assert (asked.candidates, asked.fuzzy) == (2, True)
    assert not asked.mentions.capitals
    assert asked.mentions.min_link_probability == 0.3
    assert opened[-1].jobs == 3


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "give a text"),
        (("x", "--model", __file__), "--model needs --kb"),
        (("x", "--lines", "--jsonl"), "only one of"),
        (("-", "-"), "can be read only once"),
        (("x", "--html", "-", "--json"), "write the page to a file"),
        (("x", "--candidates", "0"), "candidates"),
        (("x", "--min-link-probability", "2"), "min-link-probability"),
    ],
)
def test_wrong_calls_end_with_2(run, arguments, words):
    result = run("link", *arguments, code=2)
    assert words in " ".join(result.stderr.replace("│", " ").split())
    assert result.stdout == ""


def test_mentions_by_spacy(run, opened, monkeypatch):
    loaded = []

    def load(name):
        loaded.append(name)
        return spacy_mentions.SpacyMentions(None)

    monkeypatch.setattr(spacy_mentions.SpacyMentions, "load", staticmethod(load))
    monkeypatch.setattr(spacy_mentions.SpacyMentions, "find", lambda self, text: ((0, 6),))
    run("link", TEXT, "--spacy", "some_model")
    assert loaded == ["some_model"]
    assert opened[-1].asked == [Request(TEXT, (Span(0, 6),))]
    line = json.dumps({"text": TEXT, "mentions": []})
    run("link", "-", "--jsonl", "--spacy", "some_model", input=line)
    assert opened[-1].asked[0].spans == (), "mentions that were given stay"


# The page.


def test_page_is_written_whole_or_not_at_all(run, tmp_path):
    page, bad = tmp_path / "a.html", tmp_path / "a.jsonl"
    result = run("link", TEXT, "--html", page)
    assert result.stdout == ""
    assert result.stderr == f"{page}: 1 document, 2 links\n"
    before = page.read_text()
    assert before.startswith("<!doctype html>")
    assert before.rstrip().endswith("</html>")
    bad.write_text('{"text": "Bulls"}\n{\n')
    run("link", bad, "--html", page, code=1)
    assert page.read_text() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.html", "a.jsonl"]
    assert run("link", TEXT, "--html", "-").stdout == before
    told = objects(run("link", TEXT, "--html", page, "--json", "-q"))
    assert len(told) == 1
    assert "no folder" in run("link", TEXT, "--html", tmp_path / "no" / "a.html", code=1).stderr
    assert "a folder" in run("link", TEXT, "--html", tmp_path, code=1).stderr


# Progress.


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "said", "rate"), [(io.StringIO(), 2, 0.9), (Terminal(), 10, 1.0)]
)
def test_counter_speaks_now_and_then(monkeypatch, stream, said, rate):
    clock = iter(float(second) for second in range(100))
    monkeypatch.setattr(progress_views.time, "monotonic", lambda: next(clock))
    documents = [answer(Request(TEXT))] * 10
    counted = DocumentCounter(stream=stream)
    assert list(counted.passing(iter(documents))) == documents
    text = stream.getvalue()
    assert text.count(" per second") == said
    assert f"10 documents, 20 links, {rate} documents per second" in text
    assert ("\r" in text) == stream.isatty()
    silent = io.StringIO()
    assert len(list(DocumentCounter(True, silent).passing(iter(documents)))) == 10
    assert silent.getvalue() == ""


def test_counter_says_nothing_twice(monkeypatch):
    """A single document, slow to come, was told of twice: when it came, and at the end."""
    clock = iter([0.0, 4.0, 4.0])
    monkeypatch.setattr(progress_views.time, "monotonic", lambda: next(clock))
    stream = io.StringIO()
    list(DocumentCounter(stream=stream).passing(iter([answer(Request(TEXT))])))
    assert stream.getvalue() == "1 document, 2 links, 0.2 documents per second\n"


@pytest.mark.parametrize(("arguments", "said"), [((TEXT,), 0), ((TEXT, TEXT), 2)])
def test_a_single_text_is_not_counted(monkeypatch, run, arguments, said):
    monkeypatch.setattr(progress_views, "_FIRST_LINE", 0.0)
    assert run("link", *arguments).stderr.count("per second") == said


# The real thing: these need the model and the knowledge base that come with the package.


def starter(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).parent / "sgtb"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def test_starter_links_as_the_library_does():
    from sgtb.linking.link_options import LinkerSettings
    from sgtb.linking.linker import Linker

    result = CliRunner().invoke(app, ["link", TEXT, "--json"])
    assert result.exit_code == 0, result.output
    with Linker.starter(LinkerSettings(reasons=True)) as linker:
        assert json.loads(result.stdout) == linker(TEXT).to_dict()
    entities = [found["entity"] for found in json.loads(result.stdout)["links"]]
    assert entities == ["Michael Jordan", "Chicago Bulls"]


def test_starter_as_a_program(tmp_path):
    result = starter("link", TEXT)
    assert result.returncode == 0, result.stderr
    assert "Michael Jordan" in result.stdout
    bad = starter("link", TEXT, "--model", __file__, "--kb", tmp_path)
    assert bad.returncode == 1
    assert bad.stderr.startswith("sgtb: ")
    assert "Traceback" not in bad.stderr


def test_a_reader_who_has_enough_ends_it_quietly(tmp_path):
    file = tmp_path / "many.txt"
    file.write_text(f"{TEXT}\n" * 3000)
    command = [Path(sys.executable).parent / "sgtb", "link", file, "--lines", "--json", "-q"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert json.loads(process.stdout.readline())["id"] == f"{file}:1"
        process.stdout.close()
        assert process.stderr.read() == b""
