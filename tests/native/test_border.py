"""The border of the compiled core: every argument is checked, and errors name it."""

import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sgtb import native
from sgtb.boosting import SearchPlan
from sgtb.core.ragged import Ragged
from sgtb.linking.features.ranker import TAG_OPTIMIZER
from sgtb.native import add_rows, best_split, bin_rows, learn_tags, pack_rows, partition
from tests.helpers.problem_builders import estimator, random_problems

N, F, BORDERS = 5, 3, 255


@pytest.fixture
def binned() -> dict[str, Any]:
    """Arguments of `bin_rows`."""
    rng = np.random.default_rng(0)
    return {
        "values": rng.normal(size=(N, F)).astype(np.float32),
        "thresholds": np.sort(rng.normal(size=(F, BORDERS)).astype(np.float32)),
        "out": np.zeros((N, F), np.uint8),
    }


def misaligned(array):
    room = np.zeros(array.nbytes + 1, np.uint8)
    return room[1:].view(array.dtype).reshape(array.shape)


def read_only(array):
    array = array.copy()
    array.flags.writeable = False
    return array


def test_good_arguments_are_taken(binned):
    bin_rows(*binned.values())
    pairs = zip(binned["thresholds"], binned["values"].T, strict=True)
    expected = [np.searchsorted(t, v) for t, v in pairs]
    np.testing.assert_array_equal(binned["out"], np.transpose(expected))
    binned["values"] = read_only(binned["values"])
    bin_rows(*binned.values())


@pytest.mark.parametrize(
    ("name", "change", "complaint"),
    [
        ("values", lambda a: a.astype(np.float64), "a 2-dimensional array of float32 is needed"),
        ("values", lambda a: a.view(np.int32), "a 2-dimensional array of float32 is needed"),
        ("values", lambda a: a.astype(">f4"), "a 2-dimensional array of float32 is needed"),
        ("values", lambda a: a[0], "a 2-dimensional array of float32 is needed"),
        ("values", lambda a: a[:, None], "a 2-dimensional array of float32 is needed"),
        ("values", lambda a: a[::2], "a C-contiguous array is needed"),
        ("values", lambda a: np.asfortranarray(a), "a C-contiguous array is needed"),
        ("values", lambda a: a[:, :2], "a C-contiguous array is needed"),
        ("values", misaligned, "an aligned array is needed"),
        ("values", lambda a: a.tolist(), "a C-contiguous array is needed"),
        ("values", lambda a: None, "a C-contiguous array is needed"),
        ("values", lambda a: b"bytes", "a 2-dimensional array of float32 is needed"),
        ("out", read_only, "a writable C-contiguous array is needed"),
        ("out", lambda a: bytes(15), "a writable C-contiguous array is needed"),
        ("out", lambda a: a.astype(np.int8), "a 2-dimensional array of uint8 is needed"),
    ],
)  # fmt: skip
def test_arrays_of_another_kind_are_refused(binned, name, change, complaint):
    binned[name] = change(binned[name])
    with pytest.raises(TypeError, match=f"^{name}: {complaint}$"):
        bin_rows(*binned.values())


@pytest.mark.parametrize(
    ("name", "shape", "complaint"),
    [
        ("thresholds", (F + 1, BORDERS), "length 4, expected 3"),
        ("thresholds", (F, BORDERS - 1), "length 254, expected 255"),
        ("out", (N - 1, F), "length 4, expected 5"),
        ("out", (0, F), "length 0, expected 5"),
        ("out", (N, F + 1), "length 4, expected 3"),
    ],
)
def test_arrays_of_another_length_are_refused(binned, name, shape, complaint):
    binned[name] = np.zeros(shape, binned[name].dtype)
    with pytest.raises(ValueError, match=f"^{name}: {complaint}$"):
        bin_rows(*binned.values())


@pytest.mark.parametrize("row", [-1, N, 2**31 - 1, -(2**31)])
def test_indices_out_of_range_are_refused(row):
    rows, out = np.array([0, row, 1], np.int32), np.zeros(N, np.int64)
    with pytest.raises(ValueError, match=f"^rows: {row} is outside 0..4$"):
        pack_rows(np.zeros(3), rows, 1.0, 8, out)
    assert not out.any(), "nothing is written before everything is checked"


@pytest.mark.parametrize("residual", [np.nan, -np.inf, 1e300])
def test_residuals_that_do_not_fit_are_refused(residual):
    rows, out = np.arange(2, dtype=np.int32), np.zeros(2, np.int64)
    with pytest.raises(ValueError, match=r"^residuals: a value is not finite, or too large"):
        pack_rows(np.array([1.0, residual]), rows, 1.0, 8, out)
    assert not out.any()


def test_sums_of_histograms_wrap():
    """Packed words of any size are added as numpy adds them."""
    packed = np.array([2**63 - 1, 2**62, 5])
    for n_features in (1, 8):
        histogram = np.zeros((n_features, 256), np.int64)
        rows = np.arange(3, dtype=np.int32)
        add_rows(np.zeros((3, 8), np.uint8), n_features, packed, rows, histogram.reshape(-1))
        assert (histogram[:, 0] == packed.sum()).all()
    histogram[:, :3] = packed
    best_split(histogram, np.full(8, 200, np.int32), 8, 1, 0.0, 0.0)


@pytest.mark.parametrize("offsets", [[0, 3, 2, 4], [1, 2, 3, 4], [0, 1, 2, 5], [0, 9, 9, 4]])
def test_offsets_that_do_not_hold_together_are_refused(offsets):
    arguments = (
        0, 3, np.array(offsets, np.int32), np.arange(4), np.zeros((4, 1), np.float32),
        np.zeros((1, BORDERS), np.float32), np.ones(1, np.int32), np.zeros((16, 16), np.uint8),
    )  # fmt: skip
    with pytest.raises(ValueError, match=r"^candidate_offsets: "):
        native.bin_blocks(*arguments)


@pytest.mark.parametrize(
    "offsets", [[2**60, 2**60 + 1], [-1, 0], [-(2**63), 2**63 - 1], [2**63 - 1, -(2**63)]]
)
def test_offsets_that_would_overflow_are_refused(offsets):
    arguments = (
        0, 1, np.array([0, 1], np.int32), np.array(offsets), np.zeros((1, 16), np.float32),
        np.zeros((16, BORDERS), np.float32), np.ones(16, np.int32), np.zeros((16, 16), np.uint8),
    )  # fmt: skip
    with pytest.raises(ValueError, match=r"^block_offsets: "):
        native.bin_blocks(*arguments)


@pytest.mark.parametrize(
    ("number", "complaint"),
    [
        (1.5, "a whole number is needed"), ("1", "a whole number is needed"),
        (None, "a whole number is needed"), (2**63, "a whole number is needed"),
    ],
)  # fmt: skip
def test_numbers_of_another_kind_are_refused(number, complaint):
    x, rows = np.zeros((N, 8), np.uint8), np.arange(N, dtype=np.int32)
    with pytest.raises(TypeError, match=f"^stop: {complaint}$"):
        partition(x, rows, 0, number, 0, 0)
    with pytest.raises(TypeError, match=r"^scale: a number is needed$"):
        pack_rows(np.zeros(1), np.zeros(1, np.int32), "much", 8, np.zeros(1, np.int64))


def test_numbers_of_numpy_are_taken():
    x, rows = np.zeros((N, 8), np.uint8), np.arange(N, dtype=np.int32)
    partition(x, rows, np.int64(0), np.int32(N), np.uint8(0), np.int64(0))


def test_the_number_of_arguments_is_checked(binned):
    with pytest.raises(TypeError, match=r"^bin_rows: 3 arguments are needed, 2 given$"):
        bin_rows(binned["values"], binned["thresholds"])


def test_fields_are_named_with_their_record():
    with pytest.raises(TypeError, match=r"^pairs\.\w+: is missing$"):
        native.pool_gold_paths(np.zeros(0, np.int32), SimpleNamespace(), *[None] * 6)


def test_objects_of_another_type_are_refused():
    with pytest.raises(TypeError, match=r"^collector: an object of another type$"):
        native.list_points(object(), np.zeros((0, 8), np.uint8), np.zeros(0))


def test_a_refused_array_is_given_back(binned):
    """A buffer that is still held could not be resized."""
    values = binned["values"]
    with pytest.raises(ValueError, match="out"):
        bin_rows(values, binned["thresholds"], np.zeros((1, F), np.uint8))
    bin_rows(values, binned["thresholds"], binned["out"])
    values.resize((1, 1), refcheck=False)


def test_eight_threads_at_once():
    problems = random_problems(np.random.default_rng(3), n_documents=40, max_mentions=8)
    fitted = estimator(SearchPlan("bsg", 4), n_trees=20).fit(problems)
    expected = fitted.decode(problems, n_best=3)
    start = threading.Barrier(8)

    def decode(_):
        start.wait()
        return [fitted.decode(problems, n_best=3) for _ in range(5)]

    with ThreadPoolExecutor(8) as pool:
        for found in (one for some in pool.map(decode, range(8)) for one in some):
            assert found.probability.tobytes() == expected.probability.tobytes()
            assert found.sequences.tobytes() == expected.sequences.tobytes()


def test_the_gil_is_released():
    """Another thread goes on while a kernel runs."""
    stop, steps = threading.Event(), []

    def count():
        while not stop.is_set():
            steps.append(time.perf_counter())
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    begin = time.perf_counter()
    long_call(400_000)
    end = time.perf_counter()
    stop.set()
    thread.join()
    assert sum(begin < at < end for at in steps) > 2


def long_call(n: int) -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=(n, 8)).astype(np.float32)
    thresholds = np.sort(rng.normal(size=(8, BORDERS)).astype(np.float32))
    bin_rows(values, thresholds, np.zeros(values.shape, np.uint8))


@pytest.mark.skipif(os.name == "nt", reason="no signals")
def test_ctrl_c_ends_a_long_call(request):
    """So many steps of training would take minutes."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in background jobs
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, before))
    clues = Ragged(np.array([0, 10_000]), np.zeros(10_000, np.uint32))
    tags, order = np.zeros(1, np.int32), np.zeros(1_000_000, np.int64)
    weights, seen = np.zeros((2, 1, 4))
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    start = time.perf_counter()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        learn_tags(clues, tags, order, TAG_OPTIMIZER, weights, seen)
    assert time.perf_counter() - start < 5
    timer.join()
