"""What must not reach a feature: the order of candidates, a document's own labels, dev and test.

Every test runs on a small invented world, and on a sample of the real corpus where it is present.
"""

import itertools
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest

from sgtb.boosting import Problems, StructuredGradientBoosting, TrainingSettings, TreeSettings
from sgtb.boosting.data.pairs import PairTable
from sgtb.core.records import NIL, Document, Mention
from sgtb.core.sparse_matrix import group_of
from sgtb.linking.candidates.candidate_table import CandidateTable
from sgtb.linking.features.feature_matrix import Featurizer, Table
from sgtb.linking.features.schema import LEARNED, SCHEMA
from sgtb.linking.problem_packing import pack, pair_table
from sgtb.linking.training.topic_folds import topic_folds
from tests.helpers.linking_builders import (
    Setting,
    documents,
    relabelled,
    small_setting,
    with_mentions,
)

N_FOLDS = 3


@dataclass(frozen=True, repr=False)
class Worked:
    """A setting with the features of its training and dev documents."""

    setting: Setting
    folds: np.ndarray
    pairs: PairTable
    train: Table
    dev: Table
    featurizer: Featurizer
    train_features: np.ndarray
    dev_features: np.ndarray


def work(setting: Setting, texts: Sequence[Document] | None = None) -> Worked:
    """Make features; `texts` take the place of the training documents, with other labels."""
    folds = topic_folds(setting.train, N_FOLDS)
    train, dev = (
        setting.table(setting.train if texts is None else texts),
        setting.table(setting.dev),
    )
    featurizer, features = Featurizer.fit(train, folds, 0)
    return Worked(
        setting, folds, pair_table(setting.facts), train, dev, featurizer, features,
        featurizer.features(dev),
    )  # fmt: skip


@pytest.fixture(scope="module")
def small() -> Worked:
    return work(small_setting())


@pytest.fixture(scope="module")
def real(sample) -> Worked:
    return work(sample)


@pytest.fixture(params=["small", "real"])
def worked(request) -> Worked:
    return request.getfixturevalue(request.param)


def assert_equal_bytes(a: Problems, b: Problems) -> None:
    for name, array in vars(a).items():
        if isinstance(array, np.ndarray):
            assert array.tobytes() == getattr(b, name).tobytes(), name
    assert a.pairs.row.tobytes() == b.pairs.row.tobytes()


def test_the_order_of_candidates_changes_no_byte(worked):
    draws = random.Random(0)

    def shuffled(mention: Mention) -> Mention:
        listed = mention.candidates
        return replace(mention, candidates=listed and tuple(draws.sample(listed, len(listed))))

    setting = worked.setting
    train, dev = (
        [with_mentions(text, shuffled) for text in texts] for texts in (setting.train, setting.dev)
    )
    assert sum(a != b for a, b in zip(train, setting.train, strict=True)) > len(train) / 2
    table = setting.table(train)
    featurizer, features = Featurizer.fit(table, topic_folds(train, N_FOLDS), 0)
    assert_equal_bytes(
        pack(table.candidates, features, worked.pairs),
        pack(worked.train.candidates, worked.train_features, worked.pairs),
    )
    table = setting.table(dev)
    assert_equal_bytes(
        pack(table.candidates, featurizer.features(table), worked.pairs),
        pack(worked.dev.candidates, worked.dev_features, worked.pairs),
    )


def test_the_gold_is_not_where_its_place_would_tell(real):
    """The published lists have it first; nothing of that may be left."""
    candidates = real.train.candidates
    sizes = np.diff(candidates.candidate_offsets)
    in_links = real.setting.entities.in_links[candidates.entity]
    keys = np.stack([group_of(candidates.candidate_offsets), -in_links, candidates.entity], axis=1)
    assert (keys == keys[np.lexsort(keys.T[::-1])]).all()
    assert 0.05 < (candidates.gold[sizes > 1] > 0).mean() < 0.6


def columns_of(groups) -> list[int]:
    return [i for i, feature in enumerate(SCHEMA.features) if feature.group in groups]


def rows_of(table: Table, of_document) -> np.ndarray:
    """Which rows belong to documents for which it is so."""
    borders = table.candidates.candidate_offsets[table.candidates.mention_offsets]
    return np.repeat(of_document, np.diff(borders))


def assert_own_labels_unseen(worked: Worked, fold: int) -> None:
    own = worked.folds == fold
    texts = [
        relabelled(text) if is_own else text
        for text, is_own in zip(worked.setting.train, own, strict=True)
    ]
    table = worked.setting.table(texts)
    assert (table.candidates.gold != worked.train.candidates.gold).any()
    featurizer, features = Featurizer.fit(table, worked.folds, 0)
    here = rows_of(table, own)
    assert features[here].tobytes() == worked.train_features[here].tobytes()
    # Of the others, all that is learned is changed, or this test could not fail. What is not
    # learned has seen no label at all.
    for group in (group.key for group in LEARNED):
        columns = columns_of([group])
        changed = features[~here][:, columns] != worked.train_features[~here][:, columns]
        assert changed.any(axis=1).mean() > 0.5, group
    fixed = SCHEMA.columns_without([group.key for group in LEARNED])
    assert features[:, fixed].tobytes() == worked.train_features[:, fixed].tobytes()
    assert (featurizer.features(worked.dev) != worked.dev_features).any()


@pytest.mark.parametrize("fold", range(N_FOLDS))
def test_no_training_document_sees_labels_of_its_own_fold(small, fold):
    assert_own_labels_unseen(small, fold)


def test_no_real_training_document_sees_labels_of_its_own_fold(real):
    assert_own_labels_unseen(real, 1)


def other_type(mention: Mention) -> Mention:
    return replace(mention, type={"PER": "ORG", "ORG": None, "LOC": "nonsense"}.get(mention.type))


def other_title(mention: Mention) -> Mention:
    return replace(mention, title="Something else")


def other_gold(mention: Mention) -> Mention:
    others = [c for c in mention.candidates or () if c != mention.gold]
    if mention.gold == NIL or not others:
        return mention
    return replace(mention, gold=others[len(mention.text) % len(others)])


def unlisted_gold(mention: Mention) -> Mention:
    return replace(mention, gold="no entity") if mention.in_kb else mention


@pytest.mark.parametrize("change", [other_type, other_title, other_gold, unlisted_gold])
@pytest.mark.parametrize("split", ["dev", "test"])
def test_labels_of_dev_and_test_reach_no_feature(worked, split, change):
    setting = worked.setting
    texts = setting.documents[split]
    changed = [with_mentions(text, change) for text in texts]
    assert changed != list(texts)
    before, after = setting.table(texts), setting.table(changed)
    features = worked.featurizer.features(before)
    assert features.tobytes() == worked.featurizer.features(after).tobytes()
    problems = pack(before.candidates, features, worked.pairs)
    relabelled_ = pack(after.candidates, worked.featurizer.features(after), worked.pairs)
    same_gold = (problems.gold == relabelled_.gold).all()
    assert same_gold == (change in (other_type, other_title))
    assert_equal_bytes(problems, replace(relabelled_, gold=problems.gold))


def test_titles_of_annotations_are_not_read_in_training_either(worked):
    texts = [with_mentions(text, other_title) for text in worked.setting.train]
    features = Featurizer.fit(worked.setting.table(texts), worked.folds, 0)[1]
    assert features.tobytes() == worked.train_features.tobytes()


def test_mentions_outside_the_knowledge_base_have_no_type_or_title(worked):
    """They are part of the text, so their names may be seen; what annotators said may not."""

    def change(mention: Mention) -> Mention:
        if mention.in_kb:
            return mention
        return replace(mention, type="PER", title="Something", candidates=("no", "entity"))

    texts = [with_mentions(text, change) for text in worked.setting.train]
    assert texts != list(worked.setting.train)
    features = Featurizer.fit(worked.setting.table(texts), worked.folds, 0)[1]
    assert features.tobytes() == worked.train_features.tobytes()


def test_folds_know_no_labels(worked):
    blind = [relabelled(text) for text in worked.setting.train]
    assert topic_folds(blind, N_FOLDS).tolist() == worked.folds.tolist()


# Labels drawn at random: whatever is learned from them is worth nothing, if nothing else is seen.


def with_random_gold(texts: tuple[Document, ...], seed: int) -> list[Document]:
    """Give every linked mention a gold drawn evenly from its candidates."""
    draws = random.Random(seed)

    def change(mention: Mention) -> Mention:
        if mention.gold not in (mention.candidates or ()):
            return mention
        return replace(mention, gold=draws.choice(mention.candidates))

    return [with_mentions(text, change) for text in texts]


def right_and_chance(candidates: CandidateTable, picked: np.ndarray) -> tuple[float, float, float]:
    """Of the mentions with a choice: the share picked right, what chance gives, and its error."""
    sizes = np.diff(candidates.candidate_offsets)
    asked = (sizes > 1) & (candidates.gold >= 0)
    chance = 1 / sizes[asked]
    error = np.sqrt((chance * (1 - chance)).sum()) / asked.sum()
    return (picked == candidates.gold)[asked].mean(), chance.mean(), error


def best_of(column: np.ndarray, candidates: CandidateTable) -> np.ndarray:
    return np.array(
        [
            column[first:last].argmax() if first < last else -1
            for first, last in itertools.pairwise(candidates.candidate_offsets)
        ]
    )


SCORES = [c.name for group in LEARNED for c in group.columns if c.name.endswith("_score")]


@pytest.fixture(scope="module")
def larger() -> Worked:
    texts = {"train": documents(60), "dev": documents(24, "dev", 60)}
    return work(replace(small_setting(texts["train"]), documents=texts))


@pytest.fixture(scope="module", params=["larger", "real"])
def drawn(request) -> Worked:
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="module")
def misled(drawn) -> Worked:
    """The same documents with random labels to train on, and the right ones for dev."""
    return work(drawn.setting, with_random_gold(drawn.setting.train, 1))


@pytest.mark.parametrize("name", SCORES)
def test_scores_of_training_documents_know_nothing_of_random_labels(misled, name):
    """The labels are independent of each other, so this is chance to the letter."""
    candidates, column = misled.train.candidates, SCHEMA.names.index(name)

    def accuracy(features):
        return right_and_chance(candidates, best_of(features[:, column], candidates))

    right, chance, error = accuracy(misled.train_features)
    assert abs(right - chance) < 4 * error
    # A ranker that has seen the labels itself remembers them, and would fail.
    assert accuracy(misled.featurizer.features(misled.train))[0] > chance + 5 * error


def dev_accuracy(worked: Worked) -> tuple[float, float, float]:
    """Train a small system and compare its answers on dev with the right ones."""
    system = StructuredGradientBoosting(
        "bsg", TreeSettings(learning_rate=0.2, min_leaf=20), TrainingSettings(20, 20)
    )
    system.fit(pack(worked.train.candidates, worked.train_features, worked.pairs))
    dev = worked.dev.candidates
    return right_and_chance(dev, system.predict(pack(dev, worked.dev_features, worked.pairs)))


def test_random_labels_give_chance_accuracy(drawn, misled):
    """Decisions of one model hang together: the slack is for more than independent errors."""
    right, chance, error = dev_accuracy(misled)
    assert abs(right - chance) < 4 * error + 0.05
    assert dev_accuracy(drawn)[0] > chance + 8 * error + 0.2
