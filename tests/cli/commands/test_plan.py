"""`sgtb plan`."""

import json

from typer.testing import CliRunner

from sgtb.cli.main import app


def run(*arguments, code=0):
    result = CliRunner().invoke(app, ["plan", *map(str, arguments)])
    assert result.exit_code == code, result.output
    return result


def test_all_workloads_and_the_error_of_the_model():
    lines = run().stdout.splitlines()
    for name in ("simple", "english", "wikidata", "documents-1e8", "documents-1e9"):
        assert any(line.startswith(f"{name} ") for line in lines)
        assert any(line.startswith(f"{name}: ") for line in lines)
    assert sum(line.startswith("checked: ") for line in lines) == 4
    assert sum(" 256 " in line for line in lines) == 5


def test_ones_own_job_as_json():
    told = json.loads(run("--documents", 5000, "--workers", 3, "--workers", 6, "--json").stdout)
    (own,) = told["workloads"].values()
    assert own["name"] == "5,000 documents"
    assert [one["workers"] for one in own["estimates"]] == [3, 6]
    assert own["estimates"][0]["hours"] > own["estimates"][1]["hours"]
    assert set(own["estimates"][0]["stages"]) == {"ship", "start", "link"}
    assert told["costs"]["link_kb"] > 0
    longer = json.loads(
        run("--documents", 5000, "--characters", 9000, "--workers", 3, "--json").stdout
    )
    (other,) = longer["workloads"].values()
    assert other["estimates"][0]["hours"] > own["estimates"][0]["hours"]


def test_a_workload_by_name_and_wrong_ones():
    assert "english" in run("simple").stdout.lower()
    assert "documents" not in run("simple").stdout.partition("checked")[0]
    assert "'klingon' is none of simple, english" in run("klingon", code=2).stderr
    assert "give one of" in run("--documents", 5, "--entities", 6, code=1).stderr
