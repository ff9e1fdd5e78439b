"""The real corpora, read once for all tests, where they are present."""

import os
from pathlib import Path

import pytest

from experiments.aida_candidates import with_candidates
from sgtb.core.records import Document
from sgtb.formats.codecs.aida_conll import read_aida
from sgtb.formats.codecs.pprforned import PprForNed, read_pprforned
from sgtb.text.word_vectors import WordVectors
from tests.helpers.linking_builders import Setting, narrow_topics
from tests.helpers.linking_sample import take_sample

REPOSITORY = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def data() -> Path:
    folder = REPOSITORY / os.environ.get("SGTB_DATA", "../shared/data")
    if not folder.is_dir():
        pytest.skip(f"no real corpora in {folder}: set SGTB_DATA to their folder")
    return folder


def part(data: Path, name: str) -> Path:
    if not (data / name).exists():
        pytest.skip(f"no {name} in {data}")
    return data / name


@pytest.fixture(scope="session")
def aida(data) -> tuple[Document, ...]:
    return read_aida(part(data, "aida"))


@pytest.fixture(scope="session")
def ppr(data) -> PprForNed:
    return read_pprforned(part(data, "pprforned/pprforned.tar.xz"))


@pytest.fixture(scope="session")
def joined(aida, ppr) -> tuple[Document, ...]:
    return with_candidates(aida, ppr)


@pytest.fixture(scope="session")
def glove() -> WordVectors:
    return WordVectors.glove()


@pytest.fixture(scope="session")
def sample(joined, ppr, glove) -> Setting:
    """A part of AIDA with everything that features are made with."""
    with pytest.MonkeyPatch.context() as patch:
        narrow_topics(patch, 16)
        return take_sample(joined, ppr.entities, glove)
