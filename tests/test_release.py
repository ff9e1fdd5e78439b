"""A release: the version and the tooling files agree with each other."""

import re
import tomllib

import yaml

import sgtb
from tests.helpers.pages import ROOT


def test_the_version_is_the_same_everywhere():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert project["version"] == sgtb.__version__ == str(citation["version"])


def test_ci_tests_every_python_that_is_supported():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    kinds = [c.rpartition(" :: ")[2] for c in project["classifiers"] if "Python :: 3." in c]
    ci = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text("utf-8"))
    tested = {entry["python"] for entry in ci["jobs"]["test"]["strategy"]["matrix"]["include"]}
    assert tested == set(kinds)


def test_classifiers_name_the_systems_that_ci_tests():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    claimed = {c for c in project["classifiers"] if c.startswith("Operating System")}
    ci = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text("utf-8"))
    systems = {entry["os"] for entry in ci["jobs"]["test"]["strategy"]["matrix"]["include"]}
    names = {"ubuntu": "POSIX :: Linux", "macos": "MacOS"}
    tested = {f"Operating System :: {names[one.partition('-')[0]]}" for one in systems}
    assert claimed == tested
    assert ci["jobs"]["windows"]["runs-on"].startswith("windows"), "tried, but not claimed"


def test_workflows_run_targets_that_exist():
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"^([\w-]+):", makefile, re.MULTILINE))
    for workflow in (ROOT / ".github" / "workflows").glob("*.yml"):
        used = set(re.findall(r"run: make ([\w-]+)", workflow.read_text("utf-8")))
        assert used <= targets


def test_every_yaml_file_is_valid():
    files = [ROOT / ".pre-commit-config.yaml", *(ROOT / ".github").rglob("*.yml")]
    for file in files:
        assert yaml.safe_load(file.read_text("utf-8")), file
