"""Training: no leaks, the same bytes however it is run, early stopping, checkpoints."""

import io
import os
import re
import signal
import subprocess
import sys
import textwrap
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.generated_corpus import CorpusShape, generate, generate_splits
from sgtb.boosting import (
    PLANS,
    Problems,
    SearchPlan,
    StructuredGradientBoosting,
    TrainingSettings,
)
from sgtb.boosting.training_progress import Check, TrainingBar, TrainingProgress
from sgtb.boosting.trees.grower import draw_features
from sgtb.core.errors import ModelFileError, ProblemsError, SettingsError
from sgtb.core.tensor_file import read_tensors, write_tensors
from tests.helpers.problem_builders import (
    estimator,
    model_bytes,
    random_problems,
    shuffled_candidates,
    twin_points,
)

SMALL = replace(CorpusShape.tiny(), n_documents=30, fixed_mentions=6, fixed_candidates=4)
every_plan = pytest.mark.parametrize("name", PLANS)


@pytest.fixture(scope="module")
def corpus():
    return generate(SMALL, seed=1)


def first_accuracy(problems: Problems, plan: SearchPlan) -> float:
    """Training accuracy before the first tree, when all scores are zero."""
    heard = []
    estimator(plan, n_trees=1).fit(problems, callbacks=[heard.append])
    return heard[0].train_accuracy


# Leaks


@every_plan
@pytest.mark.parametrize("width", [1, 4])
def test_before_the_first_tree_only_the_tie_break_decides(name, width):
    problems = random_problems(np.random.default_rng(0), n_documents=12, max_mentions=5)
    plan = SearchPlan(name, beam_width=width)
    lowest = [
        problems.entity[a + g] == problems.entity[a:b].min() if g >= 0 else None
        for a, b, g in zip(
            problems.candidate_offsets[:-1],
            problems.candidate_offsets[1:],
            problems.gold,
            strict=True,
        )
    ]
    expected = []
    for d, document in enumerate(problems):
        a, b = problems.mention_offsets[d : d + 2]
        hits = [hit for hit in lowest[a:b] if hit is not None]
        if name == "bs":  # which looks no further than the mention where it lost the gold
            nothing = estimator(plan, n_trees=1).fit(problems).model.forest.first(0)
            hits = hits[: len({p.identity[1] for p in twin_points(document, plan, nothing)})]
        expected += hits
    assert first_accuracy(problems, plan) == pytest.approx(np.mean(expected))


@every_plan
def test_before_the_first_tree_accuracy_is_chance(name):
    shape = replace(SMALL, n_documents=300)
    accuracy = first_accuracy(generate(shape, seed=2), SearchPlan(name))
    assert accuracy == pytest.approx(0.25, abs=0.04)


@every_plan
def test_order_of_candidates_does_not_matter(name, tmp_path):
    problems = random_problems(np.random.default_rng(1), n_documents=6)
    again = shuffled_candidates(np.random.default_rng(2), problems)
    assert again.gold.tolist() != problems.gold.tolist()
    one, other = (estimator(SearchPlan(name), n_trees=8).fit(p) for p in (problems, again))
    assert model_bytes(one, tmp_path) == model_bytes(other, tmp_path)
    assert one.score(problems) == other.score(again)
    some = np.diff(problems.candidate_offsets) > 0
    chosen = [(p.candidate_offsets[:-1] + one.predict(p))[some] for p in (problems, again)]
    np.testing.assert_array_equal(problems.entity[chosen[0]], again.entity[chosen[1]])


@every_plan
def test_order_of_documents_does_not_matter(name, tmp_path):
    problems = random_problems(np.random.default_rng(3), n_documents=6)
    one, other = (estimator(SearchPlan(name), n_trees=8).fit(p) for p in (problems, problems[::-1]))
    assert model_bytes(one, tmp_path) == model_bytes(other, tmp_path)


@every_plan
def test_labels_at_random_teach_nothing(name):
    shape = replace(SMALL, n_documents=60)
    splits = generate_splits(shape, seed=3, dev=1, test=150)
    rng = np.random.default_rng(4)
    parts = [replace(p, gold=rng.integers(4, size=p.n_mentions).astype(np.int32))
             for p in (splits.train, splits.test)]  # fmt: skip
    fitted = estimator(SearchPlan(name), n_trees=40, threads=2).fit(parts[0])
    assert fitted.score(parts[0]) > 0.5  # it tries
    assert fitted.score(parts[1]) == pytest.approx(0.25, abs=0.06)


# The same bytes


@every_plan
def test_threads_and_cache_do_not_matter_on_tiny_documents(name, tmp_path):
    problems = generate(CorpusShape.tiny(), seed=5)
    plan = SearchPlan(name, beam_width=2)
    kinds = [(1, True), (2, True), (3, True), (1, False), (2, False)]
    found = {
        model_bytes(
            estimator(plan, n_trees=6, threads=threads, incremental=incremental).fit(problems),
            tmp_path,
        )
        for threads, incremental in kinds
    }
    assert len(found) == 1


@every_plan
def test_threads_and_cache_do_not_matter(name, tmp_path):
    splits = generate_splits(replace(CorpusShape(), n_documents=40), seed=6, dev=8, test=1)
    plan = SearchPlan(name)
    found = {
        model_bytes(
            estimator(plan, n_trees=20, check_every=5, threads=threads, incremental=incremental)
            .fit(splits.train, splits.dev),
            tmp_path,
        )
        for threads, incremental in [(1, True), (2, True), (3, True), (2, False)]
    }  # fmt: skip
    assert len(found) == 1


def test_three_rounds_do_not_depend_on_the_cache(tmp_path):
    problems = generate(replace(SMALL, fixed_mentions=12), seed=7)
    plan = SearchPlan("bibsg", beam_width=3, rounds=4)
    found = {
        model_bytes(
            estimator(plan, n_trees=25, learning_rate=0.5, incremental=incremental).fit(problems),
            tmp_path,
        )
        for incremental in (True, False)
    }
    assert len(found) == 1


# A share of the features


def forest_bytes(fitted: StructuredGradientBoosting) -> bytes:
    """The trees without the settings they were grown by."""
    forest = fitted.model.forest
    return b"".join(getattr(forest, name).tobytes() for name in ("feature", "threshold", "value"))


def test_draws_do_not_depend_on_threads_and_cache_on_tiny_documents(tmp_path):
    problems = generate(CorpusShape.tiny(), seed=5)
    settings = {"n_trees": 6, "feature_share": 0.4}
    found = {
        model_bytes(
            estimator(SearchPlan("bsg", 2), **settings, threads=threads, incremental=incremental)
            .fit(problems),
            tmp_path,
        )
        for threads, incremental in [(1, True), (2, True), (3, True), (1, False)]
    }  # fmt: skip
    assert len(found) == 1


def test_draws_do_not_depend_on_threads_and_cache(tmp_path):
    splits = generate_splits(replace(CorpusShape(), n_documents=40), seed=6, dev=8, test=1)
    settings = {"n_trees": 20, "check_every": 5, "feature_share": 0.4, "seed": 7}
    found = {
        model_bytes(
            estimator(SearchPlan("bsg"), **settings, threads=threads, incremental=incremental)
            .fit(splits.train, splits.dev),
            tmp_path,
        )
        for threads, incremental in [(1, True), (2, True), (3, True), (2, False)]
    }  # fmt: skip
    assert len(found) == 1


@pytest.mark.parametrize("share", [0.1, 0.4])
def test_a_tree_asks_about_what_was_drawn_for_its_number(share):
    problems = random_problems(np.random.default_rng(13), n_documents=8, n_local=6)
    fitted = estimator(SearchPlan("bsg"), n_trees=10, feature_share=share, seed=5).fit(problems)
    forest, n = fitted.model.forest, fitted.model.n_features
    assert n == 10
    asked_at_all = set()
    for m in range(forest.n_trees):
        drawn = draw_features(np.full(n, 2, np.int32), share, np.random.default_rng((5, m))) > 1
        assert drawn.sum() == round(share * n)
        asked = set(forest.feature[forest.roots[m] : forest.roots[m + 1]].tolist()) - {-1}
        assert asked <= set(np.flatnonzero(drawn).tolist())
        asked_at_all |= asked
    assert len(asked_at_all) > round(share * n)  # drawn anew for each tree


def test_the_seed_decides_what_is_drawn():
    problems = random_problems(np.random.default_rng(14), n_documents=8, n_local=6)

    def grown(seed, share):
        settings = {"n_trees": 6, "feature_share": share, "seed": seed}
        return forest_bytes(estimator(SearchPlan("bsg"), **settings).fit(problems))

    assert grown(0, 0.4) == grown(0, 0.4)
    assert len({grown(seed, 0.4) for seed in (0, 1, 2**31)}) == 3
    assert grown(0, 1.0) == grown(1, 1.0) != grown(0, 0.4)


# Progress and early stopping


def test_history_has_a_check_every_so_many_trees_and_at_the_end(corpus):
    fitted = estimator(SearchPlan("bsg"), n_trees=12, check_every=5).fit(corpus)
    assert [check.n_trees for check in fitted.history] == [5, 10, 12]
    assert [check.dev_accuracy for check in fitted.history] == [None] * 3
    assert fitted.history[-1].train_accuracy > fitted.history[0].train_accuracy - 0.05
    assert fitted.model.forest.n_trees == 12


@every_plan
def test_best_number_of_trees_is_kept(name):
    splits = generate_splits(replace(SMALL, n_documents=15), seed=8, dev=10, test=1)
    settings = {"check_every": 2, "learning_rate": 1.0}
    fitted = estimator(SearchPlan(name), n_trees=40, patience=3, **settings)
    fitted.fit(splits.train, splits.dev)
    history = fitted.history
    accuracies = [check.dev_accuracy for check in history]
    best = accuracies.index(max(accuracies))  # the fewest trees of equals
    assert fitted.model.forest.n_trees == history[best].n_trees
    assert fitted.score(splits.dev) == max(accuracies)
    assert len(history) == min(best + 1 + 3, 20)
    # What was kept is what a run that stops there grows.
    short = estimator(SearchPlan(name), n_trees=history[best].n_trees, **settings)
    short.fit(splits.train)
    assert short.model.forest.value.tobytes() == fitted.model.forest.value.tobytes()


def test_without_patience_training_goes_on():
    splits = generate_splits(replace(SMALL, n_documents=10), seed=9, dev=5, test=1)
    fitted = estimator(SearchPlan("local"), n_trees=30, check_every=1, patience=None)
    fitted.fit(splits.train, splits.dev)
    assert len(fitted.history) == 30
    hurried = estimator(SearchPlan("local"), n_trees=30, check_every=1, patience=1)
    hurried.fit(splits.train, splits.dev)
    assert len(hurried.history) < 30


def test_callbacks_run_and_may_stop(corpus):
    heard = []

    def until_seven(progress):
        heard.append(progress)
        return progress.n_trees == 7

    fitted = estimator(SearchPlan("bsg"), n_trees=50, check_every=5)
    fitted.fit(corpus, callbacks=[until_seven, lambda progress: None])
    assert [progress.n_trees for progress in heard] == list(range(1, 8))
    assert {progress.n_trees_wanted for progress in heard} == {50}
    assert [len(progress.checks) for progress in heard] == [0, 0, 0, 0, 1, 1, 1]
    assert all(progress.seconds > 0 and progress.seconds_left > 0 for progress in heard)
    assert [check.n_trees for check in fitted.history] == [5, 7]
    short = estimator(SearchPlan("bsg"), n_trees=7).fit(corpus)
    assert short.model.forest.value.tobytes() == fitted.model.forest.value.tobytes()


def test_every_callback_hears_of_every_tree(corpus):
    heard = []
    fitted = estimator(SearchPlan("local"), n_trees=5)
    fitted.fit(corpus, callbacks=[lambda p: True, lambda p: heard.append(p.n_trees)])
    assert heard == [1]
    assert fitted.model.forest.n_trees == 1


def test_progress_is_plain_lines_where_there_is_no_terminal(corpus, capsys):
    splits = generate_splits(SMALL, seed=10, dev=5, test=1)
    fitted = estimator(SearchPlan("bsg"), n_trees=7, check_every=3)
    fitted.fit(splits.train, splits.dev, progress=True)
    said = capsys.readouterr()
    assert said.out == ""
    lines = said.err.splitlines()
    assert len(lines) == 3
    for n, line in zip((3, 6, 7), lines, strict=True):
        assert re.fullmatch(
            rf"training: {n}/7 trees, train \d+\.\d\d%, dev \d+\.\d\d%, \d+:\d\d left", line
        )


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("stream", [io.StringIO(), _Terminal()])
def test_a_second_training_is_told_from_the_first(stream):
    progress = TrainingProgress(2, 4, 0.5, (Check(2, 0.5, 0.25),), 1.0, 1.0)
    with TrainingBar("bsg", stream) as bar:
        bar(progress)
        bar.stage("confidence", 3, 7)
        bar.stage("with NIL", 0, 4)
        bar(progress)
    said = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", stream.getvalue())
    if stream.isatty():
        assert "bsg, with NIL" in said
        assert "2/4 trees  train 50.00%, dev 25.00%, 0:01 left" in said
    else:
        note = "2/4 trees, train 50.00%, dev 25.00%, 0:01 left"
        assert said.splitlines() == [f"bsg: {note}", f"bsg, with NIL: {note}"]


def test_nothing_is_said_unless_asked(corpus, capsys):
    estimator(SearchPlan("local"), n_trees=2).fit(corpus)
    assert capsys.readouterr() == ("", "")


# Refusals


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_trees", 0), ("n_trees", 100_001), ("check_every", 0), ("patience", 0), ("threads", 0),
        ("n_trees", 2.5), ("check_every", 1.5), ("threads", 1.5), ("seed", -1), ("seed", 2**31 + 1),
        ("seed", 0.5), ("seed", None),
    ],
)  # fmt: skip
def test_impossible_settings_are_refused_by_name(name, value):
    with pytest.raises(SettingsError, match=name):
        TrainingSettings(**{name: value})


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ({"name": "dfs"}, "unknown plan 'dfs'; choose one of local, bs, laso, bsg, bibsg"),
        ({"beam_width": 0}, "beam_width is 0"),
        ({"beam_width": 4097}, "beam_width is 4097"),
        ({"beam_width": 2.5}, "beam_width is 2.5"),
        ({"rounds": 0}, "rounds is 0"),
        ({"rounds": 1.5}, "rounds is 1.5"),
    ],
)
def test_impossible_plans_are_refused(values, complaint):
    with pytest.raises(SettingsError, match=complaint):
        SearchPlan(**values)


def test_dev_needs_the_same_features(corpus):
    rng = np.random.default_rng(0)
    train = random_problems(rng)
    for dev, complaint in (
        (random_problems(rng, n_local=3), "dev has 3 local features, .* have 2"),
        (random_problems(rng, n_pair=1), "dev has 1 pair features, .* have 2"),
    ):
        with pytest.raises(ProblemsError, match=complaint):
            estimator(SearchPlan("bsg")).fit(train, dev)


def test_training_needs_a_gold_choice(corpus):
    unlabelled = replace(corpus, gold=np.full(corpus.n_mentions, -1, np.int32))
    with pytest.raises(ProblemsError, match="no mention of the training documents has a gold"):
        estimator(SearchPlan("bsg")).fit(unlabelled)


# Checkpoints

SCRIPT = """
    import sys, time
    from dataclasses import replace
    from pathlib import Path
    from sgtb.boosting import SearchPlan, StructuredGradientBoosting, TrainingSettings, TreeSettings
    from benchmarks.generated_corpus import CorpusShape, generate_splits

    folder, pause = Path(sys.argv[1]), float(sys.argv[2])
    splits = generate_splits(replace(CorpusShape.tiny(), n_documents=30), 11, dev=10, test=1)
    trees = TreeSettings(feature_share=0.4)
    training = TrainingSettings(n_trees=60, check_every=4, patience=None, threads=2, seed=3)
    fitted = StructuredGradientBoosting(SearchPlan("bibsg", 2), trees, training)
    fitted.fit(splits.train, splits.dev, checkpoint=folder / "checkpoint", progress=True,
               callbacks=[lambda progress: time.sleep(pause)])
    fitted.save(folder / "model")
"""


@pytest.mark.slow
def test_killed_training_resumes_and_ends_in_the_same_bytes(tmp_path):
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    for folder in (killed, whole):
        folder.mkdir()
    run = [sys.executable, "-c", textwrap.dedent(SCRIPT)]
    subprocess.run([*run, whole, "0"], check=True, capture_output=True, timeout=120)

    rng = np.random.default_rng(12)
    trees = []
    for n_lines in (1, 3, 2, 4):
        child = subprocess.Popen([*run, killed, "0.01"], stderr=subprocess.PIPE, text=True)
        assert child.stderr is not None
        said = [child.stderr.readline() for _ in range(n_lines)]
        trees += [int(line.split()[1].split("/")[0]) for line in said]
        try:
            child.wait(timeout=float(rng.random()) * 0.08)
        except subprocess.TimeoutExpired:
            os.kill(child.pid, signal.SIGKILL)
        assert child.wait() == -signal.SIGKILL
        child.stderr.close()
    assert trees == sorted(set(trees))  # every run went on where the last one was killed
    assert not (killed / "model").exists()
    subprocess.run([*run, killed, "0"], check=True, capture_output=True, timeout=120)
    assert (killed / "model").read_bytes() == (whole / "model").read_bytes()
    assert (killed / "checkpoint").read_bytes() == (whole / "checkpoint").read_bytes()


@pytest.mark.parametrize(("name", "share"), [*((name, 1.0) for name in PLANS), ("bsg", 0.4)])
def test_resumed_training_ends_in_the_same_bytes(name, share, tmp_path, corpus):
    plan, kept = SearchPlan(name, beam_width=2), tmp_path / "checkpoint"
    settings = {"n_trees": 14, "check_every": 3, "feature_share": share}
    whole = estimator(plan, **settings).fit(corpus)
    halfway = estimator(plan, **settings)
    halfway.fit(corpus, checkpoint=kept, callbacks=[lambda progress: progress.n_trees == 8])
    heard = []
    # Threads and cache may be others than before: they have no say in the result.
    resumed = estimator(plan, **settings, threads=2, incremental=False)
    resumed.fit(corpus, checkpoint=kept, callbacks=[lambda p: heard.append(p.n_trees)])
    assert heard == list(range(7, 15))
    assert model_bytes(resumed, tmp_path) == model_bytes(whole, tmp_path)
    # Once more: nothing is left to do.
    heard.clear()
    again = estimator(plan, **settings)
    again.fit(corpus, checkpoint=kept, callbacks=[lambda p: heard.append(p.n_trees)])
    assert heard == []
    assert model_bytes(again, tmp_path) == model_bytes(whole, tmp_path)


def test_patience_is_remembered_across_a_resume(tmp_path):
    splits = generate_splits(replace(SMALL, n_documents=15), seed=8, dev=10, test=1)
    settings = {"n_trees": 40, "check_every": 2, "patience": 3}
    whole = estimator(SearchPlan("bsg"), **settings).fit(splits.train, splits.dev)
    assert len(whole.history) < 20
    for stop in range(1, whole.history[-1].n_trees, 3):
        kept = tmp_path / f"checkpoint-{stop}"
        for callbacks in ([lambda progress, stop=stop: progress.n_trees == stop], []):
            resumed = estimator(SearchPlan("bsg"), **settings)
            resumed.fit(splits.train, splits.dev, checkpoint=kept, callbacks=callbacks)
        assert model_bytes(resumed, tmp_path) == model_bytes(whole, tmp_path)


def test_foreign_checkpoints_are_refused(tmp_path, corpus):
    kept = tmp_path / "checkpoint"
    settings = {"n_trees": 4, "check_every": 2}
    estimator(SearchPlan("bsg"), **settings).fit(corpus, checkpoint=kept)
    before = kept.read_bytes()
    others = [
        (estimator(SearchPlan("bsg", 3), **settings), corpus, None),
        (estimator(SearchPlan("laso"), **settings), corpus, None),
        (estimator(SearchPlan("bsg"), **settings, depth=2), corpus, None),
        (estimator(SearchPlan("bsg"), **settings, feature_share=0.5), corpus, None),
        (estimator(SearchPlan("bsg"), **settings, seed=1), corpus, None),
        (estimator(SearchPlan("bsg"), n_trees=5, check_every=2), corpus, None),
        (estimator(SearchPlan("bsg"), **settings), corpus[1:], None),
        (estimator(SearchPlan("bsg"), **settings), corpus, corpus[:3]),
        (estimator(SearchPlan("bsg"), **settings),
         replace(corpus, local=np.nextafter(corpus.local, np.float32(9))), None),
    ]  # fmt: skip
    for other, train, dev in others:
        with pytest.raises(ModelFileError, match=r"checkpoint: this checkpoint is of other doc"):
            other.fit(train, dev, checkpoint=kept)
    assert kept.read_bytes() == before


def test_damaged_checkpoints_are_refused(tmp_path, corpus):
    kept = tmp_path / "checkpoint"
    kept.write_bytes(b"not a checkpoint")
    fresh = estimator(SearchPlan("bsg"), n_trees=4, check_every=2)
    with pytest.raises(ModelFileError, match="checkpoint: not a whole safetensors file"):
        fresh.fit(corpus, checkpoint=kept)
    estimator(SearchPlan("bsg"), n_trees=1).fit(corpus).save(kept)
    with pytest.raises(ModelFileError, match="this is no checkpoint file, its kind is 'model'"):
        fresh.fit(corpus, checkpoint=kept)


@pytest.mark.parametrize(
    "checks",
    [[], [[2, 0.5, None]], [[2, 0.5, None], [99, 0.5, None]]],
)
def test_checkpoints_that_contradict_themselves_are_refused(tmp_path, corpus, checks):
    kept = tmp_path / "checkpoint"
    estimator(SearchPlan("bsg"), n_trees=4, check_every=2).fit(corpus, checkpoint=kept)
    tensors, record = read_tensors(kept, "checkpoint", 1)
    write_tensors(kept, tensors, {**record, "checks": checks})
    with pytest.raises(ModelFileError):
        estimator(SearchPlan("bsg"), n_trees=4, check_every=2).fit(corpus, checkpoint=kept)


def test_a_checkpoint_that_cannot_be_written_leaves_the_old_one(tmp_path, corpus, monkeypatch):
    kept = tmp_path / "checkpoint"
    estimator(SearchPlan("bsg"), n_trees=4, check_every=2).fit(
        corpus, checkpoint=kept, callbacks=[lambda progress: progress.n_trees == 2]
    )
    before = kept.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        estimator(SearchPlan("bsg"), n_trees=4, check_every=2).fit(corpus, checkpoint=kept)
    assert kept.read_bytes() == before
    assert os.listdir(tmp_path) == ["checkpoint"]
