"""A small invented world: entities whose names are shared, and documents about them.

Six places lend their names to a town, a village, a national team, a club, a player and a
tournament. What a name means depends on the topic of its document, so there is something to learn.
"""

import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments.entity_tables import listed_candidates, table_facts
from sgtb.boosting.data.pairs import PairTable
from sgtb.core.entities import EntityTable
from sgtb.core.ragged import Ragged, Texts
from sgtb.core.records import NIL, Document, Mention, Token
from sgtb.core.sparse_matrix import latent_directions, unit
from sgtb.linking.candidates.candidate_table import CandidateTable
from sgtb.linking.entities import background
from sgtb.linking.entities.background import Lexicon, string_numbers
from sgtb.linking.entities.entity_facts import EntityFacts
from sgtb.linking.entities.vocabulary import clue
from sgtb.linking.features.feature_matrix import Table
from sgtb.text.normalization import normal_words
from sgtb.text.word_vectors import WordVectors
from tests.helpers.kb_worlds import build

PLACES = ("Orlan", "Vessa", "Tarn", "Quill", "Brask", "Meck")
KINDS = {
    "town": ("{}", "GPE", 900),
    "village": ("{}, Norvia", "GPE", 40),
    "team": ("{} national football team", "ORG", 300),
    "club": ("{} F.C.", "ORG", 300),
    "player": ("{} (tennis)", "PER", 60),
    "open": ("1994 {} Open", "", 20),
}
_MARK = re.compile(r"\[([^\]]+)\]|(\S+)")


def clue_rows(rows) -> Ragged:
    """Hash clues given as strings."""
    return Ragged.of(([clue(text) for text in row] for row in rows), np.uint32)


def entity_table(
    titles: Sequence[str],
    links: Sequence[tuple[int, int]] = (),
    *,
    types: Sequence[str] | None = None,
    in_links: Sequence[int] | None = None,
    out_links: Sequence[int] | None = None,
    popularity: Sequence[float] | None = None,
) -> EntityTable:
    """A table of entities e100, e101, …; links are pairs of numbers."""
    n = len(titles)
    source, target = np.array(sorted(set(links)), np.int32).reshape(-1, 2).T
    return EntityTable(
        tuple(f"e{100 + i}" for i in range(n)),
        tuple(titles),
        tuple(types or [""] * n),
        np.array(in_links if in_links is not None else [0] * n, np.int32),
        np.array(out_links if out_links is not None else [0] * n, np.int32),
        np.array(popularity if popularity is not None else [np.nan] * n, np.float32),
        source.copy(),
        target.copy(),
    )


def number_of(place: str, kind: str) -> int:
    """The number of an entity of the world."""
    return PLACES.index(place) * len(KINDS) + list(KINDS).index(kind)


def world() -> EntityTable:
    """All places in all their kinds; teams play teams, players play players, towns have both."""
    links = []
    for i, a in enumerate(PLACES):
        town = number_of(a, "town")
        links += [(number_of(a, kind), town) for kind in ("village", "team", "club", "open")]
        b = PLACES[(i + 1) % len(PLACES)]
        links += [(number_of(a, kind), number_of(b, kind)) for kind in ("team", "club", "player")]
        links += [(number_of(a, "open"), number_of(b, "player")), (town, number_of(b, "town"))]
    kinds = list(KINDS.values())
    n = len(PLACES)
    return entity_table(
        [title.format(place) for place in PLACES for title, _, _ in kinds],
        links,
        types=[type for _ in PLACES for _, type, _ in kinds],
        in_links=[count + i for i in range(n) for _, _, count in kinds],
        out_links=[7 * i + k for i in range(n) for k in range(len(kinds))],
        popularity=[np.nan if k == 3 else i + k for i in range(n) for k in range(len(kinds))],
    )


def document(id: str, *lines: str, split: str = "train") -> Document:
    """Read lines with marks: `[name]`, `[name|gold]`, `[name|gold|type]`,
    `[name|gold|type|candidate,candidate]`; a line is a sentence.
    """
    tokens: list[Token] = []
    sentences, mentions = [], []
    text = ""
    for line in lines:
        begin = len(tokens)
        for match in _MARK.finditer(line):
            name, *rest = (match[1] or match[2]).split("|")
            first = len(tokens)
            for word in name.split():
                text += word if not text or text.endswith("\n") else f" {word}"
                tokens.append(Token(word, len(text) - len(word), len(text)))
            if match[1]:
                start, end = tokens[first].start, tokens[-1].end
                mentions.append(
                    Mention(start, end, first, len(tokens), text[start:end], *_label(*rest))
                )
        sentences.append((begin, len(tokens)))
        text += "\n"
    return Document(id, text, tuple(tokens), tuple(sentences), tuple(mentions), split)


def _label(gold: str = "", type: str = "", candidates: str | None = None):
    listed = None if candidates is None else tuple(c for c in candidates.split(",") if c)
    return gold or None, None, type or None, listed


_TAG = {"town": "LOC", "village": "LOC", "team": "LOC", "club": "ORG", "player": "PER"}


def named(place: str, kind: str) -> str:
    """A mark of a name that means the kind of this name; all kinds are candidates."""
    ids = [world().ids[number_of(place.capitalize(), other)] for other in KINDS]
    gold = ids[list(KINDS).index(kind)]
    return f"[{place}|{gold}|{_TAG.get(kind, 'MISC')}|{','.join(ids)}]"


def in_full(place: str) -> str:
    """A mark of a name that can mean one thing only: a tournament's, with its year."""
    gold = world().ids[number_of(place, "open")]
    return f"[1994 {place.upper()} OPEN|{gold}|MISC|{gold}]"


def _tennis(id: str, a: str, b: str, c: str, split: str) -> Document:
    return document(
        id,
        f"TENNIS - {named(a.upper(), 'player')} BEATS {named(b.upper(), 'player')} .",
        f"{named(c.upper(), 'town')} 1996-08-2{len(id)}",
        f"{named(a, 'player')} of {named(c, 'village')} beat {named(b, 'player')} 6-4 6-2 .",
        f"The player won in {named(c, 'town')} ( [Norvia|{NIL}|LOC] ) and at {named(a, 'open')} .",
        split=split,
    )


def _soccer(id: str, a: str, b: str, c: str, split: str) -> Document:
    return document(
        id,
        f"SOCCER - {named(a.upper(), 'team')} AND {named(b.upper(), 'team')} DRAW .",
        f"{named(c.upper(), 'town')} 1996-08-1{len(id)}",
        f"{named(a, 'team')} drew 1-1 with {named(b, 'team')} in a football match in "
        f"{named(c, 'town')} .",
        f"{named(a, 'team')} ( {named(b, 'club')} ) scored , [Nobody||PER|] saw it .",
        split=split,
    )


def _golf(id: str, a: str, b: str, c: str, split: str) -> Document:
    return document(
        id,
        f"GOLF - LEADERS AT {in_full(a)} .",
        f"{named(b, 'village')} 68 {named(c, 'village')} 70 {named(a, 'town')} 71",
        split=split,
    )


def _news(id: str, a: str, b: str, c: str, split: str) -> Document:
    return document(
        id,
        f"{named(a, 'town')} and {named(b, 'town')} sign a treaty .",
        f"{named(c.upper(), 'town')} 1996-08-{20 + int(id[1:]) % 3}",
        f"The mayor of {named(a, 'town')} met the mayor of {named(b, 'town')} on the road to "
        f"{named(c, 'village')} .",
        f"[{a} Council|{NIL}|ORG] agreed with {named(a, 'town')} .",
        split=split,
    )


_WRITERS: tuple[Callable[..., Document], ...] = (_tennis, _soccer, _golf, _news)


def documents(n: int, split: str = "train", first: int = 0) -> tuple[Document, ...]:
    """Write documents of four kinds in turn; eight topics where there are twelve."""
    written = []
    for i in range(first, first + n):
        a, b, c = (PLACES[(i + k) % len(PLACES)] for k in (0, 1, 3))
        written.append(_WRITERS[i % len(_WRITERS)](f"d{i}", a, b, c, split))
    return tuple(written)


def word_vectors(texts: Sequence[Document], titles: Sequence[str], width: int = 6) -> WordVectors:
    """Vectors for most of the words there are."""
    words = {word for text in texts for t in text.tokens for word in normal_words(t.text)}
    words |= {word for title in titles for word in normal_words(title)}
    known = [word for word in sorted(words) if word not in ("treaty", "norvia")]
    matrix = np.random.default_rng(5).standard_normal((len(known), width))
    return WordVectors("small", {word: i for i, word in enumerate(known)}, unit(matrix))


def lexicon_of(train: Sequence[Document], entities: EntityTable) -> Lexicon:
    return Lexicon.build(train, entities.titles, word_vectors(train, entities.titles))


def narrow_topics(patch: pytest.MonkeyPatch, width: int) -> None:
    """Make topic vectors of few dimensions: quick, if coarse."""
    patch.setattr(
        background, "latent_directions", lambda rows, _, seed: latent_directions(rows, width, seed)
    )


@dataclass(frozen=True, repr=False)  # a failed test shall not print real documents
class Setting:
    """Documents by split, and what is known of their entities and words."""

    documents: dict[str, tuple[Document, ...]]
    entities: EntityTable
    words: WordVectors
    lexicon: Lexicon
    facts: EntityFacts

    @property
    def train(self) -> tuple[Document, ...]:
        return self.documents["train"]

    @property
    def dev(self) -> tuple[Document, ...]:
        return self.documents["dev"]

    def candidates(self, texts: Sequence[Document]) -> CandidateTable:
        return listed_candidates(texts, self.entities)

    def table(self, texts: Sequence[Document]) -> Table:
        return Table.build(self.candidates(texts), self.facts, self.lexicon)


def small_setting(train: Sequence[Document] | None = None) -> Setting:
    """The world, with twelve documents to train on, four for dev and four for test."""
    texts = {
        "train": documents(12) if train is None else tuple(train),
        "dev": documents(4, "dev", 12),
        "test": documents(4, "test", 16),
    }
    entities = world()
    words = word_vectors(texts["train"], entities.titles)
    lexicon = Lexicon.build(texts["train"], entities.titles, words)
    return Setting(texts, entities, words, lexicon, table_facts(entities, lexicon))


def with_mentions(text: Document, change: Callable[[Mention], Mention]) -> Document:
    """Return a document with every mention changed."""
    return replace(text, mentions=tuple(change(mention) for mention in text.mentions))


def relabelled(text: Document) -> Document:
    """Return a document with other labels: another candidate as gold, another type and title."""

    def change(mention: Mention) -> Mention:
        if not mention.in_kb:
            return replace(mention, type="MISC", title="Nothing")
        others = [c for c in mention.candidates or () if c != mention.gold]
        gold = others[len(mention.text) % len(others)] if others else mention.gold
        type = "ORG" if mention.type == "PER" else "PER"
        return replace(mention, gold=gold, type=type, title="Something else")

    return with_mentions(text, change)


def restricted(entities: EntityTable, ids: set[str]) -> EntityTable:
    """Return the table of some entities only, with the links among them."""
    keep = np.array([id in ids for id in entities.ids])
    number = np.cumsum(keep) - 1
    inside = keep[entities.link_source] & keep[entities.link_target]
    kept = np.flatnonzero(keep)
    return EntityTable(
        tuple(entities.ids[i] for i in kept),
        tuple(entities.titles[i] for i in kept),
        tuple(entities.types[i] for i in kept),
        entities.in_links[kept], entities.out_links[kept], entities.popularity[kept],
        number[entities.link_source[inside]].astype(np.int32),
        number[entities.link_target[inside]].astype(np.int32),
    )  # fmt: skip


def both_ways(entities: EntityTable) -> EntityTable:
    """Return the table with every link in both directions: a knowledge base knows whom an entity
    links to, and only counts who links to it."""
    source = np.concatenate([entities.link_source, entities.link_target])
    target = np.concatenate([entities.link_target, entities.link_source])
    pairs = np.unique(np.stack([source, target], axis=1)[source != target], axis=0)
    return replace(
        entities, link_source=pairs[:, 0].astype(np.int32), link_target=pairs[:, 1].astype(np.int32)
    )


_KB_TYPE = {"PER": "PER", "ORG": "ORG", "GPE": "LOC"}


def kb_of(folder: Path, entities: EntityTable, **more: Sequence[Any]) -> Path:
    """Build a knowledge base of a table's entities; `more` are keys with a value for each."""
    records: list[dict[str, Any]] = [
        {
            "id": entities.ids[i],
            "name": entities.titles[i],
            "type": _KB_TYPE.get(entities.types[i], ""),
            "in_links": int(entities.in_links[i]),
            "out_links": int(entities.out_links[i]),
            "links": [],
            **{key: values[i] for key, values in more.items()},
        }
        for i in range(len(entities))
    ]
    for record, popularity in zip(records, entities.popularity.tolist(), strict=True):
        if popularity == popularity:
            record["popularity"] = popularity
    for source, target in zip(entities.link_source, entities.link_target, strict=True):
        records[source]["links"].append(entities.ids[target])
    return build(folder, records)


def arrays_of(record: Any) -> dict[str, np.ndarray]:
    """Return all arrays of a record, those of its parts by dotted names."""
    if is_dataclass(record):
        named = {field.name: getattr(record, field.name) for field in fields(record)}
    else:
        named = record._asdict()
    found = {}
    for name, value in named.items():
        if isinstance(value, np.ndarray):
            found[name] = value
        elif is_dataclass(value) or hasattr(value, "_asdict"):
            found |= {f"{name}.{inner}": array for inner, array in arrays_of(value).items()}
    return found


def assert_same_arrays(a: Any, b: Any) -> None:
    """Two records have the same arrays to the last byte."""
    first, second = arrays_of(a), arrays_of(b)
    assert first.keys() == second.keys()
    for name, array in first.items():
        assert (array.dtype, array.shape) == (second[name].dtype, second[name].shape), name
        assert array.tobytes() == second[name].tobytes(), name


def looked_up(table: PairTable, a: int, b: int) -> list[float]:
    """The features of two rows of a table, looked up in its arrays in plain Python."""
    spaces = [
        float(table.vectors[a, first:last].astype(np.float64) @ table.vectors[b, first:last])
        for first, last in itertools.pairwise(table.space_offsets)
    ]
    low, high = min(a, b), max(a, b)
    links = []
    for offsets in table.link_offsets:
        targets = table.link_targets[offsets[low] : offsets[low + 1]].tolist()
        counts = table.link_counts[offsets[low] : offsets[low + 1]]
        links.append(float(counts[targets.index(high)]) if high in targets else 0.0)
    return [*spaces, *links]


def string_number(text: str) -> int:
    """Return the hash of one string."""
    return int(string_numbers(Texts.of([text]))[0])
