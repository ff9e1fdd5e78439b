"""Style, script and data of self-contained HTML pages."""

import base64
import hashlib
import json
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

_SHARED = "page_parts"


class PageFiles(NamedTuple):
    """Style and script of a page, and a policy that allows only these."""

    style: str
    script: str
    policy: str


@cache
def page_files(name: str) -> PageFiles:
    """Return the files of a page, each after the one that all pages share."""
    folder = files("sgtb.cli.views")
    style, script = (
        "".join(folder.joinpath(f"{file}.{kind}").read_text("utf-8") for file in (_SHARED, name))
        for kind in ("css", "js")
    )
    policy = (
        f"default-src 'none'; style-src '{_digest(style)}'; "
        f"script-src '{_digest(script)}'; base-uri 'none'; form-action 'none'"
    )
    return PageFiles(style, script, policy)


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def inline_json(record: dict[str, Any]) -> str:
    """Return a record as JSON that is safe within an HTML element."""
    data = json.dumps(record, ensure_ascii=False, allow_nan=False)
    for character in "<>&\u2028\u2029":
        data = data.replace(character, f"\\u{ord(character):04x}")
    return data
