"""Jobs: the same bytes for every engine and number of workers; only what is left is done."""

import json
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sgtb.core.errors import JobError
from sgtb.integrations.dask import DaskEngine
from sgtb.jobs.link_job import LinkJob
from sgtb.jobs.process_engine import ProcessEngine
from sgtb.jobs.worker_linker import linker_spec
from tests.helpers.job_runs import TEXTS, check_complete, content, run_here


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_a_cluster_gives_equal_bytes(cluster, lines, reference, ids, tmp_path, workers):
    cluster.cluster.scale(workers)
    cluster.wait_for_workers(workers)
    counts = run_here(tmp_path / "job", lines, engine=DaskEngine(cluster))
    cluster.cluster.scale(1)
    check_complete(tmp_path / "job", reference, ids)
    assert (counts.documents, counts.skipped) == (len(ids), 0)


def test_processes_give_equal_bytes(lines, reference, ids, tmp_path):
    with ProcessEngine(2) as engine:
        run_here(tmp_path / "job", lines, engine=engine)
    check_complete(tmp_path / "job", reference, ids)


def test_only_invalid_parts_are_done_again(lines, reference, ids, tmp_path):
    job = tmp_path / "job"
    shutil.copytree(reference, job)
    (job / "part-00001.parquet").write_bytes(b"damaged")
    (job / "part-00003.json").unlink()
    (job / "_SUCCESS").unlink()
    counts = run_here(job, lines)
    assert counts.skipped == counts.parts - 2
    check_complete(job, reference, ids)
    assert json.loads((job / "_SUCCESS").read_bytes())["documents"] == len(ids)


def test_jobs_of_other_inputs_and_settings_are_refused(lines, reference, tmp_path):
    job = tmp_path / "job"
    shutil.copytree(reference, job)
    before = content(job)
    with pytest.raises(JobError, match="differs in part_bytes, parts"):
        run_here(job, lines, part_bytes=500)
    spec = linker_spec()
    spec["settings"] = {**spec["settings"], "candidates": 3}
    with pytest.raises(JobError, match=r"differs in linker.settings.candidates;"):
        LinkJob.begin(job, [str(lines)], spec, 1000)
    assert content(job) == before


def test_parquet_and_lines_in_one_job(lines, tmp_path):
    rows = tmp_path / "in.parquet"
    pq.write_table(pa.table({"text": TEXTS}), rows)
    counts = run_here(tmp_path / "job", lines, rows, part_bytes=10**6)
    assert (counts.parts, counts.documents) == (2, 164)
    table = pq.read_table(tmp_path / "job" / "part-00001.parquet")
    assert table["document"].to_pylist()[0] == f"{rows}:1"


def test_a_job_without_documents_succeeds(tmp_path):
    empty = tmp_path / "in.jsonl"
    empty.touch()
    assert run_here(tmp_path / "job", empty).documents == 0
    assert (tmp_path / "job" / "_SUCCESS").exists()
    assert pq.read_table(tmp_path / "job" / "rejected.parquet").num_rows == 0


def test_an_input_that_disappears_is_an_error(lines, tmp_path):
    gone = tmp_path / "in.jsonl"
    shutil.copy(lines, gone)
    begun = LinkJob.begin(tmp_path / "job", [str(gone)], linker_spec(), 1000)
    gone.unlink()
    with ProcessEngine(1) as engine, pytest.raises(FileNotFoundError):
        begun.run(engine)
