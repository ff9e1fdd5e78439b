"""End-to-end figures: plain texts of AIDA-test, LGL-test and the starter's test, linked.

Knowledge bases and models are those of `sgtb kb build` and `sgtb train` with their defaults. They
are cached by fingerprints of their files and of the code.
"""

import lzma
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from experiments.aida_data import Say, silent
from experiments.kb_cache import LIST_CODE, cached_kb, fingerprint
from experiments.starter_data import read_starter
from sgtb.cli.commands.train import grow, prepare_given
from sgtb.cli.train_input import TrainingOptions, from_files
from sgtb.core.errors import CorpusError, ModelFileError
from sgtb.core.progress import Progress
from sgtb.evaluation.linkers import (
    EndToEndScores,
    Evaluation,
    EvaluationSettings,
    SetScores,
    data_sets,
    evaluate_end_to_end,
)
from sgtb.kb.build.list_build import build_list
from sgtb.kb.build.pprforned_build import build_pprforned
from sgtb.kb.knowledge_base import KnowledgeBase
from sgtb.linking.linker import Linker
from sgtb.linking.linker_model import LinkerModel

CACHE = Path("build", "from-text")
SYSTEM = "linker"
DEFAULTS = TrainingOptions()
_MODEL_CODE = (*LIST_CODE, "boosting", "linking")

LEAK = (
    "AIDA: the knowledge base is made of PPRforNED's candidate lists. Its names are those of the "
    "mentions of AIDA's documents, test included, so that mentions are detected too well."
)
"""Must accompany the figures."""


@dataclass(frozen=True)
class TextTest:
    """Test documents, and the sources of their linker.

    entities  PPRforNED's archive, or a list of entities
    dev       empty: the split dev of the training files
    document_names  whether PPRforNED's knowledge base has the names in documents
    """

    name: str
    entities: Path
    train: Path
    dev: tuple[Path, ...]
    test: Path
    split: str | None = None
    document_names: bool = True


def text_tests(data: Path) -> tuple[TextTest, ...]:
    """Return the tests on the data of a folder."""
    aida, geo = data / "aida", data / "geo"
    return (
        TextTest("AIDA-test", data / "pprforned" / "pprforned.tar.xz", aida, (), aida, "test"),
        TextTest(
            "LGL-test", geo / "gazetteer.jsonl.xz", geo / "lgl-train.jsonl.xz",
            (geo / "lgl-dev.jsonl.xz",), geo / "lgl-test.jsonl.xz",
        ),
    )  # fmt: skip


def run_from_text(
    tests: Sequence[TextTest],
    cache: Path = CACHE,
    settings: EvaluationSettings | None = None,
    progress: Progress | None = None,
    say: Say = silent,
) -> dict[str, Evaluation[EndToEndScores]]:
    """Link the plain texts of all tests and of the starter's, with a linker for each."""
    for test in tests:
        for file in (test.entities, test.train, *test.dev, test.test):
            if not file.exists():
                raise CorpusError(f"{file}: no such file; --data names the folder that has it")
    cache.mkdir(parents=True, exist_ok=True)
    results = {}
    for test in tests:
        with open_linker(test, cache, say) as linker:
            (documents,) = data_sets([test.test], split=test.split).values()
            results[test.name] = evaluate_end_to_end(
                {SYSTEM: linker}, {test.name: documents}, settings, progress=progress
            )
    with Linker.starter() as linker:
        name, texts = "starter-test", read_starter()["test"]
        results[name] = evaluate_end_to_end(
            {SYSTEM: linker}, {name: texts}, settings, progress=progress
        )
    return results


def joined(results: dict[str, Evaluation[EndToEndScores]]) -> Evaluation[EndToEndScores]:
    """Return all results as one, for a common table."""
    sets: tuple[SetScores[EndToEndScores], ...] = ()
    for one in results.values():
        sets += one.sets
    return Evaluation({}, {}, sets)


def as_json(results: dict[str, Evaluation[EndToEndScores]]) -> dict[str, Any]:
    """Return the results as plain data."""
    return {"note": LEAK, "tests": {name: one.to_dict() for name, one in results.items()}}


def open_kb(test: TextTest, cache: Path, say: Say = silent) -> KnowledgeBase:
    """Open the knowledge base of a test; if the cache lacks it, it is built first."""
    place = cache / f"{test.name}-{fingerprint(LIST_CODE, test.entities)}"
    return KnowledgeBase.open(cached_kb(place, partial(_build, test), say))


def open_linker(
    test: TextTest, cache: Path, say: Say, options: TrainingOptions = DEFAULTS
) -> Linker:
    """Open the linker of a test; what the cache lacks is built and trained first."""
    kb = open_kb(test, cache, say)
    files = [file for path in (test.train, *test.dev) for file in _files(path)]
    made_of = fingerprint(_MODEL_CODE, test.entities, *files)
    path = cache / f"{test.name}-{options.plan}-{options.nil_rule}-{made_of}.model"
    try:
        model = LinkerModel.load(path)
    except ModelFileError:  # not there yet, or damaged
        say(f"training a model: {path}")
        model = _train(kb, test, options)
        model.save(path)
    return Linker(model, kb)


def _build(test: TextTest, place: Path) -> None:
    entities = test.entities
    if entities.name.startswith("pprforned"):
        build_pprforned(entities, place, document_names=test.document_names)
        return
    with tempfile.TemporaryDirectory(dir=place.parent) as folder:
        plain = Path(folder, "entities.jsonl")
        with lzma.open(entities) as packed, plain.open("wb") as file:
            shutil.copyfileobj(packed, file)
        build_list(plain, place)


def _train(kb: KnowledgeBase, test: TextTest, options: TrainingOptions) -> LinkerModel:
    given = from_files(kb, [test.train], test.dev, None, 0, quiet=True)
    settings = options.settings(given)
    prepared = prepare_given(kb, given, settings, "none", quiet=True)
    return grow(prepared, settings, given, None, quiet=True)


def _files(path: Path) -> list[Path]:
    return sorted(path.iterdir()) if path.is_dir() else [path]
