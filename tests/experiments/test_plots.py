"""Plots: PNG files, the same every time, whole or not at all."""

import math
import os
import struct
import sys
from itertools import pairwise

import matplotlib
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments import plots
from experiments.plots import ablation, training_curves
from sgtb.core.errors import MissingExtraError, SettingsError
from sgtb.evaluation import plots as canvas

CURVES = {
    "local": [(25, 0.7, 0.6), (50, 0.8, 0.7)],
    "bsg": [(25, None, 0.65), (50, 0.85, None), (75, 0.9, math.nan), (100, None, 0.75)],
    "untested": [(25, 0.5, None)],
    "empty": [],
}
BARS = [("priors", -0.05, 0.01), ("types", 0.001, 0.002), ("nothing", 0.0, 0.0)]


def draw_curves(path):
    training_curves(CURVES, path)


def draw_bars(path):
    ablation(BARS, 0.88, path)


DRAW = pytest.mark.parametrize("draw", [draw_curves, draw_bars])


@DRAW
def test_a_png_file_with_the_same_bytes_every_time(draw, tmp_path):
    one, other = tmp_path / "one.png", tmp_path / "other.png"
    draw(one)
    draw(str(other))
    data = one.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">I", data[16:20]) == (1280,)
    assert b"Software" not in data
    assert data == other.read_bytes()
    assert sorted(os.listdir(tmp_path)) == ["one.png", "other.png"]


@DRAW
def test_settings_of_the_user_neither_matter_nor_change(draw, tmp_path):
    plain, styled = tmp_path / "plain.png", tmp_path / "styled.png"
    draw(plain)
    with matplotlib.rc_context({"axes.facecolor": "black", "lines.linewidth": 9, "font.size": 3}):
        before = dict(matplotlib.rcParams)
        draw(styled)
        assert dict(matplotlib.rcParams) == before
    assert plain.read_bytes() == styled.read_bytes()


@DRAW
def test_an_old_picture_survives_a_failure(draw, tmp_path, monkeypatch):
    path = tmp_path / "old.png"
    path.write_bytes(b"old")

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        draw(path)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["old.png"]


@DRAW
def test_a_missing_folder_is_named(draw, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no folder .*nowhere"):
        draw(tmp_path / "nowhere" / "a.png")


@DRAW
def test_without_matplotlib_the_error_names_the_extra(draw, tmp_path, monkeypatch):
    for module in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=r"sgtb\[plot\]"):
        draw(tmp_path / "a.png")


def test_a_single_check_before_the_first_tree_is_drawn(tmp_path):
    training_curves({"a": [(0, 0.5, 0.5)]}, tmp_path / "a.png")
    assert (tmp_path / "a.png").exists()


def test_more_systems_than_colours_are_drawn(tmp_path):
    training_curves({f"$s{i}": [(1, 0.5, i / 10)] for i in range(10)}, tmp_path / "a.png")
    assert (tmp_path / "a.png").exists()


def test_nothing_is_not_drawn(tmp_path):
    for curves in ({}, {"a": []}, {"a": [(25, None, None)]}):
        with pytest.raises(SettingsError, match="no curves"):
            training_curves(curves, tmp_path / "a.png")
    with pytest.raises(SettingsError, match="no bars"):
        ablation([], 0.5, tmp_path / "a.png")


def test_the_order_of_bars_does_not_matter(tmp_path):
    ablation(BARS, 0.88, tmp_path / "a.png")
    ablation(BARS[::-1], 0.88, tmp_path / "b.png")
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


def test_the_first_of_several_best_checks_is_marked():
    series = plots._series("a", [(1, None, 0.5), (2, None, 0.75), (3, None, 0.75), (4, None, 0.7)])
    assert series.best == (2, 0.75)
    assert series.label == "a  75.0%"
    assert series.end == (4, 0.7)


@pytest.mark.parametrize(
    ("points", "text"),
    [(-1.234, "−1.23"), (0.5, "+0.50"), (0.0, "0.00"), (-0.004, "0.00"), (0.004, "0.00")],
)
def test_signs(points, text):
    assert plots._signed(points) == text


def test_numbers_on_axes():
    assert [canvas.plain(x) for x in (-0.5, -0.0, 80.00000000001, 1e-9)] == ["−0.5", "0", "80", "0"]


def test_labels_with_room_stay_and_crowded_ones_share_the_way():
    assert plots._spread([5.0, 1.0, 3.0], 1.0) == [5, 1, 3]
    assert plots._spread([1.0, 1.0], 1.0) == [0.5, 1.5]
    assert plots._spread([], 1.0) == []


@given(st.lists(st.integers(0, 20), max_size=8))
def test_labels_keep_their_order_and_their_distance(heights):
    spread = plots._spread([float(h) for h in heights], 1.0)
    order = sorted(range(len(heights)), key=lambda i: heights[i])
    ranked = [spread[i] for i in order]
    assert all(b - a >= 1 - 1e-9 for a, b in pairwise(ranked))
    assert sum(spread) == pytest.approx(sum(heights))
