"""Sizing: measured bytes on disk per item of a knowledge base; computed bytes of whole wikis."""

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.dump_generated import DumpShape, write_dump
from benchmarks.dump_repeated import data_folder, real_dump, write_repeated
from benchmarks.probes import ask

DIMENSIONS = 100
KINDS = ("entities", "aliases", "links", "pairs", "vectors")

LIST, WIKI = "generated list", "articles of a wiki"
"""Knowledge bases whose bytes per item are used."""
_SMALL_WIKI = 12_000_000


@dataclass(frozen=True)
class World:
    """A knowledge base that is not available: its contents, and the bytes per item to use.

    A pair takes an item in the lists of both entities.
    """

    name: str
    entities: int
    aliases: float  # an entity
    links: float  # an entity
    pairs: float  # an entity
    vectors: bool
    like: str  # the knowledge base whose entities and aliases it has


# Articles: 253,516 in March 2024 and 6.9 million ("Size of Wikipedia"). Links: 163 million that
# editors wrote into 5.6 million English articles (Consonni et al. 2019, arXiv 1902.04298); half
# as many for the shorter articles of Simple English is our assumption. Aliases: 13.75 million
# pages with redirects in the same paper, so 1.5 redirects an article; besides the title, a bold
# name for one article in two, and three different anchor texts are our assumption. Pairs: three a
# link, as 98 real articles have, 818 to 237; what they share with others is not taken off.
# Wikidata: 97.3 million items with 102.6 million aliases in all languages (wikitech,
# User:AKhatun, June 2021), and a label each; 1.65 billion statements on 115 million items in
# 2025 are the most links there can be.
WORLDS = (
    World("Simple English Wikipedia", 250_000, 5, 15, 45, False, WIKI),
    World("  with vectors", 250_000, 5, 15, 45, True, WIKI),
    World("English Wikipedia", 7_000_000, 6, 29, 87, False, WIKI),
    World("  with vectors", 7_000_000, 6, 29, 87, True, WIKI),
    World("Wikidata, one language", 100_000_000, 2, 14, 0, False, LIST),
    World("  with vectors", 100_000_000, 2, 14, 0, True, LIST),
)


def unit_bytes(sizes: Mapping[str, Any]) -> dict[str, float | None]:
    """Return the bytes per item of each kind; None without items."""
    return {
        kind: sizes["bytes"][kind] / sizes[kind] if sizes[kind] else None for kind in KINDS
    }  # fmt: skip


def measured_units(
    known: Mapping[str, Mapping[str, Any]], folder: Path, say: Callable[[str], None], quick: bool
) -> dict[str, dict[str, float | None]]:
    """Return the bytes per item of each kind, in knowledge bases measured before and here.

    known  sizes by name, as `kb_probe.sizes` returns them
    quick  leave out PPRforNED
    """
    found = dict(known)
    say("building small ones, for their sizes ...")
    path, place = folder / "small.xml", folder / "small"
    source = real_dump()
    if source is None:
        write_dump(path, DumpShape(_SMALL_WIKI, titles=2_000))
    else:
        write_repeated(source, path, _SMALL_WIKI)
    ask("wiki_probe.build", path, place, 2, 1 << 30, "none", 0)
    found[WIKI] = ask("kb_probe.sizes", place)
    path.unlink()
    shutil.rmtree(place)
    archive = data_folder() / "pprforned"
    if archive.is_dir() and not quick:
        ask("kb_probe.build_pprforned", archive, place)
        found["PPRforNED"] = ask("kb_probe.sizes", place)
        shutil.rmtree(place)
    return {name: unit_bytes(sizes) for name, sizes in found.items()}


def computed(
    units: Mapping[str, Mapping[str, float | None]],
) -> list[dict[str, Any]]:
    """Return the size of whole wikis, computed from the bytes per item."""
    rows = []
    for world in WORLDS:
        unit = units[world.like]
        each = {
            "entities": unit["entities"] or 0.0,
            "aliases": world.aliases * (unit["aliases"] or 0.0),
            "links": world.links * 4.0,
            "pairs": world.pairs * 16.0,
            "vectors": 2.0 * DIMENSIONS if world.vectors else 0.0,
        }
        rows.append(
            {
                "name": world.name,
                "entities": world.entities,
                "as_measured_in": world.like,
                "gigabytes": {kind: world.entities * size / 1e9 for kind, size in each.items()},
                "total_gigabytes": world.entities * sum(each.values()) / 1e9,
            }
        )
    return rows
