"""The quickstart: short, complete in its extras, and without claims that do not hold."""

import re
import tomllib

from tests.helpers.pages import DOCS, PAGES, ROOT, blocks

PAGE = DOCS / "guide" / "quickstart.md"


def test_every_extra_is_in_the_table():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    table = re.findall(r"^\| `(\w+)` \| ", PAGE.read_text("utf-8"), re.MULTILINE)
    assert sorted(table) == sorted(project["optional-dependencies"])


def test_it_goes_from_installing_to_a_service_and_every_step_runs():
    text = PAGE.read_text("utf-8")
    headings = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert headings == [
        "Install", "Link", "Your own list", "Your own model", "spaCy", "Service",
    ]  # fmt: skip
    for section in text.split("\n## ")[2:]:
        assert re.search(r"^```(python|console)$", section, re.MULTILINE), section[:40]
    assert all(output for _, output in blocks(PAGE, "python"))
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    assert len(prose.split()) <= 400, "two minutes"


def test_no_page_installs_from_where_there_is_nothing():
    """The package is not on an index: pages install from the checkout, or a named file."""
    for page in PAGES:
        found = re.findall(r"pip install (?:--\S+ )*'?sgtb\b.*", page.read_text("utf-8"))
        assert not found, f"{page.name}: {found}"
