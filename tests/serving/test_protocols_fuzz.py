"""Whatever is sent to the protocols, the answer is an answer or says what is wrong."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.service_requests import FuzzResult, send

PATHS = [
    "/", "/api", "/rest/annotate", "/rest/candidates", "/rest/disambiguate", "/nif",
    "/disambiguate", "/segmentation",
]  # fmt: skip
KINDS = [
    "application/json", "application/x-www-form-urlencoded", "text/turtle", "",
    "multipart/form-data; boundary=x", "multipart/form-data; boundary=é",
]  # fmt: skip
PIECES = st.sampled_from(
    [
        "text", "spans", "entities", "query", "rawName", "offsetStart", "Troy", "{", "}", "[", "]",
        ":", ",", '"', "'", "\\", "\\u", "\\ud800", "\\x", "--x", "\r\n\r\n", 'name="query"', "=",
        "&", "%", "%ff", "[[", "]]", "<annotation ", "<surfaceForm ", 'text="', 'offset="9"', ">",
        "@prefix ", "nif:isString", "<a>", " .", "1", "-1", "1e999", "None", "\0", "🎉",
    ]
)  # fmt: skip
NESTED = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 40) | st.sampled_from(["", "Troy", "a", "🎉 Troy"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner),
    max_leaves=5,
)
KEYS = [
    "text", "spans", "shortText", "termVector", "entities", "mentions", "nbest", "language",
    "processSentence", "sentences", "tagger",
]  # fmt: skip
FEW = settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def check(answer) -> None:
    assert answer.status_code in (200, 413, 422), answer.text
    if answer.status_code != 200:
        told = answer.json()["error"]
        assert told["message"]
        assert "/src/" not in told["message"]
        assert "Traceback" not in told["message"]


@pytest.mark.parametrize("path", PATHS)
@FEW
@given(body=st.lists(PIECES, max_size=30).map("".join), kind=st.sampled_from(KINDS))
def test_bodies_of_any_kind_are_answered(client, path, body, kind):
    check(client.post(path, content=body.encode(), headers={"content-type": kind.encode()}))


@pytest.mark.parametrize("path", ["/", "/disambiguate"])
@FEW
@given(query=st.fixed_dictionaries({}, optional=dict.fromkeys(KEYS, NESTED)))
def test_objects_of_any_shape_are_answered(client, path, query):
    check(client.post(path, content=json.dumps(query).encode()))


@FEW
@given(body=st.binary(max_size=60), path=st.sampled_from(PATHS))
def test_bytes_are_answered(client, body, path):
    check(client.post(path, content=body))


@pytest.mark.parametrize("seed", [1, 2])
def test_requests_of_each_grammar_are_answered(address, seed):
    """A few of the requests of `make fuzz-service` and `make test-soak`."""
    result = FuzzResult()
    port = int(address.rpartition(":")[2])
    send(port, seed, lambda count: count < 60, result)
    assert result.mistakes == []
    assert {path for path, status in result.statuses if status == 200} >= {"/", "/nif", "/api/link"}
