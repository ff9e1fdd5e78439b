"""What is said of the service, and what it is installed with: all of it agrees with the code."""

import configparser
import json
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest
import typer.main
from typer.testing import CliRunner

from sgtb.cli.commands.serve import app
from sgtb.cli.main import app as sgtb
from sgtb.serving.service_settings import ServeSettings

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "guide" / "service.md").read_text("utf-8")
NUMBER = re.compile(r"[0-9]+\.[0-9]+")
OPTIONS = {option for one in typer.main.get_command(app).params for option in one.opts}


def commands() -> list[tuple[str, str]]:
    blocks = re.findall(r"^```console\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    parts = [re.split(r"^\$ ", block, flags=re.MULTILINE)[1:] for block in blocks]
    return [part.partition("\n")[::2] for block in parts for part in block]


@pytest.mark.parametrize(("command", "shown"), commands())
def test_the_page_says_what_is_answered(client, command, shown):
    words = shlex.split(command)
    assert words[:2] == ["curl", "-s"]
    path = words[2].removeprefix("http://127.0.0.1:8080")
    if "-d" in words:
        answer = client.post(path, json=json.loads(words[words.index("-d") + 1]))
    else:
        answer = client.get(path)
    # Another model may be a little surer, and another machine faster.
    assert NUMBER.sub("…", answer.text) == NUMBER.sub("…", shown.strip())


def test_every_setting_is_documented_with_its_default():
    for field in fields(ServeSettings):
        if field.type in (int, float):
            row = re.search(rf"^\| `{field.name}` \| (.*?) \| (.*?)\|", PAGE, re.MULTILINE)
            assert row, field.name
            assert float(row[1].replace(",", "")) == field.default
            option = row[2].strip().strip("`")
            assert not option or option in OPTIONS


def test_options_that_are_named_exist():
    unit = (ROOT / "packaging" / "sgtb.service").read_text()
    docker = (ROOT / "Dockerfile").read_text()
    for text in (PAGE, unit, docker):
        told = re.findall(r"sgtb serve(.*)", text) + re.findall(r'"sgtb", "serve"(.*)', text)
        assert told
        for option in re.findall(r"--[a-z-]+", " ".join(told)):
            assert option in OPTIONS


def test_the_unit_holds_together():
    unit = configparser.ConfigParser(strict=True, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment]
    unit.read(ROOT / "packaging" / "sgtb.service")
    service = unit["Service"]
    assert service["ExecReload"].endswith("-HUP $MAINPID")
    assert float(service["TimeoutStopSec"]) > ServeSettings().request_seconds
    assert "Environment" not in service
    if shutil.which("systemd-analyze"):
        told = subprocess.run(
            ["systemd-analyze", "verify", ROOT / "packaging" / "sgtb.service"],
            capture_output=True, text=True,
        ).stderr.splitlines()  # fmt: skip
        lines = [
            line for line in told if line.startswith("sgtb.service") or "sgtb.service:" in line
        ]
        assert all("is not executable" in line for line in lines), "no such path here, but no more"


def test_the_image_is_small_and_without_rights():
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    steps = [line.split(maxsplit=1) for line in lines if line and line[0] not in "# "]
    kinds = [kind for kind, _ in steps]
    assert kinds.count("FROM") == 2, "what builds is left behind"
    assert all(re.search(r":\d", rest) for kind, rest in steps if kind == "FROM"), "a version"
    assert "USER" in kinds
    assert kinds.index("USER") < kinds.index("ENTRYPOINT")
    assert not any("latest" in line or "ADD " in line for line in lines)
    for kind, rest in steps:
        if kind in ("ENTRYPOINT", "CMD"):
            json.loads(rest)  # in the form that signals reach the service with
    copied = [word for kind, rest in steps if kind == "COPY" for word in rest.split()[:-1]]
    let_in = (ROOT / ".dockerignore").read_text().splitlines()
    for name in copied:
        if not name.startswith(("--", "/")):
            assert (ROOT / name).exists()
            assert f"!{name}" in let_in
    hadolint = Path(sys.executable).with_name("hadolint")  # of the extra dev
    linted = subprocess.run([hadolint, ROOT / "Dockerfile"], capture_output=True, text=True)
    assert (linted.returncode, linted.stdout) == (0, "")


def test_the_extra_is_named_where_it_lacks(monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    done = CliRunner().invoke(sgtb, ["serve"])
    assert done.exit_code == 1
    assert "pip install 'sgtb[serve]'" in done.stderr
