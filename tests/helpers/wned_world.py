"""A folder for the experiments on WNED: an invented AIDA-CoNLL, ACE and knowledge base."""

import lzma
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from sgtb.core.records import Document
from sgtb.core.sparse_matrix import unit
from sgtb.text.word_vectors import WordVectors
from tests.helpers.corpus_files import annotation, packed, wned_files
from tests.helpers.kb_worlds import build
from tests.helpers.linking_builders import document

ENTITIES = (
    {"id": "Orlan", "name": "Orlan", "type": "LOC", "popularity": 90, "links": ["Vessa"],
     "description": "Orlan is a town."},
    {"id": "Orlan Rovers", "name": "Orlan Rovers", "aliases": ["Orlan"], "type": "ORG",
     "popularity": 30, "links": ["Vessa F.C."], "description": "A tennis club."},
    {"id": "Vessa", "name": "Vessa", "type": "LOC", "popularity": 40, "links": ["Orlan"],
     "description": "Vessa is a town with much rain."},
    {"id": "Vessa F.C.", "name": "Vessa F.C.", "aliases": ["Vessa"], "type": "ORG",
     "popularity": 20, "links": ["Orlan Rovers"], "description": "A chess club."},
    {"id": "Anna Meck", "name": "Anna Meck", "aliases": ["Meck"], "type": "PER", "popularity": 5,
     "description": "A player."},
    {"id": "Anna Meck (poet)", "name": "Anna Meck (poet)", "aliases": ["Anna Meck", "Meck"],
     "type": "PER", "popularity": 8, "description": "A poet."},
    {"id": "1984", "name": "1984", "popularity": 1, "description": "A year."},
)  # fmt: skip
TOPICS = ("TENNIS", "CHESS", "ROWING", "GOLF", "STORM", "RAIN", "HAIL", "SNOW")
ACE = (
    annotation("Orlan", "orlan", 3),  # a small letter in the title, as in WNED now and then
    annotation("Anna Meck", "Anna_Meck_(poet)", 10),
    annotation("Meck", "Anna_Meck", 15),
    annotation("Vessa Fair", "Vessa_Fair", 42),
    annotation("Orlan", "NIL", 73),
)


def aida_documents() -> tuple[Document, ...]:
    """Documents on sports, where names are clubs, and on weather, where they are towns."""
    found = []
    for i, split in enumerate(("train",) * 12 + ("dev", "test") * 2):
        topic = i % len(TOPICS)
        orlan, vessa = ("Orlan Rovers", "Vessa F.C.") if topic < 4 else ("Orlan", "Vessa")
        text = document(
            str(i), f"{TOPICS[topic]} - NEWS .", f"[Orlan|{orlan}] met [Vessa|{vessa}] today .",
            f"[Meck|Anna Meck] saw it from [Orlan|{orlan}] in [Tor|Tor Bay] .", split=split,
        )  # fmt: skip
        # As in AIDA, gold is a number, and a title stands beside it.
        mentions = (replace(m, gold="1984", title=m.gold) for m in text.mentions)
        found.append(replace(text, mentions=tuple(mentions)))
    return tuple(found)


def few_words() -> WordVectors:
    words = "orlan vessa rovers meck poet storm rain tennis chess met saw today town club".split()
    matrix = unit(np.random.default_rng(0).normal(size=(len(words), 4)))
    return WordVectors("invented", {word: i for i, word in enumerate(words)}, matrix)


def small_kb(folder: Path) -> Path:
    return build(folder, ENTITIES)


def write_ace(folder: Path, annotations: Sequence[str] = ACE) -> None:
    """Write an archive whose four other sets are empty."""
    archive = lzma.compress(packed(wned_files(*annotations)), preset=0)
    (folder / "wned.tar.xz").write_bytes(archive)
