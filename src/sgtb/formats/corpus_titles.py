"""Page titles in corpora: with underscores, escapes, or as part of a URL."""

import re
from urllib.parse import unquote

_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})")


def unescape_title(title: str) -> str:
    r"""Return a title with `\uXXXX` decoded and spaces for underscores."""
    if "\\" in title:
        title = _ESCAPE.sub(lambda match: chr(int(match[1], 16)), title)
        # Java escapes characters beyond U+FFFF as surrogate pairs.
        title = title.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return title.replace("_", " ")


def title_of_url(url: str) -> str:
    """Return the title in the URL of a Wikipedia page."""
    _, _, title = url.rpartition("/wiki/")
    return unescape_title(unquote(title))
