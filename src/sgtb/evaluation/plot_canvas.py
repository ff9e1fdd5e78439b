"""The canvas of all plots: one look, one width, and a PNG file with the same bytes every time.

Needs matplotlib, which `pip install sgtb[plot]` brings.
"""

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sgtb.core.errors import MissingExtraError
from sgtb.core.files import write_whole

if TYPE_CHECKING:
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
