"""Tokens and sentences of running text."""

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sgtb.native import find_ascii_tokens
from sgtb.text import tokenization
from sgtb.text.tokenization import sentences, tokenize, touched_tokens


def words(text: str) -> list[str]:
    return [token.text for token in tokenize(text)]


def rows(text: str) -> list[str]:
    tokens = tokenize(text)
    return [
        text[tokens[first].start : tokens[stop - 1].end] for first, stop in sentences(text, tokens)
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \n ", []),
        ("Orlan won, again.", ["Orlan", "won", ",", "again", "."]),
        ("the U.S. team", ["the", "U.S.", "team"]),
        ("the U.S.A team", ["the", "U.S.A", "team"]),
        ("AT&T's O'Brien", ["AT&T", "'s", "O'Brien"]),
        ("Anna’s well-known song", ["Anna", "’s", "well-known", "song"]),
        ("a dogs' day, don't", ["a", "dogs", "'", "day", ",", "don't"]),
        ("1,234.5 at 12:30.", ["1,234.5", "at", "12:30", "."]),
        ("2-1 (half)", ["2-1", "(", "half", ")"]),
        ("wait... no -- yes", ["wait", "...", "no", "--", "yes"]),
        ("Orla\u0301n über 東京", ["Orla\u0301n", "über", "東京"]),
        ("\ufeffOr\u200blan", ["Or", "lan"]),
        ("$5 & 6%", ["$", "5", "&", "6", "%"]),
    ],
)
def test_tokens(text, expected):
    assert words(text) == expected


def test_ascii_tokens_against_the_rules_of_any_text():
    random = Random(5)
    signs = "aBsS7_.,:'-& \n\x1c\0("
    texts = ["".join(random.choices(signs, k=random.randrange(12))) for _ in range(30_000)]
    texts += ["".join(map(chr, range(128))), "'s", "x's-y", "U.S.s", "U.S._", "1.2.x", "a" * 999]
    for text in texts:
        assert tokenization._ascii_tokens(text) == tokenization._any_tokens(text), text


@pytest.mark.parametrize(
    ("text", "starts", "ends", "complaint"),
    [
        (b"ab", 1, 2, "starts"),
        (b"ab", 2, 3, "ends"),
        ("aé".encode(), 3, 3, "text"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(text, starts, ends, complaint):
    room = np.zeros(starts, np.int64), np.zeros(ends, np.int64)
    with pytest.raises(ValueError, match=complaint):
        find_ascii_tokens(text, *room)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ("A headline\nThen text", ["A headline", "Then text"]),
        ("A gap\n\n \nhere", ["A gap", "here"]),
        ("It was 5 p.m. and dark. so", ["It was 5 p.m. and dark. so"]),
        ("Mr. Orlan met J. Meck. They left.", ["Mr. Orlan met J. Meck.", "They left."]),
        ("The U.S. Senate sat.", ["The U.S. Senate sat."]),
        ('He said "No." "Why?" asked Anna.', ['He said "No."', '"Why?" asked Anna.']),
        ("It ended (at last). (Not so.) Ölaf", ["It ended (at last).", "(Not so.)", "Ölaf"]),
        ("Wait... Then go", ["Wait...", "Then go"]),
        ("end.Next", ["end.Next"]),
    ],
)
def test_sentences(text, expected):
    assert rows(text) == expected


TEXTS = st.text(
    st.sampled_from("aZ5. ,'’sS-&\n\r\t!?\"()_é\u0301\ufeff\u200b\u00a0東") | st.characters()
)


@settings(deadline=None, derandomize=True, max_examples=200)
@given(TEXTS)
def test_tokens_are_all_of_the_text_but_its_white_space(text):
    tokens = tokenize(text)
    ends = 0
    for token in tokens:
        assert text[token.start : token.end] == token.text != ""
        assert not any(sign.isspace() for sign in token.text)
        assert set(text[ends : token.start]) <= {"\ufeff", "\u200b"} | set(
            filter(str.isspace, text)
        )
        ends = token.end
    assert all(sign.isspace() or sign in "\ufeff\u200b" for sign in text[ends:])


@settings(deadline=None, derandomize=True, max_examples=200)
@given(TEXTS)
def test_sentences_are_all_tokens_one_after_the_other(text):
    tokens = tokenize(text)
    found = sentences(text, tokens)
    assert [i for first, stop in found for i in range(first, stop)] == list(range(len(tokens)))
    assert all(first < stop for first, stop in found)
    for first, stop in found:
        assert all(
            "\n" not in text[tokens[i].end : tokens[i + 1].start] for i in range(first, stop - 1)
        )


def test_long_runs_take_no_more_than_their_share_of_time():
    for run in ("1,", "a.", "a-", "'s", "(", '."'):
        text = run * 30_000
        tokens = tokenize(text)
        assert sum(len(token.text) for token in tokens) == len(text)
        assert sentences(text, tokens)


def test_the_tokens_that_a_span_touches():
    text = " Old Orlan's, \u200b 😀x"
    tokens = tokenize(text)
    for start in range(len(text)):
        for end in range(start + 1, len(text) + 1):
            first, stop = touched_tokens(tokens, start, end)
            touched = [i for i, t in enumerate(tokens) if t.start < end and t.end > start]
            assert list(range(first, stop)) == touched
