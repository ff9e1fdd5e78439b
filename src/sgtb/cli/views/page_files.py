"""Style, script and data of self-contained HTML pages."""

import base64
import hashlib
import json
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

_SHARED = "page_parts"


_HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
"""


@cache
def page_ends(name: str, title: str) -> tuple[str, str]:
    """Return the begin of a page with its style, its end with its script, allowed by a policy."""
    style, script = _with_shared(name, "css"), _with_shared(name, "js")
    lines = files("sgtb.serving").joinpath("page/lines.js").read_text("utf-8")
    script = lines.replace("export function", "function") + script
    policy = (
        f"default-src 'none'; style-src '{_digest(style)}'; "
        f"script-src '{_digest(script)}'; base-uri 'none'; form-action 'none'"
    )
    head = _HEAD.format(policy=policy, title=title, style=style)
    return head, f"<script>{script}</script>\n</body>\n</html>\n"


def styled_page(name: str, title: str, body: str) -> str:
    """Return a page with a style and without scripts."""
    style = _with_shared(name, "css")
    policy = (
        f"default-src 'none'; style-src '{_digest(style)}'; base-uri 'none'; form-action 'none'"
    )
    head = _HEAD.format(policy=policy, title=escape(title), style=style)
    return f"{head}<main>{body}</main>\n</body>\n</html>\n"


def _with_shared(name: str, kind: str) -> str:
    """Return a file of a page after the one that all pages share."""
    folder = files("sgtb.cli.views")
    return "".join(folder.joinpath(f"{one}.{kind}").read_text("utf-8") for one in (_SHARED, name))


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def inline_json(record: dict[str, Any]) -> str:
    """Return a record as JSON that is safe within an HTML element."""
    data = json.dumps(record, ensure_ascii=False, allow_nan=False)
    for character in "<>&\u2028\u2029":
        data = data.replace(character, f"\\u{ord(character):04x}")
    return data
