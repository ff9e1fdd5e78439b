"""Candidates and links on knowledge bases of lists: NCBI Disease, LGL, and AIDA by name."""

import json
import lzma
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments.aida_data import Say, silent
from experiments.from_text import CACHE, SYSTEM, TextTest, open_linker
from sgtb.cli.train_input import TrainingOptions
from sgtb.core.files import write_whole
from sgtb.core.progress import Progress
from sgtb.evaluation.linkers import SetScores, SystemScores, data_sets, evaluate_linkers
from sgtb.linking.link_options import LinkerSettings
from sgtb.linking.linker import Linker

PLANS = ("bs", "bsg")


def own_tests(data: Path, cache: Path) -> tuple[TextTest, ...]:
    """Return the tests on the data of a folder; NCBI has no test set here, so dev is its test."""
    aida, geo, ppr = data / "aida", data / "geo", data / "pprforned" / "pprforned.tar.xz"
    medic = data / "ncbi" / "medic.jsonl.xz"
    train, dev = (_with_main_ids(data / "ncbi", part, cache) for part in ("train", "dev"))
    return (
        TextTest("NCBI-dev", medic, train, (dev,), dev),
        TextTest(
            "LGL-test", geo / "gazetteer.jsonl.xz", geo / "lgl-train.jsonl.xz",
            (geo / "lgl-dev.jsonl.xz",), geo / "lgl-test.jsonl.xz",
        ),
        TextTest("AIDA-test", ppr, aida, (), aida, "test"),
        TextTest("AIDA-test, titles", ppr, aida, (), aida, "test", document_names=False),
    )  # fmt: skip


def run_own_lists(
    tests: Sequence[TextTest],
    cache: Path = CACHE,
    progress: Progress | None = None,
    say: Say = silent,
) -> dict[str, dict[str, Any]]:
    """Return, per test, the mentions with a known entity, and recall and accuracy over all of them.

    Every plan is trained; dev chooses one. NIL is not used.
    """
    cache.mkdir(parents=True, exist_ok=True)
    results = {}
    for test in tests:
        result: dict[str, Any] = {}
        plans = {}
        for plan in PLANS:
            options = TrainingOptions(plan=plan, nil_rule="never")
            with open_linker(test, cache, say, options) as linker:
                every = Linker(linker.model, linker.kb, LinkerSettings(nil=0.0))
                dev_split = None if test.dev else "dev"
                held = _scores(every, test.dev or (test.train,), dev_split, "dev", progress)
                found = _scores(every, (test.test,), test.split, test.name, progress)
                trained = found.systems[SYSTEM]
                plans[plan] = {
                    "dev": held.systems[SYSTEM].accuracy.micro,
                    "accuracy": trained.accuracy.micro,
                }
                result = {
                    "documents": found.documents,
                    "known": found.known,
                    "unknown": found.unknown,
                    "candidates": trained.candidates / max(found.known, 1),
                    "recall": trained.recall.share,
                    "prior": found.systems["prior"].accuracy.micro,
                }
        chosen = max(PLANS, key=lambda plan: plans[plan]["dev"])
        results[test.name] = {**result, "plans": plans, "chosen": chosen}
    return results


def _scores(
    linker: Linker, files: Sequence[Path], split: str | None, name: str, progress: Progress | None
) -> SetScores[SystemScores]:
    (documents,) = data_sets(files, split=split).values()
    found = evaluate_linkers(
        {SYSTEM: linker}, {name: documents}, baselines=["prior"], progress=progress
    )
    (one,) = found.sets
    return one


def _with_main_ids(folder: Path, part: str, cache: Path) -> Path:
    """Write documents in which other ids of a concept are replaced by its id in the vocabulary."""
    cache.mkdir(parents=True, exist_ok=True)
    main = _other_ids(folder / "other-ids.tsv.xz")
    path = cache / f"ncbi-{part}.jsonl"
    lines = []
    with lzma.open(folder / f"{part}.jsonl.xz", "rt", encoding="utf-8") as file:
        for line in file:
            document = json.loads(line)
            for mention in document["mentions"]:
                mention["entity"] = main.get(mention["entity"], mention["entity"])
            lines.append(json.dumps(document, ensure_ascii=False) + "\n")
    write_whole(path, "".join(lines).encode())
    return path


def _other_ids(path: Path) -> Mapping[str, str]:
    with lzma.open(path, "rt", encoding="utf-8") as file:
        return dict(line.rstrip("\n").split("\t") for line in file)
