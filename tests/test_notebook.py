"""The notebook of the documentation: it runs, and shows what it says."""

import json
import re
import subprocess
import sys
from html.parser import HTMLParser

import pytest

from tests.helpers.pages import DOCS

NOTEBOOK = DOCS / "guide" / "notebook.ipynb"


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    """The folder of the notebook as executed, and of the page made of that, by one process."""
    folder = tmp_path_factory.mktemp("notebook")
    code = (
        "import sys\n"
        "from nbconvert.nbconvertapp import NbConvertApp\n"
        "notebook, folder = sys.argv[1:]\n"
        "common = ['--output-dir', folder]\n"
        "executed = [notebook, '--execute', '--to', 'notebook', *common]\n"
        "rendered = [f'{folder}/notebook.ipynb', '--to', 'html', *common]\n"
        "for arguments in (executed, rendered):\n"
        "    app = NbConvertApp()\n"
        "    app.initialize(arguments)\n"
        "    app.start()\n"
    )
    command = [sys.executable, "-c", code, str(NOTEBOOK), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return folder


def outputs(path):
    """Return the texts and pages that the cells show; identities of objects are left out."""
    cells = json.loads(path.read_text("utf-8"))["cells"]
    shown = [out.get("data", {}) for cell in cells for out in cell.get("outputs", ())]
    return [{kind: "".join(data[kind]) for kind in sorted(data)} for data in shown]


def test_it_shows_what_it_says(executed):
    assert outputs(executed / NOTEBOOK.name) == outputs(NOTEBOOK)


class _Marks(HTMLParser):
    def __init__(self, html):
        super().__init__()
        self.marks, self._inside = [], False
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        if tag == "mark":
            self.marks.append("")
            self._inside = True

    def handle_endtag(self, tag):
        if tag == "mark":
            self._inside = False

    def handle_data(self, data):
        if self._inside:
            self.marks[-1] += data


def test_links_are_rendered(executed):
    page = _Marks((executed / "notebook.html").read_text("utf-8"))
    shown = [re.sub(r"[0-9]+", "…", mark) for mark in page.marks[:4]]
    assert shown == [
        "Jordan Michael Jordan …%", "Pippen Scottie Pippen …%", "Bulls Chicago Bulls …%",
        "Utah Utah Jazz …%",
    ]  # fmt: skip
    assert any("Berg" in mark and "P2" in mark for mark in page.marks), "displaCy's, too"
