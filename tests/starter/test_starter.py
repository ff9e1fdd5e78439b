"""The starter data hold together: every link and mention leads somewhere, splits are as stated."""

import re
from importlib.resources import files
from pathlib import Path

import pytest

from sgtb.kb import KnowledgeBase
from sgtb.kb.build.list_build import build_list
from sgtb.kb.check import check

STARTER = Path(str(files("sgtb.starter")))
MENTION = re.compile(r"\[\[([^|\]]+)(?:\|([^\]]+))?\]\]")


def documents() -> list[tuple[str, list[str], str]]:
    """Return split, names in the header and text of each document."""
    lines = (STARTER / "documents.txt").read_text("utf-8").splitlines()
    assert len(lines) % 2 == 0
    headers = [line.removeprefix("# ").split() for line in lines[::2]]
    return [
        (split, names, text) for (split, *names), text in zip(headers, lines[1::2], strict=True)
    ]


def pairs() -> list[tuple[str, str, str]]:
    """Return name and two texts of each contrast pair."""
    lines = (STARTER / "contrast.txt").read_text("utf-8").splitlines()
    assert len(lines) % 3 == 0
    return [
        (head.removeprefix("# contrast "), one, two)
        for head, one, two in zip(lines[::3], lines[1::3], lines[2::3], strict=True)
    ]


def kind_lines() -> list[str]:
    """Return headers and texts of the texts of twelve kinds, by turns."""
    return (STARTER / "kinds.txt").read_text("utf-8").splitlines()


def mentions(text: str) -> list[tuple[str, str]]:
    """Return entity and surface of each mention."""
    return [(id_, surface or id_) for id_, surface in MENTION.findall(text)]


@pytest.fixture(scope="module")
def kb(tmp_path_factory):
    place = tmp_path_factory.mktemp("starter") / "kb"
    build_list(
        STARTER / "entities.jsonl", place
    )  # an unknown link or a second id would be an error
    assert check(place).ok
    with KnowledgeBase.open(place) as opened:
        yield opened


def test_it_is_as_large_as_stated(kb):
    assert kb.state.entities == 4384
    assert kb.state.links == 26834
    split = [split for split, _, _ in documents()]
    assert [split.count(s) for s in ("train", "dev", "test")] == [254, 62, 106]
    assert len(pairs()) == 32
    kinds = [line.split()[1:] for line in kind_lines()[::2]]
    assert [sum(split == s for split, _ in kinds) for s in ("train", "dev")] == [240, 60]
    sources = ("entities.jsonl", "documents.txt", "contrast.txt", "kinds.txt")
    assert sum((STARTER / name).stat().st_size for name in sources) < 2_000_000


def test_every_mention_has_its_entity_among_its_candidates(kb):
    texts = [text for _, _, text in documents()]
    texts += [text for _, *both in pairs() for text in both]
    texts += kind_lines()[1::2]
    for text in texts:
        assert mentions(text), text
        for id_, surface in mentions(text):
            if id_ == "NIL":
                continue
            assert id_ in [c.id for c in kb.candidates(surface)], f"{surface} in {text}"
        assert "[[" not in MENTION.sub("", text)


def test_most_names_of_dev_and_test_do_not_mean_what_they_mostly_mean(kb):
    for split in ("dev", "test"):
        ambiguous = right = 0
        for where, _, text in documents():
            for id_, surface in mentions(text) if where == split else ():
                candidates = kb.candidates(surface)
                ambiguous += len(candidates) > 1
                right += len(candidates) > 1 and candidates[0].id == id_
        assert ambiguous > 100
        assert right < ambiguous / 2


def test_no_sentence_occurs_twice():
    texts = [text for _, _, text in documents()]
    texts += [text for _, *both in pairs() for text in both]
    sentences = [s for text in texts for s in re.split(r"(?<=[a-z\]][.!?]) ", text)]
    assert len(sentences) == len(set(sentences))


def test_a_third_of_test_is_about_names_that_train_has_not():
    train = {surface for split, _, text in documents() if split == "train"
             for _, surface in mentions(text)}  # fmt: skip
    test = [names for split, names, _ in documents() if split == "test"]
    unseen = [names for names in test if not any(n.replace("_", " ") in train for n in names)]
    assert len(unseen) >= len(test) / 3


def test_contrast_pairs_have_one_name_in_two_readings():
    for name, *both in pairs():
        one, two = (
            {id_ for id_, surface in mentions(text) if surface.lower() == name.lower()}
            for text in both
        )
        assert one, name
        assert two, name
        assert not one & two, name
