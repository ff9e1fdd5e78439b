"""What the stages of a linker take, each done by itself."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from benchmarks.linker_speed import Subject, exhaust
from sgtb.boosting.data.dense_pairs import with_dense_pairs
from sgtb.linking.decisions import Decided, decide, widened
from sgtb.linking.linker import Linker
from sgtb.linking.mentions.chunks import cut
from sgtb.linking.parallel import BATCH
from sgtb.linking.pipeline import Linkable
from sgtb.linking.shortlist import shortlisted


def stages(subject: Subject) -> dict[str, float]:
    """Return the milliseconds of the processor that each stage takes a document, all warm.

    This takes a linker apart: what it does in one go is done here step by step.
    """
    total: dict[str, float] = {}
    with subject.linker(reasons=True) as linker:
        exhaust(linker, subject.documents, 1)
        given = iter(subject.documents)
        while batch := list(islice(given, BATCH)):
            _take_apart(linker, batch, total)
    taken = {name: 1e3 * seconds / len(subject.documents) for name, seconds in total.items()}
    return apart(taken)


def apart(taken: Mapping[str, float]) -> dict[str, float]:
    """Return stages that do not overlap: what a step does alone, without the steps within it."""
    return {
        "tokens, mentions": taken["part"],
        "candidates": taken["find"],
        "facts of entities": taken["lay_out"] - taken["find"],
        "features": taken["table"],
        "learned features": taken["featurizer"],
        "packing": taken["shortlist"] + taken["pack"],
        # Done by itself, the search puts features on bins; the whole decision finds them there.
        "search": taken["decode"],
        "counterfactuals": taken["counterfactuals"],
        "links": taken["links"],
        "reasons": taken["explain"] - taken["decide"] + taken["told"] - taken["links"],
    }


def _take_apart(linker: Linker, batch: Sequence[Linkable], total: dict[str, float]) -> None:
    pipeline, model = linker.pipeline, linker.model
    bench, system, answers = pipeline.problems, pipeline.system(None), pipeline.answers

    def timed(name: str, work: Callable[[], Any]) -> Any:
        begin = time.process_time()
        result = work()
        total[name] = total.get(name, 0.0) + time.process_time() - begin
        return result

    def links_of(decided: Decided) -> Any:
        wide = widened(decided, shortlist, layout.choices)
        shown = linker.settings.candidates
        return [columns.links() for columns in answers.links(parts, layout, wide, shown)]

    parts = timed("part", lambda: [part for one in batch for part in cut(linker.part(one))])
    documents = [part.document for part in parts]
    timed("find", lambda: bench.finder.find(documents))
    layout = timed("lay_out", lambda: bench.lay_out(documents))
    table = timed("table", lambda: bench.table(layout))
    features = timed("featurizer", lambda: model.featurizer.features(table))
    shortlist = timed(
        "shortlist", lambda: shortlisted(layout.choices, features, model.schema, model.without)
    )
    searched = replace(layout, choices=shortlist.choices)
    problems = timed(
        "pack",
        lambda: with_dense_pairs(bench.pack(searched, features[shortlist.rows], model.without)),
    )
    clamp = np.full(problems.n_mentions, -1, np.int32)
    decoding = timed("decode", lambda: system.decode(problems, clamp=clamp))
    timed("counterfactuals", lambda: system.counterfactuals(problems, decoding, clamp))
    plain = timed("decide", lambda: decide(problems, system, clamp, False))
    timed("links", lambda: links_of(plain))
    told = timed("explain", lambda: decide(problems, system, clamp, True))
    timed("told", lambda: links_of(told))
