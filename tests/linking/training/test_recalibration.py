"""Recalibration: confidence of a trained linker, fitted to other documents."""

from dataclasses import replace

import numpy as np
import pytest

import sgtb
from sgtb.core.errors import ProblemsError, SettingsError
from sgtb.core.records import NIL
from sgtb.evaluation import calibration
from sgtb.linking.calibration.confidence import Confidence
from sgtb.linking.linker import Linker
from sgtb.linking.training.recalibration import recalibrate

SURE = Confidence((3.0, 1.0, 0.0, 0.0, 0.0), (-3.0, 0.0, 0.0, 0.0, 0.0))


@pytest.fixture(scope="module")
def overconfident(linker):
    return Linker(replace(linker.model, confidence=SURE), linker.kb)


@pytest.fixture(scope="module")
def documents(starter):
    return [*starter["dev"], *starter["test"][:40]]


@pytest.fixture(scope="module")
def fitted(overconfident, documents):
    return recalibrate(overconfident.pipeline, documents)


def answers_of(linker, documents):
    """Confidence of the links of annotated mentions with candidates, and whether they are right."""
    pairs = [
        (link.confidence, (link.entity or NIL) == mention.gold)
        for document, linked in zip(documents, linker.pipe(documents), strict=True)
        for mention, link in zip(document.mentions, linked.links, strict=True)
        if mention.gold is not None and link.candidates
    ]
    return sorted(pairs)


def test_what_is_observed_is_what_the_linker_answers(overconfident, documents, fitted):
    found = sorted(zip(*map(np.ndarray.tolist, fitted.before), strict=True))
    np.testing.assert_allclose(found, answers_of(overconfident, documents), atol=1e-12)
    assert fitted.mentions == len(found)


def test_the_calibration_error_falls_on_documents_that_were_left_out(fitted):
    before, after = calibration(*fitted.before), calibration(*fitted.after)
    assert after.ece < before.ece / 2
    assert abs(after.confidence - after.accuracy) < 0.05


def test_only_confidence_nil_rule_and_origin_change(overconfident, fitted):
    old, new = vars(overconfident.model), vars(fitted.model)
    changed = {name for name in old if old[name] is not new[name]}
    assert changed == {"confidence", "nil", "origin"}
    assert fitted.model.nil.kind == overconfident.model.nil.kind
    assert fitted.model.origin["calibration"]["documents"] == fitted.documents


def test_few_documents_change_little(overconfident, documents):
    def distance(fitted):
        weights = np.array([fitted.model.confidence.link, SURE.link])
        return np.abs(weights[0] - weights[1]).max()

    few, many = (recalibrate(overconfident.pipeline, documents[:n]) for n in (1, 60))
    assert distance(few) < distance(many)


def test_precise_links_can_be_wanted(overconfident, documents):
    precise = recalibrate(overconfident.pipeline, documents, nil_precision=0.99)
    assert precise.model.nil.threshold > 0


def test_nothing_to_calibrate_by(overconfident, documents):
    bare = [replace(document, mentions=()) for document in documents]
    for given in ([], bare):
        with pytest.raises(ProblemsError, match="nothing to calibrate by"):
            recalibrate(overconfident.pipeline, given)
    with pytest.raises(SettingsError, match="precision"):
        recalibrate(overconfident.pipeline, documents, nil_precision=2)


def test_the_shortcut_returns_a_linker(overconfident, documents):
    linker = sgtb.calibrate(overconfident, documents)
    assert linker.model.confidence != overconfident.model.confidence
    text = documents[0].text
    assert [one.start for one in linker(text).links] == [
        one.start for one in overconfident(text).links
    ]
