"""Install size: the files of a distribution and of its requirements."""

import re
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path

_NAME = re.compile(r"[A-Za-z0-9._-]+")


def sizes(name: str) -> dict[str, float]:
    """Return the MB of a distribution and of those that it requires, extras left out."""
    found: dict[str, float] = {}
    waiting = [name]
    while waiting:
        try:
            given = distribution(waiting.pop())
        except PackageNotFoundError:  # required elsewhere: of another system, or an older Python
            continue
        if given.name not in found:
            found[given.name] = sum(path.stat().st_size for path in _files(given)) / 1e6
            waiting += required(given.requires or [])
    return found


def required(requirements: list[str]) -> list[str]:
    """Return the names of requirements that belong to no extra."""
    own = (text for text in requirements if "extra ==" not in text.replace("'", '"'))
    return [match[0] for text in own if (match := _NAME.match(text))]


def _files(given: Distribution) -> set[Path]:
    """Return the files; of an editable installation also those of the package's folder."""
    listed = {Path(str(given.locate_file(file))).resolve() for file in given.files or ()}
    spec = find_spec(given.name) if given.name == "sgtb" else None
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        listed |= {path.resolve() for path in Path(folder).rglob("*")}
    return {path for path in listed if path.is_file() and "__pycache__" not in path.parts}
