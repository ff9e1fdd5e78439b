"""The page of mistakes: one HTML file to leaf through, which asks nothing of the network."""

from collections.abc import Callable, Iterable, Iterator
from html import escape
from typing import Any

from sgtb.cli.views.link_view import FOUND, reason_words
from sgtb.cli.views.page_files import inline_json, page_files
from sgtb.evaluation.linkers.mistakes import AROUND, Mistake

Describe = Callable[[str], str]
"""Tells what is known about the entity of an id, in words."""

_SHOWN = 12
"""Candidates shown of each mention, beside the gold."""


def page_parts(mistakes: Iterable[Mistake], describe: Describe, note: str = "") -> Iterator[str]:
    """Yield the page in parts, each mistake as it comes; the note says what it is about."""
    page = page_files("error_page")
    yield _HEAD.format(policy=page.policy, style=page.style, note=escape(note))
    for mistake in mistakes:
        yield _record(mistake, describe)
    yield _TAIL.format(script=page.script)


def _record(mistake: Mistake, describe: Describe) -> str:
    """Return a mistake as JSON; by its attributes it is filtered."""
    return (
        f'<script type="application/json" data-kind="{escape(mistake.kind)}" '
        f'data-data="{escape(mistake.data)}" data-system="{escape(mistake.system)}">'
        f"{inline_json(_as_dict(mistake, describe))}</script>\n"
    )


def _as_dict(mistake: Mistake, describe: Describe) -> dict[str, Any]:
    link = mistake.link
    answer = link.to_dict()
    kept = [
        other
        for i, other in enumerate(answer["candidates"])
        if i < _SHOWN or other["entity"] in (mistake.gold, link.entity, link.runner_up)
    ]
    told = {other["entity"] for other in kept} | {id_ for id_ in (mistake.gold,) if id_}
    for reason, record in zip(link.reasons, answer["reasons"], strict=True):
        record["words"] = reason_words(reason)
    return {
        "document": mistake.document,
        "before": _ending(mistake.before),
        "after": _beginning(mistake.after),
        "gold": mistake.gold,
        "gold_title": mistake.gold_title,
        "how": f"candidates found {FOUND[link.found]}",
        "more": len(answer["candidates"]) - len(kept),
        "about": {id_: describe(id_) for id_ in sorted(told)},
        "link": {**answer, "candidates": kept},
    }


def _ending(text: str) -> str:
    """Return the text before a mention; where it was cut, from the first whole word on."""
    return text if len(text) < AROUND else f"…{text.partition(' ')[2] or text}"


def _beginning(text: str) -> str:
    """Return the text behind a mention; where it was cut, up to the last whole word."""
    return text if len(text) < AROUND else f"{text.rpartition(' ')[0] or text}…"


_HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>Mistakes</title>
<style>{style}</style>
</head>
<body>
<header>
<h1>Mistakes</h1>
<p class="note">{note}</p>
<nav>
<label>kind <select id="kind"></select></label>
<label>data <select id="data"></select></label>
<label>system <select id="system"></select></label>
<span class="turn"><button id="back" type="button" aria-label="previous mistake">←</button>
<output id="place"></output>
<button id="on" type="button" aria-label="next mistake">→</button></span>
</nav>
</header>
<main id="sheet" aria-live="polite"></main>
<noscript><p class="note">This page needs its script to show anything.</p></noscript>
"""

_TAIL = """<script>{script}</script>
</body>
</html>
"""
