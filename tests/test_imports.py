"""Who may import whom: the learner knows nothing of the rest, and nobody needs the CLI."""

import ast
from pathlib import Path

import pytest

import sgtb

ROOT = Path(sgtb.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))


def module_of(file: Path) -> str:
    parts = ("sgtb", *file.relative_to(ROOT).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(source: str, module: str) -> set[str]:
    """Every module of sgtb that a source names in an import, wherever it stands."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: relative import"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in found if name == "sgtb" or name.startswith("sgtb.")}


def within(name: str, *packages: str) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def test_the_reader_of_imports_sees_all_forms():
    source = "import sgtb.cli.main\ndef f():\n    from sgtb.learn import plan\nimport numpy\n"
    assert imports_of(source, "x") == {"sgtb.cli.main", "sgtb.learn.plan"}
    assert within("sgtb.learn.plan", "sgtb.learn")
    assert not within("sgtb.learner", "sgtb.learn")


BASE = (
    "sgtb.errors", "sgtb.files", "sgtb.native", "sgtb.records", "sgtb.entities",
    "sgtb.ragged", "sgtb.workers", "sgtb.stages",
)  # fmt: skip
MAY_IMPORT = {
    "sgtb.errors": (),
    "sgtb.files": (),
    "sgtb.native": ("sgtb.native", "sgtb.errors"),
    "sgtb.records": (),
    "sgtb.entities": (),
    "sgtb.ragged": (),
    "sgtb.workers": (),
    "sgtb.stages": (),
    "sgtb.bars": (),
    "sgtb.learn": (
        "sgtb.learn",
        "sgtb.bars",
        "sgtb.errors",
        "sgtb.files",
        "sgtb.native",
    ),
    "sgtb.text": ("sgtb.text", *BASE),
    "sgtb.wiki": ("sgtb.wiki", "sgtb.text", *BASE),
    "sgtb.kb": ("sgtb.kb", "sgtb.corpora", "sgtb.text", *BASE),
    "sgtb.wiki_kb": ("sgtb.wiki_kb", "sgtb.kb", "sgtb.wiki", "sgtb.text", *BASE),
    "sgtb.corpora": ("sgtb.corpora", "sgtb.text", *BASE),
    "sgtb.evaluation": ("sgtb.evaluation", "sgtb.records", "sgtb.errors", "sgtb.files"),
    "sgtb.starter": (),
    "sgtb.judging": (
        "sgtb.judging",
        "sgtb.linking",
        "sgtb.evaluation",
        "sgtb.corpora",
        "sgtb.kb",
        "sgtb.text",
        "sgtb.learn",
        *BASE,
    ),
    "sgtb.linking": ("sgtb.linking", "sgtb.kb", "sgtb.learn", "sgtb.starter", "sgtb.text", *BASE),
}


@pytest.mark.parametrize("file", FILES, ids=module_of)
def test_imports_go_one_way(file):
    module = module_of(file)
    for name in imports_of(file.read_text(), module):
        for package, allowed in MAY_IMPORT.items():
            if within(module, package):
                assert within(name, *allowed), f"{module} imports {name}"
        if within(module, "sgtb.reproduce"):
            assert not within(name, "sgtb.cli"), f"{module} imports {name}"
        if not within(module, "sgtb.integrations"):
            assert not within(name, "sgtb.integrations"), f"{module} imports {name}"
        if not within(module, "sgtb.cli", "sgtb.serve"):
            assert not within(name, "sgtb.serve"), f"{module} imports {name}"
        if within(module, "sgtb.serve"):
            assert not within(
                name, "sgtb.evaluation", "sgtb.judging", "sgtb.learn", "sgtb.wiki", "sgtb.wiki_kb"
            ), f"{module} imports {name}"
        if not within(module, "sgtb.cli"):
            assert not within(name, "sgtb.cli", "sgtb.reproduce") or within(
                module, "sgtb.reproduce"
            ), f"{module} imports {name}"
