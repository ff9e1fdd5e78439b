"""Wikitext: every construct, on examples of a line or two."""

import doctest
from concurrent.futures import ThreadPoolExecutor

import pytest

from sgtb.native import (
    HIDDEN,
    IN_CAPTION,
    IN_LIST,
    IN_REF,
    IN_TABLE,
    IN_TEMPLATE,
    Lexicon,
    read_wikitext,
)
from sgtb.wikipedia.wikitext import markup as wikitext
from sgtb.wikipedia.wikitext.markup import Extract, WikiLink, extract

PREFIXES = frozenset(["file", "image", "category", "de", "файл"])


def read(page: str) -> Extract:
    return extract(page, PREFIXES)


def text(page: str) -> str:
    return read(page).text


def links(page: str) -> list[tuple[str, str, int]]:
    return [(link.target, link.anchor, link.flags) for link in read(page).links]


def pairs(page: str) -> list[tuple[str, str]]:
    return [(link.target, link.anchor) for link in read(page).links]


def bold(page: str) -> list[str]:
    result = read(page)
    return [result.text[start:end] for start, end in result.bold]


def test_the_example_of_the_module():
    assert doctest.testmod(wikitext).failed == 0


def test_a_page():
    assert read(
        "'''Ants''' are [[insect]]s.\n\n* [[Queen|The queen]]\n[[Category:Ants]]"
    ) == Extract(
        "Ants are insects.\nThe queen",
        (
            WikiLink("insect", "insects", 9, 16, 0, 0),
            WikiLink("Queen", "The queen", 18, 27, 1, IN_LIST),
            WikiLink("Category:Ants", "", -1, -1, 2, HIDDEN),
        ),
        ((0, 4),),
    )


def test_links_cannot_be_changed():
    (link,) = read("[[a]]").links
    with pytest.raises(AttributeError):
        link.target = "b"  # type: ignore[misc]
    assert link == WikiLink("a", "a", 0, 1, 0, 0)
    assert hash(link) == hash(WikiLink("a", "a", 0, 1, 0, 0))


@pytest.mark.parametrize(
    "page", ["", " ", "\n\n", "\x00", "{{a}}", "<!-- a -->", "[[File:a]]", "''''"]
)
def test_nothing_shown(page):
    assert text(page) in ("", "'")


# -- Links -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("[[Bus]]", [("Bus", "Bus")]),
        ("[[Bus|coach]]", [("Bus", "coach")]),
        ("[[ Bus | the  coach ]]", [("Bus", "the coach")]),
        ("[[Bus]]es run", [("Bus", "Buses")]),
        ("[[bus]]ES", [("bus", "bus")]),
        ("[[bus]]-es", [("bus", "bus")]),
        ("[[Bus|coach]]es", [("Bus", "coaches")]),
        ("[[мост]]ами", [("мост", "мостами")]),
        ("[[Groß]]ſtadtßé1", [("Groß", "Großſtadtßé")]),
        ("[[a]]𝓫𐐨c", [("a", "a𝓫𐐨c")]),
        ("[[Bus#Double deckers|tall bus]]", [("Bus#Double deckers", "tall bus")]),
        ("[[#Routes]]", [("#Routes", "#Routes")]),
        ("[[Bus (computing)|]]", [("Bus (computing)", "Bus (computing)")]),
        ("[[Bus| ]]", [("Bus", "Bus")]),
        ("[[:Category:Buses]]", [(":Category:Buses", "Category:Buses")]),
        ("[[Red_bus]]", [("Red_bus", "Red_bus")]),
        ("[[Bus|a|b]]", [("Bus", "a|b")]),
        ("[[AT&amp;T]]", [("AT&T", "AT&T")]),
        ("[[Caf&eacute;|x]] [[&#65;&#x42;]]", [("Café", "x"), ("AB", "AB")]),
        ("[[a&nbsp;b&nbsp;]]", [("a b", "a b")]),
        ("[[Bus|''red'' '''bus'''<!-- x -->{{y}}<ref>z</ref>]]", [("Bus", "red bus")]),
        ("[[Bus|red<br/>bus]]", [("Bus", "red bus")]),
        ("[[Bus|red\n\nbus]]", [("Bus", "red bus")]),
        ("[[Bus<!-- red -->|x]]", [("Bus", "x")]),
        ("[[<!-- red --> Bus <!-- red -->]]", [("Bus", "Bus")]),
        ("[[''Bus'']]", [("''Bus''", "Bus")]),
        ("[[{{PAGENAME}}/x|y]]", [("{{PAGENAME}}/x", "y")]),
        ("[[Bus|{{red}}]]", [("Bus", "")]),
        ("[[Bus|[red]]]", [("Bus", "[red]")]),
        ("[[Bus|[red]]", [("Bus", "[red")]),
        ("[[Bus|a [b] c]]", [("Bus", "a [b] c")]),
        ("[[Bus|<nowiki>]]</nowiki>]]", [("Bus", "]]")]),
        ("[[[[Bus]]]]", [("Bus", "Bus")]),
        ("[http://x.y [[Bus]] z]", [("Bus", "Bus")]),
        ("[[Bus|b]] [[Bus|c]]", [("Bus", "b"), ("Bus", "c")]),
    ],
)
def test_links(page, expected):
    assert pairs(page) == expected
    for link in read(page).links:
        assert (read(page).text[link.start : link.end] if link.start >= 0 else "") == link.anchor


@pytest.mark.parametrize(
    "page",
    [
        "[[Red\nbus]]",
        "[[Red bus\n|x]]",
        "[[Red [bus]]",
        "[[Red] bus]]",
        "[[Red {bus]]",
        "[[Red <bus]]",
        "[[Red<br>bus]]",
        "[[]]",
        "[[ ]]",
        "[[|bus]]",
        "[[Bus",
        "[[Bus|bus",
        "[Bus]",
        "[[[Bus]]]",
        "[[http://x.y bus]]",
        "[[[http://x.y bus]]]",
        f"[[{'b' * 3000}]]",
        f"[[{'b' * 3000}|c]]",
    ],
)
def test_no_links(page):
    assert pairs(page) == []


def test_a_link_in_a_link_leaves_only_the_inner_one():
    assert pairs("[[a|b [[c]] d]] [[e]]") == [("c", "c"), ("e", "e")]
    assert text("[[a|b [[c]] d]]") == "[[a|b c d]]"
    assert pairs("[[a|[http://x [[c]] d] ]]") == [("c", "c")]


def test_a_link_in_a_link_with_a_prefix_that_is_shown_ends_its_anchor():
    """As a page of links that hold links would else have more anchor than text."""
    assert pairs("[[Help:a|b [[c]] d]]s") == [("Help:a", "b"), ("c", "c")]
    assert text("[[Help:a|b [[c]] d]]s") == "b c ds"


def test_a_target_with_a_link_in_it_is_none():
    assert pairs("[[{{a|[[b]]}}|c]]") == [("b", "b")]


def test_links_that_are_not_closed_in_a_template_end_there():
    assert pairs("{{a|[[b}} [[c]] ]]") == [("c", "c")]
    assert pairs("{{a|[[b|c}} [[d]] ]]") == [("d", "d")]
    assert pairs("[[a|{{b]]}} c]]") == [("a", "c")]


def test_hidden_links_show_nothing_and_their_captions_hold_links():
    page = """a [[File:b.jpg|thumb|c [[d|e]] {{f|[[g]]}} [http://h i]]] [[image: j]]
k [[de:l]]m [[ФАЙЛ:n]]"""
    assert text(page) == "a k m"
    assert links(page) == [
        ("File:b.jpg", "", HIDDEN),
        ("d", "e", IN_CAPTION),
        ("g", "g", IN_CAPTION | IN_TEMPLATE),
        ("image: j", "", HIDDEN),
        ("de:l", "", HIDDEN),
        ("ФАЙЛ:n", "", HIDDEN),
    ]


def test_prefixes_that_are_not_hidden_are_shown():
    assert pairs("[[Help:A]] [[:File:b]] [[A: b]] [[c#file:d]]") == [
        ("Help:A", "Help:A"),
        (":File:b", "File:b"),
        ("A: b", "A: b"),
        ("c#file:d", "c#file:d"),
    ]


def test_white_space_around_links_and_in_them():
    result = read("a[[b| c ]]d  [[e|f ]]  [[ g]]")
    assert result.text == "a c d f g"
    assert [(link.anchor, link.start, link.end) for link in result.links] == [
        ("c d", 2, 5),
        ("f", 6, 7),
        ("g", 8, 9),
    ]


# -- External links, addresses ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("a [http://x.y/z b c] d", "a b c d"),
        ("a [//x.y b] [mailto:x@y c] [HTTPS://x.y ''d'']", "a b c d"),
        ("a [http://x.y] b", "a b"),
        ("a [http://x.y b\nc]", "a [http://x.y b c]"),
        ("a [http://x.y b", "a [http://x.y b"),
        ("[http://a [http://b c] d]", "[http://b c d]"),
        ("a [b] c", "a [b] c"),
        ("see http://x.y/z_w.", "see http://x.y/z_w."),
        ("[[http://x.y b]]", "[b]"),
        ("[[[http://x.y b]]]", "[[b]]"),
        ("[[a|b [http://x.y c]]]", "b c"),
    ],
)
def test_external_links(page, expected):
    assert text(page) == expected


# -- Templates -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("a {{b}} c", "a c"),
        ("a{{b|c={{d}}|{{{e|f}}}}}g", "ag"),
        ("a {{#if: {{{b}}} | c }} d", "a d"),
        ("{{{{{a}}}}} b", "b"),
        ("{{{a|b}}} c", "c"),
        ("{{{a}} b", "{ b"),
        ("{{a}}} b", "} b"),
        ("{{a b", "{{a b"),
        ("{{a {{b}} c", "{{a c"),
        ("a}} b", "a}} b"),
        ("{a} b", "{a} b"),
        ("{{a|<nowiki>}}</nowiki>}} b", "b"),
        ("{{a|<!-- }} -->}} b", "b"),
        ("a {{b|\nc\n}} d", "a d"),
    ],
)
def test_templates(page, expected):
    assert text(page) == expected


def test_links_in_templates():
    assert links(
        "{{a|b=[[c|''d'']]es|{{e|[[f]]}}}} {{{g|[[h]]}}} <includeonly>[[i]]</includeonly>"
    ) == [
        ("c", "des", IN_TEMPLATE),
        ("f", "f", IN_TEMPLATE),
        ("h", "h", IN_TEMPLATE),
        ("i", "i", IN_TEMPLATE),
    ]


def test_a_link_in_a_template_in_an_anchor_is_not_part_of_it():
    assert pairs("[[a|b {{c|[[d]]}} e]]") == [("a", "b e"), ("d", "d")]


# -- Tags, comments --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("a<ref>b</ref> c", "a c"),
        ('a<ref name="b"/> c<REF name=d >e</Ref > f', "a c f"),
        ("a<ref name=b> c<ref>d</ref> e", "a c e"),  # the first is never closed
        ("a<ref>b <ref name=c/> d</ref> e", "a e"),
        ("a<ref>b", "ab"),
        ("a</ref>b", "ab"),
        ("a<references>b</references>", "a\nb"),
        ("a <b>b</b> <span class='x'>c</span><i/>", "a b c"),
        ("a <unheard of='x'>b</unheard>", "a b"),
        ("a<br>b<br />c</br>d", "a b c d"),
        ("a<p>b</p>c<div>d</div><hr>e", "a\nb\nc\nd\ne"),
        ("a <!-- b --> c<!--d-->e", "a ce"),
        ("a <!-- b", "a"),
        ("a <!- b -->", "a <!- b -->"),
        ("a\n<!-- b -->\nc", "a c"),
        ("a\n\n<!-- b -->\n\nc", "a\nc"),
        ("<nowiki>''a'' [[b]] {{c}} &amp; <br></nowiki>", "''a'' [[b]] {{c}} & <br>"),
        ("a<nowiki/>b", "ab"),
        ("a <nowiki>b", "a b"),
        ("<pre>a  b\n\n''c''</pre>d", "a b\n''c''\nd"),
        ("a <math>\\frac{1}{2}</math> b", "a b"),
        ("a <source lang=x>b\nc</source> <syntaxhighlight>''d''</syntaxhighlight> e", "a e"),
        ("a <code>''b'' [[c]]</code>", "a b c"),
        ("<noinclude>a</noinclude><includeonly>b</includeonly>", "a"),
        ("a < b and c > d", "a < b and c > d"),
        ("a <3 b <> <http://c>", "a <3 b <> <http://c>"),
        ("a <b c", "a <b c"),
        ("a <b <i>c", "a <b c"),
        ("<gallery>\nFile:a.jpg|b\nc.jpg\n</gallery>d", "d"),
        ("<timeline>a</timeline>b", "b"),
    ],
)
def test_tags(page, expected):
    assert text(page) == expected


def test_links_in_tags():
    page = """<ref>[[a|b]]</ref><gallery>
File:c.jpg|d [[e]]
f.jpg|[[g|h]]
</gallery><code>[[i]]</code>"""
    assert links(page) == [
        ("a", "b", IN_REF),
        ("e", "e", IN_CAPTION),
        ("g", "h", IN_CAPTION),
        ("i", "i", 0),
    ]
    assert pairs("<math>[[a]]</math><pre>[[b]]</pre><nowiki>[[c]]</nowiki><!-- [[d]] -->") == []


def test_what_is_open_in_a_reference_ends_with_it():
    assert text("a<ref>{{b [[c <math> <!-- </ref> d}} ]] e") == "a d}} ]] e"


# -- Characters ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("&lt;b&gt; &amp;amp; &eacute;&#233;&#xE9;&#XE9;", "<b> &amp; éééé"),
        ("&ndash;&nbsp;&thinsp;a&#160;&#x20;b", "– a b"),
        ("&bogus; &amp &; &#; &#x; &#xG; &#1a;", "&bogus; &amp &; &#; &#x; &#xG; &#1a;"),
        ("&#150; &#0; &#xD800; &#x110000; &#99999999;", "– � � � �"),
        ("&#x1F600;&#128512;&NotEqualTilde;", "😀😀≂̸"),
        ("&lsqb;&lsqb;a]] &#39;&#39;b&#39;&#39;", "[[a]] ''b''"),
        ("a\u00a0b\u2003c\u3000d\u2028e\x85f\x00g\th\r\ni", "a b c d e f g h i"),
        ("東京\u200b 𝓫 é", "東京\u200b 𝓫 é"),
        ("a \ud800 b", "a ? b"),
        ("a ~~~~ b ~~~ c ~~ d", "a b c ~~ d"),
        ("__TOC__a __NOTOC__ b __ c __d__ __E", "a b __ c __d__ __E"),
        ("__БЕЗОГЛ__a", "a"),
        ("a -{b}- c", "a b c"),
        ("-{zh-hans:a; zh-hant:b}- c", "a c"),
        ("-{A|zh-hans:a; zh-hant:b}- -{T|c}-", "a c"),
        ("-{a c", "-{a c"),
        ("-{a\n}- c", "-{a }- c"),
        ("-{{a}}- b", "-- b"),
        ("-{a {{b}}}- c", "a c"),
        ("{{a|-{b}} c", "c"),
    ],
)
def test_characters(page, expected):
    assert text(page) == expected


# -- Quotes ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("page", "shown", "in_bold"),
    [
        ("''a'' b", "a b", []),
        ("'''a''' b", "a b", ["a"]),
        ("'''''a''''' b", "a b", ["a"]),
        ("'''''a''' b''", "a b", ["a"]),
        ("''a '''b''' c''", "a b c", ["b"]),
        ("''''a'''' b", "'a' b", ["a'"]),
        ("''''''a''''''", "'a'", ["a'"]),
        ("a 'b' c", "a 'b' c", []),
        ("L'''Orfeo'' a", "L'Orfeo a", []),
        ("'''Il''' and L'''Orfeo'' a", "Il and L'Orfeo a", ["Il"]),
        ("the'''a'' b", "the'a b", []),
        ("''the'''s a", "the's a", []),
        ("'''a\nb'''", "a b", []),
        ("''' a ''' b", "a b", ["a"]),
        ("'''[[a|b]] c''' d", "b c d", ["b c"]),
        ("[[a|'''b''']]", "b", ["b"]),
        ("[[a|'''b]] c", "b c", []),
        ("'''a{{b|'''c'''}}d'''", "ad", ["ad"]),
        ("{{b|'''c'''}} <ref>'''d'''</ref> e", "e", []),
        ("* '''a'''\n* '''b'''", "a\nb", ["a", "b"]),
        ("{|\n| '''a || '''b'''\n|}", "a\nb", ["b"]),
        ("''''''", "'", []),
        ("a''''''''''b", "a'''''b", []),
    ],
)
def test_quotes(page, shown, in_bold):
    assert text(page) == shown
    assert bold(page) == in_bold


# -- Lines -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("a\nb\n\nc", "a b\nc"),
        ("a\n{{b}}\nc", "a\nc"),
        ("a\n[[File:b]]\nc", "a\nc"),
        (" a\n b", "a b"),
        ("* a\n** b\n# c\n:; d\n* \n*e\nf", "a\nb\nc\nd\ne\nf"),
        ("a\n* b\nc", "a\nb\nc"),
        ("a * b # c : d", "a * b # c : d"),
        ("==a==\nb", "a\nb"),
        ("a\n=== b c === <!-- d --> \ne", "a\nb c\ne"),
        ("== ''[[a|b]]'' {{c}} ==\nd", "b\nd"),
        ("= a =", "a"),
        ("=== a ==", "= a"),
        ("== a", "== a"),
        ("== a == b", "== a == b"),
        ("==", "=="),
        ("===", "="),
        ("a\n----\nb\n---- c\n--- d", "a\nb\nc --- d"),
        ("#REDIRECT [[a]]", "REDIRECT a"),
        ("<!-- a -->* b\n<!-- c -->\n* d", "b\nd"),
        ("a\r\n\r\nb", "a\nb"),
    ],
)
def test_lines(page, expected):
    assert text(page) == expected


def test_lines_of_links():
    page = "{{a|[[b]]}}\n[[c]] d\ne [[f]]\n\n* [[g]]<ref>[[h]]</ref>\n* i\n[[Category:j]]"
    result = read(page)
    assert result.text == "c d e f\ng\ni"
    assert [(link.target, link.line) for link in result.links] == [
        ("b", 0),
        ("c", 0),
        ("f", 0),
        ("g", 1),
        ("h", 1),
        ("Category:j", 3),
    ]


# -- Tables ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("a\n{|\n| b\n| c\n|}\nd", "a\nb\nc\nd"),
        ('{| class="a" {{b}}\n|+ c\n! d !! e || f\n|- style="g"\n| h || i\n|}', "c\nd\ne\nf\nh\ni"),
        ('{|\n| style="a" | b || colspan=2 | c | d\n! x | e !! y | f\n|}', "b\nc | d\ne\nf"),
        ("{|\n| [[a|b]] | c\n| {{a}} | d\n|}", "b | c\nd"),
        ('{|\n|+ style="a" | b\n|}', "b"),
        ("{|\n| a\nb\n\nc\n* d\n| e\n|}", "a b\nc\nd\ne"),
        ("{|\n| a\n{|\n| b\n|}\nc\n| d\n|}\ne", "a\nb\nc\nd\ne"),
        (":{|\n| a\n|}", "a"),
        ("{|\n|a||b|| ||c\n|}", "a\nb\nc"),
        ("{|\n| a\n|} b", "a\nb"),
        ("{|\n| a\n== b ==\n| c", "a\nb\nc"),
        ("a {| b\n|}", "a {| b"),
        ("a || b ! c !! d", "a || b ! c !! d"),
        ("! a", "! a"),
        ("{|\n| a <!-- b\n-->\n| c\n|}", "a\nc"),
        ("{{{!}}\n{{!}} a\n{{!}}}", "{ a }"),
    ],
)
def test_tables(page, expected):
    assert text(page) == expected


def test_links_in_tables():
    page = "[[a]]\n{| {{b|[[c]]}}\n| {{d|[[e]]}} | [[f|g]]\n* [[h]]\n|}\n[[i]]"
    assert links(page) == [
        ("a", "a", 0),
        ("c", "c", IN_TABLE | IN_TEMPLATE),
        ("e", "e", IN_TABLE | IN_TEMPLATE),
        ("f", "g", IN_TABLE),
        ("h", "h", IN_TABLE | IN_LIST),
        ("i", "i", 0),
    ]


def test_a_heading_ends_a_table_that_nothing_closes_but_no_other():
    assert links("{|\n| [[a]]\n== b ==\n[[c]]")[1] == ("c", "c", 0)
    assert links("{|\n| [[a]]\n== b ==\n[[c]]\n|}")[1] == ("c", "c", IN_TABLE)
    assert links("{|\n{|\n|}\n== b ==\n[[c]]")[0] == ("c", "c", 0)


# -- The compiled passes ---------------------------------------------------------------------


@pytest.mark.parametrize("number", range(128, 160))
def test_numbers_of_control_characters_mean_those_of_windows(number):
    expected = bytes([number]).decode("cp1252", "replace")
    assert text(f"a&#{number};b&#x{number:X};") == f"a{expected}b{expected}"


def test_no_lower_case_letter_is_missing():
    beyond = range(wikitext._LETTERS, 0x110000)
    assert not any(chr(point).islower() for point in beyond)
    assert pairs("[[a]]bß\u0434\U00010428. [[c]]D [[e]]") == [
        ("a", "abß\u0434\U00010428"),
        ("c", "c"),
        ("e", "e"),
    ]


def test_bytes_that_are_not_utf_8_are_replaced():
    lexicon = Lexicon({"amp": "&"}, {"a", "b"})
    for page in (b"a \xf0", b"[[a\xe2]] \xe2", b"[[a|\xf0]]\xff&amp;", b"\xc2", bytes(range(256))):
        text, columns, _, _ = read_wikitext(lexicon, page, lambda prefix: False)
        assert all(isinstance(each, str) for each in (text, *columns[0], *columns[1]))


def test_what_is_no_page_is_refused():
    lexicon = Lexicon({}, set())
    for arguments in (
        (lexicon, "a", bool), (lexicon, bytearray(b"a"), bool), (lexicon, b"a", None),
        (None, b"a", bool), (lexicon, b"a"),
    ):  # fmt: skip
        with pytest.raises(TypeError):
            read_wikitext(*arguments)
    with pytest.raises(TypeError):
        Lexicon({"a": 1}, set())


def test_an_error_of_the_prefix_test_reaches_the_caller():
    def fails(prefix: bytes) -> bool:
        raise KeyError(prefix)

    lexicon = Lexicon({}, set())
    with pytest.raises(KeyError, match="file"):
        read_wikitext(lexicon, b"[[file:a|b]]", fails)
    with pytest.raises(RuntimeError):
        read_wikitext(lexicon, b"[[file:a|b]]", lambda prefix: "no truth value")
    assert read_wikitext(lexicon, b"[[a|b]]", fails)[0] == "b"


def test_threads_do_not_disturb_each_other():
    pages = [f"'''{n}''' [[File:{n}|[[a{n}|b]]]] {{{{c|[[d{n}]]}}}} " * 200 for n in range(16)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(read, pages * 4)) == [read(page) for page in pages] * 4
