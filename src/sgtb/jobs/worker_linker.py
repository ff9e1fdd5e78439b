"""The linker of a worker process: described by plain data, opened once, checked by digests."""

import hashlib
import os
import shutil
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, fields
from itertools import islice
from pathlib import Path
from typing import Any

import sgtb
from sgtb.core.errors import JobError, SettingsError, SgtbError
from sgtb.jobs.job_inputs import Item
from sgtb.kb.knowledge_base import KnowledgeBase
from sgtb.linking.link_options import LinkerSettings
from sgtb.linking.linker import KbSourcePath, Linker, ModelSource, resolve_pair
from sgtb.linking.linker_model import LinkerModel
from sgtb.linking.links import LinkedDocument, Request
from sgtb.linking.mentions.mention_settings import MentionSettings
from sgtb.linking.parallel import BATCH
from sgtb.linking.pretrained import KB, MODEL
from sgtb.text.tokenization import segment

LinkerSpec = dict[str, Any]
"""Plain data that describe a linker: version, paths, digests and settings.

Without its paths it stands in the manifest: version, model (SHA-256 of the file), kb (fingerprint)
and settings decide the output.
"""
_PATHS = "paths"
_open: dict[str, Linker] = {}
_guard = threading.Lock()


def linker_spec(
    model: ModelSource | None = None,
    kb: KbSourcePath | None = None,
    settings: LinkerSettings | None = None,
) -> LinkerSpec:
    """Describe the linker of a model and a knowledge base, given as those of `Linker`.

    Raise if one of them cannot be opened, before a job is begun.
    """
    source, place = resolve_pair(model, kb)
    if isinstance(source, LinkerModel):
        raise SettingsError("a model in memory cannot be sent to workers; save it, name its file")
    model_file = Path(source)
    folder = place.path if isinstance(place, KnowledgeBase) else Path(place)
    with KnowledgeBase.open(folder) as opened:
        LinkerModel.load(model_file)
        fingerprint = opened.state.fingerprint
    return {
        "version": sgtb.__version__,
        "model": file_digest(model_file),
        "kb": fingerprint,
        "settings": _plain(settings or LinkerSettings()),
        _PATHS: [str(model_file.resolve()), str(folder.resolve())],
    }


def digests(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return what decides the output of a linker, for a manifest."""
    return {key: value for key, value in spec.items() if key != _PATHS}


def paths_of(spec: Mapping[str, Any]) -> tuple[Path, Path]:
    """Return the paths of model file and knowledge base on the machine that made the spec."""
    model, kb = spec[_PATHS]
    return Path(model), Path(kb)


def worker_linker(spec: Mapping[str, Any]) -> Linker | None:
    """Return the linker of this process, opened on first use; None if its files are not here."""
    if spec["version"] != sgtb.__version__:
        raise JobError(
            f"this worker has sgtb {sgtb.__version__}, the job {spec['version']}; install the same"
        )
    key = repr(sorted(digests(spec).items()))
    with _guard:
        if key not in _open:
            found = _opened(spec)
            if found is None:
                return None
            _open.clear()  # that of an earlier job; its knowledge base is closed with the last use
            _open[key] = found
        return _open[key]


def required_linker(spec: Mapping[str, Any]) -> Linker:
    """Return the linker of this process; raise if its files are not here."""
    if (linker := worker_linker(spec)) is None:
        raise SgtbError("this worker does not have the files of the linker")
    return linker


def cache_folder(spec: Mapping[str, Any]) -> Path:
    """Return the folder of this host for a linker that was sent to it."""
    digest = hashlib.sha256(f"{spec['model']} {spec['kb']}".encode()).hexdigest()[:32]
    root = os.environ.get("SGTB_CACHE")
    user = os.getuid() if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")
    base = Path(root) if root else Path(tempfile.gettempdir()) / f"sgtb-{user}"
    base.mkdir(mode=0o700, parents=True, exist_ok=True)
    if hasattr(os, "getuid") and base.stat().st_uid != os.getuid():
        raise JobError(f"{base}: belongs to another user; set SGTB_CACHE to a folder of your own")
    return base / f"linker-{digest}"


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _opened(spec: Mapping[str, Any]) -> Linker | None:
    """Open the linker where the job has it, or where it was sent to; None if neither fits."""
    cached = cache_folder(spec)
    for model, kb in (paths_of(spec), (cached / MODEL, cached / KB)):
        if not model.is_file() or not kb.is_dir() or file_digest(model) != spec["model"]:
            continue
        mentions = MentionSettings(**spec["settings"]["mentions"])
        settings = LinkerSettings(**{**spec["settings"], "mentions": mentions})
        linker = Linker(model, kb, settings)
        if linker.kb.state.fingerprint == spec["kb"]:
            return linker
        linker.close()
    return None


def _plain(settings: LinkerSettings) -> dict[str, Any]:
    if settings.tokenizer is not segment:
        raise SettingsError("a tokenizer of your own cannot be sent to workers")
    plain = {field.name: getattr(settings, field.name) for field in fields(settings)}
    del plain["tokenizer"]
    return {**plain, "mentions": asdict(settings.mentions)}


# Sending a linker to a host


def linker_files(spec: Mapping[str, Any]) -> list[tuple[str, Path]]:
    """Return the files of a linker, each with its name in the folder that is sent."""
    model, kb = paths_of(spec)
    inside = sorted(path for path in kb.rglob("*") if path.is_file() and "lock" not in path.name)
    return [(MODEL, model), *((f"{KB}/{path.relative_to(kb).as_posix()}", path) for path in inside)]


def has_linker(spec: Mapping[str, Any]) -> bool:
    """Open the linker of this process; return whether its files are here."""
    return worker_linker(spec) is not None


def receive(spec: Mapping[str, Any], sender: str, name: str, data: bytes, begin: bool) -> None:
    """Write data, the first of the file or what follows, to a file of a linker that is sent."""
    path = _incoming(spec, sender) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "wb" if begin else "ab") as file:
        file.write(data)


def complete(spec: Mapping[str, Any], sender: str, hashes: Mapping[str, str]) -> None:
    """Check the files that were sent, and put them in place."""
    incoming, target = _incoming(spec, sender), cache_folder(spec)
    try:
        wrong = [name for name, digest in hashes.items() if file_digest(incoming / name) != digest]
        if wrong:
            raise SgtbError(f"{wrong[0]}: damaged on its way; run the same command again")
        os.rename(incoming, target)
    except OSError:
        if not target.is_dir():  # otherwise another job has sent the same linker
            raise
    finally:
        shutil.rmtree(incoming, ignore_errors=True)


def _incoming(spec: Mapping[str, Any], sender: str) -> Path:
    target = cache_folder(spec)
    return target.with_name(f".{target.name}.{sender}")


def link_items(
    linker: Linker, items: Iterable[Item]
) -> Iterator[tuple[Item, LinkedDocument | str]]:
    """Link documents; yield each with its links, or with the reason why it has none."""
    given = iter(items)
    while batch := list(islice(given, BATCH)):
        requests = [item.request for item in batch if item.request is not None]
        try:
            results: Iterator[LinkedDocument | str] = iter(linker.link_many(requests))
        except Exception:
            results = (_one(linker, request) for request in requests)
        for item in batch:
            yield item, item.reason if item.request is None else next(results)


def _one(linker: Linker, request: Request) -> LinkedDocument | str:
    """Link one document of a batch that failed."""
    try:
        return linker.link(request)
    except SgtbError as error:  # without the path, which differs between hosts
        return str(error).replace(str(linker.kb.path), "the knowledge base")
    except Exception as error:  # whatever it is, the other documents of the job are linked
        return f"{type(error).__name__}: {error}"
