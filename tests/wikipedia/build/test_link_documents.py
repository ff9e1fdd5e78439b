"""Pages held out of a knowledge base: nothing of them is counted, and their links are gold."""

from collections import Counter

import pytest

from sgtb.core.errors import DumpError, KnowledgeBaseError, SettingsError
from sgtb.core.records import NIL
from sgtb.kb import KnowledgeBase
from sgtb.kb.build.merge_build import merge_kbs
from sgtb.wikipedia.build.build_settings import SPLITS, HoldOut, title_hash
from sgtb.wikipedia.build.dump_build import WikiSettings, build_wiki
from sgtb.wikipedia.build.link_documents import held_out_of, read_link_documents
from tests.helpers.kb_worlds import build
from tests.helpers.wiki_dump import GERMAN, counts, near, page, pages_of, write_dump

HALF = HoldOut(0.5)


def titles_in(split, count):
    """Titles that are held out for a split; None: titles that are counted."""
    names = (f"{word} {number}" for number in range(500) for word in ("Hill", "Lake"))
    found = [name for name in names if HALF.split(name) == split]
    return found[:count]


COUNTED = titles_in(None, 3)
TRAIN, DEV, TEST = (titles_in(split, 2) for split in ("train", "dev", "test"))
ALL = [*COUNTED, *TRAIN, *DEV, *TEST]
ONE, OTHER, THIRD = COUNTED

LINKED = f"""'''{{title}}''' is a place. It is near the [[{ONE}|hill]], north of [[{OTHER}]].

See [[Old name]], [[Older name|older]], [[Nowhere]], [[Mixed up]], [[Loop]], [[:Category:Places]],
[[{{title}}|this place]], [[#History]], [[File:Map.png|a map]] and [[{THIRD}]]s é.

* [[{ONE}|Hill]]"""
PLAIN = "'''{title}''' is a place."


def dump_of(path, held_out):
    """A dump: pages that are counted say the same, those held out say `held_out`."""
    pages = [page(t, (LINKED if t in COUNTED else held_out).format(title=t)) for t in ALL]
    pages += [
        page("Old name", f"#REDIRECT [[{OTHER}]]", redirect=OTHER),
        page("Older name", "#REDIRECT [[Old name]]", redirect="Old name"),
        page("Loop", "#REDIRECT [[Loop]]", redirect="Loop"),
        page("Mixed up", f"'''Mixed up''' may mean:\n* [[{ONE}]]\n* [[{OTHER}]]\n{{{{disambig}}}}"),
        page("Talk:Hill", f"[[{ONE}]]", 1),
    ]
    return write_dump(path, pages)


@pytest.fixture(scope="module")
def dump(tmp_path_factory):
    return dump_of(tmp_path_factory.mktemp("dump") / "links.xml", LINKED)


@pytest.fixture(scope="module")
def built(dump, tmp_path_factory):
    place = tmp_path_factory.mktemp("kb") / "kb"
    report = build_wiki([dump], place, WikiSettings(hold_out=HALF, vectors="none", red_links=1))
    return report, place


@pytest.fixture(scope="module")
def kb(built):
    with KnowledgeBase.open(built[1]) as opened:
        yield opened


def test_a_title_alone_tells_what_a_page_is_held_out_for():
    titles = [f"Page {i}" for i in range(4000)]
    shares = Counter(HoldOut(0.4).split(title) for title in titles)
    assert 0.57 < shares[None] / 4000 < 0.63
    for split, part in SPLITS.items():
        assert abs(shares[split] / 4000 - 0.4 * part) < 0.03, split
    assert {HoldOut().split(title) for title in titles} == {None}
    assert all(0 <= title_hash(title) < 1 for title in titles)
    # Who is tested with in one turn is counted, or learned from, in all others.
    turns = [HoldOut(0.4, 0.1 * turn) for turn in range(10)]
    assert {sum(turn.split(title) == "test" for turn in turns) for title in titles} == {1}


@pytest.mark.parametrize("value", [-0.1, 1, 1.5, float("nan"), "0.5", True, None])
def test_impossible_shares(value):
    with pytest.raises(SettingsError, match="share"):
        HoldOut(value)
    with pytest.raises(SettingsError, match="turn"):
        HoldOut(0.5, value)


def test_held_out_pages_are_entities_without_links(built, kb):
    report, _ = built
    assert report.held_out == len(ALL) - len(COUNTED)
    assert report.links.held_out > 0
    links = report.links
    assert links.found == sum(
        value
        for name, value in ((f, getattr(links, f)) for f in links.__slots__)
        if name != "found"
    )
    for title in (*TRAIN, *DEV, *TEST):
        assert kb.entity(title).description == f"{title} is a place."
        assert kb.links(title).size == 0
        assert not near(kb, title)
    assert held_out_of(kb) == HALF


def test_nothing_of_a_held_out_page_is_counted(tmp_path, kb):
    """The same as if its links and all but its first sentence had never been written."""
    bare = dump_of(tmp_path / "bare.xml", PLAIN)
    build_wiki([bare], tmp_path / "kb", WikiSettings(hold_out=HALF, red_links=1))
    with KnowledgeBase.open(tmp_path / "kb") as other:
        assert list(kb.ids()) == list(other.ids())
        names = list(kb.names())
        assert names == list(other.names())
        for name in names:
            assert counts(kb, name) == counts(other, name), name
            assert pages_of(kb, name) == pages_of(other, name), name
        for id_ in kb.ids():
            assert kb.links(id_).tolist() == other.links(id_).tolist()
            assert near(kb, id_) == near(other, id_)
            assert kb.entity(id_) == other.entity(id_)


def test_vectors_are_trained_without_held_out_text(tmp_path):
    vectors = []
    for name, text in (("one", LINKED), ("other", PLAIN)):
        place = tmp_path / name
        dump = dump_of(tmp_path / f"{name}.xml", text)
        settings = WikiSettings(hold_out=HALF, vectors="train", dimensions=4, min_count=1)
        build_wiki([dump], place, settings)
        with KnowledgeBase.open(place) as kb:
            assert kb.vector(TEST[0]) is None
            vectors.append(kb.vector(ONE).tolist())
    assert vectors[0] == vectors[1]


def test_links_say_what_is_meant(dump, kb):
    read = read_link_documents([dump], kb)
    assert {s: [d.id for d in ds] for s, ds in read.documents.items()} == {
        "train": sorted(TRAIN), "dev": sorted(DEV), "test": sorted(TEST),
    }  # fmt: skip
    assert dict(read.held_out) == {"test": 2, "dev": 2, "train": 2}
    document = read.documents["test"][0]
    assert document.split == "test"
    assert document.text.startswith(f"{document.id} is a place. It is near the hill")
    assert [(m.text, m.gold, m.title) for m in document.mentions] == [
        ("hill", ONE, ONE),
        (OTHER, OTHER, OTHER),
        ("Old name", OTHER, OTHER),
        ("older", OTHER, OTHER),
        ("Nowhere", "Nowhere", "Nowhere"),  # an entity, because pages that are counted link it
        ("Loop", NIL, "Loop"),
        (f"{THIRD}s", THIRD, THIRD),
        ("Hill", ONE, ONE),
    ]
    for mention in document.mentions:
        assert document.text[mention.start : mention.end] == mention.text
        assert document.tokens[mention.first].start <= mention.start
        assert document.tokens[mention.stop - 1].end >= mention.end


def test_what_the_knowledge_base_lacks_is_nil(dump, tmp_path):
    build_wiki([dump], tmp_path / "kb", WikiSettings(hold_out=HALF))
    with KnowledgeBase.open(tmp_path / "kb") as kb:
        document = read_link_documents([dump], kb).documents["test"][0]
    golds = {m.text: m.gold for m in document.mentions}
    assert golds["Nowhere"] == NIL
    assert golds["hill"] == ONE


def test_only_so_many_pages_are_taken(dump, kb):
    read = read_link_documents([dump], kb, max_pages=3)
    assert {split: len(documents) for split, documents in read.documents.items()} == {
        "train": 2, "dev": 1, "test": 1,
    }  # fmt: skip
    assert read.held_out["dev"] == 2
    first = min(DEV, key=title_hash)
    assert read.documents["dev"][0].id == first
    with pytest.raises(SettingsError, match="max_pages: 2"):
        read_link_documents([dump], kb, max_pages=2)


def test_a_knowledge_base_that_has_counted_all_is_refused(dump, tmp_path):
    build_wiki([dump], tmp_path / "kb")
    with (
        KnowledgeBase.open(tmp_path / "kb") as kb,
        pytest.raises(KnowledgeBaseError, match=r"without held-out pages.*--hold-out"),
    ):
        read_link_documents([dump], kb)


def test_a_merged_knowledge_base_holds_out_what_its_dump_does(dump, kb, tmp_path):
    build(tmp_path, [{"id": ONE, "name": ONE}], "list")
    merge_kbs([tmp_path / "list", kb.path], tmp_path / "merged", by="title")
    with KnowledgeBase.open(tmp_path / "merged") as merged:
        assert held_out_of(merged) == HALF
        read = read_link_documents([dump], merged)
    assert read.documents == read_link_documents([dump], kb).documents


def test_a_merged_knowledge_base_that_has_counted_all_is_refused(dump, kb, tmp_path):
    build_wiki([dump], tmp_path / "all")
    merge_kbs([kb.path, tmp_path / "all"], tmp_path / "merged", by="title")
    with (
        KnowledgeBase.open(tmp_path / "merged") as merged,
        pytest.raises(KnowledgeBaseError, match="without held-out pages"),
    ):
        held_out_of(merged)


def test_dumps_that_do_not_fit(tmp_path, dump, kb):
    other = write_dump(tmp_path / "other.xml", [page(t, "Text.") for t in COUNTED])
    with pytest.raises(DumpError, match="none of its articles is among the pages held out"):
        read_link_documents([other], kb)
    german = write_dump(tmp_path / "de.xml", [page("Haus", "Text.")], GERMAN)
    with pytest.raises(DumpError, match="one wiki"):
        read_link_documents([dump, german], kb)


def test_progress_is_told(dump, kb):
    told = []
    read_link_documents([dump], kb, progress=lambda *args: told.append(args))
    assert told[-1][0] == "reading"
    assert told[-1][1] == told[-1][2] == dump.stat().st_size
