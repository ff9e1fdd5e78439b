"""How alike names are, feature by feature: by hand, and against a slow twin."""

import numpy as np
import pytest

from experiments.entity_tables import listed_candidates, table_facts
from sgtb.linking.entities.entity_facts import split_title
from sgtb.linking.features.contexts import Contexts
from sgtb.linking.features.groups.surface import NAMES, name_features
from sgtb.text.normalization import normal_phrase
from tests.helpers.linking_builders import document, documents, entity_table, lexicon_of, world


def compared(name: str, title: str, *others: str) -> dict[str, float]:
    """Compare a mention, in a document that has other names too, with a title."""
    entities = entity_table([title])
    more = " ".join(f"[{other}]" for other in others)
    text = document("1", f"[{name}|e100||e100] and {more} .")
    lexicon = lexicon_of([text], entities)
    candidates = listed_candidates([text], entities)
    contexts = Contexts.build(candidates, lexicon)
    features = name_features(
        candidates, contexts.names, contexts.full_names, table_facts(entities, lexicon)
    )
    assert features.shape == (1, len(NAMES))
    return dict(zip(NAMES, features[0].tolist(), strict=True))


EXAMPLES = [
    ("name_equal", "Orlan", "Orlan (city)", 1),
    ("name_equal", "ORLÁN", "Orlan (city)", 1),
    ("name_equal", "Orlan", "Orlan City", 0),
    ("title_equal", "Orlan", "Orlan (city)", 0),
    ("title_equal", "Orlan City", "Orlan (city)", 1),
    ("words_alike", "Anna Meck", "Anna Lee Meck", 2 / 3),
    ("words_alike", "Anna", "Meck", 0),
    ("letters_alike", "Anna", "Anna", 1),
    ("letters_alike", "Tarn", "Tarm", 2 * 2 / 8),  # " Ta", "Tar" of four each
    ("letters_alike", "Tarn", "Vessa", 0),
    ("words_within", "Anna Meck", "Meck Anna Lee", 1),
    ("words_within", "Anna Tarn", "Anna Meck", 0),
    ("starts_alike", "Orlan", "Orlan Rovers", 1),
    ("starts_alike", "Orla", "Orlan Rovers", 0),
    ("ends_alike", "Rovers", "Orlan Rovers", 1),
    ("ends_alike", "overs", "Orlan Rovers", 0),
    ("acronym", "ORF", "Orlan Red Foxes", 1),
    ("acronym", "O.R.F.", "Orlan Red Foxes", 1),
    ("acronym", "ORX", "Orlan Red Foxes", 0),
    ("name_within", "Lee", "Anna Lee Meck", 1),
    ("name_within", "Lee", "Anna Leeds", 0),
    ("same_beginning", "Vessish", "Vessa", 1),
    ("same_beginning", "Tarnish", "Vessa", 0),
]


@pytest.mark.parametrize(("feature", "name", "title", "value"), EXAMPLES)
def test_each_feature_on_an_example(feature, name, title, value):
    assert compared(name, title)[feature] == pytest.approx(value)


def test_a_short_name_is_also_compared_in_its_full_form():
    found = compared("Meck", "Anna Meck (singer)", "Anna Meck", "Meck Tarn", "Anna")
    assert (found["name_equal"], found["full_name_equal"]) == (0, 1)
    assert (found["title_equal"], found["full_title_equal"]) == (0, 0)
    assert (found["words_alike"], found["full_words_alike"]) == (0.5, 1)
    assert found["letters_alike"] < found["full_letters_alike"] == 1
    assert compared("Meck", "Anna Meck (singer)", "Anna Meck Singer")["full_title_equal"] == 1


def test_a_name_without_a_word_is_like_nothing():
    found = compared("...", "Orlan")
    assert found["letters_alike"] == found["words_alike"] == found["name_equal"] == 0


def naive(name: str, full: str, title: str) -> tuple[float, ...]:
    """The twin: strings compared as strings."""
    whole, title = normal_phrase(title), normal_phrase(split_title(title)[0])
    words, full_words, title_words = (frozenset(text.split()) for text in (name, full, title))
    initials = "".join(word[0] for word in title.split())
    return (
        title == name, whole == name, title == full, whole == full,
        overlap(words, title_words), overlap(full_words, title_words),
        dice(name, title), dice(full, title),
        words <= title_words,
        f"{title} ".startswith(f"{name} "), f" {title}".endswith(f" {name}"),
        initials == name.replace(" ", ""), f" {name} " in f" {title} ",
        title.startswith(name[:3]),
    )  # fmt: skip


def overlap(a: frozenset[str], b: frozenset[str]) -> float:
    common = len(a & b)
    return common / max(len(a) + len(b) - common, 1)


def dice(a: str, b: str) -> float:
    x, y = trigrams(a), trigrams(b)
    return 2 * len(x & y) / max(len(x) + len(y), 1)


def trigrams(name: str) -> frozenset[str]:
    padded = f" {name} "
    return frozenset(padded[i : i + 3] for i in range(len(padded) - 2))


def assert_like_the_twin(texts, entities):
    lexicon = lexicon_of(texts, entities)
    candidates = listed_candidates(texts, entities)
    contexts = Contexts.build(candidates, lexicon)
    facts = table_facts(entities, lexicon)
    found = name_features(candidates, contexts.names, contexts.full_names, facts)
    offsets = candidates.candidate_offsets
    expected = [
        naive(contexts.names[m], contexts.full_names[m], entities.titles[candidates.entity[c]])
        for m in range(len(candidates.mentions))
        for c in range(offsets[m], offsets[m + 1])
    ]
    expected = np.array(expected, np.float32).reshape(-1, len(NAMES))
    for name, column, twin in zip(NAMES, found.T, expected.T, strict=True):
        np.testing.assert_array_equal(column, twin, err_msg=name)
    return found


def random_names(seed):
    """Short names of few words, so that much of them is alike; some are of no word at all."""
    rng = np.random.default_rng(seed)
    words = ["ab", "abc", "abd", "ba", "b", "a", "Ünder", "Straße", "北京", "😀x", "...", "of"]

    def name(longest):
        return " ".join(rng.choice(words, rng.integers(1, longest + 1)))

    titles = [f"{name(3)} ({name(2)})" if i % 3 == 0 else name(4) for i in range(25)]
    entities = entity_table([*titles, "!!!", "(ab)", "ab ba"])
    texts = []
    for i in range(4):
        marks = []
        for _ in range(8):
            listed = ",".join(rng.choice(entities.ids, 9, replace=False))
            marks.append(f"[{name(3)}|e100||{listed}]")
        texts.append(document(str(i), " and ".join([*marks, "[AB|e100||e127] [...|e100||e125]"])))
    return texts, entities


@pytest.mark.parametrize("seed", range(4))
def test_against_the_twin(seed):
    assert_like_the_twin(*random_names(seed))


def test_against_the_twin_in_the_small_world():
    found = assert_like_the_twin(documents(8), world())
    missing = {name for name, column in zip(NAMES, found.T, strict=True) if not column.any()}
    assert missing == {"acronym"}


def test_nothing_to_compare():
    entities = entity_table(["Orlan"])
    texts = [document("1"), document("2", "[Orlan|e100||]")]
    assert assert_like_the_twin(texts, entities).shape == (0, len(NAMES))
