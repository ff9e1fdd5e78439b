"""Training data: gold found in the knowledge base, a dev part drawn, settings of the right size."""

from dataclasses import replace

import pytest

from sgtb.core.errors import ProblemsError, SettingsError
from sgtb.core.records import NIL
from sgtb.linking.training.training_data import FEW, MANY, TrainingData, settings_for, split_off_dev


def test_unknown_entities_are_counted_and_mean_nothing_of_the_knowledge_base(starter_kb, starter):
    document = starter["train"][0]
    first, second, *others = document.mentions
    given = replace(
        document,
        mentions=(
            replace(first, gold=f"https://en.wikipedia.org/wiki/{first.gold.replace(' ', '_')}"),
            replace(second, gold="Q 1", title="One"),
            *(replace(mention, gold=None) for mention in others),
        ),
    )
    data = TrainingData.of(starter_kb, [given, given])
    assert data.unknown == {"Q 1": 2}
    mentions = data.documents[0].mentions
    assert mentions[0].gold == first.gold
    assert (mentions[1].gold, mentions[1].title) == (NIL, "One")
    assert all(mention.gold is None for mention in mentions[2:])
    assert (data.n_mentions, data.n_known, data.n_nil) == (2 * len(mentions), 2, 2)


def test_dev_is_drawn_by_whole_documents(starter):
    documents = starter["train"][:40]
    train, dev = split_off_dev(documents, 0.2, seed=3)
    assert (len(train), len(dev)) == (32, 8)
    assert sorted([*train, *dev], key=lambda d: d.id) == sorted(documents, key=lambda d: d.id)
    order = {document.id: i for i, document in enumerate(documents)}
    for part in (train, dev):
        places = [order[document.id] for document in part]
        assert places == sorted(places)
    assert split_off_dev(documents, 0.2, seed=3) == (train, dev)
    assert split_off_dev(documents, 0.2, seed=4) != (train, dev)


def test_dev_has_its_share_of_names_that_mean_nothing(starter):
    """Where they are few, drawing from all documents alike would often leave dev none."""
    nothing = [
        replace(document, mentions=tuple(replace(m, gold=NIL) for m in document.mentions))
        for document in starter["train"][:5]
    ]
    documents = [*starter["train"][5:40], *nothing]
    for seed in range(20):
        train, dev = split_off_dev(documents, 0.2, seed)
        assert (len(train), len(dev)) == (32, 8)
        assert sum(document in nothing for document in dev) == 1


@pytest.mark.parametrize(
    ("documents", "dev"), [(0, 0), (1, 0), (2, 0), (3, 1), (4, 1), (7, 1), (8, 2)]
)
def test_two_documents_stay_to_learn_from(starter, documents, dev):
    train, held = split_off_dev(starter["train"][:documents], 0.2)
    assert (len(train), len(held)) == (documents - dev, dev)


def test_impossible_shares_of_dev(starter):
    for share in (0, 1, -1, 2):
        with pytest.raises(SettingsError, match="share of dev"):
            split_off_dev(starter["train"], share)


def test_settings_grow_with_what_there_is_to_learn():
    little, few, many = settings_for(FEW - 1, 50), settings_for(FEW, 50), settings_for(MANY, 500)
    assert little.training.n_trees == little.training.check_every < few.training.n_trees
    assert little.description_words
    assert not few.description_words
    assert many.trees.min_leaf > few.trees.min_leaf
    assert many.trees.depth > few.trees.depth
    assert many.bits > few.bits
    assert few.folds == many.folds == 8
    assert settings_for(30, 3).folds == 3
    sizes = (0, 9, 10, 50, 99, 100, 500, 1000, 5000, 10**6)
    assert [settings_for(n, 9).trees.min_leaf for n in sizes] == [
        1, 1, 1, 5, 9, 10, 10, 20, 30, 30,
    ]  # fmt: skip


def test_one_document_is_too_few():
    with pytest.raises(ProblemsError, match="1 training documents; a linker needs at least two"):
        settings_for(100, 1)
