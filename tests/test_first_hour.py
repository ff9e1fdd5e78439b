"""The first hour of a new user: every command and call answers as the script says."""

import pytest

from tests.helpers.first_hour import first_lines, steps, write_data


def test_every_step_answers_as_the_script_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_data(tmp_path)
    assert len(steps()) >= 60
    wrong = [
        f"{step}\n  expected {expected}\n  got      {line}"
        for (step, expected), (_, line) in zip(steps(), first_lines(), strict=True)
        if line != expected
    ]
    assert not wrong, "\n".join(wrong)


def test_no_step_shows_a_bug_or_a_traceback():
    for step, line in steps():
        assert "a bug in sgtb" not in line, step
        assert "Traceback" not in line, step
        assert line, step
    with pytest.raises(StopIteration):
        next(step for step in steps() if step[0] in ("$ ", ">>> "))
