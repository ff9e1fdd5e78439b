"""The mention tagger: its clues and ranges against slow twins, and what it learns."""

import math
from itertools import pairwise
from random import Random
from types import SimpleNamespace

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


def columns_of(observed):
    """What is observed, as a table: u4[n, C]."""
    others = (observed.rule, observed.position, observed.share, observed.repeated)
    others = [np.frombuffer(column, np.uint8) for column in others]
    return np.column_stack([observed.hashes, *others, observed.shape]).astype(np.uint32)


@pytest.mark.parametrize("text", TEXTS)
def test_clues_against_the_twin(finder, text):
    tokens, lines = segment(text)
    rules = finder.apply_rules(text, tokens, lines)
    hashes = {text: token_hashes(text) for text in tokens.texts}
    observed = tagging._observed(rules, hashes)
    columns = columns_of(observed).tolist()
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


def observations(n=3, n_hashes=1, rng=None):
    """Observations at n tokens: zeros, or few distinct values."""
    rng = rng or np.random.default_rng(0)
    column = {
        name: rng.integers(0, 3, n, np.uint8) for name in ("rule", "position", "share", "repeated")
    }
    return SimpleNamespace(
        hashes=rng.integers(0, 3, (n, n_hashes), np.uint32),
        **column,
        shape=rng.integers(0, 2, n, np.int32),  # a word or not
    )


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"sentences": np.array([[0, 2]])}, "sentences"),  # not all tokens
        ({"sentences": np.array([[0, 2], [1, 3]])}, "sentences"),
        ({"parts": Ragged.of([[0, 0], [6, 0]], np.int64)}, "parts"),  # no such column
        ({"parts": Ragged.of([[0, 0], [1]], np.int64)}, "parts"),
        ({"parts": Ragged.of([[0, 0], [1, 1 << 41]], np.int64)}, "parts"),
        ({"parts": Ragged(np.zeros(0, np.int64), np.zeros(0, np.int64))}, "parts"),
        ({"parts": Ragged(np.array([0, 4, 2]), np.zeros(4, np.int64))}, "parts"),
        *(
            ({"observed": SimpleNamespace(**(vars(observations()) | {name: short}))}, name)
            for name, short in {
                **dict.fromkeys(("rule", "position", "share", "repeated"), np.zeros(2, np.uint8)),
                "shape": np.zeros(2, np.int32),
            }.items()
        ),
    ],
)
def test_clue_arguments_that_do_not_fit_are_refused(changed, complaint):
    given = {
        "observed": observations(),
        "sentences": np.array([[0, 1], [1, 3]]),
        "parts": Ragged.of([[0, 0], [1, -1]], np.int64),
    }
    out = np.zeros((3, 2), np.uint32)
    mix_clues(*given.values(), out)
    with pytest.raises(ValueError, match=complaint):
        mix_clues(*(given | changed).values(), out)


def test_results_that_do_not_fit_are_refused():
    given = observations(), np.array([[0, 3]]), Ragged.of([[0, 0]], np.int64)
    for shape in ((2, 1), (3, 2)):
        with pytest.raises(ValueError, match="out"):
            mix_clues(*given, np.zeros(shape, np.uint32))


def test_link_probabilities_of_tokens(finder):
    text = "He met Michael Jordan in Jordan and New Orleans."
    rules = finder.apply_rules(text, *segment(text))
    shares = [*rules.shares()]
    assert shares[:2] == [tagging._NO_NAME] * 2
    assert shares[2] == tagging._UNCOUNTED  # only as a part of a name that was not counted
    assert shares[3] == shares[5] == 2  # 0.3
    assert shares[7] == tagging._NO_NAME


def test_bins_of_link_probabilities_against_the_twin(finder):
    text = "a b c d"
    rules, random = finder.apply_rules(text, *segment(text)), Random(2)
    for _ in range(300):
        listed = []
        for _ in range(random.randrange(5)):
            first = random.randrange(4)
            probability = random.choice([math.nan, 0.0, 0.1, 0.15, 0.2, 0.5, 1.0])
            listed.append((first, random.randrange(first, 4), probability))
        largest = [-1.0] * 4
        for first, last, probability in listed:
            for i in range(first, last + 1):
                if not largest[i] >= probability:  # a number also replaces NaN
                    largest[i] = probability
        bins = np.where(np.isnan(largest), 10, np.searchsorted(tagging._SHARES, largest))
        expected = np.where(np.array(largest) < 0, 11, bins)
        assert [*rules._replace(listed=listed).shares()] == expected.tolist()


def slow_ranges(tags, begins):
    found = []
    for i, tag in enumerate(tags):
        if tag == OUTSIDE:
            continue
        if tag == BEGIN or i in begins or tags[i - 1] == OUTSIDE:
            found.append([i, i])
        found[-1][1] = i
    return [tuple(one) for one in found]


def slow_trimmed(ranges, is_word):
    words = [[i for i in range(first, last + 1) if is_word[i]] for first, last in ranges]
    return [(own[0], own[-1]) for own in words if own]


def test_tagged_names_against_the_twin():
    rng, random = np.random.default_rng(3), Random(3)
    for n in (1, 2, 3, *[12] * 300):
        begins = {0, *(random.randrange(n) for _ in range(2))}
        bounds = [*sorted(begins), n]
        lines = np.array([*pairwise(bounds), (n, n)])
        tags, is_word = rng.integers(0, 3, n), rng.random(n) < 0.5
        expected = slow_trimmed(slow_ranges(tags.tolist(), begins), is_word.tolist())
        assert tagging.tagged_ranges(tags, lines, is_word) == expected


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


@pytest.mark.parametrize("text", ["", " ", "北京" * 50, "\ud800 A", "'s", "\u0301"])
def test_odd_texts(finder, text):
    learned = NameFinder(finder.kb, tagger=train(finder, lessons(5)))
    assert isinstance(learned.find(text, *segment(text)), tuple)
