"""Costs are fitted to small runs, and compared with a larger one."""

import json
from dataclasses import replace

import pytest

from benchmarks import capacity
from benchmarks.capacity import QUICK, Measurement
from sgtb.capacity.cost_model import Costs, measured


@pytest.mark.slow
def test_costs_of_very_small_runs(tmp_path, monkeypatch):
    monkeypatch.setattr(capacity, "real_dump", lambda: None)
    monkeypatch.setattr(capacity, "_ROUNDS", 1)
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


def test_longer_documents_that_took_less_time_give_no_negative_cost(tmp_path, monkeypatch):
    def answer(task, *words):
        seconds = 1.0 if task.endswith("start") else 1000.0 / words[-2]
        return {"seconds": seconds, "bytes": 100, "anon_mb": 10.0}

    monkeypatch.setattr(capacity, "ask", answer)
    found = Measurement(tmp_path, QUICK, measured()["costs"])
    found._link()
    assert found.costs().link_kb == 0.0
    assert found.costs().link_document > 0.0
