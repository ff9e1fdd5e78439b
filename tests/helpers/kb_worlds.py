"""Invented entities, and the slow and obvious knowledge base that they should make."""

import json
from collections.abc import Iterable
from copy import deepcopy
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from sgtb.kb import KnowledgeBase
from sgtb.kb.build.list_build import build_list
from sgtb.kb.name_variants import VARIANT, VariantRules
from sgtb.text.normalization import normal_name

Record = dict[str, Any]
SOURCES = ("given", "anchors", "titles")
SPELLINGS = (
    "U.S.", "US", "us", "Zürich", "Zurich", "ZÜRICH", "St. Mary's", "St Marys", "Łódź", "Lodz",
    "北京", "Ἀθῆναι", "C++", "!!!", "Jordan", "jordan", "Jordan's", "a b", "A-B", "naïve", "1984",
    "Jo Ann Smith", "The Bank of X, Ltd.",
)  # fmt: skip


def write_lines(path: Path, records: Iterable[Record]) -> Path:
    path.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records))
    return path


def build(folder: Path, records: Iterable[Record], name: str = "kb", **options: Any) -> Path:
    """Build a knowledge base in a folder of this name, and return that; by default no variants."""
    options.setdefault("variants", None)
    build_list(write_lines(folder / f"{name}.jsonl", records), folder / name, **options)
    return folder / name


class World:
    """What a knowledge base holds, as plain dictionaries: entities in the order of numbers.

    variants  rules of variants; None: none are made
    """

    def __init__(
        self,
        records: Iterable[Record],
        pairs: dict[tuple[str, str], int],
        variants: VariantRules | None = None,
    ) -> None:
        self.entities: dict[str, Record] = {}
        self.pairs = dict(pairs)
        self.variants = variants
        self.add(records)

    def copy(self) -> "World":
        return deepcopy(self)

    def records(self) -> list[Record]:
        """All that builds the same again."""
        pairs = [{"kind": "pair", "a": a, "b": b, "count": n} for (a, b), n in self.pairs.items()]
        return [deepcopy(e) for e in self.entities.values()] + pairs

    def add(self, records: Iterable[Record]) -> None:
        for record in deepcopy(list(records)):
            assert record["id"] not in self.entities
            aliases = _counted(record.get("aliases", []))
            if all(name != record["name"] for name, _ in aliases):
                aliases[record["name"], "given"] = 1
            self.entities[record["id"]] = {**record, "aliases": _listed(aliases)}

    def update(self, records: Iterable[Record]) -> None:
        for record in deepcopy(list(records)):
            entity = self.entities[record["id"]]
            aliases = _counted(entity["aliases"])
            if "aliases" in record:
                stated = _counted(record["aliases"])
                replaced = {source for _, source in stated} | {"given"}
                aliases = {key: n for key, n in aliases.items() if key[1] not in replaced} | stated
            name = record.get("name", entity["name"])
            if all(name != known for known, _ in aliases):
                aliases[name, "given"] = 1
            entity.update(record, aliases=_listed(aliases))

    def remove(self, ids: Iterable[str]) -> None:
        gone = set(ids)
        for id_ in gone:
            del self.entities[id_]
        for entity in self.entities.values():
            entity["links"] = [link for link in entity.get("links", []) if link not in gone]
        self.pairs = {pair: n for pair, n in self.pairs.items() if not gone.intersection(pair)}

    def aliases(self, id_: str) -> list[Record]:
        """All names of an entity, variants included."""
        entity = self.entities[id_]
        if self.variants is None:
            return list(entity["aliases"])
        names = [entity["name"], *sorted(alias["name"] for alias in entity["aliases"])]
        made = self.variants.variants(names, entity.get("type") or "")
        return entity["aliases"] + [{"name": n, "source": VARIANT, "count": 1} for n in made]

    def names(self) -> list[str]:
        """Every name in normal form, in the order of its bytes."""
        found = {normal_name(a["name"]) for id_ in self.entities for a in self.aliases(id_)}
        return sorted(found, key=str.encode)

    def candidates(self, name: str, k: int = 30) -> list[tuple[str, float, dict[str, int]]]:
        """Id, prior and counts by source, likeliest first."""
        counts: dict[str, dict[str, int]] = {}
        for id_ in self.entities:
            spelt: dict[str, list[int]] = {}
            for alias in self.aliases(id_):
                if normal_name(alias["name"]) == normal_name(name):
                    spelt.setdefault(alias["source"], []).append(alias["count"])
            if spelt:
                # Spellings that were not counted are one name.
                counts[id_] = {s: sum(n) if max(n) > 1 else 1 for s, n in spelt.items()}
        weight = {**dict.fromkeys(SOURCES, Fraction(1)), VARIANT: Fraction(1, 10)}
        totals = {s: sum(row.get(s, 0) for row in counts.values()) for s in weight}
        known = [s for s in weight if totals[s]]
        found = []
        for id_, row in counts.items():
            prior = sum(
                (weight[s] * Fraction(row.get(s, 0), totals[s]) for s in known), Fraction(0)
            )
            share = prior / sum(weight[s] for s in known)
            found.append((id_, float(np.float32(float(share))), row))

        def order(item: tuple[str, float, dict[str, int]]) -> tuple[float, float, str]:
            popularity = self.entities[item[0]].get("popularity")
            return -item[1], np.inf if popularity is None else -popularity, item[0]

        return sorted(found, key=order)[:k]

    def in_links(self, id_: str) -> int:
        return sum(id_ in self.links(other) for other in self.entities)

    def met(self, id_: str) -> dict[str, int]:
        """Who was met with an entity, and how often."""
        pairs = [(pair, n) for pair, n in self.pairs.items() if id_ in pair]
        return {a if b == id_ else b: n for (a, b), n in pairs}

    def links(self, id_: str) -> list[str]:
        """The ids it links to, in the order of their numbers."""
        wanted = set(self.entities[id_].get("links") or ()) - {id_}
        return [other for other in self.entities if other in wanted]


def random_world(
    random: Random, size: int, dimensions: int = 0, variants: VariantRules | None = None
) -> World:
    """A world of some entities that share names, links and words."""
    records = [random_record(random, f"{random.choice('QéZa')}{i}") for i in range(size)]
    records[0]["aliases"] = [{"name": "first", "count": 1, "source": s} for s in SOURCES]
    ids = [record["id"] for record in records]
    for record in records:
        record["links"] = random.sample(ids, random.randint(0, min(4, size)))
        if dimensions and (record is records[0] or random.random() < 0.7):
            record["vector"] = random_vector(random, dimensions)
    pairs = {}
    for _ in range(size):
        a, b = sorted(random.sample(ids, 2))
        pairs[a, b] = random.randint(1, 9)
    return World(records, pairs, variants)


def random_record(random: Random, id_: str) -> Record:
    record: Record = {"id": id_, "name": random.choice(SPELLINGS)}
    record["aliases"] = random_aliases(random)
    for key, values in (
        ("description", ("a place", "", "Über alles, 北")),
        ("type", ("PER", "ORG", "LOC", "MISC", "")),
        ("popularity", (None, 0, 1, 1, 2.5, -3)),
        ("in_links", (None, 0, 12)),
        ("out_links", (None, 0, 7)),
    ):
        if random.random() < 0.6:
            record[key] = random.choice(values)
    return record


def random_aliases(random: Random) -> list[Record]:
    return [
        {
            "name": random.choice(SPELLINGS),
            "count": random.choice((1, 1, 2, 5, 10**6)),
            "source": random.choice(SOURCES),
        }
        for _ in range(random.randint(0, 4))
    ]


def random_vector(random: Random, dimensions: int) -> list[float]:
    return [round(random.gauss(0, 1), 3) + 0.0001 for _ in range(dimensions)]


def assert_shows(kb: KnowledgeBase, world: World) -> None:
    """Assert that a knowledge base answers every question as the world does."""
    ids = list(world.entities)
    assert len(kb) == len(ids)
    assert list(kb.ids()) == ids
    number = {id_: kb.number(id_) for id_ in ids}
    assert sorted(number.values()) == list(number.values())
    names = world.names()
    assert list(kb.names()) == names
    for name in [*names, "nobody has this name"]:
        assert [candidate_of(kb, c) for c in kb.candidates(name)] == world.candidates(name)
    assert_batch_is_single(kb, [*names, "nobody has this name", ""], 30)
    for id_, entity in world.entities.items():
        assert_card(kb, world, id_, entity)
    for id_ in ids:
        near = {kb.id_of(other): count for other, count in kb.near(id_).tolist()}
        assert near == world.met(id_)
    assert kb.info()["pairs"] == len(world.pairs)
    assert kb.info()["links"] == sum(len(world.links(id_)) for id_ in ids)
    assert kb.info()["aliases"] == sum(len(world.aliases(id_)) for id_ in ids)
    assert kb.info()["names"] == len(names)


def candidate_of(kb: KnowledgeBase, candidate: Any) -> tuple[str, float, dict[str, int]]:
    counts = zip(kb.sources, candidate.counts, strict=True)
    assert candidate.number == kb.number(candidate.id)
    assert candidate.title == kb.entity(candidate.id).title
    return candidate.id, candidate.prior, {source: n for source, n in counts if n}


def assert_batch_is_single(kb: KnowledgeBase, names: list[str], k: int) -> None:
    lists = kb.candidate_lists(names, k)
    assert len(lists.offsets) == len(names) + 1
    for i, name in enumerate(names):
        part = slice(lists.offsets[i], lists.offsets[i + 1])
        single = kb.candidates(name, k)
        assert lists.entity[part].tolist() == [c.number for c in single]
        assert lists.prior[part].tolist() == [c.prior for c in single]


def assert_card(kb: KnowledgeBase, world: World, id_: str, entity: Record) -> None:
    card = kb.entity(id_)
    assert (card.id, card.title) == (id_, entity["name"])
    assert card.description == entity.get("description", "")
    assert card.type == entity.get("type", "")
    popularity = entity.get("popularity")
    assert np.isnan(card.popularity) if popularity is None else card.popularity == popularity
    aliases = {(a.name, a.source): a.count for a in card.aliases}
    assert aliases == _counted(world.aliases(id_))
    assert len(aliases) == len(card.aliases)
    links = world.links(id_)
    assert list(card.links) == links
    stated = entity.get("in_links"), entity.get("out_links")
    assert card.in_links == (world.in_links(id_) if stated[0] is None else stated[0])
    assert card.out_links == (len(links) if stated[1] is None else stated[1])
    assert kb.links(id_).tolist() == [kb.number(link) for link in links]
    vector = entity.get("vector")
    found = kb.vector(id_)
    if vector is None:
        assert found is None
    else:
        assert found is not None
        unit = np.array(vector) / np.linalg.norm(vector)
        np.testing.assert_allclose(found, unit, atol=2e-3)


def _counted(aliases: Iterable[Record]) -> dict[tuple[str, str], int]:
    counts: dict[tuple[str, str], int] = {}
    for alias in aliases:
        key = alias["name"], alias.get("source", "given")
        counts[key] = counts.get(key, 0) + alias.get("count", 1)
    return counts


def _listed(counts: dict[tuple[str, str], int]) -> list[Record]:
    return [{"name": name, "source": source, "count": n} for (name, source), n in counts.items()]
