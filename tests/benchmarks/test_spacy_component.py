"""The spaCy component's benchmark: what it compares, never the timings themselves."""

import io

from rich.console import Console

from benchmarks import spacy_component as bench


def test_everything_is_measured_and_shown(monkeypatch):
    monkeypatch.setattr(bench, "REAL", ())
    record = bench.measure(bench.Extent(True, 6, 1))
    assert record["names_by"] == "entity_ruler"
    assert record["documents"] == 6
    assert record["mentions"] > 12
    assert {"linker", "component", "pipeline"} <= set(record["processor_ms"])
    assert all(value > 0 for value in record["wall_ms"].values())
    shown = io.StringIO()
    Console(file=shown, width=100).print(bench.table_of(record))
    assert "component beside linker" in shown.getvalue()


def test_ratios_say_what_is_beside_what():
    used = {
        "linker": 2.0, "component": 3.0, "linker, reasons": 4.0, "component, reasons": 5.0,
        "pipeline": 12.0,
    }  # fmt: skip
    wall = {"pipeline": 10.0, bench.TWO: 6.0}
    assert bench.ratios(wall, used) == {
        "component beside linker": 1.5,
        "component beside linker, reasons": 1.25,
        "component in the pipeline": 0.25,
        "two processes beside one": 0.6,
    }
    assert "two processes beside one" not in bench.ratios({"pipeline": 10.0}, used)


def test_texts_differ():
    assert len(set(bench.texts(1000))) == 1000
