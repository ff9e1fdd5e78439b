"""The search for settings: run in small, test documents left out, trials named."""

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from experiments import commands as reproduce
from experiments import settings_search as search
from experiments.aida_data import AidaData
from experiments.commands import app
from experiments.settings_search import TRIALS, TopicFolds, Trial
from tests.helpers.experiment_builders import aida_of, make_small
from tests.helpers.linking_builders import small_setting

QUICK = Trial(trees=replace(TRIALS["as chosen"].trees, min_leaf=5), n_trees=4, beam_width=2)


@pytest.fixture
def corpus(monkeypatch: pytest.MonkeyPatch) -> AidaData:
    setting = small_setting()
    make_small(monkeypatch, setting.words)
    monkeypatch.setattr(search, "FOLDS", 2)
    monkeypatch.setattr(search, "OUTER_FOLDS", 2)
    return aida_of(setting)


def test_every_fold_is_held_out_once(corpus):
    folds = TopicFolds(corpus)
    held_out = [d.id for fold in folds._folds for d in fold.held_out.documents]
    own = [d.id for split in ("train", "dev") for d in corpus.documents(split)]
    assert sorted(held_out) == sorted(own)
    for fold in folds._folds:
        assert not {d.id for d in fold.train.documents} & {d.id for d in fold.held_out.documents}


def test_the_mean_is_over_mentions_and_the_same_twice(corpus):
    folds = TopicFolds(corpus)
    outcome = folds.run("quick", QUICK)
    sizes = [len(fold.held_out.mentions) for fold in folds._folds]
    right = sum(a * n for a, n in zip(outcome.folds, sizes, strict=True))
    assert outcome.accuracy == pytest.approx(right / sum(sizes))
    assert folds.run("again", QUICK).folds == outcome.folds


def test_test_documents_have_no_part(corpus):
    other = {**corpus.candidates, "test": corpus.candidates["dev"]}
    one, two = (TopicFolds(d).run("", QUICK) for d in (corpus, replace(corpus, candidates=other)))
    assert one.folds == two.folds


def test_the_command_prints_every_trial_asked_for(corpus, monkeypatch, tmp_path):
    monkeypatch.setattr(reproduce, "TRIALS", {"a": QUICK, "b": replace(QUICK, plan="local")})
    monkeypatch.setattr(AidaData, "read", lambda folder, say: corpus)
    result = CliRunner().invoke(
        app, ["search", "--data", str(tmp_path), "--trials", "b; a", "--json"]
    )
    assert result.exit_code == 0, result.output
    printed = json.loads(result.stdout)
    assert [trial["name"] for trial in printed] == ["b", "a"]
    assert all(len(trial["folds"]) == 2 for trial in printed)


def test_an_unknown_trial_is_one_line(tmp_path):
    result = CliRunner().invoke(app, ["search", "--data", str(tmp_path), "--trials", "depth 99"])
    assert result.exit_code == 1
    assert result.stderr.startswith("sgtb: there is no trial 'depth 99'; there are as chosen;")
    assert result.stderr.count("\n") == 1
