"""Formats as others publish them: what is read, and how damage is told."""

import re
import tempfile
import tracemalloc
import zlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sgtb.core import errors
from sgtb.core.errors import CorpusError, MissingExtraError
from sgtb.core.records import NIL, Document
from sgtb.formats import codecs, registry
from sgtb.formats.conversion import convert
from sgtb.formats.error_handler import ErrorList
from sgtb.formats.registry import (
    FORMATS,
    detect_format,
    format_of,
    read_documents,
    write_documents,
)
from tests.helpers.corpus_files import aida_files, attempt, damaged, packed, wned_files, write
from tests.helpers.damaged_corpora import DAMAGES
from tests.helpers.published_corpora import FILES


def read(tmp_path: Path, format: str, content: str | None = None) -> list[Document]:
    path = tmp_path / "file"
    path.write_text(FILES[format] if content is None else content, "utf-8", newline="")
    assert detect_format(path) == format
    return list(read_documents(path))


def facts(document: Document) -> list[tuple[object, ...]]:
    return [(m.text, m.gold, m.title, m.type) for m in document.mentions]


def check(document: Document) -> None:
    """Raise unless all parts of a document are where they say."""
    for part in (*document.tokens, *document.mentions):
        assert document.text[part.start : part.end] == part.text
    assert list(document.mentions) == sorted(document.mentions, key=lambda m: (m.start, m.end))
    ends = [0, *(stop for _, stop in document.sentences)]
    assert [first for first, _ in document.sentences] == ends[:-1]
    assert ends[-1] == len(document.tokens)
    for mention in document.mentions:
        first, last = document.tokens[mention.first], document.tokens[mention.stop - 1]
        assert first.start < mention.end
        assert last.end > mention.start
        assert mention.gold != ""


def test_jsonl(tmp_path):
    one, two = read(tmp_path, "jsonl")
    assert (one.id, one.split, two.id, two.split) == ("d1", "", "3", "dev")
    assert facts(one) == [
        ("Old", None, None, None), ("Orlan", NIL, None, None), ("Vessa", "Q2", None, None)
    ]  # fmt: skip
    assert facts(two) == [("Anna", "13", "Anna Meck", "PER")]
    assert two.mentions[0].candidates == ("13", "14")
    assert [token.text for token in one.tokens] == ["Old", "Orlan", "beat", "Vessa", "."]


def test_jsonl_may_bring_tokens_and_sentences(tmp_path):
    (document,) = read(
        tmp_path,
        "jsonl",
        '{"text": "Anna-Meck. Old", "tokens": [[0, 4], [4, 9], [9, 10], [11, 14]],'
        ' "sentences": [[0, 4]], "mentions": [{"start": 4, "end": 9}]}',
    )
    assert [token.text for token in document.tokens] == ["Anna", "-Meck", ".", "Old"]
    assert document.sentences == ((0, 4),)
    assert (document.mentions[0].first, document.mentions[0].stop) == (1, 2)


def test_zelda(tmp_path):
    one, two = read(tmp_path, "zelda")
    assert (one.id, two.id, two.text) == ("1163testb", "3", "😀 Anna")
    assert facts(one) == [
        ("Old Orlan", "12", "Orlan Rovers", None), ("Vessa", "11", "Vessa F.C.", None)
    ]  # fmt: skip


def test_blink(tmp_path):
    one, two, three = read(tmp_path, "blink")
    assert (one.id, one.text) == ("947testa CRICKET", "Orlan won .  Vessa lost .")
    assert facts(one) == [("Orlan", "14", "Orlan", None), ("Vessa", "11", "Vessa F.C.", None)]
    assert (two.id, two.text, facts(two)) == (
        "3", "in quill today", [("quill", "3", "Quill", None)]
    )  # fmt: skip
    assert (three.text, facts(three)) == ("in nowhere", [("nowhere", None, None, None)])


def test_kilt(tmp_path):
    one, two = read(tmp_path, "kilt")
    assert (one.id, one.text) == ("947testa CRICKET", "Orlan won .  Vessa lost .")
    assert facts(one) == [("Orlan", "14", "Orlan", None), ("Vessa", "11", "Vessa F.C.", None)]
    assert (two.id, two.text, facts(two)) == (
        "t1", "In Quill it rains.", [("Quill", None, None, None)]
    )  # fmt: skip


def test_passages_of_other_texts_are_other_documents(tmp_path):
    rows = [
        f'{{"context_left": "{left}", "mention": "Orlan", "context_right": "", "query_id": "d:{i}",'
        ' "label_id": 1}'
        for i, left in enumerate(("In", "Near", "Near"))
    ]
    assert [(d.id, d.text, len(d.mentions)) for d in read(tmp_path, "blink", "\n".join(rows))] == [
        ("d", "In Orlan", 1), ("d#2", "Near Orlan", 2)
    ]  # fmt: skip


def test_elevant(tmp_path):
    (document,) = read(tmp_path, "elevant")
    assert document.id == "0"
    assert facts(document) == [
        ("Old Orlan", NIL, None, "OTHER"),
        ("Orlan", "Q7", "Orlan", "Q27096213"),
        ("Vessa", "Q2", "Vessa", "Q43229|Q431289"),
    ]
    write_documents([document], tmp_path / "again", "elevant")
    labels = re.findall(r'"parent": (\S+), "children": (\[.*?\])', (tmp_path / "again").read_text())
    assert labels == [("null", "[1]"), ("0", "[]"), ("null", "[]")]


def test_nif(tmp_path):
    one, two = read(tmp_path, "nif")
    assert (one.id, one.text) == ("http://example.org/z", 'Old "Orlan" beat Vessa')
    assert facts(one) == [
        ("Orlan", NIL, None, "http://example.org/Town"),
        ("Vessa", "http://dbpedia.org/resource/Vessa_FC", None, None),
    ]
    assert (two.id, two.text, facts(two)) == (
        "http://example.org/a", "😀 Anna", [("Anna", None, None, None)]
    )  # fmt: skip


def test_aida_as_one_file(tmp_path):
    one, two, three = read(tmp_path, "aida")
    assert [(d.id, d.split) for d in (one, two, three)] == [
        ("1", "train"), ("947", "dev"), ("clueweb12-0500", "")
    ]  # fmt: skip
    assert one.text == "Vessa Town Old sleeps .\nAnna\nMeck"
    assert one.sentences == ((0, 5), (5, 6), (6, 7))
    assert facts(one) == [
        ("Vessa Town", "11", "Vessa F.C.", None),
        ("Old", NIL, None, None),
        ("Anna\nMeck", "13", "Anna Meck", None),
    ]
    assert facts(three) == [("Orlan", "Orlan", "Orlan", None)]
    crlf = FILES["aida"].replace("\n", "\r\n")
    assert read(tmp_path, "aida", crlf) == [one, two, three]


def test_aida_as_a_folder_and_as_one_file_are_the_same(tmp_path):
    folder = write(tmp_path / "aida", aida_files())
    documents = list(read_documents(folder))
    path = tmp_path / "a.tsv"
    write_documents(documents, path, "aida")
    again = list(read_documents(path))
    assert [(d.id, d.text, d.split, d.sentences) for d in again] == [
        (d.id, d.text, d.split, d.sentences) for d in documents
    ]
    assert [facts(d) for d in again] == [
        [(*fact[:3], None) for fact in facts(document)] for document in documents
    ]


def test_docbin_from_spacy_itself(tmp_path):
    import spacy
    from spacy.tokens import DocBin, Span

    nlp = spacy.blank("en")
    doc = nlp("😀 Old Orlan  beat\nVessa.")
    doc.ents = [
        Span(doc, 2, 3, "LOC", kb_id="Q7"),
        Span(doc, 6, 7, "ORG"),
        Span(doc, 1, 2, "X", kb_id="NIL"),
    ]
    path = tmp_path / "a.spacy"
    DocBin(docs=[doc, nlp("")]).to_disk(path)
    assert detect_format(path) == "docbin"
    one, two = read_documents(path)
    assert (one.id, one.text, two.id, two.text) == ("1", doc.text, "2", "")
    assert facts(one) == [
        ("Old", NIL, None, "X"), ("Orlan", "Q7", None, "LOC"), ("Vessa", None, None, "ORG")
    ]  # fmt: skip


def test_docbin_holds_docs_that_spacy_reads(tmp_path):
    import spacy
    from spacy.tokens import DocBin

    mention = '{"start": 5, "end": 10, "entity": "Q7"}'
    line = f'{{"text": "O\\u0301ld-Orlan  won", "mentions": [{mention}]}}'
    source = list(read_documents_of(tmp_path, line))
    write_documents(source, tmp_path / "a.spacy", "docbin")
    (doc,) = DocBin().from_disk(tmp_path / "a.spacy").get_docs(spacy.blank("en").vocab)
    assert doc.text == source[0].text
    assert [(ent.text, ent.kb_id_, ent.label_) for ent in doc.ents] == [("Orlan", "Q7", "ENTITY")]


def read_documents_of(tmp_path: Path, content: str):
    path = tmp_path / "source.jsonl"
    path.write_text(content, "utf-8")
    return read_documents(path)


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_named_by_file_and_line(tmp_path, damage):
    format, old, new, line, what = DAMAGES[damage]
    content = FILES[format]
    assert content.replace("\\ud83d\\ude00", "😀").count(old) == 1
    path = tmp_path / "file"
    path.write_text(content.replace(old, new.replace("\\\\", "\\")), "utf-8")
    with pytest.raises(CorpusError) as caught:
        list(read_documents(path, format))
    assert str(caught.value).startswith(f"{path}, line {line}: ")
    assert what in str(caught.value)
    # Who only takes notes hears the same, and reads on.
    notes = ErrorList()
    if damage not in ("no Turtle",):
        assert len(list(read_documents(path, format, notes))) >= (1 if damage != "no header" else 2)
        assert str(notes.errors[0]) == str(caught.value)


@pytest.mark.parametrize("format", FILES)
def test_bytes_that_are_no_utf8_are_named_by_line(tmp_path, format):
    lines = FILES[format].encode().split(b"\n")
    last = max(i for i, line in enumerate(lines) if line)
    lines[last] = lines[last].replace(b"a", b"\xe9", 1)
    path = tmp_path / "file"
    path.write_bytes(b"\n".join(lines))
    with pytest.raises(CorpusError, match=f"file, line {last + 1}: byte 0xe9 is not UTF-8"):
        list(read_documents(path, format))


@pytest.mark.parametrize("format", [*FILES, "wned"])
def test_damaged_bytes_give_documents_or_an_error_that_says_where(format):
    files = {"file": FILES[format].encode()} if format in FILES else wned_files()
    name = "file" if format in FILES else "wned/ace/ace.xml"

    @settings(deadline=None, derandomize=True, max_examples=60)
    @given(st.data())
    def check_all(draws):
        content = draws.draw(damaged(files[name]))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "file" if format in FILES else "file.tar")
            path.write_bytes(content if format in FILES else packed({**files, name: content}))
            read_all = lambda path: list(read_documents(path, format))  # noqa: E731
            result = attempt(read_all, path)
            heard = attempt(lambda path: list(read_documents(path, format, ErrorList())), path)
        if isinstance(result, CorpusError):
            assert re.match(rf"{re.escape(str(path))}(:\S+)?, line [0-9]+: ", str(result))
        else:
            assert heard == result
        for document in () if isinstance(heard, CorpusError) else heard:
            check(document)

    check_all()


def test_a_damaged_docbin_is_refused(tmp_path):
    path = tmp_path / "a.spacy"
    write_documents(read_documents_of(tmp_path, FILES["jsonl"]), path, "docbin")
    whole = path.read_bytes()
    unpacked = zlib.decompress(whole)
    for content in (
        whole[:-9], whole[:40] + b"x" + whole[41:], b"", b"{}", zlib.compress(unpacked[:-30]),
        zlib.compress(b"\x81\xa5attrs\x90"), zlib.compress(unpacked.replace(b"tokens", b"token5")),
    ):  # fmt: skip
        path.write_bytes(content)
        with pytest.raises(CorpusError, match=r"a\.spacy: not a DocBin of spaCy, or damaged"):
            list(read_documents(path, "docbin"))


def test_what_no_format_has_is_said(tmp_path):
    for content, why in {
        b"": "an empty file",
        b"Orlan won.\n": "it begins like none",
        b'{"title": "x", "body": "y"}\n': "none has the keys body, title",
    }.items():
        path = tmp_path / "file"
        path.write_bytes(content)
        with pytest.raises(CorpusError, match=f"file: unknown format: {why}; name the format"):
            detect_format(path)
    with pytest.raises(CorpusError, match="the folder has the files of none"):
        detect_format(tmp_path)
    with pytest.raises(CorpusError, match=r"none: cannot be read: No such file"):
        detect_format(tmp_path / "none")


def test_damaged_packing_is_said(tmp_path):
    for ending in (".gz", ".bz2", ".xz"):
        path = tmp_path / f"a.jsonl{ending}"
        write_documents(read_documents_of(tmp_path, FILES["jsonl"]), path, "jsonl")
        path.write_bytes(path.read_bytes()[:-12])
        with pytest.raises(
            CorpusError, match=rf"a\.jsonl\{ending}: cannot be decompressed: .*again"
        ):
            list(read_documents(path, "jsonl"))


def test_extras_are_named(tmp_path, monkeypatch):
    def missing(name):
        raise ImportError(f"No module named {name!r}", name=name)

    (tmp_path / "a.ttl").write_text(FILES["nif"])
    monkeypatch.setattr(errors, "import_module", missing)
    with pytest.raises(MissingExtraError, match=r"rdflib: pip install 'sgtb\[nif\]'"):
        list(read_documents(tmp_path / "a.ttl"))
    with pytest.raises(MissingExtraError, match=r"pip install 'sgtb\[spacy\]'"):
        write_documents([], tmp_path / "a.spacy", "docbin")
    write_documents(read_documents_of(tmp_path, FILES["jsonl"]), tmp_path / "b.ttl", "nif")


def peak_of(work) -> int:
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("target", ["jsonl", "blink", "aida"])
def test_memory_does_not_grow_with_the_file(tmp_path, target):
    # Few long documents: Python keeps up to 2,000 freed tuples of each size.
    line = FILES["jsonl"].splitlines()[0].replace("d1", "d%d")
    line = line.replace("beat Vessa.", "beat Vessa." + " long" * 2500)
    path = tmp_path / "corpus.jsonl"
    sizes, reading, converting = [], [], []
    for count in (10, 50):
        path.write_text("\n".join(line % i for i in range(count)))
        sizes.append(path.stat().st_size)
        reading.append(peak_of(lambda: [None for _ in read_documents(path, "jsonl")]))
        converting.append(peak_of(lambda: convert(path, tmp_path / "out", "jsonl", target)))
    for few, many in (reading, converting):
        assert many - few < (sizes[1] - sizes[0]) / 10


def test_the_page_tells_what_formats_can_hold():
    page = (Path(__file__).parents[2] / "docs" / "guide" / "formats.md").read_text("utf-8")
    _, rows = page.partition("| | titles |")[2].partition("\n\n")[0].split("|---|\n", 1)
    told = {}
    for row in rows.splitlines():
        name, *cells = (cell.strip() for cell in row.strip("|").split("|"))
        told[name.strip("`")] = cells
    assert set(told) == set(FORMATS)
    for name, cells in told.items():
        held = format_of(name).capacity
        yes = (held.titles, held.types, held.candidates, held.splits, held.nil, held.unannotated)
        assert cells == [
            *("yes" if one else "no" for one in yes),
            held.overlaps,
            "yes" if held.empty else "no",
        ], name


CODEC = """
from sgtb.formats.annotated import annotated_document
from sgtb.formats.corpus_format import Capacity
from sgtb.formats.json_lines import line_format


def document(line, handler):
    body = line.text("body")
    return annotated_document(line.id(), body, (), error=line.error, handler=handler)


def fields(document):
    yield {"id": document.id, "body": document.text}


FORMAT = line_format(
    document,
    fields,
    name="bodies",
    about="texts only",
    capacity=Capacity(nil=False, unannotated=False),
    endings=(".bodies.jsonl",),
    json_keys=(("body",),),
)
"""


def test_a_format_is_one_module_and_one_line(tmp_path, monkeypatch):
    (tmp_path / "bodies.py").write_text(CODEC)
    monkeypatch.setattr(codecs, "__path__", [*codecs.__path__, str(tmp_path)])
    monkeypatch.setattr(registry, "_FORMATS", registry._load((*registry._CODECS, "bodies")))
    path = tmp_path / "news.bodies.jsonl"
    path.write_text('{"id": "1", "body": "Orlan won."}\n')
    assert detect_format(path) == registry.format_for(path) == "bodies"
    converted = convert(path, tmp_path / "news.jsonl")
    assert (converted.source_format, converted.written) == ("bodies", 1)
    convert(tmp_path / "news.jsonl", tmp_path / "again.bodies.jsonl")
    assert (tmp_path / "again.bodies.jsonl").read_text() == path.read_text()
