"""The linker on AIDA: the small world through a knowledge base, a model file and Linker.pipe."""

import json
import lzma
import math
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from experiments import aida
from experiments.aida_data import AidaData, Packer
from experiments.aida_linker import (
    KNOWS,
    Trial,
    run_linker,
    settings_of,
    with_lists,
    without_lists,
)
from experiments.aida_linker_report import HEADINGS, as_json, notes, rows
from experiments.commands import app
from experiments.linker_cache import LinkerCache
from sgtb.core.records import NIL
from sgtb.evaluation import Recall
from sgtb.kb import KnowledgeBase
from sgtb.linking.linker_model import LinkerModel
from tests.helpers.corpus_files import packed, ppr_files, write
from tests.helpers.experiment_builders import aida_of, make_small, small_system, with_oddities
from tests.helpers.kb_worlds import build
from tests.helpers.linking_builders import document, small_setting

_TYPE = {"GPE": "LOC", "ORG": "ORG", "PER": "PER", "": ""}


def kb_of(folder, setting):
    """The small world as a knowledge base; every kind of a place goes by the place's name."""
    table = setting.entities
    links = {id_: set() for id_ in table.ids}
    for a, b in zip(table.link_source, table.link_target, strict=True):
        # Both ways, as PPRforNED has them: a knowledge base lists those an entity links to.
        links[table.ids[a]].add(table.ids[b])
        links[table.ids[b]].add(table.ids[a])
    return build(
        folder,
        (
            {
                "id": id_, "name": table.titles[i], "type": _TYPE[table.types[i]],
                "in_links": int(table.in_links[i]), "out_links": int(table.out_links[i]),
                "links": sorted(links[id_]),
                "aliases": [place for place in PLACES if place in table.titles[i]],
                **({} if math.isnan(table.popularity[i]) else
                   {"popularity": float(table.popularity[i])}),
            }
            for i, id_ in enumerate(table.ids)
        ),
    )  # fmt: skip


PLACES = ("Orlan", "Vessa", "Tarn", "Quill", "Brask", "Meck")


@pytest.fixture(scope="module")
def small():
    """The small world; dev and test have a linked mention without candidates.

    Train has none: the experiment's tagger would learn from its type, a linker never sees it.
    """
    plain = small_setting()
    odd = with_oddities(plain)
    return replace(odd, documents={**odd.documents, "train": plain.train})


@pytest.fixture(scope="module")
def place(small, tmp_path_factory):
    return kb_of(tmp_path_factory.mktemp("kb"), small)


def shrink(patch, setting):
    """Put small things in the place of large ones."""
    make_small(patch, setting.words)
    few = lambda plan, seed, n_trees=None: small_system(plan, seed, n_trees or 6)  # noqa: E731
    patch.setattr(aida, "estimator", few)


@pytest.fixture
def setting(small, monkeypatch):
    shrink(monkeypatch, small)
    return small


def experiment(setting, place, cache, plan="bsg", said=None):
    data = aida_of(setting)
    say = (lambda line: None) if said is None else said.append
    with KnowledgeBase.open(place) as kb:
        return run_linker(data, Packer(data, None), LinkerCache(cache, say), kb, Trial(plan, 0))


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """The cache folder of `result`."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def result(small, place, trained):
    with pytest.MonkeyPatch.context() as patch:
        shrink(patch, small)
        return experiment(small, place, trained)


@pytest.mark.parametrize("plan", ["local", "bibsg"])
def test_with_the_same_lists_both_paths_decide_alike(setting, place, tmp_path, plan):
    result = experiment(setting, place, tmp_path, plan)
    listed, own = result.runs["listed"], result.reproduced
    assert listed.tested["test"].answers == own.test
    assert result.differing == 0
    assert listed.n_trees == own.n_trees
    for split in ("dev", "test"):
        assert listed.tested[split].accuracy.correct == own.accuracy[split].correct
        assert listed.tested[split].accuracy.total == own.accuracy[split].total
    assert result.trial.plan == plan


def test_mentions_without_candidates_stay_in_and_count_as_wrong(result, small):
    documents = small.documents["test"]
    lonely = sum(not m.candidates for d in documents for m in d.in_kb())
    assert lonely == 1
    tested = result.runs["listed"].tested["test"]
    assert tested.accuracy.total == sum(1 for d in documents for _ in d.in_kb())
    assert tested.recall == Recall(tested.accuracy.total - lonely, tested.accuracy.total)
    assert tested.on_recalled == tested.accuracy.correct / tested.recall.found


def test_names_bring_candidates_where_no_list_does(result):
    by_name = result.runs["by name"].tested["test"]
    assert by_name.recall.share == 1.0  # the lonely mention of above is looked up
    assert by_name.accuracy.correct <= by_name.recall.found


def test_names_known_without_the_lists_of_test(result):
    # The titles and lists of train and dev know every place by its name.
    assert result.known_before.total == result.runs["listed"].tested["test"].accuracy.total
    assert result.known_before.share > 0.9


def test_differing_mentions_are_counted(result, setting, place, trained, monkeypatch):
    class Stubborn:
        """Chooses the first candidate of every mention."""

        def __init__(self, system):
            self._system = system

        def __getattr__(self, name):
            return getattr(self._system, name)

        def predict(self, problems):
            return np.minimum(self._system.predict(problems), 0)

    build_it = aida.estimator
    monkeypatch.setattr(aida, "estimator", lambda *given: Stubborn(build_it(*given)))
    second = experiment(setting, place, trained)
    others = second.reproduced.test.entities
    changed = sum(
        a != b
        for ours, theirs in zip(result.reproduced.test.entities, others, strict=True)
        for a, b in zip(ours, theirs, strict=True)
    )
    assert changed > 0
    assert second.differing == changed


def test_ways_to_get_candidates():
    given = document("d", f"[Orlan|e1|LOC|e1,e2] [Nowhere|{NIL}|LOC|e3] [Nobody||PER|e4]")
    assert [m.candidates for m in with_lists(given).mentions] == [("e1", "e2"), (), ()]
    assert [m.candidates for m in without_lists(given).mentions] == [None] * 3
    assert [m.gold for m in without_lists(given).mentions] == ["e1", NIL, None]


def test_models_are_kept_and_taken_again(result, setting, place, trained, monkeypatch):
    assert len(list(trained.glob("linker-*.safetensors"))) == 2, "one for each way"
    said = []
    monkeypatch.setattr("experiments.aida_linker.train_linker", None)  # nobody trains again
    again = experiment(setting, place, trained, said=said)
    assert len([line for line in said if "from" in line]) == 2
    for way in ("listed", "by name"):
        for split in ("dev", "test"):
            one, other = (run.runs[way].tested[split].answers for run in (result, again))
            assert one == other


def test_a_damaged_model_is_made_anew_with_the_same_bytes(result, setting, place, trained):
    files = sorted(trained.glob("linker-*.safetensors"))
    whole = [file.read_bytes() for file in files]
    files[0].write_bytes(whole[0][:-9])
    experiment(setting, place, trained)
    assert [file.read_bytes() for file in files] == whole


def test_other_settings_and_data_have_models_of_their_own(
    result, setting, place, trained, tmp_path
):
    data, cache = aida_of(setting), LinkerCache(tmp_path)
    known = LinkerModel.load(next(trained.glob("linker-*")))
    with KnowledgeBase.open(place) as kb:
        for name, other, settings in (
            ("a", data, settings_of("listed", Trial("bsg", 0))),
            ("b", data, settings_of("listed", Trial("bsg", 0))),
            ("a", replace(data, fingerprint="f" * 64), settings_of("listed", Trial("bsg", 0))),
            ("a", data, settings_of("listed", Trial("bsg", 1))),
            ("a", data, settings_of("listed", Trial("bs", 0))),
            ("a", data, settings_of("listed", Trial("bsg", 0, 3))),
            ("a", data, settings_of("by name", Trial("bsg", 0))),
        ):
            cache.model(name, other, kb, settings, lambda: known)
    assert len(list(tmp_path.glob("linker-*"))) == 7


def test_the_knowledge_base_is_built_once_and_again_if_damaged(tmp_path):
    archive = lzma.compress(packed(ppr_files()), preset=0)
    write(tmp_path / "data" / "pprforned", {"pprforned.tar.xz": archive})
    data = AidaData(tmp_path / "data", small_setting().entities, {}, "0" * 64)
    said = []
    cache = LinkerCache(tmp_path / "cache", said.append)
    with cache.kb(data) as kb:
        place, entities = kb.path, len(kb)
        assert [c.id for c in kb.candidates("Tor's Bay")] == ["17"]
    with cache.kb(data) as kb:
        assert (kb.path, len(kb)) == (place, entities)
    assert len(said) == 1
    (place / "kb.json").unlink()
    with cache.kb(data) as kb:
        assert len(kb) == entities
    assert len(said) == 2


def test_the_record_is_plain_data_and_the_notes_say_what_is_known(result):
    record = json.loads(json.dumps(as_json(result, 5 << 20), allow_nan=False))
    assert record["difference"] == {
        "points": 0.0, "mentions_decided_differently": 0,
        "mentions": result.reproduced.accuracy["test"].total,
    }  # fmt: skip
    assert record["peak_megabytes"] == 5
    assert record["linker"]["by name"]["test"]["recall"] == 100.0
    assert set(record["linker"]) == {"listed", "by name"}
    table = [*rows(record)]
    assert [row[:2] for row in table] == [
        ("aida", "listed"), ("Linker.pipe", "listed"), ("Linker.pipe", "by name"),
    ]  # fmt: skip
    assert {len(row) for row in table} == {len(HEADINGS)}
    assert table[0][2] == table[1][2]
    text = " ".join(notes(record))
    assert KNOWS in text
    assert "0 are decided differently" in text


RUNNER = CliRunner()


def run(*arguments):
    return RUNNER.invoke(app, ["linker", *map(str, arguments)])


@pytest.fixture
def folder(tmp_path, setting, monkeypatch):
    monkeypatch.setattr(AidaData, "read", lambda folder, say: aida_of(setting))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def test_the_command(folder, place):
    shown = run("--data", folder, "--kb", place, "--trees", 4, "--seed", 1, "--quiet")
    assert shown.exit_code == 0, shown.output
    assert shown.stderr == ""
    lines = [line.split() for line in shown.stdout.splitlines()]
    assert [line for line in lines if line[:2] == ["Linker.pipe", "listed"]]
    told = run("--data", folder, "--kb", place, "--trees", 4, "--seed", 1, "--json")
    record = json.loads(told.stdout)
    assert (record["plan"], record["seed"]) == ("bsg", 1)
    assert record["reproduce_aida"]["trees"] <= 4
    assert "model, candidates by name: from" in told.stderr


def test_wrong_usage(folder):
    wrong = run("--data", folder, "--plan", "greedy")
    assert wrong.exit_code == 1
    assert "'greedy'" in wrong.stderr
    assert run("--data", folder, "--kb", folder / "absent").exit_code == 2
    assert run("--data", folder, "--trees", 0).exit_code == 2
    empty = run("--data", folder, "--kb", folder)
    assert empty.exit_code == 1
    assert "no knowledge base" in empty.stderr
