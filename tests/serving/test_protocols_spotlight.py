"""DBpedia Spotlight's protocol, with its own clients where they are installed."""

from urllib.parse import quote

import pynif
import pytest
import requests
import spotlight

from tests.serving.conftest import PREFIX, raw_post

TEXT = "🎉 Jordan won six rings with the Bulls, and Jackson coached him."
ENTITIES = ["Michael_Jordan", "Chicago_Bulls", "Phil_Jackson"]


@pytest.mark.parametrize("path", ["/rest/annotate", "/rest/annotate/"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_text_is_annotated(client, path, method):
    fields = {"text": TEXT, "confidence": "0.2", "support": "2"}
    sent = {"params": fields} if method == "GET" else {"data": fields}
    answer = client.request(method, path, headers={"Accept": "application/json"}, **sent)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    told = answer.json()
    resources = told.pop("Resources")
    assert told == {
        "@text": TEXT, "@confidence": "0.2", "@support": "2", "@types": "", "@sparql": "",
        "@policy": "whitelist",
    }  # fmt: skip
    assert [one["@URI"] for one in resources] == [PREFIX + name for name in ENTITIES]
    first = resources[0]
    assert (first["@surfaceForm"], first["@offset"]) == ("Jordan", "2")
    assert first["@types"] == "DBpedia:Person,Schema:Person"
    assert int(first["@support"]) >= 2
    assert float(first["@percentageOfSecondRank"]) < float(first["@similarityScore"]) <= 1
    assert all(isinstance(value, str) for one in resources for value in one.values())


def test_lists_are_lists_however_much_there_is_in_them(client):
    assert client.get("/rest/annotate", params={"text": "Nothing."}).json()["Resources"] == []
    one = client.get("/rest/annotate", params={"text": "The Bulls won."}).json()["Resources"]
    assert [resource["@surfaceForm"] for resource in one] == ["Bulls"]
    none = client.get("/rest/candidates", params={"text": "Nothing."}).json()
    assert none == {"annotation": {"@text": "Nothing.", "surfaceForm": []}}
    (form,) = client.get("/rest/candidates", params={"text": "Gettysburg."}).json()["annotation"][
        "surfaceForm"
    ]
    assert isinstance(form["resource"], list)


def test_candidates_are_ranked(client):
    told = client.post("/rest/candidates", data={"text": TEXT}).json()["annotation"]
    assert told["@text"] == TEXT
    form = told["surfaceForm"][0]
    assert (form["@name"], form["@offset"]) == ("Jordan", "2")
    resources = form["resource"]
    assert resources[0]["@uri"] == "Michael_Jordan"
    assert resources[0]["@label"] == "Michael Jordan"
    assert len(resources) > 3
    scores = [float(one["@finalScore"]) for one in resources]
    assert scores == sorted(scores, reverse=True)
    assert float(resources[0]["@percentageOfSecondRank"]) == pytest.approx(
        scores[1] / scores[0], abs=1e-5
    )
    assert 0 < float(resources[0]["@priorScore"]) < 1
    assert set(resources[0]) == {
        "@label", "@uri", "@contextualScore", "@percentageOfSecondRank", "@support", "@priorScore",
        "@finalScore", "@types",
    }  # fmt: skip


def test_mentions_are_spotted(client):
    forms = client.get("/rest/spot", params={"text": TEXT}).json()["annotation"]["surfaceForm"]
    assert forms[1] == {"@name": "Bulls", "@offset": "32"}


def entities(client, **fields):
    told = client.post("/rest/annotate", data={"text": TEXT, **fields}).json()["Resources"]
    return [resource["@URI"].removeprefix(PREFIX) for resource in told]


def test_filters_take_annotations_away(client):
    assert entities(client) == ENTITIES
    assert entities(client, confidence="0.98") == ["Michael_Jordan", "Chicago_Bulls"]
    assert entities(client, support="100") == []
    assert entities(client, types="DBpedia:Person") == ["Michael_Jordan", "Phil_Jackson"]
    assert entities(client, types="Place,Schema:Organization") == ["Chicago_Bulls"]
    assert entities(client, types="DBpedia:Person", policy="blacklist") == ["Chicago_Bulls"]


def test_filters_take_candidates_away(client):
    def named(**fields):
        told = client.post("/rest/candidates", data={"text": TEXT, **fields}).json()
        return {
            form["@name"]: [one["@uri"] for one in form["resource"]]
            for form in told["annotation"]["surfaceForm"]
        }

    assert set(named()) == {"Jordan", "Bulls", "Jackson"}
    assert named(confidence="0.9")["Jordan"] == ["Michael_Jordan"]
    assert set(named(types="DBpedia:Person")) == {"Jordan", "Jackson"}
    assert "Jordan_River" not in named(types="DBpedia:Person")["Jordan"]


XML = '<?xml version="1.0" encoding="UTF-8"?><annotation text="{}">{}</annotation>'


def test_given_mentions_are_disambiguated_and_no_others(client):
    # As GERBIL's client sends it: the text as it is, a blank before the slash.
    text = 'Jordan & the "Bulls" < Jackson'.replace('"', "'")
    marked = XML.format(text, '<surfaceForm name="Bulls" offset="14" />')
    answer = client.post("/rest/disambiguate", data={"text": marked})
    assert answer.status_code == 200
    (resource,) = answer.json()["Resources"]
    assert resource["@URI"] == PREFIX + "Chicago_Bulls"
    assert resource["@offset"] == "14"
    assert answer.json()["@text"] == text


def test_escapes_count_as_the_characters_they_stand_for(client):
    marked = XML.format("R&amp;D &#x1F389; Troy", '<surfaceForm offset="6" name="Troy"/>')
    told = client.post("/rest/disambiguate", data={"text": marked}).json()
    assert told["@text"] == "R&D 🎉 Troy"
    assert [one["@offset"] for one in told["Resources"]] == ["6"]


def test_mentions_in_brackets_are_disambiguated(client):
    told = client.get("/rest/disambiguate", params={"text": "[[Homer]] on [[x|Troy]]."}).json()
    assert told["@text"] == "Homer on Troy."
    assert [(one["@surfaceForm"], one["@offset"]) for one in told["Resources"]] == [
        ("Homer", "0"), ("Troy", "9"),
    ]  # fmt: skip


def test_a_spotter_that_reads_spots_works_for_candidates_too(client):
    # As the evaluation of Spotlight asks its own server.
    marked = XML.format(TEXT, '<surfaceForm name="Bulls" offset="32"/>')
    told = client.get("/rest/candidates/", params={"spotter": "SpotXmlParser", "text": marked})
    assert [form["@name"] for form in told.json()["annotation"]["surfaceForm"]] == ["Bulls"]


def test_an_annotation_without_spots_has_no_resources(client):
    told = client.post("/rest/disambiguate", data={"text": XML.format(TEXT, "")}).json()
    assert told["Resources"] == []


@pytest.mark.parametrize(
    ("path", "fields", "told"),
    [
        ("annotate", {}, '"text" is missing'),
        ("annotate", {"text": ""}, '"text" is missing'),
        ("annotate", {"text": "Troy", "url": "http://example.org/"}, "not supported"),
        ("annotate", {"text": "Troy", "sparql": "select"}, "not supported"),
        ("annotate", {"text": "Troy", "confidence": "high"}, "must be a number"),
        ("annotate", {"text": "Troy", "confidence": "nan"}, "must be a number"),
        ("annotate", {"text": "Troy", "policy": "both"}, "whitelist or blacklist"),
        ("disambiguate", {"text": "Troy"}, "marks no mention"),
        (
            "disambiguate",
            {"text": XML.format("Troy", '<surfaceForm name="Troy"/>')},
            "it needs both",
        ),
        (
            "disambiguate",
            {"text": XML.format(TEXT, '<surfaceForm name="Bulls" offset="33"/>')},
            "UTF-16",
        ),
        ("candidates", {"text": "Troy", "spotter": "SpotXmlParser"}, "no <annotation"),
    ],
)
def test_what_cannot_be_answered_is_told(client, path, fields, told):
    answer = client.post(f"/rest/{path}", data=fields)
    assert answer.status_code == 422
    assert told in answer.json()["error"]["message"]


def test_a_form_without_a_content_type_is_read(address):
    body = f"text={quote(TEXT)}&confidence=0.2".encode()
    status, told = raw_post(address, "/rest/annotate", body)
    assert status == 200
    assert PREFIX + "Michael_Jordan" in told


def test_a_form_that_is_not_utf_8_is_refused(client):
    answer = client.post("/rest/annotate", content=b"text=%ff")
    assert answer.status_code == 422
    answer = client.post("/rest/annotate", content=b"&".join([b"a=b"] * 101))
    assert "more than 100 fields" in answer.json()["error"]["message"]


def test_the_client_pyspotlight_works(address):
    found = spotlight.annotate(f"{address}/rest/annotate", TEXT, confidence=0.4, support=2)
    assert [one["URI"] for one in found] == [PREFIX + name for name in ENTITIES]
    assert [one["offset"] for one in found] == [2, 32, 43]
    found = spotlight.candidates(f"{address}/rest/candidates", TEXT)
    assert [form["name"] for form in found] == ["Jordan", "Bulls", "Jackson"]
    assert found[0]["resource"][0]["label"] == "Michael Jordan"
    assert spotlight.annotate(f"{address}/rest/annotate", "Nothing.") == []


def test_turtle_is_given_to_who_asks_for_it(address):
    # ELEVANT asks Spotlight in this way, and reads the answer with pynif.
    fields = {"text": TEXT, "confidence": 0.35, "types": "", "support": 0}
    answer = requests.post(
        f"{address}/rest/annotate", data=fields, headers={"Accept": "text/turtle"}
    )
    (context,) = pynif.NIFCollection.loads(answer.content).contexts
    found = {phrase.beginIndex: str(phrase.taIdentRef) for phrase in context.phrases}
    assert found == {at: PREFIX + name for at, name in zip((2, 32, 43), ENTITIES, strict=True)}
