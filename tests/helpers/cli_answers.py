"""A linker that knows four entities, for what the commands do whatever a model may say."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from sgtb.linking.links import Alternative, Link, LinkedDocument, Reason, Request

PLAYER = Alternative("P", "Michael Jordan", "PER", 0.9, 0.4)
LAND = Alternative("L", "Jordan", "LOC", 0.1, 0.6)
TEAM = Alternative("T", "Chicago <Bulls>", "ORG", 1.0, 1.0)
DESCRIPTIONS = {"P": "a player & more", "L": "a <b>kingdom</b>", "T": "</script><img src=x>"}
NAMES = {"Jordan": (PLAYER, LAND), "Bulls": (TEAM,), "Jordn": (PLAYER,)}


def answer(request: Request, reasons: bool = True) -> LinkedDocument:
    """Link by looking names up; a given span is linked whatever it says."""
    if request.spans is None:
        found = [m.span() for m in re.finditer(r"\b(?:Jordan|Bulls|Jordn|Nobody)\b", request.text)]
    else:
        found = [(span.start, span.end) for span in request.spans]
    links = [_link(request.text, start, end) for start, end in found]
    names = [link.text for link in links]
    for i, link in enumerate(links):
        if reasons and link.text == "Jordan" and "Bulls" in names:
            why = (
                Reason("mention", "Bulls", 1.5, names.index("Bulls")),
                Reason("features", "prior", -0.5),
                Reason("features", "name", 0.25),
            )
            links[i] = replace(link, lead=1.25, runner_up="L", reasons=why)
    return LinkedDocument(request.text, tuple(links), request.id)


def _link(text: str, start: int, end: int) -> Link:
    name = text[start:end]
    candidates = NAMES.get(name, ())
    if not candidates:
        return Link(start, end, name, None, "", "", 0.0, "nothing")
    best = candidates[0]
    found: Any = "similar name" if name == "Jordn" else "exact"
    return Link(
        start, end, name, best.entity, best.title, best.type, best.probability, found, candidates
    )  # fmt: skip


class FakeLinker:
    """Answers as `answer` does, and remembers what it was asked."""

    def __init__(self, settings: Any) -> None:
        self.settings = settings
        self.asked: list[Request] = []
        self.jobs = 0
        ids = list(DESCRIPTIONS)
        self.kb = SimpleNamespace(
            number=lambda id: ids.index(id) if id in ids else None,
            description_of=lambda number: DESCRIPTIONS[ids[number]],
        )

    def __enter__(self) -> "FakeLinker":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def link(self, request: Request) -> LinkedDocument:
        self.asked.append(request)
        return answer(request, self.settings.reasons)

    def pipe(self, requests: Iterable[Request], jobs: int = 1) -> Iterator[LinkedDocument]:
        self.jobs = jobs
        return map(self.link, requests)
