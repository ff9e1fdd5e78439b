"""`sgtb.load`, `sgtb.build_kb` and `sgtb.train` as a new user calls them."""

import inspect
import json
import subprocess
import sys
import textwrap
from decimal import Decimal
from pathlib import Path

import pandas
import polars
import pytest

import sgtb
from sgtb.core.errors import (
    CorpusError,
    EntityListError,
    KnowledgeBaseError,
    ModelFileError,
    SettingsError,
)
from sgtb.linking.linker_model import LinkerModel
from sgtb.starter import KB, MODEL
from tests.helpers.exact import exact

ENTITIES = [
    {"id": "P1", "name": "Ada Berg", "aliases": ["Berg"], "type": "PER", "popularity": 3,
     "description": "a chemist of Umberg", "links": ["L1"]},
    {"id": "P2", "name": "Carl Berg", "aliases": ["Berg"], "type": "PER", "popularity": 2,
     "description": "a goalkeeper of Umberg United", "links": ["O1"]},
    {"id": "L1", "name": "Umberg", "type": "LOC", "popularity": 9, "links": ["P1"],
     "description": "a town with a university"},
    {"id": "O1", "name": "Umberg United", "aliases": ["United"], "type": "ORG", "popularity": 5,
     "description": "a football club", "links": ["P2", "L1"]},
]  # fmt: skip
TEXT = "Berg kept goal for United."


def marked(text: str, **mentions: str) -> dict[str, object]:
    spans = [
        {"start": text.index(name), "end": text.index(name) + len(name), "entity": id_}
        for name, id_ in mentions.items()
    ]
    return {"text": text, "mentions": spans}


DOCUMENTS = [
    marked(f"In {year}, Berg {deed} Umberg.", Berg=person, Umberg="L1")
    for year in range(1990, 2000)
    for deed, person in (("taught chemistry in", "P1"), ("kept goal against", "P2"))
]


@pytest.fixture(scope="module")
def kb():
    with sgtb.build_kb(ENTITIES) as opened:
        yield opened


def test_load_gives_the_starter_with_settings_as_keywords():
    with sgtb.load("starter", candidates=2, reasons=True) as linker:
        first = linker("Jordan met Pippen.").links[0]
        assert (first.entity, len(first.candidates)) == ("Michael Jordan", 2)
        assert first.reasons
        assert (linker.settings.candidates, linker.settings.reasons) == (2, True)
    with sgtb.load() as linker:
        assert linker.settings == sgtb.LinkerSettings()
    with pytest.raises(SettingsError, match="candidates must be a whole number"):
        sgtb.load(candidates=0)


@pytest.mark.parametrize("given", [Path, str, LinkerModel.load])
def test_a_linker_takes_paths_or_objects(given):
    model = given(MODEL)
    opened = sgtb.KnowledgeBase.open(KB)
    with sgtb.load() as starter:
        expected = exact(starter(TEXT))
    for place in (KB, str(KB), opened):
        assert exact(sgtb.Linker(model, place)(TEXT)) == expected
    with pytest.raises(SettingsError, match="needs a knowledge base"):
        sgtb.Linker(model)


def test_a_knowledge_base_alone_takes_the_model_of_the_starter(kb):
    linker = sgtb.load(kb=kb)
    assert [link.entity for link in linker(TEXT).links] == ["P2", "O1"]
    assert linker.model.origin == LinkerModel.load(MODEL).origin


def test_a_folder_of_a_linker_is_loaded_by_its_path(tmp_path):
    with sgtb.load() as linker:
        linker.save_pretrained(tmp_path / "own", kb=False)
    with pytest.raises(ModelFileError, match="written without its knowledge base"):
        sgtb.Linker(tmp_path / "own")
    assert sgtb.Linker(tmp_path / "own", KB)("Petra").links


def frame_rows():
    return [{**row, "aliases": "|".join(row.get("aliases", [])) or None,
             "links": "|".join(row["links"])} for row in ENTITIES]  # fmt: skip


@pytest.mark.parametrize("kind", ["records", "pandas", "polars", "csv", "jsonl"])
def test_every_kind_of_list_gives_the_same_knowledge_base(kind, kb, tmp_path):
    if kind == "records":
        given = iter(ENTITIES)
    elif kind == "pandas":
        given = pandas.DataFrame(frame_rows())
    elif kind == "polars":
        given = polars.DataFrame(frame_rows())
    elif kind == "csv":
        given = tmp_path / "entities.csv"
        pandas.DataFrame(frame_rows()).to_csv(given, index=False)
    else:
        given = str(tmp_path / "entities.jsonl")
        lines = "\n".join(json.dumps(row) for row in ENTITIES)
        Path(given).write_text(lines, "utf-8")
    with sgtb.build_kb(given, tmp_path / "kb") as built:
        assert built.path == tmp_path / "kb"
        for row in ENTITIES:
            number, other = built.number(row["id"]), kb.number(row["id"])
            assert number == other
            assert built.description_of(number) == row["description"]
            assert exact(built.candidates(row["name"])) == exact(kb.candidates(row["name"]))


def test_a_list_of_names_is_a_list_of_entities():
    with sgtb.build_kb(["Acme", "Bolt"]) as built:
        assert [built.candidates(name)[0].id for name in ("Acme", "bolt")] == ["Acme", "Bolt"]


def test_numbers_are_ids_and_missing_cells_are_missing():
    frame = pandas.DataFrame({"id": [7, 8], "name": ["A B", "C D"], "popularity": [1.5, None]})
    with sgtb.build_kb(frame) as built:
        assert built.number("7") == 0
        assert built.number("8") == 1


def test_errors_name_the_record_and_not_a_temporary_file():
    wrong = [{"id": "A", "name": "A"}, {"id": "B", "name": "B", "popularity": "high"}]
    with pytest.raises(EntityListError, match=r"^record 2, key popularity: 'high' is not a finite"):
        sgtb.build_kb(wrong)
    with pytest.raises(KnowledgeBaseError, match=r"^record 1: 7 is neither a name nor a record"):
        sgtb.build_kb([7])
    for given in (7, {"id": "A"}):
        with pytest.raises(KnowledgeBaseError, match="is no list of entities"):
            sgtb.build_kb(given)
    with pytest.raises(KnowledgeBaseError, match=r"^entities: no entity in it"):
        sgtb.build_kb([])


def test_training_takes_records_and_gives_a_linker(kb, tmp_path):
    linker = sgtb.train(kb, DOCUMENTS, seed=3)
    answer = [link.entity for link in linker("Berg taught chemistry in Umberg.").links]
    assert answer[0] in ("P1", "P2")
    assert answer[1] == "L1"
    assert linker.model.origin["documents"] == {"train": 16, "dev": 4}
    file = tmp_path / "documents.jsonl"
    file.write_text("\n".join(json.dumps(one) for one in DOCUMENTS), "utf-8")
    again = sgtb.train(str(kb.path), file, seed=3)
    assert exact(again(TEXT)) == exact(linker(TEXT))
    whole = sgtb.train(kb, DOCUMENTS, seed=3, refit=True)
    assert whole.model.origin["refit"] is True
    assert exact(whole(TEXT)) != exact(linker(TEXT)), "dev documents are learned from, too"
    # What it says, corrected or not, can be trained on.
    linked = list(sgtb.load(kb=kb).pipe([one["text"] for one in DOCUMENTS]))
    third = sgtb.train(kb, linked, dev=DOCUMENTS[:4], without=["coherence"])
    assert "coherence" in third.model.without


def test_training_refuses_what_is_no_document(kb):
    with pytest.raises(SettingsError, match="is no list of documents"):
        sgtb.train(kb, DOCUMENTS[0])
    with pytest.raises(CorpusError, match="document 2: 7 is no annotated document"):
        sgtb.train(kb, [DOCUMENTS[0], 7])
    with pytest.raises(CorpusError, match=r'documents, line 1: "text" should be a string'):
        sgtb.train(kb, [{"mentions": []}])


def test_the_temporary_folder_is_deleted_at_the_end():
    code = "import sgtb; print(sgtb.build_kb(['Acme']).path)"
    path = subprocess.check_output([sys.executable, "-c", code], text=True).strip()
    assert path
    assert not Path(path).parent.exists()


def test_importing_the_package_loads_nothing_else():
    code = """
        import sys
        import sgtb
        assert {"load", "build_kb", "train"} <= set(dir(sgtb))
        loaded = {"numpy", "lmdb", "rich", "typer", "pandas", "polars"} & set(sys.modules)
        print(sorted(loaded), sorted(name for name in sys.modules if name.startswith("sgtb")))
    """
    out = subprocess.check_output([sys.executable, "-c", textwrap.dedent(code)], text=True)
    assert out.strip() == "[] ['sgtb']"


def test_settings_are_in_the_signature_and_completed():
    import jedi

    names = set(inspect.signature(sgtb.load).parameters)
    assert {"candidates", "reasons", "nil", "fuzzy", "beam_width"} <= names

    def completed(source):  # as in a notebook
        return {one.name for one in jedi.Interpreter(source, [{"sgtb": sgtb}]).complete()}

    assert "candidates=" in completed("sgtb.load('starter', ca")
    assert "reasons=" in completed("sgtb.LinkerSettings(rea")
    assert {"load", "build_kb", "train"} <= completed("sgtb.")
    methods = {"to_dict", "to_json", "to_frame", "to_displacy", "to_spans"}
    assert methods <= completed("sgtb.load('starter')('Jordan').to_")


TYPED = """
import sgtb

linker = sgtb.load("starter", candidates=3)
reveal_type(linker)
document = linker("Jordan met Pippen.")
reveal_type(document.links[0].entity)
reveal_type(document.to_dict())
reveal_type(sgtb.build_kb([{"id": "A", "name": "A"}]))
reveal_type(sgtb.Request("Jordan", [(0, 6)]).spans)
reveal_type(sgtb.train("kb", ["train.jsonl"]))
reveal_type([one.text for one in linker.pipe(["Jordan", None])])
"""


def test_types_are_complete_for_a_caller(tmp_path):
    (tmp_path / "caller.py").write_text(TYPED, "utf-8")
    root = Path(sgtb.__file__).parents[2]
    # The options and the cache of `make test`, which has checked the package already.
    command = [
        sys.executable, "-m", "mypy", "--config-file", str(root / "pyproject.toml"),
        "--cache-dir", str(root / ".mypy_cache"), str(tmp_path / "caller.py"),
    ]  # fmt: skip
    done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    revealed = [line.split('"')[1] for line in done.stdout.splitlines() if "Revealed" in line]
    assert done.returncode == 0, done.stdout
    assert revealed == [
        "sgtb.linking.linker.Linker",
        "str | None",
        "dict[str, Any]",
        "sgtb.kb.knowledge_base.KnowledgeBase",
        "tuple[sgtb.linking.links.Span, ...] | None",
        "sgtb.linking.linker.Linker",
        "list[str]",
    ]
    assert (Path(sgtb.__file__).parent / "py.typed").is_file()


def test_a_value_that_json_lacks_is_named_by_its_record():
    records = [{"id": "A", "name": "A"}, {"id": "B", "name": "B", "popularity": Decimal(3)}]
    with pytest.raises(KnowledgeBaseError, match=r"record 2: .*Decimal"):
        sgtb.build_kb(records)
