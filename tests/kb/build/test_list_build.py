"""List builds in batches of lines: the same bytes and errors as line by line."""

import json
import os
from random import Random

import pytest

from sgtb.core.errors import EntityListError, KnowledgeBaseError
from sgtb.kb import KnowledgeBase
from sgtb.kb.build import entity_lines, list_build
from sgtb.kb.build.list_build import build_list
from sgtb.kb.export import export_lines
from sgtb.kb.name_variants import DEFAULT_RULES, VariantRules
from tests.helpers.wiki_dump import digests

WORDS = ("Anna", "of", "Zürich", "Ltd.", "von", "Łódź", "Saint", "IV", "Centre", "東京", "x")
TYPES = ("PER", "person", "ORG", "Company", "LOC", "city", "MISC", "ship", "Ship", "gene", "")


def record(random, number, ids, odd):
    """An entity; some fields of one line in ten are odd, so that Python reads it."""
    name = " ".join(random.choices(WORDS[: None if random.random() < odd else 9], k=3))
    aliases = [
        random.choice((name, f"{name} {i}", {"name": name, "count": 3, "source": "anchors"}))
        for i in range(random.randint(0, 4))
    ]
    made = {"id": f"Q{number}", "name": name, "aliases": aliases, "type": random.choice(TYPES)}
    if not made["type"]:
        del made["type"]
    if random.random() < 0.7:
        made |= {"popularity": random.uniform(0, 9), "links": random.choices(ids, k=3)}
    if random.random() < 0.3:
        made |= {"description": f"a {name}", "in_links": 7, "out_links": random.randint(0, 9)}
    if random.random() < odd:
        made["description"] = " two  spaces"
    return made


def write(path, seed, odd=0.1, ids=400, entities=400):
    random = Random(seed)
    links = [f"Q{i}" for i in range(ids)]
    lines = [json.dumps(record(random, i, links, odd)) for i in range(entities)]
    if odd:
        lines.insert(50, "")
    path.write_bytes("\n".join(lines).encode())
    return path


def by_lines(monkeypatch):
    """Turn the kernels off: every line is for Python."""

    class Nothing:
        def __init__(self, block):
            ends = [i + 1 for i, byte in enumerate(block) if byte == 10]
            if not block.endswith(b"\n"):
                ends.append(len(block))
            self.spans = [(a, b, 0) for a, b in zip([0, *ends], ends, strict=False)]

    monkeypatch.setattr(list_build, "scan_entity_lines", lambda forms, block, limit: Nothing(block))
    monkeypatch.setattr(list_build, "pack_entity_lines", lambda given, block, limit: Nothing(block))


def both(monkeypatch, build):
    """What a build returns with kernels and without."""
    fast = build("fast")
    with monkeypatch.context() as patch:
        by_lines(patch)
        return fast, build("slow")


@pytest.mark.parametrize("odd", [0, 0.1, 1])
@pytest.mark.parametrize("variants", [DEFAULT_RULES, None, VariantRules((("", "a", "b"),))])
def test_batches_and_lines_make_the_same_bytes(tmp_path, monkeypatch, odd, variants):
    file = write(tmp_path / "list.jsonl", seed=int(10 * odd), odd=odd)
    monkeypatch.setattr(entity_lines, "_BLOCK", 5000)

    def build(name):
        report = build_list(file, tmp_path / name, variants=variants)
        return report, digests(tmp_path / name)

    fast, slow = both(monkeypatch, build)
    assert fast == slow
    assert fast[0].entities == 400


@pytest.mark.parametrize("size", [1, 700, 1 << 20])
@pytest.mark.parametrize("threads", [1, 2, 4])
def test_blocks_and_threads_change_no_byte(tmp_path, monkeypatch, size, threads):
    file = write(tmp_path / "list.jsonl", seed=3)
    build_list(file, tmp_path / "kb")
    monkeypatch.setattr(entity_lines, "_BLOCK", size)
    monkeypatch.setattr(entity_lines, "cores", lambda: threads)
    build_list(file, tmp_path / "other")
    assert digests(tmp_path / "other") == digests(tmp_path / "kb")


def test_an_export_is_built_in_batches(tmp_path, monkeypatch):
    build_list(write(tmp_path / "list.jsonl", seed=4), tmp_path / "kb")
    file = tmp_path / "export.jsonl"
    with KnowledgeBase(tmp_path / "kb") as kb:
        file.write_text("".join(f"{line}\n" for line in export_lines(kb)), encoding="utf-8")
    fast, slow = both(monkeypatch, lambda name: build_list(file, tmp_path / name))
    assert fast == slow
    assert digests(tmp_path / "fast") == digests(tmp_path / "slow")


def test_unknown_links_are_counted_in_batches(tmp_path, monkeypatch):
    file = write(tmp_path / "list.jsonl", seed=5, ids=500)

    def build(name):
        return build_list(file, tmp_path / name, skip_unknown_links=True)

    fast, slow = both(monkeypatch, build)
    assert fast == slow
    assert fast.unknown_links > 50
    assert digests(tmp_path / "fast") == digests(tmp_path / "slow")


def twice(lines):
    lines[300] = lines[20]
    lines[301] = lines[301].replace('"id": "Q', '"id": "Q7')


def many_sources(lines):
    for i in range(300):
        lines[i] = json.dumps({"id": f"Q{i}", "name": "x", "aliases": [
            {"name": "y", "source": f"s{i}"}
        ]})  # fmt: skip


def many_types(lines):
    lines += [f'{{"id":"t{i}","name":"x","type":"kind {i}"}}' for i in range(1100)]


def links_to_nobody(lines):
    lines[100:110] = [f'{{"id":"n{i}","name":"x","links":["no{i}","Q1"]}}' for i in range(10)]


@pytest.mark.parametrize("damage", [twice, many_sources, many_types, links_to_nobody])
def test_errors_are_those_of_the_lines(tmp_path, monkeypatch, damage):
    file = write(tmp_path / "list.jsonl", seed=6)
    lines = file.read_text().split("\n")
    damage(lines)
    file.write_text("\n".join(lines))

    def build(name):
        with pytest.raises(EntityListError) as raised:
            build_list(file, tmp_path / name)
        return raised.value.args

    fast, slow = both(monkeypatch, build)
    assert fast == slow
    assert any("line" in error for error in fast)


def test_a_line_beyond_the_limit_ends_the_list(tmp_path, monkeypatch):
    file = write(tmp_path / "list.jsonl", seed=7, odd=0)
    lines = file.read_text().split("\n")
    lines[200] = json.dumps({"id": "long", "name": "x" * 3000})
    file.write_text("\n".join(lines))
    monkeypatch.setenv("SGTB_MAX_LINE", "2000")
    monkeypatch.setattr(entity_lines, "_BLOCK", 1000)
    with pytest.raises(EntityListError, match=r"line 201: too long"):
        build_list(file, tmp_path / "kb")


@pytest.mark.parametrize(
    "second", [[1, 0, 2], [0, 1, 3], [0, 1], [0, 1, 2, 3]], ids=["order", "new", "less", "more"]
)
def test_a_list_that_changes_between_its_readings(tmp_path, monkeypatch, second):
    path = tmp_path / "list.jsonl"

    def write(numbers):
        path.write_text(
            "".join(json.dumps({"id": f"E{i}", "name": f"N{i}"}) + "\n" for i in numbers)
        )

    write([0, 1, 2])
    real = list_build._Links.__init__

    def changed(self, *args):
        write(second)
        os.utime(path, ns=(0, 0))  # as if later, also where the clock is coarse
        real(self, *args)

    monkeypatch.setattr(list_build._Links, "__init__", changed)
    with pytest.raises(KnowledgeBaseError, match=r"list\.jsonl: changed while it was read"):
        build_list(path, tmp_path / "kb")
    assert not (tmp_path / "kb").exists()
