"""Transfer: the starter's model on knowledge bases and texts of other fields, without training.

Diseases in abstracts (NCBI-train), places in local news (LGL-train and dev) and agency news
(AIDA-dev, by name): documents that other experiments train or tune on. No test set is used, so
settings of the starter may be chosen by this.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from experiments.aida_data import Say, silent
from experiments.from_text import open_kb
from experiments.own_lists import own_tests
from sgtb.core.progress import Progress
from sgtb.evaluation.linkers import EvaluationSettings, data_sets, evaluate_linkers
from sgtb.evaluation.linkers.systems import baselines_of
from sgtb.linking.link_options import LinkerSettings
from sgtb.linking.linker import Linker
from sgtb.linking.linker_model import LinkerModel
from sgtb.starter import MODEL

SYSTEM = "starter"
_INTERVAL_SAMPLES = 40
"""The minimum: the table has no intervals."""


class Field(NamedTuple):
    """Documents of a field: the test of `own_tests` with its knowledge base, and a split."""

    test: str
    split: str | None = None


FIELDS: Mapping[str, Field] = {
    "diseases": Field("NCBI-dev"),
    "places": Field("LGL-test"),
    "news": Field("AIDA-test", "dev"),
}


def run_transfer(
    data: Path,
    cache: Path,
    model: Path = MODEL,
    progress: Progress | None = None,
    say: Say = silent,
) -> dict[str, dict[str, Any]]:
    """Return, per field, the accuracy of the model and of baselines; every name is linked."""
    loaded = LinkerModel.load(model)
    tests = {test.name: test for test in own_tests(data, cache)}
    results = {}
    for name, field in FIELDS.items():
        test = tests[field.test]
        # NCBI's dev is the test set of other experiments.
        files = [test.train] if field.split or test.test in test.dev else [test.train, *test.dev]
        read = data_sets(files, split=field.split).values()
        documents = [replace(document, split="") for one in read for document in one]
        with Linker(loaded, open_kb(test, cache, say), LinkerSettings(nil=0.0)) as linker:
            found = evaluate_linkers(
                {SYSTEM: linker}, {name: documents},
                EvaluationSettings(samples=_INTERVAL_SAMPLES), baselines=baselines_of(linker.kb),
                progress=progress,
            )  # fmt: skip
            lacking = linker.lacking_evidence
        (scores,) = found.sets
        systems = scores.systems
        calibration = systems[SYSTEM].calibration_in_kb
        results[name] = {
            "known": scores.known,
            "recall": 100 * systems[SYSTEM].recall.share,
            "lacking": lacking,
            "accuracy": {key: 100 * one.accuracy.micro for key, one in systems.items()},
            "ece": None if calibration is None else 100 * calibration.ece,
        }
    return results
