import re
import time

import pytest

from sgtb.wikipedia.dump.dump_reader import map_chunks, open_dump
from sgtb.wikipedia.wikitext.page_types import page_type
from tests.conftest import part
from tests.helpers.chunk_functions import keep

BY_INFOBOX = {
    "PER": """
    Infobox person|infobox_officeholder|Infobox football biography|Infobox military person
    Infobox writer|Infobox royalty|Infobox NFL biography|Infobox comics character|Infobox deity
    Infobox cricketer|Infobox criminal|Infobox classical composer|Template:Infobox saint
    Infobox Fußballspieler|Personendaten|Infobox Biographie2|Infobox Personnalité politique
    Ficha de persona|Ficha de futbolista|Info/Biografia|Biogram infobox|Bio|Персона|Учёный
    """,
    "ORG": """
    Infobox company|Infobox organization|Infobox football club|Infobox university|Infobox school
    Infobox political party|Infobox military unit|Infobox national military|Infobox airline
    Infobox government agency|Infobox legislature|Infobox newspaper|Infobox radio station
    Infobox record label|Infobox sports league|Infobox school district|Infobox hospital
    Infobox Unternehmen|Infobox Société|Ficha de organización|Info/Empresa|Azienda|Компания
    """,
    "LOC": """
    Infobox settlement|Infobox country|Infobox U.S. state|Infobox UK place|Infobox river
    Infobox mountain|Infobox body of water|Infobox islands|Infobox station|Infobox airport
    Infobox bridge|Infobox stadium|Infobox province or territory of Canada|Infobox NRHP
    Infobox protected area|Infobox church|Infobox road|Infobox former country|Geobox
    Infobox Gemeinde in Deutschland|Infobox Fluss|Infobox Commune de France|Infobox Cours d'eau
    Ficha de localidad|Info/Cidade|Divisione amministrativa|НП
    """,
    "MISC": """
    Infobox film|Infobox album|Infobox song|Infobox book|Infobox television|Infobox video game
    Infobox military conflict|Infobox election|Infobox language|Infobox award|Infobox ship begin
    Infobox aircraft type|Infobox spaceflight|Infobox spaceflight/IP|Infobox football club season
    Infobox country at games|Infobox ethnic group|Infobox animanga/Header|Infobox disease
    Taxobox|Speciesbox|Automatic taxobox|Chembox|Drugbox|Infobox software
    Infobox Film|Ficha de película|Infobox Musikalbum|Фильм
    """,
    "": """
    Infobox Korean name|Infobox|Infobox given name|cite web|Person|Film|company|Infobox zzz|Main
    """,
}
INFOBOXES = [
    (name.strip(), expected)
    for expected, names in BY_INFOBOX.items()
    for name in names.replace("\n", "|").split("|")
    if name.strip()
]


@pytest.mark.parametrize(("name", "expected"), INFOBOXES)
def test_infoboxes(name, expected):
    assert page_type("X", f"text {{{{{name}\n| name = X\n}}}} text", []) == expected


BY_CATEGORY = {
    "PER": [
        ["1809 births"],
        ["Living people", "Companies based in Leeds", "Films about X"],
        ["384 BC deaths"],
        ["Year of birth missing (living people)"],
        ["Geboren 1950"],
        ["Mann"],
        ["Naissance en mai 1950"],
        ["Nacidos en 1950"],
        ["Urodzeni w 1950"],
        ["Födda 1950"],
        ["Родившиеся в 1950 году"],
        ["People from Texas"],
        ["American novelists", "English poets"],
        ["Kings of the Myrmidons", "Characters in the Iliad"],
        ["Alumni of Balliol College, Oxford"],
    ],
    "ORG": [
        ["Companies based in Leeds"],
        ["Football clubs in Eritrea"],
        ["Universities and colleges in Kerala"],
        ["Musical groups established in 1992", "1992 establishments in Korea"],
        ["Political parties in France"],
    ],
    "LOC": [
        ["Cities in France"],
        ["Villages in Masovian Voivodeship"],
        ["Rivers of Germany"],
        ["Countries in Africa", "Member states of the African Union"],
        ["Populated places established in 1819"],
        ["Oceans", "Landforms of the Atlantic Ocean"],
        ["Towns in Bavaria", "1250 establishments"],
    ],
    "MISC": [
        ["1997 films"],
        ["Films directed by Ventura Pons", "Spanish films"],
        ["1945 novels", "English novels"],
        ["1986 albums"],
        ["Wars of independence", "1770s conflicts"],
        ["Birds of Africa", "Animals described in 1766"],
    ],
    "": [
        [],
        ["Political ideologies", "Anarchism"],
        ["Articles containing video clips", "All articles with dead links"],
        ["Wikipedia articles with people stubs"],
        ["Ranchers", "Agriculture"],
        ["Sustainable building", "Adobe buildings and structures"],
        ["Buildings and structures by construction material", "Rivers by country"],
        ["Films of Germany", "Rivers of Germany"],
    ],
}
CATEGORIES = [(one, expected) for expected, all_ in BY_CATEGORY.items() for one in all_]


@pytest.mark.parametrize(("categories", "expected"), CATEGORIES)
def test_categories(categories, expected):
    assert page_type("X", "", categories) == expected


def test_the_infobox_comes_first():
    assert page_type("X", "{{Infobox company}}", ["1809 births"]) == "ORG"
    assert page_type("X", "{{Infobox Korean name}} {{Infobox film}}", ["1809 births"]) == "MISC"
    assert page_type("X", "<!-- {{Infobox company}} -->", ["1809 births"]) == "PER"


def test_musical_artists_are_people_or_groups():
    box = "{{Infobox musical artist\n| name = X\n| background = %s\n}}"
    assert page_type("X", box % "group_or_band", []) == "ORG"
    assert page_type("X", box % "solo_singer", []) == "PER"
    assert page_type("X", "{{Infobox band}}", ["Musical quartets"]) == "ORG"
    assert page_type("X", "{{Infobox band}}", ["1971 births"]) == "PER"


def test_the_title_may_tell():
    assert page_type("Heat (1995 film)", "", []) == "MISC"
    assert page_type("Cork (city)", "", []) == "LOC"
    assert page_type("Genesis (band)", "", []) == "ORG"
    assert page_type("Pelé (footballer)", "", []) == "PER"
    assert page_type("Mercury (element)", "", ["Rivers of Germany", "Towns in Bavaria"]) == "LOC"
    assert page_type("X (Y)", "", []) == ""


def test_lists_and_kinds_have_no_type():
    assert page_type("List of French people", "", ["French people from Paris"]) == ""
    assert page_type("Astronomer", "", ["Astronomers", "Astronomers"]) == ""
    assert page_type("Prime Minister of France", "", ["Prime Ministers of France"]) == ""


@pytest.mark.parametrize("piece", ["{{", "{{Infobox ", "{{infobox|", "<!--", "{{Infobox a a a "])
def test_time_is_linear_in_the_text(piece):
    start = time.process_time()
    page_type("A", piece * (1_000_000 // len(piece)), [])
    assert time.process_time() - start < 20


def test_real_pages(data):
    folder = part(data, "dumps")
    names = (
        "enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2",
        "enwik8-prefix.xml.bz2",
    )
    dumps = [open_dump(folder / name) for name in names]
    site = dumps[0].site
    found = set()
    for outcome in map_chunks(dumps, keep):
        for page in outcome.result:
            if page.redirect is not None:
                continue
            links = re.findall(r"\[\[([^\[\]|]*)", page.text)
            categories = [name for link in links if (name := site.category(link)) is not None]
            type_ = page_type(page.title, page.text, categories)
            found.add(type_)
            if re.search(r"\|(?: \d+ births|Living people)\|", "|".join(["", *categories, ""])):
                assert type_ == "PER", page.title
            if any(re.match(r"(?:Countries|Cities|Rivers) (?:in|of) ", c) for c in categories):
                assert type_ in ("LOC", ""), page.title
    assert found == {"PER", "ORG", "LOC", "MISC", ""}
