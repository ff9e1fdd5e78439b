"""Mentions: offsets in any script, the rules one by one, hostile texts, and spans of callers."""

import sys
import threading
from dataclasses import replace
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgtb.core.errors import RequestError, SettingsError
from sgtb.core.records import Token
from sgtb.kb import KnowledgeBase, update
from sgtb.kb.build.entity_lines import EntityList
from sgtb.kb.name_variants import DEFAULT_RULES
from sgtb.linking.links import Span
from sgtb.linking.mentions import mention_detection as mentions
from sgtb.linking.mentions.mention_detection import (
    MentionSettings,
    NameFinder,
    checked_spans,
    token_range,
)
from sgtb.text.normalization import normal_name
from sgtb.text.tokenization import sentences, tokenize
from tests.helpers.kb_worlds import build, write_lines

NAMES = (
    "Jordan", "Michael Jordan", "Jordan River", "Chicago Bulls", "Bulls", "Apple", "US", "WHO",
    "The Who", "It", "The Hague", "The Beatles", "Beatles", "The Simpsons", "Simpsons", "Japan",
    "China", "Win", "Brian May", "May", "Monday", "1984", "1990s", "7 4", "3M", "iPhone", "4chan",
    "AC/DC", "Procter & Gamble", "Crosby, Stills & Nash", "John Paul", "Node.js", "St. Louis",
    "University of Cambridge", "Cambridge", "da Vinci", "van der Sar", "Levi's Stadium",
    "Lord of the Rings", "James", "Open", "US Open", "On Broadway", "Broadway", "novel", "C",
    "Zürich", "São Paulo", "القاهرة", "ירושלים", "محمد علي", "दिल्ली", "北京", "თბილისი", "Москва",
    "New York", "World Health Organization of the United Nations", "!!!", "Reading",
)  # fmt: skip
COUNTED = {"Reading": (1, 100), "Win": (15, 100), "Japan": (90, 100), "Open": (5, 100)}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    records = [{"id": str(i), "name": name} for i, name in enumerate(NAMES)]
    records += [
        {"kind": "name", "name": name, "linked": linked, "pages": pages}
        for name, (linked, pages) in COUNTED.items()
    ]
    return build(tmp_path_factory.mktemp("names"), records)


@pytest.fixture(scope="module")
def kb(place):
    with KnowledgeBase.open(place) as opened:
        yield opened


@pytest.fixture(scope="module")
def finder(kb):
    return NameFinder(kb)


def test_names_spelt_in_capitals_only_need_capitals(tmp_path):
    entities = [
        {"id": "scan", "name": "Magnetic resonance imaging", "aliases": ["MR"]},
        {"id": "firm", "name": "Arm Holdings", "aliases": ["ARM", "Arm"]},
        {"id": "pact", "name": "North Atlantic Treaty Organization", "aliases": ["NATO"]},
    ]
    with KnowledgeBase.open(build(tmp_path, entities)) as kb:
        assert found(NameFinder(kb), "Mr Kim had an MR scan.") == ["Kim", "MR"]
        # What is spelt so stays, and so do longer acronyms, which are also written as words.
        assert found(NameFinder(kb), "Then Arm fell, and Nato met.") == ["Arm", "Nato"]
        any_case = NameFinder(kb, MentionSettings(capitals=False))
        assert found(any_case, "the mr scan") == ["mr"]


def spans_of(mentions):
    return tuple((mention.start, mention.end) for mention in mentions)


def find(finder, text):
    tokens = tokenize(text)
    return spans_of(finder.find(text, tokens, sentences(text, tokens)))


def found(finder, text):
    spans = find(finder, text)
    assert all(one[1] <= other[0] for one, other in pairwise(spans))
    return [text[start:end] for start, end in spans]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        # the longest, and the leftmost
        ("Then Michael Jordan left.", ["Michael Jordan"]),
        ("the University of Cambridge and Cambridge", ["University of Cambridge", "Cambridge"]),
        ("near Michael Jordan River", ["Michael Jordan River"]),
        ("the Lord of the rings", ["Lord of the rings"]),
        # possessives
        ("Then Jordan's shot and Jordan’s pass", ["Jordan", "Jordan"]),
        ("near Levi's Stadium", ["Levi's Stadium"]),
        # case
        ("a jordan, an apple, us and who", []),
        ("an iPhone of 3M on 4chan", ["iPhone", "3M", "4chan"]),
        ("the ZÜRICH, zurich and Zurich", ["ZÜRICH", "Zurich"]),
        # grammar is no name, acronyms are
        ("It left. Who left? Does It, or does Who?", []),
        ("in the US and the WHO", ["US", "WHO"]),
        ("they saw The Who play", ["The Who"]),
        ("The Who played.", ["The Who"]),
        # articles
        ("they like the Beatles", ["Beatles"]),
        ("The Beatles came.", ["Beatles"]),
        ("episodes of The Simpsons", ["The Simpsons"]),
        ("in the Hague", ["the Hague"]),
        ("The Hague fell.", ["The Hague"]),
        ("On Broadway they sang.", ["Broadway"]),
        ("The hit On Broadway", ["On Broadway"]),
        ("US Open days", ["US Open"]),
        # words that begin sentences
        ("Apple fell.", ["Apple"]),
        ("Apple fell. An apple fell.", []),
        ("An apple of Apple fell.", ["Apple"]),
        ("An apple fell. “Apple”, he said.", []),
        # the calendar
        ("He came in May on Monday.", []),
        ("Then Brian May came. In came May again.", ["Brian May", "May"]),
        # numbers
        ("In 1984 and the 1990s it was 7-4.", []),
        # signs within names
        ("by AC/DC, Procter & Gamble and Node.js", ["AC/DC", "Procter & Gamble", "Node.js"]),
        ("in St. Louis", ["St. Louis"]),
        ("by Crosby, Stills & Nash", ["Crosby, Stills & Nash"]),
        ("by John, Paul", []),
        ("by John Paul", ["John Paul"]),
        # particles
        ("old da Vinci and van der Sar", ["da Vinci", "van der Sar"]),
        # a longer name that nobody knows
        ("he met James Dean there", ["James Dean"]),
        ("he met James there", ["James"]),
        ("he met James Jordan there", ["James Jordan"]),
        ("he met Michael Jordan River there", ["Michael Jordan River"]),
        ("he met New Michael Jordan there", ["Michael Jordan"]),
        ("the Japan Prime Minister and US Marines", ["Japan", "US"]),
        ("the Japan Vice President Anna Meck spoke", ["Japan", "Anna Meck"]),
        ("the US Anna Meck Fund spoke", ["US", "Anna Meck Fund"]),
        ("the Bank of the Japan Sea was robbed", ["Bank of the Japan Sea"]),
        ("then Meck & Jordan Ltd. paid", ["Meck & Jordan Ltd."]),
        ("then Stephen King met King Stephen", ["Stephen King", "Stephen"]),
        ("then Group A met Tokyo-based Jordan", ["Jordan"]),
        ("then Anna Meck left. Why did Meck leave the Meck?", ["Anna Meck", "Meck"]),
        ("Add Jordan, then add more.", ["Jordan"]),
        ("Anna Meck\n12\tJordan Meck", ["Anna Meck", "Jordan Meck"]),
        ("Anna Meck Wins Jordan Case\nShe was glad.", ["Jordan"]),
        # abbreviations
        ("then Meck Relief Fund (MRF) paid. The MRF is rich.", ["Meck Relief Fund", "MRF", "MRF"]),
        ("then MRF (Meck Relief Fund) paid", ["MRF", "Meck Relief Fund"]),
        ("then Meck Relief Fund (NGO) paid", ["Meck Relief Fund"]),
        # hashtags and handles
        ("on #NewYork, @New_York, me@NewYork and # NewYork", ["NewYork", "New_York"]),
        ("on #newyork, #OldYork, #NY and #Jordan", ["Jordan"]),
        # link probability, characters, words
        ("he is in Reading, or in the Open", ["Open"]),
        ("he writes C and !!!", []),
        ("the World Health Organization of the United Nations", []),
        # no case, no spaces
        ("في القاهرة مع محمد علي اليوم", ["القاهرة", "محمد علي"]),
        ("הוא בירושלים, ירושלים", ["ירושלים"]),
        ("यह दिल्ली है, दिल्लीवाला", ["दिल्ली"]),
        ("go to 北京 now", ["北京"]),
        ("ქალაქი თბილისი და", ["თბილისი"]),
        ("он едет в Москва, москва", ["Москва"]),
    ],
)
def test_what_is_a_mention(finder, text, names):
    assert found(finder, text) == names


def test_spans_cross_neither_sentences_nor_empty_lines(finder):
    assert found(finder, "He came from New. York is far.") == []
    assert found(finder, "in New\nYork") == []
    for gap, whole in [
        ("  ", True), ("\n", True), ("\r\n", True), (" \r\n ", True), ("\u2028", True),
        ("\n\n", False), ("\r\n\r\n", False), ("\r\r\n", False), ("\n \n", False),
    ]:  # fmt: skip
        text = f"in New{gap}York"
        tokens = tokenize(text)  # one sentence, as a corpus may have it
        spans = spans_of(finder.find(text, tokens, ((0, len(tokens)),)))
        assert spans == (((3, len(text)),) if whole else ()), repr(gap)


def test_variants_are_no_single_words_of_headlines(tmp_path):
    winter = {"id": "1", "name": "Anna Winter", "type": "PER"}
    place = build(tmp_path, [winter], variants=DEFAULT_RULES)
    with KnowledgeBase.open(place) as kb:
        finder = NameFinder(kb)
        assert found(finder, "Then Winter left. Winter came back.") == ["Winter", "Winter"]
        assert found(finder, "Best Winter For Years\nIt was cold.") == []
        assert found(finder, "Anna Winter Wins\nIt was cold.") == ["Anna Winter"]


def test_a_headline_in_capitals(finder):
    text = "SOCCER - JAPAN GET LUCKY WIN, US IN SHOCK, MAY GO ON, APPLE TOO.\nHe ate an apple."
    assert found(finder, text) == ["JAPAN"]  # WIN is too seldom a link to be one here
    assert found(finder, "They saw JAPAN and a Win.") == ["JAPAN", "Win"]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("😀👩‍👩‍👧 saw Jordan 😀", "Jordan"),
        ("e\u0301a\u0300 Zu\u0308rich e\u0301", "Zu\u0308rich"),
        ("Sa\u0303o\r\nand Sa\u0303o Paulo\r\n", "Sa\u0303o Paulo"),
        ("a\ufeff\u200b Jordan\u200e, \u200fJordan\u202c", "Jordan"),
        ("قال: «القاهرة»", "القاهرة"),
        ("of Jor\u00addan", "Jor\u00addan"),
        ("\ud83d \x00Jordan\udc00", "Jordan"),
        ("tab\tJordan\x0b\x85", "Jordan"),
        ("Ｊｏｒｄａｎ and then", "Ｊｏｒｄａｎ"),
    ],
)
def test_offsets_are_code_points(finder, text, name):
    first = find(finder, text)[0]
    assert text[slice(*first)] == name
    assert first[0] == text.index(name)


def test_settings_choose(kb):
    assert found(NameFinder(kb, MentionSettings(capitals=False)), "a novel of jordan or it") == [
        "novel",
        "jordan",
    ]
    low = NameFinder(kb, MentionSettings(min_link_probability=0.0))
    assert found(low, "he is in Reading") == ["Reading"]
    one = NameFinder(kb, MentionSettings(max_words=1))
    assert found(one, "by AC/DC in New York") == ["AC/DC"]
    seven = NameFinder(kb, MentionSettings(max_words=7, min_characters=1))
    text = "the World Health Organization of the United Nations writes C"
    assert found(seven, text) == ["World Health Organization of the United Nations", "C"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"capitals": "no"}, {"unknown_names": 1}, {"min_link_probability": 1.5},
        {"min_link_probability": float("nan")},
        {"min_link_probability": "0.1"}, {"max_words": 0}, {"max_words": 2.0},
        {"min_characters": True},
    ],
)  # fmt: skip
def test_settings_out_of_range_are_named(wrong):
    with pytest.raises(SettingsError, match=next(iter(wrong))):
        MentionSettings(**wrong)


PIECES = (
    *NAMES, "the", "of", " ", "  ", "\n", "\r\n", "\t", ".", ",", "'s", "’s", "&", "/", "-", "\"",
    "😀", "👩‍👩‍👧", "e\u0301", "\u0301", "\u200d", "\u200e", "\ufeff", "\x00", "\ud800", "\udfff",
    "A", "b", "42", "ß", "İ", "ﬁ", "ǅ", "ा", "ไทย", "مرحبا", "x" * 600, "SOCCER", "said",
)  # fmt: skip


def test_a_thousand_random_texts(kb, finder):
    random, planted = Random(7), 0
    every = MentionSettings(capitals=False, min_characters=1, max_words=9)
    free = NameFinder(kb, every)
    known_only = [
        NameFinder(kb, replace(settings, unknown_names=False))
        for settings in (finder.settings, every)
    ]
    for _ in range(1000):
        glue = random.choice(("", " "))
        text = glue.join(random.choice(PIECES) for _ in range(random.randrange(40)))
        if random.random() < 0.2:
            text += "".join(chr(random.randrange(0x11_0000)) for _ in range(20))
        for one in (finder, free):
            names = found(one, text)
            planted += len(names)
            assert all(name == name.strip() for name in names)
        for one in known_only:
            assert all(kb.name_value(name) is not None for name in found(one, text)), text
    assert planted > 1000


@given(st.text(st.characters()))
def test_no_text_is_too_odd(kb, text):
    for name in found(NameFinder(kb, MentionSettings(unknown_names=False)), text):
        assert normal_name(name) in {normal_name(known) for known in NAMES}


def test_unknown_names_are_left_out_on_request_and_hide_their_parts(kb):
    known = NameFinder(kb, MentionSettings(unknown_names=False))
    assert found(known, "he met James Jordan and Jordan") == ["Jordan"]


SCRIPTS = (
    (0x41, 0x5A), (0x61, 0x7A), (0xC0, 0x17F), (0x370, 0x3FF), (0x400, 0x4FF), (0x531, 0x587),
    (0x5D0, 0x5EA), (0x620, 0x64A), (0x900, 0x97F), (0xE01, 0xE5B), (0x10A0, 0x10FF),
    (0x13A0, 0x13FF), (0x1E00, 0x1EFF), (0x3041, 0x30FF), (0x4E00, 0x4EFF), (0xAC00, 0xACFF),
    (0x10400, 0x1044F), (0x1E900, 0x1E943), (0x1F600, 0x1F64F), (0x300, 0x36F), (0x20, 0x40),
)  # fmt: skip


def test_ten_thousand_names_of_all_scripts(kb):
    random, finder, n_found = Random(11), NameFinder(kb), 0
    for _ in range(10_000):
        words = []
        for _ in range(random.randrange(1, 5)):
            low, high = random.choice(SCRIPTS)
            letters = [chr(random.randint(low, high)) for _ in range(random.randrange(1, 9))]
            letters[0] = letters[0].upper()
            words.append("".join(letters))
        text = f"he met {random.choice((' ', ' de ', '-', '. ')).join(words)} there"
        spans = find(finder, text)
        assert all(text[a:b].strip() for a, b in spans)
        n_found += len(spans)
    assert n_found > 1_000


@pytest.mark.parametrize(
    "piece",
    [
        "Anna Meck (AM) met Jordan. ", "Anna ", "Jordan ", "de ", "Anna de ", 'Anna "X" ', "US ",
        "King ", "Anna & ", "#NewYork ", "(Jordan) ", "x ", "Anna Meck\t", "J. ",
    ],
)  # fmt: skip
def test_work_grows_with_the_length_of_a_text_and_no_faster(kb, piece):
    def work(n):
        """Count the lines that Python runs."""
        finder, lines = NameFinder(kb), 0

        def count(frame, event, _):
            nonlocal lines
            lines += event == "line"
            return count

        text = "then " + piece * n
        tokens = tokenize(text)
        borders = sentences(text, tokens)
        sys.settrace(count)
        try:
            finder.find(text, tokens, borders)
        finally:
            sys.settrace(None)
        return lines

    assert work(800) < 2.3 * work(400)


@pytest.mark.parametrize("text", ["", " ", "\r\n\t ", "\ufeff", "\x00", "\ud800", "😀", "." * 999])
def test_texts_without_names(finder, text):
    assert find(finder, text) == ()


@pytest.mark.parametrize("piece", ["A/", "A ", "A", "北", "北 ", "\u0301", "ि", "New York ", "1"])
def test_long_texts_of_one_piece(finder, piece):
    spans = find(finder, piece * 4_000)
    assert len(spans) == (4_000 if piece == "New York " else 0)


def test_what_was_looked_up_is_remembered_until_the_names_change(tmp_path, monkeypatch):
    place = build(tmp_path, [{"id": "1", "name": "Jordan"}])
    with KnowledgeBase.open(place) as kb:
        finder, asked = NameFinder(kb), []
        look_up = kb.name_heads
        monkeypatch.setattr(kb, "name_heads", lambda names: asked.append(names) or look_up(names))
        for _ in range(3):
            assert found(finder, "Jordan met Pippen.") == ["Jordan"]
        names = ["Jordan", "Jordan met", "Jordan met Pippen", "Pippen"]
        assert sorted(map(sorted, asked)) == [names, ["met"]]
        more = write_lines(tmp_path / "more.jsonl", [{"id": "2", "name": "Pippen"}])
        update.add(place, EntityList(more))
        assert found(finder, "Jordan met Pippen.") == ["Jordan"]
        kb.refresh()
        assert found(finder, "Jordan met Pippen.") == ["Jordan", "Pippen"]
        finder.forget()
        assert found(finder, "Jordan met Pippen.") == ["Jordan", "Pippen"]
        assert len(asked) == 6


def test_a_finder_that_remembers_little_finds_the_same_in_threads(kb, monkeypatch):
    monkeypatch.setattr(mentions, "_BUDGET", 500)
    finder = NameFinder(kb)
    text = " ".join(f"He saw {name} there." for name in NAMES)
    expected, wrong = found(NameFinder(kb), text), []

    def work():
        for _ in range(20):
            finder.forget()
            if found(finder, text) != expected:
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert len(expected) > 30


def test_spans_come_back_in_order_with_all_they_carry():
    spans = [Span(7, 9, candidates=("a", "b")), Span(0, 3, fixed="x"), Span(3, 4)]
    assert checked_spans("Abc\ndef 😀gh", spans[:2]) == (spans[1], spans[0])
    assert checked_spans("Abcdef 😀gh", spans) == (spans[1], spans[2], spans[0])
    assert checked_spans("", ()) == ()


@pytest.mark.parametrize(
    ("span", "said"),
    [
        (Span(-1, 3), "-1 to 3 of a text of 10 code points"),
        (Span(4, 11), "4 to 11 of a text of 10 code points"),
        (Span(4, 4), "4 to 4"),
        (Span(5, 4), "5 to 4"),
        (Span(True, 4), "start of a span is True"),
        (Span(0, 4.0), "end of a span is 4.0"),
        (Span("0", 4), "start of a span is '0'"),
        (Span(0, None), "end of a span is None"),
        (Span(3, 5), "3 to 5 .* only white space"),
        (Span(9, 10), "9 to 10 .* only white space"),
    ],
)
def test_a_span_that_cannot_be_a_mention_is_named(span, said):
    with pytest.raises(RequestError, match=said):
        checked_spans("abc \nfghi\ufeff", [Span(0, 1), span])


@pytest.mark.parametrize("other", [Span(2, 5), Span(0, 3), Span(1, 2), Span(0, 9)])
def test_overlapping_spans_are_both_named(other):
    with pytest.raises(RequestError, match=rf"(?=.*0 to 3)(?=.*{other.start} to {other.end})"):
        checked_spans("abcdefghi", [other, Span(0, 3)])


def touched(tokens: tuple[Token, ...], start: int, end: int) -> list[int]:
    return [i for i, token in enumerate(tokens) if token.start < end and start < token.end]


@given(st.text("ab. '\n\ufeff", min_size=1, max_size=12), st.data())
def test_the_tokens_of_a_span_are_those_it_touches(text, data):
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    tokens = tokenize(text)
    expected = touched(tokens, start, end)
    if expected:
        assert token_range(tokens, start, end) == (expected[0], expected[-1] + 1)
        assert checked_spans(text, [Span(start, end)])
    else:
        with pytest.raises(RequestError, match=f"{start} to {end} touches no word"):
            token_range(tokens, start, end)
        with pytest.raises(RequestError):
            checked_spans(text, [Span(start, end)])


SMALL = [
    {"id": "1", "name": "Yellow fever"},
    {"id": "2", "name": "Asthma", "aliases": ["asthma", "wheeze"]},
    {"id": "3", "name": "Aspirin", "aliases": ["acetylsalicylic acid", "Acid"]},
    {"id": "4", "name": "Turkey"},
    {"id": "5", "name": "Bank of Turkey", "aliases": ["bank"]},
    {"id": "6", "name": "Film", "aliases": ["film"]},
    {"id": "7", "name": "Golden Gate"},
    {"kind": "name", "name": "film", "linked": 10, "pages": 100},
]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("She had yellow fever and asthma.", ["yellow fever", "asthma"]),
        ("He took acetylsalicylic acid, not acid.", ["acetylsalicylic acid"]),
        ("A turkey and a wheeze at the bank.", []),  # of one word, only a title listed so
        ("A film about the golden gate.", []),  # seldom linked; not written so
        ("Turkey had yellow  fever.", ["Turkey"]),
    ],
)
def test_names_in_lower_case_are_those_that_the_knowledge_base_writes_so(tmp_path, text, found):
    with KnowledgeBase.open(build(tmp_path, SMALL)) as kb:
        tokens = tokenize(text)
        mentions = NameFinder(kb).find(text, tokens, sentences(text, tokens))
        assert [mention.text for mention in mentions] == found
