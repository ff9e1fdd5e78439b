"""spaCy's trainable `entity_linker` with the candidates and priors of a knowledge base of sgtb."""

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import spacy
from spacy.kb import Candidate, InMemoryLookupKB
from spacy.tokens import Doc, Span
from spacy.training import Example
from thinc.api import fix_random_seed

from sgtb.core.dtypes import Floats, Longs
from sgtb.core.records import Document
from sgtb.kb.knowledge_base import KnowledgeBase
from sgtb.linking.candidates.candidate_lookup import FoundCandidates
from sgtb.text.normalization import normal_words
from sgtb.text.word_vectors import WordVectors

BATCH = 8
DROPOUT = 0.2
SENTENCES = 1
"""Sentences before and after that of the mention."""
_KEY = "mention_candidates"
"""Key of a Doc's candidates: by first token, pairs of entity and prior."""

Listed = Mapping[int, Sequence[tuple[str, float]]]


def listed_candidates(
    kb: KnowledgeBase, documents: Sequence[Document], found: FoundCandidates
) -> list[Listed]:
    """Return the candidates of each document's mentions, by first token."""
    offsets, numbers = found.offsets.tolist(), found.entity.tolist()
    priors = np.nan_to_num(found.prior).tolist()
    ids = {number: kb.id_of(number) for number in set(numbers)}
    rows = pairwise(offsets)
    result: list[Listed] = []
    for document in documents:
        own: dict[int, list[tuple[str, float]]] = {}
        for mention, (a, b) in zip(document.mentions, rows, strict=False):
            own[mention.first] = [(ids[numbers[i]], priors[i]) for i in range(a, b)]
        result.append(own)
    return result


def entity_vectors(kb: KnowledgeBase, ids: Sequence[str], words: WordVectors) -> Floats:
    """Return the mean word vector of each entity's title and description."""
    out = np.full((len(ids), words.width), 1e-3, np.float32)  # spaCy divides by the length
    for row, id_ in zip(out, ids, strict=True):
        number = kb.number(id_)
        assert number is not None  # candidates are entities
        text = f"{kb.title_of(number)} {kb.description_of(number)}"
        known = [words.row[word] for word in normal_words(text) if word in words.row]
        row += words.matrix[known].sum(axis=0)
    norm: Floats = out / np.linalg.norm(out, axis=1, keepdims=True)
    return norm


class SpacyLinker:
    """A blank English pipeline with an entity linker."""

    def __init__(self, ids: Sequence[str], popularity: Longs, vectors: Floats, seed: int) -> None:
        fix_random_seed(seed)
        self._random = random.Random(seed)
        self.nlp = spacy.blank("en")
        self._known = set(ids)
        pipe: Any = self.nlp.add_pipe("entity_linker", config={"n_sents": SENTENCES})
        pipe.get_candidates = _candidates
        kb = InMemoryLookupKB(self.nlp.vocab, int(vectors.shape[1]))
        kb.set_entities(list(ids), popularity.tolist(), vectors.tolist())
        pipe.set_kb(lambda vocab: kb)
        self._pipe = pipe

    def train(
        self,
        train: tuple[Sequence[Document], Sequence[Listed]],
        dev: tuple[Sequence[Document], Sequence[Listed]],
        n_epochs: int,
    ) -> list[float]:
        """Train; keep the epoch with the best accuracy on dev. Return that of every epoch."""
        examples = [self._example(d, own) for d, own in zip(*train, strict=True) if d.mentions]
        optimizer = self.nlp.initialize(lambda: examples)
        best = -1.0, b""
        epochs: list[float] = []
        for _ in range(n_epochs):
            self._random.shuffle(examples)
            for batch in _batches(examples):
                self.nlp.update(batch, sgd=optimizer, drop=DROPOUT)
            epochs.append(_accuracy(dev, list(self.link(*dev))))
            if epochs[-1] > best[0]:
                best = epochs[-1], self._pipe.model.to_bytes()
        self._pipe.model.from_bytes(best[1])
        return epochs

    def link(
        self, documents: Sequence[Document], candidates: Sequence[Listed]
    ) -> Iterator[list[str | None]]:
        """Yield the entities chosen for the mentions of each document; None: no candidates."""
        docs = (self._doc(d, own, gold=False) for d, own in zip(documents, candidates, strict=True))
        for document, doc in zip(documents, self.nlp.pipe(docs, batch_size=BATCH), strict=True):
            chosen = {ent.start: ent.kb_id_ for ent in doc.ents}
            answers = [chosen.get(mention.first, "NIL") for mention in document.mentions]
            yield [None if answer in ("", "NIL") else answer for answer in answers]

    def _example(self, document: Document, candidates: Listed) -> Example:
        predicted = self._doc(document, candidates, gold=False)
        return Example(predicted, self._doc(document, candidates, gold=True))

    def _doc(self, document: Document, candidates: Listed, gold: bool) -> Doc:
        tokens = document.tokens
        starts = [*(token.start for token in tokens), len(document.text)]
        spaces = [t.end < after for t, after in zip(tokens, starts[1:], strict=True)]
        words = [token.text for token in tokens]
        doc = Doc(self.nlp.vocab, words, spaces, user_data={_KEY: candidates})
        firsts = {first for first, _ in document.sentences} or {0}
        for token in doc:
            token.is_sent_start = token.i in firsts
        ents, end = [], 0
        for mention in document.mentions:
            if mention.first >= end:  # spaCy's entities do not share tokens
                known = gold and mention.gold in self._known
                kb_id = mention.gold if known and mention.gold else ""
                ents.append(Span(doc, mention.first, mention.stop, "ENTITY", kb_id=kb_id))
                end = mention.stop
        doc.ents = tuple(ents)
        return doc


def _batches(examples: Sequence[Example]) -> Iterator[Sequence[Example]]:
    return (examples[i : i + BATCH] for i in range(0, len(examples), BATCH))


def _candidates(kb: InMemoryLookupKB, mention: Span) -> Iterable[Candidate]:
    listed: Listed = mention.doc.user_data.get(_KEY, {})
    strings = kb.vocab.strings
    return [
        Candidate(kb, strings[id_], 0.0, kb.get_vector(id_), 0, prior)
        for id_, prior in listed.get(mention.start, ())
    ]


def _accuracy(
    given: tuple[Sequence[Document], Sequence[Listed]], answers: Sequence[Sequence[str | None]]
) -> float:
    """Return the accuracy on recalled mentions."""
    right = [
        answer == mention.gold
        for document, listed, row in zip(*given, answers, strict=True)
        for mention, answer in zip(document.mentions, row, strict=True)
        if any(id_ == mention.gold for id_, _ in listed[mention.first])
    ]
    return sum(right) / max(len(right), 1)
