"""Measurements that run in a fresh process and print JSON. `benchmarks.fresh` starts them.

The learner is imported inside functions, because importing it is part of a cold start.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

_SHAPES: dict[str, dict[str, Any]] = {
    "aida": {},
    # The paper's problems: 19 local features, 3 of pairs, 18,448 mentions; candidates as listed
    # by PPRforNED, 11.0 a mention and 30 at most.
    "paper": {"mean_mentions": 19.491, "n_local": 19, "dimensions": (32,), "n_relations": 2},
}


def _train(plan: Any, n_trees: int, shape: str, n_documents: list[int]) -> dict[str, Any]:
    from benchmarks.generated_corpus import CorpusShape, generate
    from benchmarks.measure import CORES, seconds_of
    from benchmarks.sample import choose_sample
    from sgtb.boosting import StructuredGradientBoosting, TrainingSettings

    corpus = generate(CorpusShape(**_SHAPES[shape]))
    warm = TrainingSettings(n_trees=1, threads=CORES)
    # Memory is allocated before the first tree: one tree takes as much as hundreds.
    StructuredGradientBoosting(plan, training=warm).fit(corpus if n_documents else corpus[:4])
    parts = [corpus.take(choose_sample(corpus, n).documents) for n in n_documents] or [corpus]
    settings = TrainingSettings(n_trees=n_trees, threads=CORES)
    learner = StructuredGradientBoosting(plan, training=settings)
    return {
        "shares": [part.n_candidates / corpus.n_candidates for part in parts],
        "seconds": [seconds_of(lambda p=part: learner.fit(p)) for part in parts],  # type: ignore[misc]
        "peak_mb": peak_mb(),
    }


def _large(model_path: str, document_path: str) -> dict[str, float]:
    import psutil

    from benchmarks.generated_corpus import CorpusShape, generate
    from benchmarks.measure import seconds_of
    from sgtb.boosting import Problems, StructuredGradientBoosting

    model = StructuredGradientBoosting.load(model_path)
    document = Problems.load(document_path)
    model.predict(generate(CorpusShape(n_documents=1, n_entities=200)))
    before = psutil.Process().memory_info().rss / 1e6
    seconds = seconds_of(lambda: model.decode(document))
    return {
        "mentions": document.n_mentions,
        "candidates": document.n_candidates // document.n_mentions,
        "n_trees": model.model.forest.n_trees,
        "seconds": seconds,
        "extra_mb": peak_mb() - before,
        "peak_rss_mb": peak_mb(),
    }


def _cold(model_path: str, document_path: str) -> dict[str, float]:
    begin = time.perf_counter()
    from sgtb.boosting import Problems, StructuredGradientBoosting

    StructuredGradientBoosting.load(model_path).predict(Problems.load(document_path))
    return {"seconds": time.perf_counter() - begin}


def peak_mb() -> float:
    """Return the peak memory of this process.

    On Linux, a child inherits its parent's ru_maxrss, here that of the benchmark;
    VmHWM is reset when the program starts.
    """
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024 / 1e6
    except OSError:
        pass
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


if __name__ == "__main__":
    task, *words = sys.argv[1:]
    if task == "train":
        print(json.dumps(_train(words[0], int(words[1]), words[2], [int(n) for n in words[3:]])))
    elif task == "large":
        print(json.dumps(_large(*words)))
    else:
        print(json.dumps(_cold(*words)))
