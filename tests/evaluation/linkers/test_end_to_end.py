"""End-to-end evaluation: every number counted by hand, and pairs by trying all of them."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from experiments.starter_data import read_starter
from sgtb.core.errors import SettingsError
from sgtb.core.records import NIL, Document, Mention
from sgtb.evaluation.linkers import EvaluationSettings, evaluate_end_to_end
from sgtb.evaluation.linkers.end_to_end import (
    MATCHES,
    Answer,
    EndToEndCounter,
    near_answers,
    right_pairs,
)
from sgtb.evaluation.linkers.resolved_gold import ResolvedGold
from sgtb.linking.link_options import LinkerSettings
from sgtb.linking.linker import Linker
from sgtb.linking.mentions.mention_settings import MentionSettings

FEW = EvaluationSettings(samples=99)


def mention(start, end, gold=None):
    return Mention(start, end, 0, 1, "x" * (end - start), gold)


def answer(start, end, entity=None, *others):
    """A detected mention; its entity is one of its candidates."""
    return Answer(start, end, entity, frozenset(others) | ({entity} if entity else set()))


def counted(*documents):
    """Count documents, each as mentions and answers; the entity "?" is not in the KB."""
    counter = EndToEndCounter()
    for i, (mentions, answers) in enumerate(documents):
        annotated = Document(f"d{i}", "x" * 99, (), (), tuple(mentions))
        known = tuple(replace(m, gold=NIL) if m.gold == "?" else m for m in mentions)
        counter.add(ResolvedGold(annotated, replace(annotated, mentions=known)), answers)
    return counter.scores(FEW)


def figures(scores, match):
    """Return the counts of entities, of mentions, and of those losses that there are."""
    one = scores.matches[match]
    entities, mentions = (
        (found.right, found.predicted, found.gold) for found in (one.entities, one.mentions)
    )
    return entities, mentions, {loss: n for loss, n in one.lost.items() if n}


def test_a_right_link_is_right_by_both_matches():
    scores = counted(([mention(0, 6, "A")], [answer(0, 6, "A")]))
    for match in MATCHES:
        assert figures(scores, match) == ((1, 1, 1), (1, 1, 1), {})
    assert scores.outside == 0


@pytest.mark.parametrize(
    ("found", "loss"),
    [
        ([], "not detected"),
        ([answer(7, 9, "A")], "not detected"),
        ([answer(0, 6)], "not among candidates"),
        ([answer(0, 6, None, "B")], "not among candidates"),
        ([answer(0, 6, "B")], "not among candidates"),
        ([answer(0, 6, "B", "A")], "wrongly decided"),
        ([answer(0, 6, None, "A", "B")], "wrongly NIL"),
    ],
)
def test_gold_is_lost_at_the_first_stage_that_fails(found, loss):
    scores = counted(([mention(0, 6, "A")], found))
    for match in MATCHES:
        entities, _, lost = figures(scores, match)
        assert lost == {loss: 1}
        assert entities == (0, sum(one.entity is not None for one in found), 1)


def test_other_boundaries_match_weakly():
    scores = counted(([mention(0, 6, "A")], [answer(0, 9, "A")]))
    assert figures(scores, "strong") == ((0, 1, 1), (0, 1, 1), {"not detected": 1})
    assert figures(scores, "weak") == ((1, 1, 1), (1, 1, 1), {})
    touching = counted(([mention(0, 6, "A")], [answer(6, 9, "A")]))
    assert figures(touching, "weak") == ((0, 1, 1), (0, 1, 1), {"not detected": 1})
    assert touching.outside == 1


def test_an_answer_matches_one_mention_and_a_mention_one_answer():
    one_for_two = counted(([mention(0, 3, "A"), mention(4, 7, "A")], [answer(0, 7, "A")]))
    assert figures(one_for_two, "weak") == ((1, 1, 2), (1, 1, 2), {"not detected": 1})
    two_for_one = counted(([mention(0, 7, "A")], [answer(0, 3, "A"), answer(4, 7, "A")]))
    assert figures(two_for_one, "weak") == ((1, 2, 1), (1, 2, 1), {})
    twice = counted(([mention(0, 3, "A"), mention(0, 3, "A")], [answer(0, 3, "A")]))
    assert figures(twice, "strong") == ((1, 1, 2), (1, 1, 2), {"not detected": 1})


def test_of_several_answers_near_a_mention_those_that_could_be_right_decide():
    parts = [mention(0, 9, "A")]
    missed = counted((parts, [answer(0, 3, "B"), answer(4, 9, None, "A")]))
    assert figures(missed, "weak")[2] == {"wrongly NIL": 1}
    wrong = counted((parts, [answer(0, 3, "B", "A"), answer(4, 9, None, "A")]))
    assert figures(wrong, "weak")[2] == {"wrongly decided": 1}
    right = counted((parts, [answer(0, 3, "B", "A"), answer(4, 9, "A")]))
    assert figures(right, "weak") == ((1, 2, 1), (1, 2, 1), {})


def test_nil_gold_is_no_gold_but_a_link_of_it_is_wrong():
    silent = counted(([mention(0, 6, NIL)], []))
    assert figures(silent, "strong") == ((0, 0, 0), (0, 0, 1), {})
    nil = counted(([mention(0, 6, NIL)], [answer(0, 6, None, "A")]))
    assert figures(nil, "strong") == ((0, 0, 0), (1, 1, 1), {})
    linked = counted(([mention(0, 6, NIL)], [answer(0, 6, "A")]))
    assert figures(linked, "strong") == ((0, 1, 0), (1, 1, 1), {})
    assert linked.outside == 0


def test_gold_that_the_knowledge_base_lacks_is_lost_whatever_is_said():
    for said in ([], [answer(0, 6)], [answer(0, 6, "A")]):
        scores = counted(([mention(0, 6, "?")], said))
        links = sum(one.entity is not None for one in said)
        for match in MATCHES:
            lost = {"not in the knowledge base": 1}
            assert figures(scores, match) == ((0, links, 1), (len(said), len(said), 1), lost)


def test_links_where_nothing_is_annotated_are_wrong():
    scores = counted(([mention(0, 6, "A")], [answer(0, 6, "A"), answer(8, 9, "B"), answer(10, 11)]))
    assert figures(scores, "strong") == ((1, 2, 1), (1, 3, 1), {})
    assert scores.outside == 1
    assert scores.outside_share == 0.5


def test_links_of_mentions_without_annotation_are_not_judged():
    scores = counted(([mention(0, 6)], [answer(0, 6, "A")]))
    assert figures(scores, "strong") == ((0, 0, 0), (1, 1, 1), {})
    assert scores.outside == 0
    both = counted(([mention(0, 6), mention(7, 9, "B")], [answer(0, 9, "A", "B")]))
    assert figures(both, "weak") == ((0, 1, 1), (1, 1, 2), {"wrongly decided": 1})


def test_documents_without_gold_or_without_links():
    empty = counted(([], []))
    for match in MATCHES:
        one = empty.matches[match]
        assert figures(empty, match) == ((0, 0, 0), (0, 0, 0), {})
        assert math.isnan(one.entities.precision)
        assert math.isnan(one.lost_share("not detected"))
        assert one.interval is None
    json.dumps(empty.to_dict(), allow_nan=False)
    assert empty.to_dict()["strong"]["entities"]["f1"] is None
    none = counted(([mention(0, 6, "A")], []))
    assert (none.matches["weak"].entities.recall, none.matches["weak"].entities.f1) == (0, 0)
    assert math.isnan(none.matches["weak"].entities.precision)
    no_gold = counted(([], [answer(0, 6, "A")]))
    assert no_gold.matches["weak"].entities.precision == 0
    assert no_gold.outside == 1


def test_a_data_set_as_counted_by_hand():
    """Three documents: right, wrong boundaries, a wrong link, NIL twice, a link too many."""
    scores = counted(
        (
            [mention(0, 3, "A"), mention(4, 9, "B"), mention(20, 25, "C")],
            [answer(0, 3, "A"), answer(4, 12, "B"), answer(20, 25, "D", "C"), answer(30, 33, "E")],
        ),
        (
            [mention(0, 3, "A"), mention(4, 9, NIL), mention(10, 12, "?")],
            [answer(0, 3, None, "A"), answer(4, 9, "B"), answer(10, 12)],
        ),
        ([mention(0, 3, "F"), mention(5, 8, "G")], [answer(0, 3, "H")]),
    )
    strong, weak = (figures(scores, match) for match in MATCHES)
    assert strong[:2] == ((1, 6, 7), (6, 8, 8))
    assert strong[2] == {
        "not in the knowledge base": 1, "not detected": 2, "not among candidates": 1,
        "wrongly decided": 1, "wrongly NIL": 1,
    }  # fmt: skip
    assert weak[:2] == ((2, 6, 7), (7, 8, 8))
    assert weak[2] == {**strong[2], "not detected": 1}
    assert scores.outside == 1
    entities = scores.matches["strong"].entities
    assert (entities.precision, entities.recall, entities.f1) == (1 / 6, 1 / 7, 2 / 13)
    assert scores.matches["weak"].lost_share("not detected") == 1 / 7
    interval = scores.matches["strong"].interval
    assert interval.low <= entities.f1 <= interval.high


def some_mentions(rng, n, nested):
    """Return mentions with two golds, so that many pairs are possible."""
    if nested:
        spans = [sorted(rng.choice(16, 2, replace=False).tolist()) for _ in range(n)]
    else:
        borders = sorted(rng.choice(16, 2 * n, replace=False).tolist())
        spans = [*zip(borders[::2], borders[1::2], strict=True)]
    return [mention(start, end, rng.choice(["A", "B"])) for start, end in spans]


def most_pairs(mentions, answers, match):
    """Try all pairs of the first mention, then of the rest."""
    if not mentions:
        return 0
    first, *rest = mentions
    most = most_pairs(rest, answers, match)
    for j, one in enumerate(answers):
        equal = (first.start, first.end) == (one.start, one.end)
        overlap = first.start < one.end and one.start < first.end
        if one.entity == first.gold and (equal if match == "strong" else overlap):
            left = answers[:j] + answers[j + 1 :]
            most = max(most, 1 + most_pairs(rest, left, match))
    return most


@pytest.mark.parametrize("nested", [False, True])
def test_there_are_as_many_pairs_as_can_be(nested):
    rng = np.random.default_rng(0)
    seen = set()
    for _ in range(300):
        mentions = some_mentions(rng, 5, nested)
        answers = [answer(m.start, m.end, m.gold) for m in some_mentions(rng, 6, False)]
        for match in MATCHES:
            near = near_answers(mentions, answers, match)
            pairs = right_pairs(mentions, answers, near)
            assert len(set(pairs.values())) == len(pairs) == most_pairs(mentions, answers, match)
            assert all(
                j in near[i] and answers[j].entity == mentions[i].gold for i, j in pairs.items()
            )
            seen.add((match, len(pairs)))
    assert {("strong", 1), ("weak", 2), ("weak", 3)} <= seen


def test_near_answers_are_those_that_a_slow_search_finds():
    rng = np.random.default_rng(1)
    for _ in range(200):
        mentions = some_mentions(rng, 5, nested=True)
        answers = [answer(m.start, m.end) for m in some_mentions(rng, 6, nested=False)]
        weak, strong = (
            [[j for j, a in enumerate(answers) if fits(m, a)] for m in mentions]
            for fits in (
                lambda m, a: m.start < a.end and a.start < m.end,
                lambda m, a: (m.start, m.end) == (a.start, a.end),
            )
        )
        assert near_answers(mentions, answers, "weak") == weak
        assert near_answers(mentions, answers, "strong") == strong


def test_losses_and_right_links_add_up(linker):
    texts = read_starter()["test"]
    scores = evaluate_end_to_end({"one": linker}, {"test": texts}, FEW)["test"].systems["one"]
    right = 0
    for text in texts:
        links = {(link.start, link.end, link.entity) for link in linker(text.text).links}
        right += len(links & {(m.start, m.end, m.gold) for m in text.mentions})
    assert scores.matches["strong"].entities.right == right
    for match in MATCHES:
        one = scores.matches[match]
        assert one.entities.right + sum(one.lost.values()) == one.entities.gold
        assert one.mentions.right >= one.entities.right > 0
    strong, weak = (scores.matches[match] for match in MATCHES)
    assert weak.entities.right >= strong.entities.right
    assert weak.mentions.right >= strong.mentions.right
    # The state of the rules of mention detection; better ones may raise these.
    assert strong.entities.f1 > 0.85
    assert strong.mentions.recall > 0.9


def test_a_published_corpus_is_counted_whole(linker, aida):
    """AIDA-test has 4,485 linked mentions; the starter knows few of their entities."""
    texts = [document for document in aida if document.split == "test"]
    scores = evaluate_end_to_end({"one": linker}, {"aida": texts}, FEW)["aida"]
    assert (scores.documents, scores.mentions, scores.nil) == (231, 5616, 1131)
    for match in MATCHES:
        one = scores.systems["one"].matches[match]
        assert one.entities.gold == 4485
        assert one.entities.right + sum(one.lost.values()) == 4485
        assert one.lost["not in the knowledge base"] == scores.unknown > 2000
        assert one.entities.right > 500


@pytest.fixture(scope="module")
def found(linker, mixed):
    return evaluate_end_to_end({"one": linker}, {"data": mixed}, FEW, baselines=["prior"])


def test_only_the_text_is_linked(linker, mixed, found):
    """The annotation may say anything, and its tokens may be others."""
    scores = found["data"].systems["one"]
    settings = LinkerSettings(candidates=1000)
    counter = EndToEndCounter()
    with Linker(linker.model, linker.kb.path, settings) as own:
        for document in mixed:
            links = own.link(document.text).links
            known = tuple(
                replace(m, gold=NIL if m.gold == "Q999" else m.gold) for m in document.mentions
            )
            counter.add(
                ResolvedGold(document, replace(document, mentions=known)),
                [
                    answer(x.start, x.end, x.entity, *(c.entity for c in x.candidates))
                    for x in links
                ],
            )
    assert scores.to_dict() == counter.scores(FEW).to_dict()


def test_what_a_data_set_holds(mixed, found):
    golds = [m.gold for d in mixed for m in d.mentions]
    scores = found["data"]
    assert (scores.documents, scores.mentions) == (len(mixed), len(golds))
    assert (scores.unknown, scores.nil) == (golds.count("Q999"), golds.count(NIL))
    assert scores.known == len(golds) - scores.unknown - scores.nil
    one = scores.systems["one"].matches["strong"]
    assert one.entities.gold == scores.known + scores.unknown
    assert one.lost["not in the knowledge base"] == scores.unknown
    assert one.mentions.gold == len(golds)


def test_baselines_choose_among_the_same_candidates(found):
    one, prior = (found["data"].systems[name] for name in ("one", "prior"))
    assert list(found["data"].systems) == ["one", "prior"]
    for match in MATCHES:
        assert one.matches[match].mentions == prior.matches[match].mentions
        assert prior.matches[match].lost["wrongly NIL"] == 0
        same = ("not in the knowledge base", "not detected")
        if match == "strong":
            for loss in (*same, "not among candidates"):
                assert one.matches[match].lost[loss] == prior.matches[match].lost[loss]


def test_jobs_change_nothing(linker, mixed, found):
    again = evaluate_end_to_end({"one": linker}, {"data": mixed}, FEW, baselines=["prior"], jobs=2)
    assert again.to_dict() == found.to_dict()


def test_splits_and_linkers_are_counted_apart(linker, documents):
    split = [replace(d, split="dev" if i < 4 else "test") for i, d in enumerate(documents[:8])]
    settings = LinkerSettings(mentions=MentionSettings(min_characters=99, unknown_names=False))
    blind = Linker(linker.model, linker.kb, settings)
    sets = evaluate_end_to_end({"one": linker, "blind": blind}, {"x": split}, FEW).sets
    assert [(one.name, one.documents) for one in sets] == [("x, dev", 4), ("x, test", 4)]
    for one in sets:
        strong = one.systems["blind"].matches["strong"]
        assert (strong.mentions.predicted, strong.entities.predicted) == (0, 0)
        assert strong.lost["not detected"] == strong.entities.gold > 0
        assert one.systems["one"].matches["strong"].entities.right > 0


def test_the_plain_data_are_json(found):
    data = found.to_dict()
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    one = data["sets"]["data"]["systems"]["one"]
    assert set(one) == {"strong", "weak", "outside"}
    assert set(one["strong"]) == {"entities", "mentions", "lost"}
    assert set(one["strong"]["entities"]) == {
        "precision", "recall", "f1", "right", "said", "gold", "low", "high",
    }  # fmt: skip
    assert list(one["weak"]["lost"]) == [
        "not_in_the_knowledge_base", "not_detected", "not_among_candidates", "wrongly_decided",
        "wrongly_nil",
    ]  # fmt: skip
    shares = [lost["share"] for lost in one["strong"]["lost"].values()]
    assert sum(shares) + one["strong"]["entities"]["recall"] == pytest.approx(1, abs=1e-5)


def test_progress_is_told_and_what_cannot_be_compared_refused(linker, documents):
    told = []
    evaluate_end_to_end(
        {"one": linker}, {"x": documents[:2]}, FEW, progress=lambda *step: told.append(step)
    )
    assert told == [("one on x", i, 2) for i in (1, 2)]
    with pytest.raises(SettingsError, match="at least one data set"):
        evaluate_end_to_end({"one": linker}, {})
    with pytest.raises(SettingsError, match="only once"):
        evaluate_end_to_end({"one": linker}, {"x": iter(documents)})


def test_overlapping_gold_is_allowed(linker, documents):
    document = documents[0]
    first = document.mentions[0]
    wider = replace(first, end=first.end + 1)
    doubled = replace(document, mentions=(first, wider, *document.mentions[1:]))
    plain, more = (
        evaluate_end_to_end({"one": linker}, {"x": [d]}, FEW)["x"].systems["one"].matches["strong"]
        for d in (document, doubled)
    )
    assert more.entities.gold == plain.entities.gold + 1
    assert more.entities.right == plain.entities.right
    assert more.lost["not detected"] == plain.lost["not detected"] + 1
