"""Folder of `sgtb wikipedia`: what is made in it, and which stages are done.

DIR/
  state.json               the dump and the settings, fixed by the first run
  dumps/                   the files of the dump
  kb/                      the knowledge base
  model.safetensors        the model; model.checkpoint while it is trained
  test.jsonl               held-out pages for testing
  evaluation.json          accuracy on them
  linker/                  the packed linker

Each stage ends by putting its result in place atomically. So a stage is done if its result is
there, and an interrupted one is run again and continues from what it left.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from sgtb.core.errors import SettingsError, SgtbError
from sgtb.core.files import lock, write_whole
from sgtb.wikipedia.download.dump_catalogue import WikiDump
from sgtb.wikipedia.download.http_file import RemoteFile, download

FORMAT = 1
_STATE, _LOCK = "state.json", "lock"
RESULTS = {
    "build": "kb/kb.json",
    "train": "model.safetensors",
    "evaluate": "evaluation.json",
    "pack": "linker/config.json",
}
"""Stages after the download, in order, and the files that tell that they are done."""


@dataclass(frozen=True)
class WikiJobSettings:
    """What a job makes; the same settings give the same linker."""

    dump_dir: str  # folder of files at hand; "": they are downloaded
    pages: int  # held-out pages that are used, at most
    hold_out: float  # share of pages that are held out
    red_links: int = 0


class WikiJob:
    """A folder, its dump and its settings."""

    def __init__(self, path: Path, dump: WikiDump, settings: WikiJobSettings) -> None:
        self.path, self.dump, self.settings = path, dump, settings
        self.kb, self.model = path / "kb", path / "model.safetensors"
        self.checkpoint, self.test = path / "model.checkpoint", path / "test.jsonl"
        self.evaluation, self.linker = path / "evaluation.json", path / "linker"

    @classmethod
    def read(cls, path: Path) -> "WikiJob | None":
        """Read the state of an earlier run; None: there is none."""
        file = path / _STATE
        try:
            state = json.loads(file.read_bytes())
            if state["format"] != FORMAT:
                raise ValueError(f"format {state['format']!r}")
            files = tuple(RemoteFile(url="", **one) for one in state["files"])
            dump = WikiDump(state["wiki"], state["date"], files)
            return cls(path, dump, WikiJobSettings(**state["settings"]))
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise SgtbError(f"{file}: not the state of a job: {error}; use a new folder") from None

    def save(self) -> None:
        """Write the state; an existing one is replaced."""
        files = [asdict(file) for file in self.dump.files]
        for file in files:
            del file["url"]  # another run may use another mirror
        state = {
            "format": FORMAT, "wiki": self.dump.wiki, "date": self.dump.date,
            "settings": asdict(self.settings), "files": files,
        }  # fmt: skip
        self.path.mkdir(parents=True, exist_ok=True)
        write_whole(self.path / _STATE, (json.dumps(state, indent=1) + "\n").encode())

    def check(self, wiki: str, given: Mapping[str, Any]) -> None:
        """Raise if the job was begun for another wiki, or with other settings than the given."""
        begun = {"wiki": self.dump.wiki, **asdict(self.settings)}
        for name, value in {"wiki": wiki, **given}.items():
            if value is not None and begun[name] != value:
                raise SettingsError(
                    f"{self.path}: begun with {name.replace('_', '-')} {begun[name]!r}, not "
                    f"{value!r}; use the same options, or a new folder"
                )

    @property
    def dumps(self) -> tuple[Path, ...]:
        """The files of the dump."""
        folder = Path(self.settings.dump_dir) if self.settings.dump_dir else self.path / "dumps"
        return tuple(folder / file.name for file in self.dump.files)

    def remaining(self) -> list[str]:
        """Return the stages after the last one that is done; training also needs the dump."""
        done = [stage for stage, result in RESULTS.items() if (self.path / result).is_file()]
        downloaded = all(path.is_file() for path in self.dumps)
        stages = list(RESULTS)[list(RESULTS).index(done[-1]) + 1 :] if done else list(RESULTS)
        return ["download", *stages] if "train" in stages and not downloaded else stages

    def missing_bytes(self) -> int:
        """Return the bytes that are still to be downloaded."""
        have = (
            path if path.exists() else path.with_name(f"{path.name}.part") for path in self.dumps
        )
        sizes = [path.stat().st_size if path.exists() else 0 for path in have]
        return max(0, self.dump.size - sum(sizes))

    def download(self, mirror: str, attempts: int, progress: Any) -> None:
        """Download the files that are not there; `progress` takes stage, bytes, all bytes."""
        folder = self.path / "dumps"
        folder.mkdir(exist_ok=True)
        base = f"{mirror.rstrip('/')}/{self.dump.wiki}/{self.dump.date}"
        before = 0

        def show(size: int) -> None:
            progress("downloading", before + size, self.dump.size)

        for file in self.dump.files:
            download(replace(file, url=f"{base}/{file.name}"), folder, attempts, show)
            before += file.size


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Hold the lock of a folder; it ends with the process."""
    with open(path / _LOCK, "ab") as file:
        if not lock(file.fileno()):
            raise SgtbError(f"{path}: another process works in this folder")
        yield
