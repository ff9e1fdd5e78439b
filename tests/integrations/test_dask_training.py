"""Training on real Dask workers: the bytes of one machine, whatever happens to the workers."""

import gc
import os
import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.generated_corpus import CorpusShape, generate
from sgtb.boosting import PLANS, Problems, SearchPlan, StructuredGradientBoosting
from sgtb.boosting.search.beam import PlanName
from sgtb.core.errors import ModelFileError, ProblemsError, SgtbError
from sgtb.integrations.dask_cluster import connect
from sgtb.integrations.dask_training import ClusterSource, fit
from tests.helpers.problem_builders import estimator, model_bytes, random_problems

distributed = pytest.importorskip("distributed")

SHAPE = replace(
    CorpusShape(), n_documents=24, mean_mentions=6, mean_candidates=6, n_local=7, dimensions=(8,),
    n_relations=1, n_entities=400, n_topics=10,
)  # fmt: skip
CORPUS = generate(SHAPE)
TRAIN, DEV = CORPUS[:18], CORPUS[18:]


def small(plan: PlanName = "bsg", **settings: Any) -> StructuredGradientBoosting:
    return estimator(SearchPlan(plan), **{"n_trees": 3, "check_every": 2, **settings})


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A cluster whose workers are started again when they are killed."""
    with connect("local:1") as client:
        yield client


def scaled(client: Any, n: int) -> Any:
    """Scale a cluster; return when it has n workers that answer, and none that leaves or died."""
    end = time.monotonic() + 120
    client.cluster.scale(n)
    while not len(client.nthreads()) == len(pids_of(client)) == n:
        assert time.monotonic() < end, f"no {n} workers, but {client.nthreads()}"
        time.sleep(0.1)
        client.cluster.scale(n)  # Dask gives up workers that die while they start
    return client


def pids_of(client: Any) -> dict[str, int]:
    """Return the processes of the workers that answer, by address."""
    found: dict[str, int] = client.run(os.getpid, on_error="ignore")
    return found


@pytest.mark.parametrize("n_workers", [1, 2, 4])
def test_models_have_the_bytes_of_one_machine(cluster, tmp_path, n_workers):
    client = scaled(cluster, n_workers)
    for plan in PLANS:
        alone = model_bytes(small(plan).fit(TRAIN, DEV), tmp_path)
        assert model_bytes(fit(client, small(plan), TRAIN, DEV), tmp_path) == alone, plan
    used: set[str] = set()
    watch = [lambda _: used.update(_workers_with_documents(client))]
    fit(client, small(n_trees=1), TRAIN, callbacks=watch)
    assert len(used) == n_workers


def _workers_with_documents(client: Any) -> list[str]:
    return [address for address, held in client.run(_has_documents).items() if held]


def _has_documents() -> bool:
    from sgtb.integrations.training_worker import _HELD

    gc.collect()
    return any(held.n_parts for held in _HELD.values())


@pytest.fixture
def no_collection() -> Iterator[None]:
    """Cycles of references stay, as long as the test lasts."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collection")
def test_documents_are_released_with_the_training(cluster, monkeypatch):
    """Without the garbage collector of the client, though time-outs leave cycles of references."""
    monkeypatch.setattr("sgtb.integrations.dask_training._POLL_SECONDS", 0.02)
    fit(cluster, small(n_trees=1), TRAIN)
    _check_released(cluster)
    with pytest.raises(ProblemsError, match="no mention of the training documents has a gold"):
        fit(cluster, small(), replace(TRAIN, gold=np.full_like(TRAIN.gold, -1)))
    _check_released(cluster)


def _check_released(client: Any) -> None:
    end = time.monotonic() + 10
    while _workers_with_documents(client):
        assert time.monotonic() < end, "a worker still has documents"
        time.sleep(0.1)


def test_many_bins_drawn_features_and_deep_trees(cluster, tmp_path):
    """Features with more distinct values than bins; a table of pairs shared by all documents."""
    settings = {"depth": 6, "max_bins": 16, "feature_share": 0.6, "l2": 0.5, "threads": None}
    alone = small("bibsg", **settings).fit(TRAIN, DEV)
    together = fit(cluster, small("bibsg", **settings), TRAIN, DEV)
    assert model_bytes(together, tmp_path) == model_bytes(alone, tmp_path)


@pytest.mark.parametrize("source", ["block", "table", "none"])
def test_documents_with_nothing_to_learn_from(cluster, tmp_path, source):
    """Documents without mentions, mentions without candidates or gold, and no pair features."""
    documents = random_problems(np.random.default_rng(5), n_documents=6, source=source)
    alone = small("bsg").fit(documents)
    together = fit(cluster, small("bsg"), [documents[:2], documents[2:]])
    assert model_bytes(together, tmp_path) == model_bytes(alone, tmp_path)


@pytest.mark.parametrize(
    ("method", "call"),
    [("load", 1), ("columns", 2), ("search", 2), ("split", 4), ("n_right", 1)],
)
def test_a_worker_killed_at_any_moment_changes_nothing(
    cluster, tmp_path, monkeypatch, method, call
):
    client = scaled(cluster, 3)
    killed: list[str] = []
    calls = 0
    of_source = ClusterSource._call

    def kill_then_call(source: ClusterSource, name: str, messages: Any) -> Any:
        nonlocal calls
        calls += name == method
        if name == method and calls == call and not killed:
            pids = pids_of(client)
            killed.append(max(messages.keys() & pids.keys()))
            os.kill(pids[killed[0]], signal.SIGKILL)
        return of_source(source, name, messages)

    monkeypatch.setattr(ClusterSource, "_call", kill_then_call)
    alone = small().fit(TRAIN, DEV)
    together = fit(client, small(), TRAIN, DEV)
    assert killed, f"{method} was called {calls} times"
    assert killed[0] not in pids_of(client)
    assert model_bytes(together, tmp_path) == model_bytes(alone, tmp_path)


def test_workers_that_die_again_and_again_end_the_training(cluster, monkeypatch):
    client = scaled(cluster, 1)
    monkeypatch.setattr("sgtb.integrations.dask_training._MOST_LOSSES", 2)
    of_source = ClusterSource._call

    def kill_then_call(source: ClusterSource, name: str, messages: Any) -> Any:
        for pid in pids_of(client).values() if name == "search" else ():
            os.kill(pid, signal.SIGKILL)
        return of_source(source, name, messages)

    monkeypatch.setattr(ClusterSource, "_call", kill_then_call)
    with pytest.raises(SgtbError, match="workers were lost 2 times in a row"):
        fit(client, small(), TRAIN, DEV)
    client.wait_for_workers(1, timeout=120)


def test_a_worker_that_leaves_hands_its_documents_over(cluster, tmp_path):
    """As when a cluster is scaled down: its results are moved, then it is closed."""
    client = scaled(cluster, 2)

    def leave(progress: Any) -> None:
        if progress.n_trees == 1:
            client.cluster.scale(1)

    together = fit(client, small(), TRAIN, DEV, callbacks=[leave])
    assert model_bytes(together, tmp_path) == model_bytes(small().fit(TRAIN, DEV), tmp_path)


def test_training_continues_from_its_checkpoint(cluster, tmp_path):
    """Interrupted after the first check, continued by another number of workers."""
    kept = tmp_path / "checkpoint"
    alone = small(n_trees=7).fit(TRAIN, DEV)

    def interrupted(progress: Any) -> None:
        if progress.n_trees == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(scaled(cluster, 2), small(n_trees=7), TRAIN, DEV, checkpoint=kept,
            callbacks=[interrupted])  # fmt: skip
    grown: list[int] = []
    together = fit(
        scaled(cluster, 1), small(n_trees=7), TRAIN, DEV, checkpoint=kept,
        callbacks=[lambda progress: grown.append(progress.n_trees)],
    )  # fmt: skip
    assert grown == [3, 4, 5, 6, 7]
    assert model_bytes(together, tmp_path) == model_bytes(alone, tmp_path)
    with pytest.raises(ModelFileError, match="this checkpoint is of other documents or settings"):
        fit(cluster, small(n_trees=7), TRAIN[:17], DEV, checkpoint=kept)


# Documents in files


@pytest.fixture
def files(tmp_path) -> list[Path]:
    paths = [tmp_path / f"{i}.problems" for i in range(3)]
    for i, path in enumerate(paths):
        CORPUS[6 * i : 6 * i + 6].save(path)
    return paths


def test_files_are_read_by_the_workers(cluster, tmp_path, files):
    DEV.save(tmp_path / "dev")
    alone = small().fit(TRAIN, DEV)
    together = fit(cluster, small(), files, tmp_path / "dev")
    assert model_bytes(together, tmp_path) == model_bytes(alone, tmp_path)


def test_unusable_files_are_named(cluster, tmp_path, files):
    with pytest.raises(ModelFileError, match=r"none\.problems: No such file"):
        fit(cluster, small(), [*files, tmp_path / "none.problems"])
    files[1].write_bytes(b"no problems")
    with pytest.raises(ModelFileError, match=r"1\.problems: not a whole safetensors file"):
        fit(cluster, small(), files)
    random_problems(np.random.default_rng(0)).save(files[1])
    with pytest.raises(ProblemsError, match=r"1\.problems has 2 local and 2 pair features, .*0\."):
        fit(cluster, small(), files)
    no_gold = replace(TRAIN, gold=np.full_like(TRAIN.gold, -1))
    with pytest.raises(ProblemsError, match="no mention of the training documents has a gold"):
        fit(cluster, small(), no_gold, DEV)


# Memory


def wide_problems(n_documents: int, n_local: int) -> Problems:
    """Documents of 50 mentions with 4 candidates and many local features."""
    rng, n = np.random.default_rng(1), n_documents * 50
    return Problems.from_tensors(
        {
            "mention_offsets": np.arange(0, n + 1, 50, dtype=np.int32),
            "candidate_offsets": np.arange(0, 4 * n + 1, 4, dtype=np.int32),
            "gold": rng.integers(4, size=n, dtype=np.int32),
            "entity": np.tile(np.arange(200, dtype=np.int32), n_documents),
            "entity_offsets": np.arange(0, 4 * n + 1, 200),
            "local": rng.integers(8, size=(4 * n, n_local)).astype(np.float32),
            "block": np.zeros(0, np.float32),
        },
        n_pair=0,
    )


def test_documents_beyond_the_memory_of_one_worker_train_on_four(tmp_path):
    problems = wide_problems(n_documents=2000, n_local=200)
    assert problems.local.nbytes == 320_000_000
    learner = small("local", n_trees=2, max_bins=8)
    limits = {"memory_limit": "640MB", "threads_per_worker": 1, "dashboard_address": None}
    with (
        distributed.LocalCluster(n_workers=1, **limits) as one,
        distributed.Client(one) as client,
        pytest.raises(SgtbError, match=r"the documents do not fit: worker tcp.* of its limit"),
    ):
        fit(client, learner, problems)
    with (
        distributed.LocalCluster(n_workers=4, **limits) as four,
        distributed.Client(four) as client,
    ):
        together = fit(client, learner, problems)
    alone = small("local", n_trees=2, max_bins=8).fit(problems)
    assert model_bytes(together, tmp_path) == model_bytes(alone, tmp_path)
