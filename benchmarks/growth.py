"""Growth of training and decoding time with every size of the problem."""

import statistics
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.generated_corpus import CorpusShape, generate
from benchmarks.measure import CORES, fit_exponent, seconds_of
from sgtb.boosting import (
    Problems,
    SearchPlan,
    StructuredGradientBoosting,
    TrainingProgress,
    TrainingSettings,
)


@dataclass(frozen=True)
class Case:
    """One point of a curve."""

    problems: Problems
    n_trees: int
    beam_width: int = 4


@dataclass(frozen=True)
class Effort:
    """Extent of the measurements.

    documents, n_trees  where these do not vary
    most_mentions       of a document, where these vary
    """

    documents: int
    n_trees: int
    most_mentions: int
    repeats: int


@dataclass(frozen=True)
class Curve:
    """Seconds against one size; training counts the boosting only, not the binning before."""

    name: str
    sizes: tuple[int, ...]
    train_seconds: tuple[float, ...]
    decode_seconds: tuple[float, ...]


@dataclass(frozen=True)
class _Axis:
    name: str
    sizes: tuple[int, ...]
    case: Callable[[int], Case] = field(repr=False)


def measure_growth(effort: Effort) -> list[Curve]:
    """Train and decode along every axis."""
    return [_curve(axis, effort.repeats) for axis in _axes(effort)]


def exponents(curves: list[Curve]) -> dict[str, float]:
    """Return the fitted exponents of all curves, as train_<size> and decode_<size>."""
    fitted = {}
    for curve in curves:
        fitted[f"train_{curve.name}"] = fit_exponent(curve.sizes, curve.train_seconds)
        fitted[f"decode_{curve.name}"] = fit_exponent(curve.sizes, curve.decode_seconds)
    return fitted


def draw(curves: list[Curve], path: Path) -> None:
    """Draw all curves, each relative to its smallest size, to a PNG file."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4), layout="constrained")
    panels = figure.subplots(1, 2, sharex=True, sharey=True)
    for panel, side in zip(panels, ("train", "decode"), strict=True):
        for curve in curves:
            seconds = curve.train_seconds if side == "train" else curve.decode_seconds
            k = fit_exponent(curve.sizes, seconds)
            panel.loglog(
                [size / curve.sizes[0] for size in curve.sizes],
                [second / seconds[0] for second in seconds],
                marker="o", markersize=3, label=f"{_LABELS[curve.name]}: {k:.2f}",
            )  # fmt: skip
        panel.loglog([1, 16], [1, 16], color="grey", linestyle=":", label="linear")
        panel.set_title("training" if side == "train" else "decoding")
        panel.set_xlabel("size, relative to the smallest")
        panel.set_xticks([1, 2, 4, 8, 16], ["1", "2", "4", "8", "16"])
        panel.minorticks_off()
        panel.grid(alpha=0.3)
        panel.legend(fontsize="small", title="fitted exponent", title_fontsize="small")
    panels[0].set_ylabel("time, relative to the smallest")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=90)


_LABELS = {
    "documents": "documents",
    "trees": "trees",
    "mentions": "mentions per document",
    "candidates": "candidates per mention",
    "beam": "beam width",
}


def _axes(effort: Effort) -> list[_Axis]:
    n, trees = effort.documents, effort.n_trees
    corpus = generate(CorpusShape(n_documents=8 * n))
    usual = corpus[:n]

    def fixed(mentions: int, candidates: int) -> Problems:
        shape = CorpusShape(n_documents=n, fixed_mentions=mentions, fixed_candidates=candidates)
        return generate(shape)

    few = corpus[: n // 2]
    mentions = tuple(effort.most_mentions // k for k in (16, 8, 4, 2, 1))
    # The first trees find an empty cache: curves begin well after them.
    n_trees = (3 * trees, 6 * trees, 12 * trees, 24 * trees)
    return [
        _Axis("documents", (n, 2 * n, 4 * n, 8 * n), lambda size: Case(corpus[:size], trees)),
        _Axis("trees", n_trees, lambda size: Case(few, size)),
        _Axis("mentions", mentions, lambda size: Case(fixed(size, 11), trees)),
        # Sixteen candidates are processed at a time: fewer take as long as sixteen.
        _Axis("candidates", (4, 8, 16, 32, 64), lambda size: Case(fixed(20, size), trees)),
        _Axis("beam", (1, 2, 4, 8, 16), lambda size: Case(usual, trees, size)),
    ]


def _curve(axis: _Axis, repeats: int) -> Curve:
    """Measure all sizes in rounds, so that disturbances affect all of them."""
    cases = [axis.case(size) for size in axis.sizes]
    rounds = [[_time(case) for case in cases] for _ in range(repeats)]
    train, decode = (
        tuple(statistics.median(r[i][side] for r in rounds) for i in range(len(cases)))
        for side in (0, 1)
    )
    return Curve(axis.name, axis.sizes, train, decode)


def _time(case: Case) -> tuple[float, float]:
    """Return the seconds of boosting and of decoding."""
    training = TrainingSettings(n_trees=case.n_trees, threads=CORES)
    model = StructuredGradientBoosting(SearchPlan("bsg", case.beam_width), training=training)
    boosting = 0.0

    def listen(progress: TrainingProgress) -> None:
        nonlocal boosting
        boosting = progress.seconds

    model.fit(case.problems, callbacks=[listen])
    model.predict(case.problems[:1])  # the first use prepares the model
    return boosting, statistics.median(
        seconds_of(lambda: model.predict(case.problems)) for _ in range(3)
    )
