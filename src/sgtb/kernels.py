"""The kernel decorators: numba without the GIL, cached on disk, never stale.

numba's disk cache notices a change of the file a kernel stands in, but not of the files of
the kernels it calls. After an upgrade or a `git pull` it would go on running an old inner
loop inside an unchanged outer one. So the cache entries of all kernels of a folder carry one
stamp, a digest of every source file in it that holds one, and of this file. A kernel calls
only kernels of its own folder: its stamp would miss a change in another.
"""

import hashlib
import inspect
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np

F = TypeVar("F", bound=Callable[..., object])

# Without "nrt" no array is counted as referenced or allocated inside a kernel. The counting is
# atomic, sits in every inner loop that touches a NamedTuple of arrays, and makes threads wait
# for each other; arrays outlive the kernels they are given to anyway.
# Constants that kernels pass to each other. With a plain 0 or True, numba would take the value
# for a part of the type and compile the called function anew for each.
# (To the type checker, numbers inside kernels are plain int and bool.)
int64 = cast(Callable[[object], int], np.int64)
ZERO, ONE = int64(0), int64(1)
NO, YES = cast(bool, np.bool_(False)), cast(bool, np.bool_(True))

_NO_WRAPPERS: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False}


def kernel(function: F) -> F:
    """Compile `function` with numba: no GIL, no Python objects, cached on disk."""
    dispatcher = numba.njit(cache=True, **_OPTIONS)(function)
    index = getattr(getattr(dispatcher, "_cache", None), "_cache_file", None)
    if index is not None:  # absent with NUMBA_DISABLE_JIT=1
        index._source_stamp = source_stamp(Path(inspect.getfile(function)).parent)
        _forgive(index)
    return cast(F, dispatcher)


def _forgive(index: Any) -> None:
    """Let a cache that cannot be read be one that is not there.

    numba unpickles an index before it looks at its stamp. One that an earlier release left may name
    classes that are no more.
    """
    load_index, load = index._load_index, index.load

    def forgiving_index() -> Any:
        try:
            return load_index()
        except Exception:
            return {}

    def forgiving_load(key: Any) -> Any:
        try:
            return load(key)
        except Exception:
            return None

    index._load_index, index.load = forgiving_index, forgiving_load


def routine(function: F) -> F:
    """Compile a function that only kernels call; without a way in from Python, which saves time."""
    return cast(F, numba.njit(**_OPTIONS, **_NO_WRAPPERS)(function))


def inner(function: F) -> F:
    """Compile a function that kernels call in their inner loops, and that is always inlined.

    A call that is not inlined copies every array of every NamedTuple it passes: hundreds of
    words, more than most inner functions do in work.
    """
    return cast(F, numba.njit(forceinline=True, **_OPTIONS, **_NO_WRAPPERS)(function))


@cache
def source_stamp(folder: Path) -> str:
    """A digest of this file, which compiles, and of the sources in `folder` that hold kernels."""
    digest = hashlib.sha256(Path(__file__).read_bytes())
    for path in sorted(folder.glob("*.py")):
        source = path.read_bytes()
        if any(mark in source for mark in (b"@kernel", b"@routine", b"@inner")):
            digest.update(source)
    return digest.hexdigest()
