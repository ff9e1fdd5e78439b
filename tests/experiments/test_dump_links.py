"""The experiment on a dump's own links: counts that add up, and pages that are tested with once."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from experiments.commands import app
from experiments.dump_links import as_json, joined_tests, run_links
from sgtb.core.errors import SettingsError
from sgtb.evaluation import Accuracy
from sgtb.evaluation.linkers.link_scores import LinkScores, LinkTest, figures_of
from tests.cli.commands.test_train import links_dump


@pytest.fixture(scope="module")
def dump(tmp_path_factory):
    return links_dump(tmp_path_factory.mktemp("dump") / "wiki.xml")


def accuracy(*pairs):
    correct, total = np.array(pairs, np.int64).reshape(-1, 2).T
    return Accuracy(tuple(f"d{i}" for i in range(len(pairs))), correct, total)


def test_turns_test_with_other_pages(dump):
    result = run_links([dump], plans=("local",), turns=2, share=0.8, red_links=1)
    record = as_json(result)
    assert (record["turns"], record["hold_out"], record["red_links"]) == (2, 0.8, 1)
    scores = result.test.systems["local"]
    assert len(set(scores.recalled.documents)) == len(scores.recalled.documents)
    assert len(scores.recalled.documents) == result.test.documents
    assert set(record["systems"]) == {"prior", "in-links", "local"}
    test = record["test"]
    assert test["mentions"] >= test["known"] >= test["recalled"] >= test["ambiguous"] > 0
    assert (
        scores.recalled.correct - scores.ambiguous.correct == test["recalled"] - test["ambiguous"]
    )
    assert set(result.held_out) == {"train", "dev", "test"}


def test_there_are_only_so_many_turns(dump):
    for turns in (0, 6):
        with pytest.raises(SettingsError, match="there are 1 to 5"):
            run_links([dump], turns=turns, share=0.8)


def test_gains_are_those_over_the_better_baseline():
    one = LinkScores(accuracy((1, 4), (2, 4)), accuracy((0, 0), (0, 0)))
    better = LinkScores(accuracy((2, 4), (2, 4)), accuracy((0, 0), (0, 0)))
    best = LinkScores(accuracy((4, 4), (3, 4)), accuracy((0, 0), (0, 0)))
    figures = figures_of(LinkTest(2, 9, 8, {"prior": one, "in-links": better, "bsg": best}))
    assert figures["systems"]["prior"]["recalled"]["gain"] is None
    assert figures["systems"]["bsg"]["recalled"]["gain"][0] == 37.5
    assert figures["systems"]["bsg"]["recalled"]["accuracy"] == 87.5
    assert figures["systems"]["bsg"]["ambiguous"]["accuracy"] is None, "nothing was ambiguous"
    json.dumps(figures, allow_nan=False)


def test_tests_are_joined():
    test = LinkTest(1, 5, 4, {"a": LinkScores(accuracy((1, 2)), accuracy((1, 1)))})
    joined = joined_tests([test, test])
    assert (joined.documents, joined.mentions, joined.known) == (2, 10, 8)
    assert (joined.systems["a"].recalled.correct, joined.systems["a"].recalled.total) == (2, 4)


def test_the_command(dump):
    arguments = ["links", str(dump), "--turns", "1", "--hold-out", "0.8"]
    result = CliRunner().invoke(app, [*arguments, "--plans", "local"])
    assert result.exit_code == 0, result.output
    assert "test: " in result.stdout
    assert "\nlocal " in result.stdout
    assert "1 turns; pages of the first: " in result.stdout
    wrong = CliRunner().invoke(app, [*arguments, "--plans", "loco"])
    assert wrong.exit_code == 1
    assert "no plan 'loco'" in wrong.stderr
