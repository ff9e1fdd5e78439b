"""AIDA: how text and annotations are put together, and what is said when they do not fit."""

import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sgtb.core.errors import CorpusError
from sgtb.core.records import NIL
from sgtb.formats.codecs.aida_conll import read_aida
from tests.helpers.corpus_files import ANNOTATION_FILE, aida_files, attempt, damaged, write


def test_a_small_corpus(tmp_path):
    documents = read_aida(write(tmp_path, aida_files()))
    assert [(document.id, document.split) for document in documents] == [
        ("1", "train"),
        ("2", "train"),
        ("3", "dev"),
        ("4", "test"),
    ]
    first = documents[0]
    assert first.text == "Vessa beats Old Orlan .\nAnna\nMeck 's day"
    assert first.sentences == ((0, 5), (5, 6), (6, 9))
    assert [(m.text, m.first, m.stop, m.gold, m.title, m.type) for m in first.mentions] == [
        ("Vessa", 0, 1, "11", "Vessa F.C.", "ORG"),
        ("Old", 2, 3, NIL, None, "ORG"),
        ("Orlan", 3, 4, "12", "Orlan Rovers", "ORG"),
        ("Anna\nMeck", 5, 7, "13", "Anna Meck", "PER"),
    ]
    assert all(mention.candidates is None for mention in first.mentions)
    for document in documents:
        check_offsets(document)


def check_offsets(document):
    for part in (*document.tokens, *document.mentions):
        assert document.text[part.start : part.end] == part.text
    for mention in document.mentions:
        assert document.tokens[mention.first].start == mention.start
        assert document.tokens[mention.stop - 1].end == mention.end
    # The sentences are all of the tokens, one after the other.
    bounds = [bound for sentence in document.sentences for bound in sentence]
    assert bounds[0] == 0
    assert bounds[-1] == len(document.tokens)
    assert bounds[1:-1:2] == bounds[2::2]


def test_docstart_before_or_after_a_document_and_line_ends_make_no_difference(tmp_path):
    files = aida_files()
    before = {
        **files,
        "eng.train": b"-DOCSTART- -X- O O\n\n" + files["eng.train"].rpartition(b"-DOCS")[0],
        "eng.testb": b"\xef\xbb\xbf-DOCSTART- -X- O O\r\n\r\n"
        + files["eng.testb"].rpartition(b"-DOCS")[0].replace(b"\n", b"\r\n"),
        ANNOTATION_FILE: files[ANNOTATION_FILE].replace(b"\r\n", b"\n"),
    }
    assert read_aida(write(tmp_path / "a", files)) == read_aida(write(tmp_path / "b", before))


DAMAGES = {
    "latin-1": ("eng.train", b"Anna", b"\xc4nna", 7, "byte 0xc4 is not UTF-8"),
    "latin-1 annotation": (ANNOTATION_FILE, b"\tOrlan_Rovers", b"\tOrl\xe4n", 4, "not UTF-8"),
    "missing column": ("eng.train", b"beats VBZ I-VP O", b"beats VBZ O", 2, "beats VBZ O"),
    "cut tag": ("eng.testa", b"Orlan NNP I-NP I-LOC", b"Orlan NNP I-NP I-L", 5, "'I-L'"),
    "no documents": ("eng.train", aida_files()["eng.train"], b"", 1, "empty"),
    "empty document": ("eng.train", b"Quill NNP I-NP I-LOC\nsleeps VBZ I-VP O", b"", 17, "tokens"),
    "no annotations": (ANNOTATION_FILE, aida_files()[ANNOTATION_FILE], b"", 1, "no document"),
    "index": (ANNOTATION_FILE, b"2\t--NME--", b"two\t--NME--", 3, "'two'"),
    "negative index": (ANNOTATION_FILE, b"2\t--NME--", b"-2\t--NME--", 3, "'-2'"),
    "index beyond the end": (ANNOTATION_FILE, b"2\t--NME--", b"99\t--NME--", 3, "only 9 tokens"),
    "index of no name": (ANNOTATION_FILE, b"2\t--NME--", b"1\t--NME--", 3, "eng.train, line 2"),
    "index twice": (ANNOTATION_FILE, b"2\t--NME--", b"0\t--NME--", 3, "annotated twice"),
    "title only": (ANNOTATION_FILE, b"\t12\t/m/b", b"", 4, "Wikipedia id"),
    "no title": (ANNOTATION_FILE, b"2\t--NME--", b"2", 3, "expected index, title"),
    "page number": (ANNOTATION_FILE, b"\t12\t", b"\tQ12\t", 4, "'Q12'"),
    "name not annotated": ("eng.train", b"day NN I-NP O", b"day NN I-NP I-MISC", 11, "'day'"),
    "annotation lost": (ANNOTATION_FILE, b"2\t--NME--\r\n", b"", 3, "'Old'"),
    "header": (ANNOTATION_FILE, b"-DOCSTART- (2 Quill)", b"-DOCSTART- 2 Quill", 7, "expected"),
    "no header": (ANNOTATION_FILE, b"-DOCSTART- (1 Vessa)", b"3\t--NME--", 1, "first"),
    "other word": (ANNOTATION_FILE, b"(2 Quill)", b"(2 Quail)", 7, "'Quail'"),
    "other number": (ANNOTATION_FILE, b"(2 Quill)", b"(3 Quill)", 7, "document 2 of train"),
    "other split": (ANNOTATION_FILE, b"(4testb Tor)", b"(4testa Tor)", 13, "of dev"),
    "document lost": (ANNOTATION_FILE, b"\r\n-DOCSTART- (4testb Tor)", b"", 10, "but 4 in"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_named_by_file_and_line(tmp_path, damage):
    file, old, new, line, what = DAMAGES[damage]
    files = aida_files()
    assert files[file].count(old) == 1
    folder = write(tmp_path, {**files, file: files[file].replace(old, new)})
    with pytest.raises(CorpusError) as caught:
        read_aida(folder)
    message = str(caught.value)
    assert what in message
    if damage == "annotation lost":  # it is the text that shows it
        assert message.startswith(f"{folder / 'eng.train'}, line {line}: ")
    else:
        assert message.startswith(f"{folder / file}, line {line}: ")


@pytest.mark.parametrize("file", aida_files())
def test_utf16_is_refused(tmp_path, file):
    files = aida_files()
    folder = write(tmp_path, {**files, file: files[file].decode().encode("utf-16")})
    with pytest.raises(CorpusError, match=f"{file}, line 1: byte 0xff is not UTF-8"):
        read_aida(folder)


@pytest.mark.parametrize("file", aida_files())
def test_a_missing_file_is_named(tmp_path, file):
    folder = write(tmp_path, aida_files())
    (folder / file).unlink()
    with pytest.raises(CorpusError, match=f"{file}: cannot be read: No such file"):
        read_aida(folder)


@settings(deadline=None, derandomize=True, max_examples=150)
@given(st.data())
def test_damaged_bytes_give_documents_or_a_corpus_error(draws):
    files = aida_files()
    file = draws.draw(st.sampled_from(sorted(files)))
    files[file] = draws.draw(damaged(files[file]))
    with tempfile.TemporaryDirectory() as folder:
        result = attempt(read_aida, write(Path(folder), files))
    if isinstance(result, CorpusError):
        assert folder in str(result)
    else:
        for document in result:
            check_offsets(document)


def test_the_real_corpus_has_the_known_counts(aida):
    assert Counter(document.split for document in aida) == {"train": 946, "dev": 216, "test": 231}
    assert [document.id for document in aida] == [str(n) for n in range(1, 1394)]
    linked = Counter(document.split for document in aida for _ in document.in_kb())
    assert linked == {"train": 18541, "dev": 4791, "test": 4485}
    outside = Counter(mention.gold for document in aida for mention in document.mentions)[NIL]
    assert outside == 7112


def test_the_real_corpus_has_exact_offsets(aida):
    for document in aida:
        check_offsets(document)
    types = {mention.type for document in aida for mention in document.mentions}
    assert types == {"PER", "ORG", "LOC", "MISC"}
    for document in aida:
        for mention in document.in_kb():
            assert mention.title
            assert "_" not in mention.title
            assert "\\u" not in mention.title
