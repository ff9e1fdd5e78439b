"""Names of a page: from its title and from its first sentences."""

import re
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass

from sgtb.kb.build.usable_names import bare_title, clean, is_name
from sgtb.text.normalization import STOP_WORDS, normal_name
from sgtb.wikipedia.wikitext.markup import description_of, first_sentence
from sgtb.wikipedia.wikitext.page_types import LOC, PER, sentence_type

_HEAD = 3000  # characters of a page in which its first sentences are
_FIRST_WORDS = 150  # characters of a line in which it names the page
_MAX_WORDS = 10  # of a name in a sentence
_MAX_LISTED_WORDS = 5
_MAX_NESTING = 4  # of brackets
_MAX_SHORT = 3  # words of a short form of a title
_MAX_LOWER_WORDS = 4  # of one that begins in lower case
_SENTENCES = 3  # that may say what else a page is called

_BOLD = re.compile(
    r"'''(?P<wiki>[^'\n]+(?:'[^'\n]+)*)'''|\*\*(?P<md>[^*\n]+)\*\*|<b>(?P<tag>[^<\n]+)</b>"
)
_LEAD_LINES = 8
_STOP = re.compile(r"[.!?:。！？।](?=\W|$)")
_TOPIC = re.compile(r"(?:In|Within|For|At|On|Under)\s[^,]{3,80},\s")
_OPEN_BRACKET = re.compile(r"[()\[\]]")
_DIGIT = re.compile(r"\d")
_BRACKET_PART = re.compile(r"[,;]\s*|\s[/–—]\s|\s(?=or\s)")
_BRACKETS = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")
_VERB = re.compile(
    r"[\s,](?:is|was|are|were|refers?|means|became|has|had|can|may|took|occurred|began|describes)\s"
)
_PART = re.compile(
    r"[,;:/]\s|\s[–—]\s|\s(?=or\s)|\s(?=(?:also|formerly|previously|commonly|better|known)\s)"
)
_INTRODUCTION = frozenset(
    "abbr abbreviated abbreviation acronym aka alias also alternatively and as better birth "
    "born both by called colloquially common commonly currently earlier either first for "
    "formally former formerly from full generally has her his historically in informally "
    "initialism initially it its known later legally locally mainly more most name named names "
    "nickname nicknamed now née officially often once or original originally pen popular "
    "popularly previously professional professionally pronounced properly real referred ring "
    "short shortened shorter simply since sometimes spelled spelt stage styled stylised "
    "stylized the their then titled to traditionally typically until usually variously which "
    "who widely with written".split()
)
"""Words between a name and another name of the same thing."""
_CALLS = frozenset(
    "abbr abbreviated abbreviation acronym aka alias also alternatively born called formerly "
    "initialism known named nickname nicknamed née or originally previously referred short "
    "shortened spelled spelt".split()
)
"""Of these, words that announce a name."""
_ACRONYM = re.compile(
    r"(?:[A-Z][a-z]{0,2}\.? ?){1,8}[A-Z]\.?s?|[A-Z]\w?(?:&[A-Z])+|[A-Z]{2,8}\d{0,3}"
)
_BORN = re.compile(r"(?:\w+ )?born\s")
_DIED = re.compile(r"\bdied\b|†")
_LANGUAGE = re.compile(r"[A-Z][a-z]+(?: language)?$")
_SAYS = re.compile(
    r"\b(?:(?:also|better|commonly|often|popularly|sometimes|usually|formerly|previously|widely|"
    r"professionally|simply)\s+(?:known|called|nicknamed|abbreviated|referred\s+to|named)"
    r"|known\s+(?:professionally|simply|commonly|popularly|mononymously))\s+"
    r"|\b(?:stage|pen|ring|birth)\s+name\s+"
)
_NAMES_AFTER = re.compile(
    r"(?:(?:as|by|to|simply|the|his|her|its|their|stage|pen|ring|name|was|is)\s+)*"
    r"(?P<names>(?:\"[^\"]{2,60}\"|[A-Z\d][^\s,;.()\"]*(?:\.(?=\s[A-Z]))?)"
    r"(?:\s(?:of|the|and|de|la|von|van|for|in)(?=\s[A-Z])|\s[A-Z\d][^\s,;.()\"]*(?:\.(?=\s[A-Z]))?"
    r"|\sor\s(?:the\s)?(?:\"[^\"]{2,60}\"|[A-Z][^\s,;.()\"]*))*)"
)
_NEXT_SENTENCE = re.compile(r"(?:It|He|She|They|The \w+)\s(?:is|was|are|were)\s")
_PERSON = re.compile(
    r"(?:He|His|(?:She|Her)(?!\s(?:(?:is|was)\s)?(?:a\s|the\s)?(?:\w+\s)?"
    r"(?:built|commissioned|completed|laid|launched|named|keel|sister|sailed|sank|sunk|ship)))\s"
)
"""Beginning of a sentence about a person; ships are "she", too."""
_QUOTES = "\"“”„«»'‘’*_ "
_ARTICLE = re.compile(r"^(?:the|an?)\s+(?=\S)", re.IGNORECASE)
_PREPOSITIONS = frozenset("of in for at on by from to".split())
_JOINING = frozenset(
    "of the and for in on at to af al av bin da das de del der di do dos du e el ibn la le "
    "ten ter van von y zu".split()
)
_GOES_ON = re.compile(r"\s(?!(?:in|by|and|or|for|since|because|due|to|among|as|after)\b)[a-z]")
"""After a capitalised word that is no name: "called by its French name"."""
_OR_NAME = re.compile(r"or\s(?:\w+\s)?[\"“]?[^\W\da-z_]")
_WHEN = re.compile(r"\s(?:in|by|before|until|since|from|outside|among|during|after)\s")
"""What follows it says where or when a name is used."""
_NICKNAME = re.compile(r"\s[\"“][^\"“”]+[\"”](?=\s)")


_LISTS = re.compile(
    r"\b(?:may|can|could|might)(?:\s(?:also|either|variously))?\s(?:refer|mean|stand|be)\b[^.]*:\W*$"
    r"|\b(?:may|can|might|could)(?:\s(?:also|either))?\srefer\sto\b"
    r"|\b(?:refers?\sto|is|are|was|mean|stands\sfor)[^.]{0,60}:\W*$"
)
"""First sentence of a page that lists what a name means: "Mercury may refer to:"."""


@dataclass(frozen=True, slots=True)
class PageFacts:
    """What title and first sentences state."""

    description: str
    type: str
    names: tuple[str, ...]  # spellings, the title first; distinct
    lists: bool  # whether the page only lists other pages with its title


def page_facts(title: str, text: str) -> PageFacts:
    """Return description, type and names of a page."""
    line, rest, bold = _lead(title, text[:_HEAD])
    sentence = first_sentence(line)
    following = line[len(sentence) :] + rest
    type_ = sentence_type(title, sentence)
    if not type_ and any(map(_PERSON.match, _sentences(following, _SENTENCES))):
        type_ = PER
    bare = bare_title(title) or title
    names = [title, bare, *bold]
    if type_ == LOC and ", " in bare:
        names.append(bare.partition(", ")[0])
    names += _stated_names(bare, sentence, following)
    usable = dict.fromkeys(clean(name) for name in names)
    return PageFacts(
        description=clean(description_of(sentence)),
        type=type_,
        names=tuple(name for name in usable if is_name(name)),
        lists=title.endswith("(disambiguation)") or _LISTS.search(sentence) is not None,
    )


def _lead(title: str, head: str) -> tuple[str, str, tuple[str, ...]]:
    """Return the line of the first sentence, the next lines, and bold names, without markers.

    That is the first line that has all words of the title near its beginning (a full name has
    others between them), else its longest word, else the first sentence-like one. Some wikis put a
    short description or a note before it.
    """
    lines = [" ".join(line.split()) for line in head.split("\n", _LEAD_LINES)[:_LEAD_LINES]]
    lines = [line for line in lines if line] or [""]
    whole = [i for i, line in enumerate(lines) if _STOP.search(line)]
    words = (bare_title(title) or title).casefold().split()
    begins = [(i, lines[i][:_FIRST_WORDS].casefold()) for i in whole]
    at = next(
        (
            i
            for sought in (words, [max(words, key=len, default="")])
            for i, begin in begins
            if all(word in begin for word in sought)
        ),
        next(iter(whole), 0),
    )
    bold = tuple(found[found.lastgroup or 0] for found in _BOLD.finditer(lines[at]))
    line = _BOLD.sub(lambda found: found[found.lastgroup or 0], lines[at])
    return line, " ".join(lines[at + 1 :]), bold


def _sentences(text: str, n: int) -> Iterator[str]:
    """Yield the first n sentences of a text."""
    for _ in range(n):
        text = text.lstrip()
        sentence = first_sentence(text)
        yield sentence
        text = text[len(sentence) :]


def _stated_names(title: str, sentence: str, rest: str) -> Iterator[str]:
    """Yield the names that the first sentences give to a page."""
    sentence = sentence[found.end() :] if (found := _TOPIC.match(sentence)) else sentence
    plain, brackets = _without_brackets(sentence)
    verb = _VERB.search(plain)
    if verb is None:
        return
    words = normal_name(title).split()
    own = {word for word in words if word not in STOP_WORDS}
    names = [
        *_subject_names(plain[: verb.start()], words),
        *_bracket_names((content for at, content in brackets if at < verb.start()), own),
    ]
    if not any(own & {*normal_name(name).split()} for name in names):
        return  # about something else: "A tri-series in Scotland took place"
    yield from names
    yield from _names_said(plain[verb.start() :])
    for following in _sentences(rest, _SENTENCES - 1):
        if _NEXT_SENTENCE.match(following):
            plain, brackets = _without_brackets(following)
            said = [*_names_said(plain)]
            yield from said
            yield from _bracket_names((content for _, content in brackets if said), own)


def _subject_names(subject: str, title: Sequence[str]) -> Iterator[str]:
    """Yield the names of a subject, "X, also known as Y or Z"; `title`: words of the title."""
    parts = _parts(_PART, subject)
    for i, part in enumerate(parts):
        name, called = _without_introduction(part)
        if name and (
            called
            or (i == 0 and _is_named(name, title))
            or (i and _is_listed(name, parts[i + 1 :]))
        ):
            yield name
            if _NICKNAME.search(name):  # Earvin "Magic" Johnson
                yield _NICKNAME.sub("", name)


def _parts(pattern: re.Pattern[str], text: str) -> list[str]:
    """Split a text; parts that only introduce a name are joined with the next one."""
    found: list[str] = []
    before = ""
    for part in pattern.split(text):
        whole = f"{before} {part}".strip()
        name, called = _without_introduction(part)
        before = whole if called and not name else ""
        found += [] if before else [whole]
    return found


def _is_named(name: str, title: Sequence[str]) -> bool:
    """Return whether all lower-case words of a name are of the title or join others.

    The end of "Economy of Orlan" names something else.
    """
    return not _is_object(normal_name(name).split(), title) and all(
        not word[0].islower() or word in _JOINING or normal_name(word) in title
        for word in name.split()
    )


def _is_object(part: Sequence[str], title: Sequence[str]) -> bool:
    """Return whether a part of a title is what follows its last preposition."""
    before = [word for word in title[: len(title) - len(part)] if word != "the"]
    return (
        len(part) < len(title)
        and [*title[-len(part) :]] == [*part]
        and before[-1:] != []
        and before[-1] in _PREPOSITIONS
    )


def _is_listed(name: str, following: Sequence[str]) -> bool:
    """Return whether a part is one of several names: "X, Y, or Z"."""
    return (
        name[:1].isupper()
        and name.count(" ") < _MAX_LISTED_WORDS
        and not _DIGIT.search(name)
        and any(_OR_NAME.match(part) for part in following)
    )


def _without_brackets(text: str) -> tuple[str, list[tuple[int, str]]]:
    """Return a text with spaces for brackets, and start and content of each, without inner ones."""
    found: list[tuple[int, str]] = []
    for _ in range(_MAX_NESTING):
        level = [(match.start(), match[0]) for match in _BRACKETS.finditer(text)]
        if not level:
            break
        text = _BRACKETS.sub(lambda match: " " * len(match[0]), text)
        inner = [(at, s) for at, s in found if not any(a < at < a + len(t) for a, t in level)]
        found = sorted(inner + level)
    return text, [(at, content[1:-1]) for at, content in found]


def _bracket_names(contents: Iterable[str], title: Set[str]) -> Iterator[str]:
    """Yield acronyms and announced names in brackets after a name; `title`: words of the title."""
    for content in contents:
        parts = _parts(_BRACKET_PART, content)
        for i, part in enumerate(parts):
            if part.endswith(":") or part.startswith("in "):  # a language
                continue
            name, called = _without_introduction(part)
            language, colon, foreign = name.partition(": ")
            if colon and _LANGUAGE.fullmatch(language):
                name, called = foreign.strip(_QUOTES), True
            called = called and name[:1].isupper() and not _DIGIT.search(name)
            if _BORN.match(part) and not _is_birth_name(name, content, title):
                continue
            if name and (called or _ACRONYM.fullmatch(name) or _is_listed(name, parts[i + 1 :])):
                yield name


def _is_birth_name(name: str, content: str, title: Set[str]) -> bool:
    """Return whether what follows "born" in a bracket is a name: "born Paris, 3 May" is a place."""
    words = normal_name(name).split()
    return not title.isdisjoint(words) or (len(words) > 1 and not _DIED.search(content))


def _names_said(text: str) -> Iterator[str]:
    """Yield the names in "… also known as X or Y"."""
    plain = " ".join(text.split())
    for said in _SAYS.finditer(plain):
        found = _NAMES_AFTER.match(plain, said.end())
        if found is not None and not _GOES_ON.match(plain, found.end()):
            for part in found["names"].split(" or "):
                name, _ = _without_introduction(part)
                if name:
                    yield name


def _without_introduction(part: str) -> tuple[str, bool]:
    """Return a name without the words that introduce it, and whether these announce a name."""
    words = part.rpartition(" as ")[2].split() if " as " in part else part.split()
    at = 0
    while at < len(words) and words[at].strip("\"'.,:").casefold() in _INTRODUCTION:
        if at == 0 and words[0][:1].isupper() and len(words) > 1 and words[1][:1].isupper():
            break  # "The Who", "For Sale"
        at += 1
    called = " as " in part or any(word.casefold() in _CALLS for word in words[:at])
    end = len(words)
    while end > at and words[end - 1].islower() and words[end - 1] in _INTRODUCTION:
        end -= 1
    text = " ".join(words[at:end])
    name = (_WHEN.split(text, maxsplit=1)[0] if called else text).strip(_QUOTES + ",;:")
    name = _ARTICLE.sub("", name.replace('"', "") if name.count('"') % 2 else name)
    most = _MAX_LOWER_WORDS if name[:1].islower() else _MAX_WORDS
    usable = name.count(" ") < most and not _OPEN_BRACKET.search(name)
    return (name, called) if usable else ("", called)


def short_forms(title: str, type: str) -> list[str]:
    """Return the parts of a title that its text may use for it; of a person only family names.

    Of places, "Republic of Orlan" may be just Orlan; "Economy of Orlan" may not.
    """
    words = (bare_title(title) or title).partition(", ")[0].split()
    n = len(words)
    normal = [normal_name(word) for word in words]
    parts = [
        words[i:j]
        for i in range(n)
        for j in range(i + 1, min(n, i + _MAX_SHORT) + 1)
        if j - i < n
        and (j == n or type != PER)
        and (type == LOC or not _is_object(normal[i:j], normal))
    ]
    return [
        " ".join(part)
        for part in parts
        if not part[0][0].islower() and not part[-1][0].islower()
        and normal_name(part[0]) not in STOP_WORDS and any(c.isalpha() for c in "".join(part))
    ]  # fmt: skip
