import bz2
import gzip
import html
import os
import pickle
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree
from xml.sax.saxutils import escape, quoteattr

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sgtb.core.errors import DumpError
from sgtb.wikipedia.dump import chunk_pages as pieces
from sgtb.wikipedia.dump import page_xml
from sgtb.wikipedia.dump.decompression import decompress_blocks
from sgtb.wikipedia.dump.dump_reader import map_chunks, open_dump, read_chunk
from sgtb.wikipedia.dump.page_xml import Dropped, DumpPage
from sgtb.wikipedia.dump.site import Site
from tests.conftest import part
from tests.helpers.chunk_functions import count, die, fail, keep

HEAD = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.10/" version="0.10" xml:lang="en">
  <siteinfo>
    <dbname>enwiki</dbname>
    <base>https://en.wikipedia.org/wiki/Main_Page</base>
    <case>first-letter</case>
    <namespaces>
      <namespace key="0" case="first-letter" />
      <namespace key="1" case="first-letter">Talk</namespace>
    </namespaces>
  </siteinfo>
"""
END = "</mediawiki>\n"


def page_xml_of(
    title: str, text: str, number: int, ns: int = 0, redirect: str | None = None
) -> str:
    """A page as MediaWiki writes it."""
    line = f"    <redirect title={quoteattr(redirect)} />\n" if redirect is not None else ""
    quote = {'"': "&quot;"}
    return (
        f"  <page>\n    <title>{escape(title, quote)}</title>\n    <ns>{ns}</ns>\n"
        f"    <id>{number}</id>\n{line}    <revision>\n      <id>{number + 900}</id>\n"
        "      <contributor>\n        <username>A &amp; B</username>\n        <id>5</id>\n"
        "      </contributor>\n      <minor />\n      <comment>&lt;page&gt;</comment>\n"
        f'      <text xml:space="preserve">{escape(text, quote)}</text>\n      <sha1>x</sha1>\n'
        "    </revision>\n  </page>\n"
    )


def some_pages(count: int = 12, seed: int = 0) -> list[str]:
    """Pages of all kinds: short, long, redirects, other namespaces, with what must be escaped."""
    rng = random.Random(seed)
    words = [
        "alpha",
        "béta",
        "<ref>x</ref>",
        '"q"',
        "&amp;",
        "&",
        "\n",
        "\n* ",
        "[[a|b]]",
        "𝔘",
        "日本",
    ]
    found = []
    for i in range(1, count + 1):
        text = " ".join(rng.choices(words, k=rng.choice([0, 3, 40, 200])))
        if i % 4 == 0:
            found.append(page_xml_of(f"P & {i}", "#REDIRECT [[p 1#x]]", i, redirect="P 1"))
        elif i % 5 == 0:
            found.append(page_xml_of(f"Talk:P {i}", text, i, ns=1))
        else:
            found.append(page_xml_of(f"P {i}", text.strip(), i))
    return found


def dump_xml(pages: list[str]) -> bytes:
    return (HEAD + "".join(pages) + END).encode()


def by_element_tree(xml: bytes) -> list[DumpPage]:
    """The slow, obvious reading of a dump that is not damaged."""
    lines = [xml.count(b"\n", 0, match.start()) + 1 for match in re.finditer(b"<page[ >]", xml)]
    found = []
    for element, line in zip(ElementTree.fromstring(xml).iterfind("{*}page"), lines, strict=True):
        redirect = element.find("{*}redirect")
        found.append(
            DumpPage(
                element.findtext("{*}title"),
                int(element.findtext("{*}ns")),
                int(element.findtext("{*}id")),
                None if redirect is None else redirect.get("title"),
                element.findtext("{*}revision/{*}text"),
                line,
            )
        )
    return found


def streams(xml: bytes, cuts: list[int]) -> bytes:
    edges = [0, *cuts, len(xml)]
    return b"".join(bz2.compress(xml[a:b]) for a, b in pairwise(edges))


def at_pages(xml: bytes) -> bytes:
    return streams(xml, [m.start() for m in re.finditer(b"  <page", xml)][::3])


def anywhere(xml: bytes) -> bytes:
    return streams(xml, list(range(137, len(xml), 137)))


PACKINGS: dict[str, Callable[[bytes], bytes]] = {
    "plain": lambda xml: xml,
    "gzip": gzip.compress,
    "gzip members": lambda xml: gzip.compress(xml[:1000]) + gzip.compress(xml[1000:]) + b"\0\0\0",
    "bzip2": bz2.compress,
    "bzip2 at pages": at_pages,
    "bzip2 anywhere": anywhere,
    "bzip2 with empty streams": lambda xml: (
        streams(xml[:999], []) + bz2.compress(b"") * 2 + streams(xml[999:], []) + bz2.compress(b"")
    ),
}


def write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def read(paths, workers=1, size=1 << 22, strict=False) -> tuple[list[DumpPage], list[Dropped]]:
    """All pages with the lines of their files, and what was dropped."""
    dumps = [open_dump(path) for path in ([paths] if isinstance(paths, Path) else paths)]
    found: list[DumpPage] = []
    dropped: list[Dropped] = []
    last = 0
    for number, outcome in enumerate(map_chunks(dumps, keep, workers, size, strict)):
        assert outcome.number == number
        assert last <= outcome.position <= sum(dump.size for dump in dumps)
        last = outcome.position
        for page in outcome.result:
            line = page.line + outcome.first_line - 1
            found.append(DumpPage(*(getattr(page, n) for n in page.__slots__[:-1]), line))
        dropped += outcome.dropped
    return found, dropped


def read_xml(tmp_path: Path, xml: bytes | str, **options) -> tuple[list[DumpPage], list[Dropped]]:
    data = xml.encode() if isinstance(xml, str) else xml
    return read(write(tmp_path / "dump.xml", data), **options)


# --- forms -----------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 64, 1000, 1 << 22])
@pytest.mark.parametrize("packing", PACKINGS)
def test_all_packings_and_chunk_sizes_give_the_same_pages(tmp_path, packing, size):
    xml = dump_xml(some_pages())
    path = write(tmp_path / "any.name", PACKINGS[packing](xml))
    assert read(path, size=size) == (by_element_tree(xml), [])


def test_workers_give_the_same_as_one_process(tmp_path):
    xml = [dump_xml(some_pages(seed=seed)) for seed in range(len(PACKINGS))]
    paths = [write(tmp_path / str(i), pack(xml[i])) for i, pack in enumerate(PACKINGS.values())]
    write(paths[3], xml[3][:-500])  # one is damaged
    for size in (700, 1 << 22):
        assert read(paths, workers=2, size=size) == read(paths, workers=1, size=size)
    pages, dropped = read(paths, workers=2)
    assert len(dropped) == 1
    assert [page.title for page in pages if page.id == 1] == ["P 1"] * len(paths)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(1, 20_000), max_size=6), st.integers(0, 5), st.integers(1, 5000))
def test_streams_may_be_cut_anywhere(tmp_path_factory, cuts, seed, size):
    xml = dump_xml(some_pages(seed=seed))
    folder = tmp_path_factory.mktemp("cut")
    path = write(folder / "d", streams(xml, sorted({cut % len(xml) for cut in cuts})))
    assert read(path, size=size) == (by_element_tree(xml), [])


def test_blocks_of_one_stream_are_unpacked_one_by_one(tmp_path):
    xml = random.Random(1).randbytes(250_000).hex().encode()
    path = write(tmp_path / "d", bz2.compress(xml, 1))  # blocks of 100 kB
    with open(path, "rb") as file:
        blocks = list(decompress_blocks(file, 0, path.stat().st_size))
        assert len(blocks) > 4
        assert all(block.contiguous for block in blocks)
        assert b"".join(block.data for block in blocks) == xml
        for border in (1000, blocks[0].end, blocks[0].end + 1, blocks[1].end - 1):
            halves = [*decompress_blocks(file, 0, border), *decompress_blocks(file, border, 10**7)]
            assert halves == blocks


def test_a_chunk_does_not_grow_with_how_well_a_file_is_packed(tmp_path):
    rng = random.Random(2)
    text = rng.randbytes(500).hex() * 10
    pages = [page_xml_of("Random", rng.randbytes(550_000).hex(), 1)]
    pages += [page_xml_of(f"P {i}", text, i) for i in range(2, 600)]
    path = write(tmp_path / "d", bz2.compress(dump_xml(pages), 1))  # shrinks to a tenth
    dump = open_dump(path)
    sizes = [outcome.result for outcome in map_chunks([dump], count, chunk_size=1 << 16)]
    assert sum(sizes) == 599
    assert max(sizes) * 10_000 < 16 * (1 << 16) + 200_000


def test_chunks_are_small_and_can_be_sent(tmp_path):
    xml = dump_xml(some_pages(60))
    for packing, pack in PACKINGS.items():
        dump = open_dump(write(tmp_path / "d", pack(xml)))
        chunks = list(dump.chunks(2000))
        assert chunks == sorted(chunks, key=lambda chunk: chunk.position), packing
        assert chunks[-1].position == dump.size == (tmp_path / "d").stat().st_size
        for chunk in chunks:
            again = pickle.loads(pickle.dumps(chunk))
            assert read_chunk(again, dump.site) == read_chunk(chunk, dump.site)
            assert len(pickle.dumps(chunk)) < 9000, packing


# --- pages -----------------------------------------------------------------------------------


FORMS = [
    (
        '<page xmlns="http://x/" a="b>c"><title>attributes</title>'
        '<redirect title="to &quot;this&quot;#part"></redirect>'
        '<revision><id>2</id><text bytes="3">x</text></revision></page>',
        ("Attributes", 0, 'To "this"', "x"),
    ),
    (
        '<page><title>empty</title><revision><text xml:space="preserve" /></revision></page>',
        ("Empty", 0, None, ""),
    ),
    ("<page><title>none</title><id>4</id></page>", ("None", 4, None, "")),
    (
        "<page><title>revisions</title><id>3</id><revision><text>old</text></revision>"
        "<revision><text>new</text></revision></page>",
        ("Revisions", 3, None, "new"),
    ),
    (
        "<page><title>hidden</title><id>3</id><revision><text>old</text></revision>"
        '<revision><text deleted="deleted" /></revision></page>',
        ("Hidden", 3, None, ""),
    ),
    (
        "<page><title>A&amp;amp;B &#233; &#x1F600;</title><id>1</id><revision>"
        "<text>&lt;a&gt; &amp;lt; &amp;amp;lt; &quot;&apos;&#39;&#039; &#x26;lt;</text>"
        "</revision></page>",
        ("A&amp;B é 😀", 1, None, "<a> &lt; &amp;lt; \"''' &lt;"),
    ),
    (
        "<page><title>cdata</title><id>1</id><revision>"
        "<text><![CDATA[<b> &lt; ]]>&lt;</text></revision></page>",
        ("Cdata", 1, None, "<b> &lt; <"),
    ),
    (
        "<page><title>ends</title><revision><text>a\r\nb\rc&#13;</text></revision></page>",
        ("Ends", 0, None, "a\nb\nc\r"),
    ),
    (
        "<page ><id>9</id><!-- <title>no</title> --><title>order</title><revision><id>7</id>"
        "<text>x</text><title>not this</title></revision></page\n>",
        ("Order", 9, None, "x"),
    ),
    (
        '<page><title>a</title><id>1</id><revision><text a="1>2">x</text></revision></page>',
        ("A", 1, None, "x"),
    ),
    (
        '<page><title>out</title><id>1</id><redirect title="Talk:x" /><revision>'
        "<text>#REDIRECT [[Talk:x]]</text></revision></page>",
        ("Out", 1, "", "#REDIRECT [[Talk:x]]"),
    ),
    (
        "<page><title>old</title><revision><text>#REDIRECT [[aAA#b|c]]</text></revision></page>",
        ("Old", 0, "AAA", "#REDIRECT [[aAA#b|c]]"),
    ),
    (
        "<page><title>old</title><id>1</id><revision>"
        "<text>#redirect [[AT&amp;amp;T]]</text></revision></page>",
        ("Old", 1, "AT&T", "#redirect [[AT&amp;T]]"),
    ),
    (
        "<page><title>old</title><revision><text>#REDIRECT [[de:D]]</text></revision></page>",
        ("Old", 0, "", "#REDIRECT [[de:D]]"),
    ),
]


@pytest.mark.parametrize(("xml", "expected"), FORMS)
def test_what_a_page_may_look_like(tmp_path, xml, expected):
    (page,), dropped = read_xml(tmp_path, HEAD + xml + END)
    assert (page.title, page.id, page.redirect, page.text) == expected
    assert (page.namespace, dropped) == (0, [])


def test_namespaces_come_from_the_number_or_else_the_title(tmp_path):
    titles = ["A", "Talk:a_b", "talk : A", "Star Trek: A", "File:A.png", "de:A"]
    old = "".join(f"<page><title>{title}</title></page>" for title in titles)
    pages, _ = read_xml(tmp_path, HEAD + old)
    assert [page.namespace for page in pages] == [0, 1, 1, 0, 6, 0]
    assert pages[1].title == "Talk:a b"
    new = "".join(f"<page><title>{title}</title><ns>7</ns></page>" for title in titles)
    pages, _ = read_xml(tmp_path, HEAD + new)
    assert {page.namespace for page in pages} == {7}


def test_a_dump_without_siteinfo_or_root(tmp_path):
    page = page_xml_of("A", "x", 1)
    for xml in (page, f"<mediawiki>{page}</mediawiki>", f"\ufeff<?xml version='1.0'?>\n{page}"):
        path = write(tmp_path / "d", xml.encode())
        assert open_dump(path).site == Site.default()
        assert [p.title for p in read(path)[0]] == ["A"]


@settings(deadline=None)
@given(
    st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S", "Zs"]), min_size=1),
    st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]) | st.just("\n")),
    st.booleans(),
)
def test_the_quick_reading_is_the_careful_one(title, text, redirects):
    xml = page_xml_of(title, text, 3, redirect="A" if redirects else None).strip().encode()
    quick = page_xml._read_quickly(xml)
    try:
        careful = page_xml._read_carefully(xml)
    except page_xml.BadPageError:
        assert quick is None
    else:
        assert quick in (None, careful)
        assert careful.title == title
        assert careful.text == text


@pytest.mark.parametrize(
    "inner",
    ["a & b", "&nbsp;", "&#0;", "&#x110000;", "a ]]> b", "a < b", "<b>", "</b>", "\x01", "a\x1fb"],
)
def test_text_that_is_not_xml_is_refused_by_both_readings(inner):
    xml = page_xml_of("A", "TEXT", 1).strip().replace("TEXT", inner).encode()
    assert page_xml._read_quickly(xml) is None
    with pytest.raises(page_xml.BadPageError):
        page_xml._read_carefully(xml)


# --- damage ----------------------------------------------------------------------------------


def damaged(tmp_path, old: str, new: str | bytes, **options):
    """What becomes of three pages when something in the second is replaced."""
    pages = [page_xml_of(f"P {i}", f"text {i}", i) for i in (1, 2, 3)]
    xml = dump_xml(pages)
    new = new.encode() if isinstance(new, str) else new
    assert old.encode() in pages[1].encode()
    second = pages[1].encode().replace(old.encode(), new, 1)
    xml = xml.replace(pages[1].encode(), second)
    found, dropped = read_xml(tmp_path, xml, **options)
    return [page.id for page in found], [(d.line, d.title, d.reason, d.bytes) for d in dropped]


SECOND = HEAD.count("\n") + page_xml_of("", "", 1).count("\n") + 1
SIZE = len(page_xml_of("P 2", "text 2", 2).strip())


@pytest.mark.parametrize("size", [1, 100, 1 << 22])
@pytest.mark.parametrize(
    ("old", "new", "title", "reason"),
    [
        (
            "text 2",
            "a < b",
            "P 2",
            "line 13 of the page is not XML (not well-formed (invalid token))",
        ),
        (
            "text 2",
            "a & b",
            "P 2",
            "line 13 of the page is not XML (not well-formed (invalid token))",
        ),
        ("text 2", "&nbsp;", "P 2", "line 13 of the page is not XML (undefined entity)"),
        ("text 2", b"a\xffb", "P 2", "byte 0xff in line 13 of the page is not UTF-8"),
        ("text 2", b"\xc3", "P 2", "byte 0xc3 in line 13 of the page is not UTF-8"),
        ("text 2", "\x01", "P 2", "control character 0x01 in line 13 of the page"),
        ("text 2", "\0", "P 2", "control character 0x00 in line 13 of the page"),
        ("</text>", "", "P 2", "line 15 of the page is not XML (mismatched tag)"),
        ("<minor />", "<minor>", "P 2", "line 15 of the page is not XML (mismatched tag)"),
        ("<title>P 2</title>", "", "", "no title"),
        ("<title>P 2</title>", "<title> </title>", "", "no title"),
        ("<ns>0</ns>", "<ns>x</ns>", "P 2", "the namespace is 'x', not a number"),
        ("<id>2</id>", "<id></id>", "P 2", "the id is '', not a number"),
        ("</page>", "", "P 2", "no </page> before the next page"),
        ("</page>", "</pag", "P 2", "no </page> before the next page"),
        ("<page>", "<pa", "P 2", "</page> without <page>"),
    ],
)
def test_a_damaged_page_is_dropped_and_listed(tmp_path, old, new, title, reason, size):
    ids, dropped = damaged(tmp_path, old, new, size=size)
    assert ids == [1, 3]
    (one,) = dropped
    assert one[:3] == (SECOND, title, reason)
    assert one[3] == pytest.approx(SIZE + len(new) - len(old), abs=3)  # white space is not meant


def test_a_page_within_a_page_is_read(tmp_path):
    inner = "<page><title>In</title><ns>0</ns><id>7</id></page>"
    ids, dropped = damaged(tmp_path, "text 2", inner)
    assert ids == [1, 7, 3]
    assert [(line, title, reason) for line, title, reason, _ in dropped] == [
        (SECOND, "P 2", "no </page> before the next page"),
        (SECOND + 12, "", "</page> without <page>"),
    ]


def test_garbage_between_pages_is_listed(tmp_path):
    ids, dropped = damaged(tmp_path, "  <page>", "garbage\n  <page>")
    assert ids == [1, 2, 3]
    assert dropped == [(SECOND, "", "not a page", 7)]


def test_strict_stops_at_the_first(tmp_path):
    with pytest.raises(
        DumpError, match=rf"dump\.xml, line {SECOND}: page 'P 2' left out: line 13 of"
    ):
        damaged(tmp_path, "text 2", "&", strict=True)


@pytest.mark.parametrize("size", [1, 64, 1 << 22])
def test_what_comes_after_the_end_is_ignored(tmp_path, size):
    xml = dump_xml(some_pages(3))
    after = b"\0garbage" + page_xml_of("After", "x", 9).encode() * 5
    for pack in (lambda x: x + after, lambda x: gzip.compress(x + after), bz2.compress):
        path = write(tmp_path / "d", pack(xml))
        assert read(path, size=size) == (by_element_tree(xml), [])
    for pack in (gzip.compress, bz2.compress):  # after the packed data
        path = write(tmp_path / "d", pack(xml) + after * 9)
        assert read(path, size=size) == (by_element_tree(xml), [])
    write(tmp_path / "d", bz2.compress(xml + after) + bz2.compress(after))
    assert read(tmp_path / "d", size=size) == (by_element_tree(xml), [])


@pytest.mark.parametrize("size", [50, 1 << 22])
def test_a_page_that_never_ends_does_not_fill_memory(tmp_path, monkeypatch, size):
    monkeypatch.setattr(pieces, "PAGE_LIMIT", 100_000)
    whole, open_page = page_xml_of("A", "x", 1), page_xml_of("B", "y" * 300_000, 2)
    half = open_page.replace("</page>", "")
    pages, dropped = read_xml(tmp_path, HEAD + whole + half + whole + END, size=size)
    assert [page.title for page in pages] == ["A", "A"]
    assert [(d.title, d.line) for d in dropped] == [("B", SECOND)]
    pages, dropped = read_xml(tmp_path, HEAD + whole + half, size=size)
    assert [page.title for page in pages] == ["A"]
    assert [(d.title, d.line) for d in dropped] == [("B", SECOND)]
    pages, dropped = read_xml(tmp_path, HEAD + whole + open_page + whole + END, size=size)
    assert [page.title for page in pages] == ["A", "A"]
    (one,) = dropped
    assert (one.title, one.line) == ("B", SECOND)
    assert re.fullmatch(r"larger than 0 MB|no </page> within 0 MB", one.reason)
    assert one.bytes == pytest.approx(len(open_page), abs=8)


def test_the_stitcher_keeps_only_what_it_must(monkeypatch):
    monkeypatch.setattr(pieces, "PAGE_LIMIT", 1000)
    monkeypatch.setattr(pieces, "_STUB", 100)
    stitcher = pieces.ChunkJoiner("f", Site.default())
    for text in [b"<mediawiki><page><title>A</title>", *[b"x" * 600] * 500]:
        stitcher.add(pieces.parse_chunk(text, "f", Site.default()))
        assert len(stitcher._pending) <= 1000
    (one,) = stitcher.finish().dropped()
    assert (one.title, one.bytes) == ("A", 300_000 + len(b"<page><title>A</title>"))


@pytest.mark.parametrize("packing", ["plain", "gzip", "bzip2", "bzip2 anywhere"])
def test_a_file_cut_anywhere_gives_the_pages_before(tmp_path, packing):
    pages = some_pages(4, seed=3)
    xml = dump_xml(pages)
    whole = by_element_tree(xml)
    data = PACKINGS[packing](xml)
    for end in range(len(HEAD) if packing == "plain" else 600, len(data), 7):
        path = write(tmp_path / "d", data[:end])
        try:
            found, dropped = read(path, size=500)
        except DumpError:  # not even the beginning could be unpacked
            assert packing != "plain"
            assert end < len(data) - 10
            continue
        assert found == whole[: len(found)]
        if packing != "plain" and len(found) < len(whole):
            assert len(dropped) == 1
        elif packing == "plain" and xml[:end].rstrip().endswith((b"</page>", b"</siteinfo>")):
            assert dropped == []


NASTY = [
    b"<page>",
    b"</page>",
    b"<page",
    b"</",
    b">",
    b"<",
    b"&",
    b"\xff",
    b"\0",
    b"<text>",
    b"\n",
    b"<![CDATA[",
    b"<!--",
    b"]]>",
    b"</text>",
]


@pytest.mark.parametrize("seed", range(25))
def test_random_damage_touches_no_other_page(tmp_path, seed):
    rng = random.Random(seed)
    pages = some_pages(20, seed)
    xml = bytearray(dump_xml(pages))
    edges = [(m.start(), m.end()) for m in re.finditer(b"<page>.*?</page>", bytes(xml), re.S)]
    touched = set()
    for _ in range(rng.randint(1, 6)):
        nasty = rng.choice(NASTY)
        place = rng.randrange(edges[0][0], edges[-1][1] - len(nasty))
        xml[place : place + len(nasty)] = nasty
        touched |= {i for i, (a, b) in enumerate(edges) if a < place + len(nasty) and place < b}
    path = write(tmp_path / "d", bytes(xml))
    found, dropped = read(path)
    ids = [page.id for page in found]
    assert set(range(1, 21)) - {i + 1 for i in touched} <= set(ids)
    lines = bytes(xml).split(b"\n")
    for one in dropped:
        near = b"\n".join(lines[one.line - 1 : one.line + 1]).decode("utf-8", "replace")
        assert not one.title or f"<title>{one.title}<" in html.unescape(near)
    for size in (1, 333, 5000):
        assert read(path, size=size) == (found, dropped)
    for pack in (at_pages, anywhere, gzip.compress):
        packed = write(tmp_path / "packed", pack(bytes(xml)))
        for size in (100, 1 << 22):
            again, lost = read(packed, size=size)
            assert again == found
            assert [(d.line, d.title, d.reason) for d in lost] == [
                (d.line, d.title, d.reason) for d in dropped
            ]


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("packing", ["bzip2 at pages", "bzip2 anywhere", "gzip"])
def test_random_damage_to_packed_data(tmp_path, packing, seed):
    rng = random.Random(seed)
    xml = dump_xml(some_pages(40, seed))
    data = bytearray(PACKINGS[packing](xml))
    for _ in range(rng.randint(1, 3)):
        place = rng.randrange(800, len(data) - 40)
        hole = rng.randint(1, 30)
        data[place : place + hole] = rng.choice([rng.randbytes(hole), bytes(hole)])
    path = write(tmp_path / "d", bytes(data))
    whole = {page.id: page.text for page in by_element_tree(xml)}
    found, dropped = read(path)
    ids = [page.id for page in found]
    assert dropped or len(ids) == 40
    if packing != "gzip":  # which notices damage late, by a checksum at the very end
        assert len(ids) > 10
        assert ids == sorted(set(ids))
        assert all(whole[page.id] == page.text for page in found)
        assert read(path, size=1) == read(path, size=3000) == (found, dropped)


def test_a_damaged_block_in_the_middle_takes_only_its_own_pages(tmp_path):
    rng = random.Random(5)
    pages = [page_xml_of(f"P {i}", rng.randbytes(4000).hex(), i) for i in range(1, 101)]
    xml = dump_xml(pages)
    data = bytearray(bz2.compress(xml, 1))
    path = write(tmp_path / "d", bytes(data))
    with open(path, "rb") as file:
        blocks = list(decompress_blocks(file, 0, len(data)))
    before = sum(len(block.data) for block in blocks[:4])
    place = blocks[3].end + 500
    data[place : place + 9] = bytes(9)
    write(path, bytes(data))
    starts = [m.start() for m in re.finditer(b"<page>", xml)]
    lost = [
        i + 1
        for i, start in enumerate(starts)
        if start < before + len(blocks[4].data) and start + len(pages[i]) - 5 > before
    ]
    for size in (1000, 1 << 22):
        found, dropped = read(path, size=size)
        assert [page.id for page in found] == [i for i in range(1, 101) if i not in lost]
        (one,) = dropped
        assert one.title == f"P {lost[0]}"
        assert one.line == xml.count(b"\n", 0, starts[lost[0] - 1]) + 1
        assert one.reason == "compressed data is damaged"


def test_a_lost_stream_is_listed(tmp_path):
    pages = [page_xml_of(f"P {i}", random.Random(i).randbytes(50).hex(), i) for i in range(1, 7)]
    xml = dump_xml(pages)
    parts = [bz2.compress(piece) for piece in re.split(b"(?=  <page>)", xml)]
    parts[3] = parts[3][:20] + bytes(len(parts[3]) - 20)
    for hole in (parts[3], bytes(len(parts[3])), bytes(2_000_000)):
        parts[3] = hole
        path = write(tmp_path / "d", b"".join(parts))
        for size in (1, 1 << 22) if len(hole) < 1000 else (10_000, 1 << 22):
            found, dropped = read(path, size=size)
            assert [page.id for page in found] == [1, 2, 4, 5, 6]
            (one,) = dropped
            assert one.reason == "compressed data is damaged between pages; some may be missing"


@pytest.mark.parametrize("cut", range(1, 14))
def test_a_last_block_that_is_whole_is_read_though_the_end_is_missing(tmp_path, cut):
    xml = dump_xml(some_pages(5))
    path = write(tmp_path / "d", bz2.compress(xml)[:-cut])
    if cut <= 10:
        assert read(path)[0] == by_element_tree(xml)
    else:
        with pytest.raises(DumpError, match="not a dump"):
            read(path)


def test_a_wrong_checksum_of_gzip_is_listed(tmp_path):
    xml = dump_xml(some_pages(5))
    data = bytearray(gzip.compress(xml))
    data[-6] ^= 1
    found, dropped = read(write(tmp_path / "d", bytes(data)))
    assert found == by_element_tree(xml)
    assert [d.reason for d in dropped] == ["compressed data is damaged after the last page"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "not a dump"),
        (b"hello\nworld\n", r"lines 1 to 3: neither <mediawiki> nor <page>"),
        (b"<html><pages></html>", "not a dump"),
        (b" " * (1 << 20) + dump_xml(some_pages(1)), "in the first 1,048,576 bytes: not a dump"),
        (bz2.compress(b"hello"), "not a dump"),
        (gzip.compress(b"hello", mtime=0), "not a dump"),  # two processes must name this test alike
        (b"BZh9", "not a dump"),
        (b"BZh9" + bytes(1000), "not a dump"),
        (b"\x1f\x8b", "not a dump"),
        (b"\xfd7zXZ\0" + bytes(9), "compressed with xz; use gzip"),
        (b"7z\xbc\xaf\x27\x1c" + bytes(9), "compressed with 7z"),
    ],
)
def test_what_is_no_dump_is_an_error(tmp_path, data, message):
    path = write(tmp_path / "some.file", data)
    with pytest.raises(DumpError, match=rf"some\.file.*{message}"):
        open_dump(path)


def test_a_file_that_cannot_be_read_is_an_error(tmp_path):
    with pytest.raises(DumpError, match="missing: cannot be read: No such file"):
        open_dump(tmp_path / "missing")
    with pytest.raises(DumpError, match="cannot be read: Is a directory"):
        open_dump(tmp_path)
    for pack in (bz2.compress, gzip.compress):
        path = write(tmp_path / "gone", pack(dump_xml(some_pages(1))))
        dump = open_dump(path)
        path.unlink()
        with pytest.raises(DumpError, match="gone: cannot be read"):
            list(map_chunks([dump], count))


@pytest.mark.parametrize("options", [{"workers": 0}, {"chunk_size": 0}])
def test_impossible_numbers_are_refused(tmp_path, options):
    dump = open_dump(write(tmp_path / "d", dump_xml(some_pages(1))))
    with pytest.raises(ValueError, match="at least 1 is needed"):
        list(map_chunks([dump], count, **options))


# --- processes -------------------------------------------------------------------------------


def test_a_killed_worker_is_an_error(tmp_path):
    dump = open_dump(write(tmp_path / "d.xml", dump_xml(some_pages())))
    with pytest.raises(DumpError, match=r"a worker process ended while reading .*d\.xml.*memory"):
        list(map_chunks([dump], die, workers=2))


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_of_the_function_comes_through(tmp_path, workers):
    dump = open_dump(write(tmp_path / "d.xml", dump_xml(some_pages())))
    with pytest.raises(KeyError, match="of the function"):
        list(map_chunks([dump], fail, workers=workers))


def test_only_so_many_chunks_are_under_way(tmp_path):
    path = write(tmp_path / "d.xml", dump_xml(some_pages(200)))
    dump = open_dump(path)
    given_out = []

    class Watched:
        site, size, path = dump.site, dump.size, dump.path

        def chunks(self, size):
            for chunk in dump.chunks(size):
                given_out.append(chunk.position)
                yield chunk

    outcomes = map_chunks([Watched()], count, workers=2, chunk_size=1000)
    for taken, _ in enumerate(outcomes):
        assert len(given_out) <= taken + 1 + 2 * 2 + 1
    assert len(given_out) > 20


SCRIPT = """
import sys, time
from sgtb.wikipedia.dump.dump_reader import map_chunks, open_dump

def slow(pages):
    time.sleep(0.2)

if __name__ == "__main__":
    for outcome in map_chunks([open_dump(sys.argv[1])], slow, 2, 500):
        print(outcome.number, flush=True)
"""


def reading(tmp_path: Path) -> "subprocess.Popen[str]":
    """Return a process that reads a dump with workers, in the middle of it."""
    path = write(tmp_path / "d.xml", dump_xml(some_pages(400)))
    script = write(tmp_path / "script.py", SCRIPT.encode())
    process = subprocess.Popen(
        [sys.executable, script, path],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # Whoever runs the tests in the background has interrupts ignored, and children inherit it.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stdout.readline() == "0\n"
    return process


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_an_interrupt_ends_all_processes(tmp_path):
    process = reading(tmp_path)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT, errors
    assert errors.count("Traceback") == 1
    assert errors.endswith("KeyboardInterrupt\n")
    assert_all_gone(process)


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_workers_end_with_a_parent_that_is_killed(tmp_path):
    process = reading(tmp_path)
    process.kill()
    process.communicate(timeout=60)
    assert_all_gone(process)


def assert_all_gone(process: "subprocess.Popen[str]") -> None:
    for _ in range(50):
        try:
            os.killpg(process.pid, 0)
        except ProcessLookupError:
            break
        time.sleep(0.1)
    else:
        pytest.fail("a worker is still there")


# --- real dumps ------------------------------------------------------------------------------

REAL = {
    "enwik8-prefix.xml.bz2": (491, 243),
    "enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2": (206, 100),
    "enwiki-minidump.xml.bz2": (27, 2),
    "enwiki-redirects.xml.bz2": (7421, 7417),
    "enwiki-table-markup.xml.bz2": (5, 0),
}


@pytest.mark.parametrize("name", REAL)
def test_real_dumps(data, tmp_path, name):
    path = part(data, f"dumps/{name}")
    found, dropped = read(path)
    assert (len(found), sum(page.redirect is not None for page in found)) == REAL[name]
    xml = bz2.decompress(path.read_bytes())
    if name.startswith("enwik8"):
        (one,) = dropped
        assert one.title == "Asteraceae"
        assert one.reason == "the file ends before </page>"
        assert xml.split(b"\n")[one.line - 1] == b"  <page>"
        xml = xml[: xml.rindex(b"  <page>")] + b"</mediawiki>"
    else:
        assert dropped == []
    expected = ElementTree.fromstring(xml).findall("{*}page")
    for page, element in zip(found, expected, strict=True):
        assert page.title == element.findtext("{*}title")
        assert page.id == int(element.findtext("{*}id"))
        assert page.text == (element.findtext("{*}revision/{*}text") or "")
        assert page.namespace == int(element.findtext("{*}ns") or page.namespace)
    plain = write(tmp_path / "plain", bz2.decompress(path.read_bytes()))
    again, lost = read(plain, size=100_000)
    assert again == found
    assert [(d.line, d.title, d.reason, d.bytes) for d in lost] == [
        (d.line, d.title, d.reason, d.bytes) for d in dropped
    ]
