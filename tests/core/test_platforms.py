"""Paths of the code that Windows and macOS lack: each use stands behind a guard."""

import ast
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import sgtb
from sgtb.core.errors import SettingsError
from sgtb.core.files import write_whole
from sgtb.serving.linker_source import LinkerSource
from sgtb.serving.processes import Work, run
from sgtb.serving.service_settings import ServeSettings

ROOT = Path(sgtb.__file__).parent
LACKING = {
    "SIGHUP", "SO_REUSEPORT", "pthread_sigmask", "fcntl", "posix_fallocate", "madvise",
    "register_at_fork", "sched_getaffinity", "resource", "geteuid",
}  # fmt: skip
"""Names that not every system has."""
GUARDED = {
    # Several processes are refused by `run` where they cannot be signalled.
    "serving.processes": 'not hasattr(signal, "SIGHUP")',
    "serving.listener": "except ImportError",
    "kb.snapshot": 'hasattr(mmap, "MADV_DONTNEED")',
}


def uses(tree: ast.AST) -> set[str]:
    """Return the names of LACKING that a module uses."""
    attributes = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    imports = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    return LACKING & (attributes | imports)


def test_what_a_system_may_lack_is_guarded():
    found = set()
    for file in sorted(ROOT.rglob("*.py")):
        source = file.read_text("utf-8")
        module = ".".join(file.relative_to(ROOT).with_suffix("").parts)
        for name in uses(ast.parse(source)):
            found.add(name)
            guard = GUARDED.get(module)
            guards = (f'"{name}"', "os.name", "sys.platform", "except AttributeError")
            if guard is None:
                assert any(one in source for one in guards), f"{module} uses {name} unguarded"
            else:
                assert guard in source, module
    assert {"SIGHUP", "pthread_sigmask", "resource", "fcntl"} <= found


def test_several_processes_are_refused_without_their_signals(monkeypatch):
    monkeypatch.delattr("signal.SIGHUP", raising=False)
    work = Work(LinkerSource(), ServeSettings(), "127.0.0.1", 0)
    with pytest.raises(SettingsError, match="serve with one process"):
        run(work, 2, pytest.fail)


def test_the_map_of_a_knowledge_base_is_smaller_on_windows():
    source = (ROOT / "kb" / "environment.py").read_text("utf-8")
    line = next(line for line in source.splitlines() if line.startswith("MAP_SIZE ="))
    sizes = {name: eval(line.partition("=")[2], {"os": SimpleNamespace(name=name)})
             for name in ("nt", "posix")}  # fmt: skip
    assert sizes == {"nt": 1 << 34, "posix": 1 << 38}


@pytest.mark.skipif(os.name != "posix", reason="limits of file sizes are those of POSIX")
def test_a_full_disk_names_the_file(tmp_path):
    target = tmp_path / "page.html"
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "from sgtb.cli.main import app; app()"
    )
    given = ["link", "--html", str(target), "Jordan met Pippen."]
    done = subprocess.run([sys.executable, "-c", code, *given], capture_output=True, text=True)
    assert done.stderr == f"sgtb: {target}: File too large\n"
    assert done.returncode == 1
    assert list(tmp_path.iterdir()) == []
    with open("/dev/full", "wb") as full:
        code = "from sgtb.cli.main import app; app()"
        call = [sys.executable, "-c", code, "--version"]
        given = [sys.executable, "-c", code, "link", "--json", "Jordan met Pippen."]
        assert subprocess.run(call, stdout=subprocess.DEVNULL).returncode == 0
        done = subprocess.run(given, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.stderr.startswith("sgtb: standard output: No space left on device\n")


def test_an_open_file_is_replaced_as_a_whole(tmp_path):
    target = tmp_path / "model"
    write_whole(target, b"old")
    with open(target, "rb") as reader:
        if os.name == "nt":
            with pytest.raises(PermissionError, match="model"):
                write_whole(target, b"new")
            assert sorted(path.name for path in tmp_path.iterdir()) == ["model"]
        else:
            write_whole(target, b"new")
            assert reader.read() == b"old"
            assert target.read_bytes() == b"new"


NO_GUARD = """
import sgtb
linker = sgtb.Linker.starter()
print([len(d.links) for d in linker.pipe(["Jordan met Pippen."] * 3, jobs=2)])
"""


def test_a_script_without_a_main_guard_gets_one_line(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(NO_GUARD, "utf-8")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=300)
    assert done.returncode == 1
    assert done.stderr == (
        f"sgtb: {script}: worker processes import it; put its calls under "
        '`if __name__ == "__main__":`, or use one process\n'
    )
