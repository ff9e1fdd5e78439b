"""LinkBuilder: decided mentions as links, with probabilities, alternatives and reasons."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from sgtb.boosting.explain.contributions import Contributions
from sgtb.core.byte_cache import ByteCache
from sgtb.core.dtypes import Doubles, Longs
from sgtb.core.ragged import Ragged
from sgtb.core.records import NIL
from sgtb.core.sparse_matrix import Scalar
from sgtb.kb.knowledge_base import KnowledgeBase
from sgtb.linking.decisions import NIL_RUNNER_UP, NO_RUNNER_UP, Decisions
from sgtb.linking.links import NIL_CARD, Card, LinkColumns
from sgtb.linking.mentions.chunks import Chunk
from sgtb.linking.problem_packing import Layout

NEGLIGIBLE = 1e-12  # smaller reasons are left out as rounding errors
_BUDGET = 8 << 20


class LinkBuilder:
    """Turns decisions into links, with a cache of the ids, titles and types of entities."""

    def __init__(self, kb: KnowledgeBase, groups: Sequence[str], nil_share: float) -> None:
        self._kb, self._nil_share = kb, nil_share
        self._names = tuple(dict.fromkeys(groups))
        self._group = np.array([self._names.index(group) for group in groups], np.int64)
        self.forget()

    def forget(self) -> None:
        """Clear the cache."""
        self._known: ByteCache[int, Card] = ByteCache("cards", _BUDGET)

    def links(
        self, chunks: Sequence[Chunk], layout: Layout, decided: Decisions, n_candidates: int
    ) -> list[LinkColumns]:
        """Return the links of each chunk, also of mentions without candidates.

        n_candidates  alternatives per link
        """
        candidates, entity = layout.candidates, layout.candidates.entity
        ends = np.cumsum([0, *(len(chunk.fixed) for chunk in chunks)], dtype=np.int64)
        places = layout.with_candidates
        offsets = candidates.candidate_offsets.astype(np.int64)
        first = offsets[:-1]
        chosen = first + decided.choice
        rows, shown = _shown(decided, offsets, chosen, n_candidates)
        runner_ups = np.flatnonzero(decided.runner_up >= 0)
        runner_up = decided.runner_up.copy()
        runner_up[runner_ups] = entity[first[runner_ups] + runner_up[runner_ups]]
        card = self._cards(layout, np.concatenate([entity[rows], runner_up[runner_ups]]))

        def everywhere(values: npt.NDArray[Scalar], default: float) -> npt.NDArray[Scalar]:
            """Return values for all mentions; those without candidates have the default."""
            every = np.full(ends[-1], default, values.dtype)
            every[places] = values
            return every

        answer = np.where(decided.linked, entity[chosen], _NO_ROW)
        answers = [card[row] for row in everywhere(answer, _NO_ROW).tolist()]
        against = [
            _NO_ENTITY[row] if row < 0 else card[row][0]
            for row in everywhere(runner_up, NO_RUNNER_UP).tolist()
        ]
        chosen_confidence = np.where(decided.linked, decided.probability[chosen], decided.nil)
        confidence, nil = (
            everywhere(one, self._nil_share) for one in (chosen_confidence, decided.nil)
        )
        counts = everywhere(shown, 0)
        lead, explained, names, values, mentions = self._reasons(chunks, ends, layout, decided)
        entities = [card[row] for row in entity[rows].tolist()]
        probability, prior = decided.probability[rows], candidates.prior[rows]
        borders = (
            pairwise(np.concatenate([[0], np.cumsum(some)])[ends].tolist())
            for some in (counts, explained)
        )
        result = []
        for chunk, (a, b), (c, d), (e, f) in zip(
            chunks, pairwise(ends.tolist()), *borders, strict=True
        ):
            own, text = chunk.document.mentions, chunk.document.text
            result.append(LinkColumns(
                [mention.start for mention in own], [mention.end for mention in own],
                [text[mention.start : mention.end] for mention in own],
                answers[a:b], confidence[a:b].tobytes(),
                layout.found[a:b], counts[a:b].tobytes(), lead[a:b].tobytes(), against[a:b],
                explained[a:b].tobytes(), chunk.fixed, nil[a:b].tobytes(),
                entities[c:d], probability[c:d].tobytes(), prior[c:d].tobytes(),
                names[e:f], values[e:f].tobytes(), mentions[e:f].tobytes(),
            ))  # fmt: skip
        return result

    def _cards(self, layout: Layout, rows: Longs) -> dict[int, Card]:
        """Return the cards of some rows of the facts."""
        kb, known = self._kb, self._known
        used = np.zeros(len(layout.facts.number), np.bool_)  # np.unique would import numpy.ma
        used[rows] = True
        (rows,) = used.nonzero()
        wanted = layout.facts.number[rows].tolist()
        new = [number for number in wanted if number not in known]
        if new and known.is_full:
            self._known = known = ByteCache("cards", _BUDGET)
            new = wanted
        if new:
            numbers = np.array(new, np.int64)
            texts = kb.ids_of(numbers).strings(), kb.titles(numbers).strings()
            read = zip(*texts, kb.types_of(numbers), strict=True)
            known.keep(zip(new, read, strict=True), longest=_BUDGET)
        cards = [known[number] for number in wanted]
        return dict(zip(rows.tolist(), cards, strict=True)) | {_NO_ROW: NIL_CARD}

    def _reasons(
        self, chunks: Sequence[Chunk], ends: Longs, layout: Layout, decided: Decisions
    ) -> tuple[Doubles, Longs, list[str], Doubles, Longs]:
        """Return the reasons of all mentions, flat, strongest first.

        Columns of `LinkColumns`: `lead`, `explained`, `names`, `values` and `mentions`.
        """
        candidates, places = layout.candidates, layout.with_candidates
        lead, counts = np.full(ends[-1], np.nan), np.zeros(ends[-1], np.int64)
        if decided.reasons is None:
            return lead, counts, [], np.zeros(0), np.zeros(0, np.int64)
        (explained,) = decided.sign.nonzero()
        question = np.searchsorted(decided.explained, explained)
        sign = decided.sign[explained].astype(np.float64)
        lead[places[explained]] = sign * decided.reasons.total[question]
        offsets = candidates.mention_offsets.astype(np.int64)
        first = offsets[np.searchsorted(offsets, explained, side="right") - 1]
        n_groups = len(self._names)
        n, code, value = ranked_reasons(
            decided.reasons, question, sign, first, self._group, n_groups
        )
        counts[places[explained]] = n
        names = np.array([*self._names, *(mention.text for mention in candidates.mentions)], object)
        # Places count mentions of all chunks; links count those of their document.
        shift = np.array([chunk.first for chunk in chunks], np.int64) - ends[:-1]
        number = places + np.repeat(shift[layout.source], np.diff(offsets))
        numbers = np.concatenate([np.full(n_groups, _NO_MENTION), number])
        return lead, counts, names[code].tolist(), value, numbers[code]


def ranked_reasons(
    found: Contributions, comparisons: Longs, sign: Doubles, first: Longs, group: Longs,
    n_groups: int,
) -> tuple[Longs, Longs, Doubles]:  # fmt: skip
    """Return the reasons of some comparisons, strongest first: numbers of them, codes and values.

    Reasons are sums of groups of local features, and mentions of the document. The code of a group
    is its number; that of a mention is its row, `first` for the document's first one, plus
    `n_groups`. Values are multiplied by a sign; negligible ones are left out. Equals are in the
    order of codes.
    """
    every = np.arange(len(comparisons))
    cell = every[:, None] * n_groups + group
    local = found.local[comparisons].ravel()
    sums = np.bincount(cell.ravel(), local, len(comparisons) * n_groups)
    indptr, parts = Ragged(found.offsets, found.mentions).take(comparisons)
    rows = np.arange(len(parts)) + np.repeat(first - indptr[:-1], np.diff(indptr))
    code = np.concatenate([np.tile(np.arange(n_groups), len(comparisons)), n_groups + rows])
    owner = np.concatenate([np.repeat(every, n_groups), np.repeat(every, np.diff(indptr))])
    value = np.concatenate([sums, parts])
    kept = np.flatnonzero(np.abs(value) > NEGLIGIBLE)
    order = kept[np.lexsort((code[kept], -np.abs(value[kept]), owner[kept]))]
    counts = np.bincount(owner[order], minlength=len(comparisons))
    return counts, code[order], sign[owner[order]] * value[order]


_NO_ROW = _NO_MENTION = -1
_NO_ENTITY = {NO_RUNNER_UP: None, NIL_RUNNER_UP: NIL}


def _shown(decided: Decisions, offsets: Longs, chosen: Longs, most: int) -> tuple[Longs, Longs]:
    """Return the rows of the alternatives, and their number per link."""
    sizes = np.diff(offsets)
    first = np.repeat(offsets[:-1], sizes)
    rows: Longs = decided.order + first
    if sizes.max(initial=0) <= most:
        return rows, sizes
    rows = rows[np.arange(len(rows)) - first < most]
    sizes = np.minimum(sizes, most)
    ends = np.cumsum(sizes)
    there = np.logical_or.reduceat(rows == np.repeat(chosen, sizes), ends - sizes)
    rows[ends[~there] - 1] = chosen[~there]  # the chosen one is always shown
    return rows, sizes
