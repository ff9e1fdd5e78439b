"""The kernel decorators: cached kernels carry the stamp of all kernels' sources."""

import importlib
import os
import pkgutil
import shutil
from pathlib import Path

import numba
import pytest

import sgtb.learn
from sgtb.learn import kernels

compiled = pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled"
)


def all_dispatchers():
    for module in pkgutil.iter_modules(sgtb.learn.__path__, "sgtb.learn."):
        for name, value in vars(importlib.import_module(module.name)).items():
            if isinstance(value, numba.core.dispatcher.Dispatcher):
                yield f"{module.name}.{name}", value


def is_cached(dispatcher) -> bool:
    return hasattr(dispatcher._cache, "_cache_file")


@compiled
def test_numba_still_keeps_its_stamp_where_we_set_it():
    def function(x):
        return x

    plain = numba.njit(cache=True)(function)
    assert plain._cache._cache_file._source_stamp  # a digest, or time and size, of this file


@compiled
def test_every_cached_kernel_carries_the_stamp():
    cached = {name: d for name, d in all_dispatchers() if is_cached(d)}
    assert "sgtb.learn.decoder.decode_documents" in cached
    assert "sgtb.learn.residuals.collect_points" in cached
    for name, dispatcher in cached.items():
        assert dispatcher._cache._cache_file._source_stamp == kernels.source_stamp(), name


@compiled
def test_every_kernel_releases_the_gil_and_counts_no_references():
    for name, dispatcher in all_dispatchers():
        assert dispatcher.targetoptions["nogil"] is True, name
        assert dispatcher.targetoptions["_nrt"] is False, name


@compiled
def test_a_changed_source_makes_cached_kernels_stale(tmp_path, monkeypatch):
    """A kernel is compiled anew after any file with kernels has changed, not only its own."""

    @kernels.kernel
    def twice(x):
        return 2 * x

    cache = twice._cache
    monkeypatch.setattr(cache._cache_file, "_cache_path", str(tmp_path))
    monkeypatch.setattr(cache._cache_file, "_index_path", str(tmp_path / "index"))
    assert twice(3) == 6
    index = tmp_path / "index"
    assert index.exists()
    assert cache._cache_file._load_index() != {}
    cache._cache_file._source_stamp = "of other sources"
    assert cache._cache_file._load_index() == {}


def test_stamp_is_of_the_sources_that_hold_kernels(tmp_path, monkeypatch):
    for path in Path(kernels.__file__).parent.glob("*.py"):
        shutil.copy(path, tmp_path)
    monkeypatch.setattr(kernels, "__file__", str(tmp_path / "kernels.py"))
    stamp = kernels.source_stamp.__wrapped__
    before = stamp()
    assert before == kernels.source_stamp()
    with (tmp_path / "plan.py").open("a") as file:  # no kernels in there
        file.write("# changed\n")
    assert stamp() == before
    for name in ("beam.py", "pairs.py", "forest.py", "kernels.py"):
        with (tmp_path / name).open("a") as file:
            file.write("# changed\n")
        assert stamp() != before
        before = stamp()
