"""Reasons: they add up to the lead, the lead is a difference of scores, and they name mentions."""

import math
from itertools import pairwise
from random import Random

import numpy as np
import pytest

from sgtb.boosting import StructuredGradientBoosting
from sgtb.linking import pipeline
from sgtb.linking.features.schema import COLLECTIVE, LABELS
from sgtb.linking.links import Request, Span
from sgtb.linking.mentions.chunks import split_into_chunks
from tests.helpers.exact import exact
from tests.helpers.trained_linkers import PLANS, spans_of

ALL = 1000


def with_fixed(linker, documents, random):
    """The documents as requests, some mentions fixed to one of their candidates."""
    requests = []
    for document, linked in zip(documents, linker.pipe(documents), strict=True):
        spans = spans_of(document)
        for i, link in enumerate(linked.links):
            if link.candidates and random.random() < 0.3:
                entity = random.choice(link.candidates).entity
                spans[i] = Span(spans[i].start, spans[i].end, entity)
        requests.append(Request(document.text, tuple(spans), document.id))
    return requests


def check_reasons(linked):
    """Every lead is the sum of its reasons, and every reason is about something that is there."""
    n_explained = 0
    for document in linked:
        for i, link in enumerate(document.links):
            if link.runner_up is None:
                assert math.isnan(link.lead)
                assert link.reasons == ()
                assert link.fixed or len(link.candidates) <= 1
                continue
            n_explained += 1
            assert not link.fixed
            assert link.runner_up == next(
                other.entity for other in link.candidates if other.entity != link.entity
            )
            assert abs(math.fsum(reason.value for reason in link.reasons) - link.lead) < 1e-9
            sizes = [abs(reason.value) for reason in link.reasons]
            assert sizes == sorted(sizes, reverse=True)
            check_names(document.links, i)
    return n_explained


def check_names(links, i):
    for reason in links[i].reasons:
        if reason.kind == "features":
            assert reason.name in LABELS
            assert reason.mention is None
        else:
            assert reason.kind == "mention"
            assert 0 <= reason.mention < len(links)
            assert reason.mention != i
            assert reason.name == links[reason.mention].text
            assert links[reason.mention].entity is not None
    names = [(reason.kind, reason.name, reason.mention) for reason in links[i].reasons]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("plan", PLANS)
def test_reasons_add_up_to_the_lead(linker_of, unseen, plan):
    linked = list(linker_of(plan, reasons=True, candidates=ALL).pipe(unseen[::2]))
    assert check_reasons(linked) > 200
    of_mentions = sum(
        reason.kind == "mention" for d in linked for link in d.links for reason in link.reasons
    )
    assert of_mentions > 200 if plan != "local" else of_mentions == 0


@pytest.mark.parametrize("plan", PLANS)
def test_reasons_add_up_where_mentions_are_fixed(linker_of, unseen, plan):
    linker = linker_of(plan, reasons=True, candidates=ALL)
    linked = list(linker.pipe(with_fixed(linker, unseen[::3], Random(1))))
    assert check_reasons(linked) > 80
    named = [
        document.links[reason.mention]
        for document in linked
        for link in document.links
        for reason in link.reasons
        if reason.kind == "mention"
    ]
    assert any(link.fixed for link in named) == (plan != "local")


@pytest.mark.parametrize("plan", ["bsg", "bibsg"])
def test_reasons_add_up_in_documents_that_are_cut(linker_of, unseen, monkeypatch, plan):
    monkeypatch.setattr(pipeline, "split_into_chunks", lambda chunk: split_into_chunks(chunk, 3))
    linker = linker_of(plan, reasons=True, candidates=ALL)
    documents = unseen[::3]
    assert check_reasons(linker.pipe(documents)) > 100
    requests = with_fixed(linker, documents, Random(2))
    linked = list(linker.pipe(requests))
    assert check_reasons(linked) > 80
    for request, document in zip(requests, linked, strict=True):
        chunks = split_into_chunks(linker.to_chunk(request), 3)
        chunk_of = [k for k, chunk in enumerate(chunks) for _ in chunk.fixed]
        for i, link in enumerate(document.links):
            assert all(
                chunk_of[reason.mention] == chunk_of[i]
                for reason in link.reasons
                if reason.kind == "mention"
            )


def problems_of(linker, request):
    """What the linker decides about, made by hand: layout and problems of one document."""
    chunk = linker.to_chunk(request)
    layout, shortlist, problems = linker.pipeline.pack([chunk])
    rows = layout.with_candidates.tolist()
    clamp = np.array([0 if chunk.fixed[i] else -1 for i in rows], np.int32)
    searched = shortlist.candidates
    ids = [linker.kb.id_of(int(n)) for n in layout.facts.number[searched.entity]]
    borders = searched.candidate_offsets
    return problems, clamp, rows, [ids[a:b] for a, b in pairwise(borders)]


@pytest.mark.parametrize("plan", PLANS)
def test_a_lead_is_what_the_learner_says_of_the_runner_up(linker_of, unseen, plan):
    linker = linker_of(plan, reasons=True, candidates=ALL)
    system = StructuredGradientBoosting.of(linker.model.forest)
    documents = unseen[::12]
    requests = [*documents, *with_fixed(linker, documents, Random(3))]
    for request, linked in zip(requests, linker.pipe(requests), strict=True):
        problems, clamp, rows, ids = problems_of(linker, request)
        decoding = system.decode(problems, clamp=clamp)
        scores = system.counterfactuals(problems, decoding, clamp, margin=np.inf).score
        for m, i in enumerate(rows):
            link = linked.links[i]
            assert link.entity == ids[m][decoding.choices[m]]
            if link.runner_up is not None:
                at = problems.candidate_offsets[m] + ids[m].index(link.runner_up)
                assert link.lead == pytest.approx(-scores[at], abs=1e-9)


@pytest.mark.parametrize("plan", ["local", "bs", "bsg"])
def test_a_lead_is_the_difference_of_the_scores_of_two_sequences(linker_of, unseen, plan):
    """Clamped from end to end, a search has one way to go: its score is that sequence's."""
    linker = linker_of(plan, reasons=True, candidates=ALL)
    system = StructuredGradientBoosting.of(linker.model.forest)
    n_compared = 0
    for document in unseen[::16]:
        problems, _, rows, ids = problems_of(linker, document)
        links = [linker.link(document).links[i] for i in rows]
        chosen = np.array([own.index(x.entity) for own, x in zip(ids, links, strict=True)])
        best = system.decode(problems, clamp=chosen).scores[0, 0]
        for m, link in enumerate(links):
            if link.runner_up is not None:
                other = chosen.copy()
                other[m] = ids[m].index(link.runner_up)
                runner_up = system.decode(problems, clamp=other).scores[0, 0]
                assert link.lead == pytest.approx(best - runner_up, abs=1e-9)
                n_compared += 1
    assert n_compared > 20


def test_a_local_model_gives_no_collective_reasons(linker_of, unseen):
    linked = linker_of("local", reasons=True).pipe(unseen)
    names = {reason.name for d in linked for link in d.links for reason in link.reasons}
    assert names
    assert not names & set(COLLECTIVE)


def test_without_reasons_the_links_are_the_same(linker_of, unseen):
    with_reasons = linker_of("bsg", reasons=True).pipe(unseen[:40])
    for one, other in zip(with_reasons, linker_of("bsg").pipe(unseen[:40]), strict=True):
        for link, plain in zip(one.links, other.links, strict=True):
            assert plain.reasons == ()
            assert math.isnan(plain.lead)
            for field in ("entity", "confidence", "candidates", "runner_up"):
                assert exact(getattr(link, field)) == exact(getattr(plain, field))
