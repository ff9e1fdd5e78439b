"""Lists as Excel files: the same entities and errors as of CSV, by row."""

import datetime
import io
import zipfile
from importlib import import_module

import pytest

from sgtb.core.errors import EntityListError, KnowledgeBaseError, MissingExtraError
from sgtb.kb import KnowledgeBase, update
from sgtb.kb.build import list_tables
from sgtb.kb.build.entity_lines import EntityList
from sgtb.kb.build.list_build import build_list

openpyxl = pytest.importorskip("openpyxl")


def excel(path, rows, **sheets):
    """Write a workbook: its first sheet, and others by name."""
    book = openpyxl.Workbook()
    for name, content in {"First": rows, **sheets}.items():
        sheet = book.create_sheet(name)
        for row in content:
            sheet.append(row)
    del book["Sheet"]
    book.save(path)
    return path


ROWS = [
    ["ID", " Name ", "Aliases", "Popularity", "links", None],
    [1, "One", "uno | eins", 2.5, "2", None],
    [],
    ["2", 1984, None, 3, None],
    [3.0, datetime.date(2020, 1, 2), None, 1e20, "1|2"],
]


def test_an_excel_file_builds(tmp_path):
    path = excel(tmp_path / "places.xlsx", ROWS)
    report = build_list(path, tmp_path / "kb")
    assert (report.entities, report.links) == (3, 3)
    with KnowledgeBase.open(tmp_path / "kb") as kb:
        assert kb.info()["origin"] == {"built from": "xlsx", "file": "places.xlsx"}
        one, two, three = (kb.entity(id_) for id_ in "123")
        assert {alias.name for alias in one.aliases} == {"One", "uno", "eins", "ein"}
        assert (one.popularity, one.links) == (2.5, ("2",))
        assert (two.title, two.popularity, three.title) == ("1984", 3, "2020-01-02 00:00:00")
    assert [line.line for line in EntityList(path)] == [2, 4, 5]


def test_errors_name_row_and_column(tmp_path):
    rows = [
        ["id", "Label", "popularity", "vector"],
        ["Q1", "One", "high", None],
        [None, "Two", 2],
        ["Q1", "#REF!", True, "1 x"],
        ["Q4", "Four", None, None, "more"],
    ]
    path = excel(tmp_path / "places.xlsx", rows)
    with pytest.raises(EntityListError) as caught:
        build_list(path, tmp_path / "kb")
    found = [line.replace(str(path), path.name).partition(";")[0] for line in caught.value.args]
    assert found == [
        "places.xlsx, row 2, column popularity: 'high' is not a number",
        "places.xlsx, row 3, column id: missing",
        "places.xlsx, row 4, column Label: '#REF!' is an error of Excel",
        "places.xlsx, row 4, column Label: missing",
        "places.xlsx, row 4, column popularity: 'True' is not a number",
        "places.xlsx, row 4, column vector: 'x' is not a number",
        "places.xlsx, row 4, column id: 'Q1' is given twice, first in row 2",
        "places.xlsx, row 5: 5 cells for 4 columns",
        "places.xlsx: 8 errors",
    ]
    assert [item.name for item in tmp_path.iterdir()] == ["places.xlsx"]


def test_a_sheet_is_chosen_by_name(tmp_path):
    second = [["id", "name"], ["B", "b"]]
    path = excel(tmp_path / "a.xlsx", [["id", "name"], ["A", "a"]], Second=second)
    assert [line.id for line in EntityList(path)] == ["A"]
    assert [line.id for line in EntityList(path, sheet="Second")] == ["B"]
    build_list(path, tmp_path / "kb")
    update.add(tmp_path / "kb", EntityList(path, sheet="Second"))
    with KnowledgeBase.open(tmp_path / "kb") as kb:
        assert list(kb.ids()) == ["A", "B"]
    with pytest.raises(KnowledgeBaseError, match=r"no sheet 'Third'; there are \['First', 'Sec"):
        list(EntityList(path, sheet="Third"))
    (tmp_path / "a.csv").write_text("id,name\nA,a\n")
    with pytest.raises(KnowledgeBaseError, match="not an Excel file; leave out the sheet"):
        list(EntityList(tmp_path / "a.csv", sheet="First"))


def test_excel_is_detected_by_content(tmp_path):
    path = excel(tmp_path / "a.xlsx", [["id", "name"], ["A", "a"]]).rename(tmp_path / "a.csv")
    assert [line.id for line in EntityList(path)] == ["A"]
    (tmp_path / "old.xls").write_bytes(b"\xd0\xcf\x11\xe0" + bytes(600))
    with pytest.raises(KnowledgeBaseError, match=r"old\.xls: an old or encrypted Excel file; save"):
        list(EntityList(tmp_path / "old.xls"))


def test_without_openpyxl_the_extra_is_named(tmp_path, monkeypatch):
    path = excel(tmp_path / "a.xlsx", [["id", "name"], ["A", "a"]])

    def missing(name):
        raise ImportError(f"No module named {name!r}", name=name)

    monkeypatch.setattr(list_tables, "import_module", missing)
    with pytest.raises(MissingExtraError, match=r"openpyxl: pip install 'sgtb\[excel\]'"):
        list(EntityList(path))
    monkeypatch.setattr(list_tables, "import_module", import_module)
    assert len(list(EntityList(path))) == 1


def test_damaged_files_and_other_archives_are_refused(tmp_path):
    whole = excel(tmp_path / "a.xlsx", ROWS * 50).read_bytes()
    other = io.BytesIO()
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("content.xml", "<x/>")
    middle = len(whole) // 2
    cases = [whole[:middle], whole[:-30], whole[:60], other.getvalue(), b"PK\x03\x04"]
    cases += [whole[:at] + bytes(40) + whole[at + 40 :] for at in range(40, len(whole) - 40, 400)]
    said = []
    for data in cases:
        path = tmp_path / "bad.xlsx"
        path.write_bytes(data)
        try:
            list(EntityList(path))
        except KnowledgeBaseError as error:
            said.append(str(error))
    assert all(text.startswith(str(path)) for text in said)
    assert len(said) > len(cases) // 2, "some members are not read"


def test_sheets_have_limits(tmp_path, monkeypatch):
    path = excel(tmp_path / "a.xlsx", [["id", "name"], ["A", "a"], ["B", "b"], ["C", "c"]])
    monkeypatch.setattr(list_tables, "_MAX_ROWS", 3)
    with pytest.raises(EntityListError, match=r"row 4: more than 3 rows; save it as CSV"):
        list(EntityList(path))
    monkeypatch.setenv("SGTB_MAX_WHOLE", "1000")
    with pytest.raises(
        KnowledgeBaseError, match=r"bytes unpacked; the limit is 1,000; SGTB_MAX_WHOLE=N"
    ):
        list(EntityList(path))
