"""Bags and data frames of Dask: their documents have the links of a linker."""

import dask
import dask.bag
import dask.dataframe
import pandas as pd
import pytest

from sgtb import build_kb
from sgtb.core.errors import SettingsError
from sgtb.integrations.dask import link
from sgtb.linking.link_options import LinkerSettings
from sgtb.linking.linker import Linker
from sgtb.text.tokenization import segment
from tests.helpers.job_runs import ENTITIES, TEXTS


@pytest.fixture(scope="module", autouse=True)
def threads():
    with dask.config.set(scheduler="threads", num_workers=2):
        yield


@pytest.fixture(scope="module")
def expected():
    with Linker.starter() as linker:
        return [linker.link(text) for text in TEXTS]


def test_a_bag_of_texts_and_objects(expected):
    given = [TEXTS[0], {"text": TEXTS[1], "id": "b"}, {"id": "c"}, 7, TEXTS[3]]
    found = link(dask.bag.from_sequence(given, npartitions=2)).compute()
    assert [one.get("rejected", "")[:22] for one in found] == [
        "", "", 'document 3: "text" sho', "a int; it should be a ", ""
    ]  # fmt: skip
    assert found[0] == expected[0].to_dict()
    assert found[1] == {"id": "b", **expected[1].to_dict()}
    assert found[4] == expected[3].to_dict()


def test_a_data_frame(expected):
    frame = pd.DataFrame({"text": TEXTS, "id": list("abcd")})
    linked = link(dask.dataframe.from_pandas(frame, npartitions=2))
    found = linked.compute()
    assert found.dtypes.to_dict() == linked.dtypes.to_dict()
    entities = [link.entity for document in expected for link in document.links]
    assert found["entity"].dropna().tolist() == [one for one in entities if one]
    assert set(found["document"]) == set("abcd")


@pytest.mark.parametrize("model", [None, "starter"])
def test_the_starter_with_another_knowledge_base(model):
    kb = build_kb(ENTITIES)
    with Linker(model, kb.path) as linker:
        expected = linker.link(TEXTS[0]).to_dict()
    assert link(dask.bag.from_sequence(TEXTS[:1]), model, kb).compute() == [expected]


def test_a_tokenizer_cannot_be_sent():
    settings = LinkerSettings(tokenizer=lambda text: segment(text))
    with pytest.raises(SettingsError, match="tokenizer"):
        link(dask.bag.from_sequence(TEXTS), settings=settings)
