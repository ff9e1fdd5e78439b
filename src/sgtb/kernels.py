"""The kernel decorators: numba without the GIL, cached on disk, never stale.

numba's disk cache notices a change of the file a kernel stands in, but not of the files of
the kernels it calls. After an upgrade or a `git pull` it would go on running an old inner
loop inside an unchanged outer one. So the cache entries of all kernels of a folder carry one
stamp, a digest of every source file in it that holds one, and of this file. A kernel calls
only kernels of its own folder: its stamp would miss a change in another.

numba also makes itself ready to compile, and reads the code that other functions might inline,
before it takes a kernel from the cache. That took longer than all else when a program starts, and
kernels are taken to be run: they call routines, never each other.
"""

import hashlib
import inspect
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import llvmlite.binding as llvm  # type: ignore[import-untyped]
import numba
import numpy as np
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile

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
    """Compile `function` with numba: no GIL, no Python objects, cached on disk.

    Only Python calls it. What kernels share is a routine, or an inner function.
    """
    dispatcher = numba.njit(**_OPTIONS)(function)
    if dispatcher is not function:  # as it is with NUMBA_DISABLE_JIT=1
        dispatcher._cache = _KernelCache(function)
        # Extensions of numba teach it types that no kernel takes; a compilation looks for them.
        dispatcher._compilation_chain_init_hook = _nothing
    return cast(F, dispatcher)


def _nothing() -> None:
    pass


class _Runnable(CompileResultCacheImpl):
    """What is kept of a kernel: what it takes to run it.

    It comes with the names that must be known in the process: calling one that is not would end it.
    """

    def reduce(self, compiled: Any) -> Any:
        """Return what goes to disk."""
        (name, kind, (code, _)), *rest = compiled._reduce()
        module = compiled.library._final_module
        named = [value for some in (module.functions, module.global_variables) for value in some]
        needs = [v.name for v in named if v.is_declaration and not v.name.startswith("llvm.")]
        return ((name, kind, (code, _empty_functions(compiled.fndesc))), *rest), needs

    def rebuild(self, target_context: Any, kept: Any) -> Any:
        """Return the kernel of what was on disk."""
        payload, needs = kept
        if not all(map(llvm.address_of_symbol, needs)):
            target_context.refresh()
        compiled = super().rebuild(target_context, payload)  # type: ignore[no-untyped-call]
        compiled.library._shared_module = None  # numba refuses to inline what has none
        return compiled


def _empty_functions(descriptor: Any) -> bytes:
    """Return code that numba finds the names of a kernel in; it runs another, that of the cache."""
    names = (descriptor.llvm_func_name, descriptor.llvm_cpython_wrapper_name)
    lines = [f'define void @"{name}"() {{ ret void }}' for name in names]
    return cast(bytes, llvm.parse_assembly("\n".join(lines)).as_bitcode())


class _KernelFile(IndexDataCacheFile):
    """Where a kernel is kept. A file that cannot be read is one that is not there.

    numba unpickles an index before it looks at its stamp. One that an earlier release left may name
    classes that are no more.
    """

    def _load_index(self) -> Any:
        try:
            return super()._load_index()  # type: ignore[no-untyped-call]
        except Exception:
            return {}

    def load(self, key: Any) -> Any:
        """Return what is kept for a key, if anything."""
        try:
            return super().load(key)  # type: ignore[no-untyped-call]
        except Exception:
            return None


class _KernelCache(FunctionCache):
    """The cache of a kernel."""

    _impl_class = _Runnable

    def __init__(self, function: Callable[..., object]) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        self._cache_file: IndexDataCacheFile = _KernelFile(  # type: ignore[no-untyped-call]
            self._cache_path,
            self._impl.filename_base,
            source_stamp(Path(inspect.getfile(function)).parent),
        )

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the kernel for arguments of some types; None: it is to be compiled."""
        return self._load_overload(sig, target_context)  # type: ignore[no-untyped-call]


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
