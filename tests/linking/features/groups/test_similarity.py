"""Words of entities against words of texts: the kernel and a slow, obvious twin."""

import numpy as np
import pytest

from experiments.entity_tables import listed_candidates, table_facts
from sgtb.linking.features.contexts import Contexts, Repeats
from sgtb.linking.features.feature_group import FeatureInputs
from sgtb.linking.features.groups.similarity import COSINES, DESCRIPTIONS, OVERLAPS, compared_texts
from tests.helpers.linking_builders import document, documents, entity_table, lexicon_of, world


def bag(matrix, r):
    first, last = matrix.indptr[r : r + 2]
    return dict(zip(matrix.indices[first:last], matrix.data[first:last], strict=True))


def direction(words, lexicon):
    """The unit vector of weighted words."""
    total = sum(
        (float(value) * lexicon.vectors[w].astype(np.float64) for w, value in words.items()),
        np.zeros(lexicon.vectors.shape[1]),
    )
    return total / max(np.linalg.norm(total), 1e-12)


def naive_candidate(d, m, e, contexts, facts, lexicon):
    """The twin: one candidate, one feature at a time, by name."""
    seen = {
        "mention": bag(contexts.name_bag, m),
        "window": bag(contexts.window_bag, m),
        "sentence": bag(contexts.sentence_bag, m),
        "headline": bag(contexts.headline_bag, d),
        "document": bag(contexts.document_bag, d),
    }
    rest = [w for w in bag(facts.title_words, e) if w not in seen["mention"]]
    weight = {w: float(lexicon.weight[w]) for w in rest}
    description = bag(facts.description, e)

    def weight_in(text):
        return sum(weight[w] for w in rest if w in seen[text])

    def linked(text):
        return sum(value * seen[text].get(w, 0.0) for w, value in description.items())

    found = {
        "rest_words": len(rest),
        "rest_in_document": sum(w in seen["document"] for w in rest) / max(len(rest), 1),
        "rest_weight_in_document": weight_in("document"),
        "rest_weight_missing": sum(weight.values()) - weight_in("document"),
        "rest_weight_in_sentence": weight_in("sentence"),
        "rest_weight_in_headline": weight_in("headline"),
        **{f"linked_{text}": linked(text) for text in seen},
    }
    sides = {
        "title": facts.title_vector[e],
        "description": facts.description_vector[e],
        "kind": facts.kind_vector[e],
        "bracket": facts.bracket_vector[e],
        "rest": direction(weight, lexicon),
    }
    for text, words in seen.items():
        for side, vector in sides.items():
            found[f"{side}_{text}"] = float(direction(words, lexicon) @ vector)
    return found


def naive(candidates, contexts, facts, lexicon):
    return [
        naive_candidate(d, m, candidates.entity[c], contexts, facts, lexicon)
        for d in range(len(candidates.documents))
        for m in range(*candidates.mention_offsets[d : d + 2])
        for c in range(*candidates.candidate_offsets[m : m + 2])
    ]


def sides_of(texts, entities, train=None):
    lexicon = lexicon_of(texts if train is None else train, entities)
    candidates = listed_candidates(texts, entities)
    contexts = Contexts.build(candidates, lexicon)
    return candidates, contexts, table_facts(entities, lexicon), lexicon


def compared(candidates, contexts, facts, lexicon):
    repeats = Repeats.of(candidates, contexts)
    return compared_texts(FeatureInputs(candidates, contexts, repeats, facts, lexicon))


def random_texts(seed):
    """Texts of words that titles have, so that there is much to compare."""
    rng = np.random.default_rng(seed)
    words = "red blue green fox owl elk team city of the".split()
    titles = [" ".join(rng.choice(words, rng.integers(1, 4))) for _ in range(9)]
    titles = [t.title() if i % 2 else f"{t.title()} ({words[i]})" for i, t in enumerate(titles)]
    entities = entity_table(titles, [tuple(rng.choice(9, 2, replace=False)) for _ in range(14)])
    texts = []
    for i in range(4):
        lines = []
        for _ in range(3):
            line = list(rng.choice([*words, "rain", "1996"], rng.integers(1, 7)))
            listed = ",".join(rng.choice(entities.ids, rng.integers(0, 4)))
            line.insert(rng.integers(len(line) + 1), f"[{rng.choice(words)}|e100||{listed}]")
            lines.append(" ".join(line))
        texts.append(document(str(i), *lines))
    return texts, entities


def assert_like_the_twin(sides):
    found = compared(*sides)
    rows = naive(*sides)
    for names, table in zip((OVERLAPS, COSINES, DESCRIPTIONS), found, strict=True):
        assert table.dtype == np.float32
        assert table.shape == (len(rows), len(names))
        for name, column in zip(names, table.T, strict=True):
            expected = [row[name] for row in rows]
            np.testing.assert_allclose(column, expected, atol=1e-5, err_msg=name)
    return found


@pytest.mark.parametrize("seed", range(3))
def test_against_the_twin(seed):
    texts, entities = random_texts(seed)
    train = [*texts[:2], document("9", "rain")]
    found = assert_like_the_twin(sides_of(texts, entities, train))
    assert all(table.any() for table in found)


def test_against_the_twin_in_the_small_world():
    found = assert_like_the_twin(sides_of(documents(8), world()))
    assert all(table.any(axis=0).all() for table in found)


def test_what_the_mention_says_itself_is_not_the_rest():
    entities = entity_table(["Orlan Rovers", "Orlan"])
    text = document("1", "a match", "[Orlan|e100||e100,e101] won", "Rovers again")
    other = document("2", "something else")
    overlaps = compared(*sides_of([text], entities, [text, other])).overlaps
    column = dict(zip(OVERLAPS, overlaps.T, strict=True))
    assert column["rest_words"].tolist() == [1, 0]
    assert column["rest_in_document"].tolist() == [1, 0]
    assert column["rest_weight_in_sentence"].tolist() == [0, 0]
    assert column["rest_weight_in_document"].tolist() == [np.float32(np.log(3 / 2)), 0]


def test_mentions_without_candidates_and_documents_without_mentions():
    entities = entity_table(["Orlan"])
    texts = [document("1"), document("2", "nothing"), document("3", "[Orlan|e100||]")]
    assert {len(table) for table in compared(*sides_of(texts, entities))} == {0}
