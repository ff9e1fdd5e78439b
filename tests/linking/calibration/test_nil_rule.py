"""NIL: rules and thresholds, NIL as a candidate of its own, and what training makes of it."""

import math
from collections import Counter
from dataclasses import asdict, replace

import numpy as np
import pytest

from sgtb.boosting import StructuredGradientBoosting, TrainingSettings
from sgtb.core.errors import ProblemsError, SettingsError
from sgtb.core.records import NIL
from sgtb.linking.calibration.confidence import (
    UNKNOWN,
    Confidence,
    NilRule,
    choose_threshold,
    least_odds,
)
from sgtb.linking.candidates.candidate_lookup import CandidateFinder
from sgtb.linking.link_options import LinkerSettings
from sgtb.linking.linker import Linker
from sgtb.linking.linker_model import LinkerModel
from sgtb.linking.links import Request, Span
from sgtb.linking.nil_candidate import NIL_FEATURES, TrainingCounts, add_nil, nil_rows
from sgtb.linking.pipeline import Pipeline
from sgtb.linking.training.calibrator import ENOUGH, nil_kind, nil_share
from sgtb.linking.training.gold import unknown_as_nil
from sgtb.linking.training.linker_training import LinkerTraining, fit_linker, prepare, train_linker
from tests.helpers.exact import exact
from tests.helpers.trained_linkers import QUICK

ALL = 1000


# Rules and thresholds


@pytest.mark.parametrize("seed", range(40))
def test_thresholds_agree_with_trying_all(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 30))
    confidence = rng.integers(0, 8, n) / 8
    right = rng.random(n) < 0.6
    wanted = float(rng.random())
    levels = sorted({*confidence.tolist()})
    precision = {t: right[confidence >= t].mean() for t in levels}
    enough = [t for t in levels if precision[t] >= wanted]
    most = max(precision.values())
    expected = enough[0] if enough else next(t for t in levels if precision[t] == most)
    assert choose_threshold(confidence, right, wanted) == expected


def test_thresholds_without_links():
    with pytest.raises(ProblemsError, match="there are 0 confidences"):
        choose_threshold(np.zeros(0), np.zeros(0, bool), 0.9)
    with pytest.raises(SettingsError, match="precision wanted"):
        choose_threshold(np.ones(1), np.ones(1, bool), 1.1)


@pytest.mark.parametrize("seed", range(20))
def test_odds_are_the_least_that_lose_so_few(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    link, nil, right = rng.random(n), rng.random(n), rng.random(n) < 0.7
    most = int(rng.integers(0, 5))
    odds = least_odds(link, nil, right, most)
    assert (right & (nil > odds * link)).sum() <= most
    if odds > 1:
        assert (right & (nil > odds * (1 - 1e-9) * link)).sum() > most


def test_what_rules_link():
    link, nil = np.array([0.1, 0.6, 0.45, 0.3]), np.array([0.71, 0.2, 0.45, 0.5])
    assert NilRule().links(link, nil).tolist() == [True] * 4
    rule = NilRule("candidate")
    assert rule.links(link, nil).tolist() == [False, True, True, False]
    careful = NilRule("candidate", odds=2.0, threshold=0.4)
    assert replace(careful, threshold=0.0).links(link, nil).tolist() == [False, True, True, True]
    assert careful.links(link, nil).tolist() == [False, True, True, False]
    for one in (NilRule(), rule, careful):
        assert one.links(link, nil, 0.0).all()
        assert one.links(link, nil, 0.4).tolist() == [False, True, True, False]
        assert NilRule(**asdict(one)) == one


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"kind": "sometimes"}, "no NIL rule 'sometimes'"),
        ({"threshold": -0.1}, "NIL threshold"),
        ({"no_candidates": math.nan}, "no_candidates"),
        ({"odds": 0.9}, "odds of NIL"),
    ],
)
def test_impossible_rules(change, complaint):
    with pytest.raises(SettingsError, match=complaint):
        NilRule(**change)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"nil": "sometimes"}, "'sometimes'"),
        ({"nil_precision": 2.0}, "nil_precision"),
        ({"nil": "never", "nil_precision": 0.9}, "'never' forbids"),
        ({"hidden": 1.5}, "hidden"),
        ({"nil_loss": -1}, "nil_loss"),
    ],
)
def test_impossible_wishes(change, complaint):
    with pytest.raises(SettingsError, match=complaint):
        LinkerTraining(**change)
    with pytest.raises(SettingsError, match="nil must be a number from 0 to 1"):
        LinkerSettings(nil=7)


# Documents in which some entities are no longer known

FORGOTTEN = 0.3


def forgetful(documents):
    """Some entities are NIL wherever they are meant, though their names have candidates."""
    meant = sorted({m.gold for d in documents for m in d.mentions if m.in_kb})
    rng = np.random.default_rng(3)
    gone = {entity for entity in meant if rng.random() < FORGOTTEN}
    return [
        replace(
            d, mentions=tuple(replace(m, gold=NIL) if m.gold in gone else m for m in d.mentions)
        )
        for d in documents
    ]


@pytest.fixture(scope="module")
def splits(starter):
    """Train and dev with NIL mentions: the same entities are forgotten in both."""
    everything = forgetful([*starter["train"], *starter["dev"], *starter["test"]])
    n, m = len(starter["train"]), len(starter["dev"])
    return {"train": everything[:n], "dev": everything[n : n + m], "test": everything[n + m :]}


LONGER = replace(QUICK.training, n_trees=60, check_every=60)
AS_ANNOTATED = replace(QUICK, nil="candidate", hidden=0.0, nil_loss=1.0, training=LONGER)


@pytest.fixture(scope="module")
def plain(starter_kb, splits):
    return prepare(starter_kb, splits["train"], splits["dev"], QUICK)


@pytest.fixture(scope="module")
def prepared(starter_kb, splits):
    return prepare(starter_kb, splits["train"], splits["dev"], AS_ANNOTATED)


@pytest.fixture(scope="module")
def nil_model(prepared) -> LinkerModel:
    return fit_linker(prepared, AS_ANNOTATED, origin={"of": "tests"})


@pytest.fixture(scope="module")
def never_model(plain) -> LinkerModel:
    return fit_linker(plain, QUICK)


@pytest.fixture(scope="module")
def hiding_model(starter_kb, starter) -> LinkerModel:
    """Trained without any NIL annotation."""
    return train_linker(
        starter_kb, starter["train"], starter["dev"],
        replace(QUICK, nil="auto", hidden=0.6, nil_loss=1.0, folds=4),
    )  # fmt: skip


def links_of(model, kb, documents, **settings):
    linker = Linker(model, kb, LinkerSettings(candidates=ALL, **settings))
    return [
        (mention, link)
        for document, linked in zip(documents, linker.pipe(documents), strict=True)
        for mention, link in zip(document.mentions, linked.links, strict=True)
    ]


def right(pairs):
    return np.mean([(link.entity or NIL) == mention.gold for mention, link in pairs])


# NIL as a candidate


def test_problems_with_nil_are_the_same_but_for_nil(prepared, plain):
    linked, nil = plain.problems(()), prepared.problems(())
    for before, after in zip(linked, nil, strict=True):
        assert (after.n_mentions, after.n_pair) == (before.n_mentions, before.n_pair)
        assert after.n_candidates == before.n_candidates + before.n_mentions
        assert after.n_local == before.n_local + len(NIL_FEATURES)
        for d in range(0, before.n_documents, 7):
            the_same_but_for_nil(before[d], after[d])
    outside = [m.gold == NIL for m in prepared.train.layout.candidates.mentions]
    sizes = np.diff(linked[0].candidate_offsets)
    np.testing.assert_array_equal(nil[0].gold, np.where(outside, sizes, linked[0].gold))
    assert sum(outside) > 20


def the_same_but_for_nil(before, after):
    last = after.candidate_offsets[1:] - 1
    others = np.setdiff1d(np.arange(after.n_candidates), last)
    width = before.n_local
    np.testing.assert_array_equal(after.local[others][:, :width], before.local)
    assert not after.local[others][:, width:].any()
    np.testing.assert_array_equal(after.entity[others], before.entity)
    (number,) = {*after.entity[last].tolist()}
    assert number == before.entity.max() + 1  # ties go to the others
    assert (after.local[last][:, width] == 1).all()
    row = after.pairs.row[number]
    table = after.pairs.table
    assert not table.vectors[row].any()
    assert (table.link_offsets[:, row + 1] == table.link_offsets[:, row]).all()
    assert row not in table.link_targets
    for m in range(before.n_mentions):
        own = before.local[before.candidate_offsets[m] : before.candidate_offsets[m + 1]]
        assert (own == after.local[last[m]][:width]).all(axis=1).any()  # like the best of them


def test_rows_must_fit(plain):
    train, _ = plain.problems(())
    with pytest.raises(ProblemsError, match="do not fit"):
        add_nil(train, np.zeros((3, 3), np.float32), np.zeros(3, bool))


def test_memory_of_other_documents(prepared):
    candidates = prepared.train.layout.candidates
    documents = candidates.documents
    counts = TrainingCounts.of(documents)
    elsewhere = counts.lookup_leave_one_out(documents, candidates)
    borders = candidates.mention_offsets
    for d in range(0, len(documents), 11):
        others = TrainingCounts.of([*documents[:d], *documents[d + 1 :]])
        mine = slice(borders[d], borders[d + 1])
        np.testing.assert_array_equal(elsewhere[mine], others.lookup(candidates)[mine])
    assert counts.entities == Counter(m.gold for x in documents for m in x.mentions if m.in_kb)
    assert (elsewhere >= 0).all()


def test_nil_is_found(nil_model, never_model, starter_kb, splits):
    assert nil_model.nil.kind == "candidate"
    pairs = links_of(nil_model, starter_kb, splits["test"])
    said = [(mention, link) for mention, link in pairs if link.entity is None]
    assert len(said) > 10
    assert np.mean([mention.gold == NIL for mention, _ in said]) > 0.5
    never = links_of(never_model, starter_kb, splits["test"])
    assert all(link.entity is not None for _, link in never)
    assert right(pairs) > right(never) + 0.01


@pytest.mark.parametrize("nil", [None, 0.0, 0.5, 1.0])
@pytest.mark.parametrize("kind", ["candidate", "never"])
def test_answers_with_nil_hold_together(nil_model, never_model, starter_kb, splits, kind, nil):
    model = nil_model if kind == "candidate" else never_model
    answers = Counter()
    for _, link in links_of(model, starter_kb, splits["test"][::2], nil=nil, reasons=True):
        answers[link.entity is None] += 1
        own = [other.probability for other in link.candidates]
        assert own == sorted(own, reverse=True)
        assert math.fsum(own) + link.nil <= 1 + 1e-9
        assert NIL not in [other.entity for other in link.candidates]
        by_id = {other.entity: other.probability for other in link.candidates}
        if link.entity is None:
            assert (link.confidence, link.title, link.type) == (link.nil, "", "")
            assert link.runner_up in by_id
        else:
            assert link.confidence == by_id[link.entity]
            assert link.runner_up != link.entity
        if nil is not None:
            assert (link.entity is not None) == (max(own) >= nil)
        if link.reasons:
            total = math.fsum(reason.value for reason in link.reasons)
            assert total == pytest.approx(link.lead, abs=1e-6)
        if kind == "candidate" and not math.isnan(link.lead):
            assert link.runner_up is not None
        if kind == "never":
            assert (link.nil, link.runner_up == NIL) == (0.0, False)
            assert not (link.entity is None and link.reasons)
        elif nil is None:
            assert (link.entity is None) == (link.nil > model.nil.odds * max(own))
    if nil == 0.0:
        assert not answers[True]


def test_a_single_candidate_beside_nil(nil_model, starter_kb):
    """All that is searched of a text may be one candidate; its runner_up is NIL."""
    linker = Linker(nil_model, starter_kb, LinkerSettings(reasons=True))
    for entity in map(starter_kb.id_of, range(0, 600, 20)):
        (link,) = linker.link(
            Request("We saw it there.", (Span(7, 9, candidates=(entity,)),))
        ).links
        assert link.entity in (entity, None)
        assert link.runner_up == ("NIL" if link.entity else entity)


def test_reasons_name_the_group(nil_model, starter_kb, splits):
    pairs = links_of(nil_model, starter_kb, splits["test"], reasons=True)
    by_nil = [link for _, link in pairs if link.runner_up == NIL or link.entity is None]
    assert any(reason.name == "nil" for link in by_nil for reason in link.reasons)
    against = [link for _, link in pairs if link.runner_up == NIL]
    assert against
    # NIL against the search has a negative lead.
    assert any(link.lead > 0 for link in by_nil if link.entity is None)


def test_linking_against_the_search_turns_reasons_around(nil_model, starter_kb, splits):
    chosen, forced = (
        [link for _, link in links_of(nil_model, starter_kb, splits["test"], reasons=True, nil=t)]
        for t in (None, 0.0)
    )
    turned = 0
    for one, other in zip(chosen, forced, strict=True):
        if one.entity is None:
            turned += 1
            assert (other.entity, other.runner_up) == (one.runner_up, NIL)
            assert other.lead == -one.lead
            assert {(r.name, -r.value) for r in one.reasons} == {
                (r.name, r.value) for r in other.reasons
            }
        else:
            assert exact(one) == exact(other)
    assert turned


def test_what_is_fixed_is_certain_and_never_nil(nil_model, never_model, starter_kb):
    request = Request("Paris and Jordan", (Span(0, 5, "Paris"), Span(10, 16)))
    for model in (nil_model, never_model):
        for nil in (None, 1.0):
            linker = Linker(model, starter_kb, LinkerSettings(nil=nil, candidates=ALL))
            fixed, _ = linker.link(request).links
            assert (fixed.entity, fixed.confidence, fixed.nil, fixed.runner_up) == (
                "Paris", 1.0, 0.0, None
            )  # fmt: skip
            assert [other.probability for other in fixed.candidates] == [1.0]


def test_a_name_without_candidates(nil_model, starter_kb):
    rule = replace(nil_model.nil, no_candidates=0.75)
    linker = Linker(replace(nil_model, nil=rule), starter_kb)
    (unknown,) = linker.link(Request("Xyzzy", (Span(0, 5),))).links
    assert (unknown.entity, unknown.confidence, unknown.nil) == (None, 0.75, 0.75)
    assert nil_share(np.zeros(0, bool)) == UNKNOWN
    assert nil_share(np.array([True, True, False])) == 0.6


def test_models_with_nil_come_back(tmp_path, nil_model, starter_kb, splits):
    nil_model.save(tmp_path / "one")
    again = LinkerModel.load(tmp_path / "one")
    again.save(tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert (again.confidence, again.nil, again.training_counts) == (
        nil_model.confidence, nil_model.nil, nil_model.training_counts
    )  # fmt: skip
    documents = splits["test"][::5]
    one, other = (links_of(m, starter_kb, documents, reasons=True) for m in (nil_model, again))
    assert exact(one) == exact(other)


def test_training_and_linking_see_the_same_nil(nil_model, starter_kb, splits, prepared):
    """A document without gold gives the same problems as dev had in training."""
    pipeline = Pipeline(
        starter_kb, nil_model.background, nil_model.schema,
        CandidateFinder(starter_kb, nil_model.candidates),
    )  # fmt: skip
    bare = [
        replace(d, mentions=tuple(replace(m, gold=None) for m in d.mentions)) for d in splits["dev"]
    ]
    layout = pipeline.lay_out(bare)
    features = nil_model.featurizer.features(pipeline.table(layout))
    known = nil_model.training_counts.lookup(layout.candidates)
    rows = nil_rows(layout.candidates, features, pipeline.schema, (), known)
    linked = add_nil(pipeline.pack(layout, features), rows, np.zeros(len(rows), bool))
    _, dev = prepared.problems(())
    for name in ("candidate_offsets", "entity", "local"):
        np.testing.assert_array_equal(getattr(linked, name), getattr(dev, name))
    choices = StructuredGradientBoosting.of(nil_model.forest).predict(dev)
    sizes = np.diff(dev.candidate_offsets)
    chosen = links_of(nil_model, starter_kb, splits["dev"], reasons=True)
    for (_, link), chose_nil in zip(chosen, (choices == sizes - 1).tolist(), strict=True):
        if link.entity is None and link.lead > 0:
            assert chose_nil
        if link.entity is not None and link.lead > 0:
            assert not chose_nil


# What training makes of it


def test_left_out_documents_are_counted(starter_kb, splits, prepared, nil_model, never_model):
    assert nil_model.origin["of"] == "tests"
    record = nil_model.origin["calibration"]
    left_out = np.repeat(
        prepared.folds % 2 == 0, np.diff(prepared.train.layout.candidates.mention_offsets)
    )
    assert record["mentions"] == left_out.sum() > 100
    assert (record["nil"], record["odds"]) == ("candidate", nil_model.nil.odds)
    assert never_model.origin["calibration"]["nil"] == "never"
    assert nil_model.seen == Counter(m.gold for d in splits["train"] for m in d.mentions if m.in_kb)
    assert never_model.seen == nil_model.seen
    assert never_model.training_counts.outside == {}


def test_hidden_entities_teach_nil(hiding_model, starter_kb, starter, splits):
    assert hiding_model.nil.kind == "candidate"
    assert hiding_model.training_counts.outside == {}  # hidden is not annotated as NIL
    names = [m for d in starter["test"] for m in d.mentions]
    known = links_of(hiding_model, starter_kb, starter["test"])
    assert len(known) == len(names)
    lost = np.mean([link.entity is None for _, link in known])
    misled = [
        (mention, link)
        for mention, link in links_of(
            hiding_model, starter_kb, without_gold(starter_kb, starter["test"])
        )
        if link.candidates
    ]
    assert np.mean([link.entity is None for _, link in misled]) > lost + 0.3


def without_gold(kb, documents):
    """Give mentions the candidates of their names but the right one."""
    return [
        replace(
            d,
            mentions=tuple(
                replace(
                    m,
                    candidates=tuple(c.id for c in kb.candidates(m.text, ALL) if c.id != m.gold),
                )
                for m in d.mentions
            ),
        )
        for d in documents
    ]


def test_progress_is_shown(plain):
    heard: list[tuple[str, int, int]] = []
    fit_linker(
        plain, QUICK, callbacks=[lambda splits: heard.append(("tree", splits.n_trees, 0))],
        progress=lambda *stage: heard.append(stage),
    )  # fmt: skip
    trees = [("tree", i + 1, 0) for i in range(QUICK.training.n_trees)]
    assert heard == [*trees, ("confidence", 0, 1), ("confidence", 1, 1)]


def test_calibrated_confidences_are_truer(starter_kb, splits, never_model):
    def gap(model):
        pairs = links_of(model, starter_kb, splits["dev"], nil=0.0)
        sure = np.mean([link.confidence for _, link in pairs])
        return abs(sure - right(pairs))

    assert gap(never_model) < 0.08  # of 260 mentions, by twenty trees
    assert gap(never_model) < gap(replace(never_model, confidence=Confidence()))


def test_what_the_data_allow():
    assert nil_kind("auto", ENOUGH) == nil_kind("candidate", 1) == "candidate"
    assert nil_kind("auto", ENOUGH - 1) == nil_kind("never", 10 * ENOUGH) == "never"
    with pytest.raises(SettingsError, match="there are none"):
        nil_kind("candidate", 0)


def test_little_data_leave_the_default(starter_kb, starter):
    tiny = replace(QUICK, training=TrainingSettings(n_trees=2, check_every=1, threads=1), bits=6)
    model = train_linker(starter_kb, starter["train"][:2], (), tiny)
    assert model.nil == NilRule(no_candidates=UNKNOWN)
    change = np.array(model.confidence.link) - np.array(Confidence().link)
    assert np.abs(change).max() < 1
    assert model.seen == Counter(m.gold for d in starter["train"][:2] for m in d.mentions)


def test_gold_that_the_knowledge_base_lacks_is_nil(starter_kb, starter):
    documents = [
        replace(d, mentions=tuple(replace(m, gold="Q0") for m in d.mentions))
        for d in starter["dev"][:3]
    ]
    assert {m.gold for d in unknown_as_nil(starter_kb, documents) for m in d.mentions} == {NIL}
    assert unknown_as_nil(starter_kb, starter["dev"]) == [*starter["dev"]]
