"""Data sets: named after their files, streamed, and read anew each time."""

from dataclasses import replace

import pytest

from sgtb.core.errors import CorpusError
from sgtb.evaluation.linkers import CorpusFile, data_sets
from sgtb.formats.registry import write_documents


@pytest.fixture
def file(documents, tmp_path):
    path = tmp_path / "news.jsonl"
    split = [replace(d, split="dev" if i < 2 else "test") for i, d in enumerate(documents[:5])]
    write_documents(split, path, "jsonl")
    return path


def test_a_file_is_a_data_set_and_can_be_read_twice(file, documents):
    sets = data_sets([file])
    assert list(sets) == ["news"]
    ids = [d.id for d in documents[:5]]
    assert [d.id for d in sets["news"]] == ids
    assert [d.id for d in sets["news"]] == ids


def test_documents_are_read_while_they_are_asked_for(file):
    with open(file, "a", encoding="utf-8") as end:
        end.write("this is no JSON\n")
    documents = iter(CorpusFile(file, "jsonl"))
    assert next(documents).id
    with pytest.raises(CorpusError, match=r"news\.jsonl, line 6"):
        list(documents)


def test_only_a_split(file):
    (chosen,) = data_sets([file], split="dev").values()
    assert len(list(chosen)) == 2
    with pytest.raises(CorpusError, match="no document of the split 'train'"):
        list(CorpusFile(file, split="train"))


def test_files_of_one_name_are_told_apart_by_their_folders(file, tmp_path):
    other = tmp_path / "old" / "news.jsonl"
    other.parent.mkdir()
    other.write_bytes(file.read_bytes())
    assert list(data_sets([file, other])) == [str(file), str(other)]
    with pytest.raises(CorpusError, match="given twice"):
        data_sets([file, file])


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(CorpusError, match=r"nothing\.jsonl: there is no such"):
        data_sets([tmp_path / "nothing.jsonl"])


def test_the_sets_of_wned_are_apart(documents, tmp_path):
    folder = tmp_path / "wned"
    named = [
        replace(d, id=f"{'ace' if i < 2 else 'msnbc'}/{i}") for i, d in enumerate(documents[:5])
    ]
    write_documents(named, folder, "wned")
    sets = data_sets([folder])
    assert {name: len(list(given)) for name, given in sets.items()} == {"ace": 2, "msnbc": 3}
    assert list(data_sets([folder / "ace"])) == ["ace"]
