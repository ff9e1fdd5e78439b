"""Confidence on AIDA: what is counted, and what the report makes of it."""

import json
from dataclasses import replace

import numpy as np
import pytest

from experiments import confidence_report as report
from experiments.aida_linker import Trial
from experiments.confidence_aida import (
    CANDIDATE,
    LISTED,
    PRECISE,
    ConfidenceResult,
    System,
    error_floor,
    left_out_error,
    score_split,
)
from experiments.starter_data import read_starter
from sgtb.core.records import NIL, Document
from sgtb.evaluation import calibration
from sgtb.kb import KnowledgeBase
from sgtb.linking.link_options import LinkerSettings
from sgtb.linking.linker import Linker
from sgtb.linking.pipeline import LinkPipeline
from sgtb.linking.training.linker_training import train_linker
from sgtb.linking.training.recalibration import observations, recalibrate
from sgtb.starter import KB
from tests.helpers.trained_linkers import QUICK


def with_nil(documents) -> list[Document]:
    """Every fifth mention is NIL, one more is without annotation, and one has no candidates."""
    rng = np.random.default_rng(1)
    return [
        replace(
            d,
            mentions=tuple(
                replace(
                    m, gold=str(rng.choice([m.gold, NIL], p=[0.8, 0.2])),
                    text="Xyzzy" if rng.random() < 0.1 else m.text,
                )
                for m in d.mentions[:-1]
            )
            + tuple(replace(m, gold=None) for m in d.mentions[-1:]),
        )
        for d in documents
    ]  # fmt: skip


@pytest.fixture(scope="module")
def kb():
    with KnowledgeBase.open(KB) as kb:
        yield kb


@pytest.fixture(scope="module")
def documents():
    return with_nil(read_starter()["dev"][:40])


@pytest.fixture(scope="module")
def model(kb):
    settings = replace(QUICK, nil="candidate", hidden=0.3)
    return train_linker(kb, read_starter()["train"], (), settings)


@pytest.fixture(scope="module")
def judged(model, kb, documents):
    return score_split(model, kb, "by name", documents)


def test_everything_is_counted_as_one_would_by_hand(model, kb, documents, judged):
    linkers = [Linker(model, kb, LinkerSettings(nil=nil)) for nil in (None, 0.0)]
    rows = [
        (mention, *links)
        for document, *both in zip(documents, *(x.pipe(documents) for x in linkers), strict=True)
        for mention, *links in zip(document.mentions, *(one.links for one in both), strict=True)
        if mention.gold is not None
    ]
    linked = [m for m, _, _ in rows if m.in_kb]
    assert judged.in_kb == sum(link.entity == m.gold for m, link, _ in rows) / len(linked)
    assert judged.always == sum(best.entity == m.gold for m, _, best in rows) / len(linked)
    said = [(m, link) for m, link, _ in rows if link.entity is None]
    nil = judged.scores.nil
    assert (nil.predicted, nil.right) == (len(said), sum(m.gold == NIL for m, _ in said))
    decided = [(m, link) for m, link, _ in rows if link.candidates]
    assert 0 < len(decided) < len(rows)
    assert judged.after.n == judged.before.n == len(decided)
    assert judged.decided.nil.gold == sum(m.gold == NIL for m, _ in decided)
    assert judged.decided.nil.predicted == sum(link.entity is None for _, link in decided)
    assert judged.decided.links == replace(
        judged.scores.links, gold=sum(m.in_kb for m, _ in decided)
    )
    right = [(link.entity or NIL) == m.gold for m, link in decided]
    assert judged.after.accuracy == np.mean(right)
    assert judged.curve.in_kb[0] == pytest.approx(judged.always)


def test_few_answers_have_an_error_even_if_confidence_is_exact(judged):
    assert 0 < judged.floor < 0.2
    # One bin: the mean absolute difference of a share of 100 answers to its expectation.
    assert error_floor(np.full(100, 0.5)) == pytest.approx(0.5 * np.sqrt(2 / np.pi / 100), rel=0.15)
    assert error_floor(np.full(10_000, 0.5)) < 0.006


def test_a_set_is_calibrated_without_itself(model, kb, documents):
    pipeline = LinkPipeline(model, kb, LinkerSettings())
    halves = documents[::2], documents[1::2]
    observed = {name: observations(pipeline, half) for name, half in zip("ab", halves, strict=True)}
    linker = Linker(recalibrate(pipeline, halves[1]).model, kb)
    pairs = [
        (link.confidence, (link.entity or NIL) == mention.gold)
        for document, linked in zip(halves[0], linker.pipe(halves[0]), strict=True)
        for mention, link in zip(document.mentions, linked.links, strict=True)
        if mention.gold is not None and link.candidates
    ]
    expected = calibration(*map(np.array, zip(*pairs, strict=True))).ece
    assert left_out_error(model, observed, "a") == pytest.approx(expected, abs=1e-9)


@pytest.fixture(scope="module")
def result(model, judged):
    both = {"dev": judged, "test": judged}
    systems = {name: System(model, both) for name in (LISTED, CANDIDATE, PRECISE)}
    return ConfidenceResult(Trial("bsg", 0), systems, {"ace": judged}, {"ace": 0.0625}, 1.0)


def test_the_report_is_plain_data_in_tables(result):
    record = json.loads(json.dumps(report.as_json(result), allow_nan=False))
    sure, nil = [*report.confidence_rows(record)], [*report.nil_rows(record)]
    assert {len(row) for row in sure} == {len(report.CONFIDENCE_HEADINGS)}
    assert {len(row) for row in nil} == {len(report.NIL_HEADINGS)}
    assert [row[:2] for row in nil[:2]] == [("candidate", "dev"), ("candidate", "test")]
    test = record["systems"][CANDIDATE]["test"]
    assert [row[6] for row in sure] == ["", "", "", "0.062"]
    lost = test["in_kb_accuracy_if_all_linked"] - test["in_kb_accuracy"]
    assert test["in_kb_accuracy_lost"] == pytest.approx(lost, abs=0.011)
    notes = " ".join(report.notes(record))
    assert f"{test['all_mentions']['nil']['gold']:,} NIL mentions" in notes


def test_files_and_figures(result, tmp_path):
    record = report.as_json(result)
    report.write_report(result, record, tmp_path / "out")
    assert json.loads((tmp_path / "out" / "confidence.json").read_text()) == record
    written = (tmp_path / "out" / "confidence.md").read_text()
    assert "| ECE default |" in written
    assert "| ace " in written
    assert "\n\n\n" not in written
    for name in ("reliability.png", "nil.png"):
        assert (tmp_path / "out" / name).read_bytes().startswith(b"\x89PNG")
