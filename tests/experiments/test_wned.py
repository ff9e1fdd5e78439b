"""WNED: gold never reaches candidates, figures as counted by hand, and the command."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from experiments import wned
from experiments.commands import app
from experiments.wned import AIDA, AIDA_TEST, WITH_LINKS, by_title, gold_sets, run_wned, trainings
from experiments.wned_report import (
    PAPER,
    PAPER_AIDA,
    as_json,
    coverage_rows,
    figure_rows,
)
from sgtb.core.errors import SettingsError
from sgtb.core.records import NIL
from sgtb.formats.codecs.wned_corpus import WNED_SETS
from sgtb.kb import KnowledgeBase
from sgtb.kb.build.merge_build import merge_kbs
from sgtb.text.word_vectors import WordVectors
from sgtb.wikipedia.build.build_settings import HoldOut, WikiSettings
from sgtb.wikipedia.build.dump_build import build_wiki
from tests.cli.commands.test_train import links_dump
from tests.helpers.kb_worlds import build
from tests.helpers.linking_builders import document, narrow_topics
from tests.helpers.wned_world import aida_documents, few_words, small_kb, write_ace

RUNNER = CliRunner()


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    narrow_topics(monkeypatch, 8)
    monkeypatch.setattr(WordVectors, "glove", few_words)
    monkeypatch.setattr(wned, "read_aida", lambda folder: aida_documents())


@pytest.fixture
def data(tmp_path: Path) -> Path:
    write_ace(tmp_path)
    return tmp_path


@pytest.fixture
def kb_path(tmp_path: Path) -> Path:
    return small_kb(tmp_path)


@pytest.fixture
def record(data: Path, kb_path: Path) -> dict[str, Any]:
    with KnowledgeBase.open(kb_path) as kb:
        result = run_wned(data, kb, ("local", "bsg"), 2)
    made: dict[str, Any] = json.loads(
        json.dumps(as_json(result, "small", 1 << 20), allow_nan=False)
    )
    return made


def test_numbers_of_pages_are_no_titles(kb_path: Path) -> None:
    with KnowledgeBase.open(kb_path) as kb:
        (train, *_) = by_title(kb, aida_documents())
        assert [m.gold for m in train.mentions[:3]] == ["Orlan Rovers", "Vessa F.C.", "Anna Meck"]
        (year, *_) = by_title(kb, [document("a", "In [1984|1984] it was [cold|NIL]")])
        assert [m.gold for m in year.mentions] == ["1984", NIL]


def test_ids_of_a_knowledge_base_with_other_titles_stay(tmp_path: Path) -> None:
    with KnowledgeBase.open(build(tmp_path, [{"id": "14", "name": "Orlan"}], "numbered")) as kb:
        given = document("a", "[Orlan|14] met [Vessa|15]")
        titled = replace(given, mentions=tuple(replace(m, title=m.text) for m in given.mentions))
        (found,) = by_title(kb, [titled])
        assert [m.gold for m in found.mentions] == ["14", "Vessa"]


def test_coverage_and_baselines_as_counted_by_hand(record: dict[str, Any]) -> None:
    training = record["trainings"][AIDA]
    assert tuple(training["coverage"]) == (*WNED_SETS, AIDA_TEST)
    ace = training["coverage"]["ace"]
    # Of four mentions Vessa Fair is unknown; the others have two candidates each.
    assert ace == {
        "documents": 1, "mentions": 4, "in_kb": 75.0, "recall": 75.0, "ambiguous": 100.0,
    }  # fmt: skip
    popular = training["systems"]["popularity"]
    # Orlan and Anna Meck (poet) are right; Meck means the player.
    assert popular["ambiguous"]["ace"]["mean"] == 66.67
    # Titles: two said, both right, four meant.
    assert popular["all_gold"]["ace"]["mean"] == 66.67
    assert popular["ece"]["ace"] is None
    assert training["best_baseline"] in ("prior", "in-links", "popularity")


def test_systems_learn_and_nothing_is_missing(record: dict[str, Any]) -> None:
    training = record["trainings"][AIDA]
    assert set(training["trees"]) == {"local", "bsg"}
    assert (record["seeds"], record["kb"]["entities"]) == (2, 7)
    for plan in ("local", "bsg"):
        figures = training["systems"][plan]
        assert figures["ambiguous"][AIDA_TEST]["mean"] > 60
        # One of five mentions has a gold that the knowledge base lacks.
        assert figures["all_gold"][AIDA_TEST]["mean"] == pytest.approx(
            0.8 * figures["recalled"][AIDA_TEST]["mean"], abs=0.02
        )
        assert figures["recalled"]["msnbc"] is None, "a share of nothing"
        assert figures["recalled"]["mean"] == figures["recalled"]["ace"]
        assert 0 <= figures["ece"]["ace"]["mean"] <= 100
    assert [row[0] for row in coverage_rows(record, AIDA)] == [*WNED_SETS, AIDA_TEST]
    rows = [*figure_rows(record, AIDA, "all_gold")]
    assert [row[0] for row in rows][:2] == ["local", "bsg"]
    assert rows[-1] == (
        "paper, bsg", "88.6", "89.4", "92.5", "81.7", "78.4", "86.1", "92.4",
    )  # fmt: skip
    assert "±" in rows[0][1]
    assert {row[0] for row in figure_rows(record, AIDA, "ece")} == {"local", "bsg"}


def test_gold_titles_change_no_answers(data: Path, kb_path: Path) -> None:
    """Only what is compared with the answers changes, not the answers."""
    with KnowledgeBase.open(kb_path) as kb:
        aida = wned.read_aida_splits(data, kb)
        sets = {"ace": gold_sets(data, kb, aida["test"])["ace"]}
        other = [
            replace(d, mentions=tuple(replace(m, gold="Vessa", title="Vessa") for m in d.mentions))
            for d in sets["ace"]
        ]
        (training,) = trainings(data, kb, aida)
        one, changed = (
            wned.run_training(kb, training, {"ace": given}, ["bsg"], 0).evaluation["ace"]
            for given in (sets["ace"], other)
        )
    assert one.systems["bsg"].titles.predicted == changed.systems["bsg"].titles.predicted
    assert one.systems["bsg"].accuracy.correct > changed.systems["bsg"].accuracy.correct == 0


def test_dev_documents_train_too_if_asked(data: Path, kb_path: Path) -> None:
    with KnowledgeBase.open(kb_path) as kb:
        chosen, refitted = (run_wned(data, kb, ["bsg"], 1, refit=more) for more in (False, True))
    (before,), (after,) = chosen.runs, refitted.runs
    assert after.n_trees == before.n_trees, "dev chose them"
    counts = [as_json(r, "small", 1)["trainings"][AIDA]["documents"] for r in (chosen, refitted)]
    assert counts[1] == counts[0] + len(before.training.dev.documents) > counts[0]


def test_links_of_held_out_pages_train_too(data: Path, kb_path: Path) -> None:
    (data / "dumps").mkdir()
    dump = links_dump(data / wned.DUMP)
    build_wiki([dump], data / "links", WikiSettings(hold_out=HoldOut(0.8), red_links=1))
    merge_kbs([kb_path, data / "links"], data / "merged", by="title")
    with KnowledgeBase.open(data / "merged") as kb:
        alone, both = trainings(data, kb, wned.read_aida_splits(data, kb))
    assert (alone.name, both.name) == (AIDA, WITH_LINKS)
    assert both.train.documents[: len(alone.train.documents)] == alone.train.documents
    links = both.train.documents[len(alone.train.documents) :]
    assert links
    assert {d.split for d in links} == {"train", "test"}, "links are not tested here"
    assert {d.split for d in both.dev.documents} == {"dev"}
    assert both.train.n_known > alone.train.n_known
    assert both.settings("local", 3).plan.name == "local"
    assert both.settings("local", 3).training.seed == 3


def test_the_paper_has_every_set_for_four_plans() -> None:
    assert tuple(PAPER) == tuple(PAPER_AIDA) == ("local", "bs", "bsg", "bibsg")
    assert all(tuple(row) == WNED_SETS for row in PAPER.values())


def test_at_least_one_seed(data: Path, kb_path: Path) -> None:
    with (
        KnowledgeBase.open(kb_path) as kb,
        pytest.raises(SettingsError, match="0 seeds"),
    ):
        run_wned(data, kb, ("bsg",), 0)


def run(folder: Path, *arguments: str, kb: str = "kb") -> Any:
    options = ["wned", "--data", str(folder), "--kb", str(folder / kb), *arguments]
    return RUNNER.invoke(app, options)


def test_the_command_prints_coverage_first(data: Path, kb_path: Path) -> None:
    result = run(data, "--plans", "bsg")
    assert result.exit_code == 0, result.output
    said = " ".join(result.stdout.split())
    assert "This is not the paper's Wikipedia of 2017" in said
    assert said.index("what can be right") < said.index("recalled ambiguous")
    lines = [line.split() for line in result.stdout.splitlines()]
    assert ["ace", "1", "4", "75.0", "75.0", "100.0"] in lines
    assert "±" not in result.stdout, "one seed has no spread"
    assert "sgtb: AIDA, seed 0: features of" in result.stderr


def test_the_command_writes_json_and_markdown(data: Path, kb_path: Path) -> None:
    report = data / "new" / "report"
    result = run(data, "--plans", "local", "--json", "--quiet", "--out", str(report))
    assert (result.exit_code, result.stderr) == (0, "")
    assert json.loads((report / "wned.json").read_text()) == json.loads(result.stdout)
    assert "## Trained on AIDA" in (report / "wned.md").read_text()
    assert sorted(path.name for path in report.iterdir()) == ["wned.json", "wned.md"]


def test_errors_are_one_line(data: Path, kb_path: Path) -> None:
    assert_clean_failure(run(data, kb="missing"), "missing")
    assert_clean_failure(run(data, "--plans", "best"), "no plan 'best'")
    (data / "wned.tar.xz").unlink()
    assert_clean_failure(run(data), "wned.tar.xz: cannot be read")


def assert_clean_failure(result: Any, words: str) -> None:
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("sgtb: ")
    assert result.stderr.count("\n") == 1
    assert words in result.stderr
