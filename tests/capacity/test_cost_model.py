"""The cost model: what it adds up, and the costs that ship."""

import itertools
from dataclasses import asdict, replace

import pytest

from sgtb.capacity.cost_model import (
    GB,
    MB,
    WORKLOADS,
    Cluster,
    Costs,
    Workload,
    link_cost,
    list_cost,
    measured,
    wikipedia_cost,
)
from sgtb.core.errors import SettingsError

COSTS = Costs(
    read_mb=2.0, count_mb=1.0, links_mb=0.5, packed_share=0.25, kb_share=0.5, work_share=2.0,
    train_start=10.0, train_page=1.0, link_document=0.01, link_kb=0.1, result_kb=100.0,
    list_entity=0.001, list_bytes=400.0, list_memory=500.0, worker_start=3.0, worker_mb=100.0,
    build_mb=50.0, ship_gb=4.0,
)  # fmt: skip


def test_a_wikipedia_by_hand():
    """100 MB of bzip2 are 400 MB of XML and a knowledge base of 200 MB."""
    cluster = Cluster(workers=2, cores=2, download=10.0, memory=1000)
    found = wikipedia_cost(COSTS, 100 * MB, 8, cluster)
    seconds = {stage.name: stage.seconds(2) for stage in found.stages}
    assert seconds == pytest.approx({
        "download": 10 + 0.4, "build": 400 + (800 + 6) / 2, "train": 10 + 8 + (200 + 6) / 2,
        "evaluate": 2.0, "pack": 0.8,
    })  # fmt: skip
    assert found.hours == pytest.approx(sum(seconds.values()) / 3600)
    work = 0.4 + 400 + 806 + 18 + 206 + 2 + 0.8
    assert found.core_hours == pytest.approx(work / 3600)
    assert found.disk_bytes == pytest.approx((100 + 800 + 200) * MB)
    assert found.memory_bytes == pytest.approx((1000 + 3 * 50) * MB)


def test_linking_by_hand():
    """Three hosts: two copies are shipped, at 100 MB a second."""
    found = link_cost(COSTS, 1000, 2000, 1 * GB, Cluster(workers=6, cores=2, network=100.0))
    seconds = [stage.seconds(6) for stage in found.stages]
    assert seconds == pytest.approx([20 + 8 / 6, 3.0, 1000 * 0.21 / 6])
    assert found.core_hours == pytest.approx((8 + 18 + 210) / 3600)
    assert found.disk_bytes == pytest.approx(1000 * 2 * 100 + 3 * GB)
    assert found.memory_bytes == pytest.approx(600 * MB + 3 * GB)


def test_a_list_does_not_get_faster_by_workers():
    one, many = (list_cost(COSTS, 1000, Cluster(n)) for n in (1, 64))
    assert one.hours == many.hours == pytest.approx(1 / 3600)


@pytest.mark.parametrize("key", WORKLOADS)
def test_shipped_costs_give_sensible_predictions(key):
    costs = Costs.of(measured()["costs"])
    found = [WORKLOADS[key].estimate(costs, Cluster(n)) for n in (1, 4, 16, 64, 256)]
    assert all(a.hours >= b.hours for a, b in itertools.pairwise(found))
    assert all(a.core_hours <= b.core_hours for a, b in itertools.pairwise(found))
    assert all(one.disk_bytes > 0 and one.memory_bytes > 0 for one in found)


def test_shipped_costs_state_their_error():
    checks = measured()["checks"]
    assert {check["run"].split(",")[0] for check in checks} == {"build", "train", "link", "list"}
    for check in checks:
        assert check["error"] == pytest.approx(check["predicted"] / check["measured"] - 1, abs=1e-3)


def test_wrong_values_are_refused():
    with pytest.raises(SettingsError, match="workers is 0"):
        Cluster(0)
    with pytest.raises(SettingsError, match="read_mb is -1"):
        Costs.of(asdict(replace(COSTS, read_mb=-1.0)))
    with pytest.raises(SettingsError, match="link_kb is None"):
        Costs.of({key: v for key, v in asdict(COSTS).items() if key != "link_kb"})
    for sizes in ({}, {"xml": 1.0, "documents": 1.0}):
        with pytest.raises(SettingsError, match="own: give one of"):
            Workload("own", **sizes)
