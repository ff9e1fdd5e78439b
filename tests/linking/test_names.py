"""How alike names are, feature by feature."""

import pytest

from sgtb.linking.choices import listed_choices
from sgtb.linking.contexts import Contexts
from sgtb.linking.facts import EntityFacts
from sgtb.linking.names import NAMES, name_features
from tests.linking.builders import document, entity_table, lexicon_of


def compared(name: str, title: str, *others: str) -> dict[str, float]:
    """Compare a mention, in a document that has other names too, with a title."""
    entities = entity_table([title])
    more = " ".join(f"[{other}]" for other in others)
    text = document("1", f"[{name}|e100||e100] and {more} .")
    lexicon = lexicon_of([text], entities)
    choices = listed_choices([text], entities)
    features = name_features(
        choices, Contexts.build(choices, lexicon), EntityFacts.build(entities, lexicon)
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
