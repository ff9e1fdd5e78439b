"""The WNED experiment: systems trained on AIDA-CoNLL, tested on five sets from other domains.

The knowledge base holds the candidates that PPRforNED lists for AIDA's mentions. It lacks the gold
entity of most of WNED's mentions, which count as wrong. Accuracy on recalled mentions shows how
good the choices are on the others.
"""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from experiments.aida import Watch, left_out, spread_of, train_plan, unwatched
from experiments.aida_data import SPLITS, AidaData, Packer, Say, answers_of, silent
from experiments.name_table import NameTable
from sgtb.boosting.search.beam import PlanName
from sgtb.core.dtypes import Ints
from sgtb.core.entities import EntityTable
from sgtb.core.errors import SettingsError
from sgtb.core.records import Document, Mention
from sgtb.evaluation import Accuracy, PrecisionRecall, Recall, bag_of_titles, in_kb_accuracy
from sgtb.evaluation.metrics import share
from sgtb.evaluation.page_titles import normal_title
from sgtb.formats.codecs.wned_corpus import WnedCorpus
from sgtb.linking.candidates.candidate_table import CandidateTable, listed_candidates
from sgtb.linking.features.schema import SCHEMA
from sgtb.linking.problem_packing import pack

PAPER: Mapping[str, Mapping[str, float]] = {
    "local": {"ace": 89.2, "aquaint": 90.3, "msnbc": 91.1, "clueweb": 78.8, "wikipedia": 75.0},
    "bs": {"ace": 88.9, "aquaint": 90.5, "msnbc": 92.4, "clueweb": 81.7, "wikipedia": 76.4},
    "bsg": {"ace": 88.6, "aquaint": 89.4, "msnbc": 92.5, "clueweb": 81.7, "wikipedia": 78.4},
    "bibsg": {"ace": 88.5, "aquaint": 89.9, "msnbc": 92.6, "clueweb": 81.8, "wikipedia": 79.2},
}
"""Table 3 of the paper: Bag-of-Title F1 by plan and set, with candidates from all of Wikipedia."""

KB = "pprforned"
BASELINE = "in-links"
"""In place of a plan: the candidate with the most in-links, untrained."""

BOUND = (
    "Recall is bounded by the knowledge base: a mention whose gold is none of its entities counts "
    "as wrong. The paper's candidates are from all of Wikipedia."
)
"""Must accompany the figures."""

_NO_ENTITY = "no entity: "
"""Begins the gold of a title that no entity has. Ids are numbers, and so are some titles."""


@dataclass(frozen=True)
class WnedSet:
    """A set with candidates for its mentions, and ids for their gold.

    candidates  its linked mentions
    n_known  how many of them mean an entity of the knowledge base
    """

    name: str
    candidates: CandidateTable
    n_known: int

    @property
    def n_mentions(self) -> int:
        """The number of linked mentions."""
        return len(self.candidates.mentions)

    @property
    def recall(self) -> Recall:
        """How many linked mentions have their gold among their candidates, as far as kept."""
        return Recall(int((self.candidates.gold >= 0).sum()), self.n_mentions)


@dataclass(frozen=True)
class SetRun:
    """One system, trained with one seed and tested on one set."""

    set: str
    plan: str
    seed: int
    n_trees: int
    titles: PrecisionRecall
    accuracy: Accuracy


@dataclass(frozen=True)
class WnedResult:
    """All runs, the baseline on each set, and the size of the knowledge base."""

    sets: tuple[WnedSet, ...]
    baseline: tuple[SetRun, ...]
    runs: tuple[SetRun, ...]
    n_entities: int
    seconds: float

    @property
    def plans(self) -> tuple[str, ...]:
        """The plans run, in order."""
        return tuple(dict.fromkeys(run.plan for run in self.runs))

    def of(self, set_: str, plan: str) -> tuple[SetRun, ...]:
        """Return the runs of a plan on a set, one per seed."""
        return tuple(run for run in self.runs if (run.set, run.plan) == (set_, plan))


def check_kb(name: str) -> None:
    """Raise unless there is a knowledge base of this name."""
    if name != KB:
        raise SettingsError(
            f"there is no knowledge base {name!r}; today there is {KB}, the entities that "
            "PPRforNED lists for AIDA, and one of all Wikipedia is to come"
        )


def run_wned(
    data: AidaData,
    packer: Packer,
    corpora: Sequence[WnedCorpus],
    plans: Sequence[PlanName],
    n_seeds: int,
    watch: Watch = unwatched,
    say: Say = silent,
) -> WnedResult:
    """Train every plan with every seed on AIDA, as for AIDA itself, and test it on all sets."""
    if n_seeds < 1:
        raise SettingsError(f"{n_seeds} seeds; it must be at least 1")
    begin = time.perf_counter()
    known, entities = packer.known, data.entities
    sets = prepare(data, corpora)
    say(f"features of {', '.join(given.name for given in sets)}")
    tables = [known.table(given.candidates) for given in sets]
    runs: list[SetRun] = []
    for seed in range(n_seeds):
        packed, featurizer = packer.make(seed)
        features = [featurizer.features(table) for table in tables]
        for plan in plans:
            system = train_plan(packed, plan, seed, watch)
            n_trees = system.model.forest.n_trees
            for given, values in zip(sets, features, strict=True):
                problems = pack(given.candidates, values, packed.pairs, left_out(plan))
                scores = score(given, entities, system.predict(problems))
                runs.append(SetRun(given.name, plan, seed, n_trees, *scores))
    seconds = data.seconds + time.perf_counter() - begin
    baseline = (SetRun(s.name, BASELINE, 0, 0, *score(s, entities, most_linked(s))) for s in sets)
    return WnedResult(sets, tuple(baseline), tuple(runs), len(entities), seconds)


def prepare(data: AidaData, corpora: Sequence[WnedCorpus]) -> tuple[WnedSet, ...]:
    """Give all mentions their candidates, then all golds their ids."""
    documents_of = (d for split in SPLITS for d in data.documents(split))
    names = NameTable.build(documents_of, data.entities)
    id_of = _ids_by_title(data.entities)
    sets = []
    for corpus in corpora:
        documents = [_with_gold_ids(names.listed(d), id_of) for d in corpus.documents]
        candidates = listed_candidates(documents, data.entities)
        n_known = sum(mention.gold in data.entities.number for mention in candidates.mentions)
        sets.append(WnedSet(corpus.name, candidates, n_known))
    return tuple(sets)


def score(given: WnedSet, entities: EntityTable, places: Ints) -> tuple[PrecisionRecall, Accuracy]:
    """Compare what was chosen, as places among candidates, with the gold."""
    documents, answers = given.candidates.documents, answers_of(given.candidates, entities, places)
    title_of = dict(zip(entities.ids, entities.titles, strict=True))
    return bag_of_titles(documents, answers, title_of=title_of), in_kb_accuracy(documents, answers)


def most_linked(given: WnedSet) -> Ints:
    """Return the baseline's choice: the first candidate, -1 where there is none."""
    return np.where(np.diff(given.candidates.candidate_offsets) > 0, 0, -1).astype(np.int32)


def _ids_by_title(entities: EntityTable) -> dict[str, str]:
    id_of: dict[str, str] = {}
    for id_, title in zip(entities.ids, entities.titles, strict=True):
        id_of.setdefault(normal_title(title), id_)
    return id_of


def _with_gold_ids(document: Document, id_of: Mapping[str, str]) -> Document:
    def identified(mention: Mention) -> Mention:
        if not mention.in_kb:
            return mention
        title = normal_title(mention.title or "")
        return replace(mention, gold=id_of.get(title, _NO_ENTITY + title))

    return replace(document, mentions=tuple(map(identified, document.mentions)))


def as_json(result: WnedResult, peak_bytes: int) -> dict[str, Any]:
    """Return the result as plain data; all shares in percent."""
    return {
        "kb": {"name": KB, "entities": result.n_entities, "note": BOUND},
        "sets": {
            given.name: _set(given, baseline, result)
            for given, baseline in zip(result.sets, result.baseline, strict=True)
        },
        "trees": {
            plan: [run.n_trees for run in result.of(result.sets[0].name, plan)]
            for plan in result.plans
        },
        "seeds": len({run.seed for run in result.runs}),
        "seconds": round(result.seconds, 1),
        "peak_megabytes": round(peak_bytes / 2**20),
        "schema": SCHEMA.version,
    }


def _set(given: WnedSet, baseline: SetRun, result: WnedResult) -> dict[str, Any]:
    return {
        "documents": len(given.candidates.documents),
        "mentions": given.n_mentions,
        "in_kb": _percent(given.n_known, given.n_mentions),
        "recall": _percent(given.recall.found, given.n_mentions),
        "baseline": _scores(given, [baseline]),
        "systems": {
            plan: {
                **_scores(given, result.of(given.name, plan)),
                "paper_bot_f1": PAPER.get(plan, {}).get(given.name),
            }
            for plan in result.plans
        },
    }


def _scores(given: WnedSet, runs: Sequence[SetRun]) -> dict[str, Any]:
    found = given.recall.found
    return {
        "bot_f1": _spread([run.titles.f1 for run in runs]),
        "bot_precision": _spread([run.titles.precision for run in runs]),
        "bot_recall": _spread([run.titles.recall for run in runs]),
        "accuracy": _spread([run.accuracy.micro for run in runs]),
        # What was answered right was among the candidates.
        "accuracy_on_recalled": _spread([share(run.accuracy.correct, found) for run in runs]),
    }


def _spread(values: Sequence[float]) -> dict[str, float] | None:
    """Return mean and standard deviation; None for shares of nothing: JSON has no NaN."""
    return None if any(map(math.isnan, values)) else spread_of(values)


def _percent(part: int, whole: int) -> float | None:
    return round(100 * part / whole, 2) if whole else None
