import pickle

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sgtb.wikipedia.dump.site import Site

GERMAN = b"""<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.10/" xml:lang="de">
  <siteinfo>
    <sitename>Wikipedia</sitename>
    <dbname>dewiki</dbname>
    <base>https://de.wikipedia.org/wiki/Wikipedia:Hauptseite</base>
    <case>first-letter</case>
    <namespaces>
      <namespace key="-2" case="first-letter">Medium</namespace>
      <namespace key="0" case="first-letter" />
      <namespace key="1" case="first-letter">Diskussion</namespace>
      <namespace key="4" case="first-letter">Wikipedia</namespace>
      <namespace key="6" case="first-letter">Datei</namespace>
      <namespace key="14" case="first-letter">Kategorie</namespace>
      <namespace key="2302" case="case-sensitive">Gadget-Definition</namespace>
    </namespaces>
  </siteinfo>
"""


def info(inner: str) -> Site:
    return Site.parse(f"<mediawiki><siteinfo>{inner}</siteinfo>".encode())


@pytest.fixture(scope="module")
def english() -> Site:
    return Site.default()


@pytest.fixture(scope="module")
def german() -> Site:
    return Site.parse(GERMAN)


@pytest.mark.parametrize(
    ("target", "title"),
    [
        ("Physics", "Physics"),
        ("physics", "Physics"),
        ("albert_Einstein", "Albert Einstein"),
        (" _ Albert__ Einstein_ ", "Albert Einstein"),
        ("Albert\u00a0Einstein", "Albert Einstein"),
        ("Physics#History", "Physics"),
        ("Physics #History", "Physics"),
        (":Physics", "Physics"),
        (": physics", "Physics"),
        ("en:physics", "Physics"),
        ("EN : physics", "Physics"),
        ("w:physics", "Physics"),
        ("Star Trek: The Next Generation", "Star Trek: The Next Generation"),
        ("2001: A Space Odyssey", "2001: A Space Odyssey"),
        ("éclair", "Éclair"),
        ("e\u0301clair", "Éclair"),
        ("ß", "ß"),
        ("ǆ", "Ǆ"),
        ("ა", "ა"),
        ("\u200eAbc\u200f", "Abc"),
        ("C%2B%2B", "C++"),
        ("Caf%C3%A9", "Café"),
        ("100%", "100%"),
        ("100% pure", "100% pure"),
        ("AT&T", "AT&T"),
        ("...", "..."),
        ("a.b/c.", "A.b/c."),
        ("日本", "日本"),
        ("x" * 255, "X" + "x" * 254),
        ("iPod", "IPod"),
    ],
)
def test_titles_in_their_normal_form(english, target, title):
    assert english.title(target) == title
    assert english.title(title) == title


@pytest.mark.parametrize(
    "target",
    [
        "",
        " ",
        "_",
        ":",
        "::Physics",
        "#History",
        ":#History",
        "File:A.png",
        "image:A.png",
        "Category:Physics",
        ":Category:Physics",
        "category : physics",
        "Talk:Physics",
        "User_talk:Someone",
        "Wikipedia:About",
        "WP:NPOV",
        "Project:About",
        "Portal:Physics",
        "Special:Search",
        "de:Physik",
        ":fr:Physique",
        "w:de:Physik",
        "en:de:Physik",
        "zh-min-nan:A",
        "wikt:physics",
        "commons:Category:Physics",
        "en:",
        "a|b",
        "a[b",
        "a]b",
        "{{a}}",
        "a<b",
        "a\nb",
        "a\0b",
        "a\ufffdb",
        "~~~~",
        ".",
        "..",
        "../a",
        "a/./b",
        "a/..",
        "&lt;",
        "%FF",
        "a%7Cb",
        "x" * 256,
        "é" * 128,
    ],
)
def test_what_is_no_article(english, target):
    assert english.title(target) is None


@given(st.text() | st.text(alphabet="aé :_#%2F|[Filedn\u0307İßΣς", max_size=12))
@example("i\u0307")
@example("%25%41")
def test_a_normal_title_stays_as_it_is(text):
    site = Site.default()
    title = site.title(text)
    if title is not None:
        assert title
        assert len(title.encode()) <= 255
        assert site.title(title) == title


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("Category:Physics", "Physics"),
        ("category:physics", "Physics"),
        (" Category : _physics_ ", "Physics"),
        ("Category:Physics#x", "Physics"),
        (":Category:Physics", None),
        ("Category:", None),
        ("Physics", None),
        ("File:A.png", None),
        ("Category talk:Physics", None),
        ("Category:A|b", None),
    ],
)
def test_categories(english, target, name):
    assert english.category(target) == name


def test_the_prefixes_of_links_that_show_nothing(english, german):
    assert {"file", "image", "category", "de", "simple", "zh-yue"} <= english.hidden
    assert not {"en", "talk", "wikipedia", "media", "portal", "wikt"} & english.hidden
    assert {"datei", "bild", "file", "image", "kategorie", "category", "en"} <= german.hidden
    assert "de" not in german.hidden
    assert all(prefix == prefix.lower() for prefix in english.hidden | german.hidden)


def test_another_language(german):
    assert (german.dbname, german.language) == ("dewiki", "de")
    assert german.title("Datei:A.png") is None
    assert german.title("Bild:A.png") is None
    assert german.title("File:A.png") is None
    assert german.title("Diskussion:Physik") is None
    assert german.title("Talk:Physik") is None
    assert german.title("de:physik") == "Physik"
    assert german.title("en:Physics") is None
    assert german.title("w:Physics") is None
    assert german.title("Portal:Physik") == "Portal:Physik"  # this wiki does not say it has them
    assert german.category("kategorie:physik") == "Physik"
    assert german.category("Category:Physik") == "Physik"


def test_names_with_spaces_are_hidden_in_both_forms():
    site = info(
        "<dbname>viwiki</dbname><namespaces><namespace key='6'>Tập tin</namespace>"
        "<namespace key='14'>Thể loại</namespace></namespaces>"
    )
    assert {"tập tin", "tập_tin", "thể loại", "thể_loại"} <= site.hidden
    assert site.category("Thể_loại:vật lý") == "Vật lý"


def test_case_rules_are_per_namespace():
    site = info(
        "<dbname>enwiktionary</dbname><base>https://en.wiktionary.org/wiki/X</base>"
        "<case>case-sensitive</case><namespaces>"
        "<namespace key='0' case='case-sensitive'/>"
        "<namespace key='14' case='first-letter'>Category</namespace></namespaces>"
    )
    assert site.title("house") == "house"
    assert site.title("élan") == "élan"
    assert site.category("Category:nouns") == "Nouns"
    assert site.case_sensitive == {0}
    old = info("<case>case-sensitive</case><namespaces><namespace key='0'/></namespaces>")
    assert old.title("house") == "house"
    bare = info("<case>case-sensitive</case>")
    assert bare.title("house") == "house"


def test_the_dotted_capital_of_turkish():
    site = info("<dbname>trwiki</dbname><base>https://tr.wikipedia.org/wiki/X</base>")
    assert site.title("izmir") == "İzmir"
    assert site.title("İzmir") == "İzmir"
    assert site.title("ılgaz") == "Ilgaz"


@pytest.mark.parametrize(
    ("inner", "dbname", "language"),
    [
        ("<base>http://en.wikipedia.org/wiki/Main_Page</base>", "enwiki", "en"),
        ("<base>https://zh-min-nan.wikipedia.org/wiki/X</base>", "zh_min_nanwiki", "zh-min-nan"),
        ("<dbname>zh_min_nanwiki</dbname>", "zh_min_nanwiki", "zh-min-nan"),
        ("<dbname>simplewiki</dbname>", "simplewiki", "simple"),
        ("<dbname>frwikibooks</dbname>", "frwikibooks", "fr"),
        ("<dbname>mywiki</dbname><base>https://wiki.example.com/X</base>", "mywiki", "my"),
        ("<dbname>company</dbname><base>http://localhost/wiki/X</base>", "company", "en"),
        ("<base>https://www.wikidata.org/wiki/X</base>", "", "en"),
        ("", "", "en"),
    ],
)
def test_which_wiki_it_is(inner, dbname, language):
    site = info(inner)
    assert (site.dbname, site.language) == (dbname, language)


@pytest.mark.parametrize(
    "xml",
    [
        b"",
        b"<page>",
        b"<siteinfo>",
        b"<siteinfo><a></siteinfo>",
        b"<siteinfo>\xff</siteinfo>",
        b"<siteinfo></siteinfo>",
        b"<siteinfo><namespaces><namespace key='x'>A</namespace></namespaces></siteinfo>",
    ],
)
def test_without_information_it_is_english(xml):
    assert Site.parse(xml) == Site.default()


def test_the_declared_language_counts_where_nothing_else_tells():
    xml = b"<mediawiki xml:lang='fr'><siteinfo><dbname>mine</dbname></siteinfo>"
    assert Site.parse(xml).language == "fr"


def test_a_site_can_be_sent_to_another_process(german):
    assert pickle.loads(pickle.dumps(german)) == german
    assert hash(german) == hash(Site.parse(GERMAN))


def test_a_page_keeps_its_own_title(english):
    assert english.normal("foo_bar") == "Foo bar"
    assert english.normal("Talk:foo  bar") == "Talk:foo bar"
    assert english.normal("War: What is it?") == "War: What is it?"
