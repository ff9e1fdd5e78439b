"""The paper's processed features: what is read, and what is refused."""

import lzma
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

from experiments.processed_features import (
    PROCESSED_FEATURES,
    ProcessedDocument,
    read_processed,
)
from sgtb.core.errors import CorpusError
from tests.conftest import part
from tests.helpers.corpus_files import attempt, damaged, processed_files

SMALL = processed_files()["small.jsonl"]


@pytest.fixture(scope="module")
def processed(data) -> tuple[ProcessedDocument, ...]:
    return read_processed(part(data, "sgtb-sample/AIDA-PPR-processed-sample.jsonl.xz"))


def read(tmp_path, content: bytes):
    path = tmp_path / "small.jsonl"
    path.write_bytes(content)
    return read_processed(path)


def test_a_small_file(tmp_path):
    documents = read(tmp_path, SMALL)
    assert [document.id for document in documents] == ["1", "2", "3"]
    assert [len(document.mentions) for document in documents] == [2, 0, 1]
    orlan, vessa = documents[0].mentions
    assert (orlan.text, orlan.first, orlan.stop, orlan.gold) == ("Orlan", 3, 4, "14")
    assert orlan.candidates == ("9", "14")  # by number, however the file has them
    assert orlan.features.dtype == np.float32
    assert not orlan.features.flags.writeable
    assert orlan.features[:, PROCESSED_FEATURES.index("prior_1")].tolist() == [0.25, 0.5]
    assert orlan.features[:, PROCESSED_FEATURES.index("mention_is_per")].tolist() == [1, 1]
    assert orlan.features[:, PROCESSED_FEATURES.index("entity_is_org")].tolist() == [1, 1]
    assert (vessa.gold, vessa.candidates) == ("11", ("12",))


def test_packed_or_with_crlf_it_is_the_same(tmp_path):
    path = tmp_path / "small.jsonl.xz"
    path.write_bytes(lzma.compress(SMALL))
    for other in (read_processed(path), read(tmp_path, SMALL.replace(b"\n", b"\r\n"))):
        assert repr(other) == repr(read(tmp_path, SMALL))


DAMAGES = {
    "latin-1": (b"Quill", b"Qu\xefll", 3, "byte 0xef is not UTF-8"),
    "cut": (b"0.75]]]]]\n", b"0.7", 3, "not JSON"),
    "no JSON": (b"[]\n", b"nothing\n", 2, "not JSON"),
    "deep": (b"[]\n", b"[" * 100_000 + b"\n", 2, "not JSON"),
    "blank line": (b"[]\n", b"\n", 2, "not JSON"),
    "no list": (b"[]\n", b"{}\n", 2, "expected a list"),
    "no mention": (b"[]\n", b"[5]\n", 2, "found '5'"),
    "span": (b"[0, 2]", b"[2, 2]", 3, "no span"),
    "span of three": (b"[0, 2]", b"[0, 2, 3]", 3, "expected"),
    "gold": (b'"11"', b'"Q11"', 1, "'Q11'"),
    "gold as a number": (b'"11"', b"11", 1, "expected"),
    "id": (b'["9", 0]', b'["nine", 0]', 1, "'nine'"),
    "label missing": (b'["14", 1]', b'["14", 0]', 1, "label 0 of candidate 14"),
    "label of another": (b'["9", 0]', b'["9", 1]', 1, "label 1 of candidate 9"),
    "candidate twice": (b'["9", 0]', b'["14", 1]', 1, "twice"),
    "18 features": (b"[0.5, 0, 0.5,", b"[0.5, 0.5,", 1, "18 features"),
    "20 features": (b"[0.5, 0, 0.5,", b"[0.5, 0, 0, 0.5,", 1, "20 features"),
    "NaN": (b"[0.5, 0, 0.5,", b"[0.5, NaN, 0.5,", 1, "prior_2 of candidate 14"),
    "infinity": (b"[0.5, 0, 0.5,", b"[0.5, 0, -Infinity,", 1, "prior_3 of candidate 14"),
    "too large": (b"[0.5, 0, 0.5,", b"[0.5, 0, 1e200,", 1, "prior_3 of candidate 14"),
    "far too large": (b"[0.5, 0, 0.5,", b"[0.5, 0, 1" + b"0" * 400 + b",", 1, "not numbers"),
    "text": (b"[0.5, 0, 0.5,", b'[0.5, "0", 0.5,', 1, "not numbers"),
    "truth": (b"[0.5, 0, 0.5,", b"[0.5, true, 0.5,", 1, "not numbers"),
    "nothing": (SMALL, b"", 1, "empty"),
    "UTF-16": (SMALL, SMALL.decode().encode("utf-16"), 1, "byte 0xff is not UTF-8"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_named_by_file_and_line(tmp_path, damage):
    old, new, line, what = DAMAGES[damage]
    assert SMALL.count(old) == 1
    with pytest.raises(CorpusError) as caught:
        read(tmp_path, SMALL.replace(old, new))
    assert str(caught.value).startswith(f"{tmp_path / 'small.jsonl'}, line {line}: ")
    assert what in str(caught.value)


def test_what_is_missing_or_cut_is_named(tmp_path):
    path = tmp_path / "small.jsonl.xz"
    with pytest.raises(CorpusError, match=r"small\.jsonl\.xz: cannot be read: No such file"):
        read_processed(path)
    path.write_bytes(lzma.compress(SMALL)[:-20])
    with pytest.raises(CorpusError, match=r"small\.jsonl\.xz: cannot be decompressed"):
        read_processed(path)


@settings(deadline=None, derandomize=True, max_examples=150)
@given(damaged(SMALL))
def test_damaged_bytes_give_documents_or_a_corpus_error(content):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "small.jsonl")
        path.write_bytes(content)
        result = attempt(read_processed, path)
    if isinstance(result, CorpusError):
        assert f"{path}, line " in str(result)
    else:
        for document in result:
            for mention in document.mentions:
                assert mention.features.shape == (len(mention.candidates), 19)
                assert np.isfinite(mention.features).all()


def test_the_real_sample_has_the_known_counts(processed):
    mentions = [mention for document in processed for mention in document.mentions]
    assert len(processed) == 40
    assert len(mentions) == 665
    assert sum(len(mention.candidates) for mention in mentions) == 5305
    assert sum(mention.gold in mention.candidates for mention in mentions) == 661


def test_the_real_sample_shows_what_its_columns_are(processed):
    mentions = [mention for document in processed for mention in document.mentions]
    features = np.concatenate([mention.features for mention in mentions])
    column = {name: features[:, i] for i, name in enumerate(PROCESSED_FEATURES)}
    for what in ("mention", "entity"):
        types = sum(column[f"{what}_is_{type}"] for type in ("org", "per", "loc", "misc"))
        assert (types == 1).all()
    for i in (1, 2, 3):
        assert 0 <= column[f"prior_{i}"].min() <= column[f"prior_{i}"].max() <= 1
    for i in (1, 2):
        # Nothing but the mention's text and the candidate decides.
        seen: dict[tuple[str, str], float] = {}
        at = PROCESSED_FEATURES.index(f"mention_similarity_{i}")
        for mention in mentions:
            for id, value in zip(mention.candidates, mention.features[:, at], strict=True):
                assert seen.setdefault((mention.text, id), value) == value


def test_the_real_sample_is_of_aidas_first_documents(processed, aida):
    for document, original in zip(processed, aida, strict=False):
        assert document.id == original.id
        linked = list(original.in_kb())
        assert [mention.gold for mention in document.mentions] == [m.gold for m in linked]
        assert [mention.text for mention in document.mentions] == [
            " ".join(m.text.split()) for m in linked
        ]
