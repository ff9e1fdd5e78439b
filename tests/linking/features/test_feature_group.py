"""Adding a feature group: one file, and schema, matrix, labels, API and docs have it."""

import json
import subprocess
import sys
import textwrap

import pytest

from sgtb.linking.features.schema import GROUPS

GROUP = '''
"""Shouting: whether the mention is written in capitals."""

import numpy as np

from sgtb.linking.features.feature_group import FeatureGroup, columns


def _shouting(inputs):
    shouts = [mention.text.isupper() for mention in inputs.candidates.mentions]
    return inputs.by_mention(np.array(shouts, np.float32)[:, None])


GROUPS = (
    FeatureGroup(
        "shouting", "capitals", "Whether the mention is in capitals.", 500,
        columns(["shouts"], relative=["shouts"]), _shouting,
    ),
)
'''
SCRIPT = """
    import json
    import sys

    from sgtb.linking.features import groups

    groups.__path__.append(sys.argv[1])

    import numpy as np
    from starlette.testclient import TestClient

    from docs.hooks import feature_table
    from sgtb import Linker, LinkerSettings
    from sgtb.linking.features.schema import Schema
    from sgtb.linking.nil_candidate import REASON_LABELS
    from sgtb.serving.app import create_app
    from sgtb.serving.engine import Engine
    from tests.helpers.linking_builders import small_setting

    schema = Schema.of(frozenset())
    setting = small_setting()
    table = setting.table(setting.train)
    full = table.schema.names
    shouts = table.columns[:, full.index("shouts")]
    per_mention = shouts[table.candidates.candidate_offsets[:-1]]
    engine = Engine(Linker.starter)
    with TestClient(create_app(engine)) as client:
        labels = client.get("/api/kb").json()["feature_labels"]
    always = Linker.starter(LinkerSettings(nil=0.0))
    print(json.dumps({
        "schema": [f.name for f in schema.features if f.group == "shouting"],
        "right": per_mention.tolist() == [m.text.isupper() for m in table.candidates.mentions],
        "label": REASON_LABELS["shouting"],
        "api": labels,
        "docs": feature_table(),
        "links": [link.entity for link in always.link("Jordan beat Utah.").links],
    }))
"""


@pytest.fixture(scope="module")
def extended(tmp_path_factory):
    """What a process says that finds one more module among the groups."""
    folder = tmp_path_factory.mktemp("groups")
    (folder / "shouting.py").write_text(GROUP)
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(SCRIPT), str(folder)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_one_file_adds_a_feature_group(extended):
    assert extended["schema"] == ["shouts", "shouts_below_best"]
    assert extended["right"]
    assert extended["label"] == "capitals"
    assert "| `shouting` | capitals | Whether the mention is in capitals. |" in extended["docs"]


def test_the_api_has_its_label(extended):
    assert extended["api"]["shouting"] == "capitals"


def test_models_without_the_group_are_loaded_all_the_same(extended):
    assert all(extended["links"])


def test_groups_are_declared_in_full():
    assert len({group.key for group in GROUPS}) == len(GROUPS)
    assert len({group.position for group in GROUPS}) == len(GROUPS)
    for group in GROUPS:
        assert group.label
        assert group.about.endswith(".")
        assert group.columns
