"""Evaluations: the figures are those of the metrics, whatever the jobs and however data comes."""

import json
import math
import shutil
from dataclasses import replace

import numpy as np
import pytest

from sgtb.core.errors import SettingsError
from sgtb.core.records import NIL
from sgtb.evaluation import (
    SystemAnswers,
    bag_of_titles,
    breakdown,
    calibration,
    candidate_recall,
    in_kb_accuracy,
    nil_scores,
    paired_bootstrap,
)
from sgtb.evaluation.linkers import EvaluationSettings, evaluate_linkers
from sgtb.evaluation.linkers.linker_evaluation import best_link
from sgtb.evaluation.linkers.resolved_gold import resolve_gold, titles_of
from sgtb.evaluation.linkers.systems import Baseline
from sgtb.kb import KnowledgeBase
from sgtb.kb.update import remove
from sgtb.linking.link_options import LinkerSettings
from sgtb.linking.linker import Linker
from sgtb.linking.links import Alternative, Link
from sgtb.linking.nil_candidate import TrainingCounts
from sgtb.linking.parallel import BATCH

FEW = EvaluationSettings(samples=99)


@pytest.fixture(scope="module")
def found(linker, mixed):
    return evaluate_linkers({"one": linker}, {"data": mixed}, FEW, baselines=["prior"])


@pytest.fixture(scope="module")
def linked(linker, mixed):
    """All documents at once, as the slow way has them."""
    with Linker(linker.model, linker.kb.path, LinkerSettings(candidates=1000)) as all_of_them:
        return list(all_of_them.pipe(mixed))


def test_scores_are_those_of_the_metrics(linker, mixed, found, linked):
    asked = list(resolve_gold(linker.kb, mixed))
    inside, annotated = [a.known for a in asked], [a.annotated for a in asked]
    candidates = [[[o.entity for o in link.candidates] for link in d.links] for d in linked]
    ids = {m.gold for d in annotated for m in d.mentions}
    answers = {
        "one": SystemAnswers.of(inside, [[link.entity for link in d.links] for d in linked]),
        "prior": SystemAnswers.of(inside, [list(Baseline(linker.kb, "prior")(d)) for d in linked]),
    }
    for name, said in answers.items():
        scores = found["data"].systems[name]
        whole, named = in_kb_accuracy(inside, said), in_kb_accuracy(annotated, said)
        assert (scores.accuracy.micro, scores.accuracy.macro) == (whole.micro, whole.macro)
        assert (scores.named.correct, scores.named.total) == (named.correct, named.total)
        assert scores.recall == candidate_recall(inside, candidates)
        several = [
            entity == mention.gold
            for document, listed, row in zip(inside, candidates, said.entities, strict=True)
            for mention, ids, entity in zip(document.mentions, listed, row, strict=True)
            if mention.gold in ids and len(ids) > 1
        ]
        assert (scores.ambiguous.correct, scores.ambiguous.total) == (sum(several), len(several))
        titles = titles_of(linker.kb, {*ids, *(e for row in said.entities for e in row)})
        bag = bag_of_titles(annotated, said, title_of=titles)
        assert (scores.titles.right, scores.titles.f1) == (bag.right, bag.f1)
        assert scores.nil == nil_scores(inside, said)
        for by in ("type", "ambiguity", "length", "words"):
            assert scores.slices[by] == breakdown(inside, said, by, candidates)
    first, second = (found["data"].systems[name] for name in answers)
    wanted = paired_bootstrap(first.accuracy, second.accuracy, n_samples=99)
    assert second.difference == wanted
    assert first.difference is None


def test_confidences_are_judged_where_something_was_decided(mixed, linker, found, linked):
    golds = [m.gold for a in resolve_gold(linker.kb, mixed) for m in a.known.mentions]
    links = [link for d in linked for link in d.links]
    asked = [(link, gold) for link, gold in zip(links, golds, strict=True) if link.candidates]
    confidence = np.array([link.confidence for link, _ in asked])
    right = np.array([(link.entity or NIL) == gold for link, gold in asked])
    scores = found["data"].systems["one"]
    assert scores.calibration == calibration(confidence, right)
    known = [(best_link(link), gold) for link, gold in asked if gold not in (None, NIL)]
    confidence = np.array([confidence for (_, confidence), _ in known])
    right = np.array([entity == gold for (entity, _), gold in known])
    assert scores.calibration_in_kb == calibration(confidence, right)
    assert scores.curve is not None
    assert found["data"].systems["prior"].calibration is None
    assert found["data"].systems["prior"].calibration_in_kb is None
    assert found["data"].systems["prior"].curve is None


def test_data_sets_say_what_they_hold(mixed, found):
    golds = [m.gold for d in mixed for m in d.mentions]
    scores = found["data"]
    assert scores.documents == len(mixed)
    assert scores.mentions == len(golds)
    assert scores.unknown == golds.count("Q999") > 0
    assert scores.nil == golds.count(NIL) > 0
    assert scores.known == len(golds) - scores.unknown - scores.nil


def test_mentions_without_annotation_are_linked_but_not_counted(linker, documents, found):
    bare = [
        replace(d, mentions=tuple(replace(m, gold=None) for m in d.mentions)) for d in documents
    ]
    both = evaluate_linkers({"one": linker}, {"none": bare[:2], "all": documents[:2]}, FEW)
    none = both["none"]
    assert none.mentions == both["all"].mentions
    assert (none.known, none.unknown, none.nil) == (0, 0, 0)
    scores = none.systems["one"]
    assert math.isnan(scores.accuracy.micro)
    assert len(scores.wrong) == 0
    assert scores.intervals == {}
    json.dumps(both.to_dict(), allow_nan=False)


def test_jobs_change_nothing(linker, mixed, found):
    again = evaluate_linkers({"one": linker}, {"data": mixed}, FEW, baselines=["prior"], jobs=2)
    assert again.to_dict() == found.to_dict()


def test_splits_are_counted_apart(linker, documents):
    split = [replace(d, split="dev" if i < 4 else "test") for i, d in enumerate(documents[:10])]
    sets = evaluate_linkers({"one": linker}, {"x": split}, FEW).sets
    assert [(one.name, one.split, one.documents) for one in sets] == [
        ("x, dev", "dev", 4), ("x, test", "test", 6),
    ]  # fmt: skip
    (only,) = evaluate_linkers({"one": linker}, {"x": split[:2]}, FEW).sets
    assert only.name == "x"


def test_models_that_know_what_they_were_trained_on_are_judged_by_it(linker, documents):
    gold = documents[0].mentions[0].gold
    model = replace(linker.model, training_counts=TrainingCounts({gold: 3}))
    knowing = Linker(model, linker.kb, linker.settings)
    scores = evaluate_linkers({"one": knowing}, {"x": documents}, FEW)["x"].systems["one"]
    met = sum(m.gold == gold for d in documents for m in d.mentions)
    assert [(s.label, s.total) for s in scores.slices["frequency"]] == [
        ("0", scores.accuracy.total - met), ("2–9", met),
    ]  # fmt: skip


def test_the_plain_data_are_json(found):
    data = found.to_dict()
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    one = data["sets"]["data"]["systems"]["one"]
    assert one["accuracy"]["low"] <= one["accuracy"]["micro"] <= one["accuracy"]["high"]
    assert one["nil_curve"]["points"][0] == one["nil_curve"]["link_all"]
    assert len(one["calibration"]["bins"]) == 10
    assert data["kb"]["entities"] > 1000


def test_progress_is_told(linker, documents):
    told = []
    evaluate_linkers(
        {"one": linker}, {"x": documents[:3]}, FEW, progress=lambda *step: told.append(step)
    )
    assert told == [("one on x", i, 3) for i in (1, 2, 3)]


def test_what_cannot_be_compared_is_refused(linker, documents):
    data = {"x": documents}
    with pytest.raises(SettingsError, match="at least one"):
        evaluate_linkers({}, data)
    with pytest.raises(SettingsError, match="at least one data set"):
        evaluate_linkers({"one": linker}, {})
    with pytest.raises(SettingsError, match="only once"):
        evaluate_linkers({"one": linker}, {"x": iter(documents)})
    with pytest.raises(SettingsError, match="name 'prior'"):
        evaluate_linkers({"prior": linker}, data, baselines=["prior"])
    with pytest.raises(SettingsError, match="no baseline 'fame'"):
        evaluate_linkers({"one": linker}, data, baselines=["fame"])


def test_linkers_of_two_knowledge_bases_are_not_compared(linker, documents, tmp_path):
    place = shutil.copytree(linker.kb.path, tmp_path / "kb")
    same = Linker(linker.model, place)
    evaluate_linkers({"one": linker, "two": same}, {"x": documents[:1]}, FEW)
    same.close()
    remove(place, [documents[0].mentions[0].gold])
    with (
        KnowledgeBase.open(place) as other,
        pytest.raises(SettingsError, match=r"knowledge base.*differ"),
    ):
        evaluate_linkers({"one": linker, "two": Linker(linker.model, other)}, {"x": documents})


@pytest.mark.parametrize("wrong", [{"samples": 0}, {"level": 1.0}, {"bins": True}, {"seed": -1}])
def test_settings_are_checked(wrong):
    with pytest.raises(SettingsError, match=next(iter(wrong))):
        EvaluationSettings(**wrong)


def test_the_best_link_there_is():
    one, other = (Alternative(id_, id_, "", p, 0.5) for id_, p in (("a", 0.4), ("b", 0.3)))
    link = Link(0, 1, "x", "b", "", "", 0.3, "exact", (one, other), runner_up="a")
    assert best_link(link) == ("b", 0.3)
    assert best_link(replace(link, entity=None)) == ("a", 0.4)
    assert best_link(replace(link, entity=None, runner_up="b")) == ("b", 0.3)
    assert best_link(replace(link, entity=None, runner_up=None)) == ("a", 0.4)
    assert best_link(replace(link, entity=None, candidates=())) is None


def test_a_higher_threshold_moves_answers_to_nil(linker, mixed, found):
    strict = Linker(linker.model, linker.kb, LinkerSettings(nil=0.9))
    scores = evaluate_linkers({"one": strict}, {"data": mixed}, FEW)["data"].systems["one"]
    plain = found["data"].systems["one"]
    assert scores.nil.nil.predicted > plain.nil.nil.predicted
    curve = scores.curve
    at = int(np.searchsorted(curve.threshold, 0.9))
    assert curve.in_kb[at] == scores.accuracy.micro
    assert curve.recall[at] == scores.nil.nil.recall
    assert curve.precision[at] == scores.nil.nil.precision


def test_documents_are_read_while_they_are_linked(linker, documents):
    told = []

    class Stream:
        """Documents without end to speak of, which tell how far they were read."""

        read = 0

        def __iter__(self):
            for i in range(200):
                self.read += 1
                yield replace(documents[0], id=f"d{i}")

    stream = Stream()
    evaluate_linkers(
        {"one": linker}, {"x": stream}, FEW,
        progress=lambda _, done, total: told.append((stream.read - done, total)),
    )  # fmt: skip
    assert len(told) == 200
    assert max(ahead for ahead, _ in told) < 2 * BATCH
