"""The page about the service shows what the protocols answer."""

import re
import shlex
from pathlib import Path

import httpx
import pytest

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "protocols.md"
NUMBER = re.compile(r"[0-9]+\.[0-9]+")


def commands() -> list[tuple[str, str]]:
    """The commands of the page, with what they print."""
    blocks = re.findall(
        r"^```console\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    parts = [re.split(r"^\$ ", block, flags=re.MULTILINE)[1:] for block in blocks]
    return [part.partition("\n")[::2] for block in parts for part in block]


def run(address: str, command: str) -> httpx.Response:
    """Do what curl would do."""
    words = shlex.split(command)
    assert words[:2] == ["curl", "-s"]
    url = address + words[2].removeprefix("http://127.0.0.1:8080")
    data, files = {}, {}
    for option, value in zip(words[3::2], words[4::2], strict=True):
        name, _, rest = value.partition("=")
        if option == "-F":
            files[name] = (None, rest)
        elif option == "--data-urlencode" or not value.startswith(("{", "<")):
            data[name] = rest
        else:
            return httpx.post(url, content=value.encode())
    return httpx.post(url, data=data, files=files or None)


def numbers(text: str) -> list[float]:
    return [float(number) for number in NUMBER.findall(text)]


@pytest.mark.parametrize(("command", "output"), commands())
def test_the_page_says_what_is_answered(address, command, output):
    """To the letter, and nearly so in confidences: another model may be a little surer."""
    answer = run(address, command)
    assert answer.status_code == 200
    told, shown = (re.sub(r'"runtime":[0-9]+', "", one.strip()) for one in (answer.text, output))
    assert NUMBER.sub("…", told) == NUMBER.sub("…", shown)
    assert numbers(told) == pytest.approx(numbers(shown), abs=0.1)


def test_every_protocol_is_shown():
    shown = " ".join(command for command, _ in commands())
    for path in ("8080/ ", "/rest/annotate", "/nif", "/disambiguate"):
        assert path in shown
