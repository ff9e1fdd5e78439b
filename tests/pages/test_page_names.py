"""Names, types and descriptions of pages, by titles and first sentences."""

import pytest

from sgtb.pages.cased_text import CasedWords
from sgtb.pages.page_lines import short_names
from sgtb.pages.page_names import page_facts
from sgtb.wikipedia.wikitext.page_types import sentence_type

CASES = [
    ("Orlan", "Orlan is a city.", ["Orlan"]),
    ("Orlan (film)", "Orlan is a film.", ["Orlan (film)", "Orlan"]),
    ("Orlan, Ohio", "Orlan is a town in Ohio.", ["Orlan, Ohio", "Orlan"]),
    ("Ada, Queen of Orlan", "Ada was a queen.", ["Ada, Queen of Orlan", "Ada"]),
    ("Heartburn", "Heartburn, also called pyrosis or acid reflux, is a burning pain.",
     ["Heartburn", "pyrosis", "acid reflux"]),
    ("Orlan Union", "The Orlan Union (OU) is a party. It is also known as the Blues or Old Party.",
     ["Orlan Union", "OU", "Blues", "Old Party"]),
    ("Orlan Union", "The Orlan Union (OU), formerly the People's League, is a party.",
     ["Orlan Union", "People's League", "OU"]),
    ("OTO", "The Orlan Trade Organization (OTO) is a club.",
     ["OTO", "Orlan Trade Organization"]),
    ("Ann Lee", 'Joanna "Ann" Lee (born Joanna Moss; 3 May 1950) is a singer.',
     ["Ann Lee", 'Joanna "Ann" Lee', "Joanna Lee", "Joanna Moss"]),
    ("Zico", "Artur Antunes do Campo, better known as Zico, is a footballer.",
     ["Zico", "Artur Antunes do Campo"]),
    ("Ajo FC", "Ajo Football Club (Ajo Town, Ajo FC, or simply Ajo) is a club.",
     ["Ajo FC", "Ajo Football Club", "Ajo Town", "Ajo"]),
    ("Kalk", "Kalk (spelled Calc before 1 January 2001) is a city.", ["Kalk", "Calc"]),
    ("Köl", "Köl (German: Koeln) is a city.", ["Köl", "Koeln"]),
    ("Rocket Skates", "**Rocket Skates** or **Jet Shoes** are shoes.",
     ["Rocket Skates", "Jet Shoes"]),
    ("Race in Orlan", "A series of races took place in 1990.", ["Race in Orlan"]),
    ("Race in Orlan", "Recent studies confirm that a race is a risk.", ["Race in Orlan"]),
    ("In Town", "In mathematics, an in town is a number.", ["In Town", "in town"]),
    ("Economy of Orlan", "Orlan has a large economy.", ["Economy of Orlan"]),
    ("NATO", "The Orlan Pact (NATO; French: , or OTAN) is a pact.", ["NATO", "Orlan Pact", "OTAN"]),
    ("Dovel", "The Dovel (Hindi: [x] or Mehran (old); also the Ran) is a river.",
     ["Dovel", "Mehran", "Ran"]),
    ("Blitz", "Blitz (German, literally fast war or flash war) is a doctrine.", ["Blitz"]),
    ("Bey", "Bey is a city. It is also called by its French name.", ["Bey"]),
    ("Ann Lee", "Ann Lee (born Orlan, 3 May 1950) is a singer.", ["Ann Lee"]),
    ("Ann Lee", "Ann Lee (born Mont Orlan, 1850; died Vessa, 1900) was a singer.", ["Ann Lee"]),
    ("Ann Lee", 'Sir Nicholas "Ann" Orlan Lee was a singer.\nAnn Lee sang (AL).',
     ["Ann Lee", 'Sir Nicholas "Ann" Orlan Lee', "Sir Nicholas Orlan Lee"]),
    ("Deep", f"Deep {'(' * 500}x{')' * 500} is a city.", ["Deep"]),
    ("Empty", "", ["Empty"]),
]  # fmt: skip


@pytest.mark.parametrize(("title", "text", "names"), CASES)
def test_names(title, text, names):
    assert sorted(page_facts(title, text).names) == sorted(names)


@pytest.mark.parametrize(
    ("text", "type"),
    [
        ("Ann Lee (3 May 1850 – 4 June 1901) led a revolt.", "PER"),
        ("The Orlan revolt (3 May 1850 – 4 June 1851) ended badly.", ""),
        ("Ann Lee is known for Orlan. She was born there.", "PER"),
        ("Ann Lee is known for speed. She was launched in 1900.", ""),
        ("Ann Lee is a singer-songwriter.", "PER"),
    ],
)
def test_persons_by_dates_and_pronouns(text, type):
    assert page_facts("Ann Lee", text).type == type


def test_the_description_is_the_first_sentence_about_the_title():
    text = "Political movement\nThe Orlan idea is a movement. It is old.\nMore."
    assert page_facts("Orlan idea", text).description == "The Orlan idea is a movement."
    assert page_facts("Orlan", "Some note\nA city. B.").description == "A city."


@pytest.mark.parametrize(
    ("text", "lists"),
    [
        ("Orlan may refer to:\nOrlan (film)", True),
        ("Orlan can mean:", True),
        ("Orlan is a city. It may refer to more.", False),
        ("The word is old: it is a city.", False),
    ],
)
def test_pages_that_list_others(text, lists):
    assert page_facts("Orlan", text).lists is lists
    assert page_facts("Orlan (disambiguation)", text).lists


@pytest.mark.parametrize(
    ("title", "sentence", "type"),
    [
        ("Ann Lee", "Ann Lee is an American footballer who plays for Orlan.", "PER"),
        ("Ann Lee", "Ann Lee (1900 – 1970) was an American movie, voice, and stage actor.", "PER"),
        ("Ann Lee", "Ann Lee (born 1950) was known for nothing.", "PER"),
        ("Orlan", "Orlan is the capital and largest city of the Republic.", "LOC"),
        ("Orlan", "Orlan is a football club based in a city.", "ORG"),
        ("ORL", "ORL is a radio station licensed to Orlan.", "ORG"),
        ("Union", "The Union is an alliance between countries.", "ORG"),
        ("Orlan (film)", "Nothing is known.", "MISC"),
        ("Party (United States)", "The Party is a party.", "ORG"),
        ("Orlan River", "It flows.", "LOC"),
        ("Orlan", "It flows.", ""),
        ("List of rivers", "This is a list of rivers.", ""),
    ],
)
def test_types_by_the_first_sentence(title, sentence, type):
    assert sentence_type(title, sentence) == type


@pytest.mark.parametrize(
    ("title", "type", "text", "short"),
    [
        ("Ann Lee", "PER", "Ann Lee is a singer. Lee sings.", ["Lee"]),
        ("Ann Lee", "PER", "Ann Lee is a singer. Ann sings with Peter Lee and Lee Moss.", []),
        ("Orlan Rovers F.C.", "ORG", "Orlan Rovers won. They are Orlan Rovers.", ["Orlan Rovers"]),
        ("Orlan Company", "ORG", "The Company. The Company sells. It is a company .", []),
        ("Economy of the Orlan", "", "It is in Orlan.", []),
        ("Republic of Orlan", "LOC", "It is in Orlan.", ["Orlan"]),
        ("London Stan Airport", "LOC", "It is near Stan, in London Town.", ["Stan"]),
    ],
)
def test_short_forms_that_the_text_uses_alone(title, type, text, short):
    assert short_names(title, type, CasedWords().line(text) + "\n") == short
