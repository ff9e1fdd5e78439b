"""The job folder: which parts are valid, and which manifests are refused."""

import json
import os
import time

import pytest

from sgtb.core.errors import JobError
from sgtb.jobs.job_folder import JobFolder

MANIFEST = {"task": "link", "linker": {"model": "a", "kb": "b"}, "parts": [1, 2]}


def begun(path, manifest=MANIFEST) -> JobFolder:
    folder = JobFolder(path, manifest)
    folder.begin()
    return folder


def test_parts_are_valid_with_their_sidecar(tmp_path):
    folder = begun(tmp_path / "new" / "job")
    assert folder.record(0) is None
    folder.write_part(0, b"data", {"rows": 3})
    assert folder.record(0) == {
        "rows": 3, "sha256": "3a6eb0790f39ac87c94f3856b2dd2c5d110e6811602261a9a923d3bb23adc8b7"
    }  # fmt: skip
    folder.data_path(0).write_bytes(b"dama")
    assert folder.record(0) is None
    assert folder.record(0, check_data=False) is not None
    folder.data_path(0).unlink()
    assert folder.record(0) is None


@pytest.mark.parametrize("sidecar", [b"", b"{", b"[]", b"{}", b'{"sha256": 1}'])
def test_damaged_sidecars_make_parts_invalid(tmp_path, sidecar):
    folder = begun(tmp_path / "job")
    folder.write_part(0, b"data", {"rows": 3})
    (tmp_path / "job" / "part-00000.json").write_bytes(sidecar)
    assert folder.record(0) is None


def test_a_changed_count_makes_a_part_invalid(tmp_path):
    folder = begun(tmp_path / "job")
    folder.write_part(0, b"data", {"rows": 3, "rejected": [["a", "in", 1, "why"]]})
    sidecar = tmp_path / "job" / "part-00000.json"
    for change in ((b"3", b"4"), (b'"rejected"', b'"rejecte"'), (b'"why"', b"[]")):
        whole = sidecar.read_bytes()
        sidecar.write_bytes(whole.replace(*change, 1))
        assert folder.record(0) is None
        sidecar.write_bytes(whole)
    assert folder.record(0) is not None


def test_the_same_manifest_continues_a_job(tmp_path):
    begun(tmp_path / "job").write_part(1, b"data", {})
    assert begun(tmp_path / "job").record(1) is not None


def test_other_manifests_are_refused(tmp_path):
    begun(tmp_path / "job")
    other = {**MANIFEST, "linker": {"model": "a", "kb": "c"}, "more": 1}
    with pytest.raises(JobError, match=r"differs in linker\.kb, more; name a new folder"):
        begun(tmp_path / "job", other)


def test_folders_of_others_are_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(JobError, match="exists and has no manifest"):
        begun(tmp_path)
    with pytest.raises(JobError, match="exists and has no manifest"):
        begun(tmp_path / "notes.txt")
    (tmp_path / "job").mkdir()
    begun(tmp_path / "job")
    (tmp_path / "job" / "manifest.json").write_text("[")
    with pytest.raises(JobError, match=r"manifest.json: damaged .*; name a new folder"):
        begun(tmp_path / "job")


def test_old_temporary_files_are_deleted(tmp_path):
    begun(tmp_path / "job")
    old, new = (tmp_path / "job" / f".part-00000.parquet.{i}-1" for i in range(2))
    old.touch()
    new.touch()
    os.utime(old, (time.time() - 7200,) * 2)
    begun(tmp_path / "job")
    assert (old.exists(), new.exists()) == (False, True)


def test_manifests_are_plain_json(tmp_path):
    begun(tmp_path / "job")
    record = json.loads((tmp_path / "job" / "manifest.json").read_bytes())
    assert record == {"format": 1, **MANIFEST}
