"""`sgtb link --batch`: a job by one command, its summary, and what it refuses."""

import json

import pyarrow.parquet as pq
import pytest

from sgtb import build_kb
from sgtb.cli.link_batch import progress_line
from sgtb.jobs.link_job import JobCounts
from sgtb.linking.linker import Linker
from tests.helpers.job_runs import ENTITIES, TEXTS, write_lines


def test_a_job_and_its_summary(run, tmp_path):
    lines = write_lines(tmp_path / "in.jsonl", 8, {3: b"{"})
    first = json.loads(run("link", "--batch", lines, "-o", tmp_path / "job", "--json").stdout)
    assert {**first, "seconds": 0} == {
        "parts": 1, "skipped": 0, "documents": 8, "links": first["links"], "rejected": 1,
        "lost": 0, "seconds": 0,
    }  # fmt: skip
    assert first["links"] > 8
    again = run("link", "--batch", lines, "-o", tmp_path / "job")
    assert again.stdout == ""
    assert "8 documents" in again.stderr
    assert f"1 rejected (reasons in {tmp_path / 'job' / 'rejected.parquet'}); " in again.stderr
    assert "1 part, 1 of them done before; 0:00:0" in again.stderr
    refused = run("link", "--batch", lines, "-o", tmp_path / "job", "--candidates", 2, code=1)
    assert "differs in linker.settings.candidates" in refused.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--batch", "in.jsonl"], "needs --output JOB"),
        (["--batch", "-o", "job"], "name at least one"),
        (["--batch", "-", "-o", "job"], "name at least one"),
        (["--batch", "in.jsonl", "-o", "job", "--lines"], "takes none of"),
        (["text", "-o", "job"], "need --batch"),
        (["text", "--cluster", "local:1"], "need --batch"),
    ],
)
def test_options_that_do_not_fit_are_refused(run, arguments, message):
    assert message in " ".join(run("link", *arguments, code=2).stderr.replace("│", "").split())


def test_inputs_that_are_missing_are_named(run, tmp_path):
    result = run("link", "--batch", tmp_path / "no.jsonl", "-o", tmp_path / "job", code=1)
    assert result.stderr.endswith("no.jsonl: No such file or directory\n")
    assert not (tmp_path / "job").exists()


def test_progress_has_rate_time_left_and_failures():
    counts = JobCounts(total=10_000, parts=5, documents=1990, rejected=10, lost=1)
    assert progress_line(counts, 1000, 10.0) == (
        "2,000 of 10,000 documents, 100 per second, 0:01:20 left, 10 rejected, "
        "1 part lost with its worker"
    )


def test_the_starter_by_name_and_with_another_knowledge_base(run, tmp_path):
    lines = write_lines(tmp_path / "in.jsonl", 4)
    run("link", "--batch", lines, "-o", tmp_path / "default", "-q")
    run("link", "--batch", lines, "-o", tmp_path / "default", "-q", "--model", "starter")
    own = tmp_path / "kb"
    build_kb(ENTITIES, own).close()
    done = run("link", "--batch", lines, "-o", tmp_path / "own", "--kb", own)
    assert f"no --model given: the starter's model links to {own}" in done.stderr
    with Linker(kb=own) as linker:
        expected = linker.link_many(TEXTS)
    found = pq.read_table(tmp_path / "own" / "part-00000.parquet")
    linked = [entity for entity in found["entity"].to_pylist() if entity is not None]
    assert linked == [one.entity for doc in expected for one in doc.links if one.entity is not None]
    assert set(linked) == {"J", "B", "U"}
    build_kb(ENTITIES[:2], own).close()
    refused = run("link", "--batch", lines, "-o", tmp_path / "own", "--kb", own, code=1)
    assert "differs in linker.kb" in refused.stderr
