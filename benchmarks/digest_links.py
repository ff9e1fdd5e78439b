"""Digests of linked documents: candidates, features, links, probabilities and reasons."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from benchmarks.digest import Digest
from sgtb.boosting.data.pairs import TablePairs
from sgtb.boosting.data.problems import Problems
from sgtb.kb.knowledge_base import KnowledgeBase
from sgtb.linking.candidates.candidate_lookup import CandidateFinder
from sgtb.linking.link_options import LinkerSettings
from sgtb.linking.linker import Linker
from sgtb.linking.linker_model import LinkerModel
from sgtb.linking.links import Link, Linkable
from sgtb.linking.mentions.chunks import split_into_chunks
from sgtb.linking.parallel import BATCH
from sgtb.linking.pipeline import Pipeline
from sgtb.linking.problem_packing import Layout

Digests = Iterator[tuple[str, str]]
"""Names and digests."""
CANDIDATES = 100
"""Alternatives of a link: all that a mention can have."""


@dataclass(frozen=True)
class Options:
    """Options that must not change any digest.

    threads  of the learner; also processes of the linker and of the dump reader
    cache    whether training uses the prefix cache
    folder   for files that the groups write
    """

    threads: int
    cache: bool
    folder: Path


def model_bytes(model: LinkerModel, folder: Path) -> bytes:
    """Return the bytes of a model's file."""
    path = folder / "model.safetensors"
    model.save(path)
    return path.read_bytes()


def feature_digests(
    name: str, model: LinkerModel, kb: KnowledgeBase, documents: Sequence[Linkable]
) -> Digests:
    """Digest the candidates and features of a model, and the packed problems."""
    pipeline = Pipeline(kb, model.background, model.schema, CandidateFinder(kb, model.candidates))
    linker = Linker(model, kb)  # not closed: it would close the knowledge base
    candidates, features, problems = Digest(), Digest(), Digest()
    for batch in _batches(documents):
        chunks = chain.from_iterable(
            split_into_chunks(linker.to_chunk(document)) for document in batch
        )
        layout = pipeline.lay_out([chunk.document for chunk in chunks])
        table = pipeline.table(layout)
        values = model.featurizer.features(table)
        candidates.add(*_candidates(layout))
        features.add(table.fixed, values)
        problems.add(*_arrays(pipeline.pack(layout, values, model.without)))
    yield f"{name}/candidates", candidates.hexdigest()
    yield f"{name}/features", features.hexdigest()
    yield f"{name}/problems", problems.hexdigest()


def link_digests(
    name: str,
    model: LinkerModel,
    kb: KnowledgeBase,
    documents: Sequence[Linkable],
    options: Options,
) -> Digests:
    """Link documents, and digest answers, probabilities and reasons."""
    links, probabilities, reasons = Digest(), Digest(), Digest()
    linker = Linker(model, kb, LinkerSettings(candidates=CANDIDATES, reasons=True))
    for linked in linker.pipe(documents, options.threads):
        links.add(linked.id, len(linked.links))
        for link in linked.links:
            links.add(*_answer(link))
            probabilities.add(
                link.confidence, link.nil, link.lead,
                [(one.entity, one.probability, one.prior) for one in link.candidates],
            )  # fmt: skip
            reasons.add(link.reasons)
    yield f"{name}/links", links.hexdigest()
    yield f"{name}/probabilities", probabilities.hexdigest()
    yield f"{name}/reasons", reasons.hexdigest()


def _batches(documents: Sequence[Linkable]) -> Iterator[Sequence[Linkable]]:
    for first in range(0, len(documents), BATCH):
        yield documents[first : first + BATCH]


def _candidates(layout: Layout) -> tuple[Any, ...]:
    candidates = layout.candidates
    return (
        candidates.mention_offsets, candidates.candidate_offsets, candidates.prior,
        layout.facts.number[candidates.entity], layout.found,
    )  # fmt: skip


def _arrays(problems: Problems) -> tuple[Any, ...]:
    pairs = problems.pairs
    assert isinstance(pairs, TablePairs)
    return (
        problems.mention_offsets, problems.candidate_offsets, problems.entity,
        problems.entity_offsets, problems.local, pairs.row, pairs.name, *vars(pairs.table).values(),
    )  # fmt: skip


def _answer(link: Link) -> tuple[Any, ...]:
    return (
        link.start, link.end, link.text, link.entity, link.title, link.type, link.found,
        link.fixed, link.runner_up,
    )  # fmt: skip
