"""The tutorial's data: every offset and every name in it is right."""

import csv
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from sgtb.text.normalization import normal_name

FOLDER = Path(__file__).parent.parent / "docs" / "guide" / "tutorial"
TEXTS = ("train.jsonl", "test.jsonl")


def entities() -> dict[str, dict[str, str]]:
    with (FOLDER / "companies.csv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    return {row["id"]: row for row in rows}


def parts(cell: str) -> list[str]:
    return cell.split("|") if cell else []


def names(entity: dict[str, str]) -> set[str]:
    return {normal_name(name) for name in (entity["name"], *parts(entity["aliases"]))}


def read(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FOLDER / name).read_text("utf-8").splitlines()]


def test_there_is_what_the_page_promises() -> None:
    assert len(entities()) == 30
    assert [len(read(name)) for name in TEXTS] == [40, 20]


def test_every_entity_is_described_and_linked_with_others() -> None:
    known = entities()
    for id_, entity in known.items():
        assert entity["type"] in ("PER", "ORG")
        assert entity["description"]
        assert set(parts(entity["links"])) <= known.keys() - {id_}
        assert entity["links"]


def test_most_entities_share_a_name() -> None:
    owners = Counter(name for entity in entities().values() for name in names(entity))
    alone = [id_ for id_, entity in entities().items() if max(owners[n] for n in names(entity)) < 2]
    assert sorted(alone) == ["george-lucas", "jimmy-carter", "jules-verne", "volkswagen"]


@pytest.mark.parametrize("name", TEXTS)
def test_mentions_are_names_of_what_they_mean(name: str) -> None:
    known = entities()
    every = set().union(*(names(entity) for entity in known.values()))
    for line, document in enumerate(read(name), 1):
        text, last = document["text"], 0
        for mention in document["mentions"]:
            start, end, entity = mention["start"], mention["end"], mention["entity"]
            place = f"{name}, line {line}: {text[start:end]!r}"
            assert last <= start < end <= len(text), place
            assert not text[max(start - 1, 0) : start].isalnum(), place
            assert not text[end : end + 1].isalnum(), place
            allowed = every if entity is None else names(known[entity])
            assert normal_name(text[start:end]) in allowed, place
            last = end
        assert last, f"{name}, line {line} has no mention"


def test_no_text_is_there_twice() -> None:
    texts = [document["text"] for name in TEXTS for document in read(name)]
    assert len(set(texts)) == len(texts)


def test_training_shows_every_entity() -> None:
    shown = {m["entity"] for document in read("train.jsonl") for m in document["mentions"]}
    assert shown == {*entities(), None}
