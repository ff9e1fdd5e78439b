"""Plots of trust: drawn of any calibration and curve, the same every time."""

import numpy as np
import pytest

from sgtb.core.errors import SettingsError
from sgtb.evaluation import PrecisionRecall, calibration, nil_curve
from sgtb.evaluation.plots import nil_precision_recall, reliability

CONFIDENCE = np.array([0.1, 0.4, 0.4, 0.9, 0.95, 1.0])
RIGHT = np.array([0, 0, 1, 1, 1, 1], bool)
CURVE = nil_curve(CONFIDENCE, RIGHT, ~RIGHT)
NEVER = nil_curve(np.array([0.5, 0.6]), np.array([False, True]), np.array([True, False]))
EMPTY = calibration(np.zeros(0), np.zeros(0, bool))


def draw_reliability(path):
    one, other = calibration(CONFIDENCE, RIGHT), calibration(CONFIDENCE, ~RIGHT)
    reliability({"$one": one, "other": other, "silent": EMPTY}, path)


def draw_curves(path):
    own = {"one": PrecisionRecall(1, 2, 2), "other": PrecisionRecall(0, 0, 2)}
    nil_precision_recall({"one": CURVE, "other": NEVER}, own, path)


@pytest.mark.parametrize("draw", [draw_reliability, draw_curves])
def test_a_png_file_with_the_same_bytes_every_time(draw, tmp_path):
    draw(tmp_path / "one.png")
    draw(tmp_path / "other.png")
    data = (tmp_path / "one.png").read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    assert data == (tmp_path / "other.png").read_bytes()


def test_nothing_is_not_drawn(tmp_path):
    with pytest.raises(SettingsError, match="no calibration"):
        reliability({"silent": EMPTY}, tmp_path / "a.png")
    with pytest.raises(SettingsError, match="no curves"):
        nil_precision_recall({}, {}, tmp_path / "a.png")
