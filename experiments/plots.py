"""Plots of training and ablation, as PNG files: plain data in, the same bytes out every time.

Shares are given from 0 to 1, as by the metrics; the figures show percent.
Requires matplotlib: `pip install sgtb[plot]`.
"""

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sgtb.core.errors import SettingsError
from sgtb.evaluation.plots import COLOURS, GREY, INK, figure_file, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Check = tuple[int, float | None, float | None]
"""Trees, accuracy on train, accuracy on dev; None where it was not measured."""

_WORSE, _BETTER = "#56B4E9", "#E69F00"  # pale enough for whiskers to show on them
_TRAIN: dict[str, Any] = {"linewidth": 1.2, "linestyle": (0, (4, 2))}
_DEV: dict[str, Any] = {"linewidth": 2.2}
_DOT: dict[str, Any] = {"markersize": 7, "markeredgecolor": "white", "clip_on": False, "zorder": 3}
_LEADER: dict[str, Any] = {"linewidth": 1, "linestyle": ":", "clip_on": False, "zorder": 1}


def training_curves(curves: Mapping[str, Sequence[Check]], path: str | os.PathLike[str]) -> None:
    """Draw, per system, accuracy on dev (solid) and on train (dashed) against trees.

    A dot marks the best check on dev, the first of several, and the label gives its value.
    """
    series = [_series(name, checks) for name, checks in curves.items()]
    if not any(one.train or one.dev for one in series):
        raise SettingsError("there are no curves to draw: give at least one check with an accuracy")
    with figure_file(4.6, path) as figure:
        axes = figure.add_subplot()
        for i, one in enumerate(series):
            colour = COLOURS[i % len(COLOURS)]
            _line(axes, one.train, color=colour, alpha=0.75, **_TRAIN)
            _line(axes, one.dev, color=colour, **_DEV)
            if one.dev:
                axes.plot(*one.best, "o", color=colour, **_DOT)
        _label_ends(axes, series)
        _key(axes)
        axes.set_xlabel("trees")
        axes.set_ylabel("in-KB accuracy")
        axes.yaxis.set_major_formatter(lambda value, _: f"{plain(100 * value)}%")


def ablation(
    bars: Sequence[tuple[str, float, float]], reference: float, path: str | os.PathLike[str]
) -> None:
    """Draw the effect of removing each group of features on dev accuracy, the largest loss on top.

    bars       per group its name, the change of accuracy without it, and half the width of the
               change's interval: 0.002 is ± 0.2 points
    reference  the accuracy with all features
    """
    if not bars:
        raise SettingsError("there are no bars to draw: give at least one group of features")
    ordered = sorted(bars, key=lambda bar: (bar[1], bar[0]))
    names = [name for name, _, _ in ordered]
    changes = [100 * change for _, change, _ in ordered]
    errors = [100 * error for _, _, error in ordered]
    places = range(len(ordered))
    with figure_file(0.85 + 0.4 * len(ordered), path) as figure:
        axes = figure.add_subplot()
        axes.use_sticky_edges = False  # or else the axis ends at zero, where all bars are losses
        colours = [_WORSE if change < 0 else _BETTER for change in changes]
        axes.barh(places, changes, height=0.62, color=colours)
        axes.errorbar(
            changes, places, xerr=errors, fmt="none", ecolor=INK, elinewidth=1.2, capsize=3
        )
        axes.axvline(0, color=INK, linewidth=1)
        for place, change in zip(places, changes, strict=True):
            axes.annotate(
                _signed(change), (1, place), xycoords=axes.get_yaxis_transform(),
                xytext=(48, 0), textcoords="offset points", ha="right", va="center_baseline",
            )  # fmt: skip
        axes.set_yticks(places, names)
        axes.set_ylim(len(ordered) - 0.4, -0.6)
        axes.grid(axis="y", visible=False)
        axes.spines["left"].set_visible(False)
        axes.tick_params(axis="y", length=0)
        axes.xaxis.set_major_formatter(lambda value, _: plain(value))
        axes.set_xlabel(
            f"change of dev accuracy without the group, in points (all features: {reference:.1%})"
        )


@dataclass(frozen=True)
class _Series:
    """A system's curves as (trees, accuracy) points, without the gaps."""

    name: str
    train: list[tuple[int, float]]
    dev: list[tuple[int, float]]

    @property
    def best(self) -> tuple[int, float]:
        """The best point on dev, the first of several."""
        return max(self.dev, key=lambda point: point[1])

    @property
    def end(self) -> tuple[int, float] | None:
        """The point of the label."""
        points = self.dev or self.train
        return points[-1] if points else None

    @property
    def label(self) -> str:
        """The name, and the best accuracy on dev if there is one."""
        return f"{self.name}  {self.best[1]:.1%}" if self.dev else self.name


def _series(name: str, checks: Sequence[Check]) -> _Series:
    train = [(trees, y) for trees, y, _ in checks if y is not None and not math.isnan(y)]
    dev = [(trees, y) for trees, _, y in checks if y is not None and not math.isnan(y)]
    return _Series(name, train, dev)


def _line(axes: "Axes", points: list[tuple[int, float]], **look: Any) -> None:
    axes.plot([trees for trees, _ in points], [y for _, y in points], **look)


def _label_ends(axes: "Axes", series: Sequence[_Series]) -> None:
    """Write every label to the right of the axes, at the height of its curve's end if there is
    room, with a thin line between them.
    """
    low, high = axes.get_ylim()
    right = max(1, *(trees for one in series for trees, _ in (*one.train, *one.dev)))
    axes.set_ylim(low, high)
    axes.set_xlim(0, right)
    ends = [(i, one.end) for i, one in enumerate(series) if one.end is not None]
    heights = _spread([y for _, (_, y) in ends], 0.062 * (high - low))
    edge = 1.03 * right
    for (i, (trees, y)), height in zip(ends, heights, strict=True):
        colour = COLOURS[i % len(COLOURS)]
        axes.plot([trees, edge], [y, height], color=colour, **_LEADER)
        axes.annotate(
            series[i].label, (edge, height), xytext=(4, 0), textcoords="offset points",
            color=colour, va="center_baseline", annotation_clip=False,
        )  # fmt: skip


def _spread(heights: Sequence[float], gap: float) -> list[float]:
    """Move heights as little as possible, in squares, so that any two are a gap apart."""
    order = sorted(range(len(heights)), key=lambda i: heights[i])
    # Without the gaps, heights must not decrease: neighbours that do are averaged.
    blocks: list[tuple[float, int]] = []
    for rank, i in enumerate(order):
        mean, n = heights[i] - rank * gap, 1
        while blocks and blocks[-1][0] >= mean:
            other, m = blocks.pop()
            mean, n = (mean * n + other * m) / (n + m), n + m
        blocks.append((mean, n))
    moved = [mean for mean, n in blocks for _ in range(n)]
    spread = [0.0] * len(heights)
    for rank, i in enumerate(order):
        spread[i] = moved[rank] + rank * gap
    return spread


def _key(axes: "Axes") -> None:
    """Add a legend of the kinds of line, in grey: colours denote systems."""
    from matplotlib.lines import Line2D

    kinds = [
        Line2D([], [], color=GREY, label="train", **_TRAIN),
        Line2D([], [], color=GREY, label="dev", **_DEV),
        Line2D([], [], color=GREY, label="best on dev", linestyle="", marker="o", **_DOT),
    ]
    axes.legend(handles=kinds, loc="lower right", ncols=3, bbox_to_anchor=(1, 1), borderaxespad=0.2)


def _signed(points: float) -> str:
    """Return points with their sign, a true minus; zero has none."""
    text = f"{points:+.2f}".replace("-", "−")
    return "0.00" if text in ("+0.00", "−0.00") else text
