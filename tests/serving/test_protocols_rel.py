"""REL's protocol: a text, or a text and its mentions, answered by a list of lists."""

import json

import pytest

from tests.serving.conftest import raw_post

TEXT = "🎉 Jordan won six rings with the Bulls, and Jackson coached him."


def test_a_text_with_no_spans_is_linked(client):
    # As the README of REL has it: `spans` is there, and empty.
    answer = client.post("/", json={"text": TEXT, "spans": []})
    assert answer.status_code == 200
    rows = answer.json()
    assert [row[:4] for row in rows] == [
        [2, 6, "Jordan", "Michael_Jordan"],
        [32, 5, "Bulls", "Chicago_Bulls"],
        [43, 7, "Jackson", "Phil_Jackson"],
    ]
    assert [row[6] for row in rows] == ["PER", "ORG", "PER"]
    for start, length, mention, _, disambiguation, detection, _ in rows:
        assert TEXT[start : start + length] == mention
        assert 0 < disambiguation <= 1
        assert 0 < detection <= 1


@pytest.mark.parametrize("path", ["/", "/ne", "/api", "/api/", "/api/ne"])
def test_all_addresses_of_rel_answer(client, path):
    # Its public server says `spans` may be missing, and takes the name of a recogniser.
    answer = client.post(path, json={"text": TEXT, "tagger": "ner-fast"})
    assert [row[3] for row in answer.json()] == ["Michael_Jordan", "Chicago_Bulls", "Phil_Jackson"]


@pytest.mark.parametrize(
    "spans", [[[32, 5]], [{"start": 32, "length": 5}]], ids=["pairs", "as GERBIL's bridge sends it"]
)
def test_given_mentions_are_linked_and_no_others_found(client, spans):
    rows = client.post("/", json={"text": TEXT, "spans": spans}).json()
    (row,) = rows
    assert row[:4] == [32, 5, "Bulls", "Chicago_Bulls"]
    assert row[5:] == [0.0, "NULL"]  # neither is known of a mention that was given


def test_mentions_keep_their_order_and_may_overlap(client):
    spans = [[43, 7], [2, 6], [2, 36], [2, 6]]
    rows = client.post("/", json={"text": TEXT, "spans": spans}).json()
    assert [row[:2] for row in rows if row[1] < 36] == [[43, 7], [2, 6], [2, 6]]


def test_what_is_not_in_the_knowledge_base_is_left_out(client):
    assert client.post("/", json={"text": "Nobody has met Xyzzy.", "spans": [[15, 5]]}).json() == []
    assert client.post("/", json={"text": "", "spans": []}).json() == []


def test_a_body_without_a_content_type_is_read(address):
    status, body = raw_post(address, "/", json.dumps({"text": TEXT}).encode())
    assert status == 200
    assert json.loads(body)[0][3] == "Michael_Jordan"


def test_the_status_is_told(client):
    assert client.get("/api").json()["message"] == "up"


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"{", "not JSON"),
        (b"[1]", "must be a JSON object"),
        (b"\xff", "not UTF-8"),
        (b"{}", "must be a string"),
        (b'{"text": 1}', "must be a string"),
        (b'{"text": NaN}', "not JSON"),
        (b'{"text": "Troy", "spans": 1}', "list of [start, length]"),
        (b'{"text": "Troy", "spans": [1]}', "a span is [start, length]"),
        (b'{"text": "Troy", "spans": [[0, true]]}', "must be a number"),
        (b'{"text": "Troy", "spans": [[0, 5]]}', "outside of a text of 4 code points"),
        (b'{"text": "Troy", "spans": [[4, -1]]}', "outside of a text"),
        (b'{"text": "a  b", "spans": [[1, 2]]}', "white space"),
        (b"[" * 100_000, "nested too deeply"),
    ],
    ids=range(13),
)
def test_what_cannot_be_read_is_refused_and_told_why(client, body, told):
    answer = client.post("/", content=body)
    assert answer.status_code == 422
    assert told in answer.json()["error"]["message"]


def test_limits_are_kept(client):
    answer = client.post("/", json={"text": "Troy " * 5_000})
    assert answer.status_code == 413
    assert answer.json()["error"]["limit"] == 20_000
    answer = client.post("/", json={"text": "Troy " * 100, "spans": [[0, 4]] * 51})
    assert (answer.status_code, answer.json()["error"]["limit"]) == (422, 50)
    answer = client.post("/", json={"text": "Troy", "spans": [[0, 4]] * 5})
    assert (answer.status_code, answer.json()["error"]["limit"]) == (422, 4)
