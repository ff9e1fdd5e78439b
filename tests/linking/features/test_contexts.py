"""Contexts: what is seen around a mention, on documents small enough to see it by eye."""

import itertools
import math
import re
import zlib
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from experiments.entity_tables import listed_candidates
from sgtb.core.ragged import Ragged
from sgtb.core.records import Document
from sgtb.linking.features.contexts import PLACES, WINDOW, Contexts
from sgtb.text.normalization import normal_words
from tests.helpers.linking_builders import (
    assert_same_arrays,
    clue_rows,
    document,
    documents,
    entity_table,
    lexicon_of,
    relabelled,
    small_setting,
    world,
)

ENTITIES = entity_table(["Anything"])


def asked(id: str, *lines: str):
    """A document whose unannotated names are asked about."""
    return document(id, *(re.sub(r"\[([^]|]+)\]", r"[\1|e100||e100]", line) for line in lines))


TEXT = asked(
    "1",
    "TENNIS - [ORLAN OPEN] RESULTS",
    "[TARN] 1996-08-22",
    "[Orlan] ( [Norvia] ) beat 3 [Vessa] 6-4 in [Tarn] .",
    "Young [Orlan] lost to [Orlan Rovers|NIL|ORG] , [Meck] vs [X]",
)
NAMES = ("ORLAN OPEN", "TARN", "Orlan", "Norvia", "Vessa", "Tarn", "Orlan 2", "Meck", "X")


def contexts_of(*texts, train=None):
    candidates = listed_candidates(texts, ENTITIES)
    return Contexts.build(candidates, lexicon_of(train or texts, ENTITIES))


CONTEXTS = contexts_of(TEXT)


def row(bag, lexicon, r):
    first, last = bag.indptr[r : r + 2]
    words = [lexicon.words[w] for w in bag.indices[first:last]]
    return dict(zip(words, bag.data[first:last].tolist(), strict=True))


def clue_row(clues: Ragged, r: int) -> list[int]:
    return clues.data[clues.indptr[r] : clues.indptr[r + 1]].tolist()


def test_names_and_the_longest_names_that_contain_them():
    assert CONTEXTS.names == (
        "orlan open", "tarn", "orlan", "norvia", "vessa", "tarn", "orlan", "meck", "x",
    )  # fmt: skip
    # Of two that are equally long, the first; mentions not asked about can lend their names.
    assert CONTEXTS.full_names == (
        "orlan open", "tarn", "orlan open", "norvia", "vessa", "tarn", "orlan open", "meck", "x",
    )  # fmt: skip
    lent = contexts_of(asked("1", "[Meck] [Anna Meck|NIL] [Annabel Meckson|NIL]"))
    assert lent.full_names == ("anna meck",)
    lent = contexts_of(asked("1", "[Anna Meck] [Anna Meck Rae|NIL] [Old Anna Meck Rae|NIL] [!]"))
    assert lent.full_names == ("old anna meck rae", "")


WHERE = {  # the mentions for which it is so
    "dateline": {"TARN"},
    "in_brackets": {"Norvia"},
    "before_number": {"TARN", "Vessa"},
    "after_number": {"Vessa"},
    "after_preposition": {"Tarn"},
    "beside_versus": {"Meck", "X"},
    "in_topic_document": set(NAMES),
    "in_headline": {"ORLAN OPEN"},
    "upper_case": {"ORLAN OPEN", "TARN", "X"},
}


@pytest.mark.parametrize("feature", [feature for feature in PLACES if feature in WHERE])
def test_places_that_are_so_or_not(feature):
    column = CONTEXTS.place[:, PLACES.index(feature)]
    assert set(column.tolist()) <= {0, 1}
    assert {name for name, is_so in zip(NAMES, column, strict=True) if is_so} == WHERE[feature]


MEASURED = {
    "sentence_digits": {"Orlan": 2 / 11, "TARN": 1 / 2, "X": 0},
    "sentence_capitals": {"TARN": 1 / 2, "ORLAN OPEN": 4 / 5, "Orlan": 4 / 11},
    "document_digits": dict.fromkeys(NAMES, 3 / 28),
    "sentence_length": {"ORLAN OPEN": 5, "TARN": 2, "Norvia": 11, "X": 10},
    "sentence_place": {"ORLAN OPEN": 0, "TARN": 1 / 4, "Vessa": 2 / 4, "X": 3 / 4},
    "same_name": {"Orlan": 2, "Tarn": 2, "TARN": 2, "ORLAN OPEN": 1},
    "document_mentions": dict.fromkeys(NAMES, 9),
}


@pytest.mark.parametrize("feature", [feature for feature in PLACES if feature in MEASURED])
def test_places_that_are_measured(feature):
    column = dict(zip(NAMES, CONTEXTS.place[:, PLACES.index(feature)], strict=True))
    for name, value in MEASURED[feature].items():
        assert column[name] == pytest.approx(value), name


def test_a_document_without_a_topic_says_so():
    found = contexts_of(asked("1", "[Orlan] won"))
    assert found.place[0, PLACES.index("in_topic_document")] == 0


def test_bags_by_hand():
    train = [document("1", "rain snow snow"), document("2", "snow hail"), document("3", "fog")]
    text = asked("9", "Fog again", "the rain rain hail [Snow] fog unseen")
    lexicon = lexicon_of(train, ENTITIES)
    candidates = listed_candidates([text], ENTITIES)
    found = Contexts.build(candidates, lexicon)
    once, twice = math.log(4 / 2), math.log(4 / 3)  # by how many texts have a word

    def expected(**raw):
        length = math.hypot(*raw.values())
        return pytest.approx({word: value / length for word, value in raw.items()}, rel=1e-6)

    assert row(found.name_bag, lexicon, 0) == {"snow": 1.0}
    rain = (1 + math.log(2)) * once
    assert row(found.sentence_bag, lexicon, 0) == expected(rain=rain, hail=once, fog=once)
    assert row(found.headline_bag, lexicon, 0) == {"fog": 1.0}
    fog = (1 + math.log(2)) * once
    assert row(found.document_bag, lexicon, 0) == expected(
        rain=rain, hail=once, fog=fog, snow=twice
    )


def naive_bag(texts, lexicon):
    """The twin: words of tokens, weighted and scaled to length one."""
    counts = Counter(lexicon.number.get(word) for text in texts for word in normal_words(text))
    raw = {
        lexicon.words[number]: (1 + math.log(count)) * float(lexicon.weight[number])
        for number, count in counts.items()
        if number is not None and lexicon.weight[number] > 0
    }
    length = math.hypot(*raw.values())
    return pytest.approx({word: value / length for word, value in raw.items()}, rel=1e-5)


def naive_spot(text, mention):
    """The twin: the tokens of a mention and those of its sentence, whatever the mention says."""
    n = len(text.tokens)
    first = min(max(mention.first, 0), n)
    stop = min(max(mention.stop, first), n)
    sentences = text.sentences or ((0, n),)

    def sentence_of(token):
        return max([i for i, (begin, _) in enumerate(sentences) if begin <= token], default=0)

    number, last = sentence_of(first), sentence_of(max(first, stop - 1))
    return first, stop, min(sentences[number][0], first), max(sentences[last][1], stop), number


@pytest.mark.parametrize("seed", range(5))
def test_bags_and_places_are_those_of_the_twin(seed):
    rng = np.random.default_rng(seed)
    (mention,) = asked("1", "[Orlan]").mentions
    texts = []
    for i in range(4):
        lines = [
            " ".join(rng.choice("rain snow hail fog the 7 new-snow".split(), rng.integers(1, 12)))
            for _ in range(rng.integers(1, 5))
        ]
        text = document(str(i), *lines)
        bounds = rng.integers(-3, len(text.tokens) + 3, (6, 2)).tolist()
        mentions = tuple(replace(mention, first=a, stop=b) for a, b in bounds)
        texts.append(replace(text, mentions=mentions))
    lexicon = lexicon_of([*texts, document("5", "sun"), document("6", "sun")], ENTITIES)
    found = Contexts.build(listed_candidates(texts, ENTITIES), lexicon)
    bags = (found.name_bag, found.sentence_bag, found.window_bag)
    m = 0
    for d, text in enumerate(texts):
        tokens = text.tokens.texts
        assert row(found.document_bag, lexicon, d) == naive_bag(tokens, lexicon)
        head = tokens[slice(*text.sentences[0])]
        assert row(found.headline_bag, lexicon, d) == naive_bag(head, lexicon)
        for mention in text.mentions:
            first, stop, begin, end, number = naive_spot(text, mention)
            window = tokens[max(first - WINDOW, 0) : first] + tokens[stop : stop + WINDOW]
            sentence = tokens[begin:first] + tokens[stop:end]
            own = (tokens[first:stop], sentence, window)
            for bag, some in zip(bags, own, strict=True):
                assert row(bag, lexicon, m) == naive_bag(some, lexicon)
            place = dict(zip(PLACES, found.place[m].tolist(), strict=True))
            assert place["sentence_length"] == end - begin
            assert place["sentence_place"] == pytest.approx(number / len(text.sentences))
            m += 1
    for bag in (*bags, found.document_bag, found.headline_bag):
        for r in range(bag.n_rows):
            assert (np.diff(bag.indices[bag.indptr[r] : bag.indptr[r + 1]]) > 0).all()


def test_the_window_ends_after_some_tokens_and_may_leave_the_sentence():
    words = [f"w{chr(97 + i)}" for i in range(3 * WINDOW)]
    middle = len(words) // 2
    line = " ".join([*words[:middle], "[Orlan]", *words[middle:]])
    head, tail = line.split(" wb ", 1)
    text = asked("1", head, f"wb {tail}", "other sentence")
    other = document("2", "nothing")  # or all words would be in all texts, and weigh nothing
    lexicon = lexicon_of([text, other], ENTITIES)
    found = Contexts.build(listed_candidates([text], ENTITIES), lexicon)
    assert set(row(found.window_bag, lexicon, 0)) == set(words[middle - WINDOW : middle + WINDOW])
    assert set(row(found.sentence_bag, lexicon, 0)) == set(words[1:])


def test_a_mention_may_span_two_sentences():
    (mention,) = asked("1", "[x]").mentions
    across = replace(mention, first=2, stop=4, text="Anna\nMeck")
    found = contexts_of(replace(document("1", "a b Anna", "Meck c d"), mentions=(across,)))
    assert found.names == ("anna meck",)
    assert found.place[0, PLACES.index("sentence_length")] == 6


def test_clues_are_the_same_hashes_everywhere():
    clues = clue_rows([["a", "b"], [], ["a"]])
    assert clues.indptr.tolist() == [0, 2, 2, 3]
    assert clues.data.tolist() == [zlib.crc32(b"a"), zlib.crc32(b"b"), zlib.crc32(b"a")]
    assert clues.data.dtype == np.uint32
    nothing = clue_rows([])
    assert nothing.indptr.tolist() == [0]
    assert len(nothing.data) == 0


KINDS = ("place_clues", "sentence_clues", "tag_clues")


@pytest.mark.parametrize("kind", KINDS)
def test_equal_surroundings_give_equal_clues(kind):
    line = "the old [Orlan] team won a game"
    found = contexts_of(asked("1", line), asked("2", line), asked("3", line + " today"))
    rows = [clue_row(getattr(found, kind), r) for r in range(3)]
    assert rows[0] == rows[1]
    assert len(rows[0]) > 0
    # What is far away is for the words of the sentence only.
    assert (rows[2] == rows[0]) == (kind != "sentence_clues")


@pytest.mark.parametrize("kind", KINDS)
def test_the_word_before_is_a_clue(kind):
    found = contexts_of(asked("1", "near [Orlan] won"), asked("2", "mayor [Orlan] won"))
    a, b = (set(clue_row(getattr(found, kind), r)) for r in range(2))
    assert a - b
    assert b - a


def test_all_numbers_are_one_clue():
    found = contexts_of(asked("1", "[Orlan] 3-1 won"), asked("2", "[Orlan] 17 won"))
    for kind in ("place_clues", "tag_clues"):
        assert clue_row(getattr(found, kind), 0) == clue_row(getattr(found, kind), 1)


def test_the_name_is_a_clue_to_its_type_but_not_to_its_meaning():
    found = contexts_of(asked("1", "an [Orlan] man"), asked("2", "an [Tarlan] man"))
    assert clue_row(found.tag_clues, 0) != clue_row(found.tag_clues, 1)
    assert clue_row(found.place_clues, 0) == clue_row(found.place_clues, 1)  # the ending is alike
    assert clue_row(found.sentence_clues, 0) == clue_row(found.sentence_clues, 1)


def test_words_unknown_to_the_training_texts_are_no_document_clues():
    train = [document(str(i), "common", *(["rare words"] if i < 2 else [])) for i in range(9)]
    with_new = contexts_of(document("1", "rare common", "zebra words"), train=train)
    without = contexts_of(document("1", "rare common", "words"), train=train)
    assert clue_row(with_new.document_clues, 0) == clue_row(without.document_clues, 0)
    assert len(clue_row(without.document_clues, 0)) > 0


def test_labels_are_not_looked_at():
    setting = small_setting()
    plain = setting.table(setting.dev).contexts
    blind = setting.table([relabelled(text) for text in setting.dev]).contexts
    assert plain.names == blind.names
    for name, value in vars(plain).items():
        other = getattr(blind, name)
        for part, array in vars(value).items() if hasattr(value, "offsets") else ():
            np.testing.assert_array_equal(array, getattr(other, part), err_msg=f"{name} {part}")
    np.testing.assert_array_equal(plain.place, blind.place)


def test_documents_do_not_see_each_other():
    texts, entities = documents(6), world()
    lexicon = lexicon_of(texts, entities)
    together = Contexts.build(listed_candidates(texts, entities), lexicon)
    at = 0
    for d, text in enumerate(texts):
        alone = Contexts.build(listed_candidates([text], entities), lexicon)
        n = len(alone.names)
        assert together.names[at : at + n] == alone.names
        np.testing.assert_array_equal(together.place[at : at + n], alone.place)
        for kind, i in itertools.product(KINDS, range(n)):
            assert clue_row(getattr(together, kind), at + i) == clue_row(getattr(alone, kind), i)
        assert clue_row(together.document_clues, d) == clue_row(alone.document_clues, 0)
        at += n


def test_empty_documents_are_fine():
    empty, silent = document("1"), document("2", "no names here")
    found = contexts_of(empty, silent, TEXT)
    assert found.names == CONTEXTS.names
    assert found.document_bag.n_rows == found.headline_bag.n_rows == 3
    assert len(found.document_clues.indptr) == 4
    nothing = contexts_of(train=[TEXT])
    assert nothing.place.shape == (0, len(PLACES))
    assert nothing.name_bag.n_rows == nothing.document_bag.n_rows == 0


def test_a_mention_need_not_fit_its_document():
    """Spans that a caller gives may hold no token, stand at the end, or beyond all sentences."""
    text = document("1", "Orlan won", "in Tarn")
    (mention,) = asked("1", "[Orlan]").mentions
    bounds = [(0, 0), (4, 4), (3, 9), (9, 12), (0, 4), (2, 1)]
    mentions = tuple(replace(mention, first=first, stop=stop) for first, stop in bounds)
    unsplit = replace(text, sentences=(), mentions=mentions)
    short = replace(text, sentences=((0, 2),), mentions=mentions)
    late = replace(text, sentences=((2, 4),), mentions=mentions)
    bare = Document("2", "Orlan", (), (), mentions)
    found = contexts_of(bare, unsplit, bare, short, late, replace(text, mentions=mentions), bare)
    assert found.names == ("orlan",) * 7 * len(bounds)
    assert np.isfinite(found.place).all()
    assert set(found.place[:, PLACES.index("in_headline")].tolist()) == {0, 1}
    alone = contexts_of(bare, train=[text])
    for kind in KINDS:
        assert clue_row(getattr(found, kind), 0) == clue_row(getattr(alone, kind), 0)


def test_a_document_without_sentences_is_a_single_one():
    text = asked("1", "[Orlan] won 3 games in [Tarn]")
    plain, unsplit = contexts_of(text), contexts_of(replace(text, sentences=()))
    assert_same_arrays(plain, unsplit)


def test_lone_surrogates_are_letters_like_any_other():
    found = contexts_of(asked("1", "a\ud800 [Orl\udc00an] b\udfff"), asked("2", "a [Orlan] b"))
    for kind in ("place_clues", "tag_clues"):
        assert clue_row(getattr(found, kind), 0) != clue_row(getattr(found, kind), 1)
    assert clue_rows([["\ud800"]]).data.tolist() == [zlib.crc32(b"\xed\xa0\x80")]
