"""WNED: candidates found by name and never by gold, scores as counted by hand, and the command."""

import json
import lzma
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from experiments import aida, aida_data
from experiments import commands as reproduce
from experiments.aida_data import SPLITS, AidaData, Packer
from experiments.commands import app
from experiments.name_table import NameTable
from experiments.wned import (
    PAPER,
    WnedSet,
    as_json,
    check_kb,
    most_linked,
    prepare,
    run_wned,
    score,
)
from experiments.wned_report import score_rows, set_rows
from sgtb.boosting import (
    SearchPlan,
    StructuredGradientBoosting,
    TrainingSettings,
    TreeSettings,
)
from sgtb.core.entities import EntityTable
from sgtb.core.errors import SettingsError
from sgtb.core.records import NIL, Document, Mention
from sgtb.core.sparse_matrix import unit
from sgtb.formats.codecs.pprforned import PprForNed
from sgtb.formats.codecs.wned_corpus import WNED_SETS, WnedCorpus, read_wned
from sgtb.linking.candidates.candidate_table import listed_candidates
from sgtb.linking.problem_packing import pack
from sgtb.text.tokenization import sentences, tokenize
from sgtb.text.word_vectors import WordVectors
from tests.conftest import part
from tests.helpers.corpus_files import annotation, packed, wned_files
from tests.helpers.linking_builders import narrow_topics

RUNNER = CliRunner()

TITLES = {
    "1": ("Orlan", "GPE", 90),
    "2": ("Orlan Rovers", "ORG", 30),
    "3": ("Vessa", "GPE", 40),
    "4": ("Vessa F.C.", "ORG", 20),
    "5": ("Anna Meck", "PER", 5),
    "6": ("Anna Meck (poet)", "PER", 8),
    "7": ("Bay of Tor", "GPE", 3),
}
TOPICS = ("TENNIS", "CHESS", "ROWING", "GOLF", "STORM", "RAIN", "HAIL", "SNOW")


def entity_table() -> EntityTable:
    """Invented entities; the two towns are linked, and so are the two clubs."""
    titles, types, in_links = zip(*TITLES.values(), strict=True)
    source, target = np.array([(0, 2), (1, 3), (2, 0), (3, 1)], np.int32).T
    n = len(TITLES)
    return EntityTable(
        tuple(TITLES), titles, types, np.array(in_links, np.int32), np.ones(n, np.int32),
        np.full(n, np.nan, np.float32), source.copy(), target.copy(),
    )  # fmt: skip


def document(id: str, text: str, *names: tuple[str, str, Sequence[str]], split: str = "") -> Any:
    """A document whose mentions are (text, gold, candidates), in the order of the text."""
    tokens = tokenize(text)
    mentions, position = [], 0
    for name, gold, candidates in names:
        start = text.index(name, position)
        end = position = start + len(name)
        inside = [i for i, t in enumerate(tokens) if start < t.end and t.start < end]
        place = (start, end, inside[0], inside[-1] + 1, name)
        mentions.append(Mention(*place, gold, None, "ORG", tuple(candidates)))
    return Document(id, text, tokens, sentences(text, tokens), tuple(mentions), split)


def aida_like() -> AidaData:
    """Documents on sports, where names are clubs, and on weather, where they are towns."""
    entities = entity_table()
    documents = []
    for i, split in enumerate(("train",) * 8 + ("dev", "test") * 2):
        topic = TOPICS[i % len(TOPICS)]
        orlan, vessa = ("2", "4") if i % len(TOPICS) < 4 else ("1", "3")
        text = f"{topic} - ORLAN NEWS .\nOrlan met Vessa today .\nMeck saw it from Orlan .\n"
        documents.append(
            document(
                str(i), text, ("Orlan", orlan, "12"), ("Vessa", vessa, "34"), ("Meck", "5", "56"),
                ("Orlan", orlan, "12"), split=split,
            )
        )  # fmt: skip
    candidates = {
        split: listed_candidates([d for d in documents if d.split == split], entities)
        for split in SPLITS
    }
    return AidaData(Path("invented"), entities, candidates, "invented")


def few_words() -> WordVectors:
    words = "orlan vessa rovers meck poet storm rain tennis chess met saw today".split()
    matrix = unit(np.random.default_rng(0).normal(size=(len(words), 4)))
    return WordVectors("invented", {word: i for i, word in enumerate(words)}, matrix)


def small_system(plan: Any, seed: int) -> StructuredGradientBoosting:
    training = TrainingSettings(6, 3, patience=None, seed=seed, threads=1)
    return StructuredGradientBoosting(
        SearchPlan(plan), TreeSettings(depth=2, feature_share=0.5), training
    )


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few words, few folds, few trees."""
    narrow_topics(monkeypatch, 8)
    monkeypatch.setattr(WordVectors, "glove", few_words)
    monkeypatch.setattr(aida_data, "FOLDS", 2)
    monkeypatch.setattr(aida, "estimator", small_system)


ACE = (
    annotation("Orlan", "orlan", 3),  # a small letter in the title, as in WNED now and then
    annotation("Anna Meck", "Anna_Meck_(poet)", 10),
    annotation("Meck", "Anna_Meck", 15),
    annotation("Vessa Fair", "Vessa_Fair", 42),
    annotation("Orlan", "NIL", 73),
)


def archive(folder: Path, *annotations: str) -> Path:
    path = folder / "wned.tar.xz"
    path.write_bytes(lzma.compress(packed(wned_files(*annotations)), preset=0))
    return path


def ace_of(folder: Path, *annotations: str) -> tuple[AidaData, WnedSet]:
    data = aida_like()
    (given,) = prepare(data, read_wned(archive(folder, *annotations), "ace"))
    return data, given


def candidates(given: WnedSet) -> list[tuple[str, list[str]]]:
    entities, offsets = entity_table(), given.candidates.candidate_offsets
    return [
        (m.text, [entities.ids[e] for e in given.candidates.entity[offsets[i] : offsets[i + 1]]])
        for i, m in enumerate(given.candidates.mentions)
    ]


def test_names_come_from_lists_and_titles() -> None:
    data = aida_like()
    table = NameTable.build(data.documents("train"), data.entities)
    assert table.ids["orlan"] == {"1", "2"}
    assert table.ids["meck"] == {"5", "6"}
    assert table.ids["anna meck"] == {"5", "6"}
    assert table.ids["anna meck poet"] == {"6"}
    assert NameTable.build([], data.entities).ids["orlan"] == {"1"}


def test_a_name_of_punctuation_stands_for_nothing() -> None:
    listed = document("a", "... met !?", ("...", "1", "12"), ("!?", "3", "34"))
    table = NameTable.build([listed], entity_table())
    assert "" not in table.ids
    assert [m.candidates for m in table.listed(listed).mentions] == [(), ()]


def test_only_a_name_without_candidates_takes_those_of_the_longest_around_it() -> None:
    known = NameTable.build([], entity_table()).ids
    table = NameTable({**known, "old bay of tor": frozenset("1"), "tor": frozenset("2")})
    asked = document(
        "a", "Tor Bay of Tor Bay Old Bay of Tor To ay of",
        *((name, NIL, ()) for name in ("Tor", "Bay of Tor", "Bay", "Old Bay of Tor")),
        ("To", NIL, ()), ("ay of", NIL, ()),
    )  # fmt: skip
    found = {m.text: m.candidates for m in table.listed(asked).mentions}
    assert found["Tor"] == ("2",), "has its own"
    assert found["Bay of Tor"] == ("7",)
    assert found["Bay"] == ("1",), "the longest"
    assert (found["To"], found["ay of"]) == ((), ()), "whole words only"


def test_candidates_and_golds_of_a_small_set(tmp_path: Path) -> None:
    _, given = ace_of(tmp_path, *ACE)
    assert candidates(given) == [
        ("Orlan", ["1", "2"]),
        ("Anna Meck", ["6", "5"]),
        ("Meck", ["6", "5"]),
        ("Vessa Fair", []),
    ]
    assert [m.gold for m in given.candidates.mentions[:3]] == ["1", "6", "5"]
    assert given.candidates.gold.tolist() == [0, 0, 1, -1]
    assert (given.n_mentions, given.n_known) == (4, 3)
    assert (given.recall.found, given.recall.total) == (3, 4)
    assert given.candidates.documents[0].mentions[-1].gold == NIL


def test_a_title_that_looks_like_an_id_is_no_id(tmp_path: Path) -> None:
    _, given = ace_of(tmp_path, annotation("Orlan", "1", 3))
    assert given.n_known == 0
    assert given.candidates.gold.tolist() == [-1]


def test_scores_as_counted_by_hand(tmp_path: Path) -> None:
    data, given = ace_of(tmp_path, *ACE)
    # Chosen: Orlan, Anna Meck (poet) twice, nothing. Gold: those, Anna Meck, and Vessa Fair.
    chosen = most_linked(given)
    assert chosen.tolist() == [0, 0, 0, -1]
    titles, accuracy = score(given, data.entities, chosen)
    assert (titles.right, titles.predicted, titles.gold) == (2, 2, 4)
    assert (accuracy.correct, accuracy.total) == (2, 4)


def retitled(corpus: WnedCorpus, title: str) -> WnedCorpus:
    """The same set with every linked mention said to mean something else."""

    def changed(mention: Mention) -> Mention:
        return replace(mention, gold=title, title=title) if mention.in_kb else mention

    documents = (replace(d, mentions=tuple(map(changed, d.mentions))) for d in corpus.documents)
    return replace(corpus, documents=tuple(documents))


def assert_no_leak(data: AidaData, packer: Packer, corpus: WnedCorpus, title: str) -> None:
    """Other golds change neither candidates nor features nor predictions."""
    packed_aida, featurizer = packer.make(0)
    system = aida.train_plan(packed_aida, "bsg", 0)
    one, other = prepare(data, [corpus, retitled(corpus, title)])
    assert not np.array_equal(one.candidates.gold, other.candidates.gold)
    assert np.array_equal(one.candidates.entity, other.candidates.entity)
    assert np.array_equal(one.candidates.candidate_offsets, other.candidates.candidate_offsets)
    rows = [featurizer.features(packer.known.table(s.candidates)) for s in (one, other)]
    assert np.array_equal(*rows)
    predicted = [
        system.predict(pack(s.candidates, row, packed_aida.pairs))
        for s, row in zip((one, other), rows, strict=True)
    ]
    assert np.array_equal(*predicted)


@pytest.mark.parametrize("title", ["Vessa", "Nowhere at all"])
def test_gold_titles_change_neither_candidates_nor_predictions(tmp_path: Path, title: str) -> None:
    data = aida_like()
    (corpus,) = read_wned(archive(tmp_path, *ACE), "ace")
    assert_no_leak(data, Packer(data, None), corpus, title)


def test_golds_of_aida_change_no_candidates(tmp_path: Path) -> None:
    data = aida_like()
    other = [
        replace(d, mentions=tuple(replace(m, gold="7") for m in d.mentions))
        for d in data.documents("train")
    ]
    names = NameTable.build(data.documents("train"), data.entities)
    assert NameTable.build(other, data.entities) == names


def test_all_plans_and_seeds_end_to_end(tmp_path: Path) -> None:
    data = aida_like()
    corpora = read_wned(archive(tmp_path, *ACE))
    said: list[str] = []
    result = run_wned(data, Packer(data, None), corpora, ("local", "bsg"), 2, say=said.append)
    assert said == ["features of ace, aquaint, msnbc, clueweb, wikipedia"]
    record = json.loads(json.dumps(as_json(result, 1 << 20), allow_nan=False))
    assert tuple(record["sets"]) == WNED_SETS
    ace = record["sets"]["ace"]
    assert (ace["documents"], ace["mentions"], ace["in_kb"], ace["recall"]) == (1, 4, 75.0, 75.0)
    for plan, system in ace["systems"].items():
        assert set(system["bot_f1"]) == {"mean", "std"}
        assert system["accuracy"]["mean"] <= ace["recall"]
        assert system["accuracy_on_recalled"]["mean"] == pytest.approx(
            system["accuracy"]["mean"] / 0.75, abs=0.02
        )
        assert system["paper_bot_f1"] == PAPER[plan]["ace"]
    assert record["sets"]["msnbc"]["recall"] is None, "a share of nothing"
    assert record["sets"]["msnbc"]["systems"]["bsg"]["bot_f1"] is None
    assert set(record["trees"]) == {"local", "bsg"}
    assert (record["seeds"], record["kb"]["entities"]) == (2, len(TITLES))
    assert [row[0] for row in set_rows(record)] == list(WNED_SETS)
    spread = {row[1] for row in score_rows(record) for cell in row if "±" in cell}
    assert spread == {"local", "bsg"}, "of seeds; the baseline has none"
    # Chosen: Orlan, and Anna Meck (poet) twice, where once Anna Meck is meant.
    assert ace["baseline"]["accuracy"] == {"mean": 50.0, "std": 0.0}
    assert ace["baseline"]["accuracy_on_recalled"]["mean"] == 66.67


def test_the_paper_has_every_set_for_four_plans() -> None:
    assert tuple(PAPER) == ("local", "bs", "bsg", "bibsg")
    assert all(tuple(row) == WNED_SETS for row in PAPER.values())


def test_settings_that_cannot_be() -> None:
    data = aida_like()
    with pytest.raises(SettingsError, match="0 seeds"):
        run_wned(data, Packer(data, None), [], ("bsg",), 0)
    with pytest.raises(SettingsError, match=r"no knowledge base 'wikipedia'.*is to come"):
        check_kb("wikipedia")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for --data, with an archive of WNED; AIDA is invented."""
    archive(tmp_path, *ACE)
    monkeypatch.setattr(reproduce.AidaData, "read", lambda folder, say: aida_like())
    return tmp_path


def run(folder: Path, *arguments: str, kb: str = "pprforned") -> Any:
    return RUNNER.invoke(app, ["wned", "--data", str(folder), "--kb", kb, *arguments])


def test_the_command_prints_tables_and_says_what_bounds_recall(folder: Path) -> None:
    result = run(folder, "--plans", "bsg,local")
    assert result.exit_code == 0, result.output
    lines = [line.split() for line in result.stdout.splitlines()]
    assert ["ace", "1", "4", "75.0", "75.0"] in lines
    assert [row[:3] for row in lines if row[:1] == ["ace"]][1:] == [
        ["ace", "in-links", "–"],
        ["ace", "local", "89.2"],
        ["ace", "bsg", "88.6"],
    ]
    assert "Recall is bounded by the knowledge base" in " ".join(result.stdout.split())
    assert "±" not in result.stdout, "one seed has no spread"
    assert "sgtb: features of ace" in result.stderr
    assert "bsg, seed 0: 6/6 trees" in result.stderr


def test_the_command_writes_json_and_markdown(folder: Path) -> None:
    result = run(folder, "--json", "--quiet", "--out", str(folder / "new" / "report"))
    assert (result.exit_code, result.stderr) == (0, "")
    record = json.loads(result.stdout)
    written = folder / "new" / "report"
    assert json.loads((written / "wned.json").read_text()) == record
    assert "| ace       | bsg      |  88.6 |" in (written / "wned.md").read_text()
    assert sorted(path.name for path in written.iterdir()) == ["wned.json", "wned.md"]


def test_errors_are_one_line(folder: Path) -> None:
    for arguments, kb, words in (
        ((), "wikipedia", "no knowledge base 'wikipedia'"),
        (("--plans", "best"), "pprforned", "no plan 'best'"),
    ):
        assert_clean_failure(run(folder, *arguments, kb=kb), words)
    (folder / "wned.tar.xz").unlink()
    assert_clean_failure(run(folder), "wned.tar.xz: cannot be read")


def assert_clean_failure(result: Any, words: str) -> None:
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("sgtb: ")
    assert result.stderr.count("\n") == 1
    assert words in result.stderr


N_AIDA = {"train": 60, "dev": 10, "test": 10}


@pytest.fixture(scope="module")
def real(
    data: Path, joined: Sequence[Document], ppr: PprForNed
) -> tuple[AidaData, dict[str, WnedCorpus]]:
    corpora = {corpus.name: corpus for corpus in read_wned(part(data, "wned.tar.xz"))}
    candidates = {
        split: listed_candidates([d for d in joined if d.split == split], ppr.entities)
        for split in SPLITS
    }
    return AidaData(data, ppr.entities, candidates, ""), corpora


def test_real_counts_and_recall(real: Any) -> None:
    data, corpora = real
    sets = prepare(data, list(corpora.values()))
    assert {s.name: s.n_mentions for s in sets} == {
        "ace": 257, "aquaint": 727, "msnbc": 656, "clueweb": 11154, "wikipedia": 6821,
    }  # fmt: skip
    for given in sets:
        known, found = given.n_known / given.n_mentions, given.recall.share
        assert 0.15 < found <= known < 0.6
        assert found > 0.8 * known, "what the knowledge base has is mostly found"
        assert np.diff(given.candidates.candidate_offsets).max() <= 30


def test_real_documents_end_to_end_without_a_leak(real: Any) -> None:
    data, corpora = real
    few = {
        split: listed_candidates(data.documents(split)[:n], data.entities)
        for split, n in N_AIDA.items()
    }
    data = replace(data, candidates=few)
    packer = Packer(data, None)
    result = run_wned(data, packer, [corpora["ace"]], ("bsg",), 1)
    system = as_json(result, 0)["sets"]["ace"]["systems"]["bsg"]
    assert system["accuracy_on_recalled"]["mean"] > 50
    assert 20 < system["bot_f1"]["mean"] < 88.6, "no better than the paper with this KB"
    assert_no_leak(data, packer, corpora["ace"], "Chicago")
