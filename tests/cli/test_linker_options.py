"""Opening a linker imports no more than it needs."""

import subprocess
import sys


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
        "spared = ('scipy', 'spacy', 'duckdb', 'asyncio', 'numpy.ma', 'numpy.random')\n"
        "print([name for name in spared if name in sys.modules], file=sys.stderr)\n"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "Jordan" in done.stdout
    assert done.stderr.splitlines()[-1] == "[]"
