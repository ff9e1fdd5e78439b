"""The structure of the package: import direction, sizes of folders, unique names."""

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

import sgtb

ROOT = Path(sgtb.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
MODULES_IN_A_FOLDER = 16

# What each package may import, besides itself and its own sub-packages. The longest prefix counts.
_BASE = ("core", "native")
_LINKING = ("boosting", "formats", "kb", "starter", "text", *_BASE)
_FEATURES = ("linking.entities", "linking.candidates", "linking.links")
MAY_IMPORT = {
    "core": ("native",),
    "native": ("core.errors",),
    "boosting": _BASE,
    "boosting.data": _BASE,
    "boosting.trees": ("boosting.data", *_BASE),
    "boosting.search": ("boosting.data", "boosting.trees", *_BASE),
    "boosting.explain": ("boosting.data", "boosting.trees", "boosting.search", *_BASE),
    "text": _BASE,
    "formats": ("text", *_BASE),
    "kb": ("formats", "text", *_BASE),
    "wikipedia": ("text", *_BASE),
    "wikipedia.wikitext": ("wikipedia.dump", "text", *_BASE),
    "wikipedia.build": ("wikipedia", "kb", "text", *_BASE),
    "capacity": _BASE,
    "pages": ("wikipedia", "kb", "formats", "text", *_BASE),
    "starter": (),
    "linking": _LINKING,
    "linking.mentions": ("linking.links", "kb", "text", *_BASE),
    "linking.candidates": ("linking.links", "kb", "text", *_BASE),
    "linking.entities": ("kb", "text", *_BASE),
    "linking.features": (*_FEATURES, "kb", "text", *_BASE),
    "linking.calibration": ("kb", *_BASE),
    "linking.training": ("linking", *_LINKING),
    "evaluation": _BASE,
    "evaluation.linkers": ("evaluation", "linking", *_LINKING),
    "jobs": ("linking", *_LINKING),
    "integrations": ("jobs", "linking", *_LINKING),
    "serving": ("linking", "formats", "kb", "starter", "text", *_BASE),
    "cli": (
        "capacity",
        "integrations",
        "jobs",
        "serving",
        "evaluation",
        "pages",
        "wikipedia",
        "linking",
        *_LINKING,
    ),
}
EVERYBODY = ("", "__main__")
"""The package itself, its version and its public names, and `python -m sgtb`."""


def module_of(file: Path) -> str:
    """Return the name of a module within the package; `` is the package itself."""
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(source: str) -> set[str]:
    """Return every module of sgtb that a source imports, also within functions."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative import"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name[5:] for name in found if name.startswith("sgtb.")}


def within(name: str, *packages: str) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def rule_of(module: str) -> str:
    return max((package for package in MAY_IMPORT if within(module, package)), key=len, default="")


def test_imports_of_sees_all_forms():
    source = (
        "import sgtb.cli.main\ndef f():\n    from sgtb.boosting.search import beam\nimport re\n"
    )
    assert imports_of(source) == {"cli.main", "boosting.search.beam"}
    assert rule_of("boosting.search.beam") == "boosting.search"
    assert not within("boosting", "boost")


@pytest.mark.parametrize("file", FILES, ids=module_of)
def test_imports_go_one_way(file):
    module = module_of(file)
    package = rule_of(module)
    if not package:
        assert module in EVERYBODY
        return
    allowed = (package, *MAY_IMPORT[package])
    wrong = [name for name in imports_of(file.read_text()) if not within(name, *allowed)]
    assert not wrong, f"{module} imports {wrong}"


def test_the_package_imports_no_experiment_and_no_benchmark():
    for file in FILES:
        source = file.read_text()
        assert "from experiments" not in source, file
        assert "from benchmarks" not in source, file


def test_folders_are_small():
    sizes = Counter(file.parent for file in FILES if file.name != "__init__.py")
    assert {str(f): n for f, n in sizes.items() if n > MODULES_IN_A_FOLDER} == {}


def test_module_names_are_unique():
    names = Counter(file.stem for file in FILES if file.name != "__init__.py")
    assert [name for name, n in names.items() if n > 1] == []


def test_public_class_names_are_unique():
    names = Counter(
        node.name
        for file in FILES
        for node in ast.parse(file.read_text()).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert [name for name, n in names.items() if n > 1] == []


LONGEST_FUNCTION, MOST_ARGUMENTS = 60, 8
LARGER = {
    # The parameters of a command are its options, and their help texts make it long.
    "cli.commands": "commands",
    # spaCy passes settings as keyword arguments.
    "integrations.spacy.make_linker": "factory",
    # FastAPI routes are functions within the function that makes the router.
    "serving.routes.router": "routes",
    # Arguments of an unpickled document: the order is that of the packed record.
    "core.records._unpacked": "pickle",
}


def functions(file: Path) -> list[tuple[str, int, int]]:
    """Return name, lines and arguments of each function of a module."""
    found = []
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            own = node.args
            names = [one.arg for one in (*own.posonlyargs, *own.args, *own.kwonlyargs)]
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            found.append((node.name, lines, len([n for n in names if n not in ("self", "cls")])))
    return found


def test_functions_fit_a_screen():
    large = [
        f"{module_of(file)}.{name}: {lines} lines, {arguments} arguments"
        for file in FILES
        for name, lines, arguments in functions(file)
        if (lines > LONGEST_FUNCTION or arguments > MOST_ARGUMENTS)
        and not within(f"{module_of(file)}.{name}", *LARGER)
    ]
    assert large == []


def test_mentions_are_not_joined_by_identity():
    wrong = [str(f) for f in FILES if re.search(r"\bid\((mention|document)", f.read_text())]
    assert wrong == []


WITHOUT_CONSTRUCTOR = {
    "core.records": "records filled column by column, a fifth of the time of their constructor",
    "linking.links": "a document whose links are made on first access",
}


def test_objects_are_made_by_their_constructors():
    found = [module_of(file) for file in FILES if "object.__new__" in file.read_text()]
    assert sorted(found) == sorted(WITHOUT_CONSTRUCTOR)


_LITERAL_COLUMN = re.compile(r"(features|columns|values|table|local)\[:, *-?\d+\]")


def test_no_literal_feature_columns():
    """Columns are found by name: a new feature must not move what others read."""
    wrong = [str(f) for f in FILES if _LITERAL_COLUMN.search(f.read_text())]
    assert wrong == []


_OF_NUMPY = re.compile(r"\bnp\.(exp|expm1|log|log1p|log2|tanh|power)\(")


def test_results_do_not_depend_on_the_instruction_set():
    """Elementary functions of numpy do; those of `sgtb.core.sparse_matrix` do not."""
    wrong = [module_of(file) for file in FILES if _OF_NUMPY.search(file.read_text())]
    assert wrong == ["evaluation.reliability"], "only scores that are shown may use them"
