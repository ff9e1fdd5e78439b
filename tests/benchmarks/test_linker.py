"""The linker's benchmark: what it links and what it says of it, never the timings themselves."""

import io
import json
from dataclasses import replace

import pytest
from rich.console import Console

from benchmarks import linker as bench
from benchmarks import linker_probe
from benchmarks.kb_generated import ListShape, write_list
from benchmarks.linker_aida import aida_subjects
from benchmarks.linker_fresh import FreshExtent, measure_cold
from benchmarks.linker_speed import Subject, latency, median_document, throughput
from benchmarks.linker_stages import apart, stages
from benchmarks.linker_table import memory_lines, notes_of, print_tables, stage_lines
from benchmarks.linker_texts import NAMES, written
from experiments.aida_data import SPLITS
from sgtb.kb import KnowledgeBase
from sgtb.kb.build.list_build import build_list
from sgtb.linking.linker_model import LinkerModel
from tests.helpers.experiment_builders import aida_of, make_small
from tests.helpers.linking_builders import document, documents, small_setting


@pytest.fixture(scope="module")
def generated(tmp_path_factory):
    """A generated knowledge base, and a linker trained on texts about it."""
    folder = tmp_path_factory.mktemp("generated")
    write_list(folder / "list.jsonl", ListShape(400))
    build_list(folder / "list.jsonl", folder / "kb")
    linker_probe.train(str(folder / "kb"), str(folder / "model"), "12")
    return folder


def test_generated_documents_name_entities_that_are_linked(generated):
    with KnowledgeBase.open(generated / "kb") as kb:
        first, *others = written(kb, 5)
        assert [first, *others] == list(written(kb, 5))
        assert first not in list(written(kb, 5, seed=1))
        for text in (first, *others):
            assert 1 < len(text.mentions) <= NAMES
            assert len({mention.gold for mention in text.mentions}) == len(text.mentions)
            for mention in text.mentions:
                assert text.text[mention.start : mention.end] == mention.text
                names = {spelling.text for spelling in kb.spellings_of(kb.number(mention.gold))}
                assert mention.text in names
        root = kb.number(first.mentions[0].gold)
        linked = {kb.id_of(int(i)) for i in kb.links(root)}
        assert linked & {mention.gold for mention in first.mentions[1:]}


def test_memory_of_generated_texts(generated):
    texts = generated / "texts.json"
    told = linker_probe.write(str(generated / "kb"), str(texts), "3")
    assert told["documents"] == len(json.loads(texts.read_text())) == 3
    place, model = str(generated / "kb"), str(generated / "model")
    record = linker_probe.memory(place, model, str(texts))
    assert record["entities"] == 400
    assert record["linked"] > 3 * NAMES / 2, "most names are found and linked"
    # The process of all tests is measured here, and may give memory back meanwhile.
    assert min(record["imported"]["rss_mb"], record["after"]["rss_mb"]) > 0


@pytest.fixture(scope="module")
def subject(generated):
    with KnowledgeBase.open(generated / "kb") as kb:
        texts = [one.text for one in written(kb, 4)]
    return Subject(LinkerModel.load(generated / "model"), generated / "kb", texts[1:], texts[:1])


@pytest.mark.parametrize("reasons", [False, True])
def test_throughput_counts_documents_and_mentions(subject, reasons):
    run = throughput(subject, 1, 2, reasons)
    assert (run["documents"], run["passes"], run["reasons"]) == (3, 2, reasons)
    assert run["mentions"] > 3
    assert min(run["docs_per_second"], run["first_docs_per_second"], run["processor_ms"]) > 0


def test_latency_of_one_document(subject):
    with subject.linker() as linker:
        run = latency(linker, subject.documents[0], 4)
        assert run["mentions"] == len(linker.link(subject.documents[0]).links)
    assert 0 < run["p50_ms"] <= run["p99_ms"]


def test_stages_are_those_of_the_linker(subject):
    taken = stages(subject)
    assert {"candidates", "features", "search", "counterfactuals", "reasons"} <= set(taken)
    assert taken["features"] > 0


def test_stages_do_not_overlap():
    taken = {
        "chunk": 1.0, "find": 2.0, "lay_out": 5.0, "table": 4.0, "featurizer": 3.0, "pack": 0.75,
        "shortlist": 0.25,
        "decode": 6.0, "counterfactuals": 2.0, "decide": 9.0, "links": 1.0, "explain": 14.0,
        "links with reasons": 3.0,
    }  # fmt: skip
    parted = apart(taken)
    assert parted["facts of entities"] == 3.0
    assert parted["reasons"] == 5.0 + 2.0
    plain = sum(ms for stage, ms in parted.items() if stage != "reasons")
    assert plain == 1 + 5 + 4 + 3 + 1 + 8 + 1
    lines = stage_lines({"spans": parted, "texts": parted})
    shares = [line.form.format(line.value) for line in lines]
    assert shares[0] == "23.00 ms"
    assert "6.00 ms, 26%" in shares


def test_the_document_of_median_length():
    texts = [document(f"d{n}", *["word"] * n) for n in (5, 1, 9, 3, 7)]
    assert median_document(texts).id == "d5"


@pytest.fixture
def data(monkeypatch, tmp_path):
    setting = small_setting(documents(24))
    make_small(monkeypatch, setting.words)
    return aida_of(setting)


def test_fewer_documents_have_a_model_of_their_own(data):
    from benchmarks.linker_aida import fewer_documents

    fewer = fewer_documents(data, 5)
    assert [len(fewer.documents(split)) for split in SPLITS] == [5, 0, 4]
    assert fewer.documents("train") == data.documents("train")[:5]
    assert fewer.fingerprint != data.fingerprint


def test_subjects_are_given_spans_or_nothing_but_text(data, tmp_path, monkeypatch, generated):
    model = LinkerModel.load(generated / "model")
    kept = []

    def model_of(data, cache, kb, way, trial):
        kept.append(way)
        return replace(model, origin={"way": way})

    monkeypatch.setattr("benchmarks.linker_aida.kept_model", model_of)
    monkeypatch.setattr(
        "benchmarks.linker_aida.LinkerCache.kb", lambda self, data: KnowledgeBase(generated / "kb")
    )
    subjects = aida_subjects(data, tmp_path, None, 2, print)
    assert kept == ["listed", "by name"]
    assert subjects.spans.model.origin == {"way": "listed"}
    assert [one.text for one in subjects.spans.documents] == list(subjects.texts.documents)
    assert len(subjects.documents) == 2
    assert subjects.trained_on == 24
    asked = subjects.spans.documents[0].mentions
    assert all(mention.in_kb or mention.candidates == () for mention in asked)


def test_a_cold_start_needs_the_starter(monkeypatch, tmp_path):
    monkeypatch.setattr("benchmarks.linker_fresh.MODEL", tmp_path / "absent")
    said = []
    assert measure_cold(FreshExtent(ListShape(10), 1, 1, 1), said.append) is None
    assert "make starter" in said[0]


def test_without_data_only_fresh_processes_are_measured(monkeypatch, tmp_path):
    monkeypatch.setenv("SGTB_DATA", str(tmp_path))
    monkeypatch.setattr(bench, "measure_cold", lambda extent, say: {"seconds": 1.23456})
    result = bench.measure(bench.QUICK, [bench.Part.spans, bench.Part.cold], tmp_path)
    assert "spans" not in result
    assert result["cold"] == {"seconds": 1.235}


def _run(jobs, reasons=False):
    return {
        "jobs": jobs, "reasons": reasons, "documents": 10, "mentions": 205, "passes": 3,
        "first_docs_per_second": 50.0, "docs_per_second": 100.0 * jobs,
        "processor_ms": 9.5 if jobs == 1 else None,
    }  # fmt: skip


def _memory(rss):
    resident = {"rss_mb": rss, "anon_mb": 200.0, "file_mb": 100.0}
    return {
        "entities": 1_000_000, "documents": 200, "mentions": 3_000, "linked": 2_900,
        "imported": resident, "loaded": resident, "after": resident,
    }  # fmt: skip


def _result():
    one = {"calls": 300, "mentions": 15, "p50_ms": 9.0, "p99_ms": 14.0, "processor_p50_ms": 8.0}
    return {
        "quick": False,
        "machine": {"cpus": 2, "load_at_start": 3.4},
        "aida": {"documents": 231, "trained_on": 946, "plan": "bsg", "trees": 275},
        "spans": {"plain 1": _run(1), "plain 2": _run(2)},
        "texts": {"plain 1": _run(1), "reasons 1": _run(1, True)},
        "latency": {"characters": 900, "plain": one, "reasons": one},
        "memory": {
            "generated": _memory(420.0), "starter": None, "model_bytes": 35e6, "trained_on": 200,
        },
        "cold": {"seconds": 1.1, "slowest_seconds": 1.3, "version_seconds": 0.2, "starts": 5},
    }  # fmt: skip


@pytest.mark.parametrize("markdown", [False, True])
def test_tables_show_every_part(markdown):
    shown = io.StringIO()
    print_tables(_result(), Console(file=shown, width=130), markdown)
    text = shown.getvalue()
    for words in ("200.0 docs/s", "20.5", "14.00 ms", "420 MB", "< 500", "1.10 s"):
        assert words in text
    assert ("| one process" in text) == markdown


def test_memory_is_held_against_its_limit():
    lines = memory_lines({"generated": _memory(501.0), "starter": _memory(900.0)})
    assert [line.met for line in lines if line.met is not None] == [False]


def test_notes_say_what_is_warm_and_who_else_was_running():
    text = " ".join(notes_of(_result()))
    assert "the load was 3.4 on 2 cores" in text
    assert "facts of entities that were met before are kept" in text
    assert "300 calls" in text
    quiet = _result()
    quiet["machine"]["load_at_start"] = 0.3
    assert "Other programs" not in " ".join(notes_of(quiet))
