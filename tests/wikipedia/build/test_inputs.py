"""What is given besides dumps, what may be wrong with it, builds that fail, and real dumps."""

import sys
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from sgtb.core.errors import DumpError, KnowledgeBaseError, MissingExtraError, SettingsError
from sgtb.kb import KnowledgeBase
from sgtb.kb.kb_folder import data_folder
from sgtb.wikipedia.build.dump_build import WikiSettings, build_wiki
from tests.helpers.wiki_dump import (
    GERMAN,
    GERMAN_PAGES,
    IDS,
    PAGES,
    counts,
    digests,
    page,
    pages_of,
    write_dump,
)


@pytest.fixture(scope="module")
def dump(tmp_path_factory) -> Path:
    return write_dump(tmp_path_factory.mktemp("dump") / "small.xml", PAGES)


def test_pageviews(dump, tmp_path):
    views = tmp_path / "pageviews"
    views.write_text(
        "en Norland 5 0\nen.m Norland 7 0\nen Brenning_City 3 0\nen Brenning 4 0\n"
        "en Unknown 9 0\nde Norland 100 0\nen Alva 50 0\nbroken\n"
    )
    report = build_wiki([dump], tmp_path / "kb", WikiSettings(pageviews=(views,)))
    (file,) = report.pageviews
    assert (file.lines, file.used, file.unknown_titles, file.bad) == (7, 4, 2, 1)
    with KnowledgeBase.open(tmp_path / "kb") as kb:
        popularity = {id: kb.entity(id).popularity for id in IDS}
    assert popularity == {
        "Ada Kell": 0, "Alva (river)": 0, "Brenning": 7, "Bridge": 0, "Norland": 12,
    }  # fmt: skip


def test_types_of_a_file_go_first(dump, tmp_path):
    types = tmp_path / "types.tsv"
    types.write_text("Bridge\tMISC\nbrenning_City\tORG\nNobody\tPER\nBridge\tORG\n")
    report = build_wiki([dump], tmp_path / "kb", WikiSettings(types=types))
    (file,) = report.types
    assert (file.lines, file.used, file.unknown_titles) == (4, 3, 1)
    with KnowledgeBase.open(tmp_path / "kb") as kb:
        assert [kb.entity(id).type for id in IDS] == ["PER", "LOC", "ORG", "ORG", "LOC"]


def test_priors_of_files_are_sources(dump, tmp_path):
    whole, shares = tmp_path / "crosswiki.tsv", tmp_path / "yago.tsv"
    whole.write_text(
        "Alva\tAda Kell\t30\nAlva\tAlva\t9\nCapital\tBrenning City\t4\n\u200b\tBridge\t2\n"
    )
    shares.write_text("Alva\tAlva (river)\t0.25\nAlva\tAda_Kell\t1\nAlva\tNobody\t0.5\n")
    report = build_wiki([dump], tmp_path / "kb", WikiSettings(priors=(whole, shares)))
    assert [(f.lines, f.used, f.unknown_titles, f.bad) for f in report.priors] == [
        (4, 2, 1, 1), (3, 2, 1, 0),
    ]  # fmt: skip
    with KnowledgeBase.open(tmp_path / "kb") as kb:
        assert kb.sources == ("given", "anchors", "names", "crosswiki", "yago")
        assert counts(kb, "capital") == {"Brenning": (0, 0, 0, 4, 0)}
        assert counts(kb, "alva") == {
            "Alva (river)": (0, 1, 3, 0, 250_000), "Ada Kell": (0, 0, 1, 30, 1_000_000),
        }  # fmt: skip
        assert pages_of(kb, "capital") == (0, 1)


def test_trained_vectors(dump, tmp_path):
    settings = WikiSettings(vectors="train", dimensions=8, min_count=1)
    report = build_wiki([dump], tmp_path / "one", settings)
    assert (report.vectors.dimensions, report.vectors.entities) == (8, 5)
    assert report.vectors.words > 30
    with KnowledgeBase.open(tmp_path / "one") as kb:
        assert kb.dimensions == 8
        assert abs(float(np.linalg.norm(kb.vector("Bridge"))) - 1) < 1e-2
        assert kb.word_vector("river") is not None
        assert kb.word_vector("thumb") is None
    two = WikiSettings(vectors="train", dimensions=8, min_count=1, workers=2)
    build_wiki([dump], tmp_path / "two", two)
    assert digests(tmp_path / "one") == digests(tmp_path / "two")


def test_lines_that_vectors_are_trained_on(dump, tmp_path, monkeypatch):
    """The page's entity, the words, and after the words of a link its entity."""
    lines = []

    def note(corpus, *_, **__):
        for line in corpus.read_text().replace("\x1f", "@").splitlines():
            own, *tokens = line.split(" ")
            lines.append(" ".join((own, *(token for token in tokens if token != own))))
        raise RuntimeError("enough")

    monkeypatch.setattr("sgtb.wikipedia.build.kb_tables.train", note)
    with pytest.raises(RuntimeError, match="enough"):
        build_wiki([dump], tmp_path / "kb", WikiSettings(vectors="train"))
    expected = "@4 norland is a country its capital is brenning @2 on the alva @1"
    assert expected in lines
    assert "@4 poets kell @0 jon kell" in lines


def test_vectors_of_a_file(dump, tmp_path):
    vectors = tmp_path / "vectors.txt"
    vectors.write_text(
        "7 3\nENTITY/Norland 1 0 0\nENTITY/Ada_Kell 0 2 0\nENTITY/Nobody 1 1 1\n"
        "River 0 0 3\nriver 1 0 0\ne-mail 1 0 1\nENTITY/Brenning_City 1 2 3\n"
    )
    report = build_wiki([dump], tmp_path / "kb", WikiSettings(vectors=vectors))
    found = report.vectors
    assert (found.dimensions, found.entities, found.words, found.unknown) == (3, 2, 1, 3)
    with KnowledgeBase.open(tmp_path / "kb") as kb:
        assert kb.vector("Norland").tolist() == [1, 0, 0]
        assert kb.vector("Ada Kell").tolist() == [0, 1, 0]
        assert kb.vector("Brenning") is None  # a redirect has a vector of its own
        assert kb.word_vector("river").tolist() == [0, 0, 1]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("types", "Bridge\tTHING\n", "types.tsv, line 1: the type is 'THING', not PER, ORG, LOC"),
        ("types", "Bridge\tMISC\nBridge\n", "types.tsv, line 2: 'Bridge' is not title<TAB>type"),
        ("priors", "a\tb\t1\na\tb\t-1\n", "priors.tsv, line 2: '-1' is neither a count"),
        ("priors", "a\tb\t0.5\na\tb\t2\n", "priors.tsv, line 2: 2 is not a probability"),
        ("priors", "a\tb\tnan\n", "priors.tsv, line 1: 'nan' is neither"),
        ("priors", "a\tb\t1.5\n", "priors.tsv, line 1: '1.5' is neither"),
        ("priors", "a\tb\t9999999999\n", "priors.tsv, line 1: the count 9999999999 is larger"),
        ("priors", "\xff\tb\t1\n", "priors.tsv, line 1: not UTF-8"),
        ("priors", "a" * 70_000, "priors.tsv, line 1: longer than 65,536 bytes"),
    ],
)
def test_bad_lines_are_named(dump, tmp_path, name, text, message):
    path = tmp_path / f"{name}.tsv"
    path.write_bytes(text.encode("latin-1"))
    settings = WikiSettings(types=path) if name == "types" else WikiSettings(priors=(path,))
    with pytest.raises(KnowledgeBaseError) as error:
        build_wiki([dump], tmp_path / "kb", settings)
    assert message in str(error.value)
    assert not (tmp_path / "kb").exists()


def test_missing_files_are_named(dump, tmp_path):
    nothing = tmp_path / "nothing.tsv"
    for settings in (
        WikiSettings(types=nothing), WikiSettings(priors=(nothing,)), WikiSettings(vectors=nothing),
    ):  # fmt: skip
        with pytest.raises(KnowledgeBaseError, match=r"nothing\.tsv"):
            build_wiki([dump], tmp_path / "kb", settings)
    with pytest.raises(DumpError, match=r"nothing\.tsv"):
        build_wiki([dump], tmp_path / "kb", WikiSettings(pageviews=(nothing,)))
    with pytest.raises(DumpError, match=r"nothing\.tsv"):
        build_wiki([nothing], tmp_path / "kb")
    with pytest.raises(DumpError, match="name at least one"):
        build_wiki([], tmp_path / "kb")
    assert not (tmp_path / "kb").exists()


def test_dumps_of_different_wikis_are_refused(dump, tmp_path):
    other = write_dump(tmp_path / "de.xml", GERMAN_PAGES, GERMAN)
    with pytest.raises(DumpError, match="give dumps of one wiki"):
        build_wiki([dump, other], tmp_path / "kb")


def test_a_dump_without_articles_is_refused(tmp_path):
    dump = write_dump(tmp_path / "empty.xml", [page("A", "#REDIRECT [[B]]")])
    with pytest.raises(DumpError, match="no article"):
        build_wiki([dump], tmp_path / "kb")


@pytest.mark.parametrize(
    "wrong",
    [
        {"workers": 0}, {"memory": 1}, {"dimensions": 0}, {"red_links": -1}, {"min_together": 0},
        {"min_count": 0}, {"priors": (Path("a/x.tsv"), Path("b/x.tsv"))},
        {"priors": (Path("anchors.tsv"),)}, {"priors": tuple(Path(f"{i}") for i in range(40))},
    ],
)  # fmt: skip
def test_settings_out_of_range(wrong):
    with pytest.raises(SettingsError, match=next(iter(wrong))):
        WikiSettings(**wrong)


@pytest.mark.parametrize("package", ["duckdb", "gensim"])
def test_missing_packages_name_the_extra(dump, tmp_path, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=rf"{package}.*sgtb\[wiki\]"):
        build_wiki([dump], tmp_path / "kb", WikiSettings(vectors="train"))
    assert not (tmp_path / "kb").exists()


@pytest.mark.parametrize(
    "stage",
    [
        "wikipedia.build.page_rows.extract",
        "wikipedia.build.kb_tables.PairCounter.add",
        "wikipedia.build.kb_tables.KbWriter.links",
        "wikipedia.build.kb_tables.name_pages",
        "kb.build.kb_writer.KbWriter.finish",
        "wikipedia.build.kb_tables.shutil.rmtree",
    ],
)
def test_a_build_that_fails_leaves_the_old_data(dump, tmp_path, monkeypatch, stage):
    place = tmp_path / "kb"
    build_wiki([dump], place)
    before = digests(place)

    def fail(*_, **__):
        monkeypatch.undo()
        raise RuntimeError("no")

    monkeypatch.setattr(f"sgtb.{stage}", fail)
    with pytest.raises(RuntimeError, match="no"):
        build_wiki([dump], place)
    assert data_folder(place).name == "data-000001"
    assert [p.name for p in place.glob("data-*")] == ["data-000001"]
    assert digests(place) == before


def test_damaged_pages_are_named_or_refused(tmp_path):
    bad = "  <page>\n    <title>Bad</title>\n    <ns>0</ns>\n    <b>\n  </page>\n"
    dump = write_dump(tmp_path / "bad.xml", [page("A", "An [[B]]."), bad, page("B", "Is.")])
    report = build_wiki([dump], tmp_path / "kb")
    (dropped,) = report.dropped
    assert (dropped.title, report.pages.dropped, report.pages.pages) == ("Bad", 1, 3)
    assert dropped.file == str(dump)
    text = dump.read_text()
    line = text[: text.index(bad.strip())].count("\n") + 1
    assert dropped.line == line
    with pytest.raises(DumpError, match=f"line {line}"):
        build_wiki([dump], tmp_path / "strict", WikiSettings(strict=True))


def test_titles_that_no_entity_can_have(tmp_path):
    dump = write_dump(tmp_path / "odd.xml", [page("A", "See [[B\x9cC|it]]."), page("B\x9cC", "")])
    report = build_wiki([dump], tmp_path / "kb")
    (dropped,) = report.dropped
    assert dropped.reason == "its title has characters that cannot be shown"
    assert dropped.line > 20
    assert (report.pages.pages, report.pages.articles, report.links.other_namespaces) == (2, 1, 1)


def test_titles_may_hold_what_joins_and_parts_letters(tmp_path):
    """Persian titles have non-joiners in them."""
    title = "می\u200cخواهم"
    dump = write_dump(tmp_path / "fa.xml", [page("A", f"See [[{title}|it]]."), page(title, "")])
    build_wiki([dump], tmp_path / "kb")
    with KnowledgeBase.open(tmp_path / "kb") as kb:
        assert kb.entity("A").links == (title,)


def test_hostile_texts_go_through(tmp_path):
    """Tabs, line ends, quotes, control characters, long and empty anchors; odd paths."""
    place = tmp_path / "a'b [c]* ü"
    place.mkdir()
    text = (
        'He said "[[B|a\tb]]" \\ [[B|x\ny]] [[B|&#9;&#10;]] [[B|\u202e]] [[B|'
        + "long " * 200
        + "]] "
        "[[B|'; DROP TABLE pages; --]] [[B|\\N]] [[B|NULL]] [[B|\x7f]]"
    )
    dump = write_dump(place / "hostile 'dump'.xml", [page("A", text), page("B", "'''NULL'''")])
    report = build_wiki([dump], place / "kb")
    assert report.links.resolved == 9
    assert report.names.anchors_long == 1
    assert report.names.anchors_empty == 3
    with KnowledgeBase.open(place / "kb") as kb:
        assert counts(kb, "null") == {"B": (0, 1, 0)}
        assert counts(kb, "a b") == {"B": (0, 1, 0)}
        assert counts(kb, "drop table pages") == {"B": (0, 1, 0)}


def test_a_path_that_duckdb_cannot_work_in(dump, tmp_path):
    with pytest.raises(KnowledgeBaseError, match="question mark"):
        build_wiki([dump], tmp_path / "why?")


@pytest.mark.parametrize(
    "name",
    [
        "enwik8-prefix",
        "enwiki-latest",
        "enwiki-redirects",
        "enwiki-minidump",
        "enwiki-table-markup",
    ],
)
def test_real_dumps(data, tmp_path, name):
    (dump,) = (data / "dumps").glob(f"{name}*")
    report = build_wiki([dump], tmp_path / "kb")
    links, pages = asdict(report)["links"], asdict(report)["pages"]
    assert links.pop("found") == sum(links.values()) > 500
    assert pages.pop("pages") == sum(pages.values())
    assert report.entities == report.pages.articles
    if name == "enwik8-prefix":
        (dropped,) = report.dropped
        assert dropped.reason.startswith("the file ends")
        with pytest.raises(DumpError, match="the file ends"):
            build_wiki([dump], tmp_path / "strict", WikiSettings(strict=True))
    else:
        assert report.dropped == ()
    with KnowledgeBase.open(tmp_path / "kb") as kb:
        for probed in kb.names():
            value = kb.name_value(probed)
            assert value.linked <= value.pages
            assert len(value.candidates)
