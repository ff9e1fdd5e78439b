"""Coarse type of a page: PER, ORG, LOC or MISC, by its infobox or else its categories."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache

from sgtb.wikipedia.dump.language_editions import without_sections

PER, ORG, LOC, MISC, UNKNOWN = "PER", "ORG", "LOC", "MISC", ""

_WORDS = {
    PER: """
    academic activist actor actress admiral adventurer alumni anthropologist architect archbishop
    artist astronaut astronomer athlete author aviator billiard-player biography bishop biologist
    blogger botanist boxer businessman businesspeople businessperson businesswoman cardinal
    caesar cartoonist character chef chemist choreographer clergy cleric coach comedian composer
    conductor congressman cosmonaut cricketer criminal critic curler cyclist dancer deity demigod
    designer diplomat director dramatist driver drummer economist editor emperor engineer
    entertainer entrepreneur essayist executive explorer faculty fighter filmmaker footballer
    general geologist god goddess golfer governor guitarist gymnast historian inventor jockey
    journalist judge killer king lawyer lexicographer linguist lyricist magician manager
    mathematician mayor men minister missionary model monarch monk murderer musician nobility
    noble novelist nun nurse officeholder official painter people person personality personnel
    pharaoh philanthropist philosopher photographer physician physicist pianist pilot pirate
    player playwright poet politician pope postmaster presenter president priest prince princess
    producer professor psychologist queen rabbi racer rapper referee rider royalty rower ruler
    sailor saint scholar scientist screenwriter sculptor senator sheriff singer skater skier
    sociologist soldier songwriter spy sportsman sportspeople sportsperson sportswoman statesman
    surgeon swimmer swimmer theologian theorist titleholder translator umpire violinist women
    wrestler writer youtuber zoologist
    biografi biografia biografía biographie biogram osoba persona persoon personnalité personne
    fußballspieler leichtathlet politiker radsportler schauspieler schriftsteller sportler sänger
    acteur chanteur cycliste footballeur joueur musicien peintre écrivain autoridad ciclista
    científico deportista escritor futbolista músico político tenista ator futebolista
    calciatore ciclista sportivo acteur politicus voetballer wielrenner aktor muzyk naukowiec
    piłkarz polityk sportowiec fotbollsspelare idrottare персона актёр военный_деятель музыкант
    писатель политик спортсмен учёный художник футболист人物 人物
    """,
    ORG: """
    academy agency airline alliance army association band bank battalion brigade broadcaster
    brewery bureau business charity choir club college committee company conglomerate congregation
    conference cooperative corporation council court denomination department diocese employer
    ensemble enterprise factory federation force foundation franchise fraternity government
    group gymnasium hospital institute institution label league legislature library magazine
    manufacturer military ministry mission-society museum navy network newspaper ngo
    orchestra order organisation organization parliament party police publisher quartet quintet
    regiment retailer school seminary society sorority squadron studio supermarket team trio
    think-tank union university
    organisasjon organisatie organización organizacja organização organizzazione organisationen
    fußballklub fußballverein hochschule partei unternehmen verein zeitung association entreprise
    parti société université clube empresa equipo partido sindicato universidad universidade
    azienda partito squadra bedrijf partij voetbalclub partia przedsiębiorstwo uczelnia företag
    организация компания партия вуз университет 会社 公司 企業
    """,
    LOC: """
    abbey airport aqueduct archipelago area arena attraction base basilica bay beach borough
    bridge building canal canton cape capital castle cathedral cave cemetery chapel church city
    city-state coast colony commune community constellation constituency continent country
    county crater creek dam department-of-france desert district emirate fjord forest fort
    fortress galaxy garden geobox glacier gulf hamlet harbor harbour headland hill
    hotel house installation island islet kingdom lake landform lighthouse location mall mansion
    mill mine monastery monument moon mosque motorway mountain municipality nation
    neighborhood neighbourhood ocean palace parish park peak peninsula place plaza planet plateau
    port prefecture prison province pyramid quarter railway range region republic reserve
    reservoir resort restaurant river road route ruin sea settlement shrine site skyscraper
    square stadium state station strait stream street structure subdivision suburb summit
    synagogue temple territory theater theatre tower town township track tunnel valley venue
    village volcano ward water waterfall wetland winery zoo
    bahnhof bauwerk berg burg fluss flughafen gebirge gebäude gemeinde gemeindeteil gewässer
    insel kirche landkreis ort ortsteil see stadion staat stadt stadtteil straße
    aéroport eau fleuve gare lac localité montagne municipalité pays quartier rivière ville île
    édifice aeropuerto ciudad edificio estadio isla localidad montaña municipio país río
    aeroporto cidade comune città divisione_amministrativa fiume isola lago monte stato ilha
    localidade município rio berg eiland gemeente land plaats rivier gmina góra jezioro miasto
    państwo powiat rzeka wieś wyspa kommun sjö tätort vattendrag город государство гора нп озеро
    остров река страна
    """,
    MISC: """
    accident act aircraft airliner album alphabet alloy animal animanga anime anthem attack
    automobile award battle beverage bird book bomb breed calendar camera campaign car cartoon
    case championship chemical chembox cocktail code comic competition composition compound
    computer condition conflict constitution console convention crash crime cultivar cup
    currency dance deal dinosaur disaster disease dish disorder document drink drug drugbox
    earthquake election element engine enzyme episode eruption essay event expedition
    family festival film firearm fish flag flood flower food format fruit fungus game gene genre
    genus grape gun holiday hurricane icon ideology incident insect instrument journal
    language law legislation letter locomotive mammal manga manuscript match medal medalist
    mineral missile mission motorcycle moth movie musical mythology newsletter novel novella
    olympics opera operation organism painting pathogen peoples phone plant play poem pogrom
    prize product programme program protein protest protocol race rebellion recurring referendum
    religion resolution ritual robot rocket satellite scandal script season series ship show
    single software song soundtrack spacecraft spaceflight species speciesbox speech sport
    standard statute storm story strike submarine supplement surname tank tax taxobox taxon
    technology television tournament train treaty trophy unit vaccine vehicle video videogame
    virus war weapon website wine work
    computerspiel fernsehsendung krankheit lied musikalbum schiff sprache wahl chanson jeu
    langue livre maladie série bateau canción enfermedad idioma libro película taxón videojuego
    álbum canção filme livro jogo lingua libro tassobox boek taal schip gra język książka okręt
    фильм альбом книга песня таксон язык корабль 映画 電影
    """,
}
"""Nouns in names of infoboxes and, in the plural, of categories. Underscores are spaces."""

_INFOBOXES: Mapping[str, str] = {
    "aircraft begin": MISC,
    "broadcast": ORG,
    "christian leader": PER,
    "classical composer": PER,
    "comics organization": ORG,
    "country at games": MISC,
    "criminal organization": ORG,
    "economy": MISC,
    "ethnic group": MISC,
    "family": MISC,
    "given name": UNKNOWN,
    "korean name": UNKNOWN,
    "chinese": UNKNOWN,
    "name module": UNKNOWN,
    "surname": UNKNOWN,
    "historic site": LOC,
    "law enforcement agency": ORG,
    "military unit": ORG,
    "nrhp": LOC,
    "performing group": ORG,
    "power station": LOC,
    "radio station": ORG,
    "rail service": MISC,
    "school district": ORG,
    "sportif": PER,
    "television channel": ORG,
    "television station": ORG,
    "tv channel": ORG,
    "un body": ORG,
    "world heritage": LOC,
    "australian road": LOC,
    "gaa club": ORG,
    "organismo": ORG,
}
"""Types by full infobox name, where the last known word would be misleading."""

_BARE: Mapping[str, str] = {
    "personendaten": PER,
    "bio": PER,
    "personnalité": PER,
    "azienda": ORG,
    "divisione amministrativa": LOC,
    "stato": LOC,
    "персона": PER,
    "учёный": PER,
    "писатель": PER,
    "музыкант": PER,
    "футболист": PER,
    "государственный деятель": PER,
    "военный деятель": PER,
    "компания": ORG,
    "нп": LOC,
    "нп-россия": LOC,
    "река": LOC,
    "озеро": LOC,
    "фильм": MISC,
    "альбом": MISC,
    "таксон": MISC,
}
"""Types by templates that are not called infobox."""

_STRONG_PERSON = re.compile(
    r"(?:ca\. )?(?:\d+(?:st|nd|rd|th)-century (?:BC )?|\d+s? (?:BC )?)(?:births|deaths)"
    r"|living people|year of (?:birth|death) (?:missing|unknown|uncertain).*"
    r"|(?:geboren|gestorben) (?:im )?\d.*|mann|frau|(?:naissance|décès) (?:en|à|au) .*"
    r"|(?:nacidos|fallecidos) en .*|(?:nascidos|mortos) em .*|(?:nati|morti) nel .*"
    r"|urodzeni w .*|zmarli w .*|(?:födda|avlidna) \d+|män|kvinnor|родившиеся .*|умершие .*"
    r"|персоналии по алфавиту|\d+年生|\d+年没|存命人物|在世人物|\d+年出生|\d+年逝世",
    re.IGNORECASE,
)
_UPKEEP = re.compile(
    r"(?i:(?:all )?(?:articles|pages|wikipedia|cs1|commons|use |webarchive|short description"
    r"|coordinates|good articles|featured|requests|accuracy|stubs|redirects|lists? of)"
    r"|.*\bstubs$)|.* by [a-z]"
)
"""Maintenance categories, and categories of categories ("Rivers by country")."""

_AFTER_HEAD = re.compile(
    r"\s+(?:\(|(?:in|of|from|by|at|on|for|to|with|near|about|based|established|disestablished|"
    r"founded|set|listed|formerly|described|directed|named|launched|published|completed|built|"
    r"killed|introduced|located|served|who|that|which|affiliated|involving|played|"
    r"du|de|des|del|della|di|do|da|dos|en|i|w|von|aus|im|à|au)\b)"
)
_TEMPLATE = re.compile(r"\{\{([^{}|\[\]<>]{2,100})")
_BOX = re.compile(
    r"(?:infobox|infobulle|ficha de|info/|faktamall|карточка|基礎情報|geobox)[\s:/_]*(.*)"
    r"|(.*?)\s*(?:infobox|-infobox|infotaula)"
)
_GROUP = re.compile(r"\|\s*background\s*=\s*(?:group_or_band|classical_ensemble)")
_LIST = re.compile(
    r"(?:lists?|index|outline) of |list[ea] (?:de|der|des|di|du) |liste d['’]|список ",
    re.IGNORECASE,
)
_PLURALS = frozenset("alumni faculty men people personnel women".split())
_MIN_VOTES = 2
_INFOBOX_HEAD = 2000  # characters of an infobox that are searched for its kind


def page_type(title: str, text: str, categories: Iterable[str]) -> str:
    """Return PER, ORG, LOC or MISC; "" if neither infobox nor categories decide."""
    if _LIST.match(title):
        return UNKNOWN
    names = list(categories)
    shown = without_sections(text, "<!--", "-->")
    for match in _TEMPLATE.finditer(shown):
        template = _folded(match[1])
        type_ = _infobox_type(template)
        if type_ == _MUSICIAN:
            if any(_STRONG_PERSON.fullmatch(name) for name in names):
                return PER
            group = _GROUP.search(shown, match.end(), match.end() + _INFOBOX_HEAD)
            return ORG if group or template.endswith(" band") else PER
        if type_:
            return type_
    return _category_type(title, names)


_MUSICIAN = "PER or ORG"
_TYPE_OF = {
    word.replace("_", " ").casefold(): type_
    for type_, words in _WORDS.items()
    for word in words.split()
}


def _folded(name: str) -> str:
    return " ".join(name.replace("_", " ").split()).casefold().removeprefix("template:")


@lru_cache(maxsize=1 << 14)
def _infobox_type(template: str) -> str:
    """Return the type by a template's case-folded name; "": unknown."""
    if template in _BARE:
        return _BARE[template]
    if template.endswith(("taxobox", "speciesbox", "chembox", "drugbox", "subspeciesbox")):
        return MISC
    box = _BOX.fullmatch(template)
    if box is None:
        return UNKNOWN
    if template.startswith("geobox"):
        return LOC
    name = (box[1] or box[2] or "").partition("/")[0].strip()
    if name in ("musical artist", "band", "artiste musical", "artista musical"):
        return _MUSICIAN
    if name in _INFOBOXES:
        return _INFOBOXES[name]
    words = re.findall(r"[^\W\d_]+(?:-[^\W\d_]+)*", name)
    for word in reversed(words):
        if (found := _word_type(word)) is not None:
            return found
    return UNKNOWN


def _category_type(title: str, categories: Iterable[str]) -> str:
    votes: Counter[str] = Counter()
    qualifier = re.search(r"([^\W\d_]+)\)$", title)  # "Heat (1995 film)"
    if qualifier is not None:
        votes[_word_type(qualifier[1].casefold()) or UNKNOWN] += _MIN_VOTES
    own = _stem(title)
    for category in categories:
        if _STRONG_PERSON.fullmatch(category):
            return PER
        if _stem(category) == own or _UPKEEP.match(category):
            continue  # the page's own category describes its members, not the page
        type_, weight = _vote(category)
        if type_:
            votes[type_] += weight
    del votes[UNKNOWN]
    best = max((PER, ORG, LOC, MISC), key=lambda type_: votes[type_])
    return best if votes[best] >= _MIN_VOTES and 2 * votes[best] > votes.total() else UNKNOWN


@lru_cache(maxsize=1 << 16)
def _vote(category: str) -> tuple[str, int]:
    """Return the type by a category's head noun, and its weight from 0 to 2.

    "Towns in Bavaria" and "1997 films" have instances as members, "Wind instruments" has kinds,
    and "Sustainable building" has topics.
    """
    after = _AFTER_HEAD.search(category)
    head = category[: after.start()] if after else category
    words = re.findall(r"[^\W_]+(?:-[^\W_]+)*", head.casefold())
    if not words:
        return UNKNOWN, 0
    type_ = _word_type(words[-1])
    if type_ is None:
        return UNKNOWN, 0
    named = after is not None and re.search(r"[A-Z\d]", category[after.end() :])
    single = bool(named) or re.match(r"\d{3,4}s? ", category) is not None
    plural = words[-1].endswith("s") or words[-1] in _PLURALS
    return type_, single + plural


@lru_cache(maxsize=1 << 14)
def _word_type(word: str) -> str | None:
    for form in (word, *_singulars(word)):
        if form in _TYPE_OF:
            return _TYPE_OF[form]
    # Other English professions: "accordionists", "dermatologists".
    if word.endswith(("ologists", "ologist", "ists")) and word != "lists":
        return PER
    return None


def _singulars(word: str) -> Iterable[str]:
    if word.endswith("ies"):
        yield word[:-3] + "y"
    if word.endswith("men"):
        yield word[:-3] + "man"
    if word.endswith("es"):
        yield word[:-2]
    if word.endswith("s"):
        yield word[:-1]


def _stem(name: str) -> str:
    return " ".join(word.rstrip("s") for word in name.casefold().split())
