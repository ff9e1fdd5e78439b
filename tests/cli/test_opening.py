"""Opening a linker: what takes long is said; the compiler comes without what it can spare."""

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


def test_the_compiler_comes_without_scipy():
    """In a process of its own: here others have imported it."""
    code = (
        "import sys; from sgtb.cli.opening import _import_compiler as run; run();"
        "print('scipy.linalg' in sys.modules, 'numba' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]
