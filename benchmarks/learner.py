"""Benchmark of the learner: compared with the naive twin and LightGBM; growth, memory.

    python -m benchmarks.learner            a table
    python -m benchmarks.learner --json     one JSON object
    python -m benchmarks.learner --quick    in less than a minute, on smaller samples

Everything is measured in this one run, on the generated AIDA-shaped corpus, with two
cores for either side.
"""

import json
import statistics
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from benchmarks.fresh import cold_start, large_document, train
from benchmarks.generated_corpus import CorpusShape, generate
from benchmarks.growth import Effort, draw, exponents, measure_growth
from benchmarks.machine import machine
from benchmarks.measure import CORES, median_seconds, rounded, seconds_of
from benchmarks.naive_timing import Task, time_naive_twin
from benchmarks.sample import choose_sample
from benchmarks.table import print_table
from benchmarks.trees import Rows, collected_rows, compare
from sgtb.boosting import SearchPlan, StructuredGradientBoosting, TrainingSettings
from sgtb.boosting.data.problems import Problems

PLAN = SearchPlan("bsg", beam_width=4)
N_TREES = 250
BIBSG_TREES = 500

_talk = Console(stderr=True, highlight=False)
_BEGIN = time.perf_counter()


@dataclass(frozen=True)
class Extent:
    """Extent of the measurements.

    corpus_share     part of the corpus that the comparison with the twin is made on
    naive_documents  documents, and epochs, of the twin's sample
    collected_after  trees before the epoch whose rows a tree is grown from
    fresh_documents  parts of the corpus that fresh processes train on; none: all of it
    """

    quick: bool
    corpus_share: float
    fits: int
    decodes: int
    naive_documents: int
    naive_epochs: tuple[int, ...]
    collected_after: int
    tree_batches: int
    growth: Effort
    fresh_documents: tuple[int, ...]
    cold_starts: int


FULL = Extent(
    False, 1.0, 3, 7, 32, (1, 10, 50, 125, N_TREES - 1), 125, 12, Effort(80, 40, 160, 3),
    (), 5,
)  # fmt: skip
QUICK = Extent(
    True, 0.2, 1, 3, 6, (1, 20, 80), 2, 4, Effort(20, 16, 64, 1), (15, 45), 2
)  # fmt: skip


def measure(extent: Extent, figure: Path | None = None) -> dict[str, Any]:
    """Measure everything and return it as one record, ready for JSON."""
    corpus = generate()
    _warm_up(corpus)
    _say("training and decoding ...")
    rows = collected_rows(corpus, PLAN, extent.collected_after)
    compared, model = _against_naive_twin(corpus, rows, extent)
    _say("growing trees, LightGBM ...")
    trees = compare(rows, extent.tree_batches)
    _say("growth ...")
    curves = measure_growth(extent.growth)
    if figure is not None:
        draw(curves, figure)
        _say(f"wrote {figure}")
    _say("memory, cold start ...")
    result = compared | {
        "tree_vs_lightgbm_ratio": trees.lightgbm_seconds / trees.sgtb_seconds,
        "exponents": exponents(curves),
        **_fresh_processes(model, corpus, extent),
        "tree": asdict(trees),
        "growth": {c.name: asdict(c) for c in curves},
        "quick": extent.quick,
        "machine": machine(cores_used=CORES),
        "benchmark_seconds": time.perf_counter() - _BEGIN,
    }
    ordered: dict[str, Any] = rounded({key: result[key] for key in sorted(result, key=_rank)})
    return ordered


def _say(what: str) -> None:
    _talk.print(f"{time.perf_counter() - _BEGIN:6.1f} s  {what}")


def _warm_up(corpus: Problems) -> None:
    _say("warming up ...")
    for threads in (1, CORES):
        _learner(2, threads).fit(corpus[:4]).predict(corpus[:4])


def _learner(n_trees: int, threads: int = CORES) -> StructuredGradientBoosting:
    return StructuredGradientBoosting(PLAN, training=TrainingSettings(n_trees, threads=threads))


def _against_naive_twin(
    corpus: Problems, rows: Rows, extent: Extent
) -> tuple[dict[str, Any], StructuredGradientBoosting]:
    """Train and decode, ours and the twin's; ours before and after the twin's."""
    problems = corpus
    if extent.corpus_share < 1:
        n = round(extent.corpus_share * len(corpus))
        problems = corpus.take(choose_sample(corpus, n).documents)
    share = problems.n_candidates / corpus.n_candidates
    model = _learner(N_TREES)
    fits = [seconds_of(lambda: model.fit(problems))]
    choices = model.predict(problems)
    _say("the naive twin ...")
    task = Task(problems, model.model.forest, PLAN, extent.naive_documents, extent.naive_epochs)
    n_rows = round(share * len(rows.x))
    n_features = len(rows.n_bins)
    training, decoding = time_naive_twin(
        task, rows.x[:n_rows, :n_features], rows.residuals[:n_rows], choices
    )
    _say("training and decoding ...")
    fits += [seconds_of(lambda: model.fit(problems)) for _ in range(extent.fits - 1)]
    ours = statistics.median(fits)
    both = median_seconds(lambda: model.predict(problems), extent.decodes)
    model.set_params(training__threads=1)
    alone = median_seconds(lambda: model.predict(problems), extent.decodes)
    model.set_params(training__threads=CORES)
    return {
        "bsg_train_ratio": training.seconds / ours,
        "bsg_train_ratio_remembering": training.seconds_remembering / ours,
        "decode_ratio": decoding.seconds / both,
        "decode_docs_per_second_per_core": len(problems) / alone,
        "decode_docs_per_second": len(problems) / both,
        "bsg_seconds": ours / share,
        "train_comparison": {
            "documents": len(problems), "mentions": problems.n_mentions,
            "candidates": problems.n_candidates, "n_trees": N_TREES,
            "beam_width": PLAN.beam_width, "sgtb_seconds": ours, "sgtb_fits": len(fits),
            "share_of_corpus": share, "naive": asdict(training),
        },
        "decode_comparison": {
            "sgtb_seconds": both, "sgtb_seconds_one_thread": alone,
            "sgtb_repeats": extent.decodes, "naive": asdict(decoding),
        },
    }, model  # fmt: skip


def _fresh_processes(
    model: StructuredGradientBoosting, corpus: Problems, extent: Extent
) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        stored, one, large = (Path(folder) / name for name in ("model", "one", "large"))
        model.save(stored)
        corpus[:1].save(one)
        generate(CorpusShape.huge_document()).save(large)
        cold = cold_start(stored, one, extent.cold_starts)
        huge = large_document(stored, large)
    runs = {
        plan: train(plan, n_trees, extent.fresh_documents)
        for plan, n_trees in (("local", N_TREES), ("bsg", N_TREES), ("bibsg", BIBSG_TREES))
    }
    return {
        "peak_rss_mb": runs["bsg"].peak_rss_mb,
        "bibsg_peak_rss_mb": runs["bibsg"].peak_rss_mb,
        "bibsg_seconds": runs["bibsg"].seconds,
        "local_seconds": runs["local"].seconds,
        "cold_start_seconds": cold.seconds,
        "cold_start": asdict(cold),
        "large_document": asdict(huge),
        "fresh_trainings": {plan: asdict(run) for plan, run in runs.items()},
    }


def _rank(key: str) -> int:
    """Put plain numbers first, then what they were computed from."""
    details = ("train_comparison", "decode_comparison", "tree", "growth", "fresh_trainings")
    return 1 + details.index(key) if key in details else 0


def main(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Take less than a minute.")] = False,
    figure: Annotated[Path | None, typer.Option(help="Draw the growth curves here.")] = None,
) -> None:
    """Measure the learner against the naive twin and LightGBM."""
    result = measure(QUICK if quick else FULL, figure)
    if as_json:
        print(json.dumps(result, indent=2))
    else:
        print_table(result, Console())


if __name__ == "__main__":
    typer.run(main)
