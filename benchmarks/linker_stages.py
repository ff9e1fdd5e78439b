"""Time of the stages of a linker, each run separately."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from benchmarks.linker_speed import Subject, exhaust
from sgtb.linking.decisions import Decisions, decide, with_unsearched
from sgtb.linking.linker import Linker
from sgtb.linking.links import Linkable
from sgtb.linking.mentions.chunks import split_into_chunks
from sgtb.linking.parallel import BATCH
from sgtb.linking.problem_packing import shortlisted


def stages(subject: Subject) -> dict[str, float]:
    """Return the processor milliseconds per document of each stage, with warm caches.

    The steps of the linker are run one by one.
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
    """Return stages that do not overlap: the time of a step without the steps within it."""
    return {
        "tokens, mentions": taken["chunk"],
        "candidates": taken["find"],
        "facts of entities": taken["lay_out"] - taken["find"],
        "features": taken["table"],
        "learned features": taken["featurizer"],
        "packing": taken["shortlist"] + taken["pack"],
        # Run separately, the search bins features; the whole decision finds them binned.
        "search": taken["decode"],
        "counterfactuals": taken["counterfactuals"],
        "links": taken["links"],
        "reasons": taken["explain"]
        - taken["decide"]
        + taken["links with reasons"]
        - taken["links"],
    }


def _take_apart(linker: Linker, batch: Sequence[Linkable], total: dict[str, float]) -> None:
    pipeline, model = linker.pipeline, linker.model
    steps, system, answers = pipeline.steps, pipeline.system(None), pipeline.answers

    def timed(name: str, work: Callable[[], Any]) -> Any:
        begin = time.process_time()
        result = work()
        total[name] = total.get(name, 0.0) + time.process_time() - begin
        return result

    def links_of(decided: Decisions) -> Any:
        wide = with_unsearched(decided, shortlist, layout.candidates)
        shown = linker.settings.candidates
        return [columns.links() for columns in answers.links(chunks, layout, wide, shown)]

    chunks = timed(
        "chunk",
        lambda: [chunk for one in batch for chunk in split_into_chunks(linker.to_chunk(one))],
    )
    documents = [chunk.document for chunk in chunks]
    timed("find", lambda: steps.finder.find(documents))
    layout = timed("lay_out", lambda: steps.lay_out(documents))
    table = timed("table", lambda: steps.table(layout))
    features = timed("featurizer", lambda: model.featurizer.features(table))
    shortlist = timed(
        "shortlist", lambda: shortlisted(layout.candidates, features, model.schema, model.without)
    )
    searched = replace(layout, candidates=shortlist.candidates)
    problems = timed("pack", lambda: steps.pack(searched, features[shortlist.rows], model.without))
    clamp = np.full(problems.n_mentions, -1, np.int32)
    decoding = timed("decode", lambda: system.decode(problems, clamp=clamp))
    timed("counterfactuals", lambda: system.counterfactuals(problems, decoding, clamp))
    plain = timed("decide", lambda: decide(problems, system, clamp, False))
    timed("links", lambda: links_of(plain))
    explained = timed("explain", lambda: decide(problems, system, clamp, True))
    timed("links with reasons", lambda: links_of(explained))
