"""The survey: everything that is wrong with a file, not only the first of it."""

import math

from sgtb.formats.survey import MAX_LISTED, survey
from tests.helpers.corpus_files import annotation, wned_files, write
from tests.helpers.published_corpora import FILES

LINES = """\
{"id": "a", "text": "Old Orlan beat Vessa.", "mentions": [
{"id": "a", "text": "Old Orlan beat Vessa.", "mentions": [{"start": 0, "end": 9, "entity": "Q1"}, \
{"start": 4, "end": 9, "entity": null}, {"start": 15, "end": 99}, {"start": 15, "end": 20}]}
{"id": "a", "text": "Orlan", "mentions": [{"start": 1, "end": 6, "text": "Orlan"}, \
{"start": 0, "end": 5, "entity": "Q1", "text": "Orlan"}]}
7
{"id": "b", "text": "x"}
"""


def test_all_that_is_wrong_is_told(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text(LINES)
    seen = []
    found = survey(path, on_document=seen.append)
    assert [document.id for document in seen] == ["a", "a", "b"]
    assert (found.format, found.documents, found.mentions) == ("jsonl", 3, 4)
    assert (found.linked, found.nil, found.unannotated, found.entities) == (2, 1, 1, 1)
    assert math.isclose(found.nil_share, 1 / 3)
    assert [line.partition(": ")[0] for line in found.unreadable.listed] == [
        f"{path}, line {line}" for line in (1, 2, 3, 4)
    ]
    assert found.overlaps.listed == (
        "document 'a': the mention 'Orlan' at 4 to 9 overlaps an earlier one",
    )
    assert found.repeated.listed == ("document 2: an earlier one has the same id 'a'",)
    assert found.errors == 6
    assert found.to_dict()["unreadable"]["total"] == 4


def test_a_file_without_fault(tmp_path):
    path = tmp_path / "a"
    path.write_text(FILES["zelda"])
    found = survey(path)
    assert (found.format, found.documents, found.errors, found.nil_share) == ("zelda", 2, 0, 0.0)


def test_no_mention_has_no_share(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "x"}')
    assert survey(path).to_dict()["nil_share"] is None


def test_what_can_be_repaired_is_no_error(tmp_path):
    given = annotation("Anna", "", 11), annotation("Quill", "Quill", 5)
    folder = write(tmp_path, wned_files(*given))
    found = survey(folder / "wned" / "ace")
    assert "found -1" in found.repaired.listed[0]
    assert "'Quill' is 'lan, ' at its offset; dropped" in found.unreadable.listed[0]
    assert (found.documents, found.errors) == (1, 1)


def test_what_ends_the_reading_is_told_with_what_was_read(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(FILES["aida"].encode() + b"caf\xe9\n")
    found = survey(path, "aida")
    assert found.documents == 2
    assert "is not UTF-8" in found.unreadable.listed[0]


def test_problems_are_listed_up_to_a_number_and_counted_beyond(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "x"}\n' + "[]\n" * (MAX_LISTED + 5))
    found = survey(path)
    assert (found.unreadable.total, len(found.unreadable.listed)) == (MAX_LISTED + 5, MAX_LISTED)
