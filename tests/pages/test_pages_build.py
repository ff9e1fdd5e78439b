"""Knowledge bases from small collections of pages: names, links of both passes, duplicates."""

import bz2
import gzip
import json
import lzma
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from sgtb.core.errors import CorpusError, KnowledgeBaseError, SettingsError
from sgtb.kb import KnowledgeBase
from sgtb.kb.check import check
from sgtb.kb.export import export_lines
from sgtb.pages.name_decisions import TITLE_SCORE, NameDecisions
from sgtb.pages.pages_build import build_pages
from sgtb.pages.pages_settings import PagesSettings

PAGES = [
    ("p1", "Orlan", "Orlan is the capital of Marland. It lies on the river Dovel."),
    ("p2", "Orlan, Ohio", "Orlan is a town in Ohio. It has a mill."),
    ("p3", "Ohio", "Ohio is a state."),
    ("p4", "Marland", "Marland is a country with Orlan as its capital."),
    ("p5", "Dovel", "The Dovel, also known as the Grey River, is a river in Marland."),
    ("p6", "Ann Lee", "Ann Lee (born 1950) is a singer from Orlan. Lee sings about Ohio."),
    ("p7", "Orlan (film)", "Orlan is a film. It shows the Grey River, which is in Marland."),
    ("p8", "Kidney stone", "A kidney stone is a stone."),
    ("p9", "Gravel", "Gravel is not a kidney stone, said Ben Orlan of Marland."),
    ("p10", "Mercury", "Mercury may refer to:\nMercury (planet)"),
    ("p11", "Mercury (planet)", "Mercury is a planet."),
    ("p12", "Zed", "Zed saw Mercury in Orlan."),
]


def write(path, pages, pack=None):
    lines = "".join(json.dumps({"id": i, "title": t, "text": x}) + "\n" for i, t, x in pages)
    path.write_bytes(pack(lines.encode()) if pack else lines.encode())
    return path


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    report = build_pages([write(folder / "pages.jsonl", PAGES)], folder / "kb")
    return folder / "kb", report


@pytest.fixture
def kb(built):
    with KnowledgeBase.open(built[0]) as opened:
        yield opened


def lines_of(path):
    with KnowledgeBase.open(path) as opened:
        return [*export_lines(opened)]


def test_the_report(built):
    path, report = built
    assert (report.pages, report.lists, report.repeated, report.entities) == (12, 1, 0, 11)
    assert (report.dropped, report.dropped_beyond) == ((), 0)
    assert check(path).ok
    assert not (path / "data-000001" / "work").exists()


def test_entities_have_descriptions_types_and_names(kb):
    dovel = kb.entity("p5")
    assert (dovel.title, dovel.type) == ("Dovel", "LOC")
    assert dovel.description == "The Dovel, also known as the Grey River, is a river in Marland."
    assert {alias.name for alias in dovel.aliases} == {"Dovel", "Grey River", "Gray River"}
    assert {alias.name for alias in kb.entity("p6").aliases} == {
        "Ann Lee", "A. Lee", "Ann", "Lee"
    }  # fmt: skip
    assert {c.id for c in kb.candidates("Orlan")} == {"p1", "p2", "p7"}
    assert kb.number("p10") is None


def test_links_of_clear_names(kb):
    assert kb.entity("p7").links == ("p4", "p5")  # Marland, Grey River
    assert kb.entity("p9").links == ("p4", "p8")  # a lower-case name; "Ben Orlan" is another one
    assert "p11" in kb.entity("p12").links


def test_ambiguous_names_are_decided_by_clear_links(kb):
    assert "p1" in kb.entity("p4").links  # Orlan, which links Marland
    assert kb.entity("p6").links == ("p2", "p3")  # Orlan, Ohio, which links Ohio
    assert "p1" in kb.entity("p12").links  # no evidence but the title


def test_priors_and_link_probabilities_are_counted(kb):
    counts = {c.id: dict(zip(kb.sources, c.counts, strict=True)) for c in kb.candidates("Orlan")}
    assert {id: row["page links"] for id, row in counts.items()} == {"p1": 2, "p2": 1, "p7": 0}
    assert kb.link_probability("Ohio") == 1.0
    # Seven pages have the word; on one of them it is a part of another name.
    assert kb.link_probability("Orlan") == pytest.approx(6 / 7)
    assert kb.entity("p4").popularity == 4


def test_the_result_does_not_depend_on_workers_and_chunks(built, tmp_path, monkeypatch):
    path = write(tmp_path / "pages.jsonl", PAGES)
    build_pages([path], tmp_path / "two", PagesSettings(workers=2))
    assert lines_of(tmp_path / "two") == lines_of(built[0])
    monkeypatch.setattr("sgtb.pages.page_lines._CHUNK", 150)
    build_pages([path], tmp_path / "chunks")
    assert lines_of(tmp_path / "chunks") == lines_of(built[0])


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_packed_files(built, tmp_path, pack):
    build_pages([write(tmp_path / "pages.jsonl", PAGES, pack)], tmp_path / "kb")
    assert lines_of(tmp_path / "kb") == lines_of(built[0])


def test_several_files_and_repeated_titles(tmp_path):
    first = write(tmp_path / "a.jsonl", [("1", "Orlan", "Orlan is a city."), ("2", "Ohio", "")])
    second = write(
        tmp_path / "b.jsonl",
        [("1", "Dovel", "Dovel is a river in Ohio."), ("9", "Orlan", "Orlan or Orlanum is old.")],
    )
    with pytest.raises(
        KnowledgeBaseError, match=r"id '1' is that of 'Dovel' and of 'Orlan'.*--ids"
    ):
        build_pages([first, second], tmp_path / "kb", PagesSettings(ids="id"))
    assert not (tmp_path / "kb").exists()
    report = build_pages([first, second], tmp_path / "kb", PagesSettings(ids="title"))
    assert (report.pages, report.entities, report.repeated) == (4, 3, 1)
    by_title = lines_of(tmp_path / "kb")
    report = build_pages([first, second], tmp_path / "kb")
    assert (report.ids, lines_of(tmp_path / "kb")) == ("title", by_title)
    with KnowledgeBase.open(tmp_path / "kb") as kb:
        assert kb.entity("Orlan").description == "Orlan is a city."
        assert {alias.name for alias in kb.entity("Orlan").aliases} == {"Orlan", "Orlanum"}
        assert kb.entity("Dovel").links == ("Ohio",)


def test_similar_titles_are_one_page_unless_their_types_differ(tmp_path):
    pages = [
        ("1", "Real Orlan C.F.", "Real Orlan C.F. is a club."),
        ("2", "Real Orlan CF", "Real Orlan CF, or Orlan Whites, is a club."),
        ("3", "Red Hat", "Red Hat is a company."),
        ("4", "Red hat", "A red hat is a film."),
    ]
    file = write(tmp_path / "a.jsonl", pages)
    report = build_pages([file], tmp_path / "kb", PagesSettings(ids="title"))
    assert (report.entities, report.repeated) == (3, 1)
    with KnowledgeBase.open(tmp_path / "kb") as kb:
        names = {alias.name for alias in kb.entity("Real Orlan C.F.").aliases}
        assert names >= {"Real Orlan C.F.", "Real Orlan CF", "Orlan Whites"}
    assert build_pages([file], tmp_path / "kb", PagesSettings(ids="id")).entities == 4


def test_equal_titles_of_different_ids_are_two_entities(tmp_path):
    pages = [("1", "Orlan", "Orlan is a city."), ("2", "Orlan", "Orlan is a film.")]
    report = build_pages([write(tmp_path / "a.jsonl", pages)], tmp_path / "kb")
    assert (report.entities, report.repeated) == (2, 0)


DAMAGED = (
    b'\xef\xbb\xbf{"title": "No id", "text": "No id is a text."}\n\n'
    b"not json\n[1]\n"
    b'{"id": 7, "title": "Seven"}\n'
    b'{"id": "8", "text": "no title"}\n{"id": "9", "title": 3, "text": ""}\n'
    b'{"id": "10", "title": "Ten", "text": ["x"]}\n{"id": "11", "title": " ", "text": ""}\n'
    b'{"id": "a\\u0001b", "title": "Control", "text": ""}\n'
    b'{"id": "12", "title": "\xff", "text": ""}\n'
    b'{"id": "13", "title": "Tab\\tLine\\n", "text": "x"}'
)


def test_damaged_lines_are_dropped_and_reported(tmp_path):
    path = tmp_path / "pages.jsonl"
    path.write_bytes(DAMAGED)
    report = build_pages([path], tmp_path / "kb")
    assert [page.line for page in report.dropped] == [3, 4, 6, 7, 8, 9, 10, 11]
    assert all(page.reason and str(path) not in page.reason for page in report.dropped)
    with KnowledgeBase.open(tmp_path / "kb") as kb:
        assert sorted(kb.ids()) == ["13", "7", "No id"]
        assert kb.entity("13").title == "Tab Line"
    assert check(tmp_path / "kb").ok
    with pytest.raises(KnowledgeBaseError, match=r"line 3: not JSON.*--strict"):
        build_pages([path], tmp_path / "strict", PagesSettings(strict=True))


def test_an_error_leaves_the_old_knowledge_base(tmp_path):
    build_pages([write(tmp_path / "a.jsonl", PAGES[:3])], tmp_path / "kb")
    before = lines_of(tmp_path / "kb")
    torn = tmp_path / "torn.jsonl.xz"
    torn.write_bytes(lzma.compress(os.urandom(9000).hex().encode())[:-40])
    with pytest.raises(CorpusError, match="torn"):
        build_pages([torn], tmp_path / "kb")
    for text in ("", "\n", "bad\n", '{"title": "X", "text": "X may refer to:"}'):
        (tmp_path / "none.jsonl").write_text(text)
        with pytest.raises(KnowledgeBaseError, match="no page"):
            build_pages([tmp_path / "none.jsonl"], tmp_path / "kb")
    assert lines_of(tmp_path / "kb") == before


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_a_killed_build_leaves_the_old_knowledge_base(tmp_path):
    path = write(tmp_path / "a.jsonl", [(f"{i}", f"Page {i}", "Page 1 is.") for i in range(20_000)])
    build_pages([write(tmp_path / "b.jsonl", PAGES[:3])], tmp_path / "kb")
    before = lines_of(tmp_path / "kb")
    program = "from sgtb.cli.main import app; app()"
    command = [sys.executable, "-c", program, "kb", "build", "pages", str(path), "-o"]
    process = subprocess.Popen([*command, str(tmp_path / "kb")], stderr=subprocess.DEVNULL)
    while not (tmp_path / "kb" / "data-000002" / "work").exists():
        time.sleep(0.02)
        assert process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert lines_of(tmp_path / "kb") == before
    build_pages([path], tmp_path / "kb")
    assert len(lines_of(tmp_path / "kb")) > 20_000


def test_vectors_on_request(tmp_path):
    pytest.importorskip("gensim")
    pages = [(f"{i}", f"Page {i}", "Page 1 is near Page 2.") for i in range(6)]
    settings = PagesSettings(vectors=True, dimensions=4, min_count=1)
    report = build_pages([write(tmp_path / "a.jsonl", pages)], tmp_path / "kb", settings)
    assert (report.vectors.dimensions, report.vectors.entities) == (4, 6)
    assert check(tmp_path / "kb").ok


def test_settings_out_of_range():
    for wrong in ({"workers": 0}, {"memory": 1}, {"ids": "x"}, {"dimensions": 0}, {"min_count": 0}):
        with pytest.raises(SettingsError, match=next(iter(wrong))):
            PagesSettings(**wrong)


def slow_decision(edges, entities, own, context, candidates):
    """The entity of the highest score, as the module states it; None: undecided."""
    in_links = [sum(target == e for _, target in edges) for e in range(entities)]
    scores = {}
    for entity, is_title in candidates:
        scores[entity] = TITLE_SCORE * is_title
        for other in context | {own}:
            if (entity, other) in edges or (other, entity) in edges:
                weight = round(1000 / np.log(np.e + in_links[other]))
                scores[entity] += weight * (2 if other == own else 1)
    best = max(scores.values())
    chosen = [entity for entity, score in scores.items() if score == best]
    return chosen[0] if best > 0 and len(chosen) == 1 else None


@pytest.mark.parametrize("seed", range(5))
def test_decisions_are_those_of_the_twin(seed):
    rng = np.random.default_rng(seed)
    entities, pages = 12, 10
    edges = {(int(a), int(b)) for a, b in rng.integers(0, entities, (30, 2)) if a != b}
    source, target = np.array(sorted(edges), np.int32).T.copy()
    rows, links, expected = [], [], []
    for page in range(pages):
        context = {int(e) for e in rng.integers(0, entities, 4)}
        links += [(page, e) for e in sorted(context | {page})]
        for name in range(2):
            some = rng.choice(entities, rng.integers(2, 5), replace=False)
            candidates = [(int(e), bool(rng.random() < 0.2)) for e in sorted(some)]
            rows += [(page, name, e, title) for e, title in candidates]
            chosen = slow_decision(edges, entities, page, context, candidates)
            expected += [] if chosen is None else [(page, name, chosen)]

    def columns(table, *names):
        return {
            name: np.array(column)
            for name, column in zip(names, zip(*table, strict=True), strict=True)
        }

    meanings = columns(rows, "page", "hash", "number", "is_title")
    own = columns([(page, page) for page in range(pages)], "page", "number")
    decisions = NameDecisions(source, target, entities)
    found = decisions.decide(meanings, columns(links, "page", "number"), own)
    rows = (found[name].tolist() for name in ("page", "hash", "number"))
    assert [*zip(*rows, strict=True)] == expected
    assert expected
