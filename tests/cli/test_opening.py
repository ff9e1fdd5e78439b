"""Opening a linker: what takes long is said, and what can be spared is not imported."""

import subprocess
import sys

import pytest

from sgtb.cli import opening
from sgtb.cli.opening import linker_settings, open_linker

SETTINGS = (5, False, False, False, 0.05)


@pytest.mark.parametrize(("quiet", "said"), [(False, True), (True, False)])
def test_a_long_first_time_is_explained(monkeypatch, capsys, quiet, said):
    monkeypatch.setattr(opening, "_PATIENCE", 0.0)
    with open_linker(None, None, linker_settings(*SETTINGS), quiet) as linker:
        assert linker("Jordan beat Utah in Chicago.").links
    assert ("compiling" in capsys.readouterr().err) == said


def test_linking_imports_nothing_large_that_it_does_not_need():
    """In a process of its own: here others have imported them."""
    code = (
        "import sys\n"
        "from sgtb.cli.main import app\n"
        "sys.argv = ['sgtb', 'link', '--quiet', 'Jordan beat Utah in Chicago.']\n"
        "try:\n"
        "    app()\n"
        "except SystemExit as end:\n"
        "    assert not end.code\n"
        "spared = ('scipy', 'spacy', 'pydantic')\n"
        "print([name for name in spared if name in sys.modules], file=sys.stderr)\n"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "Jordan" in done.stdout
    assert done.stderr.splitlines()[-1] == "[]"
