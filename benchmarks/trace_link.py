"""The call path of `Linker.link`: the modules of sgtb that process one text.

`python -m benchmarks.trace_link` prints them by folder, folders and modules in the order of their
first call. docs/design/architecture.md shows the output. Imports are not counted: everything is
imported and used once before the traced call of a newly loaded linker.
"""

import sys
from pathlib import Path
from types import FrameType
from typing import Any

import sgtb
from sgtb import Linker

TEXT = (
    "Jordan passed, Pippen scored, and the Bulls beat Utah again. In Amman the king of Jordan "
    "watched them on television; in Petra nobody did."
)
ROOT = Path(sgtb.__file__).parent


def trace() -> tuple[list[str], int]:
    """Link a text; return the modules of the called functions, in order, and their number."""
    with Linker.starter() as linker:
        linker.link(TEXT)
    functions: dict[tuple[str, str], None] = {}

    def note(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(str(ROOT)):
            functions[code.co_filename, code.co_qualname] = None

    with Linker.starter() as linker:
        sys.setprofile(note)
        try:
            linker.link(TEXT)
        finally:
            sys.setprofile(None)
    modules = dict.fromkeys(_module_of(Path(file)) for file, _ in functions)
    return list(modules), len(functions)


def _module_of(file: Path) -> str:
    return ".".join(file.relative_to(ROOT).with_suffix("").parts)


def main() -> None:
    """Print the call path."""
    modules, n_functions = trace()
    folders: dict[str, list[str]] = {}
    for module in modules:
        folder, _, name = module.rpartition(".")
        folders.setdefault(folder, []).append(name)
    for folder, names in folders.items():
        print(f"{folder:<22} {', '.join(names)}")
    print(f"{len(modules)} modules, {n_functions} functions")


if __name__ == "__main__":
    main()
