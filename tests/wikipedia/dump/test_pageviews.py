import bz2
import gzip
from collections import Counter

import pytest

from sgtb.core.errors import DumpError
from sgtb.wikipedia.dump.pageviews import read_pageviews
from sgtb.wikipedia.dump.site import Site

HOURLY = """\
de Berlin 7 0
en Main_Page 42 0
en albert_Einstein 3 0
en.m Albert_Einstein 4 0
en.d physics 5 0
en Caf%C3%A9 2 0
en Café 1 0
en Talk:Physics 9 0
en File:A.png 9 0
en - 1 0
fr.m Paris 6 0
"""
DAILY = """\
de.wikipedia Berlin 17 desktop 7 A7
en.wikipedia Main_Page 15580374 desktop 42 A40B2
en.wikipedia Albert_Einstein 736 desktop 3 A3
en.wikipedia Albert_Einstein 736 mobile-web 4 B4
en.wikipedia New_page null mobile-app 1 C1
en.wiktionary physics 1 desktop 5 A5
"""
MERGED = """\
# comment
de.z Berlin 7 A7
en.z Main_Page 42 A40B2
en.z Albert_Einstein 7
en.b Cookbook 5 A5
"""


def views(tmp_path, text, site=None, pack=lambda data: data):
    path = tmp_path / "views"
    path.write_bytes(pack(text.encode() if isinstance(text, str) else text))
    entries = list(read_pageviews(path, site or Site.default()))
    total = Counter()
    for title, count in filter(None, entries):
        total[title] += count
    return total, entries.count(None)


@pytest.mark.parametrize("pack", [lambda data: data, gzip.compress, bz2.compress])
def test_hourly_files(tmp_path, pack):
    total, bad = views(tmp_path, HOURLY, pack=pack)
    assert total == {"Main Page": 42, "Albert Einstein": 7, "Café": 3, "-": 1}
    assert bad == 0


def test_daily_files(tmp_path):
    total, bad = views(tmp_path, DAILY)
    assert total == {"Main Page": 42, "Albert Einstein": 7, "New page": 1}
    assert bad == 0


def test_merged_counts(tmp_path):
    assert views(tmp_path, MERGED) == ({"Main Page": 42, "Albert Einstein": 7}, 0)


def test_other_wikis(tmp_path):
    def site(dbname):
        return Site.parse(f"<siteinfo><dbname>{dbname}</dbname></siteinfo>".encode())

    assert views(tmp_path, HOURLY, site("dewiki")) == ({"Berlin": 7}, 0)
    assert views(tmp_path, DAILY, site("dewiki")) == ({"Berlin": 7}, 0)
    assert views(tmp_path, HOURLY, site("frwiki")) == ({"Paris": 6}, 0)
    assert views(tmp_path, HOURLY, site("enwiktionary")) == ({"Physics": 5}, 0)
    assert views(tmp_path, DAILY, site("enwiktionary")) == ({"Physics": 5}, 0)


def test_line_ends(tmp_path):
    assert views(tmp_path, b"en A 1 0\r\nen B 2 0") == ({"A": 1, "B": 2}, 0)
    assert views(tmp_path, b"en A 3 0\n\n") == ({"A": 3}, 0)


@pytest.mark.parametrize(
    "line",
    [
        b"en",
        b"en A",
        b"en A x 0",
        b"en A -1 0",
        b"en A 1 0 0",
        b"en A b 1 0 7 8",
        b"en  1 0",
        b"en \xff 1 0",
        b"en A 1234567890123456 0",
        b"en.wikipedia A 1 0",
        b"en.wikipedia A 1 tablet 2 A2",
        b"junk",
        b"\0\0\0",
        b"x" * 100_000,
    ],
)
def test_bad_lines_are_counted(tmp_path, line):
    assert views(tmp_path, b"en Good 1 0\n" + line + b"\nen Good 2 0\n") == ({"Good": 3}, 1)


@pytest.mark.parametrize("text", ["", "\n\n", "junk\n", "de Berlin 1 0\n", "en A x 0\n"])
def test_a_file_without_views_is_an_error(tmp_path, text):
    with pytest.raises(DumpError, match=r"views, line 1: .*of this wiki \(en, en\.m, en\.z, "):
        views(tmp_path, text)


def test_a_missing_file_is_an_error(tmp_path):
    with pytest.raises(DumpError, match="nothing: cannot be read"):
        list(read_pageviews(tmp_path / "nothing", Site.default()))


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress])
def test_a_broken_file_gives_what_comes_before(tmp_path, pack):
    lines = [f"en Page_{i} {i * 7919 % 100_003} 0" for i in range(200_000)]
    packed = pack("\n".join(lines).encode())
    total, bad = views(tmp_path, packed[: len(packed) * 3 // 4])
    assert 0 < len(total) < 200_000
    assert all(total[f"Page {i}"] == i * 7919 % 100_003 for i in range(len(total) - 1))
    assert bad == 1


def test_a_file_without_line_ends_does_not_fill_memory(tmp_path):
    total, bad = views(tmp_path, b"en A 1 0\n" + b"x" * 5_000_000)
    assert (total, bad) == ({"A": 1}, 1)
