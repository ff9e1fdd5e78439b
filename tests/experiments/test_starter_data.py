"""The starter's texts as documents: what marks mean, and errors that name file and line."""

import pytest

from experiments.starter_data import marked_document, read_contrast, read_starter
from sgtb.core.errors import CorpusError


def test_marks_become_mentions():
    document = marked_document("d", "[[Rome]] is older than [[A.S. Roma|Roma]], Ämi. So?", "dev")
    assert document.text == "Rome is older than Roma, Ämi. So?"
    assert [(m.text, m.gold) for m in document.mentions] == [
        ("Rome", "Rome"), ("Roma", "A.S. Roma"),
    ]  # fmt: skip
    for mention in document.mentions:
        assert document.text[mention.start : mention.end] == mention.text
        assert (
            " ".join(t.text for t in document.tokens[mention.first : mention.stop]) == mention.text
        )
    assert len(document.sentences) == 2
    assert (document.id, document.split) == ("d", "dev")


def test_documents_by_split():
    found = read_starter()
    assert {split: len(documents) for split, documents in found.items()} == {
        "train": 254, "dev": 62, "test": 106,
    }  # fmt: skip
    ids = [document.id for documents in found.values() for document in documents]
    assert len(set(ids)) == len(ids)
    assert all(d.split == split and d.mentions for split, ds in found.items() for d in ds)


def test_contrast_pairs_have_a_name_and_two_texts():
    pairs = read_contrast()
    assert len(pairs) == 32
    for pair in pairs:
        for document in (pair.one, pair.two):
            assert pair.name.lower() in {m.text.lower() for m in document.mentions}


GOOD = "# dev Rome\n[[Rome]] is old.\n"


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        (GOOD + "dev Rome\n[[Rome]].\n", 3, "'dev Rome'"),
        (GOOD + "# dev\n[[Rome]].\n", 3, "# train|dev|test <name>"),
        (GOOD + "# exam Rome\n[[Rome]].\n", 3, "# exam Rome"),
        (GOOD + "\n" + GOOD, 3, "''"),
        (GOOD + "# dev Rome\n", 3, "a line of text below"),
        (GOOD + "# dev Rome\n# dev Rome\n", 4, "# dev Rome"),
        (GOOD + "# dev Rome\n[[Rome is old.\n", 4, "[[Rome is old."),
        (GOOD + "# dev Rome\n[[Rome]] and [[|it]].\n", 4, "[[id|surface]]"),
    ],
)
def test_errors_name_file_and_line(tmp_path, text, line, words):
    path = tmp_path / "texts.txt"
    path.write_text(text, "utf-8")
    with pytest.raises(CorpusError) as error:
        read_starter(path)
    assert f"{path}, line {line}: " in str(error.value)
    assert words in str(error.value)


def test_a_contrast_pair_with_one_text_is_an_error(tmp_path):
    path = tmp_path / "contrast.txt"
    path.write_text("# contrast Rome\n[[Rome]].\n", "utf-8")
    with pytest.raises(CorpusError, match=r"line 1: .* with 2 lines of text below it"):
        read_contrast(path)
