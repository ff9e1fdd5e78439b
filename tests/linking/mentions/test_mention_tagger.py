"""The mention tagger: its clues and ranges against slow twins, and what it learns."""

from random import Random

import numpy as np
import pytest

from experiments.starter_data import marked_document
from sgtb.core.ragged import Ragged
from sgtb.kb import KnowledgeBase
from sgtb.linking.mentions import mention_tagger as tagging
from sgtb.linking.mentions.mention_detection import NameFinder
from sgtb.linking.mentions.mention_settings import MentionSettings
from sgtb.linking.mentions.mention_tagger import (
    BEGIN,
    INSIDE,
    OUTSIDE,
    MentionTagger,
    gold_tags,
    token_hashes,
)
from sgtb.native import mix_clues
from sgtb.text.tokenization import segment
from tests.helpers.kb_worlds import build

NAMES = ("Jordan", "New York", "Michael Jordan", "gravity")
TEXTS = (
    "He met Anna Meck in New York. Michael Jordan, 12, left.\nNEW YORK\tJORDAN WINS TWICE AGAIN",
    "Jordan. jordan! 北京 is “New York” (NY).",
    "x",
)


@pytest.fixture(scope="module")
def finder(tmp_path_factory):
    records = [{"id": str(i), "name": name} for i, name in enumerate(NAMES)]
    records.append({"kind": "name", "name": "Jordan", "linked": 30, "pages": 100})
    with KnowledgeBase.open(build(tmp_path_factory.mktemp("tagger"), records)) as kb:
        yield NameFinder(kb)


def mixed(number, values):
    """The twin of the hash: whole numbers of any size."""
    found = number
    for value in values:
        found = (found ^ value) * 0x9E3779B1 % 2**32
        found ^= found >> 15
    return found


@pytest.mark.parametrize("text", TEXTS)
def test_clues_against_the_twin(finder, text):
    tokens, lines = segment(text)
    rules = finder.apply_rules(text, tokens, lines)
    hashes = {text: token_hashes(text) for text in tokens.texts}
    columns = tagging._columns(rules, hashes).tolist()
    line = [number for number, (first, stop) in enumerate(lines) for _ in range(first, stop)]

    def value(column, i, at):
        inside = 0 <= i + at < len(tokens) and line[i + at] == line[i]
        return columns[i + at][column] if inside else 1

    expected = [
        [
            mixed(number, [value(column, i, at) for column, at in parts])
            for number, parts in enumerate(tagging._CLUES, 1)
        ]
        for i in range(len(tokens))
    ]
    assert finder.clues(rules).tolist() == expected


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"sentences": np.array([[0, 2]])}, "sentences"),  # not all tokens
        ({"sentences": np.array([[0, 2], [1, 3]])}, "sentences"),
        ({"parts": Ragged.of([[0, 0], [2, 0]], np.int64)}, "parts"),  # no such column
        ({"parts": Ragged.of([[0, 0], [1]], np.int64)}, "parts"),
        ({"parts": Ragged.of([[0, 0], [1, 1 << 41]], np.int64)}, "parts"),
        ({"parts": Ragged.of([[0, 0]], np.int64)}, "parts"),
        ({"out": np.zeros((2, 2), np.uint32)}, "out"),
    ],
)
def test_clue_arguments_that_do_not_fit_are_refused(changed, complaint):
    given = {
        "columns": np.zeros((3, 2), np.uint32),
        "sentences": np.array([[0, 1], [1, 3]]),
        "parts": Ragged.of([[0, 0], [1, -1]], np.int64),
        "out": np.zeros((3, 2), np.uint32),
    }
    mix_clues(*given.values())
    with pytest.raises(ValueError, match=complaint):
        mix_clues(*(given | changed).values())


def test_link_probabilities_of_tokens(finder):
    text = "He met Michael Jordan in Jordan and New Orleans."
    shares = finder.apply_rules(text, *segment(text)).shares()
    assert shares.tolist()[:2] == [-1, -1]
    assert np.isnan(shares[2])  # only as a part of a name that was not counted
    assert shares[3] == shares[5] == 0.3
    assert shares[7] == -1


def slow_ranges(tags, begins):
    found = []
    for i, tag in enumerate(tags):
        if tag == OUTSIDE:
            continue
        if tag == BEGIN or i in begins or tags[i - 1] == OUTSIDE:
            found.append([i, i])
        found[-1][1] = i
    return [tuple(one) for one in found]


def test_ranges_of_tags_against_the_twin():
    random = Random(3)
    for n in (1, 2, 3, *[12] * 300):
        tags = [random.choice((OUTSIDE, BEGIN, INSIDE)) for _ in range(n)]
        begins = {0, *(random.randrange(n) for _ in range(2))}
        new_line = np.isin(np.arange(n), [*begins])
        assert tagging._ranges(np.array(tags), new_line) == slow_ranges(tags, begins)


def train(finder, documents, bits=12):
    clues = [finder.clues(finder.apply_rules(d.text, d.tokens, d.sentences)) for d in documents]
    tags = [gold_tags(len(d.tokens), d.mentions) for d in documents]
    return MentionTagger.train(
        np.concatenate(clues), np.concatenate(tags), np.random.default_rng(0), bits
    )


def lessons(n=60):
    """Texts in which tools are mentions, in lower case, and people are none."""
    random = Random(1)
    tools = ("power drill", "band saw", "hammer", "paint brush", "file")
    people = ("Anna Meck", "Jordan", "Peter Falkner", "Hanna Brand")
    return [
        marked_document(
            "",
            f"{random.choice(people)} wants the [[{tool}]] now, and {random.choice(people)} too.",
        )
        for tool in random.choices(tools, k=n)
    ]


def test_it_learns_what_is_annotated(finder):
    tagger = train(finder, lessons())
    learned = NameFinder(finder.kb, tagger=tagger)

    def found(finder, text):
        return [m.text for m in finder.find(text, *segment(text))]

    text = "Karl Orff wants the steam drill now, and Jordan too."
    assert found(learned, text) == ["steam drill"]
    assert found(finder, text) == ["Karl Orff", "Jordan"]
    known = MentionSettings(unknown_names=False)
    assert found(NameFinder(finder.kb, known, tagger), text) == []
    any_case = MentionSettings(capitals=False)
    assert found(NameFinder(finder.kb, any_case, tagger), text) == ["Karl Orff", "Jordan"]


def test_the_same_weights_again(finder):
    one, other = (train(finder, lessons()).weights for _ in range(2))
    assert one.tobytes() == other.tobytes()
    assert one.any()


def test_mentions_neither_begin_nor_end_with_signs(finder):
    ranges = [(0, 2), (3, 3), (4, 6)]
    w = tagging.w.WORD
    assert tagging._trimmed(ranges, [0, w, 0, 0, w, 0, w]) == [(1, 1), (4, 6)]


@pytest.mark.parametrize("text", ["", " ", "北京" * 50, "\ud800 A", "'s", "\u0301"])
def test_odd_texts(finder, text):
    learned = NameFinder(finder.kb, tagger=train(finder, lessons(5)))
    assert isinstance(learned.find(text, *segment(text)), tuple)
