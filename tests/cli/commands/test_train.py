"""`sgtb train`: what it says, what it writes, and what it refuses."""

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from experiments.starter_data import read_starter
from sgtb.cli.main import app
from sgtb.formats.registry import read_documents, write_documents
from sgtb.kb import KnowledgeBase
from sgtb.linking.linker import Linker
from sgtb.linking.linker_model import LinkerModel
from sgtb.linking.training import training_data
from sgtb.starter import KB
from sgtb.wikipedia.build.build_settings import HoldOut
from tests.helpers.wiki_dump import page, write_dump

SMALL = ("--trees", 3, "--threads", 1, "--folds", 2)


def run(*arguments, code=0):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result


@pytest.fixture(autouse=True)
def small_models(monkeypatch):
    """Topics and clues take most of the time where there are three trees."""
    small = replace(training_data._FEW, topic_width=8, bits=10)
    monkeypatch.setattr(training_data, "_FEW", small)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The starter's documents in files: 40 to learn from, 10 for dev."""
    folder = tmp_path_factory.mktemp("files")
    starter = read_starter()
    for name, documents in (("train", starter["train"][:40]), ("dev", starter["dev"][:10])):
        plain = [replace(document, split="") for document in documents]
        write_documents(plain, folder / f"{name}.jsonl", "jsonl")
    return folder


def test_a_linker_of_forty_documents(files, tmp_path):
    model = tmp_path / "my.model"
    result = run("train", "--kb", KB, "--train", files / "train.jsonl", "-o", model, *SMALL)
    assert "no dev documents given: 8 of 40 documents are held out" in result.stderr
    assert "drawn with seed 0" in result.stderr
    assert "147 mentions can be learned from" in result.stderr
    assert f"{model}: bsg, " in result.stdout
    assert "dev: 8 documents, 37 mentions; 37 with a known entity" in result.stdout
    for system in ("prior", "in-links", "bsg"):
        assert f"\n{system} " in result.stdout
    trained = LinkerModel.load(model)
    assert trained.origin["trained on"] == ["train.jsonl"]
    assert trained.origin["dev"] == "8 documents drawn from the training files, seed 0"
    assert trained.origin["documents"] == {"train": 32, "dev": 8}
    with Linker(model, KB) as linker:
        assert linker.link("Jordan won with the Bulls.").links


def test_the_same_options_give_the_same_bytes(files, tmp_path):
    given = ("train", "--kb", KB, "--train", files / "train.jsonl", "-q", *SMALL)
    made = []
    for name, seed in (("one", 1), ("two", 1), ("other", 2)):
        run(*given, "-o", tmp_path / name, "--seed", seed)
        made.append((tmp_path / name).read_bytes())
    assert made[0] == made[1] != made[2]


def test_refit_learns_from_dev_as_well(files, tmp_path):
    """Only the trees that dev chose are kept, and dev judges the model that has not seen it."""
    given = ("train", "--kb", KB, "--train", files / "train.jsonl", "--dev", files / "dev.jsonl",
             "--json", *SMALL)  # fmt: skip
    first, second = (
        run(*given, *more, "-o", tmp_path / name)
        for name, more in (("first", ()), ("second", ("--refit",)))
    )
    assert "training again on 50 documents, dev included" in second.stderr
    before, after = json.loads(first.stdout), json.loads(second.stdout)
    assert after["dev"] == before["dev"]
    assert after["progress"] == before["progress"]
    assert after["trees"] == before["trees"]
    assert after["learnable"] > before["learnable"]
    assert after["origin"]["refit"] is True
    shown = run(*[one for one in given if one != "--json"], "--refit", "-o", tmp_path / "third")
    assert "trained on all documents; the accuracy on dev is that of the" in shown.stdout
    assert (tmp_path / "third").read_bytes() == (tmp_path / "second").read_bytes()


def test_a_cluster_gives_the_bytes_of_one_process(files, tmp_path):
    pytest.importorskip("distributed")
    given = ("train", "--kb", KB, "--train", files / "train.jsonl", "-q", *SMALL)
    for name, cluster in (("alone", ()), ("together", ("--cluster", "local:2"))):
        run(*given, "-o", tmp_path / name, *cluster)
    assert (tmp_path / "together").read_bytes() == (tmp_path / "alone").read_bytes()


def test_figures_as_json(files, tmp_path):
    result = run(
        "train", "--kb", KB, "--train", files / "train.jsonl", "--dev", files / "dev.jsonl",
        "-o", tmp_path / "m", "--plan", "local", "--depth", 2, "--learning-rate", 0.5,
        "--without", "type", "--nil-rule", "candidate", "--hidden", "0.3",
        "--json", "--quiet", *SMALL,
    )  # fmt: skip
    assert result.stderr == ""
    told = json.loads(result.stdout)
    assert (told["plan"], told["depth"], told["eta"]) == ("local", 2, 0.5)
    assert 1 <= told["trees"] <= 3
    assert told["nil"]["kind"] == "candidate"
    assert told["bytes"] == (tmp_path / "m").stat().st_size
    assert told["documents"] == {"train": 40, "dev": 10}
    assert told["dev"]["test"]["recalled"] > 30
    assert 0 < told["dev"]["systems"]["local"]["recalled"]["accuracy"] <= 100
    model = LinkerModel.load(tmp_path / "m")
    assert "type" in model.without
    assert model.origin["dev"] == ["dev.jsonl"]


def test_splits_of_a_file_are_kept_apart(tmp_path):
    starter = read_starter()
    given = [*starter["train"][:12], *starter["dev"][:4], *starter["test"][:5]]
    write_documents(given, tmp_path / "all.jsonl", "jsonl")
    result = run(
        "train",
        "--kb",
        KB,
        "--train",
        tmp_path / "all.jsonl",
        "-o",
        tmp_path / "m",
        "--json",
        *SMALL,
    )
    told = json.loads(result.stdout)
    assert told["documents"] == {"train": 12, "dev": 4}
    assert "9 documents of other splits than train are not used" in result.stderr
    assert told["origin"]["dev"] == "the split dev of the same files"


def test_unknown_entities_are_named(tmp_path):
    documents = []
    for document in read_starter()["train"][:6]:
        first, *others = document.mentions
        mentions = (replace(first, gold="Nobody Known"), *others)
        documents.append(replace(document, mentions=mentions, split=""))
    write_documents(documents, tmp_path / "d.jsonl", "jsonl")
    result = run("train", "--kb", KB, "--train", tmp_path / "d.jsonl", "-o", tmp_path / "m", *SMALL)
    assert "warning: 1 entities of train are not in the knowledge base" in result.stderr
    assert "'Nobody Known' (5)" in result.stderr


def test_three_documents_will_do_and_one_will_not(tmp_path):
    some = [replace(document, split="") for document in read_starter()["train"][:3]]
    write_documents(some, tmp_path / "3.jsonl", "jsonl")
    run("train", "--kb", KB, "--train", tmp_path / "3.jsonl", "-o", tmp_path / "m", "-q", *SMALL)
    write_documents(some[:1], tmp_path / "1.jsonl", "jsonl")
    result = run(
        "train", "--kb", KB, "--train", tmp_path / "1.jsonl", "-o", tmp_path / "no", code=1
    )
    assert "1 training documents; a linker needs at least two" in result.stderr
    assert not (tmp_path / "no").exists()


def test_documents_of_another_world(tmp_path):
    foreign = [
        replace(d, split="", mentions=tuple(replace(m, gold=f"Q {m.gold}") for m in d.mentions))
        for d in read_starter()["train"][:5]
    ]
    write_documents(foreign, tmp_path / "d.jsonl", "jsonl")
    result = run("train", "--kb", KB, "--train", tmp_path / "d.jsonl", "-o", tmp_path / "m", code=1)
    assert "no training mention has its gold among its candidates" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((), "give either --train or --from-links"),
        (("--train", "FILE", "--from-links", "FILE"), "give either --train or --from-links"),
        (("--train", "FILE", "--build-kb", "x"), "--build-kb and --write-test need"),
        (("--kb", "KB", "--from-links", "FILE", "--build-kb", "x"), "give --kb"),
        (("--train", "FILE"), "give --kb"),
        (("--kb", "KB", "--train", "FILE", "--write-test", "x"), "need --from-links"),
        (("--kb", "KB", "--train", "FILE", "--format", "xml"), "'xml' is none of"),
    ],
)  # fmt: skip
def test_options_that_do_not_go_together(files, tmp_path, arguments, complaint):
    places = {"FILE": files / "train.jsonl", "KB": KB, "x": tmp_path / "x"}
    given = [places.get(argument, argument) for argument in arguments]
    result = run("train", "-o", tmp_path / "m", *given, code=2)
    assert complaint in " ".join(result.output.replace("│", " ").split())


def test_mistakes_are_told_before_the_work(files, tmp_path):
    given = ("train", "--kb", KB, "--train", files / "train.jsonl")
    result = run(*given, "-o", tmp_path / "no" / "m", code=1)
    assert "no folder" in result.stderr
    result = run(*given, "-o", tmp_path, code=1)
    assert "a folder" in result.stderr
    result = run(*given, "-o", tmp_path / "m", "--plan", "beam", code=1)
    assert "unknown plan 'beam'" in result.stderr
    result = run(*given, "-o", tmp_path / "m", "--without", "colour", code=1)
    assert "'colour', which is no feature group" in result.stderr
    result = run(*given, "-o", tmp_path / "m", "--nil-rule", "often", code=1)
    assert "nil must be one of auto, never, candidate, not 'often'" in result.stderr


def test_word_vectors_from_a_file(files, tmp_path):
    vectors = tmp_path / "vectors.txt"
    words = ("Bulls", "bulls", "lakers", "rings", "two words")
    lines = [f"{word.replace(' ', '_')} {i}.5 1.0 -{i}.0" for i, word in enumerate(words, 1)]
    vectors.write_text(f"{len(lines)} 3\n" + "\n".join(lines) + "\n")
    run(
        "train", "--kb", KB, "--train", files / "train.jsonl", "-o", tmp_path / "m",
        "--vectors", vectors, "-q", *SMALL,
    )  # fmt: skip
    model = LinkerModel.load(tmp_path / "m")
    assert model.background.lexicon.vectors.shape[1] == 3
    assert "word vectors" in model.schema.evidence


@pytest.mark.parametrize("more", [(), ("--refit",)], ids=["once", "refit"])
def test_a_killed_training_goes_on(files, tmp_path, more):
    given = ("train", "--kb", KB, "--train", files / "train.jsonl", "-q", "--trees", 26,
             "--threads", 1, "--folds", 2, *more)  # fmt: skip
    state = tmp_path / "state"
    run(*given, "-o", tmp_path / "a", "--checkpoint", state)
    assert state.exists()
    assert (tmp_path / "state.refit").exists() == bool(more)
    run(*given, "-o", tmp_path / "b", "--checkpoint", state)
    run(*given, "-o", tmp_path / "c")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert (tmp_path / "a").read_bytes() == (tmp_path / "c").read_bytes()


def links_dump(path):
    """Two towns and two rivers share two names; every other page speaks of either pair."""
    share = HoldOut(0.5)
    pages = [
        page(f"{name} ({kind})", f"'''{name}''' is a {kind} with {words}.")
        for name in ("Alma", "Brin")
        for kind, words in (("town", "streets and a mayor"), ("river", "water and a source"))
    ]
    counted = taken = 0
    for number in range(200):
        title = f"Story {number}"
        held = share.split(title) is not None
        if (taken if held else counted) >= (24 if held else 12):
            continue
        taken, counted = taken + held, counted + (not held)
        kind, words = (
            ("town", "The mayor walked the streets of"),
            ("river", "The water flows from the source of"),
        )[number % 2]
        other = f"[[Missing {number}]]" if number % 3 else ""
        text = f"'''{title}'''. {words} [[Alma ({kind})|Alma]] and [[Brin ({kind})|Brin]]. {other}"
        pages.append(page(title, text))
    return write_dump(path, pages)


def test_links_of_a_dump_in_one_go(tmp_path):
    dump, kb, model = links_dump(tmp_path / "wiki.xml"), tmp_path / "kb", tmp_path / "m"
    result = run(
        "train", "--from-links", dump, "--build-kb", kb, "--hold-out", 0.5, "-o", model,
        "--write-test", tmp_path / "test.jsonl", "--trees", 25, "--json",
    )  # fmt: skip
    told = json.loads(result.stdout)
    assert "pages held out" in result.stderr
    assert "only" in result.stderr
    assert "--red-links 1" in result.stderr
    systems = told["test"]["systems"]
    assert set(systems) == {"prior", "in-links", "bsg"}
    assert told["test"]["test"]["ambiguous"] > 4
    assert systems["bsg"]["ambiguous"]["right"] > systems["prior"]["ambiguous"]["right"]
    documents = list(read_documents(tmp_path / "test.jsonl"))
    assert len(documents) == told["test"]["test"]["documents"]
    assert {document.split for document in documents} == {"test"}
    golds = {mention.gold for document in documents for mention in document.mentions}
    assert {"NIL", "Alma (town)", "Brin (river)"} <= golds
    origin = LinkerModel.load(model).origin
    assert origin["trained on"] == ["links of wiki.xml"]
    assert origin["hold out"] == {"share": 0.5, "turn": 0.0}
    assert origin["mention detection"]["chosen"] == "rules"
    with KnowledgeBase.open(kb) as opened:
        assert opened.state.origin["hold_out"] == {"share": 0.5, "turn": 0.0}
    again = run(
        "train", "--from-links", dump, "--kb", kb, "-o", tmp_path / "m2", "--trees", 25, "-q"
    )
    assert "test: " in again.stdout
    assert (tmp_path / "m2").read_bytes() == model.read_bytes()


def test_a_knowledge_base_without_held_out_pages_is_refused(tmp_path):
    dump = links_dump(tmp_path / "wiki.xml")
    result = run("train", "--from-links", dump, "--kb", KB, "-o", tmp_path / "m", code=1)
    assert "without held-out pages" in result.stderr
