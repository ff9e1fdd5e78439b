"""Names of all scripts and lengths, detected and given: every text can be linked."""

import pytest

from sgtb.linking.link_options import LinkerSettings
from sgtb.linking.linker import Linker
from sgtb.linking.links import Request, Span
from tests.helpers.script_names import script_names

N_NAMES = 2_000


@pytest.fixture(scope="module")
def fuzzy():
    with Linker.starter(LinkerSettings(fuzzy=True)) as linker:
        yield linker


def test_texts_of_any_names_can_be_linked(fuzzy):
    names = list(script_names(11, N_NAMES))
    texts = [" ".join(names[i : i + 20]) for i in range(0, N_NAMES, 20)]
    for text, document in zip(texts, fuzzy.link_many(texts), strict=True):
        end = 0
        for link in document.links:
            assert end <= link.start < link.end <= len(text)
            end = link.end


def test_any_name_can_be_a_given_mention(fuzzy):
    names = [name for name in script_names(13, N_NAMES) if name.strip()]
    requests = [Request(name, (Span(0, len(name)),)) for name in names]
    for name, document in zip(names, fuzzy.link_many(requests), strict=True):
        ((start, end),) = [(link.start, link.end) for link in document.links]
        assert (start, end) == (0, len(name))
