"""Offsets: whatever a text is made of, links are code points of it, in order, side by side."""

from itertools import pairwise
from random import Random

import pytest

from sgtb.linking.links import Request, Span

PLANTED = (
    "Paris", "Jordan", "Michael Jordan", "Chicago Bulls", "Amman", "MJ", "Cambridge", "Oxford",
    "New York", "Nike, Inc.", "Paris Saint-Germain F.C.", "Henry VIII", "U.S.", "AT&T",
)  # fmt: skip
SIGNS = (
    " ", " ", "  ", "\n", "\r\n", "\t", "\u00a0", "\u2028", "\x85", "\x0b", "\x1c",  # white space
    ".", ",", "'s", "’s", "-", "--", "…", "(", ")", '"', "“", "”", "!", "?", "_", "&", "·",
    "😀", "👩‍👩‍👧", "🇫🇷", "👍🏽", "❤️", "𝕻𝖆𝖗𝖎𝖘", "Ｐａｒｉｓ",  # beyond the first plane, and wide
    "e\u0301", "\u0301", "n\u0303o", "Z\u0351\u036b\u0343", "ﬁ", "ß", "İ", "ŉ",  # marks, case
    "عمان", "الأردن", "ירדן", "פריז", "\u200f", "\u202e", "\u202c",  # right to left
    "パリ", "东京", "서울", "पेरिस", "กรุงเทพ", "\u0e33", "\u1100\u1161",
    "\x00", "\x07", "\x1b[31m", "\x7f", "\ufeff", "\u200b", "\u200d", "\ufffe", "\uffff",
    "\ud800", "\udfff", "\ud83d", "\U0010ffff", "\U000e0041",
    "1", "1990s", "12:30", "1,234.5", "½", "²", "a", "THE", "The", "of", "and", "x" * 40,
)  # fmt: skip


def random_text(random):
    pieces = []
    for _ in range(random.randint(0, 40)):
        kind = random.random()
        if kind < 0.25:
            pieces.append(random.choice(PLANTED))
        elif kind < 0.45:
            pieces.append(" ")
        elif kind < 0.9:
            pieces.append(random.choice(SIGNS))
        else:
            pieces.append(chr(random.randrange(0x110000)))
    return "".join(pieces)


def check(linked, text):
    assert linked.text == text
    end = 0
    for link in linked.links:
        assert end <= link.start < link.end <= len(text)
        assert link.text == text[link.start : link.end]
        end = link.end


def test_a_thousand_texts_of_anything(linker):
    random = Random(5)
    texts = [random_text(random) for _ in range(1000)]
    found = 0
    for text, linked in zip(texts, linker.pipe(texts), strict=True):
        check(linked, text)
        found += len(linked.links)
    assert found > 2000


def random_spans(random, text):
    """Spans that touch, cut words in two and cross sentences, none of white space alone."""
    borders = sorted(random.sample(range(len(text) + 1), min(len(text) + 1, random.randint(2, 16))))
    spans = []
    for start, end in pairwise(borders):
        seen = any(not c.isspace() and c not in "\ufeff\u200b" for c in text[start:end])
        if seen and random.random() < 0.8:
            fixed = "Paris" if random.random() < 0.2 else None
            some = ("Jordan", "Amman") if random.random() < 0.5 else None
            spans.append(Span(start, end, fixed, some))
    return spans


def test_texts_of_anything_with_spans_anywhere(linker_of):
    linker = linker_of(reasons=True)
    random = Random(6)
    texts = [random_text(random) for _ in range(300)]
    requests = [Request(text, tuple(random_spans(random, text))) for text in texts if text]
    assert sum(len(request.spans) for request in requests) > 1200
    for request, linked in zip(requests, linker.pipe(requests), strict=True):
        check(linked, request.text)
        for span, link in zip(request.spans, linked.links, strict=True):
            assert (link.start, link.end) == (span.start, span.end)
            if span.fixed is not None:
                assert link.entity == span.fixed
            elif span.candidates is not None:
                assert link.entity in span.candidates


@pytest.mark.parametrize(
    "text",
    [
        "😀 Paris 👩‍👩‍👧 and Amman 🇫🇷",
        "Cafe\u0301 Paris cafe\u0301 Amman",
        "زار Paris ثم Amman في ירדן",
        "\u202eParis\u202c \u200fAmman",
        "Paris\r\nAmman\r\n\r\n",
        "\ufeffParis\u2028Amman",
        "Paris\x00 Amman\x00",
        "\ud83d Paris \ude00 Amman",
        "𝕻 Paris 𝕻𝖆 Amman",
    ],
)
def test_names_are_found_beside_anything(linker, text):
    linked = linker.link(text)
    check(linked, text)
    assert [link.text for link in linked.links] == ["Paris", "Amman"]
    assert linked.links[1].entity == "Amman"


def test_spans_inside_and_across_words(linker):
    text = "Parisian life. Then Jordan-Amman went on"
    for spans in (
        [(0, 5), (5, 8)],  # one word, two mentions
        [(1, 2), (2, 3), (3, 4)],
        [(9, 24)],  # across sentences
        [(20, 26), (27, 32)],
        [(0, len(text))],
        [(0, 1), (len(text) - 1, len(text))],
        [(i, i + 1) for i, c in enumerate(text) if c != " "],
    ):
        given = tuple(Span(*span, candidates=("Paris", "Jordan")) for span in spans)
        linked = linker.link(Request(text, given))
        check(linked, text)
        assert [(link.start, link.end) for link in linked.links] == spans


def test_spans_come_back_in_the_order_of_the_text(linker):
    text = "Amman and Paris"
    linked = linker.link(Request(text, (Span(10, 15), Span(0, 5))))
    assert [link.entity for link in linked.links] == ["Amman", "Paris"]
