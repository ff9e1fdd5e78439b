"""The real corpora that only the readers' tests look at, where they are present."""

import pytest

from sgtb.formats.codecs.wned_corpus import WnedCorpus, read_wned
from tests.conftest import part


@pytest.fixture(scope="session")
def wned(data) -> dict[str, WnedCorpus]:
    return {corpus.name: corpus for corpus in read_wned(part(data, "wned.tar.xz"))}
