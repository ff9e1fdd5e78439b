"""The real corpora, read once, where they are present."""

import os
from pathlib import Path

import pytest

from sgtb.corpora.aida import read_aida
from sgtb.corpora.pprforned import PprForNed, read_pprforned, with_candidates
from sgtb.corpora.processed import ProcessedDocument, read_processed
from sgtb.corpora.wned import WnedCorpus, read_wned
from sgtb.records import Document

REPOSITORY = Path(__file__).parents[2]


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
def wned(data) -> dict[str, WnedCorpus]:
    return {corpus.name: corpus for corpus in read_wned(part(data, "wned.tar.xz"))}


@pytest.fixture(scope="session")
def processed(data) -> tuple[ProcessedDocument, ...]:
    return read_processed(part(data, "sgtb-sample/AIDA-PPR-processed-sample.jsonl.xz"))
