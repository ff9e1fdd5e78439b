"""The starter's small world: its knowledge base and documents, and linkers trained on them."""

import shutil
from functools import cache
from pathlib import Path

import pytest

from experiments.starter_data import read_contrast, read_starter
from sgtb.boosting import SearchPlan
from sgtb.kb import KnowledgeBase
from sgtb.kb.build.list_build import build_list
from sgtb.linking.link_options import LinkerSettings
from sgtb.linking.linker import Linker
from sgtb.linking.training.linker_training import LinkerTraining, train_linker
from sgtb.starter import ENTITIES
from tests.helpers.trained_linkers import QUICK


@pytest.fixture(scope="session")
def starter():
    """The starter's documents by split, and those of the contrast pairs."""
    pairs = [document for _, *texts in read_contrast() for document in texts]
    return {**read_starter(), "contrast": tuple(pairs)}


@pytest.fixture(scope="session")
def unseen(starter):
    """Documents that no model was trained on."""
    return [*starter["dev"], *starter["test"], *starter["contrast"]]


@pytest.fixture(scope="session")
def starter_place(tmp_path_factory) -> Path:
    """The folder of the knowledge base, which nobody changes."""
    place = tmp_path_factory.mktemp("starter") / "kb"
    build_list(ENTITIES, place, variants=None)
    return place


@pytest.fixture(scope="session")
def starter_kb(starter_place):
    with KnowledgeBase.open(starter_place) as kb:
        yield kb


@pytest.fixture
def own_place(starter_place, tmp_path) -> Path:
    """A copy of the knowledge base that a test may change."""
    return Path(shutil.copytree(starter_place, tmp_path / "kb"))


@pytest.fixture(scope="session")
def model_of(starter_kb, starter):
    """Return the model of a plan, trained when it is first asked for."""

    @cache
    def train(plan):
        settings = LinkerTraining(**{**vars(QUICK), "plan": SearchPlan(plan, beam_width=3)})
        return train_linker(starter_kb, starter["train"], (), settings, origin={"of": "tests"})

    return train


@pytest.fixture(scope="session")
def linker_of(starter_kb, model_of):
    """Return a linker with the model of a plan; the arguments are settings."""
    return lambda plan="bsg", **settings: Linker(
        model_of(plan), starter_kb, LinkerSettings(**settings)
    )


@pytest.fixture(scope="session")
def linker(linker_of):
    return linker_of()
