"""Catalogue of a dump server: the newest complete dump of a language edition.

    BASE/simplewiki/                                              dates of dumps
    BASE/simplewiki/20260101/dumpstatus.json                      jobs: state, files, sizes
    BASE/simplewiki/20260101/simplewiki-20260101-sha1sums.txt     checksums, also -md5sums.txt
    BASE/simplewiki/20260101/simplewiki-20260101-pages-articles-multistream.xml.bz2

Large editions have parts, `…-multistream1.xml-p1p41242.bz2` and so on, by ranges of page ids.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from sgtb.core.errors import DownloadError, DumpError, SettingsError
from sgtb.wikipedia.download.http_file import ATTEMPTS, RemoteFile, read_url, wrong_digest

MIRROR = "https://dumps.wikimedia.org"
_JOB = "articlesmultistreamdump"
_LANGUAGE = re.compile(r"[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*")
_DATE = re.compile(r'href="(?:[^"]*/)?(\d{8})/?"')
_PART = r"-pages-articles-multistream(\d*)\.xml(?:-p(\d+)p(\d+))?\.bz2"
_CHECKSUMS = {"sha1": 40, "md5": 32}  # methods and lengths of hexadecimal digests, the best first
_Records: TypeAlias = dict[str, dict[str, Any]]  # size and digests of files by name


@dataclass(frozen=True)
class WikiDump:
    """The article files of a dump, in the order of their pages."""

    wiki: str
    date: str  # YYYYMMDD, or "latest"
    files: tuple[RemoteFile, ...]

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files)


def wiki_of(language: str) -> str:
    """Return the name of an edition's database: simplewiki, zh_min_nanwiki."""
    code = language.lower()
    if not _LANGUAGE.fullmatch(code):
        raise SettingsError(
            f"{language!r:.60} is not a language code such as en, simple or pt-br; it is the first "
            "part of the edition's address, https://simple.wikipedia.org"
        )
    return f"{code.replace('-', '_').removesuffix('wiki')}wiki"


def find_dump(language: str, mirror: str = MIRROR, attempts: int = ATTEMPTS) -> WikiDump:
    """Find the newest dump whose articles are complete."""
    wiki = wiki_of(language)
    base = f"{mirror.rstrip('/')}/{wiki}"
    listing = read_url(f"{base}/", attempts)
    if listing is None:
        raise DownloadError(
            f"{base}/: no such edition; check the language code {language!r} and --mirror"
        )
    dates = sorted(set(_DATE.findall(listing.decode("utf-8", "replace"))), reverse=True)
    problems = []
    for date in dates:
        status = read_url(f"{base}/{date}/dumpstatus.json", attempts)
        records = _complete(f"{wiki}-{date}", status)
        if isinstance(records, str):
            problems.append(f"{date}: {records}")
            continue
        for method in _CHECKSUMS:
            sums = read_url(f"{base}/{date}/{wiki}-{date}-{method}sums.txt", attempts)
            if _add_checksums(records, method, sums):
                break
        files = tuple(_file(f"{base}/{date}", *entry) for entry in records.items())
        for file in files:
            if not file.digest:
                raise DownloadError(
                    f"{file.url}: the dump lists no checksum of it; use another --mirror"
                )
        return WikiDump(wiki, date, files)
    raise DownloadError(
        f"{base}/: no complete dump ({'; '.join(problems[:5]) or 'no dates listed'}); try again "
        "later, or use another --mirror"
    )


def find_files(language: str, folder: Path) -> WikiDump:
    """Find the dump of an edition among files at hand; checksum files beside them are used."""
    wiki = wiki_of(language)
    pattern = re.compile(rf"{wiki}-(\d{{8}}|latest){_PART}")
    names = [path.name for path in sorted(folder.iterdir()) if path.is_file()]
    dates = sorted({match[1] for name in names if (match := pattern.fullmatch(name))})
    if not dates:
        raise DumpError(
            f"{folder}: no dump of {wiki}; expected {wiki}-DATE-pages-articles-multistream.xml.bz2 "
            "or its parts, as the dump server names them"
        )
    date = dates[-1]
    files = _article_files(f"{wiki}-{date}", names)
    if isinstance(files, str):
        raise DumpError(f"{folder}: the dump {wiki}-{date} is not complete: {files}")
    records: _Records = {name: {"size": (folder / name).stat().st_size} for name in files}
    for method in _CHECKSUMS:
        sums = folder / f"{wiki}-{date}-{method}sums.txt"
        _add_checksums(records, method, sums.read_bytes() if sums.is_file() else None)
    return WikiDump(wiki, date, tuple(_file(str(folder), *entry) for entry in records.items()))


def verify_files(dump: WikiDump, folder: Path) -> None:
    """Compare files at hand with the checksums beside them."""
    for file in dump.files:
        if (found := wrong_digest(folder / file.name, file)) is not None:
            raise DumpError(
                f"{folder / file.name}: its {file.method} is {found}, but the list beside it says "
                f"{file.digest}; download it again"
            )


def _complete(prefix: str, status: bytes | None) -> _Records | str:
    """Return the article files of a dump by its dumpstatus.json, or why it cannot be used."""
    if status is None:
        return "no dumpstatus.json"
    try:
        job = json.loads(status)["jobs"][_JOB]
        state, files = str(job["status"]), dict(job.get("files") or {})
        listed = {name: {**one, "size": int(one["size"])} for name, one in files.items() if one}
    except (ValueError, KeyError, TypeError, RecursionError):
        return f"dumpstatus.json has no job {_JOB}"
    if state != "done":
        return f"articles are {state!r:.40}"
    names = _article_files(prefix, listed)
    return names if isinstance(names, str) else {name: listed[name] for name in names}


def _article_files(prefix: str, names: Iterable[str]) -> list[str] | str:
    """Return the article files in order, parts before the whole; or what is missing."""
    pattern = re.compile(re.escape(prefix) + _PART)
    matches = [match for name in names if (match := pattern.fullmatch(name))]
    parts = sorted((int(m[2]), int(m[3]), m[0]) for m in matches if m[2])
    if not parts:
        return [m[0] for m in matches if not m[1]] or "no file of articles is listed"
    after = 1
    for first, last, name in parts:
        if first != after:
            return f"pages {after:,} to {first - 1:,} are missing before {name}"
        after = last + 1
    return [name for _, _, name in parts]


def _add_checksums(records: _Records, method: str, data: bytes | None) -> bool:
    """Add the digests of a list of checksums; return whether all files have one."""
    pattern = rf"^([0-9a-fA-F]{{{_CHECKSUMS[method]}}})\s+\*?(\S+)\s*$"
    lines = re.findall(pattern, (data or b"").decode("utf-8", "replace"), re.MULTILINE)
    digests = {name: digest for digest, name in lines if name in records}
    for name, digest in digests.items():
        records[name][method] = digest
    return len(digests) == len(records)


def _file(base: str, name: str, record: Mapping[str, Any]) -> RemoteFile:
    """Return a file with the best checksum that is known."""
    for method, length in _CHECKSUMS.items():
        digest = str(record.get(method) or "")
        if len(digest) == length:
            return RemoteFile(f"{base}/{name}", name, record["size"], digest, method)
    return RemoteFile(f"{base}/{name}", name, record["size"])
