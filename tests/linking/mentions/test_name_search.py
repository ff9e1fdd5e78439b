"""Name search: the kernel against its slow twin, and arguments that it must refuse."""

from random import Random
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgtb.core.byte_cache import ByteCache
from sgtb.linking.mentions.name_search import NameSearch
from sgtb.linking.mentions.token_shapes import shape_of
from sgtb.native import find_name_ranges, find_name_runs
from sgtb.native import token_shape_bits as w
from sgtb.text.tokenization import sentences, tokenize
from tests.helpers.name_search_twin import SlowNameSearch

PIECES = (
    "Jordan", "Michael", "New York", "the", "The", "THE", "of", "to", "van der", "de", "US", "It",
    "May", "Monday", "Apple", "apple", "novel", "President", "U.S.", "42", "University",
    "Bank", "Dr", "King", "Vice", "J", "J.", "Inc", "plc", "St. Louis",
    "Former", "team", "3M", "iPhone", "SOCCER",
    " ", "  ", "\t", "\n", "\n\n", "\r\n", "\u2028\u2028", " \x0b\x0b ", ".", ",", "'", "’s", "'S",
    "&",
    "/", "-", "–", "!", "?", '"', "“", "”", "«", "‘", "😀", "e\u0301", "\u0301", "\u200d", "\u200e",
    "ß", "İ", "ा", "दिल्ली", "ไทย", "მ", "北京", "x" * 300, "said", "\ud800", "\x00",
)  # fmt: skip
SHAPES = ByteCache("token shapes", 6 << 20, shape_of)
SEVERAL = [(capitals, words) for capitals in (True, False) for words in (1, 2, 6, 10**12)]


def check(text, lines, random):
    """Compare kernel and twin: ranges, positions, and what is chosen of random names."""
    tokens = tokenize(text)
    lines = sentences(text, tokens) if lines is None else lines(tokens)
    shapes = [SHAPES[token] for token in tokens.texts]
    for capitals, max_words in SEVERAL:
        page = NameSearch(text, tokens, lines, SHAPES, capitals=capitals, max_words=max_words)
        slow = SlowNameSearch(text, tokens, shapes, capitals=capitals, max_words=max_words)
        tries = [attempt for first, stop in lines for attempt in slow.tries(first, stop)]
        expected = [(one.first, last, name) for one in tries for last, name in one.ends]
        runs = [run for first, stop in lines for run in slow.runs(first, stop)]
        assert [*map(tuple, page.runs())] == runs
        names = page.names()
        columns = (page.ranges.first.tolist(), page.ranges.last.tolist(), names)
        assert [*zip(*columns, strict=True)] == expected
        for one in tries:
            position = one.fresh * w.FRESH | one.headline * w.HEADLINE | one.loud * w.LOUD
            assert page.positions[one.first] == position
        known = {}
        for name in sorted({*names}):
            if random.random() < 0.6:
                known[name] = random.choice((0.05, 0.3, 0.9, float("nan")))
        chosen = page.choose(page.listed([known.get(name) for name in names]))
        places = tuple((tokens.starts[i], tokens.ends[last]) for i, last in chosen)
        assert places == slow.choose(tries, known)
    return len(expected)


def one_line(tokens):
    return ((0, len(tokens)),)


def test_random_texts_give_what_the_twin_gives():
    random, found = Random(5), 0
    for n in range(400):
        glue = random.choice(("", " "))
        text = glue.join(random.choice(PIECES) for _ in range(random.randrange(1, 40)))
        if tokenize(text):
            found += check(text, one_line if n % 2 else None, random)
    assert found > 4_000


@given(st.text(st.characters(), min_size=1), st.randoms(use_true_random=False))
def test_any_text_gives_what_the_twin_gives(text, random):
    if tokenize(text):
        check(text, one_line, random)


def arguments(n=4):
    """Arguments of the kernel: n words of one letter, in one sentence."""
    starts = np.arange(0, 2 * n, 2)
    return SimpleNamespace(
        tokens=SimpleNamespace(
            shapes=np.full(n, w.WORD | w.NAME, np.int32),
            starts=starts,
            ends=starts + 1,
            after_break=np.zeros(n, np.uint8),
        ),
        sentences=np.array([[0, n]]),
        limits=SimpleNamespace(named=w.NAME, max_words=n, max_tokens=n, max_length=99),
        positions=np.zeros(n, np.uint8),
        out=SimpleNamespace(first=np.empty(n * n, np.int32), last=np.empty(n * n, np.int32)),
    )


def test_all_ranges_of_a_sentence_are_written():
    given = arguments()
    assert find_name_ranges(*vars(given).values()) == 10
    pairs = [*zip(given.out.first[:10].tolist(), given.out.last[:10].tolist(), strict=True)]
    assert pairs == [(i, j) for i in range(4) for j in range(i, 4)]
    assert given.positions.tolist() == [w.FRESH | w.HEADLINE, *[w.HEADLINE] * 3]


@pytest.mark.parametrize(
    ("where", "value", "error", "complaint"),
    [
        ("tokens.shapes", np.zeros(3, np.int32), ValueError, "tokens.starts"),
        ("tokens.shapes", np.zeros(4, np.int64), TypeError, "tokens.shapes.*int32"),
        ("tokens.ends", np.zeros(5, np.int64), ValueError, "tokens.ends"),
        ("tokens.starts", np.full(4, -1), ValueError, "tokens.starts"),
        ("tokens.ends", np.full(4, 1 << 62), ValueError, "tokens.ends"),
        ("tokens.after_break", np.zeros(3, np.uint8), ValueError, "after_break"),
        ("sentences", np.zeros((1, 3), np.int64), ValueError, "sentences"),
        ("sentences", np.array([[0, 5]]), ValueError, "sentences"),
        ("sentences", np.array([[-1, 2]]), ValueError, "sentences"),
        ("sentences", np.array([[2, 1]]), ValueError, "sentences"),
        ("sentences", np.array([[0, 3], [2, 4]]), ValueError, "sentences"),
        ("limits.max_tokens", 5, ValueError, "limits.max_tokens"),
        ("limits.max_tokens", -1, ValueError, "limits.max_tokens"),
        ("limits.max_tokens", 3, ValueError, "out.first"),
        ("positions", np.zeros(3, np.uint8), ValueError, "positions"),
        ("out.first", np.zeros(3, np.int32), ValueError, "out.first"),
        ("out.last", np.zeros(3, np.int32), ValueError, "out.last"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(where, value, error, complaint):
    given = arguments()
    record, _, name = where.rpartition(".")
    setattr(getattr(given, record) if record else given, name, value)
    with pytest.raises(error, match=complaint):
        find_name_ranges(*vars(given).values())


def run_arguments(n=4):
    given = arguments(n)
    out = SimpleNamespace(
        first=np.empty(n, np.int32), last=np.empty(n, np.int32), titled=np.zeros(n, np.uint8)
    )
    return SimpleNamespace(tokens=given.tokens, sentences=given.sentences, out=out)


def test_a_run_is_as_long_as_its_capitals():
    given = run_arguments()
    given.tokens.shapes[:] |= w.CAPITAL
    given.tokens.shapes[2] = w.WORD | w.SMALL
    assert find_name_runs(*vars(given).values()) == 2
    assert given.out.first[:2].tolist() == [0, 3]
    assert given.out.last[:2].tolist() == [1, 3]


@pytest.mark.parametrize(
    ("where", "value", "error", "complaint"),
    [
        ("tokens.shapes", np.zeros(3, np.int32), ValueError, "tokens.starts"),
        ("tokens.after_break", np.zeros(3, np.uint8), ValueError, "after_break"),
        ("sentences", np.array([[0, 5]]), ValueError, "sentences"),
        ("out.first", np.zeros(3, np.int32), ValueError, "out.first"),
        ("out.last", np.zeros(4, np.int64), TypeError, "out.last"),
        ("out.titled", np.zeros(3, np.uint8), ValueError, "out.titled"),
    ],
)
def test_arguments_of_runs_that_do_not_fit_are_refused(where, value, error, complaint):
    given = run_arguments()
    record, _, name = where.rpartition(".")
    setattr(getattr(given, record) if record else given, name, value)
    with pytest.raises(error, match=complaint):
        find_name_runs(*vars(given).values())


def test_any_shapes_and_places_are_taken():
    """Ranges and runs stay within their sentence, whatever the tokens look like."""
    rng = np.random.default_rng(11)
    for _ in range(300):
        given, runs, n = arguments(12), run_arguments(12), 12
        bits = 1 << rng.integers(0, 32, (n, rng.integers(1, 12)))
        given.tokens.shapes[:] = np.bitwise_or.reduce(bits, axis=1).astype(np.uint32).view(np.int32)
        given.tokens.starts = rng.integers(0, rng.choice([3, 40, 1 << 40]), n)
        given.tokens.ends = given.tokens.starts + rng.integers(0, 3, n)
        given.tokens.ends.clip(max=(1 << 40) - 1, out=given.tokens.ends)
        given.tokens.after_break[:] = rng.integers(0, 256, n) * (rng.random(n) < 0.1)
        given.limits.named = int(rng.integers(-(2**31), 2**31))
        given.limits.max_words, given.limits.max_length = map(int, rng.integers(-2, 20, 2))
        cuts = np.sort(rng.integers(0, n + 1, 4))
        given.sentences = runs.sentences = cuts.reshape(2, 2)
        runs.tokens = given.tokens
        for found, out in (
            (find_name_ranges(*vars(given).values()), given.out),
            (find_name_runs(*vars(runs).values()), runs.out),
        ):
            first, last = out.first[:found], out.last[:found]
            sentence = np.searchsorted(cuts[1::2], first, side="right").clip(max=1)
            assert (cuts[::2][sentence] <= first).all()
            assert ((first <= last) & (last < cuts[1::2][sentence])).all()
