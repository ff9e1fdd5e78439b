"""Tables in Markdown."""

import pytest

from experiments.markdown import markdown_table


def test_numbers_stand_to_the_right_and_the_source_is_aligned():
    rows = [("local", 0.8, "−1.5"), ("bibsg", 12.25, ""), ("bs", float("nan"), "±0.1")]
    assert markdown_table(["system", "accuracy", "Δ"], rows) == (
        "| system | accuracy |    Δ |\n"
        "| ------ | -------: | ---: |\n"
        "| local  |      0.8 | −1.5 |\n"
        "| bibsg  |    12.25 |      |\n"
        "| bs     |      nan | ±0.1 |\n"
    )


def test_cells_cannot_break_the_table():
    assert markdown_table(["a|b"], [["x\ny | z"], [None]]) == (
        "| a\\|b     |\n| -------- |\n| x y \\| z |\n| None     |\n"
    )


def test_a_table_without_rows_is_its_heading():
    assert markdown_table(["a", "long"], []) == "| a   | long |\n| --- | ---- |\n"


def test_a_row_of_another_length_is_refused():
    with pytest.raises(ValueError, match="row 1 has 1 cells under 2 headings"):
        markdown_table(["a", "b"], [[1, 2], [3]])
