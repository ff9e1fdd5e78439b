"""Fuzz the loaders of model files: `python -m tests.fuzz.model_files --seconds 60`.

A mutated file must be refused with a ModelFileError, or hold a model that answers. `make
test-sanitized` runs this with AddressSanitizer, so that a model that makes the compiled core read
outside its arrays ends the process. The last file stays in build/fuzz for a second look.
"""

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from sgtb.boosting import SearchPlan
from sgtb.core.errors import ModelFileError
from sgtb.kb import KnowledgeBase
from sgtb.starter import KB, MODEL
from tests.boosting import test_model_file as learner
from tests.helpers.problem_builders import estimator, random_problems
from tests.linking import test_linker_model as linker

FOLDER = Path("build/fuzz")
Target = tuple[Path, bytes, dict[Any, int], Callable[[Path], None]]


def learner_target() -> Target:
    """The learner's own model files."""
    path = FOLDER / "learner.safetensors"
    problems = random_problems(np.random.default_rng(0), n_documents=4)
    fitted = estimator(SearchPlan("bibsg", 2), n_trees=4, check_every=2).fit(problems, problems)
    fitted.save(path)
    return (
        path, path.read_bytes(), learner.MUTATORS,
        lambda path: learner.survives(learner.load(path), problems),
    )  # fmt: skip


def linker_target() -> Target:
    """The model that comes with the package."""
    kb = KnowledgeBase.open(KB)
    return (
        FOLDER / "linker.safetensors", MODEL.read_bytes(), linker.MUTATORS,
        lambda path: linker.survives(linker.load(path), kb),
    )  # fmt: skip


def mutated(rng: np.random.Generator, data: bytes, mutators: dict[Any, int]) -> bytes:
    """Return the data after one to three mutations, each drawn by its weight."""
    functions, weights = list(mutators), np.array(list(mutators.values()), float)
    for _ in range(rng.integers(1, 4)):
        mutate = functions[rng.choice(len(functions), p=weights / weights.sum())]
        try:
            data = mutate(rng, data)
        except Exception:  # a mutation before has left nothing that this one could read
            break
    return data


def fuzz(target: Target, seconds: float, seed: int) -> Counter[str]:
    """Mutate and load for some time; raise at the first file that does harm."""
    path, data, mutators, load = target
    rng = np.random.default_rng(seed)
    load_whole(path, data, load)
    outcomes: Counter[str] = Counter()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        path.write_bytes(mutated(rng, data, mutators))
        try:
            load(path)
            outcomes["accepted"] += 1
        except ModelFileError:
            outcomes["refused"] += 1
    return outcomes


def load_whole(path: Path, data: bytes, load: Callable[[Path], None]) -> None:
    """Load the file as it was: otherwise nothing that follows means anything."""
    path.write_bytes(data)
    load(path)


def main() -> None:
    """Fuzz both kinds of model files, half of the time each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 2**32)
    options = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    for make in (learner_target, linker_target):
        target = make()
        print(f"{target[0]}: seed {options.seed}", end=" ", flush=True)
        try:
            outcomes = fuzz(target, options.seconds / 2, options.seed)
        except BaseException:
            print(f"failed; the file is kept in {target[0]}", flush=True)
            raise
        print(", ".join(f"{n} {outcome}" for outcome, n in sorted(outcomes.items())))


if __name__ == "__main__":
    sys.exit(main())
