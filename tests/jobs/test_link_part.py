"""The unit of work: plain data in, plain data out, with the links that a linker gives."""

import io
import json
import subprocess
import sys
import tracemalloc
from dataclasses import asdict

import numpy as np
import pyarrow.parquet as pq
import pytest

from sgtb.core.errors import JobError
from sgtb.jobs.arrow_arrays import _offsets
from sgtb.jobs.job_inputs import cut
from sgtb.jobs.link_part import _marked, link_frame, link_part
from sgtb.jobs.link_table import LINKS
from sgtb.jobs.worker_linker import linker_spec
from sgtb.linking.linker import Linker
from tests.helpers.job_runs import TEXTS, write_lines


@pytest.fixture(scope="module")
def spec():
    return linker_spec()


@pytest.fixture
def part(tmp_path):
    path = write_lines(tmp_path / "in.jsonl", 8, {4: b"{"})
    return asdict(next(cut([str(path)])))


def rows_of(linker, count):
    """Return the rows of documents, made from objects instead of columns."""
    for i in range(count):
        links = linker.link(TEXTS[i % len(TEXTS)]).links
        if not links:
            nothing = dict.fromkeys(LINKS.names, None)
            yield {**nothing, "document": f"d{i}"}
        for link in links:
            yield {
                "document": f"d{i}", "start": link.start, "end": link.end, "text": link.text,
                "entity": link.entity, "confidence": link.confidence,
                "alternatives": [
                    {"entity": one.entity, "probability": one.probability}
                    for one in link.candidates
                ],
            }  # fmt: skip


def test_a_part_has_the_links_of_the_linker(spec, part):
    outcome = link_part(json.loads(json.dumps(spec)), part, part["input"])
    table = pq.read_table(io.BytesIO(outcome["data"]))
    assert table.schema == LINKS
    with Linker.starter() as linker:
        assert table.to_pylist() == list(rows_of(linker, 8))
    record = outcome["record"]
    assert (record["documents"], record["rows"]) == (8, table.num_rows)
    assert record["links"] == table.num_rows - 2
    assert [one[:3] for one in record["rejected"]] == [[f"{part['input']}:5", part["input"], 5]]
    json.dumps(record)


def test_links_of_a_part_are_not_held_as_objects(spec, tmp_path):
    """Memory grows with the texts of a part and the columns of its links, not with objects."""
    linked_bytes = []
    for count in (100, 900):
        path = write_lines(tmp_path / f"{count}.jsonl", count)
        part = asdict(next(cut([str(path)])))
        link_part(spec, part, str(path))  # fills caches
        tracemalloc.start()
        link_part(spec, part, str(path))
        linked_bytes.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert linked_bytes[1] - linked_bytes[0] < 800 * 1_500


def test_a_part_counts_as_deadly_if_a_process_died_with_it(spec, part):
    """Not if another process still links the same documents, as with two clients."""
    with _marked(spec, part) as died, _marked(spec, part) as other_died:
        assert (died, other_died) == (False, False)
    script = (
        "import json, os, sys; from sgtb.jobs.link_part import _marked\n"
        "with _marked(*json.loads(sys.argv[1])): os._exit(1)"
    )
    assert subprocess.run([sys.executable, "-c", script, json.dumps([spec, part])]).returncode == 1
    with _marked(spec, part) as died:
        assert died
    with _marked(spec, part) as died:
        assert not died


def test_isolation_does_not_change_the_bytes(spec, part):
    assert link_part(spec, part, part["input"], True) == link_part(spec, part, part["input"])


def test_what_is_missing_is_reported(spec, part, monkeypatch, tmp_path):
    assert link_part(spec, part, "/nowhere") == {"missing": "input"}
    monkeypatch.setenv("SGTB_CACHE", str(tmp_path))
    other = {**spec, "kb": "another", "paths": ["/nowhere", "/nowhere"]}
    assert link_part(other, part, part["input"]) == {"missing": "linker"}
    other = {**spec, "version": "0"}
    assert "install the same" in link_part(other, part, part["input"])["error"]


def test_a_frame_has_the_links_of_a_part(spec, part):
    import pandas as pd

    frame = pd.DataFrame({"id": ["a", "b", "c"], "text": [TEXTS[0], None, TEXTS[2]]})
    found = link_frame(spec, frame)
    assert list(found.columns) == [*LINKS.names, "rejected"]
    assert found["document"].tolist() == ["a", "a", "c", "b"]
    assert found["rejected"].isna().tolist() == [True, True, True, False]
    with Linker.starter() as linker:
        assert found["entity"].tolist()[:2] == [link.entity for link in linker.link(TEXTS[0]).links]


def test_a_worker_does_not_import_pandas(spec, part):
    """Importing it takes as long as linking hundreds of documents."""
    script = (
        "import json, sys; from sgtb.jobs.link_part import link_part; "
        "from sgtb.jobs.link_table import Rejection, rejected_table; "
        "spec, part = json.loads(sys.argv[1]); outcome = link_part(spec, part, part['input']); "
        "rejected_table([Rejection(*one) for one in outcome['record']['rejected']]); "
        "sys.exit('pandas' in sys.modules or 'pyarrow.compute' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script, json.dumps([spec, part])], check=True)


def test_isolation_ignores_modules_of_the_working_folder(spec, part, tmp_path, monkeypatch):
    expected = link_part(spec, part, part["input"])
    (tmp_path / "lmdb.py").write_text("raise SystemExit('not this one')")
    monkeypatch.chdir(tmp_path)
    assert link_part(spec, part, part["input"], True) == expected


def test_more_text_than_offsets_can_count_is_refused():
    with pytest.raises(JobError, match="more than 2 GB"):
        _offsets(np.array([1 << 30] * 3, np.int32))
