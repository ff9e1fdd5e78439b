"""Small dumps, written by hand, and the means to look at what is built from them."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import escape

from sgtb.kb import KnowledgeBase
from sgtb.kb.kb_folder import data_folder

ENGLISH = """
  <siteinfo>
    <sitename>Wikipedia</sitename>
    <dbname>enwiki</dbname>
    <base>https://en.wikipedia.org/wiki/Main_Page</base>
    <case>first-letter</case>
    <namespaces>
      <namespace key="0" case="first-letter" />
      <namespace key="1" case="first-letter">Talk</namespace>
      <namespace key="4" case="first-letter">Wikipedia</namespace>
      <namespace key="6" case="first-letter">File</namespace>
      <namespace key="10" case="first-letter">Template</namespace>
      <namespace key="14" case="first-letter">Category</namespace>
    </namespaces>
  </siteinfo>
"""

GERMAN = """
  <siteinfo>
    <sitename>Wikipedia</sitename>
    <dbname>dewiki</dbname>
    <base>https://de.wikipedia.org/wiki/Hauptseite</base>
    <case>first-letter</case>
    <namespaces>
      <namespace key="0" case="first-letter" />
      <namespace key="1" case="first-letter">Diskussion</namespace>
      <namespace key="6" case="first-letter">Datei</namespace>
      <namespace key="10" case="first-letter">Vorlage</namespace>
      <namespace key="14" case="first-letter">Kategorie</namespace>
    </namespaces>
  </siteinfo>
"""


def page(title: str, text: str, namespace: int = 0, redirect: str | None = None) -> str:
    """Return a page as a dump holds it."""
    leads = f'<redirect title="{escape(redirect)}" />' if redirect is not None else ""
    return (
        f"  <page>\n    <title>{escape(title)}</title>\n    <ns>{namespace}</ns>\n"
        f"    <id>1</id>\n    {leads}\n    <revision><id>2</id>\n"
        f'      <text xml:space="preserve">{escape(text)}</text>\n    </revision>\n  </page>\n'
    )


def write_dump(path: Path, pages: Sequence[str], siteinfo: str = ENGLISH) -> Path:
    """Write a dump of pages."""
    head = '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.10/" xml:lang="en">'
    path.write_text(head + siteinfo + "".join(pages) + "</mediawiki>\n", encoding="utf-8")
    return path


def digests(place: Path) -> dict[str, str]:
    """Return a digest of each file of a knowledge base."""
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in data_folder(place).iterdir()
        if not path.name.endswith("-lock")
    }


def counts(kb: KnowledgeBase, name: str) -> dict[str, tuple[int, ...]]:
    """Return what each source counts of each candidate of a name."""
    return {c.id: c.counts for c in kb.candidates(name)}


def near(kb: KnowledgeBase, id: str) -> dict[str, int]:
    """Return with which entities one was met, and how often."""
    return {kb.id_of(int(item["other"])): int(item["count"]) for item in kb.near(id)}


def pages_of(kb: KnowledgeBase, name: str) -> tuple[int, int]:
    """Return how many pages link a name, and in how many it occurs."""
    value = kb.name_value(name)
    assert value is not None, name
    return value.linked, value.pages


ALVA = """The '''Alva''' (or '''River Alva''') is a river in [[norland]]. It passes [[Brenning]] and
reaches the [[Norland#Coast|coast]]. '''Not''' a name.

Its [[bridge]]s are old. See [[#History]] and [[Alva (river)|this river]].

[[File:Alva.jpg|thumb|A view of [[Brenning City|the city]]]]

[[Category:Rivers of Norland]]"""

NORLAND = """'''Norland''' is a country. Its capital is [[Brenning]] on the [[Alva (river)|Alva]].

Poets: [[Ada Kell|Kell]], [[Jon Kell]].
{{Infobox country|name=Norland|leader=[[Ada Kell]]}}

[[Category:Countries]]"""

BRENNING = """'''Brenning''', also '''Old Brenning''', is a city in [[Norland]]. The [[Alva]] runs
through it, under a [[bridge]].

{| class="wikitable"
! Who !! What
|-
| [[Ada Kell]] || [[Kell|poet]]
|}
Visit [[Norland|http://norland.example]] or [[:de:Brenning]].

[[Category:Cities in Norland]]"""

ADA = """'''Ada Kell''' (born 1901) was a poet from [[Brenning City]] in [[Norland]]. She wrote of
[[Jon Kell]] and a [[bridge]].

[[Category:1901 births]]
[[Category:Norland poets]]"""

BRIDGE = (
    """A '''bridge''' carries a road over a river such as the Alva. [[Loop A]], [[Brenning]]."""
)

MEANINGS = """'''Alva''' may mean:
* [[Alva (river)]], in [[Norland]]
* [[Kell|Alva Kell]], a poet
* [[Alva Missing]], unknown
{{disambig}}"""

PAGES = [
    page("Alva (river)", ALVA),
    page("Brenning town", "#REDIRECT [[Brenning]]", redirect="Brenning"),
    page("Brenning City", "#REDIRECT [[Brenning_town]]"),
    page("Talk:Norland", "Is [[Brenning]] large?", 1),
    page("Norland", NORLAND),
    page("Brenning", BRENNING),
    page("Kell", "#redirect [[ada Kell]]"),
    page("The coast (Norland)", "#REDIRECT [[Norland#Coast]]"),
    page("Loop A", "#REDIRECT [[Loop B]]"),
    page("Loop B", "#REDIRECT [[Loop A]]"),
    page("Into the loop", "#REDIRECT [[Loop A]]"),
    page("Lost", "#REDIRECT [[Nowhere]]"),
    page("Elsewhere", "#REDIRECT [[:Category:Countries]]"),
    page("Alva", MEANINGS),
    page("Alvas", "#REDIRECT [[Alva]]"),
    page("Category:Countries", "All [[Norland]]s.", 14),
    page("Template:Disambig", "[[Alva]]", 10),
    page("Ada Kell", ADA),
    page("Bridge", BRIDGE),
]
IDS = ["Ada Kell", "Alva (river)", "Brenning", "Bridge", "Norland"]

GERMAN_PAGES = [
    page(
        "Alva (Fluss)",
        "Die '''Alva''' ist ein [[Fluss]] in [[nordland|Nord\u00adland]]. "
        "[[Datei:A.jpg|mini|Ein [[Fluss]]]] [[Kategorie:Fluss]]",
    ),
    page("Nordland", "'''Nordland''' hat die [[Alwa]]. [[Bild:B.png]] [[en:Norland]]"),
    page("Alwa", "#WEITERLEITUNG [[Alva (Fluss)]]"),
    page("Fluss", "Ein '''Fluss''' fließt. [[Benutzer:Ich]]"),
    page("Alva", "'''Alva''' ist:\n* [[Alva (Fluss)]]\n{{Begriffsklärung}}"),
    page("Diskussion:Fluss", "Hm.", 1),
]
