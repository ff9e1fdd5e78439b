"""Views per page, from the files that Wikimedia publishes.

Three formats, detected line by line:

    en Main_Page 42 0                                   hourly; `en.m`: mobile
    en.wikipedia Main_Page 15580374 desktop 42 A1B2     daily or monthly
    en.z Main_Page 42 A1B2                              older merged counts
"""

from collections.abc import Iterator
from pathlib import Path

from sgtb.core.errors import DumpError
from sgtb.wikipedia.dump.decompression import GAP, decompress, detect_compression
from sgtb.wikipedia.dump.site import Site

_STEP = 1 << 20
_MAX_LINE = 1 << 16
_ACCESS = frozenset({b"desktop", b"mobile-web", b"mobile-app"})
_LETTERS = {
    "wikibooks": "b", "wiktionary": "d", "wikinews": "n", "wikiquote": "q", "wikisource": "s",
    "wikiversity": "v", "wikivoyage": "voy",
}  # fmt: skip
"""Letters of other projects than Wikipedia in short project codes."""


def read_pageviews(path: Path, site: Site) -> Iterator[tuple[str, int] | None]:
    """Yield title and views of a wiki's articles, line by line; None: an unreadable line.

    A file without any line of the wiki raises a DumpError at its end.
    """
    short_codes, long_code = _project_codes(site)
    codes = (*short_codes, long_code)
    prefixes = tuple(code + b" " for code in codes)
    good = False
    first = b""
    for lines in _lines(path):
        first = first or next((line for line in lines if line.strip()), b"")
        for line in lines:
            if not line.startswith(prefixes):
                if _looks_wrong(line):
                    yield None
                continue
            entry = _entry(line, long_code)
            if entry is None:
                yield None
                continue
            good = True
            title = site.title(entry[0])
            if title is not None:
                yield title, entry[1]
    if not good:
        raise DumpError(
            f"{path}, line 1: {first[:60].decode('utf-8', 'replace')!r}: the file has no views of "
            f"pages of this wiki ({b', '.join(codes).decode()}); give a pageviews file of "
            "Wikimedia for the language of the dump"
        )


def _entry(line: bytes, long_code: bytes) -> tuple[str, int] | None:
    """Return title and views of a line; None: the line is bad."""
    fields = line.rstrip(b"\r ").split(b" ")
    if fields[0] == long_code:
        complete = len(fields) in (5, 6) and fields[3] in _ACCESS
        views = fields[4] if complete else b""
    else:
        views = fields[2] if len(fields) in (3, 4) else b""
    if not views.isdigit() or len(views) > 15 or not fields[1]:
        return None
    try:
        return fields[1].decode("utf-8"), int(views)
    except UnicodeDecodeError:
        return None


def _project_codes(site: Site) -> tuple[tuple[bytes, ...], bytes]:
    """Return the short project codes of a wiki, and the long one."""
    language = site.language
    family = next((name for name in _LETTERS if site.dbname.endswith(name)), "wikipedia")
    if family == "wikipedia":
        codes = [language, f"{language}.m", f"{language}.z"]
    else:
        codes = [f"{language}.{_LETTERS[family]}", f"{language}.m.{_LETTERS[family]}"]
    return tuple(code.encode() for code in codes), f"{language}.{family}".encode()


def _looks_wrong(line: bytes) -> bool:
    """Return whether a line is not of any project."""
    if line.count(b" ") > 1 and line[:1] != GAP[:1]:
        return False
    return bool(line.strip()) and not line.startswith(b"#")


def _lines(path: Path) -> Iterator[list[bytes]]:
    """Yield the lines of a file in lists; overlong lines are truncated."""
    rest = b""
    for data, _ in decompress(path, detect_compression(path), _STEP):
        lines = (rest + data).split(b"\n")
        rest = lines.pop()[:_MAX_LINE]
        yield lines
    if rest:
        yield [rest]
