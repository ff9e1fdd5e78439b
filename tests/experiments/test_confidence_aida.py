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
    THRESHOLD,
    ConfidenceResult,
    System,
    score_split,
)
from experiments.starter_data import read_starter
from sgtb.core.records import NIL, Document
from sgtb.kb import KnowledgeBase
from sgtb.linking.link_options import LinkerSettings
from sgtb.linking.linker import Linker
from sgtb.linking.linker_model import LinkerModel
from sgtb.linking.training.calibrator import calibrate
from sgtb.starter import KB, MODEL


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
def fitted(kb, documents):
    return calibrate(LinkerModel.load(MODEL), kb, documents, "threshold", 0.9)


@pytest.fixture(scope="module")
def judged(fitted, kb, documents):
    return score_split(fitted.model, kb, "by name", documents)


def test_everything_is_counted_as_one_would_by_hand(fitted, kb, documents, judged):
    linkers = [Linker(fitted.model, kb, LinkerSettings(nil=nil)) for nil in (None, 0.0)]
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
    assert judged.after.ece < judged.before.ece
    at = int(np.searchsorted(judged.curve.threshold, fitted.model.nil.threshold))
    assert judged.curve.recall[at] == pytest.approx(nil.recall)
    assert judged.curve.in_kb[at] == pytest.approx(judged.in_kb)


@pytest.fixture(scope="module")
def result(fitted, judged):
    both = {"dev": judged, "test": judged}
    names = (LISTED, THRESHOLD, CANDIDATE, PRECISE)
    systems = {name: System(fitted.model, fitted, both) for name in names}
    return ConfidenceResult(Trial("bsg", 0), systems, THRESHOLD, 1.0)


def test_the_report_is_plain_data_in_tables(result):
    record = json.loads(json.dumps(report.as_json(result), allow_nan=False))
    sure, nil = [*report.confidence_rows(record)], [*report.nil_rows(record)]
    assert {len(row) for row in sure} == {len(report.CONFIDENCE_HEADINGS)}
    assert {len(row) for row in nil} == {len(report.NIL_HEADINGS)}
    assert [row[:2] for row in nil[:2]] == [("threshold", "dev"), ("threshold", "test")]
    test = record["systems"][THRESHOLD]["test"]
    lost = test["in_kb_accuracy_if_all_linked"] - test["in_kb_accuracy"]
    assert test["in_kb_accuracy_lost"] == pytest.approx(lost, abs=0.011)
    notes = " ".join(report.notes(record))
    assert f"{test['all_mentions']['nil']['gold']:,} NIL mentions" in notes


def test_files_and_figures(result, tmp_path):
    record = report.as_json(result)
    report.write_report(result, record, tmp_path / "out")
    assert json.loads((tmp_path / "out" / "confidence.json").read_text()) == record
    written = (tmp_path / "out" / "confidence.md").read_text()
    assert "| ECE before |" in written
    assert "\n\n\n" not in written
    for name in ("reliability.png", "nil.png"):
        assert (tmp_path / "out" / name).read_bytes().startswith(b"\x89PNG")
