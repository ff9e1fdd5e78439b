"""Hidden entities: a linker whose knowledge base lacks some of the gold entities.

A share of the gold entities of the test documents is drawn and removed from a copy of the knowledge
base, with their names and links. Their mentions are NIL then. The model is the same: it was trained
with the whole knowledge base.
"""

import shutil
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from experiments.aida import Watch, unwatched
from experiments.aida_data import AidaData, Say, silent
from experiments.aida_linker import KNOWS, WAYS, Trial, kept_model, settings_of
from experiments.folds import headline_folds
from experiments.generalise import domain_of
from experiments.linker_cache import LinkerCache
from experiments.starter_data import read_starter
from sgtb import starter
from sgtb.core.records import NIL, Document, Mention
from sgtb.evaluation import NilScores, SystemAnswers, calibration, nil_scores
from sgtb.evaluation.metrics import PrecisionRecall, share
from sgtb.kb.knowledge_base import KnowledgeBase
from sgtb.kb.update import remove
from sgtb.linking.link_options import LinkerSettings
from sgtb.linking.linker import Linker
from sgtb.linking.linker_model import LinkerModel
from sgtb.linking.links import Link
from sgtb.linking.training.gold import unknown_as_nil
from sgtb.linking.training.linker_training import train_linker
from sgtb.text.word_vectors import WordVectors

SHARE = 0.2
CONFIDENT = 0.9
HEADINGS = (
    "texts", "draw", "P", "R", "F1", "decided", "before", "after", "linked", "sure", "right",
    "ECE",
)  # fmt: skip

Linked = Sequence[Sequence[Link]]


@dataclass(frozen=True)
class HiddenScores:
    """Scores after entities were removed.

    nil        of all mentions
    decided    of those that have candidates: the others are NIL without a decision
    before     accuracy with the whole knowledge base on the mentions whose entities stay
    after      the same with the smaller one
    always     the same if every name were linked
    confident  links with at least CONFIDENT confidence, and how many of them are right
    ece_whole  of all answers to mentions with candidates, with the whole knowledge base
    ece        the same with the smaller one
    """

    name: str
    draw: int
    removed: int
    nil: PrecisionRecall
    decided: PrecisionRecall
    before: float
    after: float
    always: float
    confident: PrecisionRecall
    ece_whole: float
    ece: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; shares in percent."""
        return {
            "texts": self.name, "draw": self.draw, "removed": self.removed,
            "nil": _retrieval(self.nil), "nil_with_candidates": _retrieval(self.decided),
            "in_kb_before": round(100 * self.before, 2), "in_kb_after": round(100 * self.after, 2),
            "in_kb_all_linked": round(100 * self.always, 2),
            "confident_links": self.confident.predicted,
            "confident_right": round(100 * self.confident.precision, 2),
            "ece_whole": round(self.ece_whole, 4), "ece": round(self.ece, 4),
        }  # fmt: skip


def run(
    data: AidaData,
    cache: LinkerCache,
    kb: KnowledgeBase,
    trial: Trial,
    draws: int,
    left_out: bool = False,
    watch: Watch = unwatched,
    say: Say = silent,
) -> dict[str, Any]:
    """Test the linker of AIDA-CoNLL and that of the starter; return plain data.

    left_out  test linkers of news on sports and vice versa instead; AIDA-test and the starter
              are not used
    """
    begin = time.perf_counter()
    scores = (
        _left_out(data, kb, trial, draws, say)
        if left_out
        else _own_domain(data, cache, kb, trial, draws, watch, say)
    )
    return {
        "plan": trial.plan, "seed": trial.seed, "share": SHARE, "note": KNOWS,
        "runs": [one.to_dict() for one in scores],
        "seconds": round(time.perf_counter() - begin, 1),
    }  # fmt: skip


def _left_out(
    data: AidaData, kb: KnowledgeBase, trial: Trial, draws: int, say: Say
) -> list[HiddenScores]:
    """Leave out news and sports of train and dev in turn."""
    every = [*data.documents("train"), *data.documents("dev")]
    news = [WAYS["by name"].given(d) for d in every if domain_of(d) == "news"]
    sport = [WAYS["by name"].given(d) for d in every if domain_of(d) != "news"]
    settings = settings_of("by name", trial, "candidate")
    scores = []
    for name, train, test in (("sport by news", news, sport), ("news by sport", sport, news)):
        say(f"{name}: training")
        model = train_linker(
            kb, train, (), settings, words=WordVectors.glove(), assign_folds=headline_folds
        )
        scores += run_hidden(name, model, kb, test, draws, say)
    return scores


def _own_domain(
    data: AidaData,
    cache: LinkerCache,
    kb: KnowledgeBase,
    trial: Trial,
    draws: int,
    watch: Watch,
    say: Say,
) -> list[HiddenScores]:
    model = kept_model(data, cache, kb, "by name", trial, watch, "candidate")
    test = [*map(WAYS["by name"].given, data.documents("test"))]
    scores = run_hidden("AIDA test", model, kb, test, draws, say)
    with KnowledgeBase.open(starter.KB) as small:
        own = LinkerModel.load(starter.MODEL)
        scores += run_hidden("starter test", own, small, read_starter()["test"], draws, say)
    return scores


def run_hidden(
    name: str,
    model: LinkerModel,
    kb: KnowledgeBase,
    documents: Sequence[Document],
    draws: int,
    say: Say = silent,
) -> list[HiddenScores]:
    """Link documents with the whole knowledge base and, for each draw, with a smaller one."""
    known = unknown_as_nil(kb, documents)
    before = _linked(model, kb, known)
    scores = []
    for draw in range(draws):
        ids = drawn(known, SHARE, draw)
        say(f"{name}, draw {draw + 1} of {draws}: linking without {len(ids)} entities")
        with tempfile.TemporaryDirectory() as folder:
            place = Path(shutil.copytree(kb.path, Path(folder) / "kb"))
            remove(place, ids)
            with KnowledgeBase.open(place) as smaller:
                hidden = unknown_as_nil(smaller, known)
                after = _linked(model, smaller, hidden)
                always = _linked(model, smaller, hidden, nil=0.0)
        confident, ece = _reliability(hidden, after)
        scores.append(
            HiddenScores(
                name=name,
                draw=draw,
                removed=len(ids),
                nil=nil_scores(hidden, _answers(hidden, after)).nil,
                decided=_decided(hidden, after).nil,
                before=_in_kb(hidden, before),
                after=_in_kb(hidden, after),
                always=_in_kb(hidden, always),
                confident=confident,
                ece_whole=_reliability(known, before)[1],
                ece=ece,
            )
        )
    return scores


def drawn(documents: Sequence[Document], part: float, seed: int) -> list[str]:
    """Draw a share of the gold entities."""
    golds = sorted({m.gold for d in documents for m in d.mentions if m.in_kb and m.gold})
    taken = np.random.default_rng(seed).permutation(len(golds))[: round(part * len(golds))]
    return [golds[i] for i in sorted(taken.tolist())]


def _linked(
    model: LinkerModel, kb: KnowledgeBase, documents: Sequence[Document], nil: float | None = None
) -> Linked:
    linker = Linker(model, kb, LinkerSettings(candidates=2, nil=nil))
    return [linked.links for linked in linker.pipe(documents)]


def _answers(documents: Sequence[Document], linked: Linked) -> SystemAnswers:
    return SystemAnswers.of(documents, [[link.entity for link in links] for links in linked])


def _pairs(documents: Sequence[Document], linked: Linked) -> list[tuple[Mention, Link]]:
    """Return the annotated mentions with their links."""
    return [
        (mention, link)
        for document, links in zip(documents, linked, strict=True)
        for mention, link in zip(document.mentions, links, strict=True)
        if mention.gold is not None
    ]


def _decided(documents: Sequence[Document], linked: Linked) -> NilScores:
    """Return the scores of mentions that have candidates."""
    some = [
        replace(
            document,
            mentions=tuple(
                mention if link.candidates else replace(mention, gold=None)
                for mention, link in zip(document.mentions, links, strict=True)
            ),
        )
        for document, links in zip(documents, linked, strict=True)
    ]
    return nil_scores(some, _answers(some, linked))


def _in_kb(documents: Sequence[Document], linked: Linked) -> float:
    right = [link.entity == m.gold for m, link in _pairs(documents, linked) if m.gold != NIL]
    return share(sum(right), len(right))


def _reliability(documents: Sequence[Document], linked: Linked) -> tuple[PrecisionRecall, float]:
    """Return the confident links, and the calibration error of all answers."""
    pairs = [(m, link) for m, link in _pairs(documents, linked) if link.candidates]
    right = np.array([(link.entity or NIL) == mention.gold for mention, link in pairs], np.bool_)
    confidence = np.array([link.confidence for _, link in pairs])
    sure = (confidence >= CONFIDENT) & np.array([link.entity is not None for _, link in pairs])
    links = PrecisionRecall(int(right[sure].sum()), int(sure.sum()), len(pairs))
    return links, calibration(confidence, right).ece


def rows(record: dict[str, Any]) -> list[tuple[str, ...]]:
    """Return the rows of the table."""
    return [
        (
            one["texts"], str(one["draw"]), *(f"{one['nil'][k]:.1f}" for k in ("p", "r", "f1")),
            f"{one['nil_with_candidates']['f1']:.1f}", f"{one['in_kb_before']:.1f}",
            f"{one['in_kb_after']:.1f}", f"{one['in_kb_all_linked']:.1f}",
            f"{one['confident_links']:,}", f"{one['confident_right']:.1f}",
            f"{one['ece']:.3f}",
        )
        for one in record["runs"]
    ]  # fmt: skip


def notes(record: dict[str, Any]) -> tuple[str, ...]:
    """Return notes on the table."""
    return (
        f"Plan {record['plan']}, seed {record['seed']}. Shares in percent. P, R, F1: of NIL over "
        "all mentions. decided: F1 of NIL for those that still have candidates. before, after: "
        "accuracy on the mentions whose entities stay, with the whole knowledge base and with the "
        "smaller one; linked: with that if every name were linked. sure: links with at least "
        f"{100 * CONFIDENT:.0f} % confidence, and how many of them are right. ECE: of all answers "
        "to mentions with candidates.",
        f"AIDA: by name. {record['note']}",
        f"{record['seconds']:.0f} s.",
    )


def _retrieval(scores: PrecisionRecall) -> dict[str, float]:
    return {
        "p": round(100 * scores.precision, 2), "r": round(100 * scores.recall, 2),
        "f1": round(100 * scores.f1, 2),
    }  # fmt: skip
