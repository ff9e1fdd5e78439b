"""Segmentation: documents split where their topic changes.

Entities of one topic support each other; those of another topic in the same long text mislead.
Between two sentences, cohesion is the sum of three signals over the tokens before and after:

    words     cosine of the topics of the words
    entities  cosine of the topics of the candidates, weighted by in-links
    chains    weight of the words that occur on both sides, as a share of the smaller side

A document is split where cohesion is lowest and below a limit, but no segment gets short. Every
segment is a problem of its own.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from sgtb.core.dtypes import Doubles, Longs
from sgtb.core.ragged import sliced
from sgtb.core.records import Document
from sgtb.core.sparse_matrix import group_of, group_rows, log, share, spread, unit
from sgtb.linking.candidates.candidate_table import CandidateTable
from sgtb.linking.entities.background import Background
from sgtb.linking.entities.entity_facts import EntityFacts
from sgtb.linking.features.contexts import TokenTable, text_words

REACH = 100  # tokens on either side that cohesion looks at
LEAST = 35  # tokens of the shortest segment
LEAST_PARAGRAPH = 20  # the same where an empty line precedes and follows
WORDS, ENTITIES, CHAINS = 3.0, 2.0, 20.0  # weights of the signals
LIMIT, PARAGRAPH_LIMIT = 2.5, 3.5
"""Cohesion below which a document is split: between sentences, and at an empty line."""
_DIGITS = 4  # decimals of cohesion, for equal segments on all machines


class Segments(NamedTuple):
    """Candidates with segments as documents, and the index of the document of each segment."""

    candidates: CandidateTable
    source: Longs


def segmented(
    candidates: CandidateTable, places: Longs, facts: EntityFacts, background: Background
) -> Segments:
    """Split documents into segments; mentions keep their order.

    places  i8[M]  of the mentions among those of all documents, some of which have no candidates
    """
    documents = candidates.documents
    long = [d for d, document in enumerate(documents) if _is_long(document)]
    breaks = dict(zip(long, _breaks(candidates, long, facts, background), strict=True))
    if not any(breaks.values()):
        return Segments(candidates, np.arange(len(documents)))
    parts: list[Document] = []
    source: list[int] = []
    for d, document in enumerate(documents):
        own = _split(document, breaks[d]) if breaks.get(d) else [document]
        parts += own
        source += [d] * len(own)
    return Segments(_with_documents(candidates, places, parts), np.array(source, np.int64))


def _with_documents(
    candidates: CandidateTable, places: Longs, parts: Sequence[Document]
) -> CandidateTable:
    """Return the table with segments as its documents."""
    mentions = [mention for part in parts for mention in part.mentions]
    sizes = np.concatenate([[0], np.cumsum([len(part.mentions) for part in parts])])
    return replace(
        candidates,
        documents=tuple(parts),
        mentions=tuple(map(mentions.__getitem__, places.tolist())),
        mention_offsets=np.searchsorted(places, sizes).astype(np.int32),
    )


def _is_long(document: Document) -> bool:
    """Whether a document may have two segments: long enough, and mentions in order."""
    starts = [mention.first for mention in document.mentions]
    return (
        len(document.tokens) >= 2 * LEAST_PARAGRAPH
        and len(document.sentences) > 1
        and len(starts) > 1
        and starts == sorted(starts)
    )


def _split(document: Document, breaks: Sequence[int]) -> list[Document]:
    """Return the parts of a document between tokens; each has a mention."""
    bounds = [0, *breaks, len(document.tokens)]
    starts = [mention.first for mention in document.mentions]
    at = np.searchsorted(starts, bounds).tolist()
    at[-1] = len(starts)
    return [
        document.part((a, b), (first, stop))
        for a, b, first, stop in zip(at, at[1:], bounds, bounds[1:], strict=False)
    ]


def _breaks(
    candidates: CandidateTable, chosen: Sequence[int], facts: EntityFacts, background: Background
) -> list[list[int]]:
    """Return the first tokens of the segments of some documents, but of the first segment."""
    if not chosen:
        return []
    documents = [candidates.documents[d] for d in chosen]
    tokens = TokenTable.of(documents, background.lexicon.vocabulary)
    starts = np.append(tokens.sentences[:, 0], len(tokens.kind) - 1)
    cohesion = _cohesion(candidates, chosen, facts, background, tokens, starts)
    breaks = []
    for i, document in enumerate(documents):
        first, last = tokens.sentence_offsets[i : i + 2]
        begins = starts[first + 1 : last] - tokens.token_offsets[i]
        breaks.append(_lowest(document, begins, cohesion[first + 1 : last]))
    return breaks


def _lowest(document: Document, begins: Longs, cohesion: Doubles) -> list[int]:
    """Choose the sentences that begin a segment, lowest cohesion first."""
    if not (cohesion < max(LIMIT, PARAGRAPH_LIMIT)).any():
        return []
    tokens, text = document.tokens, document.text
    gaps = ((tokens.ends[begin - 1], tokens.starts[begin]) for begin in begins.tolist())
    empty = np.array([text.count("\n", end, start) > 1 for end, start in gaps], np.bool_)
    limit = np.where(empty, PARAGRAPH_LIMIT, LIMIT)
    mentions, n = document.mentions, len(tokens)
    starts = np.array([mention.first for mention in mentions])
    inside = {t for mention in mentions for t in range(mention.first + 1, mention.stop)}
    is_paragraph = {0: True, n: True, **dict(zip(begins.tolist(), empty.tolist(), strict=True))}
    chosen = [0, n]
    for i in np.argsort(cohesion - limit, kind="stable").tolist():
        begin = int(begins[i])
        if cohesion[i] >= limit[i]:
            break
        if begin in inside:
            continue
        before, after = max(c for c in chosen if c <= begin), min(c for c in chosen if c >= begin)
        if all(
            abs(begin - other) >= (LEAST_PARAGRAPH if empty[i] and is_paragraph[other] else LEAST)
            and ((starts >= min(begin, other)) & (starts < max(begin, other))).any()
            for other in (before, after)
        ):
            chosen.append(begin)
    return sorted(chosen)[1:-1]


def _cohesion(
    candidates: CandidateTable,
    chosen: Sequence[int],
    facts: EntityFacts,
    background: Background,
    tokens: TokenTable,
    first: Longs,
) -> Doubles:
    """Return f8[S]: cohesion between each sentence and the one before it.

    Infinite where a segment that begins or ends there would be too short.

    first  i8[S + 1]  first tokens of the sentences, counted over all documents
    """
    document = group_of(tokens.sentence_offsets)
    begin, end = tokens.token_offsets[document], tokens.token_offsets[document + 1]
    to_ends = np.minimum(first[:-1] - begin, end - first[:-1])
    own = np.flatnonzero(to_ends >= LEAST_PARAGRAPH)
    opening = np.searchsorted(document, document[own])
    closing = np.searchsorted(document, document[own], "right")
    low = np.maximum(np.searchsorted(first, first[own] - REACH), opening)
    high = np.minimum(np.searchsorted(first, first[own] + REACH, "right") - 1, closing)
    low, high = np.minimum(low, np.maximum(own - 1, opening)), np.maximum(high, own + 1)

    def cosine(values: Doubles) -> Doubles:
        sums = np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(values, axis=0)])
        one, other = unit(sums[own] - sums[low]), unit(sums[high] - sums[own])
        found: Doubles = np.einsum("ij,ij->i", one, other)
        return found

    words, weight, chains = _words(tokens, document, first, background)
    total = np.concatenate([[0.0], np.cumsum(weight)])
    lesser = np.minimum(total[own] - total[low], total[high] - total[own])
    entities = _entities(candidates, chosen, facts, tokens, len(document), first)
    cohesion = np.full(len(document), np.inf)
    cohesion[own] = np.round(
        WORDS * cosine(words)
        + ENTITIES * cosine(entities)
        + CHAINS * chains[own] / np.maximum(lesser, 1.0),
        _DIGITS,
    )
    return cohesion


def _words(
    tokens: TokenTable, document: Longs, first: Longs, background: Background
) -> tuple[Doubles, Doubles, Doubles]:
    """Return the topics f8[S, W], word weights f8[S], and chains f8[S] of sentences.

    A chain is a word that occurs before a sentence and, within reach, in it or behind it.
    """
    n = len(document)
    known = text_words(tokens.word, tokens.kinds.word)
    rare = log(background.lexicon.n_texts + 1.0)  # of unknown words, mostly names
    weight = np.where(known.number >= 0, known.weight, rare)
    weight = np.where(known.is_stop | known.is_digit, 0.0, weight)
    token = group_of(tokens.word_offsets)
    sentence = np.searchsorted(first, token, "right") - 1
    own = weight[known.place]
    row = background.topic_rows(known.number)[known.place]
    used = (row >= 0) & (own > 0)
    summed = group_rows(background.unit_topics, row[used], own[used], sentence[used], n)

    order = np.lexsort((token, known.place, document[sentence]))
    order = order[own[order] > 0]
    one, next_ = order[:-1], order[1:]
    linked = (
        (known.place[one] == known.place[next_])
        & (document[sentence[one]] == document[sentence[next_]])
        & (token[next_] - token[one] <= REACH)
        & (sentence[one] < sentence[next_])
    )
    steps = np.zeros(n + 1)
    np.add.at(steps, sentence[one[linked]] + 1, own[one[linked]])
    np.add.at(steps, sentence[next_[linked]] + 1, -own[one[linked]])
    weights = np.bincount(sentence, own, n).astype(np.float64)
    return summed, weights, np.cumsum(steps)[:n]


def _entities(
    candidates: CandidateTable,
    chosen: Sequence[int],
    facts: EntityFacts,
    tokens: TokenTable,
    n: int,
    first: Longs,
) -> Doubles:
    """Return the topics of the candidates in each sentence: f8[S, W]."""
    documents = np.array(chosen, np.int64)
    begins = candidates.mention_offsets.astype(np.int64)
    offsets = candidates.candidate_offsets.astype(np.int64)
    own = sliced(np.arange(len(offsets) - 1), begins[documents], begins[documents + 1])
    start = np.array([candidates.mentions[m].first for m in own.data.tolist()], np.int64)
    start += spread(tokens.token_offsets[:-1], own.indptr)
    sentence = np.searchsorted(first, start, "right") - 1
    rows = sliced(np.arange(offsets[-1]), offsets[own.data], offsets[own.data + 1])
    prior = share(facts.in_links[candidates.entity] + 1.0, offsets)
    return group_rows(
        facts.topic_vector, candidates.entity[rows.data], prior[rows.data],
        spread(sentence, rows.indptr), n,
    )  # fmt: skip
