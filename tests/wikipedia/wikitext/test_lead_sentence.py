"""The first sentence of articles, and the names in it."""

import pytest

from sgtb.wikipedia.wikitext.markup import MAX_DESCRIPTION, Lead, extract, lead


def lead_of(wikitext: str) -> Lead:
    return lead(extract(wikitext, frozenset({"file"})))


@pytest.mark.parametrize(
    ("wikitext", "description", "names"),
    [
        ("", "", ()),
        ("'''Alva''' is a river. '''Not''' so.", "Alva is a river.", ("Alva",)),
        (
            "''For others see [[Kell]].''\n\n'''Jo R. R. Kell Jr.''' ('''JK'''; b. 12. Mai 1900 in "
            "St. Alva, c. 5 km off) was a U.S. '''poet'''. She wrote.",
            "Jo R. R. Kell Jr. (JK; b. 12. Mai 1900 in St. Alva, c. 5 km off) was a U.S. poet.",
            ("Jo R. R. Kell Jr.", "JK", "poet"),
        ),
        ("'''X''' (Greek: y. Z) is e.g. an ant.", "X (Greek: y. Z) is e.g. an ant.", ("X",)),
        ("'''東京'''は日本の首都。大きい。", "東京は日本の首都。", ("東京",)),
        ("{|\n|'''Cell'''\n|}\nHi", "Cell", ()),
        ("== Head ==\nA text that has no stop but is long enough to be one", None, ()),
        ("'''Ask!''' is it. Yes.", "Ask! is it.", ("Ask!",)),
        ("'''?''' is a film. It is.", "? is a film.", ("?",)),
        ("'''What? No.''' Is a film. It is.", "What? No. Is a film.", ("What? No.",)),
        (
            "'''Alva''' (, , also '''Alwa''' ; ) is () wide.",
            "Alva (also Alwa) is wide.",
            ("Alva", "Alwa"),
        ),
        ("'''Alva'''   is\n'''  wide ''' here.", "Alva is wide here.", ("Alva", "wide")),
    ],
)
def test_leads(wikitext, description, names):
    found = lead_of(wikitext)
    if description is not None:
        assert found.description == description
    assert found.names == names


def test_long_sentences_are_cut_at_a_word():
    found = lead_of("'''Alva''' is " + "very " * 100 + "long.")
    assert len(found.description) <= MAX_DESCRIPTION
    assert found.description.endswith("very…")
    assert len(lead_of("x" * 3000).description) == MAX_DESCRIPTION
