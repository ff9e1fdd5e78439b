"""Linking errors as one HTML file without network access."""

from collections.abc import Iterable, Iterator
from html import escape
from typing import Any

from sgtb.cli.views.link_view import FOUND, Describe, reason_text
from sgtb.cli.views.page_files import inline_json, page_ends
from sgtb.evaluation.linkers.mistakes import AROUND, Mistake

_SHOWN = 12  # candidates shown per mention, besides gold, answer and runner-up


def page_parts(mistakes: Iterable[Mistake], describe: Describe, note: str = "") -> Iterator[str]:
    """Yield the page in parts, one per error; the note is its subtitle."""
    head, tail = page_ends("error_page", "Linking errors")
    yield head + _HEADER.format(note=escape(note))
    for mistake in mistakes:
        yield (
            f'<script type="application/json" data-kind="{escape(mistake.kind)}" '
            f'data-data="{escape(mistake.data)}" data-system="{escape(mistake.system)}">'
            f"{inline_json(_as_dict(mistake, describe))}</script>\n"
        )
    yield tail


def _as_dict(mistake: Mistake, describe: Describe) -> dict[str, Any]:
    link = mistake.link
    answer = link.to_dict()
    kept = [
        other
        for i, other in enumerate(answer["candidates"])
        if i < _SHOWN or other["entity"] in (mistake.gold, link.entity, link.runner_up)
    ]
    shown = {other["entity"] for other in kept} | {id_ for id_ in (mistake.gold,) if id_}
    for reason, record in zip(link.reasons, answer["reasons"], strict=True):
        record["text"] = reason_text(reason)
    before, after = mistake.before, mistake.after
    if len(before) >= AROUND:  # cut: from the first whole word
        before = f"…{before.partition(' ')[2] or before}"
    if len(after) >= AROUND:
        after = f"{after.rpartition(' ')[0] or after}…"
    return {
        "document": mistake.document,
        "before": before,
        "after": after,
        "gold": mistake.gold,
        "gold_title": mistake.gold_title,
        "how": f"candidates found by {FOUND[link.found]}",
        "more": len(answer["candidates"]) - len(kept),
        "about": {id_: describe(id_) for id_ in sorted(shown)},
        "link": {**answer, "candidates": kept},
    }


_HEADER = """<header>
<h1>Linking errors</h1>
<p class="note">{note}</p>
<nav>
<label>kind <select id="kind"></select></label>
<label>data <select id="data"></select></label>
<label>system <select id="system"></select></label>
<span class="turn"><button id="back" type="button" aria-label="previous error">←</button>
<output id="place"></output>
<button id="on" type="button" aria-label="next error">→</button></span>
</nav>
</header>
<main id="sheet" aria-live="polite"></main>
<noscript><p class="note">This page needs JavaScript.</p></noscript>
"""
