"""entity-fishing's protocol: queries in all the forms that clients send, entities that steer."""

import json

import pytest
import spacy
import spacyfishing  # noqa: F401
from nerd.nerd_client import NerdClient

from tests.serving.conftest import raw_post

TEXT = "🎉 Troy and Paris."
FREE = {"Troy": "Troy", "Paris": "Paris (mythology)"}
STEERED = {"Troy": "Troy, Michigan", "Paris": "Paris"}
MICHIGAN = {
    "rawName": "Troy",
    "offsetStart": 2,
    "offsetEnd": 6,
    "wikipediaExternalRef": "Troy, Michigan",
}


def meanings(told: dict) -> dict[str, str]:
    return {
        one["rawName"]: one.get("wikipediaExternalRef", one.get("wikidataId"))
        for one in told["entities"]
    }


def test_a_text_is_linked(client):
    told = client.post("/disambiguate", json={"text": TEXT, "language": {"lang": "en"}}).json()
    assert told["text"] == TEXT
    assert told["language"] == {"lang": "en"}
    assert told["runtime"] >= 0
    assert [(one["rawName"], one["offsetStart"], one["offsetEnd"]) for one in told["entities"]] == [
        ("Troy", 2, 6), ("Paris", 11, 16),
    ]  # fmt: skip
    paris = told["entities"][1]
    assert paris["wikipediaExternalRef"] == "Paris (mythology)"
    assert paris["preferredTerm"] == "Paris (mythology)"
    assert paris["type"] == "PERSON"
    assert 0 < paris["confidence_score"] < 1


def test_given_entities_steer_the_rest(client):
    assert meanings(client.post("/disambiguate", json={"text": TEXT}).json()) == FREE
    steered = client.post("/disambiguate", json={"text": TEXT, "entities": [MICHIGAN]}).json()
    assert meanings(steered) == STEERED
    troy = steered["entities"][0]
    assert troy["confidence_score"] == 1.0
    assert troy["type"] == "LOCATION"


def test_an_answer_can_be_sent_back_corrected(client):
    """As in an editor: the answer is the next query, and what it says is certain."""
    told = client.post("/disambiguate", json={"text": TEXT}).json()
    told["entities"][0]["wikipediaExternalRef"] = "Troy, Michigan"
    del told["entities"][1:]
    again = client.post("/disambiguate", json=told).json()
    assert meanings(again) == STEERED
    assert [one["preferredTerm"] for one in again["entities"]] == ["Troy, Michigan", "Paris"]
    same = client.post("/disambiguate", json=again).json()
    assert meanings(same) == STEERED
    assert [one["confidence_score"] for one in same["entities"]] == [1.0, 1.0]


def test_an_entity_that_is_unknown_is_told_again_and_steers_nothing(client):
    given = {
        "rawName": "Troy", "offsetStart": 2, "offsetEnd": 6, "wikidataId": "Q22647", "type": "OTHER"
    }  # fmt: skip
    told = client.post("/disambiguate", json={"text": TEXT, "entities": [given]}).json()
    troy, paris = told["entities"]
    assert (troy["wikidataId"], troy["type"], troy["confidence_score"]) == ("Q22647", "OTHER", 1.0)
    alone = {"rawName": "Paris", "offsetStart": 11, "offsetEnd": 16}
    query = {"text": TEXT, "entities": [alone], "mentions": []}
    assert client.post("/disambiguate", json=query).json()["entities"] == [paris]


def test_a_given_mention_is_linked_beside_those_found(client):
    # Without a reference it is a mention, not a decision.
    given = {
        "rawName": "again", "offsetStart": 17, "offsetEnd": 22, "type": "NATIONAL",
        "wikipediaExternalRef": -1,
    }  # fmt: skip
    text = TEXT.replace(".", " again.")
    told = client.post("/disambiguate", json={"text": text, "entities": [given]}).json()
    assert [one["rawName"] for one in told["entities"]] == ["Troy", "Paris", "again"]
    assert "wikipediaExternalRef" not in told["entities"][2]


def test_of_given_entities_that_overlap_the_first_and_longest_is_taken(client):
    given = [
        {"rawName": "Paris", "offsetStart": 11, "offsetEnd": 16},
        {"rawName": "Troy", "offsetStart": 2, "offsetEnd": 6},
        {"rawName": "Troy and Paris", "offsetStart": 2, "offsetEnd": 16},
    ]
    told = client.post("/disambiguate", json={"text": TEXT, "entities": given}).json()
    assert [one["rawName"] for one in told["entities"]] == ["Troy and Paris"]


def test_only_given_mentions_are_linked_where_none_are_to_be_found(client):
    # `"mentions": []` says that nobody is to look for more, as spaCy fishing does.
    given = {"rawName": "Paris", "offsetStart": 11, "offsetEnd": 16}
    query = {
        "text": TEXT, "shortText": "", "language": {"lang": "en"}, "entities": [given],
        "mentions": [], "customisation": "generic", "full": "false",
    }  # fmt: skip
    told = client.post("/disambiguate", json=query).json()
    assert [one["rawName"] for one in told["entities"]] == ["Paris"]
    assert told["entities"][0]["wikipediaExternalRef"]


QUERY = {"text": 'It\'s Java\n\u00a0\u200band "Python", é 🎉', "sentence": "true", "entities": []}


def printed_by_hand() -> str:
    return """{ 'text': 'Java and Python', 'processSentence': [ 0 ], 'onlyNER': false,
        'sentences': [ { 'offsetStart': 0, 'offsetEnd': 15 } ], 'nbest': 0 }"""


@pytest.mark.parametrize(
    "query",
    [
        json.dumps(QUERY),
        json.dumps(QUERY, ensure_ascii=False),
        str(QUERY),
        str({**QUERY, "onlyNER": False, "nbest": None}),
        ascii(QUERY),
        "{u'text': u'" + r"Java \xe9 \ud83c\udf89 \'Python\'" + "'}",
        printed_by_hand(),
    ],
    ids=["JSON", "UTF-8", "printed", "Python's words", "escaped", "Python 2", "in the manual"],
)
def test_all_ways_to_write_a_query_are_read(client, query):
    """The client of entity-fishing sends a dictionary as Python prints it, and curl examples mix
    single quotes with JSON's words."""
    form = {"query": query}
    for sent in ({"files": form}, {"data": form}, {"content": query.encode()}):
        answer = client.post("/disambiguate", **sent)
        assert answer.status_code == 200, answer.text
        text = answer.json()["text"]
        assert {"Java", "Python"} <= set(meanings(answer.json()))
        for one in answer.json()["entities"]:
            assert text[one["offsetStart"] : one["offsetEnd"]] == one["rawName"]
    if query.startswith("{u"):
        assert text == "Java é 🎉 'Python'"
    elif "It" in query:
        assert text == QUERY["text"]


def test_a_query_without_a_content_type_is_read(address):
    status, body = raw_post(address, "/disambiguate", json.dumps({"text": TEXT}).encode())
    assert status == 200
    assert meanings(json.loads(body)) == FREE


def test_sentences_are_linked_one_after_the_other(client):
    """As its client does with long texts: it asks for sentences, then for some of them at a time;
    what was told is in the next query."""
    text = "Java 🎉 is taught. Python is taught. Homer sings of Troy."
    places = client.post("/segmentation", files={"text": text}).json()["sentences"]
    assert "".join(text[one["offsetStart"] : one["offsetEnd"]] for one in places) == text
    query = {"text": text, "entities": [], "sentences": places}
    found = []
    for number in range(len(places)):
        told = client.post("/disambiguate", json={**query, "processSentence": [number]}).json()
        found.append([one["rawName"] for one in told["entities"]])
        query["entities"] = told["entities"]
    assert found == [["Java"], ["Java", "Python"], ["Java", "Python", "Homer", "Troy"]]


def test_several_candidates_are_told_where_asked_for(client):
    text = "Programmers write Java and Python."
    told = client.post("/disambiguate", json={"text": text, "nbest": 3}).json()
    java = [one for one in told["entities"] if one["rawName"] == "Java"]
    assert len(java) == 3
    scores = [one["confidence_score"] for one in java]
    assert scores == sorted(scores, reverse=True)
    assert len({one["wikipediaExternalRef"] for one in java}) == 3


def test_a_search_query_is_linked_as_a_text(client):
    told = client.post("/disambiguate", json={"shortText": "python java"}).json()
    assert told["shortText"] == "python java"
    assert "text" not in told


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ({}, 'no "text"'),
        ({"termVector": [{"term": "Java", "score": 1}]}, "not supported"),
        ({"text": "Java", "shortText": "Java"}, "one of them"),
        ({"text": 5}, "must be a string"),
        ({"text": "Java", "entities": "Java"}, "must be a list"),
        ({"text": "Java", "entities": ["Java"]}, "must be an object"),
        ({"text": "Java", "entities": [{"rawName": "Java"}]}, "must be a number"),
        ({"text": TEXT, "entities": [{**MICHIGAN, "offsetStart": 3, "offsetEnd": 7}]}, "UTF-16"),
        ({"text": "Java", "nbest": "many"}, "must be a number"),
        ({"text": "Java", "processSentence": [7]}, "there are 1 sentences"),
        ({"text": "Java", "processSentence": [0], "sentences": [3]}, "must be an object"),
    ],
)
def test_what_cannot_be_answered_is_told(client, query, told):
    answer = client.post("/disambiguate", json=query)
    assert answer.status_code == 422
    assert told in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        ({"content": b"'"}, "not JSON"),
        ({"content": rb"{'a': '\'\'\'"}, "not JSON"),
        ({"files": {"text": "Java"}}, 'no "query"'),
        ({"files": {"query": "{}", "file": b"%PDF-1.4"}}, "files are not supported"),
        ({"content": b"", "headers": {"content-type": "multipart/form-data"}}, "no boundary"),
    ],
)
def test_bodies_that_are_no_query_are_refused(client, sent, told):
    answer = client.post("/disambiguate", **sent)
    assert answer.status_code == 422
    assert told in answer.json()["error"]["message"]


def test_quotes_without_end_take_no_time(client):
    # What is tried again from every quote on would take hours.
    body = b"{'a': '" + rb"\'" * 400_000
    assert client.post("/disambiguate", content=body).status_code == 422


def test_texts_that_are_too_long_are_refused(client):
    long = {"text": "Troy " * 5_000}
    for path, sent in (("/disambiguate", {"json": long}), ("/segmentation", {"data": long})):
        answer = client.post(path, **sent)
        assert (answer.status_code, answer.json()["error"]["limit"]) == (413, 20_000)


def test_too_many_entities_are_refused(client):
    given = [{"rawName": "a", "offsetStart": 2 * i, "offsetEnd": 2 * i + 1} for i in range(51)]
    answer = client.post("/disambiguate", json={"text": "a " * 60, "entities": given})
    assert (answer.status_code, answer.json()["error"]["limit"]) == (422, 50)


def test_the_client_of_entity_fishing_works(address):
    client = NerdClient(address)
    told, status = client.disambiguate_text(TEXT, entities=[MICHIGAN])
    assert status == 200
    assert meanings(told) == STEERED
    long = TEXT + " Homer sings of Troy, and nobody knows why he does." * 11
    told, status = client.disambiguate_text(long)
    assert status == 200
    assert len(told["entities"]) == 24
    told, status = client.disambiguate_query("java python")
    assert status == 200


def test_spacy_fishing_works(address):
    nlp = spacy.blank("en")
    nlp.add_pipe("entity_ruler").add_patterns([{"label": "MISC", "pattern": name} for name in FREE])
    nlp.add_pipe("entityfishing", config={"api_ef_base": address})
    found = {span.text: span._.wikipedia_page_ref for span in nlp(TEXT).ents}
    assert found == FREE
