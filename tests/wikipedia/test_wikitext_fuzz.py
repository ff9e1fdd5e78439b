"""Wikitext that nobody meant: any input gives a sound result, in steps linear in its length."""

import random
from pathlib import Path

import pytest

from sgtb.native import HIDDEN, IN_CAPTION, IN_REF, IN_TEMPLATE
from sgtb.wikipedia.wikitext.markup import Extract, _extract, extract

HIDDEN_PREFIXES = frozenset(["file", "image", "category", "de"])

FRAGMENTS = """[[ ]] [ ] [[[ ]]] | || {{ }} {{{ }}} { } {{{{ }}}} {| |} |- |+ ! !! - -{ }- -{A|zh:x;
== = === ' '' ''' '''' ''''' '''''' * # : ; ---- <!-- --> <!- <ref> <ref/> <ref </ref> </ref <ref>
<nowiki> </nowiki> <pre> </pre> <math> </math> <gallery> </gallery> <br> <br/> <b> </b> < > </ />
<includeonly> </includeonly> <source> </source> <div class="x"> </div> & &amp; &nbsp; &#65; &#x;
&#xD800; &#99999999999; &nGt; &bogus; &copy __TOC__ __ ~~~~ http:// [http://a.b //a mailto:q \\
File: [[File:a.jpg|thumb| :File:b Category:c [[de:d]] #s [[a]] [[b|c]] [[d]]es [[e (f)|]] {{g|h}}
[[ [[ ]] ]] {{ }} ab Cd é Ж 東京 ʼ \u00a0 \u2003 \u2028 \u3000 \x85 \x00
\x0b \ud800 \udfff 😀 \ufeff""".replace("\n", " ").split(" ")
LEGAL = [piece for piece in FRAGMENTS if not "\ud800" <= piece <= "\udfff"]
WHITE = [" ", "  ", "\n", "\n\n", "\t", "\r\n", ""]

PAGE = """{{Infobox town|name=Orlan|seat=[[Norvia (river)|Norvia]]{{cn|date=[[May]]}}}}
'''Orlan''' (''[[Old Norvian]]'': ''Ørlan'') is a [[market town]] in [[Norvia]],<ref name="a">
{{cite|title=[[Towns of Norvia]]}}</ref> known for L'''Orfeo'' and [[Bell-making|bell]]s.
[[File:Orlan.jpg|thumb|The ''[[Great Bell]]'' of [http://example.org the town]]]

== History == <!-- to do -->
* [[1204]]: first named<ref name="a"/>
* {{flag|[[Duchy]]}} &ndash; 1 &lt; 2 &amp;amp; 3
:: {| class="wikitable"
! Year !! People
|-
| style="x" | 1900 || [[Count (people)|4,000]]
|+ Census
|}
<gallery>
File:A.jpg|The [[mill]]
</gallery>
<nowiki>[[not a link]]</nowiki> <math>\\frac{{a}}{b}</math> __NOTOC__
[[Category:Towns]] [[de:Orlan]]
"""


def check(page: str) -> Extract:
    """What holds for every page."""
    result = extract(page, HIDDEN_PREFIXES)
    text = result.text
    lines = text.split("\n")
    assert all(lines) or not text
    assert [" ".join(line.split()) for line in lines] == lines
    line = 0
    for link in result.links:
        assert " ".join(link.target.split()) == link.target
        assert " ".join(link.anchor.split()) == link.anchor
        assert (link.start, link.end) == (-1, -1) or 0 <= link.start < link.end <= len(text)
        if link.start >= 0:
            assert text[link.start : link.end] == link.anchor
            assert link.line == text.count("\n", 0, link.start)
            assert not link.flags & (HIDDEN | IN_TEMPLATE | IN_REF | IN_CAPTION)
        if link.flags & HIDDEN:
            assert link.anchor == ""
        assert line <= link.line <= len(lines)
        line = link.line
    end = 0
    for start, stop in result.bold:
        assert end <= start < stop <= len(text)
        assert not text[start].isspace()
        assert not text[stop - 1].isspace()
        end = stop
    return result


def assembled(rng: random.Random) -> str:
    """Fragments of markup one after the other."""
    return "".join(
        rng.choice(FRAGMENTS) + rng.choice(WHITE) for _ in range(rng.choice((3, 10, 40)))
    )


def damaged(rng: random.Random) -> str:
    """A piece of a page with bytes and fragments gone, doubled and put elsewhere."""
    start = rng.randrange(len(PAGE))
    page = list(PAGE[start : start + rng.randrange(10, 400)])
    for _ in range(rng.randrange(12)):
        at = rng.randrange(len(page) + 1)
        match rng.randrange(4):
            case 0:
                del page[at : at + rng.randrange(4)]
            case 1:
                page[at:at] = rng.choice(FRAGMENTS)
            case 2:
                page[at:at] = page[at : at + rng.randrange(30)]
            case 3:
                page[at : at + 1] = chr(
                    rng.choice((rng.randrange(0x3000), rng.randrange(0x110000)))
                )
    return "".join(page)


def scattered(rng: random.Random) -> str:
    """Characters that mean something, and any others."""
    return "".join(
        rng.choice("[]{}|<>!-='*#:;&/\n ab") if rng.random() < 0.9 else chr(rng.randrange(0x110000))
        for _ in range(rng.randrange(80))
    )


@pytest.mark.parametrize("make", [assembled, damaged, scattered])
def test_any_page_gives_a_sound_result(make):
    rng = random.Random(f"{make.__name__} 1")
    for number in range(8000):
        page = make(rng)
        try:
            check(page)
        except Exception as error:
            raise AssertionError(f"page {number}: {page!r}") from error


def test_the_whole_page_and_all_its_beginnings():
    for length in range(len(PAGE) + 1):
        check(PAGE[:length])
        check(PAGE[length:])


SEEDS = sorted((Path(__file__).parents[1] / "fuzz" / "wikitext_seeds").glob("*.txt"))


@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: seed.stem)
def test_the_seeds_of_the_fuzzer_and_all_their_beginnings(seed):
    page = seed.read_bytes().decode()
    for length in range(len(page) + 1):
        check(page[:length])
        check(page[length:])


def test_a_page_gives_the_same_every_time():
    rng = random.Random(2)
    for _ in range(300):
        page = damaged(rng)
        assert extract(page, HIDDEN_PREFIXES) == extract(page, HIDDEN_PREFIXES)


# -- Pages whose links are known -------------------------------------------------------------


class Balanced:
    """Makes pages in which all is closed, and notes their links: target, anchor, flags."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.links: list[tuple[str, str, int]] = []

    def word(self) -> str:
        return "".join(self.rng.choices("abcdeéжß", k=self.rng.randrange(1, 6)))

    def link(self, flags: int) -> str:
        target, anchor, trail = self.word().title(), self.word(), self.word()
        match self.rng.randrange(5):
            case 0:
                self.links.append((target, target, flags))
                return f"[[{target}]] "
            case 1:
                self.links.append((target, target + trail, flags))
                return f"[[ {target}<!-- {trail} -->]]{trail} "
            case 2:
                self.links.append((f"{target}#{trail}", anchor, flags))
                return f"[[{target}#{trail}|\n''{anchor}''{{{{{trail}}}}}]]."
            case 3:
                self.links.append((target, f"{anchor} & {trail}", flags))
                return f"[[{target}|{anchor} &amp; <i>{trail}</i>]] "
            case _:
                self.links.append((f"File:{target}", "", flags | HIDDEN))
                return f"[[File:{target}|thumb|{self.mixed(2, flags | IN_CAPTION)}]]"

    def mixed(self, depth: int, flags: int) -> str:
        return "".join(self.piece(depth - 1, flags) for _ in range(self.rng.randrange(1, 4)))

    def piece(self, depth: int, flags: int) -> str:
        kind = self.rng.randrange(6) if depth > 0 else self.rng.randrange(2)
        match kind:
            case 0:
                return f"{self.word()} "
            case 1:
                return self.link(flags)
            case 2:
                inside = self.mixed(depth, flags | IN_TEMPLATE)
                braces = self.rng.choice([("{{", "}}"), ("{{{", "}}}")])
                return f"{braces[0]} {self.word()}|{inside} {braces[1]}"
            case 3:
                if flags & IN_REF:
                    return f"<ref name={self.word()} />"
                return f'<ref name="x">{self.mixed(depth, flags | IN_REF)}</REF >'
            case 4:
                return f"<span>{self.mixed(depth, flags)}</span><!-- [[ {{{{ -->"
            case _:
                if flags & IN_CAPTION:
                    return "<nowiki/>"
                return f"<gallery>\nA.jpg|{self.mixed(depth, flags | IN_CAPTION)}\n</gallery>"


def test_the_links_of_balanced_pages_are_found_and_nothing_of_them_is_left():
    rng = random.Random(3)
    for _ in range(2000):
        made = Balanced(rng)
        page = made.mixed(6, 0)
        result = check(page)
        assert [(link.target, link.anchor, link.flags) for link in result.links] == made.links, page
        for mark in ("[[", "]]", "{{", "}}", "|", "<", ">"):
            assert mark not in result.text, page


# -- Linear time -----------------------------------------------------------------------------

HOSTILE = [
    "{", "}", "[", "]", "<", ">", "|", "'", "=", "&", "-", "_", "~", "!", "*", ":", "\n", " ",
    "a", "{{", "[[", "{|", "-{", "<ref>", "<!--", "{{{", "[[a|", "[[File:a|", "[http://a ",
    "{{a|", "<b ", "<nowiki>", "<math>", "<ref><math>", "<ref><!--</ref>", "<ref></ref>",
    "<ref </ref", "</ref ", "<gallery>", "<includeonly>", "<ref><gallery><includeonly>",
    "<math><score><source><pre>", "[[{{", "{{[[", "[[a|{{", "{{[[a|", "[[[", "[[a|[",
    "[http://a [[", "[[a|[http://a ", "{|\n", "{|\n|", "{|\n|}\n", "\n|", "\n| {{a}} ",
    "\n| a || b", "\n! a !! b", "\n{|", "  {|", ": |}", "\n=", "\n= a =", "\n=-{", "-{\n=",
    "\n-{|", "-{zh:", "-{a|", "-{;", "\n== {{a}} <!-- b --> ", "''", "'''", "'''''", "'''a''",
    "\n'''a''", "[[a|'''", "''[[a]]", "L'''", "{{'''}}'''", "&amp;", "&#", "&#x1", "&abcdefgh",
    "&nGt;", "__", "__A", "[[a]]", "[[a]]b", "[[a|b]]", "]]]", "[[a]", "[[a|[b]]]", "[[:a", "[[ ",
    "[[<!---->", "<!-- -->", " <!-- -->\n", "<a><b></a>", "}}{{", "]][[", "{{}}", "[[{{[[a]]}}]]",
    "{{[[a|b", "[[{{a|[[b]]}}|c]]", "[[File:a|[[b]]]]", "[[x:a|b", "東", "\xa0", "\x00", "é[[é]]é",
    "{{{{{",
]  # fmt: skip
CLOSING = ["", "}}", "]]", "|}", "</ref>", "-->", "}-", "\n"]


UNCLOSED = "<math><score><source><pre><nowiki><timeline><chem><ce><graph><hiero><gallery><ref><!--"


def check_linear(page: str) -> None:
    result, steps = _extract(page, HIDDEN_PREFIXES)
    length = len(page.encode()) + 10
    assert steps <= 25 * length, page[:100]
    strings = sum(len(link.target) + len(link.anchor) for link in result.links)
    assert strings + len(result.text) <= 3 * length, page[:100]


@pytest.mark.parametrize("closing", CLOSING)
def test_steps_are_linear(closing):
    """Some four looks at a byte, and one more for each kind of tag that is searched in vain."""
    for piece in HOSTILE:
        count = 100_000 // len(piece)
        check_linear(piece * count + closing)
        check_linear(piece * (count // 2) + closing * (count // 2))


def test_steps_of_a_million_bytes_are_linear():
    for piece in HOSTILE[::6]:
        check_linear(piece * (1_000_000 // len(piece)))
    check_linear(UNCLOSED + "ab " * 300_000)
    check_linear(UNCLOSED * 10_000)


def test_mixed_pages_take_linear_steps():
    rng = random.Random(4)
    for _ in range(60):
        page = "".join(rng.choices(rng.sample(LEGAL, 4), k=20_000))
        check_linear(page)
