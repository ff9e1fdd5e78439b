"""The pipeline: all steps from documents to links, in their order.

    request → mentions → chunks → candidates → facts → segments → features → shortlist
            → problems → search → calibration → answers

`Pipeline` ends at problems and serves training and linking; `LinkPipeline` has all steps.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from sgtb.boosting.data.problems import Problems
from sgtb.boosting.estimator import StructuredGradientBoosting
from sgtb.core.dtypes import Floats, Ints, Longs
from sgtb.core.errors import RequestError, SgtbError
from sgtb.core.records import Document, Mention
from sgtb.kb.knowledge_base import KnowledgeBase
from sgtb.kb.snapshot import damaged
from sgtb.linking.answers import LinkBuilder
from sgtb.linking.candidates.candidate_lookup import CandidateFinder, FoundCandidates
from sgtb.linking.candidates.candidate_table import CandidateTable, Hidden
from sgtb.linking.decisions import DecisionPolicy, decide, with_unsearched
from sgtb.linking.entities.background import Background
from sgtb.linking.entities.entity_facts import FactStore
from sgtb.linking.entities.entity_source import KbSource
from sgtb.linking.features.feature_matrix import Table
from sgtb.linking.features.schema import Schema
from sgtb.linking.features.segmentation import segmented
from sgtb.linking.link_options import LinkerSettings, LinkOptions
from sgtb.linking.linker_model import LinkerModel
from sgtb.linking.links import Linkable, LinkColumns, LinkedDocument, as_request, joined, linked
from sgtb.linking.mentions.chunks import (
    Chunk,
    chunk_from_document,
    chunk_from_request,
    split_into_chunks,
)
from sgtb.linking.mentions.mention_detection import NameFinder
from sgtb.linking.nil_candidate import GROUP, NIL_FEATURES, add_nil, nil_rows, score_column
from sgtb.linking.problem_packing import (
    Layout,
    Shortlist,
    candidate_names,
    pack,
    pair_table,
    shortlisted,
)

MENTIONS = 2_000  # mentions searched at a time, or slightly more; bounds the memory of long texts
_CANDIDATES_TO_RELEASE = 4_000
"""Candidates after which mapped pages of the knowledge base are released."""
_BEAM_WIDTHS = 4  # learners of different beam widths that are kept
_ATTEMPTS = 10  # at linking documents while the knowledge base is refreshed


class Pipeline:
    """From documents to problems."""

    def __init__(
        self, kb: KnowledgeBase, background: Background, schema: Schema, finder: CandidateFinder
    ) -> None:
        self.kb, self.background, self.schema, self.finder = kb, background, schema, finder
        self._store = FactStore(KbSource(kb), background)

    def forget(self) -> None:
        """Clear all caches of the knowledge base."""
        self._store.forget()
        self.finder.forget()

    def lay_out(
        self,
        documents: Sequence[Document],
        leave_out: Sequence[int] | None = None,
        hidden: Sequence[Hidden] | None = None,
    ) -> Layout:
        """Look up the candidates of every mention, their facts and the gold; split into segments.

        leave_out, hidden  of training documents, see `CandidateFinder.find`
        """
        found = self.finder.find(documents, leave_out, hidden)
        sizes = np.diff(found.offsets)
        with_candidates = np.flatnonzero(sizes)
        every = [mention for document in documents for mention in document.mentions]
        mentions = [every[i] for i in with_candidates.tolist()]
        numbers, rows = np.unique(found.entity.astype(np.int64), return_inverse=True)
        ends = np.cumsum([0, *(len(document.mentions) for document in documents)])
        candidates = CandidateTable(
            documents=tuple(documents),
            mentions=tuple(mentions),
            mention_offsets=np.searchsorted(with_candidates, ends).astype(np.int32),
            candidate_offsets=np.append(0, np.cumsum(sizes[with_candidates])).astype(np.int32),
            entity=rows.astype(np.int32),
            gold=self._gold(found, with_candidates, mentions),
            prior=found.prior,
            match=found.match,
        )
        facts = self._store.facts(numbers)
        own, source = segmented(candidates, with_candidates, facts, self.background)
        return Layout(with_candidates, own, source, facts, found.found)

    def _gold(
        self, found: FoundCandidates, with_candidates: Longs, mentions: Sequence[Mention]
    ) -> Ints:
        """Return the position of each mention's gold among its candidates; -1: absent."""
        gold = np.full(len(mentions), -1, np.int32)
        for m, mention in enumerate(mentions):
            number = self.kb.number(mention.gold) if mention.in_kb and mention.gold else None
            if number is not None:
                first, last = found.offsets[with_candidates[m] :][:2]
                right = np.flatnonzero(found.entity[first:last] == number)
                gold[m] = right[0] if len(right) else -1
        return gold

    def table(self, layout: Layout) -> Table:
        """Compute the features that need no training."""
        return Table.build(layout.candidates, layout.facts, self.background.lexicon, self.schema)

    def pack(
        self,
        layout: Layout,
        features: Floats,
        without: Collection[str] = (),
        names: Longs | None = None,
    ) -> Problems:
        """Pack the learner's problems, without some feature groups; see `problem_packing.pack`."""
        place = np.zeros(len(layout.facts), np.int32)
        place[layout.candidates.entity] = 1
        (rows,) = place.nonzero()  # a shortlist has fewer entities than the facts
        place[rows] = np.arange(len(rows))
        searched = replace(layout.candidates, entity=place[layout.candidates.entity])
        pairs = pair_table(layout.facts, self.schema, rows)
        return pack(searched, features, pairs, without, self.schema, names)


class LinkPipeline:
    """From requests to links, with a trained model."""

    def __init__(self, model: LinkerModel, kb: KnowledgeBase, settings: LinkerSettings) -> None:
        self.model, self.kb, self.settings = model, kb, settings
        candidates = model.candidates
        if settings.fuzzy is not None:
            candidates = replace(candidates, fuzzy=settings.fuzzy)
        finder = CandidateFinder(kb, candidates, model.trained_names)
        self.steps = Pipeline(kb, model.background, model.schema, finder)
        column = score_column(model.schema, model.without)
        self.policy = DecisionPolicy(model.confidence, model.nil, score_column=column)
        schema = model.schema
        groups = [schema.features[i].group for i in schema.columns_without(model.without)]
        if self.policy.nil_is_a_candidate:
            groups += [GROUP] * len(NIL_FEATURES)
        self.answers = LinkBuilder(kb, groups, model.nil.no_candidates)
        self._systems: dict[int | None, StructuredGradientBoosting] = {}
        self.system(None)
        tagger = model.mention_tagger if settings.mentions.learned else None
        self._names = NameFinder(kb, settings.mentions, tagger)
        self._state = kb.state
        self._read = 0

    def system(self, beam_width: int | None) -> StructuredGradientBoosting:
        """Return the learner for a beam width; None: that of its training."""
        found = self._systems.get(beam_width)
        if found is None:
            if len(self._systems) >= _BEAM_WIDTHS:
                self._systems = {}
            forest = self.model.forest
            width = forest.plan.beam_width if beam_width is None else beam_width
            plan = replace(forest.plan, beam_width=width)
            training = replace(forest.training, threads=1)
            found = StructuredGradientBoosting.of(replace(forest, plan=plan, training=training))
            self._systems[beam_width] = found
        return found

    def forget(self) -> None:
        """Clear all caches of the knowledge base."""
        self.steps.forget()
        self._names.forget()
        self.answers.forget()
        self._state = self.kb.state

    def link(self, documents: Sequence[Linkable], options: LinkOptions) -> list[LinkedDocument]:
        """Link documents together; again if the knowledge base was refreshed meanwhile."""
        for _ in range(_ATTEMPTS):
            state = self.kb.state
            try:
                self.kb.check_files()
                links = self._link(documents, options)
            except Exception as error:
                if self.kb.state is not state:  # numbers of entities may mean others now
                    continue
                if isinstance(error, UnicodeDecodeError):  # nothing else is decoded
                    raise damaged(self.kb.folder, f"a text of an entity: {error}") from None
                raise
            if self.kb.state is state:
                return links
        raise SgtbError("the knowledge base was replaced again and again while linking")

    def _link(self, documents: Sequence[Linkable], options: LinkOptions) -> list[LinkedDocument]:
        if self.kb.state is not self._state:  # refreshed
            self.forget()
        whole = [self.to_chunk(document) for document in documents]
        splits = [split_into_chunks(one) for one in whole]
        groups = _groups(chunk for chunks in splits for chunk in chunks)
        links = iter([link for group in groups for link in self._decide(group, options)])
        return [
            linked(one.document.text, one.document.id, joined([next(links) for _ in chunks]))
            for one, chunks in zip(whole, splits, strict=True)
        ]

    def to_chunk(self, document: Linkable) -> Chunk:
        """Tokenize a document and find its mentions; drop its annotations."""
        given = as_request(document)
        most = self.settings.max_characters
        if isinstance(given.text, str) and len(given.text) > most:
            raise RequestError(
                f"a text of {len(given.text):,} characters is longer than the limit of {most:,}; "
                "link its parts one by one, or raise max_characters"
            )
        if isinstance(given, Document):
            return chunk_from_document(given)
        return chunk_from_request(given, self._names, self.settings.tokenizer)

    def _decide(self, chunks: Sequence[Chunk], options: LinkOptions) -> list[LinkColumns]:
        layout, shortlist, problems = self.pack(chunks)
        fixed = np.array([known for chunk in chunks for known in chunk.fixed], np.bool_)
        # A fixed mention has one candidate.
        clamp = np.where(fixed[layout.with_candidates], 0, -1).astype(np.int32)
        policy = replace(self.policy, threshold=options.nil)
        system = self.system(options.beam_width)
        decided = decide(problems, system, clamp, options.reasons, policy)
        decided = with_unsearched(decided, shortlist, layout.candidates)
        links = self.answers.links(chunks, layout, decided, options.candidates)
        self._read += layout.candidates.n_candidates
        if self._read >= _CANDIDATES_TO_RELEASE:
            self._read = 0
            KbSource(self.kb).release()
        return links

    def pack(self, chunks: Sequence[Chunk]) -> tuple[Layout, Shortlist, Problems]:
        """Return all candidates, the shortlist, and the problems to search."""
        model, steps = self.model, self.steps
        layout = steps.lay_out([chunk.document for chunk in chunks])
        features = model.featurizer.features(steps.table(layout), reuse=True)
        shortlist = shortlisted(layout.candidates, features, model.schema, model.without)
        searched = replace(layout, candidates=shortlist.candidates)
        names = candidate_names(layout.candidates, len(layout.facts))[shortlist.rows]
        problems = steps.pack(searched, features[shortlist.rows], model.without, names)
        if self.policy.nil_is_a_candidate:
            known = model.training_counts.lookup(layout.candidates)
            rows = nil_rows(layout.candidates, features, model.schema, model.without, known)
            problems = add_nil(problems, rows, np.zeros(len(rows), np.bool_))
        return layout, shortlist, problems


def _groups(chunks: Iterable[Chunk]) -> Iterator[list[Chunk]]:
    """Group chunks by about MENTIONS mentions."""
    group: list[Chunk] = []
    size = 0
    for chunk in chunks:
        group.append(chunk)
        size += len(chunk.fixed)
        if size >= MENTIONS:
            yield group
            group, size = [], 0
    if group:
        yield group
