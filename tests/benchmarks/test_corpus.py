"""The corpora's benchmark: what it measures is done."""

from benchmarks.corpus import documents, work
from sgtb.formats.registry import read_documents, write_documents


def test_the_generated_documents_are_as_they_should_be():
    (document,) = documents(1)
    assert len(document.mentions) == 20
    assert all(mention.gold == f"Q{mention.text[4:]}" for mention in document.mentions)


def test_every_work_sees_every_document(tmp_path):
    path = tmp_path / "a.jsonl"
    write_documents(documents(3), path, "jsonl")
    for kind in ("read", "check", "zelda"):
        row = work(kind, path)
        assert (row["work"], row["documents"]) == (kind, 3)
        assert row["peak_mb"] >= row["peak_before_mb"] > 1
    assert len(list(read_documents(tmp_path / "a.zelda"))) == 3
