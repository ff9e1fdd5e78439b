"""End-to-end evaluation: mentions detected in plain text and linked, counted as GERBIL's A2KB.

Gold is every annotated mention whose entity is named, in the knowledge base or not. A match needs
the same entity, and spans that are equal (strong) or overlap (weak). A link matches at most one
gold mention, and a gold mention at most one link. All other links are wrong: also those of NIL
mentions, and of text without annotation.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple, get_args

from sgtb.core.errors import CorpusError
from sgtb.core.progress import Progress
from sgtb.core.records import Document, Mention
from sgtb.evaluation import Interval, PrecisionRecall
from sgtb.evaluation.linkers.resolved_gold import ResolvedGold
from sgtb.evaluation.linkers.runs import (
    DocumentCounts,
    EvaluationSettings,
    Place,
    Run,
    common_kb,
    counted,
    run_linkers,
)
from sgtb.evaluation.linkers.scores import (
    Evaluation,
    SetScores,
    complete,
    limits,
    number,
    retrieval,
)
from sgtb.evaluation.metrics import share
from sgtb.linking.linker import Linker

Match = Literal["strong", "weak"]
MATCHES: tuple[Match, ...] = ("strong", "weak")  # equal spans; overlapping spans

Loss = Literal[
    "not in the knowledge base",
    "not detected",
    "not among candidates",
    "wrongly decided",
    "wrongly NIL",
]
LOSSES: tuple[Loss, ...] = get_args(Loss)
"""Stages at which gold is lost, in their order; each gold mention is lost at the first."""


class Answer(NamedTuple):
    """A detected mention, its candidates, and the entity it is linked to; None: NIL."""

    start: int
    end: int
    entity: str | None
    candidates: frozenset[str]


@dataclass(frozen=True)
class MatchScores:
    """Scores by one kind of match."""

    entities: PrecisionRecall  # links against gold
    mentions: PrecisionRecall  # detected mentions, NIL included, against all annotated ones
    lost: Mapping[Loss, int]  # number of gold mentions lost at each stage
    interval: Interval | None  # of F1 of entities; None: nothing to draw from

    def lost_share(self, loss: Loss) -> float:
        """Return the share of gold that is lost at a stage."""
        return share(self.lost[loss], self.entities.gold)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "entities": {**retrieval(self.entities), **limits(self.interval)},
            "mentions": retrieval(self.mentions),
            "lost": {
                loss.lower().replace(" ", "_"): {"share": number(self.lost_share(loss)), "gold": n}
                for loss, n in self.lost.items()
            },
        }


@dataclass(frozen=True)
class EndToEndScores:
    """How good a system is on the plain text of a data set.

    matches  scores by the kind of match
    outside  links that overlap no annotated mention
    """

    matches: Mapping[Match, MatchScores]
    outside: int

    @property
    def outside_share(self) -> float:
        """The share of links that overlap no annotated mention."""
        return share(self.outside, self.matches["strong"].entities.predicted)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: shares of one, None for shares of nothing."""
        matches = {str(match): scores.to_dict() for match, scores in self.matches.items()}
        outside = {"share": number(self.outside_share), "links": self.outside}
        return {**matches, "outside": outside}


def evaluate_end_to_end(
    linkers: Mapping[str, Linker],
    data: Mapping[str, Iterable[Document]],
    settings: EvaluationSettings | None = None,
    *,
    baselines: Sequence[str] = (),
    jobs: int = 1,
    progress: Progress | None = None,
) -> Evaluation[EndToEndScores]:
    """Detect and link the mentions of plain texts and score them, as `evaluate_linkers` does."""
    settings = settings or EvaluationSettings()
    kb = common_kb(linkers)
    failed: dict[str, CorpusError] = {}
    runs = run_linkers(
        linkers, data, baselines=baselines, jobs=jobs, progress=progress, from_text=True,
        failed=failed,
    )  # fmt: skip
    places = counted(runs, [*linkers, *baselines], lambda _: EndToEndCounter(), _count, failed)
    sets = [_set_scores(*place, settings) for place in places]
    about = {"name": kb.path.name, "entities": len(kb)}
    return complete(Evaluation(about, asdict(settings), tuple(sets)), failed)


def _count(counter: "EndToEndCounter", run: Run) -> None:
    links = zip(run.found.links, run.choose(run.found), strict=True)
    answers = [
        Answer(link.start, link.end, entity, frozenset(c.entity for c in link.candidates))
        for link, entity in links
    ]
    counter.add(run.resolved, answers)


def near_answers(
    mentions: Sequence[Mention], answers: Sequence[Answer], match: Match
) -> list[list[int]]:
    """Return for each mention the answers whose spans match; answers are in text order."""
    starts, ends = [a.start for a in answers], [a.end for a in answers]
    near = []
    for m in mentions:
        found = range(bisect_right(ends, m.start), bisect_left(starts, m.end))
        weak, span = match == "weak", (m.start, m.end)
        near.append([j for j in found if weak or (starts[j], ends[j]) == span])
    return near


def pair(mentions: Sequence[Mention], near: Sequence[Sequence[int]]) -> dict[int, int]:
    """Return as many pairs of a mention and an answer near it as there can be, one to one."""
    pairs: dict[int, int] = {}
    used: set[int] = set()
    # Earliest end first: a mention within another takes the answer that only it can take.
    for i in sorted(range(len(mentions)), key=lambda i: (mentions[i].end, mentions[i].start)):
        free = next((j for j in near[i] if j not in used), None)
        if free is not None:
            pairs[i] = free
            used.add(free)
    return pairs


def right_pairs(
    mentions: Sequence[Mention], answers: Sequence[Answer], near: Sequence[Sequence[int]]
) -> dict[int, int]:
    """Return pairs of a mention and an answer near it that is its gold."""
    gold = zip(mentions, near, strict=True)
    return pair(mentions, [[j for j in js if answers[j].entity == m.gold] for m, js in gold])


def losses(
    mentions: Sequence[Mention],
    answers: Sequence[Answer],
    near: Sequence[Sequence[int]],
    right: Mapping[int, int],
) -> list[Loss]:
    """Return the stages at which mentions of known entities are lost that have no right answer.

    The right answer of one mention does not count as an answer near another.
    """
    used = set(right.values())
    lost: list[Loss] = []
    for i, mention in enumerate(mentions):
        if i in right:
            continue
        free = [answers[j] for j in near[i] if j not in used]
        able = [answer for answer in free if mention.gold in answer.candidates]
        nil = all(answer.entity is None for answer in able)
        decided: Loss = "wrongly NIL" if nil else "wrongly decided"
        lost.append(decided if able else "not among candidates" if free else "not detected")
    return lost


def _touched(mentions: Sequence[Mention], answers: Sequence[Answer]) -> set[int]:
    """Return the answers that overlap any of the mentions."""
    return {j for near in near_answers(mentions, answers, "weak") for j in near}


class EndToEndCounter(DocumentCounts):
    """Counts the answers of one system to one data set, document by document."""

    def add(self, resolved: ResolvedGold, answers: Sequence[Answer]) -> None:
        """Count the answers to a document; they are in text order, without overlaps."""
        mentions, unknown = resolved.known.mentions, resolved.unknown
        known = [mention for mention in mentions if mention.in_kb]
        annotated = [mention for mention in mentions if mention.gold is not None]
        beside = _touched(annotated, answers)
        # What a mention without annotation means is unknown: its link is not judged.
        ignored = _touched([m for m in mentions if m.gold is None], answers) - beside
        links = {j for j, answer in enumerate(answers) if answer.entity is not None} - ignored
        for match in MATCHES:
            near = near_answers(known, answers, match)
            right = right_pairs(known, answers, near)
            detected = pair(mentions, near_answers(mentions, answers, match))
            lost = losses(known, answers, near, right)
            lost += ["not in the knowledge base"] * unknown
            n_gold = len(known) + unknown
            self.put(f"{match} entities", right=len(right), predicted=len(links), gold=n_gold)
            self.put(
                f"{match} mentions",
                right=len(detected), predicted=len(answers), gold=len(mentions),
            )  # fmt: skip
            self.put(match, **{loss: lost.count(loss) for loss in LOSSES})
        self.put("", nil=len(annotated) - len(known) - unknown, outside=len(links - beside))

    def scores(self, settings: EvaluationSettings) -> EndToEndScores:
        """Return the scores on all documents."""
        matches = {
            match: MatchScores(
                entities=self.precision_recall(f"{match} entities"),
                mentions=self.precision_recall(f"{match} mentions"),
                lost={loss: self.sum(match, loss) for loss in LOSSES},
                interval=self.f1_interval(f"{match} entities", settings),
            )
            for match in MATCHES
        }
        return EndToEndScores(matches, self.sum("", "outside"))


def _set_scores(
    place: Place,
    name: str,
    by_system: Mapping[str, EndToEndCounter],
    settings: EvaluationSettings,
) -> SetScores[EndToEndScores]:
    first = next(iter(by_system.values()))
    unknown = first.sum("strong", "not in the knowledge base")
    return SetScores(
        name=name,
        data=place[0],
        split=place[1],
        documents=len(first.column("", "nil")),
        mentions=first.sum("strong mentions", "gold"),
        known=first.sum("strong entities", "gold") - unknown,
        unknown=unknown,
        nil=first.sum("", "nil"),
        systems={system: counter.scores(settings) for system, counter in by_system.items()},
    )
