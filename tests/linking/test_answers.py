"""Answers: probabilities, alternatives in order, fixed links, and nothing of the gold."""

import json
import math
from dataclasses import replace
from random import Random
from types import SimpleNamespace

import numpy as np
import pytest

from sgtb.core.errors import RequestError
from sgtb.linking import pipeline
from sgtb.linking.decisions import Judged, decide, runner_ups_before_nil, with_unsearched
from sgtb.linking.links import Request, Span
from sgtb.linking.problem_packing import Shortlist
from tests.helpers.exact import exact
from tests.helpers.trained_linkers import PLANS, spans_of

ALL = 1000


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("most", [1, 2, 5, ALL])
def test_probabilities_are_some(linker_of, unseen, plan, most):
    for document in linker_of(plan, candidates=most).pipe(unseen[::5]):
        for link in document.links:
            own = [other.probability for other in link.candidates]
            assert len(own) <= most
            assert all(0 <= p <= 1 for p in own)
            assert own == sorted(own, reverse=True)
            assert len({other.entity for other in link.candidates}) == len(own)
            if link.entity is None:
                assert (own, link.found) == ([], "nothing")
                continue
            assert math.fsum(own) <= 1 + 1e-12
            (chosen,) = (other for other in link.candidates if other.entity == link.entity)
            assert chosen.probability == link.confidence
            assert (chosen.title, chosen.type) == (link.title, link.type)


def test_fewer_candidates_are_the_first_of_more(linker_of, unseen):
    many, few = linker_of(candidates=ALL), linker_of(candidates=2)
    for one, other in zip(many.pipe(unseen[::5]), few.pipe(unseen[::5]), strict=True):
        for link, short in zip(one.links, other.links, strict=True):
            assert exact(replace(short, candidates=())) == exact(replace(link, candidates=()))
            if link.entity in [x.entity for x in link.candidates[:2]]:
                assert exact(short.candidates) == exact(link.candidates[:2])
            else:
                assert [x.entity for x in short.candidates] == [
                    link.candidates[0].entity,
                    link.entity,
                ]


class Scripted:
    """A system that has decided already."""

    def __init__(self, choices, score, probability):
        self.decoding = SimpleNamespace(choices=np.array(choices, np.int32))
        self.other = SimpleNamespace(score=np.array(score), probability=np.array(probability))
        self.asked = None

    def decode(self, problems, clamp):
        return self.decoding

    def counterfactuals(self, problems, decoding, clamp, margin=None):
        return self.other

    def contributions(self, problems, decoding, mentions, runner_ups, clamp):
        self.asked = mentions.tolist(), runner_ups.tolist()
        return "reasons"


def test_ties_go_by_score_then_by_entity():
    problems = SimpleNamespace(
        mention_offsets=np.array([0, 4], np.int32),
        candidate_offsets=np.array([0, 4, 6, 7, 9], np.int32),
        entity=np.array([9, 5, 7, 3, 2, 1, 0, 4, 6], np.int32),
    )
    system = Scripted(
        [0, 0, 0, 1],
        [0.0, -900.0, -800.0, -800.0, 0.0, 0.0, 0.0, 0.5, 0.0],
        [1.0, 0.0, 0.0, 0.0, 0.5, 0.5, 1.0, 0.6, 0.4],
    )
    clamp = np.array([-1, -1, -1, -1], np.int32)
    decided = decide(problems, system, clamp, reasons=True)
    # What the search chose comes first, also where another one is as likely, or likelier.
    assert decided.order.tolist() == [0, 3, 2, 1, 0, 1, 0, 1, 0]
    assert decided.runner_up.tolist() == [3, 1, -1, 0]
    assert system.asked == ([0, 1, 3], [3, 1, 0])
    clamp[1] = 0
    assert decide(problems, system, clamp, reasons=True).runner_up.tolist() == [3, -1, -1, 0]
    assert system.asked == ([0, 3], [3, 0])


def test_nothing_to_decide():
    problems = SimpleNamespace(
        mention_offsets=np.zeros(1, np.int32),
        candidate_offsets=np.zeros(1, np.int32),
        entity=np.zeros(0, np.int32),
    )
    decided = decide(problems, Scripted([], [], []), np.zeros(0, np.int32), reasons=False)
    assert len(decided.runner_up) == len(decided.order) == 0
    assert decided.reasons is None


def test_what_was_not_searched_comes_last():
    below = np.array([-9.0, 0.0, -20.0, -8.5, -1.0, -30.0, 0.0, -9.0], np.float32)
    every = SimpleNamespace(
        candidate_offsets=np.array([0, 5, 8], np.int32),
        entity=np.arange(8, dtype=np.int32), n_candidates=8,
    )  # fmt: skip
    some = SimpleNamespace(
        mention_offsets=np.array([0, 2], np.int32),
        candidate_offsets=np.array([0, 2, 4], np.int32),
        entity=np.array([1, 4, 5, 6], np.int32),
    )
    shortlist = Shortlist(some, np.array([1, 4, 5, 6], np.int64), below)
    system = Scripted([1, 1], [-2.0, 0.0, -3.0, 0.0], [0.1, 0.9, 0.05, 0.95])
    decided = decide(some, system, np.array([-1, -1], np.int32), reasons=True)
    assert system.asked == ([0, 1], [0, 0])
    wide = with_unsearched(decided, shortlist, every)
    assert wide.choice.tolist() == [4, 1]
    assert wide.order.tolist() == [4, 1, 3, 0, 2, 1, 0, 2]
    assert wide.runner_up.tolist() == [1, 0]
    assert wide.probability[shortlist.rows].tolist() == decided.probability.tolist()
    assert wide.probability[[0, 2, 3, 7]].tolist() == [0, 0, 0, 0]
    assert wide.probability[4] > 0.5 > wide.probability[1] > 0
    assert wide.reasons == "reasons"


@pytest.mark.parametrize("most", [1, 2, ALL])
def test_the_chosen_candidate_is_shown_however_unlikely(linker_of, unseen, monkeypatch, most):
    """A beam may choose, for the sake of others, what is not the likeliest by itself."""

    def contrary(problems, *rest):
        decided = decide(problems, *rest)
        last = problems.candidate_offsets[1:] - 1
        return replace(decided, choice=decided.order[last].astype(np.int32))

    monkeypatch.setattr(pipeline, "decide", contrary)
    for document in linker_of(candidates=most).pipe(unseen[::12]):
        for link in document.links:
            assert len(link.candidates) <= most
            if link.candidates:
                (chosen,) = (one for one in link.candidates if one.entity == link.entity)
                assert chosen.probability == link.confidence


def test_answers_are_plain_data(linker_of, unseen):
    linker = linker_of(reasons=True)
    text = unseen[0].text
    for request in (*unseen[:5], Request("Paris", (Span(0, 5, candidates=("Paris",)),), "one")):
        linked = linker.link(request)
        record = json.loads(json.dumps(linked.to_dict(), allow_nan=False))
        assert record.get("id", "") == linked.id
        assert [link["entity"] for link in record["links"]] == [x.entity for x in linked.links]
        assert all(link["candidates"] for link in record["links"] if link["entity"])
    assert "id" not in linker.link(text).to_dict()


# Fixed links


def fixed_in(document, i, entity):
    spans = spans_of(document)
    spans[i] = Span(spans[i].start, spans[i].end, entity)
    return Request(document.text, tuple(spans))


def test_what_is_fixed_stays_and_changes_others(linker_of, unseen):
    linker = linker_of("bsg", candidates=ALL)
    documents = unseen[::3]
    base = list(linker.pipe(documents))
    asked = [
        (document, before, i, other.entity)
        for document, before in zip(documents, base, strict=True)
        for i, link in enumerate(before.links)
        for other in link.candidates[:4]
    ]
    requests = (fixed_in(document, i, entity) for document, _, i, entity in asked)
    changed = 0
    for (_, before, i, entity), after in zip(asked, linker.pipe(requests), strict=True):
        own = after.links[i]
        assert (own.entity, own.fixed, own.confidence, own.found) == (entity, True, 1.0, "given")
        assert [(x.entity, x.probability) for x in own.candidates] == [(entity, 1.0)]
        assert own.runner_up is None
        assert not any(link.fixed for k, link in enumerate(after.links) if k != i)
        changed += any(
            one.entity != other.entity
            for k, (one, other) in enumerate(zip(before.links, after.links, strict=True))
            if k != i
        )
    assert changed >= 5


def test_a_local_model_leaves_others_alone(linker_of, unseen):
    linker = linker_of("local", candidates=ALL)
    for document in unseen[::9]:
        before = [link.entity for link in linker.link(document).links]
        for i, link in enumerate(linker.link(document).links):
            requests = [fixed_in(document, i, other.entity) for other in link.candidates[-2:]]
            for after in linker.pipe(requests):
                free = [x.entity for k, x in enumerate(after.links) if k != i]
                assert free == before[:i] + before[i + 1 :]


def test_the_same_name_between_other_names(linker):
    """One mention is said; what the others mean follows."""
    text = "Both Cambridge and Oxford sent their best."
    places = Span(5, 14), Span(19, 25)
    assert [text[s.start : s.end] for s in places] == ["Cambridge", "Oxford"]
    meant = {}
    for entity in ("Cambridge University Press", "University of Cambridge"):
        request = Request(text, (replace(places[0], fixed=entity), places[1]))
        meant[entity] = linker.link(request).links[1].entity
    assert meant["Cambridge University Press"] == "Oxford University Press"
    assert meant["University of Cambridge"] == "University of Oxford"


def test_any_entity_may_be_fixed(linker, starter_kb):
    names = {c.id for c in starter_kb.candidates("Paris")}
    assert "Amman" not in names
    linked = linker.link(Request("Paris, Jordan", (Span(0, 5, "Amman"), Span(7, 13))))
    assert (linked.links[0].entity, linked.links[0].title) == ("Amman", "Amman")
    assert math.isnan(linked.links[0].candidates[0].prior)
    assert linked.links[1].entity == "Jordan"


def test_fixing_all_or_what_has_no_name_changes_nothing_else(linker):
    text = "Qwrtz and Xyzzy"
    linked = linker.link(Request(text, (Span(0, 5, "Paris"), Span(10, 15))))
    assert [link.entity for link in linked.links] == ["Paris", None]
    linked = linker.link(Request(text, (Span(0, 5, "Paris"), Span(10, 15, "Paris"))))
    assert [link.entity for link in linked.links] == ["Paris", "Paris"]


@pytest.mark.parametrize("key", ["fixed", "candidates"])
def test_an_unknown_entity_is_named(linker, key):
    value = "No Such Thing" if key == "fixed" else ("Paris", "No Such Thing")
    request = Request("Paris", (Span(0, 5, **{key: value}),), "page 7")
    with pytest.raises(RequestError, match=r"page 7.*'No Such Thing' of 'Paris' at 0 is not in"):
        linker.link(request)


def test_given_candidates_are_the_only_ones(linker_of):
    linker = linker_of(candidates=ALL)
    given = ("Paris (mythology)", "Amman", "Paris (mythology)")
    (link,) = linker.link(Request("Paris", (Span(0, 5, candidates=given),))).links
    assert {other.entity for other in link.candidates} == set(given)
    assert len(link.candidates) == 2
    assert (link.found, link.fixed) == ("given", False)
    (link,) = linker.link(Request("Paris", (Span(0, 5, candidates=()),))).links
    assert (link.entity, link.found, link.candidates) == (None, "given", ())


# No skew between training and linking


def with_other_gold(document, random):
    golds = [mention.gold for mention in document.mentions]
    random.shuffle(golds)
    types = random.choices(["PER", "ORG", "LOC", "MISC", None], k=len(golds))
    return replace(
        document,
        mentions=tuple(
            replace(m, gold=gold, title=gold, type=type_)
            for m, gold, type_ in zip(document.mentions, golds, types, strict=True)
        ),
    )


@pytest.mark.parametrize("plan", ["local", "bibsg"])
def test_gold_is_never_looked_at(linker_of, unseen, plan):
    linker, random = linker_of(plan, reasons=True), Random(4)
    documents = unseen[::4]
    shuffled = [with_other_gold(document, random) for document in documents]
    bare = [
        replace(d, mentions=tuple(replace(m, gold=None) for m in d.mentions)) for d in documents
    ]
    as_it_is = exact(list(linker.pipe(documents)))
    assert exact(list(linker.pipe(shuffled))) == as_it_is
    assert exact(list(linker.pipe(bare))) == as_it_is


def test_a_document_is_linked_like_its_text_with_the_same_spans(linker_of, unseen):
    linker = linker_of(reasons=True)
    documents = unseen[::4]
    requests = [Request(d.text, tuple(spans_of(d)), d.id) for d in documents]
    assert exact(list(linker.pipe(documents))) == exact(list(linker.pipe(requests)))


def test_reasons_compare_with_nil_only_where_it_outweighs_the_other_entities():
    # NIL, the last candidate, is second in all four; the last mention has no other entity.
    offsets = np.array([0, 4, 8, 12, 14], np.int64)
    order = np.array([0, 3, 1, 2] * 3 + [0, 1], np.int64)
    runner_up = np.array([3, 3, 3, 1], np.int64)
    rows = ([0.4, 0.2, 0.15, 0.25], [0.5, 0.05, 0.05, 0.4], [0.8, 0.04, 0.01, 0.15], [0.9, 0.1])
    judged = Judged(
        entity=np.zeros(4, np.int32),
        chose_nil=np.zeros(4, np.bool_),
        link=np.array([row[0] for row in rows]),
        nil=np.array([row[-1] for row in rows]),
    )
    assert runner_ups_before_nil(runner_up, judged, order, offsets).tolist() == [1, 3, 1, 1]
