"""Knowledge bases of experiments, cached by fingerprints of their files and of the code."""

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path

from experiments.aida_data import Say, code_fingerprint, silent
from experiments.pages_recall import FILES, build_kb
from sgtb.core.errors import CorpusError, KnowledgeBaseError
from sgtb.core.progress import Progress
from sgtb.kb.build.merge_build import merge_kbs
from sgtb.kb.build.pprforned_build import build_pprforned
from sgtb.kb.knowledge_base import KnowledgeBase
from sgtb.wikipedia.build.build_settings import HoldOut, WikiSettings
from sgtb.wikipedia.build.dump_build import build_wiki

MERGED, PPRFORNED = "merged", "pprforned"
DUMP = Path("dumps", "schools-2007.xml.bz2")
HOLD_OUT = HoldOut(0.2)
"""Pages of the dump whose links are not counted: they may train linkers."""
LIST_CODE = ("core", "formats", "kb", "text")
_PAGES_CODE = ("core", "kb", "text", "pages", "wikipedia")


def named_kb(
    name: str, data: Path, cache: Path, progress: Progress | None = None, say: Say = silent
) -> Path:
    """Return the folder of a knowledge base: one of the named ones, or a folder itself."""
    if name == MERGED:
        return merged_kb(data, cache, progress, say)
    return pprforned_kb(data, cache, say) if name == PPRFORNED else Path(name)


def fingerprint(code: Sequence[str], *files: Path) -> str:
    """Return a digest of folders of the package and of files."""
    digest = hashlib.sha256(code_fingerprint(*code).encode())
    for file in files:
        if not file.exists():
            raise CorpusError(f"{file}: no such file; --data names the folder that has it")
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()[:16]


def cached_kb(place: Path, build: Callable[[Path], object], say: Say = silent) -> Path:
    """Return the folder of a knowledge base; if it is missing or damaged, build it first."""
    try:
        KnowledgeBase.open(place).close()
    except KnowledgeBaseError:
        say(f"building a knowledge base: {place}")
        place.parent.mkdir(parents=True, exist_ok=True)
        build(place)
    return place


def pprforned_kb(data: Path, cache: Path, say: Say = silent) -> Path:
    """Return the knowledge base of the candidates that PPRforNED lists."""
    archive = data / "pprforned" / "pprforned.tar.xz"
    place = cache / f"pprforned-{fingerprint(LIST_CODE, archive)}"
    return cached_kb(place, lambda out: build_pprforned(archive, out), say)


def merged_kb(data: Path, cache: Path, progress: Progress | None = None, say: Say = silent) -> Path:
    """Return the knowledge base of plain pages, merged by title with that of a small dump."""
    texts, dump = [data / "pages" / name for name in FILES], data / DUMP
    own, whole = fingerprint(_PAGES_CODE, *texts), fingerprint(_PAGES_CODE, *texts, dump)

    def build(out: Path) -> None:
        pages = cached_kb(
            cache / f"pages-{own}", lambda place: build_kb(data, place, 1, progress), say
        )
        settings = WikiSettings(hold_out=HOLD_OUT)
        links = cached_kb(
            cache / f"dump-{whole}",
            lambda place: build_wiki([dump], place, settings, progress),
            say,
        )
        merge_kbs([pages, links], out, by="title", progress=progress)

    return cached_kb(cache / f"merged-{whole}", build, say)
