"""A generated corpus: documents with the statistics of news, from a seed.

It replaces real corpora, which may not be shipped, in tests and benchmarks. Entities have
overlapping topics, each with a competing topic: countries and their football teams. A document is
about one or two topics. The candidates of a mention share a name: the right one, mostly of the
document's topic, often one of the competing topic, and unrelated ones. So a document read wrongly
throughout is as coherent as one read rightly. Only local evidence distinguishes them, and it is
weak at any one mention, so early local decisions are often wrong.

`python -m benchmarks.generated_corpus -o train.problems` writes one part as a problems file.
"""

import argparse
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sgtb.boosting.data.pairs import PairTable, TablePairs
from sgtb.boosting.data.problems import Problems
from sgtb.core.dtypes import Bools, Doubles, Floats, Longs
from sgtb.core.errors import SettingsError

_N_KINDS = 4
_RIVAL = 1
"""The column of the rival reading, before candidates are shuffled; column 0 is the right one."""


@dataclass(frozen=True)
class CorpusShape:
    """Size and difficulty of a generated corpus; by default as AIDA's training part.

    n_documents, mean_mentions, max_mentions     lengths have a long tail, as news have
    mean_candidates, max_candidates              per mention
    fixed_mentions, fixed_candidates             if given, all have exactly this many
    n_local                                      local features: the useful ones, then noise
    dimensions                                   widths of the vector spaces, a pair feature each
    n_relations                                  link relations, a pair feature each
    n_entities, n_topics                         shared by all documents

    local_noise           noise of the context similarities: more makes `local` worse
    coherence             similarity of entities of a topic: more makes joint plans better
    coherent_distractors  share of mentions that also have a reading in the rival topic
    off_topic             share of mentions whose entity is unrelated to the topics
    clear                 share of mentions that the prior nearly decides
    repeated              share of mentions that repeat an earlier one
    fog                   local_noise is this many times stronger in a third of each document
    """

    n_documents: int = 946
    mean_mentions: float = 19.5
    max_mentions: int = 250
    mean_candidates: float = 11.0
    max_candidates: int = 30
    fixed_mentions: int | None = None
    fixed_candidates: int | None = None
    n_local: int = 40
    dimensions: tuple[int, ...] = (32, 32, 16)
    n_relations: int = 2
    n_entities: int = 20_000
    n_topics: int = 200
    local_noise: float = 1.0
    coherence: float = 0.8
    coherent_distractors: float = 0.9
    off_topic: float = 0.025
    clear: float = 0.2
    repeated: float = 0.15
    fog: float = 3.0

    def __post_init__(self) -> None:
        _check_shape(self)

    @classmethod
    def tiny(cls) -> "CorpusShape":
        """Five documents of four mentions and three candidates, for tests."""
        return cls(
            n_documents=5, fixed_mentions=4, fixed_candidates=3, n_local=6,
            dimensions=(8,), n_relations=1, n_entities=200, n_topics=10,
        )  # fmt: skip

    @classmethod
    def huge_document(cls) -> "CorpusShape":
        """One document of 1,000 mentions and 30 candidates: its pairs do not fit into memory."""
        return cls(n_documents=1, fixed_mentions=1000, fixed_candidates=30)

    @property
    def n_pair(self) -> int:
        """Number of pair features."""
        return len(self.dimensions) + self.n_relations


@dataclass(frozen=True)
class Splits:
    """Documents to train on, to choose settings by, and to report."""

    train: Problems
    dev: Problems
    test: Problems


def generate(shape: CorpusShape | None = None, seed: int = 0) -> Problems:
    """Generate a corpus; the same shape and seed give the same bytes."""
    shape = shape or CorpusShape()
    world_rng, train_rng, _, _ = _generators(seed)
    return _problems(train_rng, shape, _world(world_rng, shape), shape.n_documents)


def generate_splits(
    shape: CorpusShape | None = None, seed: int = 0, dev: int = 216, test: int = 231
) -> Splits:
    """Generate other documents of the same world beside `generate(shape, seed)`, its train."""
    if dev < 1 or test < 1:
        raise SettingsError(f"dev is {dev} and test is {test}; each needs at least one document")
    shape = shape or CorpusShape()
    world_rng, *rngs = _generators(seed)
    world = _world(world_rng, shape)
    sizes = (shape.n_documents, dev, test)
    return Splits(*(_problems(r, shape, world, n) for r, n in zip(rngs, sizes, strict=True)))


def main() -> None:
    """Write a part of the corpus. Parts of one seed share their entities but no document."""
    sizes = {"train": CorpusShape().n_documents, "dev": 216, "test": 231}
    parser = argparse.ArgumentParser(prog="benchmarks.generated_corpus", description=main.__doc__)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--split", choices=sizes, default="train")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--documents", type=int, help="as many as in AIDA by default")
    args = parser.parse_args()
    # Each part has its own random numbers: one document each is enough for the other parts.
    n = dict.fromkeys(sizes, 1) | {args.split: args.documents or sizes[args.split]}
    shape = replace(CorpusShape(), n_documents=n["train"])
    problems: Problems = getattr(generate_splits(shape, args.seed, n["dev"], n["test"]), args.split)
    problems.save(args.output)
    print(
        f"{args.output}: {problems.n_documents:,} documents, {problems.n_mentions:,} mentions, "
        f"{problems.n_candidates:,} candidates"
    )


class _Topics(NamedTuple):
    """Overlapping groups of entities; the second half of them are the rivals of the first."""

    first: Longs  # [N] the main topic of each entity
    members: Longs  # the entities of each topic, best known first
    offsets: Longs

    def rival(self, topics: Longs) -> Longs:
        """The competing topics."""
        n = len(self.offsets) - 1
        return (topics + n // 2) % n

    def draw(self, rng: np.random.Generator, topics: Longs) -> Longs:
        """An entity of each of `topics`, well-known ones more often."""
        start, stop = self.offsets[topics], self.offsets[topics + 1]
        chosen = rng.random(topics.shape) ** 1.5 * (stop - start)
        return self.members[start + chosen.astype(np.int64)]


class _World(NamedTuple):
    """What all documents share. Rows are numbered at random."""

    table: PairTable
    topics: _Topics
    fame: Doubles  # [N]
    kind: Longs  # [N] person, organisation, place, other


class _Names(NamedTuple):
    """Mentions with their candidates in a matrix: the right one, its rival, then unrelated ones."""

    rows: Longs  # [M, W]
    sizes: Longs  # [M] the columns in use
    prior: Doubles  # [M, W]
    topics: Longs  # [M, 2] what the document is about
    blur: Doubles  # [M] noise of the context


class _Candidates(NamedTuple):
    """All candidates in their final order."""

    mention: Longs
    row: Longs
    right: Bools
    prior: Doubles


def _generators(seed: int) -> list[np.random.Generator]:
    """One stream each for world, train, dev and test: no part depends on another's size."""
    return [np.random.Generator(np.random.PCG64(s)) for s in np.random.SeedSequence(seed).spawn(4)]


def _world(rng: np.random.Generator, shape: CorpusShape) -> _World:
    n, k = shape.n_entities, shape.n_topics
    first = rng.permutation(np.arange(n) % k)
    second = np.where(rng.random(n) < 0.3, rng.integers(k, size=n), first)
    fame = rng.exponential(size=n)
    both = np.flatnonzero(first != second)
    member, of = np.append(np.arange(n), both), np.append(first, second[both])
    order = np.lexsort((-fame[member], of))
    topics = _Topics(first, member[order], np.searchsorted(of[order], np.arange(k + 1)))
    spaces = [_vectors(rng, shape, first, second, width) for width in shape.dimensions]
    links = [_links(rng, topics, (r + 1) * 4 * n) for r in range(shape.n_relations)]
    return _World(PairTable.build(n, spaces, links), topics, fame, rng.integers(_N_KINDS, size=n))


def _vectors(
    rng: np.random.Generator, shape: CorpusShape, first: Longs, second: Longs, width: int
) -> Floats:
    """Unit vectors near the centres of their topics."""
    centre = rng.standard_normal((shape.n_topics, width))
    lean = centre[first] + np.where(first != second, 0.7, 0.0)[:, None] * centre[second]
    vectors = shape.coherence * lean + rng.standard_normal(lean.shape)
    unit: Doubles = vectors / np.sqrt((vectors**2).sum(axis=1, keepdims=True))
    return unit.astype(np.float32)


def _links(rng: np.random.Generator, topics: _Topics, n: int) -> tuple[Longs, Longs, Doubles]:
    """Links between entities of a topic, one in four between any two."""
    a = rng.integers(len(topics.first), size=n)
    inside = rng.random(n) < 0.75
    b = topics.draw(rng, np.where(inside, topics.first[a], rng.choice(topics.first, size=n)))
    count = rng.geometric(0.4, size=n).astype(np.float64)
    return a[a != b], b[a != b], count[a != b]


def _problems(rng: np.random.Generator, shape: CorpusShape, world: _World, n: int) -> Problems:
    lengths = _sizes(rng, n, shape.mean_mentions, shape.max_mentions, shape.fixed_mentions)
    document = np.repeat(np.arange(n), lengths)
    names = _names(rng, shape, world, lengths)
    found = _shuffled(rng, names)
    # Number the entities of a document in the order of their rows, as `Problems` requires.
    keys, entity = np.unique(
        document[found.mention] * shape.n_entities + found.row, return_inverse=True
    )
    entity_offsets = np.searchsorted(keys, np.arange(n + 1) * shape.n_entities).astype(np.int64)
    candidate_offsets = _starts(names.sizes)
    return Problems(
        _starts(lengths).astype(np.int32),
        candidate_offsets.astype(np.int32),
        (np.flatnonzero(found.right) - candidate_offsets[:-1]).astype(np.int32),
        (entity - entity_offsets[document[found.mention]]).astype(np.int32),
        entity_offsets,
        _local(rng, shape, world, names, found),
        TablePairs.of((keys % shape.n_entities).astype(np.int32), world.table),
    )


def _sizes(rng: np.random.Generator, n: int, mean: float, most: int, fixed: int | None) -> Longs:
    """Lognormal sizes from 1 to `most`, scaled until clipping leaves their mean at `mean`."""
    if fixed is not None:
        return np.full(n, fixed, np.int64)
    sizes = rng.lognormal(sigma=0.8, size=n)
    for _ in range(20):
        sizes = np.clip(sizes * (mean / sizes.mean()), 1, most)
    return np.rint(sizes).astype(np.int64)


def _starts(sizes: Longs) -> Longs:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])


def _names(rng: np.random.Generator, shape: CorpusShape, world: _World, lengths: Longs) -> _Names:
    n = int(lengths.sum())
    document = np.repeat(np.arange(len(lengths)), lengths)
    place = np.arange(n) - _starts(lengths)[document]
    sizes = _sizes(rng, n, shape.mean_candidates, shape.max_candidates, shape.fixed_candidates)
    topics = rng.integers(shape.n_topics, size=(len(lengths), 2))
    single = rng.random(len(lengths)) < 0.5
    topics[single, 1] = topics[single, 0]

    middle = rng.random(len(lengths))[document]
    foggy = np.abs((place + 0.5) / lengths[document] - middle) < 1 / 6
    blur = shape.local_noise * np.where(foggy, shape.fog, 1.0)

    # A mention that repeats an earlier one has its name, hence its candidates and prior.
    again = (place > 0) & (rng.random(n) < shape.repeated)
    source = np.arange(n) - again * (1 + (rng.random(n) * place).astype(np.int64))
    while again[source].any():
        source = source[source]
    rows = _readings(rng, shape, world, topics[document], int(sizes.max()))
    prior = _priors(rng, shape, rows.shape, sizes)
    return _Names(rows[source], sizes[source], prior[source], topics[document], blur)


def _readings(
    rng: np.random.Generator, shape: CorpusShape, world: _World, topics: Longs, width: int
) -> Longs:
    """Draw the candidates of every name; none of them twice."""
    n = len(topics)
    about = topics[np.arange(n), (rng.random(n) < 0.35).astype(np.int64)]
    drawn = rng.integers(shape.n_topics, size=(n, width))
    # Some of the others fit the document too, so that coherence alone does not decide.
    near = rng.random((n, width)) < 0.015
    drawn[near] = np.broadcast_to(about[:, None], near.shape)[near]
    on_topic = rng.random(n) >= shape.off_topic
    drawn[on_topic, 0] = about[on_topic]
    if width > _RIVAL:
        rivalled = rng.random(n) < shape.coherent_distractors
        drawn[rivalled, _RIVAL] = world.topics.rival(about[rivalled])
    rows = world.topics.draw(rng, drawn)
    while True:
        order = np.argsort(rows, axis=1, kind="stable")  # the right one is first of its equals
        ordered = np.take_along_axis(rows, order, axis=1)
        m, c = np.nonzero(ordered[:, 1:] == ordered[:, :-1])
        if not len(m):
            return rows
        rows[m, order[m, c + 1]] = rng.integers(shape.n_entities, size=len(m))


def _priors(
    rng: np.random.Generator, shape: CorpusShape, matrix: tuple[int, ...], sizes: Longs
) -> Doubles:
    """How often a name means each entity: clear for some names, else as good for the rival."""
    clear = rng.random(matrix[0]) < shape.clear
    logit = 1.2 * rng.standard_normal(matrix)
    logit[:, 0] += np.where(clear, 5.0, 1.5)
    logit[:, _RIVAL : _RIVAL + 1] += np.where(clear, 0.0, 1.5)[:, None]
    weight = np.exp(logit) * (np.arange(matrix[1]) < sizes[:, None])
    prior: Doubles = weight / weight.sum(axis=1, keepdims=True)
    return prior


def _shuffled(rng: np.random.Generator, names: _Names) -> _Candidates:
    """Put the candidates of every mention in random order, and mentions one after another."""
    used = np.arange(names.rows.shape[1]) < names.sizes[:, None]
    order = np.argsort(np.where(used, rng.random(used.shape), 2.0), axis=1)
    return _Candidates(
        np.repeat(np.arange(len(order)), names.sizes),
        np.take_along_axis(names.rows, order, axis=1)[used],
        (order == 0)[used],
        np.take_along_axis(names.prior, order, axis=1)[used],
    )


def _local(
    rng: np.random.Generator, shape: CorpusShape, world: _World, names: _Names, found: _Candidates
) -> Floats:
    """Local features, the more useful first: few features still make a corpus to learn from."""
    n, n_mentions = len(found.row), len(names.sizes)
    right, kind, blur = found.right, world.kind[found.row], names.blur[found.mention]
    fits = world.topics.first[found.row][:, None] == names.topics[found.mention]
    signal = np.where(right, 1.0, 0.5 * fits.any(axis=1))
    heard = rng.integers(_N_KINDS, size=n_mentions)  # what the context calls the mention
    heard = np.where(rng.random(n_mentions) < 0.6, kind[right], heard)

    def blurred(clean: Doubles) -> Doubles:
        return clean + blur * rng.standard_normal(n)

    columns: list[npt.NDArray[Any]] = [found.prior, *(blurred(signal) for _ in range(3))]
    for _ in range(2):  # two values without information alone: their signs agree for the right one
        first, second = rng.standard_normal(n), rng.standard_normal(n)
        agree = rng.random(n) < np.where(right, 0.7, 0.5)
        columns += [first, np.copysign(second, np.where(agree, first, -first))]
    columns += [
        np.log(found.prior),
        blurred(np.where(kind < 2, signal, -signal)),  # to be read one way or the other, by kind
        rng.binomial(5, np.where(right, 0.4, 0.5)),  # a distance between name and title
        world.fame[found.row],
        names.sizes[found.mention],
        *(kind == k for k in range(_N_KINDS)),
        *(heard[found.mention] == k for k in range(_N_KINDS)),
    ]
    local = rng.standard_normal((n, shape.n_local), dtype=np.float32)
    for f, column in enumerate(columns[: shape.n_local]):
        local[:, f] = column
    return local


def _check_shape(shape: CorpusShape) -> None:
    shares = ("coherent_distractors", "off_topic", "clear", "repeated")
    from_zero = (*shares, "n_relations", "local_noise", "coherence", "fog")
    for field in fields(shape):
        value = getattr(shape, field.name)
        least = 0 if field.name in from_zero else 2 if field.name == "n_topics" else 1
        most = 1 if field.name in shares else 10**9
        for number in value if isinstance(value, tuple) else (value,):
            if number is not None and not least <= number <= most:
                raise SettingsError(f"{field.name} is {value}; it must be {least} to {most}")
    for name in ("mentions", "candidates"):
        mean, most = getattr(shape, f"mean_{name}"), getattr(shape, f"max_{name}")
        if mean > most and getattr(shape, f"fixed_{name}") is None:
            raise SettingsError(f"mean_{name} is {mean}, more than max_{name}, which is {most}")
    needed = max(shape.n_topics, 4 * (shape.fixed_candidates or shape.max_candidates))
    if shape.n_entities < needed:
        raise SettingsError(
            f"n_entities is {shape.n_entities}; with {shape.n_topics} topics and that many "
            f"candidates it must be at least {needed}"
        )


if __name__ == "__main__":
    main()
