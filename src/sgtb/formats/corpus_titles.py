"""Titles of pages, as corpora write them: with underscores, escapes, or inside a url."""

import re
from urllib.parse import unquote

_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})")


def unescape_title(title: str) -> str:
    r"""Return a title as it reads: `\uXXXX` decoded, underscores as spaces."""
    if "\\" in title:
        title = _ESCAPE.sub(lambda match: chr(int(match[1], 16)), title)
        # Java writes what lies beyond U+FFFF as two escapes, which together are one character.
        title = title.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return title.replace("_", " ")


def title_of_url(url: str) -> str:
    """Return the title that the url of a Wikipedia page ends in."""
    _, _, title = url.rpartition("/wiki/")
    return unescape_title(unquote(title))
