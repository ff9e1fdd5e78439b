"""The spaCy component: what it says is what the bare linker says, however Docs come and go."""

import pickle
import subprocess
import sys
import threading
from copy import deepcopy
from importlib import import_module
from importlib.metadata import entry_points

import pytest
import spacy
from spacy.tokens import Doc, DocBin
from spacy.training import Example

from sgtb import build_kb
from sgtb.core.errors import MissingExtraError, RequestError, SettingsError, SgtbError
from sgtb.integrations.component_folder import ComponentSource
from sgtb.integrations.spacy import ComponentSettings, SgtbLinker, make_linker, score_links
from sgtb.linking.link_options import LinkerSettings
from sgtb.linking.linker import Linker
from sgtb.linking.links import Request, Span
from sgtb.starter import KB, MODEL
from tests.helpers.exact import exact
from tests.helpers.job_runs import ENTITIES
from tests.integrations.conftest import TEXT

GOLD = {
    "Pippen": "Scottie Pippen", "the Bulls": "Chicago Bulls", "Utah": "Utah Jazz",
    "Amman": "Amman", "Petra": "Petra",
}  # fmt: skip


def test_spacy_finds_it_by_itself():
    (found,) = entry_points(group="spacy_factories", name="sgtb_linker")
    assert found.load() is make_linker


def test_who_does_not_use_it_does_not_load_the_linker():
    code = (
        "import sys, spacy; nlp = spacy.blank('en');"
        "print('sgtb.integrations.spacy' in sys.modules, 'sgtb.native' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False"]


def test_without_spacy_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "spacy", None)
    monkeypatch.setitem(sys.modules, "spacy.language", None)
    monkeypatch.delitem(sys.modules, "sgtb.integrations.spacy")
    with pytest.raises(MissingExtraError, match=r"pip install 'sgtb\[spacy\]'"):
        import_module("sgtb.integrations.spacy")


def test_entities_get_ids(nlp):
    doc = nlp(TEXT)
    ids = {ent.text: ent.kb_id_ for ent in doc.ents}
    assert ids == {**GOLD, "Jordan": "Jordan", "Xyzzy": "NIL", "1997": ""}
    assert [ent.kb_id_ for ent in doc.ents if ent.text == "Jordan"] == ["Michael Jordan", "Jordan"]
    assert {token.ent_kb_id_ for token in doc if not token.ent_type_} == {""}


def test_links_are_those_of_the_linker(nlp):
    """Given the same names: a small article does not belong to one."""
    doc = nlp(TEXT)
    asked = [ent for ent in doc.ents if ent.label_ != "DATE"]
    spans = tuple(Span(e.start_char + 4 * (e.text[:4] == "the "), e.end_char) for e in asked)
    with Linker.starter(LinkerSettings(reasons=True)) as linker:
        expected = linker.link(Request(TEXT, spans)).links
    links = [ent._.sgtb for ent in asked]
    assert sum(bool(link.reasons) for link in links) >= 4
    assert any(reason.mention is not None for link in links for reason in link.reasons)
    for ent, link, other in zip(asked, links, expected, strict=True):
        assert (link.start, link.end, link.text) == (ent.start_char, ent.end_char, ent.text)
        assert {**link.to_dict(), "start": 0, "end": 0, "text": ""} == {
            **other.to_dict(), "start": 0, "end": 0, "text": ""
        }  # fmt: skip
    assert doc._.sgtb.text == TEXT
    assert list(map(repr, doc._.sgtb.links)) == list(map(repr, links))


def test_what_was_not_linked_has_no_link(nlp):
    doc = nlp(TEXT)
    assert [ent._.sgtb for ent in doc.ents if ent.label_ == "DATE"] == [None]
    assert doc[0:2]._.sgtb is None
    assert nlp.make_doc(TEXT)._.sgtb.links == ()


def test_offsets_are_code_points(nlp):
    doc = nlp("👩‍👩‍👧 e\u0301 Amman 😀 Petra")
    assert [(link.text, link.entity) for link in doc._.sgtb.links] == [
        ("Amman", "Amman"), ("Petra", "Petra")
    ]  # fmt: skip
    assert all(ent._.sgtb.text == ent.text for ent in doc.ents)


@pytest.mark.parametrize("text", ["", " ", "nothing of note"])
def test_docs_without_entities(nlp, text):
    assert nlp(text)._.sgtb.links == ()


def test_entities_that_are_no_names(nlp):
    doc = Doc(nlp.vocab, words=["the", "\u200b", "Amman"])
    doc.ents = [
        spacy.tokens.Span(doc, 0, 1, "X"), spacy.tokens.Span(doc, 1, 2, "X"),
        spacy.tokens.Span(doc, 2, 3, "X"),
    ]  # fmt: skip
    linked = nlp.get_pipe("sgtb_linker")(doc)
    assert linked.ents[2].kb_id_ == "Amman"
    assert linked.ents[1].kb_id_ == ""


# Config


def test_settings_are_the_linkers(ruled):
    link = ruled(candidates=2)("Jordan left.").ents[0]._.sgtb
    assert len(link.candidates) == 2
    assert link.reasons == ()
    ignoring = ruled(labels_ignore=["NAME"])(TEXT)
    assert {ent.label_ for ent in ignoring.ents if ent.kb_id_} == {"ORG", "DATE"}


def test_what_is_not_sure_enough_is_nil(ruled):
    def nils(nil):
        return {ent.text for ent in ruled(nil=nil)(TEXT).ents if ent.kb_id_ == "NIL"}

    assert nils(0.0) == {"Xyzzy"}
    assert {"Xyzzy", "Jordan"} <= nils(0.999)


@pytest.mark.parametrize(
    ("config", "error", "complaint"),
    [
        ({"nil": 2}, SettingsError, "nil"),
        ({"candidates": 0}, SettingsError, "candidates must be"),
        ({"batch_size": 0}, SettingsError, "batch_size must be from 1 up, not 0"),
        ({"candidate": 3}, ValueError, "candidate"),
        ({"reasons": "often"}, ValueError, "reasons"),
    ],
)
def test_config_that_makes_no_sense(ruled, config, error, complaint):
    with pytest.raises(error, match=complaint):
        ruled(**config)


@pytest.mark.parametrize(
    ("config", "complaint"),
    [
        ({"model": "nowhere.model", "kb": "nowhere"}, r"nowhere.model: no such file or folder"),
        ({"model": str(MODEL)}, "needs a knowledge base"),
    ],
)
def test_a_model_that_is_missing_is_named(ruled, config, complaint):
    nlp = ruled(**config)
    with pytest.raises(SgtbError, match=complaint):
        nlp("Amman")
    with pytest.raises(SgtbError, match=complaint):
        list(nlp.pipe(["Amman"]))
    with pytest.raises(SgtbError, match=complaint):
        nlp.initialize()


def test_a_pipeline_out_of_a_config_file(tmp_path, nlp):
    path = tmp_path / "config.cfg"
    path.write_text(
        '[nlp]\nlang = "en"\npipeline = ["entity_ruler", "sgtb_linker"]\n'
        '[components]\n[components.entity_ruler]\nfactory = "entity_ruler"\n'
        '[components.sgtb_linker]\nfactory = "sgtb_linker"\ncandidates = 3\nreasons = true\n'
    )
    made = spacy.util.load_model_from_config(spacy.util.load_config(path), auto_fill=True)
    made.get_pipe("entity_ruler").add_patterns(nlp.get_pipe("entity_ruler").patterns)
    link = made(TEXT).ents[0]._.sgtb
    assert (link.entity, len(link.candidates), bool(link.reasons)) == ("Michael Jordan", 3, True)


def test_names_that_were_decided_before(nlp, ruled):
    """They keep their id, and steer the others, unless the knowledge base has never heard of it."""
    keeping = ruled(overwrite=False)
    text = "Paris and Jordan"

    def ids(pipeline, **given):
        doc = pipeline.make_doc(text)
        pipeline.get_pipe("entity_ruler")(doc)
        for token in doc:
            token.ent_kb_id_ = given.get(token.text, "")
        pipeline.get_pipe("sgtb_linker")(doc)
        return {ent.text: ent.kb_id_ for ent in doc.ents}, doc

    assert ids(keeping, Jordan="Q1")[0]["Jordan"] == "Q1"
    assert ids(keeping, Jordan="NIL")[0]["Jordan"] == "NIL"
    assert ids(nlp, Jordan="Q1")[0]["Jordan"] not in ("Q1", "")
    one, doc = ids(keeping, Paris="Paris Hilton")
    other, _ = ids(keeping, Paris="Paris")
    assert one["Paris"] == "Paris Hilton"
    assert other["Paris"] == "Paris"
    first = doc._.sgtb.links[0]
    assert (first.entity, first.fixed) == ("Paris Hilton", True)
    fixed = Request(text, (Span(0, 5, "Paris Hilton"), Span(10, 16)))
    expected = keeping.get_pipe("sgtb_linker").linker.link(fixed).links[1]
    assert exact(doc.ents[1]._.sgtb) == exact(expected)


def test_linking_twice_gives_the_same(nlp, ruled):
    doc = nlp(TEXT)
    expected = exact(doc._.sgtb)
    assert exact(nlp.get_pipe("sgtb_linker")(doc)._.sgtb) == expected
    kept = ruled(overwrite=False).get_pipe("sgtb_linker")(doc)
    assert exact(kept._.sgtb) == expected, "what was known of them is not replaced by: fixed"


def test_links_of_entities_that_are_gone_go(nlp):
    doc = nlp(TEXT)
    doc.ents = doc.ents[:2]
    assert len(nlp.get_pipe("sgtb_linker")(doc)._.sgtb.links) == 2


# Docs that go somewhere


def same(one, other):
    return exact(one._.sgtb) == exact(other._.sgtb) and [e.kb_id_ for e in one.ents] == [
        e.kb_id_ for e in other.ents
    ]


def test_links_survive_with_the_doc(nlp):
    doc = nlp(TEXT)
    assert len(doc._.sgtb.links) == 8
    stored = DocBin(store_user_data=True, docs=[doc])
    (binned,) = DocBin().from_bytes(stored.to_bytes()).get_docs(spacy.blank("en").vocab)
    fresh = Doc(spacy.blank("en").vocab).from_bytes(doc.to_bytes())
    for other in (binned, fresh, doc.copy(), pickle.loads(pickle.dumps(doc))):
        assert same(doc, other)


def test_links_of_joined_and_cut_docs(nlp):
    doc = nlp(TEXT)
    links = doc._.sgtb.links
    joined = Doc.from_docs([nlp("Amman and Petra."), doc])
    moved = joined._.sgtb.links[2:]
    assert [link.entity for link in moved] == [link.entity for link in links]
    assert all(link.text == joined.text[link.start : link.end] for link in moved)
    for link, other in zip(links, moved, strict=True):
        places = [None if r.mention is None else r.mention + 2 for r in link.reasons]
        assert [reason.mention for reason in other.reasons] == places
    part = doc[2:12].as_doc(copy_user_data=True)
    assert [link.entity for link in part._.sgtb.links] == [
        ent.kb_id_ for ent in part.ents if ent.kb_id_
    ]
    assert all(
        r.mention is None or part._.sgtb.links[r.mention].text.endswith(r.name)
        for link in part._.sgtb.links
        for r in link.reasons
    )


# Many Docs


@pytest.mark.parametrize("batch_size", [1, 7, 1000])
def test_a_pipe_gives_what_single_calls_give(nlp, documents, batch_size):
    texts = [document.text for document in documents[::3]]
    piped = list(nlp.pipe(texts, batch_size=batch_size))
    assert [doc.text for doc in piped] == texts
    assert all(same(nlp(text), doc) for text, doc in zip(texts, piped, strict=True))


def small_linker(**settings):
    return SgtbLinker("small", ComponentSettings(LinkerSettings(**settings)), ComponentSource())


def test_a_doc_that_cannot_be_linked_goes_to_the_error_handler(nlp):
    component = small_linker(max_characters=20)
    ruler = nlp.get_pipe("entity_ruler")
    docs = [ruler(nlp.make_doc(text)) for text in ("Amman", "Petra " * 10, "Utah and Petra")]
    with pytest.raises(RequestError, match="60 characters"):
        list(component.pipe(iter(docs)))
    failed = []
    component.set_error_handler(lambda name, proc, docs, error: failed.append((name, docs, error)))
    assert list(component.pipe(iter(docs))) == [docs[0], docs[2]]
    ((name, (doc,), error),) = failed
    assert (name, doc, type(error)) == ("small", docs[1], RequestError)
    assert docs[2].ents[1].kb_id_ == "Petra"


def test_several_threads(ruled, documents):
    """The linker is loaded once, by whoever comes first."""
    nlp = ruled()
    texts = [document.text for document in documents[::2]]
    docs = [nlp.make_doc(text) for text in texts]
    expected = [exact(doc._.sgtb) for doc in ruled().pipe(texts)]
    for doc in docs:
        nlp.get_pipe("entity_ruler")(doc)
    component, met = nlp.get_pipe("sgtb_linker"), []

    def work(own):
        met.append(component.linker)
        for doc in own:
            component(doc)

    threads = [threading.Thread(target=work, args=(docs[i::4],)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(met) == 4
    assert len(set(map(id, met))) == 1
    assert [exact(doc._.sgtb) for doc in docs] == expected


# Scores and training


def test_scores_are_spacys(nlp, documents):
    examples, right, wrong, missed = [], 0, 0, 0
    for document in documents:
        reference = nlp.make_doc(document.text)
        spans = [
            reference.char_span(m.start, m.end, label="NAME", kb_id=m.gold)
            for m in document.mentions
        ]
        reference.ents = [span for span in spans if span is not None]
        examples.append(Example(nlp.make_doc(document.text), reference))
        said = {(e.start_char, e.end_char): e.kb_id_ for e in nlp(document.text).ents}
        for ent in reference.ents:
            answer = said.get((ent.start_char, ent.end_char))
            if answer is not None:
                right += answer == ent.kb_id_
                wrong += answer not in (ent.kb_id_, "NIL")
                missed += answer != ent.kb_id_
    scores = nlp.evaluate(examples)
    assert right > 100
    assert scores["nel_micro_p"] == pytest.approx(right / (right + wrong))
    assert scores["nel_micro_r"] == pytest.approx(right / (right + missed))
    assert scores["nel_micro_f"] == pytest.approx(2 * right / (2 * right + wrong + missed))
    assert scores["nel_micro_f"] > 0.9


@pytest.mark.parametrize(
    ("gold", "answer", "counts"),
    [
        ("NIL", "NIL", (0, 0, 0)), ("", "NIL", (0, 0, 0)), ("", "", (0, 0, 0)),
        ("Q1", "Q1", (1, 0, 0)), ("Q1", "NIL", (0, 0, 1)), ("Q1", "", (0, 0, 1)),
        ("NIL", "Q1", (0, 1, 0)), ("Q1", "Q2", (0, 1, 1)),
    ],
)  # fmt: skip
def test_what_counts_as_what(nlp, gold, answer, counts):
    docs = []
    for id_ in (answer, gold, "Q9", "Q9"):
        doc = nlp.make_doc("Amman")
        doc.ents = [doc.char_span(0, 5, label="NAME", kb_id=id_)]
        docs.append(doc)
    # One right answer besides, so that the shares tell the counts.
    examples = [Example(docs[0], docs[1]), Example(docs[2], docs[3])]
    scores = score_links(examples)
    right, wrong, missed = counts
    assert scores["nel_micro_p"] == pytest.approx((1 + right) / (1 + right + wrong))
    assert scores["nel_micro_r"] == pytest.approx((1 + right) / (1 + right + missed))


def test_training_is_somewhere_else(ruled):
    nlp = ruled()
    nlp.initialize()
    example = Example.from_dict(nlp.make_doc("Amman"), {"entities": [(0, 5, "NAME")]})
    with pytest.raises(SgtbError, match=r"`sgtb train`.*\"sgtb_linker\" among the frozen"):
        nlp.update([example])
    nlp.update([example], exclude=["sgtb_linker"])


def test_initialize_may_name_the_linker(ruled, tmp_path):
    Linker.starter().save_pretrained(tmp_path / "own")
    nlp = ruled(model=str(tmp_path / "nowhere"))
    nlp.config["initialize"]["components"]["sgtb_linker"] = {"model": str(tmp_path / "own")}
    nlp.initialize()
    assert nlp.get_pipe("sgtb_linker").linker.kb.path == tmp_path / "own" / "kb"


def test_the_starter_by_name_and_with_another_knowledge_base(ruled, tmp_path):
    build_kb(ENTITIES, tmp_path / "kb").close()
    for config in ({"kb": str(tmp_path / "kb")}, {"model": "starter", "kb": str(tmp_path / "kb")}):
        assert ruled(**config).get_pipe("sgtb_linker").linker.kb.path == tmp_path / "kb"
    assert ruled(model="starter").get_pipe("sgtb_linker").linker.kb.path == KB


def test_initialize_replaces_model_and_knowledge_base_separately(ruled, tmp_path):
    """A knowledge base alone was used with the starter's model, whatever the config says."""
    build_kb(ENTITIES, tmp_path / "kb").close()
    Linker.starter().save_pretrained(tmp_path / "own", kb=False)
    (tmp_path / "own" / "model.safetensors").rename(tmp_path / "model")
    for config, block in (
        ({"model": str(tmp_path / "nowhere")}, {"kb": str(tmp_path / "kb")}),
        ({"kb": str(tmp_path / "nowhere")}, {"model": str(tmp_path / "model")}),
    ):
        nlp = ruled(**config)
        nlp.config["initialize"]["components"]["sgtb_linker"] = block
        with pytest.raises(SgtbError, match="nowhere"):
            nlp.initialize()
    nlp = ruled(model=str(tmp_path / "model"))
    nlp.config["initialize"]["components"]["sgtb_linker"] = {"kb": str(tmp_path / "kb")}
    nlp.initialize()
    assert nlp.get_pipe("sgtb_linker").linker.kb.path == tmp_path / "kb"


def test_copies_of_a_component(nlp):
    doc = nlp(TEXT)
    component = nlp.get_pipe("sgtb_linker")
    for copy in (pickle.loads(pickle.dumps(component)), deepcopy(component)):
        assert same(doc, copy(nlp.get_pipe("entity_ruler")(nlp.make_doc(TEXT))))
        assert copy.scorer is component.scorer
