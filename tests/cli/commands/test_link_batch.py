"""`sgtb link --batch`: a job by one command, its summary, and what it refuses."""

import json

import pytest

from sgtb.cli.link_batch import progress_line
from sgtb.jobs.link_job import JobCounts
from tests.helpers.job_runs import write_lines


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
    assert "1 rejected; 1 part, 1 of them done before; 0:00:0" in again.stderr
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
