"""Name variants: other forms of an entity's names, made by rules for its type.

A knowledge base keeps them as names of a source of their own, which counts less in the prior.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

from sgtb.core.byte_cache import ByteCache
from sgtb.core.errors import KnowledgeBaseError
from sgtb.kb.layout import MAX_KEY
from sgtb.text.normalization import name_table, normal_name

_ORIGIN = "variant_rules"
VARIANT = "variant"  # the source of variants
WEIGHT = 0.1  # weight of that source in the prior; other sources have 1
MAX_VARIANTS = 64  # variants of one entity, and of one name by one rule
MAX_NAMES = 256  # names of one entity from which variants are made

Make = Callable[[str], Iterable[str]]


class Rule(NamedTuple):
    """A rule: from a name to its variants."""

    name: str
    types: frozenset[str]  # types of entities; "" is the unknown type
    make: Make
    first: bool = False  # whether other rules apply to its variants, too


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SMALL = _words("a an and at by for from in of on or the to with de del der des di du la le und y")
_PARTICLES = _words(
    "af al bin da dal de del della der den di dos du el ibn la le ten ter van von zu"
)
TITLES = _words(
    "dr mr mrs ms prof professor sir dame lord lady rev reverend fr father sister st saint "
    "president king queen prince princess pope general gen colonel col captain capt "
    "lieutenant lt major maj sergeant sgt senator sen governor gov judge justice hon "
    "honourable honorable"
)
_GENERATIONS = _words("jr sr junior senior ii iii iv v phd md esq obe mbe cbe kbe")
_LEGAL = _words(
    "inc incorporated corp corporation co company ltd limited llc llp lp plc gmbh ag kg kgaa se "
    "sa sas sarl nv bv spa srl ab as asa oy oyj pty pte kk holdings holding group"
)
_ROMAN = {
    roman: str(number)
    for number, roman in enumerate(
        "i ii iii iv v vi vii viii ix x xi xii xiii xiv xv xvi xvii xviii xix xx".split(), 1
    )
}
_ARABIC = {number: roman for roman, number in _ROMAN.items()}
_NUMERALS = frozenset([*_ARABIC, *map(str.upper, _ROMAN), *(r for r in _ROMAN if len(r) > 1)])
"""Words that are numerals; "i" and "v" in lower case are not."""
# British and American forms of parts of words: "|" is the beginning of a word, or its end with or
# without -s or -d; "-" is the middle of a word.
_SPELLINGS = [
    pair.split("=")
    for pair in (
        "tumour=tumor colour|=color| labour|=labor| harbour=harbor neighbour=neighbor "
        "honour|=honor| behaviour=behavior favour=favor armour=armor centre=center "
        "theatre=theater fibre=fiber litre|=liter| metre|=meter| defence=defense licence=license "
        "|programme|=|program| grey=gray anaemi=anemi leukaemi=leukemi |haem=|hem oedema=edema "
        "oesoph=esoph orthopaed=orthoped |paed=|ped foetal=fetal foetus=fetus diarrhoea=diarrhea "
        "gynaec=gynec caesar=cesar coeliac=celiac -isation=-ization -ise|=-ize| -yse|=-yze| "
        "aluminium=aluminum jewellery=jewelry travelle=travele travelling=traveling "
        "catalogue|=catalog| dialogue|=dialog| mould|=mold| plough=plow sulph=sulf "
        "|tyre|=|tire| |ageing|=|aging|"
    ).split()
]
_LATIN = re.compile(r"[A-Za-z]{2}")
_LETTERS_FIRST = re.compile(r"[^\W\d_][^\s-]*")
_NO_ACRONYM = re.compile(r"[,(\[]|\s[A-Z]\.\s|^Lists? of ")
_BRACKET = re.compile(r"\s*[(\[][^()\[\]]*[)\]]")
_QUOTED = re.compile(r"\s*(?<!\w)[\"“„«']([^\"“”„«»']{2,40})[\"”“»'](?!\w)\s*(?=\S)")
_PLACE_KINDS = (
    "county parish borough township province district region prefecture municipality oblast "
    "governorate department state city town village metropolitan-area"
).split()
_KIND_LAST = re.compile(rf"(.+) (?:{'|'.join(_PLACE_KINDS)})$", re.IGNORECASE)
_KIND_FIRST = re.compile(
    rf"(?:the )?(?:{'|'.join(_PLACE_KINDS)}|republic|kingdom|commonwealth)(?: of)? (.+)$",
    re.IGNORECASE,
)
_INSTITUTIONS = _words("University Institute College Academy Museum Bank Ministry")
_SAINTS = {
    "saint": "St.",
    "st": "Saint",
    "mount": "Mt.",
    "mt": "Mount",
    "fort": "Ft.",
    "ft": "Fort",
}


def _bare(word: str) -> str:
    return word.strip(".,").lower()


# Rules that seldom apply are plain functions: a generator for each name would take more time.


def _without_brackets(name: str) -> Sequence[str]:
    return (_BRACKET.sub("", name),) if "(" in name or "[" in name else ()


def _without_article(name: str) -> Sequence[str]:
    return (name[4:],) if name[:4].lower() == "the " else ()


def _without_ends(first: frozenset[str], last: frozenset[str]) -> Make:
    """Return a rule that removes words at the beginning and at the end of a name."""

    def make(name: str) -> Iterator[str]:
        words = name.split()
        begin, end = 0, len(words)
        while end - begin > 1 and _bare(words[begin]) in first:
            begin += 1
            yield " ".join(words[begin:])
        while end - begin > 1 and _bare(words[end - 1]) in last:
            end -= 1
            yield " ".join(words[begin:end])

    return make


def _turned(name: str) -> Sequence[str]:
    """Return the natural word order: "Dystrophy, Muscular" is "Muscular Dystrophy"."""
    parts = [part.strip() for part in name.split(",")] if "," in name else []
    if not 2 <= len(parts) <= 4 or not all(parts) or _bare(parts[-1]) in _GENERATIONS:
        return ()
    turned = " ".join(reversed(parts))
    return (turned, " ".join([*parts[1:], parts[0]])) if len(parts) > 2 else (turned,)


def _before_comma(name: str) -> Sequence[str]:
    return (name.partition(",")[0],) if "," in name else ()


def _person(name: str) -> Iterator[str]:
    """Yield surname, given name, and forms with initials."""
    words = name.split()
    if len(words) < 2 or any(not word[0].isalpha() for word in words) or "," in name:
        return
    if _bare(words[0]) in TITLES | {"the"} or _bare(words[-1]) in _GENERATIONS:
        return  # the name without them is among the names, too
    if not {"of", "the"}.isdisjoint(words):  # Joan of Arc, Ivan the Terrible: no surname
        yield words[0]
        return
    last = len(words) - 1
    begin = last
    while begin > 1 and words[begin - 1].lower() in _PARTICLES:
        begin -= 1
    surname = " ".join(words[begin:])
    yield surname
    if begin < last:
        yield words[last]
    given = words[:begin]
    if len(given[0].strip(".")) > 1:
        yield given[0]
        yield f"{given[0][0]}. {surname}"
    if len(given) > 1:
        yield f"{given[0]} {surname}"
        initials = [f"{word[0]}." for word in given]
        yield from (f"{space.join(initials)} {surname}" for space in (" ", ""))
        yield f"{given[0]} " + " ".join(f"{word[0]}." for word in given[1:]) + f" {surname}"


def _without_quotes(name: str) -> Iterator[str]:
    """Yield a name without its nickname, and the nickname with the surname."""
    for found in () if name.isalpha() else _QUOTED.finditer(name):
        rest = f"{name[: found.start()]} {name[found.end() :]}".strip()
        yield from (rest, found[1], f"{found[1]} {rest.split()[-1]}")


def _acronym(name: str) -> Sequence[str]:
    """Return the initials of three words or more, with and without those of small words.

    A name with an initial is a person's, and one with brackets has a variant without them.
    """
    whole_name = name.count(" ") >= 2 and not _NO_ACRONYM.search(name)
    words = _LETTERS_FIRST.findall(name) if whole_name else []
    large = [word for word in words if word.lower() not in _SMALL]
    if not 3 <= len(large) <= 7:
        return ()
    whole = len(words) > len(large) and words[0] in large
    return (_initials(large), _initials(words)) if whole else (_initials(large),)


def _initials(words: Sequence[str]) -> str:
    numerals = (word.isupper() and word.lower() in _ROMAN for word in words)
    pairs = zip(words, numerals, strict=True)
    return "".join(word if whole else word[0] for word, whole in pairs).upper()


def _university(name: str) -> Sequence[str]:
    """Return "University of X" for "X University", and the reverse."""
    (first, of, rest), (before, _, last) = name.partition(" of "), name.rpartition(" ")
    found = []
    if of and first in _INSTITUTIONS:
        found.append(f"{rest.removeprefix('the ')} {first}")
    if before and last in _INSTITUTIONS and not (found and last == first):
        found.append(f"{last} of {before}")
    return found


def _and(name: str) -> Sequence[str]:
    if "&" in name:
        return (name.replace("&", " and "),)
    return (name.replace(" and ", " & "),) if " and " in name else ()


def _of(name: str) -> Sequence[str]:
    """Return "Breast Cancer" for "Cancer of the Breast"."""
    parts = re.split(r" of (?:the )?", name) if " of " in name and "," not in name else ()
    return (f"{parts[1]} {parts[0]}",) if len(parts) == 2 else ()


def _number(name: str) -> Iterator[str]:
    """Yield the last word in singular or plural."""
    last = name.rpartition(" ")[2]
    if len(last) < 4 or not last.isalpha() or last.isupper() or "," in name:
        return
    if name.endswith("ies"):
        yield f"{name[:-3]}y"
    elif name.endswith(("sses", "uses", "xes", "ches", "shes")):
        yield name[:-2]
        yield name[:-1]
    elif name.endswith("ses"):
        yield f"{name[:-2]}is"
        yield name[:-1]
    elif name.endswith("sis"):
        yield f"{name[:-2]}es"
    elif name.endswith("s") and not name.endswith(("ss", "us", "is")):
        yield name[:-1]
    elif name.endswith("y") and name[-2] not in "aeiou":
        yield f"{name[:-1]}ies"
    elif name.endswith(("ss", "us", "x", "ch", "sh")):
        yield f"{name}es"
    elif not name.endswith("s"):
        yield f"{name}s"


def _numerals(name: str) -> Sequence[str]:
    """Return Roman numerals as Arabic ones, and the reverse."""
    words = name.split()
    if len(words) < 2 or _NUMERALS.isdisjoint(words):
        return ()
    found = []
    for i, word in enumerate(words):
        if word in _NUMERALS and (i > 0 or word not in ("I", "V", "X")):
            other = _ARABIC.get(word) or _ROMAN[word.lower()]
            found.append(" ".join([*words[:i], other.upper(), *words[i + 1 :]]))
    return found


def _spelling(name: str) -> Sequence[str]:
    """Return American for British spelling, and the reverse."""
    if not any(map(_has_two_spellings, name.split(" "))):
        return ()
    variants = []
    for pattern, other in _RESPELT:
        parts = {found: _cased(other[found.lower()], found) for found in pattern.findall(name)}
        variants.append(pattern.sub(lambda found: parts[found[0]], name))  # noqa: B023
    return variants


def _respelt(pairs: Iterable[tuple[str, str]]) -> tuple[re.Pattern[str], dict[str, str]]:
    """Return a pattern of the first parts of pairs, and the second part of each."""
    pairs = list(pairs)
    parts = (
        {"|": r"\b", "-": r"(?<=\w{3})"}.get(part[0], "")
        + part.strip("|-")
        + (r"(?=[sd]?\b)" if part[-1] == "|" else "")
        for part, _ in pairs
    )
    other = {part.strip("|-"): second.strip("|-") for part, second in pairs}
    return re.compile("|".join(parts), re.IGNORECASE), other


def _cased(word: str, as_in: str) -> str:
    """Return a word with capitals as in another."""
    if as_in.isupper():
        return word.upper()
    return word.capitalize() if as_in[0].isupper() else word


_SPELT = re.compile("|".join(part.strip("|-") for pair in _SPELLINGS for part in pair))
_has_two_spellings = ByteCache[str, bool](
    "spellings", 1 << 20, lambda word: _SPELT.search(word.lower()) is not None
).__getitem__
_RESPELT = (
    _respelt((british, american) for british, american in _SPELLINGS),
    _respelt((american, british) for british, american in _SPELLINGS),
)


def _hyphen(name: str) -> Sequence[str]:
    return (name.replace("-", ""),) if "-" in name else ()


def _place(name: str) -> Iterator[str]:
    """Yield a place without its kind ("Clay County", "City of Bath"), and St. for Saint."""
    for pattern in (_KIND_LAST, _KIND_FIRST):
        if found := pattern.match(name):
            yield found[1]
    head, _, rest = name.partition(" ")
    if rest and _bare(head) in _SAINTS:
        yield f"{_SAINTS[_bare(head)]} {rest}"
    yield from place_names().get(normal_name(name), ())


@cache
def place_names() -> dict[str, tuple[str, ...]]:
    """Return other names of well-known places, by normal name."""
    found = {}
    for line in Path(__file__).with_name("place_names.txt").read_text("utf-8").splitlines():
        name, colon, others = line.partition(": ")
        if colon and not line.startswith("#"):
            found[normal_name(name)] = tuple(others.split(", "))
    return found


_ANY = frozenset(["", "PER", "ORG", "LOC", "MISC"])
_THINGS = frozenset(["", "MISC"])
RULES = (
    Rule("brackets", _ANY, _without_brackets, first=True),
    Rule("word order", frozenset(["", "PER", "MISC"]), _turned, first=True),
    Rule("before the comma", frozenset(["LOC", "ORG"]), _before_comma, first=True),
    Rule("article", _ANY, _without_article, first=True),
    Rule("title", frozenset(["PER"]), _without_ends(TITLES, _GENERATIONS), first=True),
    Rule("nickname", frozenset(["PER"]), _without_quotes, first=True),
    Rule("legal form", frozenset(["ORG"]), _without_ends(frozenset(), _LEGAL), first=True),
    Rule("person", frozenset(["PER"]), _person),
    Rule("place", frozenset(["LOC"]), _place),
    Rule("university", frozenset(["", "ORG"]), _university),
    Rule("ampersand", _ANY, _and),
    Rule("of", _THINGS, _of),
    Rule("numerals", _ANY, _numerals),
    Rule("hyphen", _ANY, _hyphen),
    Rule("spelling", frozenset(["", "ORG", "LOC", "MISC"]), _spelling),
    Rule("number", _THINGS, _number),
    Rule("acronym", frozenset(["", "ORG", "LOC", "MISC"]), _acronym),
)
"""All rules; those with `first` come before the others."""


@dataclass(frozen=True)
class VariantRules:
    """The rules of a knowledge base: those above, and a user's own."""

    # type ("": any), pattern and replacement of each, as for `re.sub`
    own: tuple[tuple[str, str, str], ...] = ()

    def __post_init__(self) -> None:
        for type_, pattern, replacement in self.own:
            try:
                re.sub(pattern, replacement, "")
            except (re.error, IndexError) as error:
                raise KnowledgeBaseError(
                    f"variant rule {pattern!r} -> {replacement!r}: {error}"
                ) from None
            if type_ not in _ANY:
                raise KnowledgeBaseError(f"variant rule {pattern!r}: no type {type_!r}")

    @classmethod
    def from_origin(cls, origin: Mapping[str, Any]) -> "VariantRules":
        """Return the rules that a knowledge base was built with."""
        try:
            return cls(tuple((a, b, c) for a, b, c in origin.get(_ORIGIN, ())))
        except (TypeError, ValueError):
            raise KnowledgeBaseError("the rules of variants in the state are damaged") from None

    @property
    def origin(self) -> dict[str, Any]:
        """The same as a part of the origin of a knowledge base."""
        return {_ORIGIN: [list(rule) for rule in self.own]} if self.own else {}

    @classmethod
    def read(cls, path: Path) -> "VariantRules":
        """Read rules: a line of type or `*`, pattern and replacement, separated by tabs."""
        own = []
        for number, line in enumerate(path.read_text("utf-8-sig").splitlines(), 1):
            if not line.strip() or line.startswith("#"):
                continue
            cells = line.split("\t")
            if len(cells) != 3:
                raise KnowledgeBaseError(
                    f"{path}, line {number}: {len(cells)} cells; a rule is type or *, pattern and "
                    "replacement, separated by tabs"
                )
            own.append((cells[0].replace("*", ""), cells[1], cells[2]))
            try:
                cls((own[-1],))
            except KnowledgeBaseError as error:
                raise KnowledgeBaseError(f"{path}, line {number}: {error}") from None
        return cls(tuple(own))

    def variants(self, names: Sequence[str], type: str) -> list[str]:
        """Return the variants of an entity's names that are not among them, in a fixed order."""
        found: list[str] | None = None
        if (maker := self.kernel) is not None:
            found = maker.make(name_table(), names, type)
        return self.slow_variants(names, type) if found is None else found

    @property
    def kernel(self) -> Any:
        """The kernel of these rules; None: they are for Python."""
        return None if self.own else _kernel()

    def slow_variants(self, names: Sequence[str], type: str) -> list[str]:
        """Return the same for any rules, and for names in any script."""
        known = {normal_name(name) for name in names}
        made = set(names)
        found: list[str] = []
        base = [name for name in dict.fromkeys(names) if _LATIN.search(name)][:MAX_NAMES]
        for rule in self._rules.get(type, self._rules[""]):
            first = len(found)
            made_by_rule = (islice(rule.make(name), MAX_VARIANTS) for name in base)
            for variant in chain.from_iterable(made_by_rule):
                if variant in made:
                    continue
                made.add(variant)
                variant = " ".join(variant.split()).strip(" ,")
                normal = normal_name(variant) if len(variant) > 1 else ""
                if normal not in known and 1 < len(normal.encode()) <= MAX_KEY:
                    known.add(normal)
                    found.append(variant)
                    if len(found) == MAX_VARIANTS:
                        return found
            if rule.first:
                base += found[first:]
        return found

    @cached_property
    def _rules(self) -> dict[str, list[Rule]]:
        """The rules by type."""
        own = [
            Rule(pattern, _ANY if not kind else frozenset([kind]), _substitution(pattern, text))
            for kind, pattern, text in self.own
        ]
        return {type_: [r for r in (*RULES, *own) if type_ in r.types] for type_ in _ANY}


@cache
def _kernel() -> Any:
    """Return the kernel of the rules above, which makes variants of names in Latin letters."""
    from sgtb.native import VariantMaker

    words = {
        "small": _SMALL, "particles": _PARTICLES, "titles": TITLES, "generations": _GENERATIONS,
        "legal": _LEGAL, "numerals": _NUMERALS, "kinds": _PLACE_KINDS,
        "institutions": _INSTITUTIONS,
    }  # fmt: skip
    maps = {"roman": _ROMAN, "arabic": _ARABIC, "saints": _SAINTS}
    return VariantMaker(words, maps, _SPELLINGS, place_names(), MAX_NAMES, MAX_VARIANTS)


def _substitution(pattern: str, replacement: str) -> Make:
    compiled = re.compile(pattern)
    return lambda name: (compiled.sub(replacement, name),)


DEFAULT_RULES = VariantRules()
_FORMS = (_number, _spelling, _numerals, _of)


def other_forms(name: str) -> list[str]:
    """Return other forms of a name in normal form: number, spelling, numerals, word order.

    A name of more than twice the length of a key has none: no form is half as long.
    """
    if len(name) > 2 * MAX_KEY:
        return []
    found = [form for make in _FORMS for form in make(name)]
    found += [form for other in found for form in _number(other)]
    return [form for form in dict.fromkeys(map(normal_name, found)) if form != name]
