"""Which build of the compiled core is loaded, and what is said when there is none."""

import os
import subprocess
import sys

import pytest

from sgtb import native
from sgtb.native import _baseline

NAME = "import sgtb.native; print(sgtb.native.BUILD)"


def run(code: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if k != "SGTB_NATIVE"} | variables
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True
    )


def test_the_baseline_can_be_forced():
    assert run(NAME, SGTB_NATIVE="baseline").stdout.split() == ["baseline"]


def test_the_fastest_build_is_chosen():
    best = "v3" if _baseline.supports_v3() else "baseline"
    assert run(NAME).stdout.split() == [best]
    assert run(NAME, SGTB_NATIVE="").stdout.split() == [best]


def test_v3_is_loaded_where_it_runs_and_refused_elsewhere():
    done = run(NAME, SGTB_NATIVE="v3")
    if _baseline.supports_v3():
        assert done.stdout.split() == ["v3"]
    else:
        assert "SGTB_NATIVE=v3: this processor or platform needs baseline" in done.stderr


def test_an_unknown_build_is_refused():
    done = run(NAME, SGTB_NATIVE="v5")
    assert done.returncode == 1
    assert "SGTB_NATIVE=v5: must be baseline or v3" in done.stderr


def test_a_missing_core_is_explained():
    code = (
        "import sys; sys.modules['sgtb.native._baseline'] = None\n"  # as if it could not be found
        "from sgtb.core.errors import SgtbError\n"
        "try:\n    import sgtb.native\n"
        "except SgtbError as error:\n    print(isinstance(error, ImportError), error)"
    )
    done = run(code)
    assert done.stdout.startswith("True the compiled core of sgtb is missing"), done.stderr
    assert "run `make setup` in a checkout" in done.stdout


def test_the_builds_have_the_same_kernels():
    v3 = pytest.importorskip("sgtb.native._v3")
    names = [name for name in dir(_baseline) if not name.startswith("__")]
    assert names == [name for name in dir(v3) if not name.startswith("__")]
    assert "decode_documents" in names
    with pytest.raises(AttributeError, match="no_such_kernel"):
        native.no_such_kernel  # noqa: B018
