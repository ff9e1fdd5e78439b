"""A generated dump: XML of any size, streamed, with pages like those of a Wikipedia.

Pages have an infobox, paragraphs with links, references, a table, lists and categories; one in
five is a redirect. Links lead to titles by a Zipf law, whether their page is in the dump or not.
Pages are made from prepared texts, so that the disk limits the speed of writing.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.kb_generated import made_up_words, zipf

_HEAD = """<mediawiki xml:lang="en">
  <siteinfo>
    <sitename>Wikipedia</sitename>
    <dbname>enwiki</dbname>
    <base>https://en.wikipedia.org/wiki/Main_Page</base>
    <case>first-letter</case>
    <namespaces>
      <namespace key="0" case="first-letter" />
      <namespace key="6" case="first-letter">File</namespace>
      <namespace key="10" case="first-letter">Template</namespace>
      <namespace key="14" case="first-letter">Category</namespace>
    </namespaces>
  </siteinfo>
"""
_PAGE = b"""  <page>
    <title>%s</title>
    <ns>0</ns>
    <id>%d</id>
    <revision>
      <id>%d</id>
      <timestamp>2024-01-01T00:00:00Z</timestamp>
      <text xml:space="preserve">'''%s''' is a %s</text>
    </revision>
  </page>
"""
_REDIRECT = b"""  <page>
    <title>%s the %dth</title>
    <ns>0</ns>
    <id>%d</id>
    <redirect title="%s" />
    <revision>
      <id>%d</id>
      <text xml:space="preserve">#REDIRECT [[%s]]</text>
    </revision>
  </page>
"""
_TEXTS = 60  # prepared texts of pages, with gaps for links
_BATCH = 500
_PER_REDIRECT = 5


@dataclass(frozen=True)
class DumpShape:
    """Shape of a dump; `size` in bytes of XML, that of a page in characters."""

    size: int
    titles: int = 200_000
    page: int = 16_000
    seed: int = 0


def write_dump(path: Path, shape: DumpShape) -> int:
    """Write a dump of at least `shape.size` bytes and return how many pages it has."""
    written = pages = 0
    with open(path, "wb") as file:
        written += file.write(_HEAD.encode())
        for page in _pages(shape):
            written += file.write(page)
            pages += 1
            if written >= shape.size:
                break
        file.write(b"</mediawiki>\n")
    return pages


def _pages(shape: DumpShape) -> Iterator[bytes]:
    draw = np.random.default_rng(shape.seed)
    titles = _titles(shape.titles)
    links = [_link(i, title).encode() for i, title in enumerate(titles)]
    texts = [_prepared(draw, shape.page).encode() for _ in range(_TEXTS)]
    gaps = [text.count(b"%s") for text in texts]
    number = 0
    while True:
        # The links of a batch of articles are drawn at once.
        which = draw.integers(0, _TEXTS, _BATCH).tolist()
        targets = zipf(draw, len(titles), sum(gaps[w] for w in which)).tolist()
        at = 0
        for w in which:
            title = (titles[number] if number < len(titles) else f"Page {number}").encode()
            text = texts[w] % tuple([links[t] for t in targets[at : at + gaps[w]]])
            at += gaps[w]
            id_ = 2 * number + 1
            yield _PAGE % (title, id_, id_, title, text)
            if number % _PER_REDIRECT == 0:
                id_ += 1
                yield _REDIRECT % (title, number % 97, id_, title, id_, title)
            number += 1


def _titles(count: int) -> list[str]:
    """Return different titles, of one word or two, some with a bracket."""
    words = made_up_words(count)
    return [
        word if i % 3 else f"{word} {words[i // 2]}" if i % 6 else f"{word} (town)"
        for i, word in enumerate(words)
    ]


def _link(number: int, title: str) -> str:
    """Return a link in wiki markup: with another text in one case of three."""
    if number % 3 == 0:
        return f"[[{title}|{title.split()[0]}]]"
    return f"[[{title}]]s" if number % 7 == 0 else f"[[{title}]]"


def _prepared(draw: np.random.Generator, size: int) -> str:
    """Return the text of a page as in XML, with %s in place of links."""
    words = made_up_words(5000)

    def sentence(links: int) -> str:
        drawn = [words[i].lower() for i in draw.integers(0, 5000, 12)]
        for place in draw.choice(12, links, replace=False).tolist():
            drawn[place] = "%s"
        return " ".join(drawn).capitalize().replace("%S", "%s") + "."

    parts = [
        "{{Infobox settlement\n| name = X\n| country = %s\n| population = {{formatnum:12345}}\n"
        "| image = Flag of X.svg\n}}\n"
    ]
    length = 0
    while length < size:
        heading = f"\n== {words[int(draw.integers(5000))]} ==\n"
        table = '\n{| class="wikitable"\n! Year !! Name\n|-\n| 1999 || %s\n|-\n| 2000 || %s\n|}\n'
        items = "".join(f"\n* %s, {sentence(0)}" for _ in range(4))
        kind = int(draw.integers(6))
        part = heading + (table if kind == 0 else items if kind == 1 else "")
        for _ in range(4):
            part += sentence(1) + " " + sentence(1) + " " + sentence(int(draw.integers(2)))
            part += "<ref>{{cite web|title=" + sentence(0) + "|url=http://example.org/}}</ref> "
            part += "''" + sentence(0) + "'' &ndash; " + sentence(0) + "\n\n"
        parts.append(part)
        length += len(part)
    tail = "[[File:X.jpg|thumb|A view of %s]]\n[[Category:Towns]]\n[[de:X]]\n"
    whole = "town in %s. " + "".join(parts) + tail
    return whole.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
