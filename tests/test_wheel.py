"""A wheel by itself: installed where there is no compiler and nothing can be written.

`make check-wheel` builds the wheel, from the source distribution, and names it in SGTB_WHEEL.
"""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY

TEXT = "Jordan passed, and the Bulls beat Utah."


@pytest.fixture(scope="module")
def wheel() -> Path:
    if "SGTB_WHEEL" not in os.environ:
        pytest.skip("no wheel: run `make check-wheel`")
    return Path(os.environ["SGTB_WHEEL"]).resolve(strict=True)


def install(folder: Path, requirement: str) -> None:
    command = [folder / "python", "-m", "pip", "install", "--quiet", "--only-binary=:all:"]
    subprocess.run([*command, requirement], check=True)


@pytest.fixture(scope="module")
def bin_folder(wheel, tmp_path_factory) -> Path:
    """The commands of an environment that has the wheel and what it requires, nothing else."""
    place = tmp_path_factory.mktemp("wheel") / "environment"
    venv.create(place, with_pip=True)
    folder = place / ("Scripts" if os.name == "nt" else "bin")
    install(folder, str(wheel))
    for parent in place.parents[:3]:  # pytest's own are closed to others
        parent.chmod(parent.stat().st_mode | 0o055)
    return folder


def sgtb(bin_folder: Path, *words: str, before: tuple[str, ...] = ()) -> str:
    """Run the command without HOME, without a compiler on its path, and not in the checkout."""
    done = subprocess.run(
        [*before, str(bin_folder / "sgtb"), *words],
        env={"PATH": str(bin_folder), "PYTHONIOENCODING": "utf-8"},
        cwd="/",
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    return done.stdout


def test_the_demo_runs_as_in_the_readme(bin_folder):
    makefile = (REPOSITORY / "Makefile").read_text("utf-8")
    found = re.search(r"^DEMO := (.*)$", makefile, re.MULTILINE)
    assert found
    shown = (REPOSITORY / "README.md").read_text("utf-8")
    for words in (("link", "--reasons", found[1]), ("explain", found[1], "Utah")):
        printed = sgtb(bin_folder, *words)
        lines = [line.rstrip() for line in printed.splitlines() if line.strip()]
        assert len(lines) > 10
        assert [line for line in lines if line not in shown] == []


def read_only(place: Path) -> tuple[str, ...]:
    """Return the words before a command that runs it where a folder cannot be written."""
    if not shutil.which("unshare"):
        pytest.skip("no unshare to make a folder read-only with")
    mount = f'mount --bind "{place}" "{place}" && mount -o remount,bind,ro "{place}" && exec "$@"'
    root = () if os.getuid() == 0 else ("--map-root-user",)
    path = "PATH=/usr/sbin:/usr/bin:/sbin:/bin"
    before = ("/usr/bin/env", path, "unshare", "--mount", *root, "/bin/sh", "-c", mount, "sh")
    if subprocess.run([*before, sys.executable, "-c", ""], capture_output=True).returncode:
        pytest.skip("unshare --mount is not allowed here")
    return before


def test_a_read_only_install_links_without_a_home(bin_folder):
    place = bin_folder.parent
    before = read_only(place)
    tried = subprocess.run(
        [*before, "/bin/sh", "-c", f'echo >"{place}/new"'], capture_output=True, text=True
    )
    assert "Read-only file system" in tried.stderr
    printed = sgtb(bin_folder, "link", TEXT, before=before)
    assert "Chicago Bulls" in printed


def test_another_user_links_with_an_install_of_root(bin_folder):
    if not hasattr(os, "getuid") or os.getuid() != 0:
        pytest.skip("only root can run a command as another user")
    before = ("/usr/bin/env", "PATH=/usr/bin:/bin", "setpriv", "--reuid=65534", "--clear-groups")
    if subprocess.run([*before, sys.executable, "-c", ""], capture_output=True).returncode:
        pytest.skip(f"other users cannot run {sys.executable}")
    assert "Chicago Bulls" in sgtb(bin_folder, "link", TEXT, before=before)


def test_the_wheel_has_all_data_and_no_sources(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    package = REPOSITORY / "src" / "sgtb"
    listed = subprocess.run(
        ["git", "ls-files", "src/sgtb"], cwd=REPOSITORY, capture_output=True, text=True
    )
    if listed.returncode:
        pytest.skip("not a git checkout")
    expected = {
        str(Path(name).relative_to("src"))
        for name in listed.stdout.split()
        if not name.endswith((".cpp", ".hpp"))
    }
    assert package.is_dir()
    built = {name for name in names if name.endswith((".so", ".pyd"))}
    assert built
    assert {name for name in names if ".dist-info/" not in name} - built == expected
    assert {Path(name).name.split(".")[0] for name in built} <= {"_baseline", "_v3"}


def test_the_source_distribution_can_be_built(wheel):
    (archive,) = wheel.parent.glob("sgtb-*.tar.gz")
    with tarfile.open(archive) as file:
        names = {name.partition("/")[2] for name in file.getnames()}
    wanted = {"CMakeLists.txt", "pyproject.toml", "LICENSE", "README.md", "Makefile"}
    sources = {f"src/sgtb/native/{p.name}" for p in (REPOSITORY / "src/sgtb/native").glob("*pp")}
    assert sources
    assert names >= wanted | sources


def test_data_frames_need_the_extra_and_work_with_it(bin_folder, wheel):
    code = "import sgtb; print(sgtb.load('starter')('Jordan met Pippen.').to_frame())"
    call = [bin_folder / "python", "-c", code]
    lacking = subprocess.run(call, cwd="/", capture_output=True, text=True)
    assert lacking.returncode == 1
    assert lacking.stderr.endswith("needs the package pandas: pip install 'sgtb[frame]'\n")
    install(bin_folder, f"{wheel}[frame]")
    printed = subprocess.run(call, cwd="/", capture_output=True, text=True, check=True).stdout
    assert printed.split()[:4] == ["start", "end", "text", "entity"]
    assert "[2 rows x 9 columns]" in printed
