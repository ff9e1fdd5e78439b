"""Linker: text in, explained links out. A knowledge base and a model, ready for use."""

import gc
import os
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import count, islice
from typing import Any

import numpy as np

from sgtb.boosting.data.dense_pairs import with_dense_pairs
from sgtb.boosting.data.problems import Problems
from sgtb.boosting.estimator import StructuredGradientBoosting
from sgtb.core.errors import RequestError, SettingsError, SgtbError
from sgtb.core.records import Document, UnannotatedDocument
from sgtb.core.workers import submit, worker_pool
from sgtb.kb.knowledge_base import KnowledgeBase
from sgtb.linking.answers import Answers, Cards, decide, widened
from sgtb.linking.calibration.confidence import check_share
from sgtb.linking.calibration.decision_policy import Trust
from sgtb.linking.candidates.candidate_lookup import CandidateFinder
from sgtb.linking.entities.entity_source import KbSource
from sgtb.linking.linker_model import LinkerModel
from sgtb.linking.links import LinkColumns, LinkedDocument, Request, joined, linked
from sgtb.linking.mentions.chunks import Part, cut, document_of, of_document
from sgtb.linking.mentions.mention_detection import MentionSettings, NameFinder
from sgtb.linking.nil_candidate import GROUP, NIL_FEATURES, add_nil
from sgtb.linking.pipeline import Layout, Workbench
from sgtb.linking.shortlist import Shortlist, shortlisted

BATCH = 64
"""Documents linked at a time: enough that arrays, not calls, are what takes the time."""
_EFFORT, _LEAST_EFFORT = 1_300, 300
"""That a batch for a worker process takes, and what it takes at least at the end; see `_effort`."""
MENTIONS = 2_000
"""Mentions decided at a time, or few more: it bounds the memory that a long text takes."""
_PAGES_KEPT_FOR = 4_000
"""Candidates after which the pages that were read of the knowledge base are let go. A document's
are few, but after thousands of documents they would be all."""
_BATCHES_TO_COLLECT = 200
"""Batches after which a worker process looks for reference cycles. It should not find any."""
Linkable = str | Request | Document


@dataclass(frozen=True)
class LinkerSettings:
    """What a linker answers, and how it finds mentions.

    candidates      alternatives given for every link
    reasons         whether links come with reasons
    mentions        how mentions are found where none are given
    near_names      whether names that nothing is found for go by names spelt nearly so
    max_characters  of one text; for more, link its chapters
    nil             links with a confidence below this become NIL, and 0 links whatever has a
                    candidate; None: as the model was trained to do
    """

    candidates: int = 5
    reasons: bool = False
    mentions: MentionSettings = field(default_factory=MentionSettings)
    near_names: bool = False
    max_characters: int = 5_000_000
    nil: float | None = None

    def __post_init__(self) -> None:
        for name in ("candidates", "max_characters"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise SettingsError(f"{name} must be a whole number from 1 up, not {value!r}")
        if self.nil is not None:
            check_share("nil", self.nil)


class Linker:
    """Links texts to the entities of a knowledge base. May be used by several threads."""

    def __init__(
        self, model: LinkerModel, kb: KnowledgeBase, settings: LinkerSettings | None = None
    ) -> None:
        model.check(KbSource(kb).evidence, kb.path)
        self.model, self.kb, self.settings = model, kb, settings or LinkerSettings()
        candidates = replace(model.candidates, near_names=self.settings.near_names)
        self._bench = Workbench(kb, model.background, model.schema, CandidateFinder(kb, candidates))
        self._names = NameFinder(kb, self.settings.mentions)
        self._cards = Cards(kb)
        groups = [f.group for f in model.schema.features if f.group not in model.without]
        self._trust = Trust(model.confidence, model.nil, self.settings.nil)
        if self._trust.nil_is_a_candidate:
            groups += [GROUP] * len(NIL_FEATURES)
        self._answers = Answers(self._cards, groups, self.settings.candidates, model.nil.nothing)
        training = replace(model.forest.training, threads=1)
        self._system = StructuredGradientBoosting.of(replace(model.forest, training=training))
        self._state = kb.state
        self._closed = False
        self._met = 0
        self._guard = threading.Lock()
        self._pool: ProcessPoolExecutor | None = None
        self._jobs = 0

    @classmethod
    def load(
        cls,
        model: str | os.PathLike[str] | LinkerModel,
        kb: str | os.PathLike[str] | KnowledgeBase,
        settings: LinkerSettings | None = None,
    ) -> "Linker":
        """Load a model file and open a knowledge base; refuse a pair that does not fit."""
        trained = model if isinstance(model, LinkerModel) else LinkerModel.load(model)
        opened = kb if isinstance(kb, KnowledgeBase) else KnowledgeBase.open(kb)
        return cls(trained, opened, settings)

    @classmethod
    def starter(cls, settings: LinkerSettings | None = None) -> "Linker":
        """Load the small knowledge base and model that come with the package."""
        from sgtb.starter import KB, MODEL

        return cls.load(MODEL, KB, settings)

    @classmethod
    def from_pretrained(
        cls,
        folder: str | os.PathLike[str],
        settings: LinkerSettings | None = None,
        kb: str | os.PathLike[str] | KnowledgeBase | None = None,
    ) -> "Linker":
        """Load a folder that `save_pretrained` wrote.

        kb  another knowledge base than the folder's own, or one that has none
        """
        from sgtb.linking.pretrained import find_pretrained

        found = find_pretrained(folder)
        return cls.load(found.model, found.kb_or(kb), settings)

    def save_pretrained(
        self,
        folder: str | os.PathLike[str],
        evaluation: Mapping[str, Any] | None = None,
        kb: bool = True,
    ) -> None:
        """Write model, knowledge base and a model card to a folder that can be passed on.

        evaluation  names and numbers, in tables within tables, for the card
        kb          whether the knowledge base is copied, too
        """
        from sgtb.linking.pretrained import save_pretrained

        save_pretrained(folder, self.model, self.kb, evaluation, kb)

    def __call__(self, text: str) -> LinkedDocument:
        """Link a text."""
        return self.link(text)

    def link(self, document: Linkable) -> LinkedDocument:
        """Link a text, a request with given spans, or a document with its own tokens."""
        return self._link([document])[0]

    def link_many(self, documents: Sequence[Linkable]) -> list[LinkedDocument]:
        """Link some documents at once: faster than one by one, and with the same links."""
        return self._link(documents)

    def answering(self, candidates: int, reasons: bool, nil: float | None = None) -> "Linker":
        """Return a linker that tells more or less of each link, and shares all else with this one.

        That is the knowledge base, too: closing one of them closes it for both.
        """
        other = object.__new__(type(self))  # `copy` would go by __reduce__, and load all anew
        other.__dict__.update(self.__dict__)
        other.settings = replace(self.settings, candidates=candidates, reasons=reasons, nil=nil)
        other._trust = replace(self._trust, threshold=nil)
        other._answers = self._answers.showing(candidates)
        other._guard, other._pool, other._jobs = threading.Lock(), None, 0
        return other

    def pipe(self, documents: Iterable[Linkable], jobs: int = 1) -> Iterator[LinkedDocument]:
        """Link any number of documents, in their order; holds no more than a few at a time.

        jobs  processes; the linker keeps them for the next call
        """
        if isinstance(jobs, bool) or not isinstance(jobs, int) or jobs < 1:
            raise SettingsError(f"jobs must be a whole number from 1 up, not {jobs!r}")
        if isinstance(documents, str | Request | Document):
            raise RequestError("pipe takes many documents; for a single one there is `link`")
        if jobs == 1:
            for batch in _batches(documents):
                yield from self._link(batch)
        else:
            yield from self._share_out(_shares(documents, jobs), jobs)

    def _share_out(self, batches: Iterator[list[Linkable]], jobs: int) -> Iterator[LinkedDocument]:
        """Let worker processes link batches, a few of them at a time."""
        pool = self._workers(jobs)
        under_way: deque[Future[list[LinkedDocument]]] = deque()
        try:
            for batch in batches:
                if pool is not self._pool:
                    raise CancelledError
                asked: list[Any] = [  # a question arrives as a document, without what is annotated
                    UnannotatedDocument(one) if isinstance(one, Document) else one for one in batch
                ]
                under_way.append(submit(pool, _work, asked))
                if len(under_way) > 2 * jobs:
                    yield from under_way.popleft().result()
            while under_way:
                yield from under_way.popleft().result()
        except CancelledError:
            raise SgtbError(
                "the worker processes were ended before all was linked: the linker was refreshed "
                "or closed meanwhile, or asked for another number of jobs"
            ) from None
        except BrokenProcessPool:
            self._end_workers()
            raise SgtbError(
                "a worker process ended while linking, perhaps because memory ran out: use fewer "
                "jobs. A script must not begin anew in a worker: put its calls under "
                '`if __name__ == "__main__":`'
            ) from None
        finally:
            for future in under_way:
                future.cancel()

    def refresh(self) -> bool:
        """See what was written to the knowledge base since; return whether there is anything."""
        self._check_open()
        changed = self.kb.refresh()
        if changed:
            self._forget()
            self._end_workers()
            self.model.check(KbSource(self.kb).evidence, self.kb.path)
        return changed

    def _forget(self) -> None:
        """Drop all that was read from the knowledge base."""
        self._bench.forget()
        self._names.forget()
        self._cards.forget()
        self._state = self.kb.state

    def close(self) -> None:
        """End the worker processes and close the knowledge base."""
        self._closed = True
        self._end_workers()
        self.kb.close()

    def __enter__(self) -> "Linker":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        return Linker, (self.model, self.kb, self.settings)

    def __repr__(self) -> str:
        return f"Linker({self.kb!r}, {self.model.forest.plan.name})"

    def part(self, document: Linkable) -> Part:
        """Return a document as it is linked: with tokens and mentions, without any gold."""
        given = Request(document) if isinstance(document, str) else document
        if not isinstance(given, Request | Document):
            raise RequestError(
                f"only a text, a Request or a Document can be linked, not {document!r:.80}"
            )
        most = self.settings.max_characters
        if isinstance(given.text, str) and len(given.text) > most:
            raise RequestError(
                f"a text of {len(given.text):,} characters is longer than the limit of {most:,}; "
                "link its parts one by one, or raise max_characters"
            )
        if isinstance(given, Document):
            return of_document(given)
        return document_of(given, self._names)

    def _check_open(self) -> None:
        if self._closed:
            raise SgtbError("this linker was closed; load it again")

    def _link(self, batch: Sequence[Linkable]) -> list[LinkedDocument]:
        self._check_open()
        if self.kb.state is not self._state:  # somebody else refreshed it
            self._forget()
        with _no_collection():
            return self._link_all(batch)

    def _link_all(self, batch: Sequence[Linkable]) -> list[LinkedDocument]:
        whole = [self.part(document) for document in batch]
        cuts = [cut(one) for one in whole]
        groups = _groups(part for parts in cuts for part in parts)
        links = iter([link for group in groups for link in self._decide(group)])
        return [
            linked(one.document.text, one.document.id, joined([next(links) for _ in parts]))
            for one, parts in zip(whole, cuts, strict=True)
        ]

    def _decide(self, parts: Sequence[Part]) -> list[LinkColumns]:
        layout, shortlist, problems = self._pack(parts)
        clamp = np.full(problems.n_mentions, -1, np.int32)
        fixed = {
            id(mention)
            for part in parts
            for mention, known in zip(part.document.mentions, part.fixed, strict=True)
            if known
        }
        if fixed:  # what is fixed has one candidate, the first
            clamp[[id(mention) in fixed for mention in layout.choices.mentions]] = 0
        decided = decide(problems, self._system, clamp, self.settings.reasons, self._trust)
        decided = widened(decided, shortlist, layout.choices)
        links = self._answers.links(parts, layout, decided)
        self._met += layout.choices.n_candidates
        if self._met >= _PAGES_KEPT_FOR:
            self._met = 0
            KbSource(self.kb).release()
        return links

    def _pack(self, parts: Sequence[Part]) -> tuple[Layout, Shortlist, Problems]:
        bench, model = self._bench, self.model
        layout = bench.lay_out([part.document for part in parts])
        features = model.featurizer.features(bench.table(layout), reuse=True)
        shortlist = shortlisted(layout.choices, features, model.schema, model.without)
        searched = replace(layout, choices=shortlist.choices)
        problems = bench.pack(searched, features[shortlist.rows], model.without)
        if self._trust.nil_is_a_candidate:
            rows = bench.nil_rows(layout, features, model.without, model.memory.recall)
            problems = add_nil(problems, rows, np.zeros(len(rows), np.bool_))
        return layout, shortlist, with_dense_pairs(problems)

    def _workers(self, jobs: int) -> ProcessPoolExecutor:
        self._check_open()
        with self._guard:
            if self._pool is not None and self._jobs == jobs:
                return self._pool
        self._end_workers()
        with self._guard:
            self._pool, self._jobs = worker_pool(jobs, _begin, self), jobs
            return self._pool

    def _end_workers(self) -> None:
        with self._guard:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=True, cancel_futures=True)


_worker: Linker | None = None
_batches_done = count(1)


def _begin(linker: Linker) -> None:
    global _worker
    _worker = linker
    gc.freeze()  # what is here now is here to stay: the collector need not look at it
    gc.disable()  # nor at every document that comes in


def _work(batch: list[Linkable]) -> list[LinkedDocument]:
    assert _worker is not None
    if next(_batches_done) % _BATCHES_TO_COLLECT == 0:
        gc.collect()
    return _worker._link(batch)


@contextmanager
def _no_collection() -> Iterator[None]:
    """Keep the collector of reference cycles out: there are none, and it looks at every token.

    What was made meanwhile should be gone at the end: it looks at all that is left.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _batches(documents: Iterable[Linkable]) -> Iterator[list[Linkable]]:
    given = iter(documents)
    while batch := list(islice(given, BATCH)):
        yield batch


def _shares(documents: Iterable[Linkable], jobs: int) -> Iterator[list[Linkable]]:
    """Yield batches for several processes, of about the same effort.

    The last are smaller, so that all processes have something to do until the end. To see it come,
    some documents are taken ahead.
    """
    given = iter(documents)
    ahead: deque[tuple[Linkable, int]] = deque()
    left = 0
    while True:
        more = [(one, _effort(one)) for one in islice(given, jobs * BATCH - len(ahead))]
        ahead.extend(more)
        left += sum(effort for _, effort in more)
        if not ahead:
            return
        wanted = min(_EFFORT, max(_LEAST_EFFORT, left // jobs))
        batch, effort = list[Linkable](), 0
        while ahead and len(batch) < BATCH and (not batch or effort + ahead[0][1] // 2 < wanted):
            document, own = ahead.popleft()
            batch.append(document)
            effort += own
        left -= effort
        yield batch


def _effort(document: Linkable) -> int:
    """Return about how many mentions a document has, and a few for itself.

    What it holds was not checked yet.
    """
    name = "mentions" if isinstance(document, Document) else "spans"
    mentions = getattr(document, name, None)
    if isinstance(mentions, tuple | list):
        return 4 + len(mentions)
    text = getattr(document, "text", document)
    return 4 + (len(text) // 40 if isinstance(text, str) else 0)


def _groups(parts: Iterable[Part]) -> Iterator[list[Part]]:
    """Yield parts in groups of about MENTIONS mentions."""
    group: list[Part] = []
    size = 0
    for part in parts:
        group.append(part)
        size += len(part.fixed)
        if size >= MENTIONS:
            yield group
            group, size = [], 0
    if group:
        yield group
