"""A linker in a fresh process: memory with a large knowledge base, cold start."""

import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.kb_generated import ListShape
from benchmarks.kb_lookups import generated_list
from benchmarks.measure import seconds_of
from benchmarks.probes import ask, environment_of
from sgtb.core.errors import SgtbError
from sgtb.kb import KnowledgeBase
from sgtb.starter import DOCUMENTS, KB, MODEL

Say = Callable[[str], None]

TEXT = "Jordan won six rings with the Bulls."


@dataclass(frozen=True)
class FreshExtent:
    """Extent of the measurements.

    train   generated documents that the linker of the generated knowledge base is trained on
    linked  generated documents that are linked before memory is measured
    starts  whole processes of `sgtb link`
    """

    shape: ListShape
    train: int
    linked: int
    starts: int


def measure_memory(extent: FreshExtent, folder: Path, say: Say) -> dict[str, Any]:
    """Link generated documents with a large generated knowledge base; the same with the starter."""
    place = _generated_kb(extent.shape, folder, say)
    model, texts = folder / f"{place.name}.safetensors", folder / f"{place.name}-texts.json"
    say("training a linker on generated documents ...")
    trained = ask("linker_probe.train", place, model, extent.train)
    written = ask("linker_probe.write", place, texts, extent.linked)
    say("linking generated documents ...")
    result = {
        "generated": ask("linker_probe.memory", place, model, texts),
        "model_bytes": trained["bytes"],
        "train_seconds": trained["seconds"],
        "trained_on": extent.train,
        "characters": written["characters"],
        "starter": None,
    }
    if _starter(say):
        say("linking with the starter ...")
        ask("linker_probe.starter_texts", DOCUMENTS, texts)
        result["starter"] = ask("linker_probe.memory", KB, MODEL, texts)
    return result


def measure_cold(extent: FreshExtent, say: Say) -> dict[str, Any] | None:
    """Start `sgtb link TEXT` repeatedly, after a first one. None without the starter."""
    if not _starter(say):
        return None
    say("starting sgtb link ...")
    command_seconds("link", TEXT)
    whole = [command_seconds("link", TEXT) for _ in range(extent.starts)]
    empty = [command_seconds("--version") for _ in range(extent.starts)]
    return {
        "seconds": statistics.median(whole),
        "slowest_seconds": max(whole),
        "version_seconds": statistics.median(empty),
        "starts": extent.starts,
    }


def command_seconds(
    *words: str, python: str = sys.executable, env: Mapping[str, str] | None = None
) -> float:
    """Return the seconds of a command of `sgtb`, from the start of its process to the end.

    python  the interpreter, of this environment or of another
    env     environment variables that are set
    """
    command = [python, "-c", "from sgtb.cli.main import app; app()", *words]
    whole = environment_of(python) | dict(env or {})
    return seconds_of(lambda: subprocess.run(command, check=True, capture_output=True, env=whole))


def _generated_kb(shape: ListShape, folder: Path, say: Say) -> Path:
    """Return a generated knowledge base; one from an earlier run is reused."""
    place = folder / f"generated-{shape.entities}"
    try:
        with KnowledgeBase.open(place) as kb:
            whole = len(kb) == shape.entities
    except SgtbError:
        whole = False
    if not whole:
        listed, _ = generated_list(shape, folder, say)
        say(f"building a knowledge base of {shape.entities:,} entities, which is kept ...")
        ask("kb_probe.build", listed, place)
        listed.unlink()
    return place


def _starter(say: Say) -> bool:
    there = MODEL.exists() and KB.exists()
    if not there:
        say(f"skipped: there is no {MODEL.name} in the package; `make starter` builds it")
    return there
