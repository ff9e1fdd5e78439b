"""Names: how alike a mention and a title are."""

from functools import lru_cache

import numpy as np

from sgtb.learn.dtypes import Floats
from sgtb.linking.choices import Choices
from sgtb.linking.contexts import Contexts
from sgtb.linking.facts import EntityFacts

NAMES = (
    "name_equal", "title_equal", "full_name_equal", "full_title_equal", "words_alike",
    "full_words_alike", "letters_alike", "full_letters_alike", "words_within", "starts_alike",
    "ends_alike", "acronym", "name_within", "same_beginning",
)  # fmt: skip


def name_features(choices: Choices, contexts: Contexts, facts: EntityFacts) -> Floats:
    """Compare every mention with the titles of its candidates: f4[C, len(NAMES)]."""
    out = np.zeros((choices.n_candidates, len(NAMES)), np.float32)
    known: dict[tuple[str, str, int], tuple[float, ...]] = {}
    offsets, entity = choices.candidate_offsets.tolist(), choices.entity.tolist()
    for m, (name, full) in enumerate(zip(contexts.names, contexts.full_names, strict=True)):
        for c in range(offsets[m], offsets[m + 1]):
            key = (name, full, entity[c])
            if key not in known:
                e = entity[c]
                known[key] = _compare(name, full, facts.name[e], facts.full_name[e])
            out[c] = known[key]
    return out


def _compare(name: str, full: str, title: str, whole_title: str) -> tuple[float, ...]:
    words, full_words, title_words = _words(name), _words(full), _words(title)
    initials = "".join(word[0] for word in title.split())
    return (
        title == name, whole_title == name, title == full, whole_title == full,
        _overlap(words, title_words), _overlap(full_words, title_words),
        _dice(name, title), _dice(full, title),
        words <= title_words,
        f"{title} ".startswith(f"{name} "), f" {title}".endswith(f" {name}"),
        initials == name.replace(" ", ""), f" {name} " in f" {title} ",
        title.startswith(name[:3]),
    )  # fmt: skip


@lru_cache(maxsize=1 << 17)
def _words(name: str) -> frozenset[str]:
    return frozenset(name.split())


@lru_cache(maxsize=1 << 17)
def _trigrams(name: str) -> frozenset[str]:
    padded = f" {name} "
    return frozenset(padded[i : i + 3] for i in range(len(padded) - 2))


def _overlap(a: frozenset[str], b: frozenset[str]) -> float:
    common = len(a & b)
    return common / max(len(a) + len(b) - common, 1)


def _dice(a: str, b: str) -> float:
    x, y = _trigrams(a), _trigrams(b)
    return 2 * len(x & y) / max(len(x) + len(y), 1)
