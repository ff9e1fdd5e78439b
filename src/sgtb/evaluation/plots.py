"""Plots as PNG files: one look and one width; reliability, precision and recall of NIL.

Needs matplotlib, which `pip install sgtb[plot]` brings.
"""

import io
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from sgtb.core.errors import MissingExtraError, SettingsError
from sgtb.core.files import write_whole
from sgtb.evaluation.metrics import NilCurve, PrecisionRecall
from sgtb.evaluation.reliability import Calibration

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours, which people with any kind of colour vision tell apart; the pale ones,
# weak on white, come last.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#E69F00", "#56B4E9")
INK, GREY = "#222222", "#767676"
_LOOK = {
    "font.family": "DejaVu Sans",  # comes with matplotlib: the same letters everywhere
    "font.size": 11,
    "text.parse_math": False,  # a dollar in a name is a dollar
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.labelpad": 7,
    "axes.edgecolor": GREY,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#E3E3E3",
    "grid.linewidth": 0.8,
    "xtick.color": GREY,
    "xtick.labelcolor": INK,
    "ytick.color": GREY,
    "ytick.labelcolor": INK,
    "legend.frameon": False,
}
_WIDTH, _DPI = 8.0, 160  # 1,280 pixels: sharp at the 830 or so of a README


def plain(value: float) -> str:
    """Return a number as an axis shows it, with a true minus."""
    return f"{round(value, 6) + 0.0:g}".replace("-", "−")


@contextmanager
def figure_file(height: float, path: str | os.PathLike[str]) -> Iterator["Figure"]:
    """Give a figure to draw on, and write it when all is drawn.

    `_LOOK` replaces the matplotlib settings of the user meanwhile.
    """
    try:
        from matplotlib import style
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError(
            "plots need matplotlib, which is not installed: pip install 'sgtb[plot]'"
        ) from error
    with style.context(_LOOK, after_reset=True):
        figure = Figure(figsize=(_WIDTH, height), layout="constrained")
        FigureCanvasAgg(figure)
        yield figure
        data = io.BytesIO()
        # Without the version of matplotlib in it, equal pictures are equal files.
        figure.savefig(data, format="png", dpi=_DPI, metadata={"Software": None})
    write_whole(path, data.getvalue())


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
        above.set(xlim=(0, 1), ylim=(0, 1), ylabel="answers that are right")
        above.legend(loc="best")
        below.set(xlabel="confidence", ylabel="of all answers")
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
        from matplotlib.lines import Line2D

        axes = figure.add_subplot()
        for i, (name, curve) in enumerate(curves.items()):
            colour = COLOURS[i % len(COLOURS)]
            best = curve.best
            defined = ~np.isnan(curve.precision)
            label = f"{name}  best F1 {curve.f1[best]:.1%}"
            recall, precision = curve.recall[defined], curve.precision[defined]
            axes.plot(recall, precision, color=colour, linewidth=2, label=label)
            if curve.f1[best] > 0:
                axes.plot(curve.recall[best], curve.precision[best], "o", color=colour, **_DOT)
            own = chosen.get(name)
            if own is not None and own.predicted and own.gold:
                axes.plot(
                    own.recall, own.precision, "X", color=colour, markersize=10,
                    markeredgecolor=INK, clip_on=False, zorder=4,
                )  # fmt: skip
        axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="recall of NIL", ylabel="precision of NIL")
        grey: dict[str, Any] = {"color": GREY, "linestyle": ""}  # colours stand for systems
        marks = [
            Line2D([], [], marker="o", label="best F1", **grey, **_DOT),
            Line2D([], [], marker="X", markersize=10, label="the system's own rule", **grey),
        ]
        axes.legend(handles=[*axes.get_legend_handles_labels()[0], *marks], loc="lower left")
        _in_percent(axes)


def _in_percent(*all_axes: "Axes") -> None:
    for axes in all_axes:
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(lambda value, _: f"{plain(100 * value)}%")
