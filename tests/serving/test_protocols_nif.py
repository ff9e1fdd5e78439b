"""NIF: GERBIL's and ELEVANT's requests, code points, and documents that are none."""

import re

import pynif
import pytest
import rdflib
import requests

from sgtb.formats.codecs.nif import read_nif
from sgtb.formats.error_handler import ErrorHandler
from tests.serving.conftest import PREFIX, raw_post

TEXT = "🎉 Jordan won six rings with the Bulls, and Jackson coached him."
PREFIXES = """@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix nif: <http://persistence.uni-leipzig.org/nlp2rdf/ontologies/nif-core#> .
@prefix itsrdf: <http://www.w3.org/2005/11/its/rdf#> .
"""
NIF = rdflib.Namespace("http://persistence.uni-leipzig.org/nlp2rdf/ontologies/nif-core#")
ITS = rdflib.Namespace("http://www.w3.org/2005/11/its/rdf#")
REQUEST = "http://www.aksw.org/gerbil/NifWebService/request_0"
GERBIL = {
    "Content-Type": "application/x-turtle",
    "Accept": "application/x-turtle",
}


def gerbil(text: str, *mentions: tuple[int, int]) -> str:
    """A document as GERBIL writes it: mentions are strings, and nothing is said about them."""
    whole = f"<{REQUEST}#char=0,{len(text)}>"
    parts = [
        f"{PREFIXES}{whole} a nif:RFC5147String , nif:String , nif:Context ;\n"
        f'nif:beginIndex "0"^^xsd:nonNegativeInteger ;\n'
        f'nif:endIndex "{len(text)}"^^xsd:nonNegativeInteger ;\n'
        f'nif:isString "{text}"@en .\n'
    ]
    for start, end in mentions:
        parts.append(
            f"<{REQUEST}#char={start},{end}> a nif:RFC5147String , nif:String ;\n"
            f'nif:anchorOf "{text[start:end]}"@en ;\n'
            f'nif:beginIndex "{start}"^^xsd:nonNegativeInteger ;\n'
            f'nif:endIndex "{end}"^^xsd:nonNegativeInteger ;\n'
            f"nif:referenceContext {whole} .\n"
        )
    return "".join(parts)


def read(answer: str) -> dict[tuple[int, int], str]:
    """The entities of an answer by their places; checks what else every mention must have."""
    graph = rdflib.Graph().parse(data=answer, format="turtle")
    found = {}
    for phrase in graph.subjects(NIF.referenceContext):
        (context,) = graph.objects(phrase, NIF.referenceContext)
        (text,) = graph.objects(context, NIF.isString)
        start, end = (graph.value(phrase, key).toPython() for key in (NIF.beginIndex, NIF.endIndex))
        assert str(graph.value(phrase, NIF.anchorOf)) == str(text)[start:end]
        assert 0 <= graph.value(phrase, ITS.taConfidence).toPython() <= 1
        found[start, end] = str(graph.value(phrase, ITS.taIdentRef))
    return found


def test_a_text_without_mentions_has_them_found(client):
    answer = client.post("/nif", content=gerbil(TEXT).encode(), headers=GERBIL)
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("application/x-turtle")
    assert read(answer.text) == {
        (2, 8): PREFIX + "Michael_Jordan",
        (32, 37): PREFIX + "Chicago_Bulls",
        (43, 50): PREFIX + "Phil_Jackson",
    }
    assert f"<{REQUEST}#char=2,8>" in answer.text  # named in the manner of the request
    assert f"<{REQUEST}#char=0,{len(TEXT)}>" in answer.text


def test_given_mentions_are_linked_and_no_others_found(client):
    # One is shorter than what would be found, one is no name at all.
    text = TEXT.replace("Jordan", "Michael Jordan")
    answer = client.post(
        "/nif", content=gerbil(text, (10, 16), (40, 45), (59, 62)).encode(), headers=GERBIL
    )
    found = read(answer.text)
    assert list(found) == [(10, 16), (40, 45), (59, 62)]
    assert found[10, 16] == PREFIX + "Michael_Jordan"
    assert found[40, 45] == PREFIX + "Chicago_Bulls"
    assert found[59, 62] == f"http://aksw.org/notInWiki/{text[59:62]}"


def test_given_mentions_may_overlap(client):
    answer = client.post("/nif", content=gerbil(TEXT, (2, 8), (2, 16), (32, 37)).encode())
    assert set(read(answer.text)) == {(2, 8), (2, 16), (32, 37)}


def test_an_answer_of_the_benchmark_is_not_taken_for_an_answer(client):
    # The example that comes with GERBIL's bridges has an entity; it is not to be repeated.
    body = gerbil(TEXT, (2, 8)).replace(
        "nif:referenceContext", "itsrdf:taIdentRef <http://dbpedia.org/resource/Sydney> ;\n"
        "nif:referenceContext",
    )  # fmt: skip
    assert read(client.post("/nif", content=body.encode()).text) == {
        (2, 8): PREFIX + "Michael_Jordan"
    }


def test_sentences_and_words_are_no_mentions(client):
    whole = f"<{REQUEST}#char=0,{len(TEXT)}>"
    body = gerbil(TEXT)
    for kind in ("Sentence", "Word", "Paragraph"):
        body += (
            f"<{REQUEST}#{kind}> a nif:{kind} ; nif:beginIndex 0 ; nif:endIndex 10 ;"
            f"nif:referenceContext {whole} .\n"
        )
    assert len(read(client.post("/nif", content=body.encode()).text)) == 3


def test_a_mention_may_be_all_of_its_text(client):
    # Text and mention have the same name then, and are one thing to RDF.
    answer = client.post("/nif", content=gerbil("Troy", (0, 4)).encode())
    assert read(answer.text) == {(0, 4): PREFIX + "Troy"}
    answer = client.post("/nif", content=gerbil("xyzzy", (0, 5)).encode())
    assert read(answer.text) == {(0, 5): "http://aksw.org/notInWiki/xyzzy"}


@pytest.mark.parametrize(
    "headers",
    [
        (),
        ("Content-Type: application/x-turtle",),
        ("Content-Type: text/turtle; charset=utf-8",),
        ("Content-Type: application/x-www-form-urlencoded",),
        ("Content-Type: application/json", "Accept: */*"),
    ],
    ids=["no header", "GERBIL", "standard", "curl -d", "any other"],
)
def test_a_body_is_turtle_whatever_its_header_says(address, headers):
    status, body = raw_post(address, "/nif", gerbil(TEXT).encode(), *headers)
    assert status == 200
    assert read(body)[2, 8] == PREFIX + "Michael_Jordan"


def test_elevant_is_answered(address):
    # It posts the bytes of what pynif writes, without a Content-Type, and reads with pynif.
    collection = pynif.NIFCollection(uri="http://example.org/")
    context = collection.add_context(uri="http://example.org/0", mention=TEXT)
    sent = context.turtle
    answer = requests.post(
        f"{address}/nif", data=sent if isinstance(sent, bytes) else sent.encode()
    )
    (read_back,) = pynif.NIFCollection.loads(answer.text).contexts
    assert read_back.mention == TEXT
    assert str(read_back.uri) == "http://example.org/0"
    found = sorted(read_back.phrases, key=lambda phrase: phrase.beginIndex)
    assert [(one.beginIndex, one.endIndex, str(one.taIdentRef)) for one in found] == [
        (2, 8, PREFIX + "Michael_Jordan"),
        (32, 37, PREFIX + "Chicago_Bulls"),
        (43, 50, PREFIX + "Phil_Jackson"),
    ]


@pytest.mark.parametrize(
    "text",
    [TEXT, "👩\u200d👧 Troy 𝔘 Troy", r"Troy \\ \" \n\t Troy \u0000 <b>"],
    ids=["emoji", "beyond 16 bits", "escapes"],
)
def test_a_document_comes_back_as_it_was(client, text, tmp_path):
    """The text to the last character, and places that count code points."""
    file = tmp_path / "answer.ttl"
    file.write_bytes(client.post("/nif", content=gerbil(text).encode()).content)
    (document,) = read_nif(file, ErrorHandler())
    (sent,) = rdflib.Graph().parse(data=gerbil(text), format="turtle").objects(None, NIF.isString)
    assert document.text == str(sent)
    assert document.mentions
    for mention in document.mentions:
        assert document.text[mention.start : mention.end] == mention.text
    # And once more, with the mentions given.
    again = client.post("/nif", content=file.read_bytes())
    assert list(read(again.text)) == [(one.start, one.end) for one in document.mentions]


def test_several_texts_are_answered_each_by_itself(client):
    texts = {"http://example.org/1": "Homer sings of Troy.", "http://example.org/2": TEXT}
    body = PREFIXES + "".join(
        f'<{iri}> a nif:Context ; nif:isString "{text}" .\n' for iri, text in texts.items()
    )
    graph = rdflib.Graph().parse(
        data=client.post("/nif", content=body.encode()).text, format="turtle"
    )
    for iri, text in texts.items():
        assert str(graph.value(rdflib.URIRef(iri), NIF.isString)) == text
        phrases = list(graph.subjects(NIF.referenceContext, rdflib.URIRef(iri)))
        assert len(phrases) == {1: 2, 2: 3}[int(iri[-1])]
        assert all(str(phrase).startswith(f"{iri}#offset_") for phrase in phrases)


@pytest.mark.parametrize(
    "context", ["<>", "<#char=0,4>", "[]", "_:b", "<http://a/\\u003E\\u0020x>"]
)
def test_contexts_with_odd_names_are_answered(client, context):
    body = f'{PREFIXES}{context} nif:isString "Troy" ; a nif:Context .'
    answer = client.post("/nif", content=body.encode())
    assert answer.status_code == 200
    assert list(read(answer.text)) == [(0, 4)]


def test_a_name_cannot_end_its_iri(client):
    body = f'{PREFIXES}<http://a/\\u003E> a nif:Context ; nif:isString "Troy" .'
    graph = rdflib.Graph().parse(
        data=client.post("/nif", content=body.encode()).text, format="turtle"
    )
    assert {str(one) for one in graph.objects(None, NIF.referenceContext)} == {"http://a/>"}


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("<", "not Turtle, line 1"),
        (f"{PREFIXES}\n\n<a> <b> .", "not Turtle, line 6"),
        ("", "no nif:Context"),
        (f"{PREFIXES}<http://a/1> a nif:Context .", "no nif:Context with a nif:isString"),
        (gerbil("Troy", (0, 4)).replace('"4"^^', '"5"^^'), "outside of a text of 4"),
        (gerbil("Troy", (0, 4)).replace('endIndex "4"', 'endIndex "x"'), "not a number"),
        (gerbil("🎉 Troy", (2, 6)).replace('"2"', '"3"').replace('"6"', '"7"'), "UTF-16"),
        (gerbil("Troy, Troy", (0, 4)).replace('anchorOf "Troy"', 'anchorOf "Rome"'), "'Rome' is"),
        (
            gerbil("Troy", (0, 4)).replace("nif:referenceContext <", "nif:referenceContext <x"),
            "has no nif:isString",
        ),
        (gerbil("Troy") + gerbil("Rome"), "2 values of nif:isString"),
        (f"{PREFIXES}<a> <b> {'[ <c> ' * 5_000}", "not Turtle"),
    ],
    ids=range(11),
)
def test_what_cannot_be_read_is_told(client, body, told):
    answer = client.post("/nif", content=body.encode())
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/json"
    assert told in answer.json()["error"]["message"]


def test_nothing_is_fetched_for_a_document(client):
    body = f'{PREFIXES}@base <file:///etc/> .\n<passwd> a nif:Context ; nif:isString "Troy" .'
    answer = client.post("/nif", content=body.encode())
    assert read(answer.text) == {(0, 4): PREFIX + "Troy"}
    assert "root:" not in answer.text


def test_limits_are_kept(client):
    contexts = [f'<http://a/{i}> a nif:Context ; nif:isString "Troy" .' for i in range(5)]
    answer = client.post("/nif", content=(PREFIXES + "\n".join(contexts)).encode())
    assert (answer.status_code, answer.json()["error"]["limit"]) == (422, 4)
    many = "<a> <b> 1 .\n" * 50 * 12
    answer = client.post("/nif", content=(gerbil("Troy") + many).encode())
    assert (answer.status_code, answer.json()["error"]["limit"]) == (422, 600)
    answer = client.post("/nif", content=gerbil("Troy " * 5_000).encode())
    assert (answer.status_code, answer.json()["error"]["limit"]) == (413, 20_000)


def test_without_rdflib_the_extra_is_named(client, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "rdflib", None)
    answer = client.post("/nif", content=gerbil("Troy").encode())
    assert answer.status_code == 501
    assert re.search(r"sgtb\[nif\]", answer.json()["error"]["message"])
