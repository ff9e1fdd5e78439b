"""Storage of the linker of a spaCy pipeline, as a folder or as bytes.

COMPONENT/
  component.json   path of the knowledge base, if it is not stored in the folder
  linker/          the linker, as `Linker.save_pretrained` writes it
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import srsly

from sgtb.core.errors import ModelFileError
from sgtb.core.files import write_whole

if TYPE_CHECKING:
    from sgtb.linking.link_options import LinkerSettings
    from sgtb.linking.linker import Linker

SMALL = 64 << 20  # bytes of a knowledge base up to which it is stored with the pipeline by default
FORMAT = 1
_RECORD, _LINKER = "component.json", "linker"


@dataclass(frozen=True)
class ComponentSource:
    """Where the linker of a component is loaded from."""

    model: Path | None = None  # file, or folder of `Linker.save_pretrained`; None: the starter's
    kb: Path | None = None  # None: that of the folder, or of the starter

    def open(self, settings: "LinkerSettings") -> "Linker":
        """Load the linker."""
        # Not at the top: spaCy imports components that are not used.
        from sgtb.linking.linker import Linker

        return Linker(self.model, self.kb, settings)


def write_folder(linker: "Linker", folder: Path, store_kb: bool | None) -> None:
    """Write a linker, with its knowledge base if wanted; None: if it is small."""
    stored = linker.kb.size <= SMALL if store_kb is None else store_kb
    folder.mkdir(parents=True, exist_ok=True)
    linker.save_pretrained(folder / _LINKER, kb=stored)
    record = {"format": FORMAT, "kb": None if stored else str(linker.kb.path.resolve())}
    write_whole(folder / _RECORD, (json.dumps(record) + "\n").encode())


def read_folder(folder: Path, kb: Path | None) -> ComponentSource:
    """Return the source of the linker of a folder; if it has no knowledge base, first try `kb`."""
    from sgtb.linking.pretrained import find_pretrained

    found = find_pretrained(folder / _LINKER)
    if found.kb is not None:
        return ComponentSource(found.folder)
    stored = Path(_record(folder / _RECORD)["kb"])
    for place in (kb, stored):
        if place is not None and place.is_dir():
            return ComponentSource(found.folder, place)
    raise ModelFileError(
        f"{folder}: this pipeline was saved without its knowledge base, which was in {stored}; put "
        'it there, or load the pipeline with config={"components": {NAME: {"kb": PLACE}}}, where '
        f"NAME is the component's: {folder.name!r}"
    )


def pack_folder(folder: Path) -> bytes:
    """Return all files of a folder as bytes."""
    files = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    return bytes(srsly.msgpack_dumps(files))


def unpack_folder(data: bytes, folder: Path) -> None:
    """Write the files of a packed folder to an empty one, never outside of it."""
    try:
        files = srsly.msgpack_loads(data)
        if not isinstance(files, Mapping):
            raise ValueError("no files")
        for name, content in files.items():
            _write_within(folder, name, content)
    except (ValueError, TypeError, OSError) as error:
        raise ModelFileError(f"not a packed linker: {error}") from None


def _write_within(folder: Path, name: Any, content: Any) -> None:
    if not isinstance(name, str) or not isinstance(content, bytes):
        raise ValueError("files have names and bytes")
    place = PurePosixPath(name)
    if not place.parts or place.is_absolute() or ".." in place.parts or "\\" in name or ":" in name:
        raise ValueError(f"{name!r:.80} is not a name within a folder")
    path = folder / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def _record(path: Path) -> dict[str, Any]:
    try:
        record = json.loads(path.read_bytes())
        if record["format"] != FORMAT:
            raise ValueError(f"format {record['format']!r}; this release reads {FORMAT}")
        if not isinstance(record["kb"], str):
            raise ValueError("no knowledge base is named, and none is stored")
    except FileNotFoundError:
        raise ModelFileError(f"{path}: missing; the pipeline is incomplete") from None
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise ModelFileError(f"{path}: cannot be read ({error}); save the pipeline again") from None
    return dict(record)
