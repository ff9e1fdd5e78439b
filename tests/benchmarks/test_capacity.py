"""Costs are fitted to small runs, and compared with a larger one."""

import json
from dataclasses import replace

import pytest

from benchmarks import capacity
from benchmarks.capacity import QUICK, Measurement
from sgtb.capacity.cost_model import Costs


@pytest.mark.slow
def test_costs_of_very_small_runs(tmp_path, monkeypatch):
    monkeypatch.setattr(capacity, "real_dump", lambda: None)
    tiny = replace(
        QUICK, dumps=(500_000, 1_000_000), pages=(20, 30), documents=20,
        lengths=(200, 400), entities=(100, 200), shipped=1_000_000,
    )  # fmt: skip
    found = Measurement(tmp_path, tiny)
    checks = found.run()
    assert [check.run.split(",")[0] for check in checks] == ["build", "train", "link", "list"]
    assert all(check.measured > 0 and check.predicted > 0 for check in checks)
    costs = found.costs()
    assert isinstance(costs, Costs)
    assert 0.05 < costs.packed_share < 0.6
    json.dumps(costs.__dict__)
