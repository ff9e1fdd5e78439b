"""Short texts, one case each: the share in which all mentions and their entities are right."""

from collections.abc import Iterable

import pytest

from sgtb.kb import KnowledgeBase
from sgtb.kb.name_variants import DEFAULT_RULES
from sgtb.linking.link_options import LinkerSettings
from sgtb.linking.linker import Linker
from sgtb.linking.mentions.mention_settings import MentionSettings
from sgtb.starter import MODEL
from tests.helpers.kb_worlds import build
from tests.linking.mentions.mention_cases import CASES, ENTITIES, Case

LEAST = 0.9


@pytest.fixture(scope="module")
def linkers(tmp_path_factory):
    """Linkers by whether they find names without capitals."""
    place = build(tmp_path_factory.mktemp("cases"), ENTITIES, variants=DEFAULT_RULES)
    with KnowledgeBase.open(place) as kb:
        yield {
            any_case: Linker(
                MODEL, kb, LinkerSettings(mentions=MentionSettings(capitals=not any_case))
            )
            for any_case in (False, True)
        }


def wrong_cases(linkers: dict[bool, Linker], cases: Iterable[Case]) -> list[str]:
    wrong = []
    for case in cases:
        links = linkers[case.any_case].link(case.text).links
        found = tuple((link.start, link.end, link.entity) for link in links)
        if found != case.mentions:
            shown = [(case.text[a:b], entity) for a, b, entity in found]
            wrong.append(f"{case.kind}: {case.text!r}: {shown}")
    return wrong


def test_the_texts_are_many_and_their_entities_known():
    known = {entity["id"] for entity in ENTITIES}
    assert len(CASES) >= 66
    assert len({case.text for case in CASES}) >= len(CASES) - 1  # one with both settings
    assert all(entity in known for case in CASES for *_, entity in case.mentions if entity)


def test_most_texts_are_right(linkers):
    wrong = wrong_cases(linkers, CASES)
    assert len(wrong) <= (1 - LEAST) * len(CASES), "\n".join(wrong)
