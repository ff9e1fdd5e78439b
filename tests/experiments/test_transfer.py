"""The experiment on knowledge bases of other fields: a model is used without training."""

import json
import lzma

from typer.testing import CliRunner

from experiments import transfer
from experiments.commands import app
from experiments.from_text import TextTest
from experiments.starter_data import read_starter
from sgtb.formats.registry import write_documents
from sgtb.starter import ENTITIES


def test_a_list_without_links_is_linked(tmp_path, monkeypatch):
    entities = [json.loads(line) for line in ENTITIES.read_text("utf-8").splitlines()]
    bare = ({key: one[key] for key in ("id", "name", "aliases") if key in one} for one in entities)
    listed = tmp_path / "list.jsonl.xz"
    listed.write_bytes(lzma.compress("".join(json.dumps(one) + "\n" for one in bare).encode()))
    texts = read_starter()
    for split in ("train", "dev"):
        write_documents(texts[split][:20], tmp_path / f"{split}.jsonl", "jsonl")
    train, dev = tmp_path / "train.jsonl", tmp_path / "dev.jsonl"
    tests = [
        TextTest("NCBI-dev", listed, train, (dev,), dev),
        TextTest("LGL-test", listed, train, (dev,), tmp_path / "test.jsonl"),
    ]
    monkeypatch.setattr(transfer, "own_tests", lambda data, cache: tests)
    monkeypatch.setattr(transfer, "FIELDS", dict([*transfer.FIELDS.items()][:2]))
    options = ["transfer", "--data", str(tmp_path), "--cache", str(tmp_path / "cache"), "-q"]
    result = CliRunner().invoke(app, [*options, "--json"])
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    n_train, n_dev = (sum(len(d.mentions) for d in texts[s][:20]) for s in ("train", "dev"))
    assert found["diseases"]["known"] == n_train, "dev is the test set of NCBI"
    assert found["places"]["known"] == n_train + n_dev
    for one in found.values():
        assert one["lacking"] == ["descriptions", "links", "popularity", "types"]
        assert one["accuracy"]["starter"] > 40
    shown = CliRunner().invoke(app, options).output
    assert "diseases: descriptions, links, popularity, types" in " ".join(shown.split())
