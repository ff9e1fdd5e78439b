"""Coarse type of a page: PER, ORG, LOC or MISC, by infobox, categories or first sentence."""

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib.resources import files
from typing import Any

from sgtb.wikipedia.dump.language_editions import without_sections

PER, ORG, LOC, MISC, UNKNOWN = "PER", "ORG", "LOC", "MISC", ""
_TABLES: dict[str, Any] = tomllib.loads(
    files("sgtb.wikipedia.wikitext").joinpath("page_types.toml").read_text("utf-8")
)
_INFOBOXES: Mapping[str, str] = _TABLES["infoboxes"]
"""Types by full infobox name, where the last known word would be misleading."""
_BARE: Mapping[str, str] = _TABLES["templates"]  # types by templates that are not called infobox
_STRONG_PERSON = re.compile("|".join(_TABLES["person_categories"]), re.IGNORECASE)
_UPKEEP = re.compile("|".join(_TABLES["upkeep_categories"]))
_AFTER_HEAD = re.compile(rf"\s+(?:\(|(?:{'|'.join(_TABLES['after_head'].split())})\b)")
_IS = re.compile(
    r"\b(?:is|was|are|were|became)\s+(?:an?|the|one of (?:the|its)|(?:two|three|several|any) of)\b"
)
_AND = re.compile(r"[,;:.](?=\s|$)|\s(?:and|or)\s")
_PHRASES = 5
_NOTE = re.compile(r"\([^()]*\)")
_LIFE = re.compile(r"\([^()]*(?:\bborn\b|\d{3,4}\s*[–-][^()]*\d{3,4}\b)")
_MONTH = (
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December)"
)
_DATE = rf"(?:\d{{1,2}} {_MONTH}|{_MONTH} \d{{1,2}})(?:, | )\d{{3,4}}\b"
_DATES = re.compile(rf"{_DATE}[^()]{{0,40}}?\s?[–-]\s?(?:[^()\d]{{0,40}}){_DATE}")
_MIN_LIFE, _MAX_LIFE = 15, 110
"""Years between two days in brackets after a title; wars and reigns are mostly shorter."""
_BORN = re.compile(r"\(.{0,60}\bborn\b")
_HEAD_WORDS = 2
"""Last words of a noun phrase that may name its kind: "city", "football club", "club side"."""
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
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
_ENDINGS = (("", ""), ("ies", "y"), ("men", "man"), ("es", ""), ("s", ""))
"""Endings of plurals and of their singulars."""
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


def sentence_type(title: str, sentence: str) -> str:
    """Return PER, ORG, LOC or MISC by what a first sentence says that the page is about.

    "X is an American footballer who …" is a person. "" if no known noun decides.
    """
    if _LIST.match(title):
        return UNKNOWN
    qualifier = re.search(r"([^\W\d_]+)\)$", title)
    if qualifier is not None and (found := _word_type(qualifier[1])):
        return found
    said = _IS.search(plain := _NOTE.sub(" ", sentence))
    if said is not None:
        rest = plain[said.end() :]
        stop = _AFTER_HEAD.search(rest)
        phrases = _AND.split((rest[: stop.start()] if stop else rest).casefold())[:_PHRASES]
        types = [type_ for type_ in map(_phrase_type, phrases) if type_]
        if PER in types and _LIFE.search(sentence):  # "an American movie, stage and voice actor"
            return PER
        if types:
            return types[0]
    if _BORN.search(sentence) or _is_life(sentence):
        return PER
    bare = re.sub(r"\s*\([^()]*\)$", "", title).partition(", ")[0]
    return (_phrase_type(bare.casefold()) if " " in bare else None) or UNKNOWN


def _is_life(sentence: str) -> bool:
    """Return whether the first dates in brackets are those of a birth and a death."""
    found = _DATES.search(sentence)
    if found is None:
        return False
    years = [int(year) for year in re.findall(r"\d{3,4}", found[0])]
    return _MIN_LIFE <= years[-1] - years[0] <= _MAX_LIFE


def _phrase_type(phrase: str) -> str | None:
    """Return the type by the head noun of a phrase; None: unknown."""
    words = _WORD.findall(phrase)[-_HEAD_WORDS:]
    if (known := " ".join(words)) in _INFOBOXES:
        return _INFOBOXES[known]
    found = (
        _word_type(part) for word in reversed(words) for part in (word, word.rpartition("-")[2])
    )
    return next((type_ for type_ in found if type_ is not None), None)


_MUSICIAN = "PER or ORG"
_TYPE_OF: dict[str, str] = {
    word.replace("_", " ").casefold(): type_
    for type_, words in _TABLES["words"].items()
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
    types = map(_word_type, reversed(_WORD.findall(name)))
    return next((type_ for type_ in types if type_ is not None), UNKNOWN)


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
    type_ = _word_type(words[-1]) if words else None
    if type_ is None:
        return UNKNOWN, 0
    named = after is not None and re.search(r"[A-Z\d]", category[after.end() :])
    single = bool(named) or re.match(r"\d{3,4}s? ", category) is not None
    plural = words[-1].endswith("s") or words[-1] in _PLURALS
    return type_, single + plural


@lru_cache(maxsize=1 << 14)
def _word_type(word: str) -> str | None:
    for plural, singular in _ENDINGS:
        form = word.removesuffix(plural) + singular
        if word.endswith(plural) and form in _TYPE_OF:
            return _TYPE_OF[form]
    # Other English professions: "accordionists", "dermatologists".
    if word.endswith(("ologists", "ologist", "ists")) and word != "lists":
        return PER
    return None


def _stem(name: str) -> str:
    return " ".join(word.rstrip("s") for word in name.casefold().split())
