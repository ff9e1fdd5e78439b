"""A vocabulary: what is known of tokens, however often and in whatever order they occur."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from sgtb.linking.entities import vocabulary as module
from sgtb.linking.entities.vocabulary import OUTSIDE, UNKNOWN, Mark, Vocabulary, clue

NUMBER, WEIGHT = {"orlan": 0, "won": 1}, np.array([2.5, 1.5], np.float32)


def data_of(vocabulary, texts):
    """Return what is known of each token, and of each of its words."""
    kind, kinds = vocabulary.read(texts)
    return [
        (
            bytes(kinds.near.row(k)),
            Mark(int(kinds.marks[k])),
            [kinds.word[w].item() for w in kinds.words.row(k)],
        )
        for k in kind.tolist()
    ]


def word(text, number, is_digit=False, is_stop=False):
    weight = 0.0 if number == UNKNOWN else float(WEIGHT[number])
    return number, weight, is_digit, is_stop, *(clue(f"{kind}:{text}") for kind in "shd")


def test_what_is_known_of_tokens():
    vocabulary = Vocabulary(NUMBER, WEIGHT)
    assert data_of(vocabulary, ["Orlan", "WON", "in", "7", "Orlan"]) == [
        (b"orlan", Mark.CAPITAL, [word("orlan", 0)]),
        (b"won", Mark.CAPITAL, [word("won", 1)]),
        (b"in", Mark.PREPOSITION, [word("in", UNKNOWN, is_stop=True)]),
        (b"0", Mark.NUMBER, [word("7", UNKNOWN, is_digit=True)]),
        (b"orlan", Mark.CAPITAL, [word("orlan", 0)]),
    ]
    both = [word("new", UNKNOWN), word("orlan", 0)]
    assert data_of(vocabulary, ["(", "New-Orlan"]) == [
        (b"(", Mark.OPENING, []),
        (b"new-orlan", Mark.CAPITAL, both),
    ]
    kind, kinds = vocabulary.read([])
    assert len(kind) == 0
    assert bytes(kinds.near.row(OUTSIDE)) == b"<>"


def test_what_was_read_stays_while_more_is_met():
    vocabulary = Vocabulary(NUMBER, WEIGHT)
    kind, before = vocabulary.read(["Orlan", "won"])
    copies = [np.copy(column) for column in (before.near.data, before.marks, before.word)]
    vocabulary.read([f"word{i}" for i in range(5000)])
    for column, copy in zip((before.near.data, before.marks, before.word), copies, strict=True):
        assert np.array_equal(column, copy)
    assert np.array_equal(vocabulary.read(["Orlan", "won"])[0], kind)


def test_it_begins_anew_before_it_is_too_large(monkeypatch):
    monkeypatch.setattr(module, "_TOKEN_BUDGET", 8_000)
    vocabulary, fresh = Vocabulary(NUMBER, WEIGHT), Vocabulary(NUMBER, WEIGHT)
    for i in range(40):
        texts = [f"Word{i}", "Orlan", f"word{i}-{i + 1}", str(i)]
        assert data_of(vocabulary, texts) == data_of(fresh, texts)
        assert vocabulary._known.kind.bytes <= 8_000 + 200 * len(texts)


def test_threads_share_it():
    vocabulary = Vocabulary(NUMBER, WEIGHT)

    def work(seed):
        draw = np.random.default_rng(seed)
        rows = [[f"Word-{i}" for i in draw.integers(0, 3000, 50)] for _ in range(40)]
        return [(row, data_of(vocabulary, row)) for row in rows]

    with ThreadPoolExecutor(4) as pool:
        for rows in pool.map(work, range(4)):
            for row, found in rows:
                assert [near for near, _, _ in found] == [b"0"] * len(row)
                for text, (_, _, words) in zip(row, found, strict=True):
                    assert words[1][4] == clue(f"s:{text[5:]}")


@pytest.mark.parametrize("seen", [[], ["Orlan"]])
def test_it_goes_to_other_processes_without_its_tokens(seen):
    vocabulary = Vocabulary(NUMBER, WEIGHT)
    vocabulary.read(seen)
    again = pickle.loads(pickle.dumps(vocabulary))
    assert not again._known.kind
    assert data_of(again, ["Orlan"]) == data_of(vocabulary, ["Orlan"])
