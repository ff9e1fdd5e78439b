"""The kernel decorators: cached kernels carry the stamp of the kernels' sources around them."""

import ast
import importlib
import importlib.util
import inspect
import os
import pkgutil
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numba
import pytest

import sgtb.learn
from sgtb import kernels

compiled = pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled"
)


LEARN = Path(sgtb.learn.__file__).parent
PACKAGES = [
    name
    for name in ("sgtb.learn", "sgtb.linking", "sgtb.wiki", "sgtb.wiki_kb", "sgtb.text")
    if importlib.util.find_spec(name)
]


def all_dispatchers():
    for package in map(importlib.import_module, PACKAGES):
        for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            for name, value in vars(importlib.import_module(module.name)).items():
                if is_dispatcher(value):
                    yield f"{module.name}.{name}", value


def is_dispatcher(value) -> bool:
    return isinstance(value, numba.core.dispatcher.Dispatcher)


def is_cached(dispatcher) -> bool:
    return hasattr(dispatcher._cache, "_cache_file")


def folder_of(dispatcher) -> Path:
    return Path(inspect.getfile(dispatcher.py_func)).parent


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
        stamp = kernels.source_stamp(folder_of(dispatcher))
        assert dispatcher._cache._cache_file._source_stamp == stamp, name


@compiled
def test_every_kernel_calls_kernels_of_its_own_folder_only():
    """Its stamp would miss a change in another one."""
    for name, dispatcher in all_dispatchers():
        function = dispatcher.py_func
        named = [function.__globals__.get(known) for known in function.__code__.co_names]
        for called in filter(is_dispatcher, named):
            assert folder_of(called) == folder_of(dispatcher), f"{name} calls {called}"


def imported_names(module) -> dict[str, str]:
    """Names that a module has from other modules of sgtb, or makes of such, with their source."""
    tree = ast.parse(inspect.getsource(module))
    found: dict[str, str] = {}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sgtb."):
            found |= {alias.asname or alias.name: str(node.module) for alias in node.names}
        if isinstance(node, ast.Assign):
            used = [x.id for x in ast.walk(node.value) if isinstance(x, ast.Name)]
            for source in [found[name] for name in used if name in found]:
                targets = [x for target in node.targets for x in ast.walk(target)]
                found |= {x.id: source for x in targets if isinstance(x, ast.Name)}
    return found


@compiled
def test_what_kernels_compile_in_is_covered_by_their_stamp():
    """A number from a file without kernels may change, and what is in the cache would not."""
    looked_at = 0
    for name, dispatcher in all_dispatchers():
        function, folder = dispatcher.py_func, folder_of(dispatcher)
        module = sys.modules[function.__module__]
        imported = imported_names(module)
        for known in set(function.__code__.co_names) & set(imported):
            source = Path(inspect.getfile(sys.modules[imported[known]]))
            marked = any(m in source.read_text() for m in ("@kernel", "@routine", "@inner"))
            covered = source.parent == folder and marked
            assert covered or source.name == "kernels.py", f"{name}: {known}"
            looked_at += 1
    assert looked_at > 20


@compiled
def test_no_kernel_calls_a_cached_one():
    """What is kept of it cannot be inlined."""
    for name, dispatcher in all_dispatchers():
        function = dispatcher.py_func
        named = [function.__globals__.get(known) for known in function.__code__.co_names]
        assert not any(map(is_cached, filter(is_dispatcher, named))), name


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


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """A copy of the learner's sources, and another folder with a kernel."""
    learn, other = tmp_path / "learn", tmp_path / "other"
    shutil.copy(kernels.__file__, tmp_path / "kernels.py")
    shutil.copytree(LEARN, learn, ignore=shutil.ignore_patterns("__pycache__"))
    other.mkdir()
    (other / "sums.py").write_text("@kernel\ndef add(a, b):\n    return a + b\n")
    (other / "names.py").write_text("NAMES = ()\n")
    monkeypatch.setattr(kernels, "__file__", str(tmp_path / "kernels.py"))
    return learn, other


def change(path: Path) -> None:
    with path.open("a") as file:
        file.write("# changed\n")


def test_stamp_is_of_the_sources_that_hold_kernels(folders):
    learn, _ = folders
    stamp = kernels.source_stamp.__wrapped__  # without its memory
    before = stamp(learn)
    assert before == kernels.source_stamp(LEARN)
    change(learn / "plan.py")  # no kernels in there
    assert stamp(learn) == before
    for name in ("beam.py", "pairs.py", "forest.py", "../kernels.py"):
        change(learn / name)
        assert stamp(learn) != before
        before = stamp(learn)


def test_stamp_is_of_one_folder_and_of_the_decorators(folders):
    learn, other = folders
    stamp = kernels.source_stamp.__wrapped__
    before = stamp(learn), stamp(other)
    assert before[0] != before[1]
    for unseen in (learn / "beam.py", other / "names.py"):
        change(unseen)
        assert stamp(other) == before[1]
    before = stamp(learn), stamp(other)
    change(other / "sums.py")
    assert (stamp(learn) == before[0], stamp(other) == before[1]) == (True, False)
    before = stamp(learn), stamp(other)
    change(learn.parent / "kernels.py")
    assert (stamp(learn) == before[0], stamp(other) == before[1]) == (False, False)


def run_module(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run module.py of a folder, whose kernels are cached in there."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("NUMBA_CACHE")}
    return subprocess.run(
        [sys.executable, "module.py", *words],
        cwd=folder, env=environment, capture_output=True, text=True,
    )  # fmt: skip


@compiled
@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
def test_a_cache_that_cannot_be_read_is_made_anew(tmp_path, suffix):
    (tmp_path / "module.py").write_text(
        "from sgtb.kernels import kernel\n\n@kernel\ndef twice(x):\n    return 2 * x\n\n"
        "print(twice(21), sum(twice.stats.cache_hits.values()) or 'compiled')\n"
    )

    def run() -> list[str]:
        return run_module(tmp_path).stdout.split()

    assert run() == ["42", "compiled"]
    assert run() == ["42", "1"]
    for path in (tmp_path / "__pycache__").glob(f"*.{suffix}"):
        path.write_bytes(path.read_bytes()[:-20])
    assert run() == ["42", "compiled"]
    assert run() == ["42", "1"]


KERNELS = """
import sys
import numpy as np
from sgtb.kernels import inner, kernel

@inner
def square(x):
    return x * x

@kernel
def squares(values, out):
    for i in range(len(values)):
        out[i] = square(values[i])

@kernel
def first(values):
    if values[0] < 0:
        raise ValueError("negative")
    return values[0]

@kernel
def first_of_squares(values, out):
    squares(values, out)
    return out[0]

def called(name, *arguments):
    result = globals()[name](*arguments)
    hits = sum(globals()[name].stats.cache_hits.values())
    print(name, result, "cached" if hits else "compiled", "numba.np.arraymath" in sys.modules)

for name in sys.argv[1:]:
    values, out = np.arange(2.0, 5.0), np.zeros(3)
    called(name, values, out) if "squares" in name else called(name, values)
"""


@compiled
def test_a_kernel_from_the_cache_runs_without_a_compiler_made_ready(tmp_path):
    (tmp_path / "module.py").write_text(KERNELS)
    assert run_module(tmp_path, "squares").stdout.split() == ["squares", "None", "compiled", "True"]
    again = run_module(tmp_path, "squares", "first")  # and then there may be one to compile
    assert again.stdout.splitlines() == [
        "squares None cached False", "first 2.0 compiled True"
    ]  # fmt: skip
    third = run_module(tmp_path, "first", "squares")
    assert third.stdout.splitlines() == ["first 2.0 cached False", "squares None cached False"]


@compiled
def test_a_kernel_from_the_cache_cannot_be_inlined_by_mistake(tmp_path):
    (tmp_path / "module.py").write_text(KERNELS)
    run_module(tmp_path, "squares")
    done = run_module(tmp_path, "first_of_squares")
    assert "library unfit for linking" in done.stderr


@compiled
@pytest.mark.parametrize(("name", "refreshed"), [("Py_IncRef", False), ("no_such_name", True)])
def test_numba_is_made_ready_if_a_kernel_calls_what_is_not_known(monkeypatch, name, refreshed):
    built = SimpleNamespace(library=SimpleNamespace())
    monkeypatch.setattr(kernels.CompileResultCacheImpl, "rebuild", lambda *_: built)
    calls = []
    context = SimpleNamespace(refresh=lambda: calls.append("refresh"))
    kept = kernels._Runnable(first_line)
    assert kept.rebuild(context, ("payload", [name])) is built
    assert calls == (["refresh"] if refreshed else [])


def first_line(text):
    return text
