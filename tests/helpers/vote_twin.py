"""A slow twin of the votes between names, and documents to compare them on."""

import itertools

import numpy as np

from experiments.entity_tables import listed_candidates, table_facts
from sgtb.linking.features.contexts import Contexts
from sgtb.linking.features.groups.coherence import REACH
from tests.helpers.linking_builders import document, entity_table, lexicon_of


def naive_votes(candidates, contexts, facts, space):
    """Votes of every other name within reach, in plain Python."""
    vectors = getattr(facts, f"{space}_vector").astype(np.float64)
    linked = {(a, b) for a, b in zip(facts.links.rows, facts.links.indices, strict=True)}
    in_links = facts.in_links
    lists = [
        candidates.entity[a:b].tolist() for a, b in itertools.pairwise(candidates.candidate_offsets)
    ]
    rows = []
    for d in range(len(candidates.documents)):
        own = range(*candidates.mention_offsets[d : d + 2])
        first_of: dict[str, int] = {}
        for m in own:
            first_of.setdefault(contexts.names[m], m)
        names = list(first_of)
        for m in own:
            place = names.index(contexts.names[m])
            near = [
                lists[first_of[name]]
                for i, name in enumerate(names)
                if i != place and abs(i - place) <= REACH and lists[first_of[name]]
            ]
            rows += [_vote(e, near, vectors, linked, in_links) for e in lists[m]]
    return rows


def _vote(e, near, vectors, linked, in_links):
    votes = []
    for others in near:
        prior = (in_links[others] + 1.0) / (in_links[others] + 1.0).sum()
        is_linked = np.array([float((e, other) in linked) for other in others])
        close = np.maximum(vectors[others] @ vectors[e], 0)
        votes.append((len(others), prior @ is_linked, is_linked.max(), prior @ close, close.max()))
    single = [vote for vote in votes if vote[0] == 1]

    def mean(values):
        return sum(values) / max(len(values), 1)

    return {
        "linked_votes": mean([vote[1] for vote in votes]),
        "linked_names": mean([vote[2] for vote in votes]),
        "linked_with_sure": sum(vote[2] for vote in single),
        "close_votes": mean([vote[3] for vote in votes]),
        "close_names": mean([vote[4] for vote in votes]),
        "close_to_sure": mean([vote[4] for vote in single]),
    }


def sides_of(texts, entities):
    lexicon = lexicon_of(texts, entities)
    candidates = listed_candidates(texts, entities)
    return candidates, Contexts.build(candidates, lexicon), table_facts(entities, lexicon)


def random_texts(seed, n_documents, n_mentions):
    """Names that come again, some with the same candidates and some with others."""
    rng = np.random.default_rng(seed)
    titles = [f"{a} {b}" for a in ("Red", "Blue", "Green") for b in ("Fox", "Owl", "Elk")]
    pairs = [tuple(rng.choice(9, 2, replace=False)) for _ in range(12)]
    entities = entity_table(titles, pairs, in_links=rng.integers(0, 50, 9))
    texts = []
    for i in range(n_documents):
        marks = []
        for _ in range(n_mentions):
            name = rng.integers(n_mentions)
            again = np.random.default_rng(name) if rng.random() < 0.7 else rng
            listed = again.choice(entities.ids, again.integers(0, 4), replace=False)
            marks.append(f"[Name{name}|e100||{','.join(listed)}]")
        texts.append(document(str(i), " ".join(marks)))
    return texts, entities
