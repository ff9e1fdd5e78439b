"""The folder of a job: which stages remain, and what another run finds."""

import pytest

from sgtb.core.errors import SettingsError, SgtbError
from sgtb.wikipedia.download.dump_catalogue import WikiDump
from sgtb.wikipedia.download.http_file import RemoteFile
from sgtb.wikipedia.download.wiki_job import RESULTS, WikiJob, WikiJobSettings, exclusive

FILES = tuple(RemoteFile("", name, 10, "0" * 40) for name in ("one.bz2", "two.bz2"))


@pytest.fixture
def job(tmp_path):
    settings = WikiJobSettings(dump_dir="", pages=800, hold_out=0.05)
    job = WikiJob(tmp_path / "job", WikiDump("simplewiki", "20260101", FILES), settings)
    job.save()
    return job


def test_another_run_finds_the_same_dump_and_settings(job):
    again = WikiJob.read(job.path)
    assert (again.dump, again.settings) == (job.dump, job.settings)
    again.check("simplewiki", {"pages": 800, "hold_out": None})
    with pytest.raises(SettingsError, match=r"begun with hold-out 0\.05, not 0\.1"):
        again.check("simplewiki", {"hold_out": 0.1})
    assert WikiJob.read(job.path / "none") is None


def test_stages_remain_after_the_last_result(job):
    everything = ["download", *RESULTS]
    assert job.remaining() == everything
    for path in job.dumps:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(bytes(10))
    for number, result in enumerate(RESULTS.values()):
        assert job.remaining() == everything[number + 1 :]
        (job.path / result).parent.mkdir(exist_ok=True)
        (job.path / result).touch()
    assert job.remaining() == []


def test_a_deleted_dump_is_downloaded_again_only_for_training(job):
    (job.path / "kb").mkdir()
    (job.path / RESULTS["build"]).touch()
    assert job.remaining() == ["download", "train", "evaluate", "pack"]
    (job.path / RESULTS["train"]).touch()
    assert job.remaining() == ["evaluate", "pack"]


def test_missing_bytes_count_parts(job):
    folder = job.path / "dumps"
    folder.mkdir()
    assert job.missing_bytes() == 20
    (folder / "one.bz2").write_bytes(bytes(10))
    (folder / "two.bz2.part").write_bytes(bytes(4))
    assert job.missing_bytes() == 6


@pytest.mark.parametrize("state", ["", "[]", '{"format": 1}', '{"format": 1, "files": [{}]}'])
def test_a_damaged_state_is_an_error(job, state):
    (job.path / "state.json").write_text(state)
    with pytest.raises(SgtbError, match=r"state\.json: not the state of a job"):
        WikiJob.read(job.path)


def test_one_process_at_a_time(tmp_path):
    with (
        exclusive(tmp_path),
        pytest.raises(SgtbError, match="another process"),
        exclusive(tmp_path),
    ):
        pass
    with exclusive(tmp_path):
        pass
