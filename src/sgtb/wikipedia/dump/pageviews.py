"""Pageviews: how often pages were looked at, from the files that Wikimedia publishes.

Three formats are read, each line by what it looks like:

    en Main_Page 42 0                                   an hour; `en.m`: mobile
    en.wikipedia Main_Page 15580374 desktop 42 A1B2     a day or a month
    en.z Main_Page 42 A1B2                              the older merged counts
"""

from collections.abc import Iterable, Iterator
from os import PathLike
from pathlib import Path

from sgtb.core.errors import DumpError
from sgtb.wikipedia.dump.decompression import GAP, packing, unpack
from sgtb.wikipedia.dump.site import Site

_STEP = 1 << 20
_LONGEST_LINE = 1 << 16
_ACCESS = frozenset({b"desktop", b"mobile-web", b"mobile-app"})
_LETTERS = {
    "wikibooks": "b",
    "wiktionary": "d",
    "wikinews": "n",
    "wikiquote": "q",
    "wikisource": "s",
    "wikiversity": "v",
    "wikivoyage": "voy",
}
"""How the short project codes tell the other projects of a language from its Wikipedia."""


class Pageviews:
    """Titles and views, line after line; a title comes as often as the files have it.

    bad_lines  lines that could not be read, counted as the files are gone through
    """

    def __init__(self, paths: Iterable[str | PathLike[str]], site: Site) -> None:
        self.bad_lines = 0
        self._paths = [Path(path) for path in paths]
        self._site = site
        self._codes, self._long_code = _project_codes(site)

    def __iter__(self) -> Iterator[tuple[str, int]]:
        for path in self._paths:
            yield from self._read(path)

    def _read(self, path: Path) -> Iterator[tuple[str, int]]:
        prefixes = tuple(code + b" " for code in (*self._codes, self._long_code))
        good = False
        first = b""
        for lines in _lines(path):
            first = first or next((line for line in lines if line.strip()), b"")
            for line in lines:
                if not line.startswith(prefixes):
                    self.bad_lines += _looks_wrong(line)
                    continue
                entry = self._entry(line)
                if entry is None:
                    self.bad_lines += 1
                    continue
                good = True
                title = self._site.title(entry[0])
                if title is not None:
                    yield title, entry[1]
        if not good:
            codes = ", ".join(code.decode() for code in (*self._codes, self._long_code))
            raise DumpError(
                f"{path}, line 1: {first[:60].decode('utf-8', 'replace')!r}: in no line are views "
                f"of a page of this wiki ({codes}); give a pageviews file as Wikimedia "
                "publishes them, for the language of the dump"
            )

    def _entry(self, line: bytes) -> tuple[str, int] | None:
        """Return title and views in a line of the wiki's own; None: the line is bad."""
        fields = line.rstrip(b"\r ").split(b" ")
        if fields[0] == self._long_code:
            whole = len(fields) in (5, 6) and fields[3] in _ACCESS
            views = fields[4] if whole else b""
        else:
            views = fields[2] if len(fields) in (3, 4) else b""
        if not views.isdigit() or len(views) > 15 or not fields[1]:
            return None
        try:
            return fields[1].decode("utf-8"), int(views)
        except UnicodeDecodeError:
            return None


def read_pageviews(paths: Iterable[str | PathLike[str]], site: Site) -> Pageviews:
    """Return the views of a wiki's articles in some files: plain, gzip or bzip2, of any format.

    A file in which no line is about the wiki is a DumpError, once it is gone through.
    """
    return Pageviews(paths, site)


def _project_codes(site: Site) -> tuple[tuple[bytes, ...], bytes]:
    """Return the short codes that stand for a wiki, and the long one."""
    language = site.language
    family = next((name for name in _LETTERS if site.dbname.endswith(name)), "wikipedia")
    if family == "wikipedia":
        codes = [language, f"{language}.m", f"{language}.z"]
    else:
        codes = [f"{language}.{_LETTERS[family]}", f"{language}.m.{_LETTERS[family]}"]
    return tuple(code.encode() for code in codes), f"{language}.{family}".encode()


def _looks_wrong(line: bytes) -> bool:
    """Tell whether a line is none of any project."""
    if line.count(b" ") > 1 and line[:1] != GAP[:1]:
        return False
    return bool(line.strip()) and not line.startswith(b"#")


def _lines(path: Path) -> Iterator[list[bytes]]:
    """Yield the lines of a file in lists; of an overlong one the beginning."""
    rest = b""
    for stretch, _ in unpack(path, packing(path), _STEP):
        lines = (rest + stretch).split(b"\n")
        rest = lines.pop()[:_LONGEST_LINE]
        yield lines
    if rest:
        yield [rest]
