"""Votes and walks: the kernels and slow, obvious twins."""

import itertools

import numpy as np
import pytest

from experiments.entity_tables import listed_candidates, table_facts
from sgtb.linking.features.contexts import Contexts, Repeats
from sgtb.linking.features.groups import coherence
from sgtb.linking.features.groups.coherence import COHERENCES, REACH, RESTART, SPACES, WALK_ROUNDS
from tests.helpers.linking_builders import document, documents, entity_table, lexicon_of, world
from tests.helpers.vote_twin import naive_votes, random_texts, sides_of


def naive_walk(candidates, facts):
    """The twin: the same steps with a dense matrix per document."""
    n = len(facts)
    links = np.zeros((n, n))
    links[facts.links.rows, facts.links.indices] = 1
    in_links = facts.in_links + 1.0
    visited = []
    for d in range(len(candidates.documents)):
        mentions = range(*candidates.mention_offsets[d : d + 2])
        own = [candidates.entity[slice(*candidates.candidate_offsets[m : m + 2])] for m in mentions]
        home = np.zeros(n)
        for listed in own:
            home[listed] += in_links[listed] / max(in_links[listed].sum(), 1)
        if not home.any():
            continue
        home /= home.sum()
        inside = np.zeros(n, bool)
        inside[np.concatenate(own)] = True
        steps = links * inside[:, None] * inside[None, :]
        degree = steps.sum(axis=1)
        steps[degree == 0] = np.eye(n)[degree == 0]
        steps /= steps.sum(axis=1, keepdims=True)
        time = home
        for _ in range(WALK_ROUNDS):
            time = RESTART * home + (1 - RESTART) * time @ steps
        visited += [time[listed] for listed in own]
    return np.concatenate([*visited, np.zeros(0)])


def naive(candidates, contexts, facts):
    """All features by name."""
    found = {}
    for space in SPACES:
        rows = naive_votes(candidates, contexts, facts, space)
        for name in ("linked_votes", "linked_names", "linked_with_sure"):
            found[name] = [row[name] for row in rows]
        for name in ("close_votes", "close_names", "close_to_sure"):
            found[f"{space}_{name}"] = [row[name] for row in rows]
    walk = naive_walk(candidates, facts)
    found["walk_log"] = np.log(walk + 1e-6)
    found["walk_share"] = _per_mention(candidates, walk, lambda part: part / part.sum())
    for name, column in list(found.items()):
        below = _per_mention(candidates, np.asarray(column), lambda part: part - part.max())
        found[f"{name}_below_best"] = below
    return found


def _per_mention(candidates, column, change):
    parts = [column[a:b] for a, b in itertools.pairwise(candidates.candidate_offsets) if a < b]
    return np.concatenate([*map(change, parts), np.zeros(0)])


def features_of(candidates, contexts, facts):
    repeats = Repeats.of(candidates, contexts)
    return coherence.coherence_features(repeats, facts)[repeats.place]


def assert_like_the_twin(texts, entities):
    sides = sides_of(texts, entities)
    found = features_of(*sides)
    assert found.shape == (sides[0].n_candidates, len(COHERENCES))
    assert found.dtype == np.float32
    expected = naive(*sides)
    for name, column in zip(COHERENCES, found.T, strict=True):
        np.testing.assert_allclose(column, expected[name], atol=1e-5, err_msg=name)
    return dict(zip(COHERENCES, found.T, strict=True))


@pytest.mark.parametrize("seed", range(4))
def test_against_the_twins(seed):
    texts, entities = random_texts(seed, 3, 6)
    columns = assert_like_the_twin(texts, entities)
    assert columns["walk_share"].any()


def test_against_the_twins_in_the_small_world():
    columns = assert_like_the_twin(documents(8), world())
    assert all(column.any() for column in columns.values())


def test_names_beyond_reach_have_no_vote():
    """One entity is linked with what the farthest name means, and with nothing else."""
    entities = entity_table(["Red", "Blue", "Green"], [(0, 1)])
    for distance, votes in ((REACH, 1), (REACH + 1, 0)):
        names = ["[Name0|e100||e100]", *(f"[Name{i}|e102||e102]" for i in range(1, distance))]
        text = document("1", " ".join([*names, f"[Name{distance}|e101||e101]"]))
        columns = assert_like_the_twin([text], entities)
        assert columns["linked_with_sure"][0] == columns["linked_with_sure"][-1] == votes


def test_the_same_name_is_one_voter_and_gets_one_answer():
    entities = entity_table(["Red", "Blue", "Green"], [(0, 1), (0, 2)])
    name = "[Fox|e100||e100]"
    once = document("1", f"{name} [Owl|e101||e101] [Elk|e102||e102,e101]")
    often = document("1", f"{name} [Owl|e101||e101] [OWL|e101||e101] [Elk|e102||e102,e101] {name}")
    few, many = (assert_like_the_twin([text], entities) for text in (once, often))
    for space in ("linked", *(f"{space}_close" for space in SPACES)):
        for column in (name for name in COHERENCES if name.startswith(f"{space}_")):
            assert many[column][0] == many[column][-1] == few[column][0], column
            assert many[column][1] == many[column][2] == few[column][1], column


def test_a_name_does_not_vote_for_itself():
    entities = entity_table(["Red", "Blue"], [(0, 1)])
    alone = assert_like_the_twin([document("1", "[Fox|e100||e100,e101]")], entities)
    assert not alone["linked_votes"].any()
    assert not alone["linked_with_sure"].any()


def test_documents_do_not_see_each_other():
    texts, entities = documents(8), world()
    lexicon = lexicon_of(texts, entities)
    facts = table_facts(entities, lexicon)

    def features(some):
        candidates = listed_candidates(some, entities)
        return features_of(candidates, Contexts.build(candidates, lexicon), facts)

    alone = np.concatenate([features([text]) for text in texts])
    assert features(texts).tobytes() == alone.tobytes()


def test_nothing_to_choose_from():
    entities = entity_table(["Red", "Blue"], [(0, 1)])
    texts = [document("1"), document("2", "[Fox|e100||]"), document("3", "no names")]
    found = features_of(*sides_of(texts, entities))
    assert found.shape == (0, len(COHERENCES))
