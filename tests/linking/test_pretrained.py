"""Linkers as folders: they come back as they were, lose nobody's files, and trust no config."""

import json
import os
import re
import shutil
import signal
import threading
from itertools import count

import pytest

from sgtb.core.errors import ModelFileError, SgtbError
from sgtb.evaluation.linkers import evaluate_linkers
from sgtb.kb.build.entity_lines import EntityList
from sgtb.kb.check import check
from sgtb.kb.update import add
from sgtb.linking import pretrained
from sgtb.linking.link_options import LinkerSettings, LinkOptions
from sgtb.linking.linker import Linker
from sgtb.linking.model_card import model_card
from tests.helpers.exact import exact
from tests.helpers.kb_worlds import build, write_lines

TEXT = "Jordan passed, Pippen scored, and the Bulls beat Utah. Amman is in Jordan."


@pytest.fixture(scope="module")
def saved(linker, tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved") / "news-linker"
    linker.save_pretrained(folder)
    return folder


@pytest.fixture
def own(saved, tmp_path):
    """A copy that a test may damage."""
    return shutil.copytree(saved, tmp_path / "own")


def files(folder):
    return {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_a_linker_comes_back(linker_of, own, tmp_path):
    own.rename(tmp_path / "moved")
    settings = LinkerSettings(reasons=True, candidates=3)
    with Linker.from_pretrained(tmp_path / "moved", settings) as again:
        assert exact(again.link(TEXT)) == exact(linker_of(reasons=True, candidates=3).link(TEXT))
        assert again.kb.path == tmp_path / "moved" / "kb"
    assert check(tmp_path / "moved" / "kb").ok


def test_the_same_linker_gives_the_same_bytes(linker, saved, tmp_path):
    (tmp_path / "x").mkdir()
    linker.save_pretrained(tmp_path / "x" / saved.name)
    one, other = files(saved), files(tmp_path / "x" / saved.name)
    # LMDB notes its readers in there.
    assert {p: b for p, b in one.items() if p.name != "names.mdb-lock"} == {
        p: b for p, b in other.items() if p.name != "names.mdb-lock"
    }


def test_the_config_tells_what_it_is(saved, linker):
    config = json.loads((saved / "config.json").read_text())
    assert config["library"] == "sgtb"
    assert (config["format"], config["model"], config["kb"]) == (1, "model.safetensors", "kb")
    assert (config["plan"], config["entities"]) == ("bsg", len(linker.kb))
    assert (config["nil"], config["nil_odds"]) == (
        linker.model.nil.kind, linker.model.nil.odds
    )  # fmt: skip
    assert config["evidence"] == sorted(linker.model.schema.evidence)
    assert config["kb_fingerprint"] == linker.kb.state.fingerprint
    assert str(linker.kb.path) not in (saved / "config.json").read_text()


def test_without_its_knowledge_base(linker, starter_place, tmp_path):
    linker.save_pretrained(tmp_path / "thin", kb=False)
    assert {path.name for path in (tmp_path / "thin").iterdir()} == {
        "config.json", "model.safetensors", "README.md"
    }  # fmt: skip
    with pytest.raises(ModelFileError, match="thin: written without its knowledge base; say which"):
        Linker.from_pretrained(tmp_path / "thin")
    with Linker.from_pretrained(tmp_path / "thin", kb=starter_place) as again:
        assert exact(again.link(TEXT)) == exact(linker.link(TEXT))


def test_another_knowledge_base(own, tmp_path):
    with Linker.from_pretrained(own, kb=shutil.copytree(own / "kb", tmp_path / "kb")) as linker:
        assert linker.kb.path == tmp_path / "kb"
        assert linker.lacking_evidence == []


def test_a_bare_list_of_names(own, tmp_path):
    """Data that the model was trained with may be missing: names still decide."""
    bare = build(tmp_path, [{"id": "A", "name": "Amman"}, {"id": "B", "name": "Basel"}], "bare")
    with Linker.from_pretrained(own, kb=bare) as linker:
        assert {"links", "types"} <= set(linker.lacking_evidence)
        links = linker("She flew from Amman to Basel.", LinkOptions(nil=0.0)).links
        assert [link.entity for link in links] == ["A", "B"]


def test_an_entity_that_was_added_meanwhile_goes_along(model_of, own_place, tmp_path):
    with Linker(model_of("bsg"), own_place) as linker:
        record = {"id": "new", "name": "Brandnewville", "type": "LOC"}
        add(own_place, EntityList(write_lines(tmp_path / "new.jsonl", [record])))
        linker.save_pretrained(tmp_path / "saved")
    config = json.loads((tmp_path / "saved" / "config.json").read_text())
    with Linker.from_pretrained(tmp_path / "saved") as again:
        assert again("It is in Brandnewville.").links[0].entity == "new"
        assert config["entities"] == len(again.kb)
        assert config["kb_fingerprint"] == again.kb.state.fingerprint


# What is there already


def test_a_folder_is_replaced(linker, linker_of, own, tmp_path):
    linker_of("local").save_pretrained(own)
    assert json.loads((own / "config.json").read_text())["plan"] == "local"
    assert [path.name for path in tmp_path.iterdir()] == ["own"]
    with Linker.from_pretrained(own) as open_one:
        expected = exact(open_one.link(TEXT))
        open_one.save_pretrained(own)  # over what it reads from
        assert exact(open_one.link(TEXT)) == expected
    with Linker.from_pretrained(own) as again:
        assert exact(again.link(TEXT)) == expected


def test_an_empty_folder_is_filled(linker, tmp_path):
    (tmp_path / "empty").mkdir()
    linker.save_pretrained(tmp_path / "empty", kb=False)
    assert (tmp_path / "empty" / "config.json").exists()


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        (".git", r"holds '\.git'"),
        ("notes.txt", "holds 'notes.txt'"),
        ("config.json", "other files"),
    ],
)
def test_a_foreign_folder_is_left_alone(linker, tmp_path, name, complaint):
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / name).write_text("{}")
    with pytest.raises(
        SgtbError, match=rf"{complaint}, which is not of a saved linker; name a new"
    ):
        linker.save_pretrained(tmp_path / "theirs")
    assert (tmp_path / "theirs" / name).read_text() == "{}"
    assert [path.name for path in tmp_path.iterdir()] == ["theirs"]


def test_a_file_added_to_ours_is_not_lost(linker, own):
    (own / "LICENSE").write_text("mine")
    with pytest.raises(SgtbError, match="holds 'LICENSE'"):
        linker.save_pretrained(own)


def test_a_card_that_was_edited_is_not_lost(linker, own):
    card = own / "README.md"
    card.write_text(card.read_text().replace("---\n", "---\nlicense: mit\n", 1))
    with pytest.raises(SgtbError, match=r"README\.md was edited"):
        linker.save_pretrained(own)
    card.unlink()
    linker.save_pretrained(own, kb=False)


def test_places_that_are_none(linker, tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(SgtbError, match="is a file; name a new folder"):
        linker.save_pretrained(tmp_path / "file")
    with pytest.raises(SgtbError, match="no folder"):
        linker.save_pretrained(tmp_path / "nowhere" / "x")
    with pytest.raises(SgtbError, match="has no name of its own"):
        linker.save_pretrained(".")


@pytest.mark.parametrize("step", ["duplicate", "model_card", "_put_in_place", "write_whole"])
def test_if_it_fails_all_is_as_it_was(linker_of, own, tmp_path, monkeypatch, step):
    def fail(*_, **__):
        raise OSError("disk full")

    before = files(own)
    monkeypatch.setattr(pretrained, step, fail)
    with pytest.raises(OSError, match="disk full"):
        linker_of("local").save_pretrained(own)
    assert files(own) == before
    assert [path.name for path in tmp_path.iterdir()] == ["own"]


def test_if_the_last_rename_fails_the_old_one_comes_back(linker_of, own, tmp_path, monkeypatch):
    """On a system that cannot exchange two folders."""
    rename, before = pretrained.os.rename, files(own)

    def failing(one, other):
        if other == own and one.name != ".own.old":
            raise OSError("no")
        rename(one, other)

    monkeypatch.setattr(pretrained, "exchange", lambda *_: False)
    monkeypatch.setattr(pretrained.os, "rename", failing)
    with pytest.raises(OSError, match="no"):
        linker_of("local").save_pretrained(own)
    assert files(own) == before
    assert [path.name for path in tmp_path.iterdir()] == ["own"]


@pytest.mark.parametrize("exchanges", [True, False])
def test_a_kill_at_any_step_leaves_the_old_or_the_new_one(linker, own, tmp_path, exchanges):
    """Steps are all calls that change names; the next run removes what is left."""
    linker.save_pretrained(own)  # its card has the name of the folder
    before, target = unlocked(own), own
    moments, missing = [], 0
    for step in range(1, 30):
        child = os.fork()
        if child == 0:
            try:
                pretrained.exchange = pretrained.exchange if exchanges else lambda *_: False
                kill_at(step)
                linker.save_pretrained(target)
                os._exit(0)
            finally:
                os._exit(1)
        _, status = os.waitpid(child, 0)
        if os.waitstatus_to_exitcode(status) == 0:
            break
        assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL
        moments.append(step)
        missing += not target.exists()
        if exchanges:
            assert unlocked(target) == before, "the same linker gives the same bytes"
    linker.save_pretrained(target)
    assert unlocked(target) == before
    assert [path.name for path in tmp_path.iterdir()] == ["own"]
    assert len(moments) > 5
    assert missing == (0 if exchanges else 1)


def unlocked(folder):
    """All files but locks, whose bytes tell who uses them."""
    return {name: data for name, data in files(folder).items() if not name.name.endswith("lock")}


def kill_at(step):
    """Kill this process before the call of this number."""
    calls = count(1)

    def watched(call):
        def run(*args, **kwargs):
            if next(calls) == step:
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*args, **kwargs)

        return run

    os.rename, os.replace, os.mkdir = map(watched, (os.rename, os.replace, os.mkdir))
    shutil.rmtree, pretrained.exchange = map(watched, (shutil.rmtree, pretrained.exchange))


def test_several_at_once(linker, tmp_path):
    threads = [
        threading.Thread(target=linker.save_pretrained, args=(tmp_path / str(i),)) for i in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i in range(3):
        with Linker.from_pretrained(tmp_path / str(i)) as again:
            assert exact(again.link(TEXT)) == exact(linker.link(TEXT))


# What is read is not trusted


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"library": "other"}, 'does not say "library": "sgtb"'),
        ({"format": 2}, "format 2; this release reads 1: pip install --upgrade sgtb"),
        ({"format": "x"}, "format 'x'"),
        ({"format": None}, "format None"),
        ({"model": None}, r"model\.safetensors: missing"),
        ({"model": "gone"}, "gone: missing"),
        ({"model": "kb"}, "kb: missing"),
        ({"kb": "gone"}, "gone: missing"),
        ({"kb": "model.safetensors"}, "missing"),
        *(
            ({key: value}, f"its {key} is .*; it must be a name within the folder")
            for key in ("model", "kb")
            for value in (
                "../own/kb",
                "/etc/passwd",
                "..",
                ".",
                "",
                "a/b",
                "a\\b",
                "C:x",
                5,
                ["kb"],
            )
        ),
    ],
)
def test_configs_that_cannot_be(own, change, complaint):
    config = json.loads((own / "config.json").read_text())
    (own / "config.json").write_text(json.dumps({**config, **change}))
    with pytest.raises(ModelFileError, match=complaint):
        Linker.from_pretrained(own)


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b"\xff", b"5", b"[" * 100_000, b" " * (1 << 21)], ids=len
)
def test_configs_that_are_none(own, data):
    (own / "config.json").write_bytes(data)
    with pytest.raises(ModelFileError, match=r"config\.json: not the config of a linker"):
        Linker.from_pretrained(own)
    assert not pretrained.is_pretrained(own)


def test_folders_that_are_not_whole(own, tmp_path):
    with pytest.raises(ModelFileError, match="nowhere: no such folder"):
        Linker.from_pretrained(tmp_path / "nowhere")
    with pytest.raises(ModelFileError, match=r"no linker \(no config\.json\); `sgtb pack`"):
        Linker.from_pretrained(tmp_path)
    shutil.rmtree(own / "kb")
    with pytest.raises(ModelFileError, match="kb: missing; the folder is not whole"):
        Linker.from_pretrained(own)
    (own / "model.safetensors").write_bytes(b"x")
    (own / "kb").mkdir()
    with pytest.raises(ModelFileError, match=r"model\.safetensors: not a whole safetensors file"):
        Linker.from_pretrained(own)


# The card

CONFIG = {
    "plan": "bsg", "beam_width": 4, "trees": 10, "nil": "candidate", "nil_odds": 1.5,
    "nil_threshold": 0.25, "evidence": [], "version": "1", "kb": "kb",
}  # fmt: skip


def card(evaluation=None, name="n", origin=None, **config):
    kb = {"entities": 1234, "names": 5, "origin": {"built from": "jsonl"}}
    return model_card(name, {**CONFIG, **config}, origin or {}, kb, evaluation)


def test_a_card_has_front_matter_and_sections(saved):
    text = (saved / "README.md").read_text("utf-8")
    front = re.match(r"---\n(.*?)\n---\n", text, re.DOTALL)[1]
    assert "library_name: sgtb" in front
    assert "- entity-linking" in front
    assert "license" not in front, "that is for its owner to say"
    headings = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert headings == ["Use", "Training data", "Knowledge base", "Evaluation", "Limits"]
    assert 'Linker.from_pretrained("news-linker")' in text
    assert "- of: tests" in text
    assert "Not measured." in text


def test_what_was_measured_is_in_the_card():
    text = card(
        {
            "accuracy": 0.91234,
            "mentions": 4485,
            "NIL": None,
            "bad": float("nan"),
            "by type": {"PER": {"n": 3, "share": 0.5}, "LOC": {"n": 4}},
            "models": {"a": {"own": {"deep": {"deeper": 1.0}}}},
            "rows": [{"set": "x|y", "ok": True}, {"set": "z", "at": [0.25, 0.5]}],
            "nothing": {},
            "names": ["a", "b"],
        }
    )
    for line in (
        "| accuracy | 91.2 % |", "| mentions | 4,485 |", "| NIL | – |", "| bad | – |",
        "### by type", "|  | n | share |", "| PER | 3 | 50.0 % |", "| LOC | 4 |  |",
        "### models", "#### a", "|  | deeper |", "| deep | 1 |",
        "| set | ok | at |", r"| x\|y | yes |  |", "| z |  | 0.25, 0.5 |", "| names | a, b |",
    ):  # fmt: skip
        assert line in text.splitlines(), line


def scores(accuracy, **more):
    return {
        "accuracy": {"micro": accuracy, "low": 0.5, "high": 1.0, "total": 9},
        "titles": {"f1": 0.25}, "links": {"precision": 0.75, "recall": 0.5, "f1": 0.6},
        "nil": {"f1": None}, "candidate_recall": {"of_known": 0.875},
        "calibration": {"ece": 0.0125, "bins": [{"low": 0}]}, **more,
    }  # fmt: skip


def test_what_sgtb_evaluate_found_is_summed_up():
    by = {"type": [{"label": "PER", "accuracy": 0.5, "total": 2}], "length": []}
    systems = {"own": scores(0.95, by=by), "prior": {"accuracy": {"micro": 0.6}}}
    found = {"documents": 12, "mentions": 1234, "nil": 3, "systems": systems}
    text = card({"kb": {"name": "x"}, "settings": {"seed": 0}, "sets": {"test": found}})
    lines = text.partition("## Evaluation")[2].splitlines()
    for line in (
        "### test", "12 documents, 1,234 mentions, 3 of them NIL.",
        "| own | 95.0 % (50.0 % to 100.0 %) | 25.0 % | 75.0 % | 50.0 % | 60.0 % | – | 87.5 % "
        "| 1.2 % |",
        "| prior | 60.0 % | – | – | – | – | – | – | – |",
        "Accuracy of own by type:", "| PER | 50.0 % | 2 |",
    ):  # fmt: skip
        assert line in lines, line
    assert "bins" not in text
    assert "seed" not in text


def test_a_real_evaluation_fits_the_card(linker, starter):
    measured = evaluate_linkers({"own": linker}, {"dev": starter["dev"][:10]}).to_dict()
    text = card(measured)
    row = next(line for line in text.splitlines() if line.startswith("| own |"))
    accuracy = measured["sets"]["dev"]["systems"]["own"]["accuracy"]["micro"]
    assert f"| {100 * accuracy:.1f} % (" in row
    assert row.count("–") <= 1, "nothing but NIL, of which there is none, is unknown"


def test_a_card_shows_strange_names_as_they_are():
    text = card(name="a `b`\n# c", origin={"<script>": "x\n## y", "n": 3})
    assert "# a \\`b\\` \\# c" in text.splitlines()
    assert "- \\<script\\>: x \\#\\# y" in text.splitlines()
    assert 'from_pretrained("a__b____c")' in text


def test_a_card_says_when_nothing_is_linked():
    odds = "where no link is 1.5 times likelier than the best entity"
    assert f"| NIL | {odds}, or below a confidence of 25.0 % |" in card().splitlines()
    never = card(nil="never", nil_threshold=0.0)
    assert "| NIL | never, if there are candidates |" in never.splitlines()


@pytest.mark.parametrize(
    ("found", "line"),
    [
        (
            {"mentions": 15, "right": 12, "precision": 0.8, "log_loss": 0.3, "odds": 1.0},
            "chosen on 15 left-out mentions: too few to trust; 80.0 % answers right (54.8 % to "
            "93.0 %), precision of links 80.0 %",
        ),
        (
            {"mentions": 2544, "right": 2544, "precision": None},
            "chosen on 2,544 left-out mentions; 100.0 % answers right (99.8 % to 100.0 %)",
        ),
        ({"mentions": 0, "right": 0}, "default: no left-out mentions to choose by"),
    ],
    ids=["few", "many", "none"],
)
def test_a_card_says_in_words_what_confidence_was_chosen_by(found, line):
    origin = {"calibration": found, "mention detection": {"chosen": "rules", "rules F1": 0.00001}}
    lines = card(origin=origin).splitlines()
    assert f"- calibration: {line}" in lines
    assert "- mention detection: chosen rules, rules F1 \\<0.1 %" in lines
    assert "0.0000" not in "".join(lines)


def test_a_card_without_knowledge_base():
    assert 'kb="path/of/the/knowledge-base"' in card(kb=None)
    assert "not part of this folder" in card(kb=None)
