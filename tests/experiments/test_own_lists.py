"""The experiment on knowledge bases of lists: every plan is measured, dev chooses one."""

import json
import lzma
import shutil
from functools import partial

from typer.testing import CliRunner

from experiments import from_text, own_lists
from experiments.commands import app
from experiments.from_text import TextTest
from experiments.own_lists import PLANS
from experiments.starter_data import read_starter
from sgtb.cli.train_input import TrainingOptions
from sgtb.formats.registry import write_documents
from sgtb.starter import ENTITIES, KB


def test_dev_chooses_the_plan(tmp_path, monkeypatch):
    listed = tmp_path / "list.jsonl.xz"
    listed.write_bytes(lzma.compress(ENTITIES.read_bytes()))
    texts = read_starter()
    for split, n in (("train", 40), ("dev", 10), ("test", 10)):
        write_documents(texts[split][:n], tmp_path / f"{split}.jsonl", "jsonl")
    train, dev, test = (tmp_path / f"{split}.jsonl" for split in ("train", "dev", "test"))
    small = TextTest("small", listed, train, (dev,), test)
    monkeypatch.setattr(own_lists, "own_tests", lambda data, cache: (small,))
    monkeypatch.setattr(from_text, "_build", lambda test, place: shutil.copytree(KB, place))
    few = partial(TrainingOptions, trees=60, folds=3)
    monkeypatch.setattr(own_lists, "TrainingOptions", few)
    options = ["own-lists", "--data", str(tmp_path), "--cache", str(tmp_path / "cache"), "-q"]
    result = CliRunner().invoke(app, [*options, "--json"])
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)["small"]
    plans = found["plans"]
    assert tuple(plans) == PLANS
    assert plans[found["chosen"]]["dev"] == max(one["dev"] for one in plans.values())
    assert found["known"] == sum(len(document.mentions) for document in texts["test"][:10])
    assert all(one["accuracy"] > found["prior"] for one in plans.values())
    shown = CliRunner().invoke(app, options).output
    assert f"{found['chosen']} *" in shown
