"""The unseen texts: sixty of twelve kinds, and what the starter makes of them."""

from collections import Counter

import pytest

from experiments.starter_data import KindText, marked_document
from experiments.starter_unseen import score_kinds, unseen_texts
from sgtb import Linker

KINDS = "news chat tweet legal medical table headline lower long unknown german spanish".split()


def test_there_are_five_of_each_kind():
    assert Counter(text.kind for text in unseen_texts()) == dict.fromkeys(KINDS, 5)


def test_counts_by_hand():
    texts = [
        KindText(
            "news",
            marked_document(
                "1",
                "[[Scottie Pippen|Pippen]] met [[NIL|Tarek Villiers]] of the [[Chicago Bulls]].",
            ),
        ),
        KindText("news", marked_document("2", "Pippen slept.")),
    ]
    with Linker.starter() as linker:
        news, every = score_kinds(linker, texts)
    assert (news.right, news.gold, news.spurious) == (3, 3, 1)
    assert news.links == (3, 2)
    assert news.share == pytest.approx(3 / 4)
    assert (every.right, every.links) == (news.right, news.links)


def test_most_answers_are_right():
    """90 % right is the aim and reached; of the confident links, 97 % is the aim."""
    with Linker.starter() as linker:
        every = score_kinds(linker, unseen_texts())[-1]
    assert every.right / every.gold >= 0.9
    n_confident, n_right = every.confident
    assert n_right / n_confident > 0.95


@pytest.mark.parametrize("name", ["Lincoln", "Ford", "Utah", "Washington", "Amazon", "Paris"])
def test_a_repeated_name_has_one_meaning(name):
    """Linked entities of one name do not support each other."""
    with Linker.starter() as linker:
        links = linker.link(f"{name} is far away. {name} is near.").links
    assert [link.text for link in links] == [name, name]
    assert links[0].entity == links[1].entity


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Sadly Everton lost.", "Everton"),
        ("Frau Merkel sprach lange.", "Merkel"),
        ("Monsieur Macron est là.", "Macron"),
        ("Вчера Everton проиграл.", "Everton"),
    ],
)
def test_a_word_before_a_name_is_no_part_of_it(text, name):
    with Linker.starter() as linker:
        assert [link.text for link in linker.link(text).links if link.entity] == [name]
