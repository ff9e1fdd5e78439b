"""Page files: style, script and data of HTML pages that ask nothing of the network."""

import base64
import hashlib
import json
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple


class PageFiles(NamedTuple):
    """What a page is made of; only its own style and script may run, whatever slips in."""

    style: str
    script: str
    policy: str


@cache
def page_files(name: str) -> PageFiles:
    """Return the files of a page, behind the script that all pages share."""
    folder = files("sgtb.cli.views")
    style = folder.joinpath(f"{name}.css").read_text("utf-8")
    shared, own = (
        folder.joinpath(file).read_text("utf-8") for file in ("page_parts.js", f"{name}.js")
    )
    script = f"{shared}{own}"
    policy = (
        f"default-src 'none'; style-src '{_fingerprint(style)}'; "
        f"script-src '{_fingerprint(script)}'; base-uri 'none'; form-action 'none'"
    )
    return PageFiles(style, script, policy)


def _fingerprint(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def inline_json(record: dict[str, Any]) -> str:
    """Return a record as JSON that can end no element."""
    data = json.dumps(record, ensure_ascii=False, allow_nan=False)
    for character in "<>&\u2028\u2029":
        data = data.replace(character, f"\\u{ord(character):04x}")
    return data
