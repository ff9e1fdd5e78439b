"""Training a linker: the same bytes again, clear errors, and what a plan leaves out."""

from dataclasses import replace

import numpy as np
import pytest

from sgtb.boosting import SearchPlan, StructuredGradientBoosting, TrainingSettings
from sgtb.core.errors import ProblemsError, SettingsError, SgtbError
from sgtb.linking.candidates.candidate_lookup import CandidateFinder
from sgtb.linking.features.schema import COLLECTIVE
from sgtb.linking.linker import Linker
from sgtb.linking.linker_model import LinkerModel
from sgtb.linking.pipeline import Pipeline
from sgtb.linking.training.linker_training import LinkerTraining, train_linker
from tests.helpers.trained_linkers import QUICK

TINY = replace(QUICK, training=TrainingSettings(n_trees=3, check_every=1, threads=1), bits=6)


def trained_bytes(path, kb, documents, settings, dev=()):
    train_linker(kb, documents, dev, settings).save(path)
    return path.read_bytes()


def test_the_same_bytes_again_whatever_the_threads(tmp_path, starter_kb, starter):
    documents, dev = starter["train"][:40], starter["dev"][:10]
    made = [
        trained_bytes(
            tmp_path / "model", starter_kb, documents,
            replace(
                TINY, plan=SearchPlan("bibsg", 2), training=replace(TINY.training, threads=threads)
            ),
            dev,
        )
        for threads in (1, 1, 2)
    ]  # fmt: skip
    assert made[0] == made[1] == made[2]
    other = trained_bytes(tmp_path / "model", starter_kb, documents, replace(TINY, seed=1), dev)
    assert other != made[0]


def test_refit_is_training_on_all_documents(tmp_path, starter_kb, starter):
    train, dev = starter["train"][:40], starter["dev"][:10]
    paths = [tmp_path / name for name in ("first", "refitted", "all")]
    chosen = train_linker(starter_kb, train, dev, TINY)
    chosen.save(paths[0])
    train_linker(starter_kb, train, dev, replace(TINY, refit=True)).save(paths[1])
    fixed = TINY.with_trees_of(chosen)
    assert fixed.training.n_trees == chosen.forest.forest.n_trees
    train_linker(starter_kb, [*train, *dev], (), fixed).save(paths[2])
    first, refitted, whole = (path.read_bytes() for path in paths)
    assert refitted == whole != first


def test_refit_without_dev_is_no_second_training(tmp_path, starter_kb, starter):
    train = starter["train"][:40]
    made = []
    for refit in (False, True):
        train_linker(starter_kb, train, (), replace(TINY, refit=refit)).save(tmp_path / "model")
        made.append((tmp_path / "model").read_bytes())
    assert made[0] == made[1]


def test_what_is_trained_is_right_more_often_than_not(linker_of, starter):
    share = {}
    for plan in ("local", "bsg"):
        right = [
            link.entity == mention.gold
            for document, linked in zip(
                starter["dev"], linker_of(plan).pipe(starter["dev"]), strict=True
            )
            for mention, link in zip(document.mentions, linked.links, strict=True)
        ]
        share[plan] = np.mean(right)
    assert share["bsg"] > 0.85
    assert share["bsg"] > share["local"] > 0.5


def test_training_and_linking_see_the_same(linker, starter):
    """Gold changes where it stands among the candidates, and nothing else."""
    model, kb = linker.model, linker.kb
    bench = Pipeline(kb, model.background, model.schema, CandidateFinder(kb, model.candidates))
    packed = []
    for documents in (starter["dev"], [linker.to_chunk(d).document for d in starter["dev"]]):
        layout = bench.lay_out(documents)
        packed.append(
            bench.pack(layout, model.featurizer.features(bench.table(layout)), model.without)
        )
    one, other = packed
    assert (one.gold >= 0).any()
    assert (other.gold < 0).all()
    for name in ("mention_offsets", "candidate_offsets", "entity", "entity_offsets", "local"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    choices = StructuredGradientBoosting.of(model.forest).predict(one)
    chosen = layout.facts.number[layout.candidates.entity[one.candidate_offsets[:-1] + choices]]
    linked = [x.entity for d in linker.pipe(starter["dev"]) for x in d.links if x.entity]
    assert linked == [kb.id_of(int(number)) for number in chosen]


def test_a_local_plan_leaves_out_the_collective_groups(model_of):
    local, joint = model_of("local"), model_of("bsg")
    assert set(local.without) == set(COLLECTIVE)
    assert joint.without == ()
    assert joint.forest.n_local == len(joint.schema.columns_without(()))
    own = local.schema.columns_without(COLLECTIVE)
    assert local.forest.n_local == len(own) < joint.forest.n_local
    assert local.forest.n_features == local.forest.n_local


def test_groups_may_be_left_out(starter_kb, starter):
    settings = replace(TINY, without=("coherence", "type"))
    model = train_linker(starter_kb, starter["train"][:40], (), settings)
    assert set(model.without) == {"coherence", "type"}
    assert model.forest.n_local == len(model.schema.columns_without(model.without))
    Linker(model, starter_kb).link(starter["dev"][0])
    with pytest.raises(SettingsError, match="'coherences'"):
        LinkerTraining(without=("coherences",))


def test_without_any_gold_there_is_nothing_to_learn(starter_kb, starter):
    foreign = [
        replace(d, mentions=tuple(replace(m, gold=f"Q {m.gold}") for m in d.mentions))
        for d in starter["train"][:20]
    ]
    with pytest.raises(
        ProblemsError, match=r"no training mention has its gold .* check that the ids"
    ):
        train_linker(starter_kb, foreign, (), TINY)
    with pytest.raises(SgtbError):
        train_linker(starter_kb, (), (), TINY)


def test_too_few_documents_for_the_folds(starter_kb, starter):
    with pytest.raises(SettingsError, match="3 documents are too few for 4 folds"):
        train_linker(starter_kb, starter["train"][:3], (), replace(TINY, folds=4))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("folds", 1), ("folds", 101), ("folds", 2.5), ("folds", None), ("topic_digits", 16),
        ("bits", 3), ("bits", 25), ("bits", "8"), ("topic_width", 0), ("topic_width", 1001),
        ("seed", -1), ("seed", 1.5), ("without", ("nothing",)),
    ],
)  # fmt: skip
def test_impossible_settings(name, value):
    with pytest.raises(SettingsError, match=name):
        LinkerTraining(**{name: value})


def test_documents_that_bring_their_candidates(tmp_path, starter_kb, starter):
    """There are no priors of names then; the model does not ask for any."""
    given = [
        replace(
            d,
            mentions=tuple(
                replace(m, candidates=tuple(c.id for c in starter_kb.candidates(m.text)))
                for m in d.mentions
            ),
        )
        for d in starter["train"][:60]
    ]
    model = train_linker(starter_kb, given, (), TINY)
    assert "name priors" not in model.schema.evidence
    model.save(tmp_path / "model")
    with_file = Linker(LinkerModel.load(tmp_path / "model"), starter_kb)
    assert any(link.entity for link in with_file.link(starter["dev"][0]).links)
    assert any(link.entity for link in with_file.link(starter["dev"][0].text).links)
