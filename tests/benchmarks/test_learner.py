"""The benchmarks: what they compute from timings, never the timings themselves."""

import numpy as np
import pytest

from benchmarks import child, learner  # noqa: F401  (all modules import)
from benchmarks.fresh import whole_from_parts
from benchmarks.generated_corpus import CorpusShape, generate
from benchmarks.growth import Curve, draw, exponents
from benchmarks.measure import (
    Line,
    fit_exponent,
    fit_line,
    interpolated_total,
    rounded,
    side_by_side,
)
from benchmarks.naive import decode, documents_of, score_row
from benchmarks.naive_timing import plain_total, remembering_total, sklearn_trees
from benchmarks.sample import choose_sample
from benchmarks.table import lines_of, notes_of
from benchmarks.trees import predict
from sgtb.boosting import SearchPlan, StructuredGradientBoosting, TrainingSettings
from sgtb.boosting.trees.grower import Tree


@pytest.mark.parametrize("power", [0.0, 1.0, 1.5, 2.0])
def test_exponent_of_a_power_law(power):
    sizes = [5, 10, 20, 40]
    assert fit_exponent(sizes, [0.3 * size**power for size in sizes]) == pytest.approx(power)


def test_line_through_points_on_it():
    line = fit_line([0, 10, 50], [2.0, 7.0, 27.0])
    assert line == pytest.approx((2.0, 0.5))
    assert fit_line([7], [3.0]) == Line(3.0, 0.0)


def test_line_total_is_the_sum_over_epochs():
    assert Line(2.0, 0.5).total(4) == pytest.approx(2.0 + 2.5 + 3.0 + 3.5)


def test_interpolated_total():
    assert interpolated_total([1, 3], [10.0, 20.0], 1, 3) == pytest.approx(45.0)
    assert interpolated_total([1, 3], [10.0, 20.0], 1, 5) == pytest.approx(85.0)  # level outside


def test_plain_total_scales_epochs_but_not_tree_fits():
    # Epochs of 1, 2 and 3 seconds on a tenth of the documents, and three trees of 5 seconds.
    assert plain_total(Line(1.0, 1.0), 10.0, 3, 5.0) == pytest.approx(10 * 6 + 15)


def test_remembering_total_counts_the_first_epoch_in_full():
    # Epoch 0 has nothing to remember and takes 4 seconds; 1 and 2 were measured.
    total = remembering_total(4.0, [1, 2], [2.0, 1.0], 10.0, 3, 5.0)
    assert total == pytest.approx(10 * (4 + 2 + 1) + 15)


def test_whole_from_parts_follows_the_line():
    assert whole_from_parts([0.1, 0.3], [1.5, 2.5]) == pytest.approx(6.0)


def test_sample_is_typical_and_its_scale_right():
    problems = generate(CorpusShape(n_documents=200, n_local=2, n_entities=500))
    sample = choose_sample(problems, 20)
    taken = problems.take(sample.documents)
    assert len(set(sample.documents.tolist())) == 20
    assert sample.scale == pytest.approx(problems.n_candidates / taken.n_candidates)
    assert 9 < sample.scale < 11
    assert 8 < sample.history_scale < 12.5


def test_sample_of_equal_documents_scales_by_their_number():
    shape = CorpusShape(
        n_documents=12, fixed_mentions=3, fixed_candidates=4, n_local=2, n_entities=200
    )
    sample = choose_sample(generate(shape), 4)
    assert (sample.scale, sample.history_scale) == (3.0, 3.0)


def test_sklearn_trees_are_our_trees():
    problems = generate(CorpusShape.tiny())
    model = StructuredGradientBoosting(training=TrainingSettings(n_trees=6, threads=1))
    forest = model.fit(problems).model.forest
    n_features = problems.n_local + 2 * problems.n_pair
    trees = sklearn_trees(forest, n_features)
    rows = np.random.default_rng(0).standard_normal((50, n_features)).astype(np.float32)
    theirs = [score_row(trees, row) for row in rows.tolist()]
    assert theirs == pytest.approx(forest.predict(rows).tolist())

    plan = SearchPlan("bsg", 4)
    decoded = [decode(d, plan, lambda row: score_row(trees, row)) for d in documents_of(problems)]
    choices = [choice for document in decoded for choice in document.choices]
    assert choices == model.predict(problems).tolist()


def test_side_by_side_returns_in_order():
    assert side_by_side(lambda i: 10 * i) == [0, 10]


def test_tree_prediction_on_bins():
    tree = Tree(
        np.array([1, -1, 0, -1, -1], np.int32), np.array([3, 0, 7, 0, 0], np.uint8),
        np.array([1, 0, 3, 0, 0], np.int32), np.array([0.0, 1.0, 0.0, 2.0, 3.0]),
    )  # fmt: skip
    x = np.array([[0, 3], [7, 4], [8, 4]], np.uint8)
    assert predict(tree, x).tolist() == [1.0, 2.0, 3.0]


def test_exponents_are_named_by_side_and_size():
    curve = Curve("documents", (1, 2, 4, 8), (1.0, 2.0, 4.0, 8.0), (1.0, 4.0, 16.0, 64.0))
    assert exponents([curve]) == pytest.approx({"train_documents": 1.0, "decode_documents": 2.0})


def test_figure_is_a_small_png(tmp_path):
    path = tmp_path / "docs" / "growth.png"
    draw([Curve("beam", (1, 2, 4, 8), (1.0, 2.0, 3.0, 4.0), (1.0, 1.5, 2.0, 2.5))], path)
    assert path.read_bytes().startswith(b"\x89PNG")
    assert path.stat().st_size < 100_000


def test_rounded_keeps_four_digits():
    assert rounded({"a": [1.23456, 7], "b": (123456.0, "x", True)}) == {
        "a": [1.235, 7],
        "b": [123500.0, "x", True],
    }


def test_table_marks_what_was_missed():
    lines = {line.label: line for line in lines_of(_result())}
    assert lines["bsg training, naive twin / ours"].met is True
    assert lines["one tree, LightGBM / ours"].met is False
    assert lines["decoding, one core"].met is None
    assert lines["exponent, train by documents"].value == 1.0


def test_notes_say_what_was_sampled():
    notes = " ".join(notes_of(_result()))
    assert "48 of 946 documents" in notes
    assert "epochs 1, 249" in notes
    assert "Quick" not in notes
    quick = _result()
    quick["fresh_trainings"]["bibsg"]["shares_of_corpus"] = [0.02, 0.05]
    assert "2.0% and 5.0% of the corpus" in notes_of(quick)[-1]


def _result():
    return {
        "bsg_train_ratio": 2000.0, "bsg_train_ratio_remembering": 100.0, "decode_ratio": 400.0,
        "tree_vs_lightgbm_ratio": 0.9, "decode_docs_per_second_per_core": 500.0,
        "decode_docs_per_second": 900.0, "local_seconds": 2.0, "bsg_seconds": 7.0,
        "bibsg_seconds": 40.0, "peak_rss_mb": 300.0, "bibsg_peak_rss_mb": 400.0,
        "cold_start_seconds": 0.9, "large_document": {"seconds": 1.0, "extra_mb": 4.0},
        "exponents": {"train_documents": 1.0}, "quick": False,
        "train_comparison": {
            "share_of_corpus": 1.0,
            "naive": {
                "processes": 2, "sampled_documents": 48, "documents": 946, "epochs": [1, 249],
                "scale": 19.7, "seconds": 20_000.0, "formula": "...",
            },
        },
        "decode_comparison": {"naive": {"agreement": 1.0}},
        "tree": {
            "depth": 3, "bins": 255, "rows": 80_000, "features": 50, "sgtb_seconds": 0.006,
            "lightgbm_seconds": 0.005, "lightgbm_best_variant": "default", "meaning": "...",
        },
        "fresh_trainings": {"bibsg": {"shares_of_corpus": [1.0]}},
    }  # fmt: skip
