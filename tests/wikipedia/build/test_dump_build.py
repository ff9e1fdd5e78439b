"""A knowledge base from a small dump, written by hand, whose every count is known."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from sgtb.kb import KnowledgeBase
from sgtb.wikipedia.build.build_report import LinkCounts, PageCounts, RedirectCounts
from sgtb.wikipedia.build.dump_build import WikiReport, WikiSettings, build_wiki
from tests.helpers.wiki_dump import (
    GERMAN,
    GERMAN_PAGES,
    IDS,
    PAGES,
    counts,
    digests,
    near,
    pages_of,
    write_dump,
)


@pytest.fixture(scope="module")
def dump(tmp_path_factory) -> Path:
    return write_dump(tmp_path_factory.mktemp("dump") / "small.xml", PAGES)


@pytest.fixture(scope="module")
def built(dump, tmp_path_factory) -> tuple[WikiReport, Path]:
    place = tmp_path_factory.mktemp("wiki") / "kb"
    return build_wiki([dump], place), place


@pytest.fixture(scope="module")
def report(built) -> WikiReport:
    return built[0]


@pytest.fixture(scope="module")
def kb(built) -> KnowledgeBase:
    return KnowledgeBase.open(built[1])


def test_every_page_is_counted(report):
    assert report.pages == PageCounts(19, 5, 10, 1, 3, 0, 0)
    assert report.dropped == ()
    assert report.entities == 5


def test_redirects_are_followed_to_their_end(report):
    assert report.redirects == RedirectCounts(resolved=4, disambiguation=1, broken=2, cycles=3)


def test_every_link_has_a_fate(report):
    assert report.links == LinkCounts(
        found=35, resolved=18, missing=3, disambiguation=1, other_namespaces=7, own_page=2,
        listed=4, left_out=0,
    )  # fmt: skip
    assert report.names.anchors_urls == 1
    assert report.entity_links == 13


def test_report_is_json(report):
    fields = json.loads(json.dumps(asdict(report)))
    assert fields["links"]["resolved"] == 18
    assert fields["seconds"] > 0


def test_entities_are_numbered_by_the_bytes_of_their_titles(kb):
    assert list(kb.ids()) == IDS
    assert kb.sources == ("given", "anchors", "names")


def test_types_descriptions_and_popularity(kb):
    entities = {id: kb.entity(id) for id in IDS}
    assert {id: e.type for id, e in entities.items()} == {
        "Ada Kell": "PER", "Alva (river)": "LOC", "Brenning": "LOC", "Bridge": "", "Norland": "LOC",
    }  # fmt: skip
    assert {id: e.popularity for id, e in entities.items()} == {
        "Ada Kell": 2, "Alva (river)": 1, "Brenning": 4, "Bridge": 3, "Norland": 3,
    }  # fmt: skip
    assert entities["Alva (river)"].description == (
        "The Alva (or River Alva) is a river in norland."
    )
    assert entities["Ada Kell"].description == (
        "Ada Kell (born 1901) was a poet from Brenning City in Norland."
    )


def test_links_between_entities(kb):
    assert {id: kb.entity(id).links for id in IDS} == {
        "Ada Kell": ("Brenning", "Bridge", "Norland"),
        "Alva (river)": ("Brenning", "Bridge", "Norland"),
        "Brenning": ("Ada Kell", "Bridge", "Norland"),
        "Bridge": ("Brenning",),
        "Norland": ("Ada Kell", "Alva (river)", "Brenning"),
    }


def test_names_are_counted_by_source(kb):
    assert counts(kb, "Norland") == {"Norland": (0, 3, 2)}
    assert counts(kb, "alva") == {"Alva (river)": (0, 1, 3), "Ada Kell": (0, 0, 1)}
    assert counts(kb, "River Alva") == {"Alva (river)": (0, 0, 1)}
    assert counts(kb, "Kell") == {"Ada Kell": (0, 1, 1)}
    assert counts(kb, "poet") == {"Ada Kell": (0, 1, 0)}
    assert counts(kb, "the city") == {"Brenning": (0, 1, 0)}
    assert counts(kb, "Brenning City") == {"Brenning": (0, 1, 1)}
    assert counts(kb, "bridges") == {"Bridge": (0, 1, 0)}
    assert counts(kb, "The coast") == {"Norland": (0, 0, 1)}
    assert counts(kb, "The coast (Norland)") == {"Norland": (0, 0, 1)}
    for name in (
        "Not",
        "Loop A",
        "Lost",
        "Elsewhere",
        "Alvas",
        "http://norland.example",
        "Jon Kell",
    ):
        assert counts(kb, name) == {}, name


def test_priors(kb):
    assert [(c.id, c.prior) for c in kb.candidates("Alva")] == [
        ("Alva (river)", 0.875), ("Ada Kell", 0.125),
    ]  # fmt: skip


def test_spellings_keep_how_names_are_written(kb):
    spelled = {a.name: a.count for a in kb.entity("Norland").aliases if a.source == "anchors"}
    assert spelled == {"Norland": 2, "norland": 1, "coast": 1}


def test_pages_of_names(kb):
    assert pages_of(kb, "alva") == (2, 4)
    assert pages_of(kb, "kell") == (1, 3)
    assert pages_of(kb, "brenning") == (3, 5)
    assert pages_of(kb, "the city") == (1, 1)  # only in a caption, which is not in the text
    assert pages_of(kb, "the coast") == (0, 1)
    assert pages_of(kb, "bridge") == (2, 3)
    assert pages_of(kb, "ada kell") == (2, 3)
    assert kb.link_probability("alva") == 0.5


def test_entities_met_in_a_paragraph(kb, report):
    assert near(kb, "Norland") == {"Brenning": 2, "Bridge": 2}
    assert near(kb, "Brenning") == {"Alva (river)": 1, "Bridge": 1, "Norland": 2}
    assert near(kb, "Ada Kell") == {}
    assert report.pairs == 4


def test_nothing_is_left_behind(built):
    _, place = built
    assert sorted(p.name for p in place.iterdir()) == ["data-000001", "kb.json", "lock"]
    left = {p.name for p in (place / "data-000001").iterdir()}
    assert not any(name == "work" or name.endswith((".run", ".tsv")) for name in left)


def test_workers_and_repeated_builds_give_the_same_files(built, dump, tmp_path):
    """Byte by byte, LMDB's file among them."""
    expected = digests(built[1])
    build_wiki([dump], tmp_path / "again", WikiSettings(memory=1 << 29))
    assert digests(tmp_path / "again") == expected
    build_wiki([dump], tmp_path / "two", WikiSettings(workers=2))
    assert digests(tmp_path / "two") == expected


def test_small_chunks_give_the_same_files(built, dump, tmp_path, monkeypatch):
    monkeypatch.setattr("sgtb.wikipedia.build.dump_build._CHUNK", 700)
    build_wiki([dump], tmp_path / "kb")
    assert digests(tmp_path / "kb") == digests(built[1])


def test_pages_given_twice_count_once(built, dump, tmp_path):
    report = build_wiki([dump, dump], tmp_path / "kb")
    assert report.pages.repeated == 16
    assert report.pages.articles == 5
    assert report.links.left_out == 35 - 4 - 7 - 1
    assert report.links.found == 70
    with KnowledgeBase.open(tmp_path / "kb") as kb, KnowledgeBase.open(built[1]) as other:
        assert list(kb.names()) == list(other.names())
        for name in kb.names():
            assert counts(kb, name) == counts(other, name)
            assert pages_of(kb, name) == pages_of(other, name)
        assert near(kb, "Norland") == near(other, "Norland")


def test_red_links_become_entities(dump, tmp_path):
    report = build_wiki([dump], tmp_path / "kb", WikiSettings(red_links=2))
    assert report.red_entities == 1
    assert report.entities == 6
    assert report.links.missing == 1
    with KnowledgeBase.open(tmp_path / "kb") as kb:
        entity = kb.entity("Jon Kell")
        assert (entity.popularity, entity.description, entity.type) == (2, "", "")
        assert counts(kb, "Jon Kell") == {"Jon Kell": (0, 2, 1)}
        assert pages_of(kb, "jon kell") == (2, 2)
        assert near(kb, "Jon Kell") == {"Ada Kell": 1, "Brenning": 1, "Norland": 1, "Bridge": 1}


def test_all_red_links(dump, tmp_path):
    report = build_wiki([dump], tmp_path / "kb", WikiSettings(red_links=1))
    with KnowledgeBase.open(tmp_path / "kb") as kb:
        assert set(kb.ids()) == {*IDS, "Jon Kell"}  # a cycle leads to no title
    assert report.redirects.broken == 2


def test_min_together(dump, tmp_path):
    report = build_wiki([dump], tmp_path / "kb", WikiSettings(min_together=2))
    assert report.pairs == 2


def test_progress_is_told(dump, tmp_path):
    told = {}
    build_wiki([dump], tmp_path / "kb", WikiSettings(), lambda s, d, t: told.update({s: (d, t)}))
    assert told["reading"] == (dump.stat().st_size,) * 2
    for stage in ("counting", "pairs", "entities", "links", "near", "names in text", "names"):
        assert told[stage][0] == told[stage][1] > 0, stage


def test_german(tmp_path):
    dump = write_dump(tmp_path / "de.xml", GERMAN_PAGES, GERMAN)
    report = build_wiki([dump], tmp_path / "kb")
    assert report.pages == PageCounts(6, 3, 1, 1, 1, 0, 0)
    assert report.links == LinkCounts(
        found=10, resolved=4, missing=0, disambiguation=0, other_namespaces=5, own_page=0,
        listed=1, left_out=0,
    )  # fmt: skip
    with KnowledgeBase.open(tmp_path / "kb") as kb:
        assert counts(kb, "Alwa") == {"Alva (Fluss)": (0, 1, 1)}
        assert counts(kb, "Alva") == {"Alva (Fluss)": (0, 0, 3)}
        assert kb.entity("Alva (Fluss)").links == ("Fluss", "Nordland")
        assert kb.info()["origin"]["language"] == "de"
