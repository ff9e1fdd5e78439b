"""Clues, hashed by kernels, against the strings they stand for."""

import itertools
import re
import zlib

import numpy as np

from experiments.entity_tables import listed_candidates
from sgtb.core.records import Document, Mention, Token
from sgtb.linking.features.contexts import Contexts
from sgtb.text.normalization import STOP_WORDS, normal_phrase, normal_words
from tests.helpers.linking_builders import document, documents, entity_table, lexicon_of, world


def has_digit(word):
    return any(character.isdigit() for character in word)


class Twin:
    """A document looked at in strings, one mention at a time."""

    def __init__(self, text, lexicon):
        self.text, self.lexicon = text, lexicon
        self.low = [token.text.lower() for token in text.tokens]
        at = [i for i in (1, 2) if self.low[i : i + 1] == ["-"]]
        self.topic = self.low[at[0] - 1] if at else ""

    def words(self, first, stop):
        return [word for t in self.text.tokens[first:stop] for word in normal_words(t.text)]

    def near(self, position, sentence):
        if position not in range(*sentence):
            return "<>"
        return "0" if has_digit(self.low[position]) else self.low[position]

    def document_clues(self):
        number, weight = self.lexicon.number, self.lexicon.weight
        words = self.words(0, len(self.low))
        weighs = {word: weight[number[word]] for word in words if word in number}
        telling = [word for word, x in weighs.items() if 1 < x < 5 and not word.isdigit()]
        head = self.words(*self.text.sentences[0])
        return [
            *(f"h:{word}" for word in dict.fromkeys(head) if weighs.get(word, 0) > 0),
            *(f"d:{word}" for word in sorted(telling)[:150]),
        ]

    def mention_clues(self, mention):
        """Return those of its place, its sentence and its tag."""
        first, stop, topic, low = mention.first, mention.stop, self.topic, self.low
        number, sentence = next(
            (n, s) for n, s in enumerate(self.text.sentences) if first in range(*s)
        )
        sides = (first - 2, first - 1, stop, stop + 1)
        before2, before, after, after2 = (self.near(i, sentence) for i in sides)
        begin, end = sentence
        dated = any(re.match(r"\d{4}-\d\d(-\d\d)?$", w) for w in low[stop : min(stop + 5, end)])
        table = 4 * sum(map(has_digit, low[begin:end])) // (end - begin)
        words, length, opens = low[first:stop], min(stop - first, 4), first == begin
        kinds = "".join(
            "0" if c.isdigit() else "X" if c.isupper() else "x" if c.isalpha() else c
            for c in mention.text
        )
        both = [
            f"before:{before}", f"after:{after}", f"between:{before}|{after}",
            f"before2:{before2}|{before}", f"after2:{after}|{after2}",
        ]  # fmt: skip
        place = [
            "always", f"topic:{topic}", *both[:2], f"dated:{dated}",
            f"bracketed:{(before, after) == ('(', ')')}", *both[2:],
            f"ending:{normal_phrase(mention.text)[-3:]}", f"upper:{mention.text.isupper()}",
            f"sentence:{min(number, 3)}", f"table:{table}", f"topic table:{topic}|{table}",
        ]  # fmt: skip
        tag = [
            "always", *(f"word:{word}" for word in words), f"all:{' '.join(words)}",
            f"first:{words[0]}", f"last:{words[-1]}", f"ending3:{words[-1][-3:]}",
            f"ending2:{words[-1][-2:]}", *both, f"second before:{before2}",
            f"second after:{after2}", "shape:" + re.sub(r"(.)\1+", r"\1\1", kinds),
            f"length:{length}", f"length:{length}|{before}",
            f"topic:{topic}", f"topic:{topic}|{before}", f"topic:{topic}||{after}",
            f"topic:{topic}|table:{table}", f"topic:{topic}|length:{length}",
            f"dated:{dated}", f"sentence:{min(number, 3)}", f"table:{table}",
            f"opens:{opens}", f"opens:{opens}|{table}|{topic}",
        ]  # fmt: skip
        around = dict.fromkeys(self.words(begin, first) + self.words(stop, end))
        telling = [w for w in around if w not in STOP_WORDS and not w.isdigit()]
        return place, [f"s:{word}" for word in telling], tag


def hashed(clues):
    return [zlib.crc32(clue.encode("utf-8", "surrogatepass")) for clue in clues]


def rows(clues):
    return [part.tolist() for part in np.split(clues.data, clues.indptr[1:-1])]


def assert_like_the_twin(texts, entities):
    """Compare every clue; the mentions must stand within sentences."""
    lexicon = lexicon_of([*texts, *documents(3)], entities)
    candidates = listed_candidates(texts, entities)
    found = Contexts.build(candidates, lexicon)
    twins = [Twin(text, lexicon) for text in texts]
    assert rows(found.document_clues) == [hashed(twin.document_clues()) for twin in twins]
    expected = [
        twin.mention_clues(mention)
        for twin in twins
        for mention in twin.text.mentions
        if mention.in_kb
    ]
    assert rows(found.place_clues) == [hashed(place) for place, _, _ in expected]
    assert rows(found.sentence_clues) == [hashed(sentence) for _, sentence, _ in expected]
    assert rows(found.tag_clues) == [hashed(tag) for _, _, tag in expected]


def test_clues_of_the_small_world():
    assert_like_the_twin(documents(4), world())


TOKENS = (
    "-", "(", ")", "In", "vs", "1996-08-22", "6-4", "17", "Orlan", "MECK", "the", "Élan", "U.S.",
    "", "日本", "a\ud800b", "\udcff", "naïve's", "x" * 40, "Old Town", "0", "²",
)  # fmt: skip


def any_document(seed: int) -> Document:
    """Tokens of all sorts, as other tokenizers may give them; names anywhere in a sentence."""
    rng = np.random.default_rng(seed)
    words = rng.choice(TOKENS, rng.integers(1, 40)).tolist()
    cuts = sorted({0, len(words), *rng.integers(0, len(words), 4).tolist()})
    sentences = tuple(itertools.pairwise(cuts))
    tokens, text = [], ""
    for word in words:
        tokens.append(Token(word, len(text), len(text) + len(word)))
        text += word + " "
    mentions = []
    for begin, end in sentences:
        first = int(rng.integers(begin, end))
        stop = int(rng.integers(first, end)) + 1
        span = tokens[first].start, tokens[stop - 1].end
        name = text[slice(*span)]
        mentions.append(Mention(*span, first, stop, name, "e100", None, None, ("e100",)))
    return Document(str(seed), text, tuple(tokens), sentences, tuple(mentions))


def test_clues_of_any_text():
    entities = entity_table(["Orlan", "Élan (play)"])
    assert_like_the_twin([any_document(seed) for seed in range(12)], entities)


def test_many_words_of_a_document_are_cut_off_by_alphabet():
    rng = np.random.default_rng(1)
    words = ["".join(rng.choice([*"abcdefgh"], 3)) for _ in range(400)]
    plain = [document(str(i), "nothing") for i in range(20)]
    long = document("long", "[Orlan|e100||e100] " + " ".join(words))
    assert len(set(words)) > 150
    assert_like_the_twin([*plain, long], entity_table(["Orlan"]))
