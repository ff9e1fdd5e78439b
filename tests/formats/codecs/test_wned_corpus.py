"""WNED: annotations found in their texts, and XML that is not to be trusted."""

import lzma
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sgtb.core.errors import CorpusError
from sgtb.core.records import NIL
from sgtb.formats.codecs.wned_corpus import MAX_SHIFT, WNED_SETS, read_wned
from sgtb.formats.error_handler import ErrorHandler, ErrorList
from tests.conftest import part
from tests.helpers.corpus_files import RAW, annotation, attempt, damaged, packed, wned_files, write

XML = "wned/ace/ace.xml"


class NoErrors(ErrorHandler):
    """Raises on repairs, too."""

    repair = ErrorHandler.error


def read_ace(tmp_path, *annotations: str, handler=None):
    files = write(tmp_path, wned_files(*annotations))
    (corpus, *_) = read_wned(files, handler or NoErrors())
    return corpus


def check_offsets(corpus):
    for document in corpus.documents:
        for span in (*document.tokens, *document.mentions):
            assert document.text[span.start : span.end] == span.text
        for mention in document.mentions:
            assert mention.text == mention.text.strip() != ""
            first, last = document.tokens[mention.first], document.tokens[mention.stop - 1]
            assert first.start <= mention.start < first.end
            assert last.start < mention.end <= last.end


def test_a_small_set(tmp_path):
    corpus = read_ace(tmp_path)
    assert corpus.name == "ace"
    (document,) = corpus.documents
    assert (document.id, document.text, document.split) == ("fair", RAW, "")
    assert [document.tokens[i].text for i, _ in document.sentences] == ["In", "The"]
    orlan, anna = document.mentions
    assert (orlan.text, orlan.first, orlan.stop) == ("Orlan", 1, 2)
    assert (orlan.gold, orlan.title, orlan.candidates) == ("Orlan", "Orlan", None)
    assert (anna.text, anna.gold, anna.title) == ("Anna", NIL, None)
    check_offsets(corpus)


def test_all_sets_from_folder_or_archive(tmp_path):
    archive = tmp_path / "small.tar.xz"
    archive.write_bytes(lzma.compress(packed(wned_files())))
    corpora = read_wned(archive)
    assert tuple(corpus.name for corpus in corpora) == WNED_SETS
    folder = write(tmp_path, wned_files())
    assert read_wned(folder) == corpora
    assert read_wned(folder / "wned") == corpora


@pytest.mark.parametrize(
    ("given", "text", "start", "found", "action"),
    [
        (annotation("Anna", "", 11), "Anna", 10, "nna ", "found -1"),
        (annotation("Orlan", "Orlan", 65), "Orlan", 73, "town ", "found +8"),
        (annotation("Orlan", "Orlan", 5), "Orlan", 3, "lan, ", "found -2"),
        (annotation("Anna Meck", "", 10, 12), "Anna Meck", 10, "Anna Meck sa", "found +0"),
        (annotation("Orlan & Vessa Fair", "", 30, 22), "Orlan &amp; Vessa Fair", 30,
         "Orlan &amp; Vessa Fair", "escaped"),
        (annotation("Quill", "Quill", 5), None, 0, "lan, ", "dropped: not within"),
        (annotation("Anna", "", 999_999), None, 0, "", "dropped: not within"),
        (annotation(" ", "", 2), None, 0, " ", "dropped: no text"),
    ],
)  # fmt: skip
def test_annotations_that_miss_their_text(tmp_path, given, text, start, found, action):
    handler = ErrorList()
    corpus = read_ace(tmp_path, given, handler=handler)
    dropped = action.startswith("dropped")
    assert (len(handler.errors), len(handler.repairs)) == (dropped, not dropped)
    message = str((handler.errors + handler.repairs)[0])
    assert f"{XML}, line 4: " in message
    assert f"is {found!r} at its offset; " in message
    assert action in message
    assert [(m.text, m.start) for m in corpus.documents[0].mentions] == (
        [] if text is None else [(text, start)]
    )
    check_offsets(corpus)


def test_a_text_is_not_looked_for_far_away(tmp_path):
    files = wned_files(annotation("Orlan", "Orlan", 0))
    files["wned/ace/RawText/fair"] = b"." * (MAX_SHIFT + 1) + b"Orlan"
    with pytest.raises(CorpusError, match="dropped: not within"):
        read_wned(write(tmp_path, files), ErrorHandler())


def test_spaces_around_a_mention_are_not_part_of_it(tmp_path):
    corpus = read_ace(tmp_path, annotation(" Anna Meck ", "Anna_Meck", 9))
    (mention,) = corpus.documents[0].mentions
    assert (mention.text, mention.start, mention.gold) == ("Anna Meck", 10, "Anna Meck")


def test_a_mention_inside_a_token_has_that_token(tmp_path):
    corpus = read_ace(tmp_path, annotation("rla", "", 4))
    (mention,) = corpus.documents[0].mentions
    assert (mention.first, mention.stop) == (1, 2)


def test_a_document_that_is_there_twice_has_two_ids(tmp_path):
    files = wned_files()
    head, _, tail = files[XML].partition(b"</document>")
    files[XML] = head + b'</document><document docName="fair"></document>' + tail
    (corpus, *_) = read_wned(write(tmp_path, files))
    assert [document.id for document in corpus.documents] == ["fair", "fair#2"]


def test_a_byte_order_mark_counts_but_is_no_token(tmp_path):
    files = wned_files(annotation("Orlan", "Orlan", 4))
    files["wned/ace/RawText/fair"] = b"\xef\xbb\xbf" + RAW.encode()
    (corpus, *_) = read_wned(write(tmp_path, files), NoErrors())
    assert corpus.documents[0].tokens[0].text == "In"


DAMAGES = {
    "latin-1": (b"<mention>Anna", b"<mention>\xc4nna", 11, "byte 0xc4 is not UTF-8"),
    "no text": (b'docName="fair"', b'docName="fare"', 3, "no RawText/fare"),
    "no name": (b'docName="fair"', b"", 3, "docName"),
    "offset": (b"<offset>10<", b"<offset>ten<", 10, "'ten'"),
    "negative offset": (b"<offset>10<", b"<offset>-1<", 10, "'-1'"),
    "no offset": (b"<offset>10</offset>", b"", 10, "no <offset>"),
    "two offsets": (b"<offset>10<", b"<offset>1</offset><offset>0<", 13, "second <offset>"),
    "length": (b"<length>4<", b"<length>4.0<", 10, "'4.0'"),
    "no mention": (b"<mention>Anna</mention>", b"", 10, "no <mention>"),
    "no title": (b"<wikiName>NIL</wikiName>", b"", 10, "no <wikiName>"),
    "not closed": (b"<wikiName>NIL</wikiName>", b"<wikiName>NIL", 15, "not XML: mismatched tag"),
    "cut": (b"\t</document>\n</ace.entityAnnotation>\n", b"", 16, "not XML: no element found"),
    "other element": (b"\t</document>", b"<note/></document>", 16, "expected <annotation>"),
    "other document": (b"</document>", b"</document><doc/>", 16, "expected <document"),
    "undefined entity": (b">NIL<", b">&nil;<", 12, "not XML: undefined entity"),
    "document type": (
        b"<ace.entityAnnotation>",
        b'<!DOCTYPE a [<!ENTITY b "c"> <!ENTITY d "&b;&b;">]>\n<ace.entityAnnotation>',
        2,
        "a document type",
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_named_by_file_and_line(tmp_path, damage):
    old, new, line, what = DAMAGES[damage]
    files = wned_files()
    assert files[XML].count(old) == 1
    folder = write(tmp_path, {**files, XML: files[XML].replace(old, new)})
    with pytest.raises(CorpusError) as caught:
        read_wned(folder)
    assert str(caught.value).startswith(f"{folder / XML}, line {line}: ")
    assert what in str(caught.value)


@pytest.mark.parametrize("file", [XML, "wned/ace/RawText/fair"])
def test_utf16_is_refused(tmp_path, file):
    files = wned_files()
    files[file] = files[file].decode().encode("utf-16")
    with pytest.raises(CorpusError, match=f"{file}, line 1: byte 0xff is not UTF-8"):
        read_wned(write(tmp_path, files))


def test_an_empty_xml_file_is_refused(tmp_path):
    folder = write(tmp_path, {**wned_files(), XML: b""})
    with pytest.raises(CorpusError, match=r"ace.xml, line 1: not XML: no element found"):
        read_wned(folder)


def test_what_is_missing_is_named(tmp_path):
    files = wned_files()
    del files["wned/clueweb/clueweb.xml"]
    folder = write(tmp_path, files)
    with pytest.raises(CorpusError, match=r"clueweb/clueweb\.xml is missing"):
        read_wned(folder)
    with pytest.raises(CorpusError, match=r"none\.tar\.xz: cannot be read: No such file"):
        read_wned(tmp_path / "none.tar.xz")
    whole = lzma.compress(packed(wned_files()))
    (tmp_path / "cut.tar.xz").write_bytes(whole[:-50])
    with pytest.raises(CorpusError, match=r"cut\.tar\.xz: cannot be decompressed"):
        read_wned(tmp_path / "cut.tar.xz")


@settings(deadline=None, derandomize=True, max_examples=150)
@given(st.data())
def test_damaged_bytes_give_documents_or_a_corpus_error(draws):
    files = wned_files()
    file = draws.draw(st.sampled_from((XML, "wned/ace/RawText/fair")))
    files[file] = draws.draw(damaged(files[file]))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "damaged.tar")
        path.write_bytes(packed(files))
        result = attempt(read_wned, path)
    if isinstance(result, CorpusError):
        assert f"{path}:{file}, line " in str(result) or f"{path}:{XML}, line " in str(result)
    else:
        for corpus in result:
            check_offsets(corpus)


def test_the_real_sets_have_the_known_counts(wned):
    linked = {
        name: sum(1 for document in corpus.documents for _ in document.in_kb())
        for name, corpus in wned.items()
    }
    assert linked == {
        "ace": 257,
        "aquaint": 727,
        "msnbc": 656,
        "clueweb": 11154,
        "wikipedia": 6821,
    }


def test_the_real_sets_have_exact_offsets(data, wned):
    for corpus in wned.values():
        check_offsets(corpus)
        ids = [document.id for document in corpus.documents]
        assert len(set(ids)) == len(ids)
    handler = ErrorList()
    read_wned(part(data, "wned.tar.xz"), handler=handler)
    mentions = sum(len(d.mentions) for corpus in wned.values() for d in corpus.documents)
    assert mentions == 19747
    assert 0 < len(handler.repairs) / mentions < 0.002
    assert not handler.errors
