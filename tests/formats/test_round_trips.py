"""Every format: what is written and read again is what the format says it can hold."""

import json
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings

from sgtb.core.errors import CorpusError
from sgtb.core.records import Document
from sgtb.formats.registry import (
    FORMATS,
    detect_format,
    format_for,
    format_of,
    read_documents,
    write_documents,
)
from tests.helpers.made_documents import corpora

NAMES = {"aida": "a.tsv", "wned": "folder", "nif": "a.ttl", "docbin": "a.spacy", "jsonl": "a.jsonl"}


def name_of(format: str) -> str:
    return NAMES.get(format, f"a.{format}.jsonl")


def fitted(made: list[Document], format: str) -> list[Document]:
    losses: Counter[str] = Counter()
    fitting = (format_of(format).capacity.fit(document, losses) for document in made)
    return [document for document in fitting if document is not None]


def again(documents, path: Path, format: str) -> tuple[list[Document], Counter[str]]:
    losses: Counter[str] = Counter()
    count = write_documents(documents, path, format, losses)
    read = list(read_documents(path, format))
    assert count == len(read)
    return read, losses


@pytest.mark.parametrize("format", FORMATS)
def test_what_fits_comes_back(format):
    @settings(deadline=None, derandomize=True, max_examples=30)
    @given(corpora(controls=format != "wned"))
    def check(made):
        with tempfile.TemporaryDirectory() as folder:
            read, _ = again(made, Path(folder, name_of(format)), format)
            assert read == fitted(made, format)
            # What was read can be held as a whole, and is found out by what it holds.
            second = Path(folder, f"b{name_of(format)}")
            twice, losses = again(read, second, format)
            assert twice == read
            assert not losses
            if read and format != "wned":
                assert detect_format(second) == format

    check()


@pytest.mark.parametrize("format", [f for f in FORMATS if f not in ("aida", "jsonl")])
def test_texts_and_spans_are_kept_to_the_code_point(format, tmp_path):
    text = '😀 Orlan\r\ne\u0301 Zoë\'s 👩‍👩‍👧 day.\t"Orlan" \\ <b>&amp;\n\nEnd  '
    source = tmp_path / "source.jsonl"
    spans = [
        (2, 7),
        (text.index("Zoë"), text.index("Zoë") + 3),
        (text.rindex("Orlan"), text.rindex("Orlan") + 5),
    ]
    mentions = [f'{{"start": {start}, "end": {end}, "entity": "Q{start}"}}' for start, end in spans]
    source.write_text(
        f'{{"id": "d", "text": {json.dumps(text)}, "mentions": [{", ".join(mentions)}]}}'
    )
    (document,) = read_documents(source)
    (back,), _ = again([document], tmp_path / name_of(format), format)
    assert (back.id, back.text) == ("d", text)
    assert [(m.start, m.end, m.text, m.gold) for m in back.mentions] == [
        (start, end, text[start:end], f"Q{start}") for start, end in spans
    ]


def test_jsonl_loses_nothing():
    @settings(deadline=None, derandomize=True, max_examples=30)
    @given(corpora())
    def check(made):
        with tempfile.TemporaryDirectory() as folder:
            read, losses = again(made, Path(folder, "a.jsonl.gz"), "jsonl")
        assert read == made
        assert not losses

    check()


def test_what_is_lost_is_counted(tmp_path):
    source = tmp_path / "source.jsonl"
    source.write_text(
        '{"id": "7", "split": "dev", "text": "Old Orlan  won.", "mentions": ['
        '{"start": 0, "end": 9, "entity": "Q1", "title": "Old Orlan", "type": "ORG"},'
        '{"start": 4, "end": 9, "entity": null},'
        '{"start": 4, "end": 9, "candidates": ["Q1"]}]}\n'
        '{"id": "8", "text": "Nothing."}\n'
    )
    made = list(read_documents(source))
    lost = {format: again(made, tmp_path / name_of(format), format)[1] for format in FORMATS}
    nil = "mentions that mean nothing in the knowledge base (NIL)"
    bare, splits = "mentions that are not annotated", "splits of documents"
    lists, empty = "lists of candidates", "documents without mentions"
    overlap, layout = "mentions that overlap others", "texts, of which only the tokens are kept"
    ids = "ids of entities, which are written in another way"
    assert lost == {
        "aida": {bare: 1, overlap: 1, "types": 1, layout: 2},
        "wned": {bare: 1, "types": 1, splits: 1, ids: 1},
        "jsonl": {},
        "zelda": {nil: 1, bare: 1, "types": 1, splits: 1},
        "blink": {nil: 1, "types": 1, splits: 1, lists: 1, empty: 1},
        "kilt": {nil: 1, "types": 1, splits: 1, lists: 1, empty: 1},
        "elevant": {bare: 1, splits: 1},
        "nif": {overlap: 1, "titles": 1, splits: 1},
        "docbin": {overlap: 2, "titles": 1},
    }


def test_the_same_documents_give_the_same_bytes(tmp_path):
    source = tmp_path / "source.jsonl"
    source.write_text(
        '{"id": "7", "text": "Orlan.", "mentions": [{"start": 0, "end": 5, "entity": 9}]}'
    )
    for format in FORMATS:
        if format == "wned":
            continue
        for packing in ("", ".gz", ".bz2", ".xz"):
            names = [tmp_path / f"{i}{name_of(format)}{packing}" for i in range(2)]
            for name in names:
                write_documents(read_documents(source), name, format)
            assert names[0].read_bytes() == names[1].read_bytes()
            assert detect_format(names[0]) == format
            assert [m.gold for d in read_documents(names[0]) for m in d.mentions] == ["9"]


def test_half_of_a_surrogate_pair_cannot_be_written(tmp_path):
    source = tmp_path / "source.jsonl"
    source.write_text('{"id": "7", "text": "Orlan."}')
    (document,) = read_documents(source)
    for format in FORMATS:
        with pytest.raises(CorpusError, match="document '7' has half of a surrogate pair"):
            write_documents([replace(document, text="\ud83d")], tmp_path / "x", format)
        assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("format", ["wned", "blink", "kilt", "nif"])
def test_two_documents_of_one_id_are_refused(format, tmp_path):
    source = tmp_path / "source.jsonl"
    source.write_text(
        '{"id": "7", "text": "Orlan.", "mentions": [{"start": 0, "end": 5, "entity": 9}]}'
    )
    (document,) = read_documents(source)
    with pytest.raises(CorpusError, match="'7'"):
        write_documents([document, document], tmp_path / "x", format)
    assert [path.name for path in tmp_path.iterdir()] == ["source.jsonl"]


def test_a_failure_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text("old")

    def broken():
        yield from ()
        raise CorpusError("broken")

    with pytest.raises(CorpusError, match="broken"):
        write_documents(broken(), path, "jsonl")
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("a.jsonl", "old")]


def test_formats_by_the_names_of_files():
    assert {format: format_for(name_of(format)) for format in FORMATS} == {f: f for f in FORMATS}
    assert format_for("x/news.benchmark.jsonl.xz") == "elevant"
    with pytest.raises(CorpusError, match=r"a\.csv: no format has this ending; choose one of aida"):
        format_for("a.csv")
    with pytest.raises(CorpusError, match="unknown format 'xml'; choose one of aida, wned"):
        read_documents("a", "xml")


@pytest.mark.parametrize("format", FORMATS)
def test_real_documents_come_back(aida, format, tmp_path):
    some = list(aida[::40])
    read, _ = again(some, tmp_path / name_of(format), format)
    if format in ("aida", "jsonl"):
        assert read == fitted(some, format)
        return
    assert [(d.id, d.text) for d in read] == [(d.id, d.text) for d in fitted(some, format)]
    for one, other in zip(read, fitted(some, format), strict=True):
        assert [(m.start, m.end, m.gold) for m in one.mentions] == [
            (m.start, m.end, m.gold) for m in other.mentions
        ]


def test_all_of_aida_comes_back_as_its_one_file(tmp_path, aida):
    path = tmp_path / "AIDA-YAGO2-dataset.tsv"
    read, losses = again(aida, path, "aida")
    untyped = [replace(d, mentions=tuple(replace(m, type=None) for m in d.mentions)) for d in aida]
    assert read == untyped
    assert losses == {"types": sum(len(document.mentions) for document in aida)}
    rows = path.read_text().splitlines()
    assert rows[:2] == ["-DOCSTART- (1 EU)", "EU\tB\tEU\t--NME--"]
    assert rows[3] == "German\tB\tGerman\tGermany\thttp://en.wikipedia.org/wiki/Germany\t11867"


def test_wned_comes_back(wned, tmp_path):
    documents = [
        replace(document, id=f"{name}/{document.id}")
        for name in ("ace", "aquaint", "msnbc")
        for document in wned[name].documents
    ]
    read, losses = again(documents, tmp_path / "wned", "wned")
    assert read == documents
    assert not losses
    # One of several sets is read by its file, and as a folder.
    for path in (tmp_path / "wned" / "ace", tmp_path / "wned" / "ace" / "ace.xml"):
        assert tuple(read_documents(path)) == wned["ace"].documents
    with pytest.raises(CorpusError, match="wned: already exists; remove it"):
        write_documents(documents, tmp_path / "wned", "wned")
