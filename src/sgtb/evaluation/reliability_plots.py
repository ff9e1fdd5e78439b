"""Plots of reliability and of NIL precision and recall, as PNG files.

Needs matplotlib, which `pip install sgtb[plot]` brings.
"""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from sgtb.core.errors import SettingsError
from sgtb.evaluation.metrics import PrecisionRecall
from sgtb.evaluation.nil_scores import NilCurve
from sgtb.evaluation.plot_canvas import COLOURS, GREY, INK, figure_file, plain
from sgtb.evaluation.reliability import Calibration

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_DOT: dict[str, Any] = {"markersize": 7, "markeredgecolor": "white", "clip_on": False, "zorder": 3}
_DIAGONAL: dict[str, Any] = {"color": GREY, "linewidth": 1.2, "linestyle": (0, (4, 2))}


def reliability(systems: Mapping[str, Calibration], path: str | os.PathLike[str]) -> None:
    """Draw accuracy against confidence, per system and bin.

    On the dashed line confidences are exact. The lower plot has the share of answers in each bin.
    """
    shown = {name: one for name, one in systems.items() if one.n}
    if not shown:
        raise SettingsError("there is no calibration to draw: give at least one answer")
    with figure_file(5.6, path) as figure:
        above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3.2, 1))
        above.plot([0, 1], [0, 1], **_DIAGONAL)
        for i, (name, one) in enumerate(shown.items()):
            colour = COLOURS[i % len(COLOURS)]
            filled = [bin for bin in one.bins if bin.n]
            above.plot(
                [bin.confidence for bin in filled], [bin.accuracy for bin in filled], "o-",
                color=colour, linewidth=2, label=f"{name}  ECE {one.ece:.3f}", **_DOT,
            )  # fmt: skip
            # Side by side within each bin, so that no system hides another.
            width = 0.9 / len(one.bins) / len(shown)
            middles = [(bin.low + bin.high) / 2 for bin in one.bins]
            places = np.array(middles) + (i - (len(shown) - 1) / 2) * width
            below.bar(places, [bin.n / one.n for bin in one.bins], width, color=colour)
        above.set_xlim(0, 1)
        above.set_ylim(0, 1)
        above.set_ylabel("answers that are right")
        above.legend(loc="best")
        below.set_ylabel("of all answers")
        below.set_xlabel("confidence")
        _in_percent(above, below)


def nil_precision_recall(
    curves: Mapping[str, NilCurve],
    chosen: Mapping[str, PrecisionRecall],
    path: str | os.PathLike[str],
) -> None:
    """Draw precision against recall of NIL, as a threshold on the confidence moves.

    A dot marks the best F1, a cross what the system's own rule reaches.
    """
    if not curves:
        raise SettingsError("there are no curves to draw: give at least one system")
    with figure_file(4.6, path) as figure:
        axes = figure.add_subplot()
        for i, (name, curve) in enumerate(curves.items()):
            colour = COLOURS[i % len(COLOURS)]
            best = curve.best
            defined = ~np.isnan(curve.precision)
            label = f"{name}  best F1 {curve.f1[best]:.1%}"
            axes.plot(
                curve.recall[defined],
                curve.precision[defined],
                color=colour,
                linewidth=2,
                label=label,
            )
            if curve.f1[best] > 0:
                axes.plot(curve.recall[best], curve.precision[best], "o", color=colour, **_DOT)
            own = chosen.get(name)
            if own is not None and own.predicted and own.gold:
                axes.plot(
                    own.recall, own.precision, "X", color=colour, markersize=10,
                    markeredgecolor=INK, clip_on=False, zorder=4,
                )  # fmt: skip
        axes.set_xlim(0, 1)
        axes.set_ylim(0, 1)
        axes.set_xlabel("recall of NIL")
        axes.set_ylabel("precision of NIL")
        axes.legend(handles=[*axes.get_legend_handles_labels()[0], *_marks()], loc="lower left")
        _in_percent(axes)


def _marks() -> list[Any]:
    """Return the legend of dot and cross, in grey: colours stand for systems."""
    from matplotlib.lines import Line2D

    grey: dict[str, Any] = {"color": GREY, "linestyle": ""}
    return [
        Line2D([], [], marker="o", label="best F1", **grey, **_DOT),
        Line2D([], [], marker="X", markersize=10, label="the system's own rule", **grey),
    ]


def _in_percent(*all_axes: "Axes") -> None:
    for axes in all_axes:
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(lambda value, _: f"{plain(100 * value)}%")
