"""The API: it answers what the linker answers, and tells what the knowledge base knows."""

import json
from dataclasses import fields
from urllib.parse import quote

import httpx
import pytest

from sgtb.kb.build.entity_lines import EntityList
from sgtb.kb.kb_copy import duplicate
from sgtb.kb.update import add
from sgtb.linking.link_options import LinkerSettings, LinkOptions
from sgtb.linking.linker import Linker
from sgtb.linking.links import Request, Span
from sgtb.serving.engine import Engine
from sgtb.serving.linker_source import LinkerSource
from sgtb.serving.middleware import CONTENT_SECURITY
from sgtb.serving.service_settings import ServeSettings
from sgtb.starter import KB, MODEL
from tests.helpers.kb_worlds import write_lines
from tests.helpers.services import FakeLinker, running

TEXT = (
    "Jordan passed, Pippen scored, and the Bulls beat Utah again. In Amman the king of Jordan "
    "watched them on television; in Petra nobody did."
)
ODD = "../../etc/passwd?x=1#<b>&%2e ☃"
MARKUP = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def linker():
    with Linker.starter() as linker:
        yield linker


@pytest.fixture(scope="module")
def odd_client(tmp_path_factory):
    """A client of a service whose knowledge base has an entity with an odd id and markup."""
    folder = tmp_path_factory.mktemp("odd")
    duplicate(KB, folder / "kb")
    record = {
        "id": ODD, "name": MARKUP, "description": f"Known for {MARKUP}.",
        "aliases": ["Oddname"], "links": ["Amman"],
    }  # fmt: skip
    add(folder / "kb", EntityList(write_lines(folder / "odd.jsonl", [record])))
    settings = ServeSettings(allow_origins=("https://example.org",))
    with (
        running(Engine(LinkerSource(MODEL, folder / "kb").load, settings)) as port,
        httpx.Client(base_url=f"http://127.0.0.1:{port}") as client,
    ):
        yield client


def links_of(client, path="/api/link", **body):
    answer = client.post(path, json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()["links"]


def as_json(document):
    return json.loads(json.dumps([link.to_dict() for link in document.links]))


def test_a_text_is_linked_as_the_linker_does(client, linker):
    answer = client.post("/api/link", json={"text": TEXT, "id": "it"})
    assert answer.headers["content-type"] == "application/json"
    told = answer.json()
    assert (told["id"], told["milliseconds"] > 0) == ("it", True)
    assert told["links"] == as_json(linker.link(TEXT))
    assert {link["entity"] for link in told["links"]} > {"Michael Jordan", "Jordan", "Petra"}


def test_offsets_are_code_points(client):
    (link,) = links_of(client, text="👩‍👩‍👧 🎉 Petra")
    assert (link["start"], link["end"], link["text"]) == (8, 13, "Petra")


@pytest.mark.parametrize(
    "settings",
    [
        LinkerSettings(candidates=2),
        LinkerSettings(candidates=30, reasons=True),
        LinkerSettings(nil=0.95),
        LinkerSettings(nil=0.0, reasons=True),
        LinkerSettings(beam_width=1),
    ],
    ids=repr,
)
def test_options_are_the_settings_of_a_linker(client, settings):
    body = {field.name: getattr(settings, field.name) for field in fields(LinkOptions)}
    with Linker.starter(settings) as linker:
        assert links_of(client, text=TEXT, **body) == as_json(linker.link(TEXT))


def test_given_spans_are_linked_and_no_others(client, linker):
    spans = [
        {"start": 0, "end": 6, "candidates": ["Jordan", "Air Jordan"]},
        {"start": 49, "end": 53, "fixed": "Utah"},
    ]
    given = (Span(0, 6, None, ("Jordan", "Air Jordan")), Span(49, 53, "Utah"))
    assert links_of(client, text=TEXT, spans=spans) == as_json(linker.link(Request(TEXT, given)))
    assert links_of(client, text=TEXT, spans=[]) == []


def test_a_fixed_link_steers_what_is_found(client, linker):
    fixed = [{"start": 0, "end": 6, "entity": "Jordan"}]
    told = links_of(client, text=TEXT, fixed=fixed)
    free = as_json(linker.link(TEXT))
    spans = [Span(link["start"], link["end"]) for link in free[1:]]
    assert told == as_json(linker.link(Request(TEXT, (Span(0, 6, "Jordan"), *spans))))
    assert (told[0]["entity"], told[0]["fixed"], told[0]["confidence"]) == ("Jordan", True, 1.0)
    assert [link["confidence"] for link in told[1:]] != [link["confidence"] for link in free[1:]]


def test_a_fixed_link_takes_the_place_of_what_it_overlaps(client):
    text = "the king of Jordan watched Utah"
    for spans in (None, [{"start": 12, "end": 18}, {"start": 27, "end": 31}]):
        told = links_of(
            client, text=text, spans=spans, fixed=[{"start": 4, "end": 13, "entity": "Jordan"}]
        )
        assert [(link["text"], link["fixed"]) for link in told] == [
            ("king of J", True), ("Utah", False)
        ]  # fmt: skip


def test_what_is_fixed_to_nil_is_left_out_of_the_decision(client, linker):
    fixed = [{"start": 0, "end": 6, "entity": None}]
    told = links_of(client, text=TEXT, fixed=fixed, reasons=True)
    nil, *others = told
    assert (nil["entity"], nil["fixed"], nil["nil"], nil["text"]) == (None, True, 1.0, "Jordan")
    free = [Span(link["start"], link["end"]) for link in others]
    with Linker.starter(LinkerSettings(reasons=True)) as telling:
        alone = as_json(telling.link(Request(TEXT, tuple(free))))
    assert [{**link, "reasons": []} for link in others] == [
        {**link, "reasons": []} for link in alone
    ]
    # Reasons name other mentions by their places among all that is answered.
    named = [reason for link in told for reason in link["reasons"] if reason["mention"] is not None]
    assert named
    assert all(told[reason["mention"]]["text"] == reason["name"] for reason in named)


def test_a_batch_is_answered_in_its_order(client, linker):
    texts = [TEXT, "", "Petra", "Amman and Utah"]
    documents = [{"id": str(i), "text": text} for i, text in enumerate(texts)]
    documents[2]["reasons"] = True
    answer = client.post("/api/link/batch", json={"documents": documents})
    told = answer.json()["documents"]
    assert [document.get("id") for document in told] == ["0", "1", "2", "3"]
    assert [document["links"] for document in told][:2] == [as_json(linker.link(TEXT)), []]
    assert client.post("/api/link/batch", json={"documents": []}).json()["documents"] == []


def test_one_bad_document_fails_a_batch(client):
    bad = {"text": "Petra", "spans": [{"start": 0, "end": 99}]}
    answer = client.post("/api/link/batch", json={"documents": [{"text": "Petra"}, bad]})
    assert answer.status_code == 422
    assert "0 to 99" in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"[]", "valid dictionary"),
        (b'{"text": 1}', "text: "),
        (b'{"txt": "Petra"}', "txt: Extra inputs"),
        (b'{"text": "x", "nil": 2}', "nil: "),
        (b'{"text": "x", "beam_width": 0}', "beam_width: "),
        (b'{"text": "x", "beam_width": 65}', "beam_width: "),
        (b'{"text": "x", "nil": NaN}', "nil: "),
        (b'{"text": "x", "candidates": 0}', "candidates: "),
        (b'{"text": "x", "spans": [{"start": 0, "end": 1.5}]}', "spans.0.end: "),
        (b'{"text": "x", "spans": [{"start": 0, "end": 2}]}', "0 <= start < end <= 1"),
        (b'{"text": "x y", "spans": [{"start": 1, "end": 2}]}', "only white space"),
        (b'{"text": "x", "fixed": [{"start": 0, "end": 1, "entity": "no such"}]}', "'no such'"),
        (b'{"text": "x", "spans": [{"start": 0, "end": 1, "candidates": ["?"]}]}', "'?'"),
        (b'{"text": "xy", "fixed": [{"start":0,"end":2,"entity":null},'
         b'{"start":1,"end":2,"entity":null}]}', "overlap"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_named(client, body, complaint):
    answer = client.post("/api/link", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 422
    error = answer.json()["error"]
    assert error["code"] == "bad_request"
    assert complaint in error["message"]


def test_half_of_a_pair_of_utf_16_is_a_code_point(client):
    body = b'{"text": "\\ud800 Petra \\ud800"}'
    answer = client.post("/api/link", content=body, headers={"content-type": "application/json"})
    (link,) = answer.json()["links"]
    assert (link["start"], link["text"]) == (2, "Petra")
    body = b'{"text": "\\ud800", "spans": [{"start": 0, "end": 1}]}'
    answer = client.post("/api/link", content=body, headers={"content-type": "application/json"})
    assert json.loads(answer.content)["links"][0]["text"] == "\ud800"


@pytest.mark.parametrize("body", [b"\xff\xfe", b"[" * 100_000, b'{"text": ' + b"9" * 5_000 + b"}"])
def test_bodies_that_cannot_be_read(client, body):
    answer = client.post("/api/link", content=body, headers={"content-type": "application/json"})
    assert answer.status_code in (400, 422)
    assert set(answer.json()["error"]) == {"code", "message"}


def test_entities(client, linker):
    told = client.get("/api/entity/Utah Jazz").json()
    known = linker.kb.entity("Utah Jazz")
    assert (told["id"], told["title"], told["type"]) == ("Utah Jazz", known.title, "ORG")
    assert told["n_aliases"] == len({alias.name for alias in known.aliases})
    assert [other["id"] for other in told["links"]] == list(known.links[:50])
    counts = [alias["count"] for alias in told["aliases"]]
    assert counts == sorted(counts, reverse=True)
    few = client.get("/api/entity/Utah Jazz", params={"aliases": 1, "links": 0}).json()
    assert (few["aliases"], few["links"]) == (told["aliases"][:1], [])
    assert (few["n_aliases"], few["n_links"]) == (told["n_aliases"], told["n_links"])


def test_path_like_ids_are_ids(odd_client):
    told = odd_client.get(f"/api/entity/{quote(ODD, safe='')}").json()
    assert (told["id"], told["title"], told["links"][0]["id"]) == (ODD, MARKUP, "Amman")
    assert MARKUP in told["description"]
    for id_ in (
        "..%2Fkb",
        "..%2F..%2F..%2Fetc%2Fpasswd",
        "%00",
        "kb/names.mdb",
        "",
        "%2e%2e/x",
        "é",
    ):
        answer = odd_client.get(f"/api/entity/{id_}")
        assert answer.status_code == 404
        assert answer.json()["error"]["code"] == "not_found"
    (link,) = links_of(odd_client, text="Oddname", fixed=[{"start": 0, "end": 7, "entity": ODD}])
    assert (link["entity"], link["title"]) == (ODD, MARKUP)


def test_candidates_of_a_name(client, linker):
    told = client.get("/api/candidates", params={"name": "JORDAN", "k": 3}).json()
    assert [one["entity"] for one in told["candidates"]] == [
        one.id for one in linker.kb.candidates("Jordan", 3)
    ]
    assert {one["type"] for one in told["candidates"]} == {"LOC", "PER"}
    assert client.get("/api/candidates", params={"name": ""}).json()["candidates"] == []
    assert client.get("/api/candidates").status_code == 422
    assert client.get("/api/candidates", params={"name": "x", "k": 101}).status_code == 422


def test_what_it_links_with(client, linker):
    told = client.get("/api/kb").json()
    assert (told["entities"], told["build"]) == (len(linker.kb), linker.kb.state.build)
    assert told["model"]["plan"] == linker.model.forest.plan.name
    assert told["limits"]["max_characters"] == 20_000


def test_states(client):
    assert client.get("/healthz").json() == {"status": "ok"}
    assert client.get("/readyz").json() == {"status": "ready"}


def test_metrics_count(client):
    def counted():
        lines = client.get("/metrics").text.splitlines()
        return {
            name: float(value)
            for name, _, value in (line.rpartition(" ") for line in lines if line[0] != "#")
        }

    before = counted()
    links_of(client, text="Petra and Amman")
    client.get("/no/such/page")
    after = counted()
    link = 'sgtb_requests_total{route="/api/link",status="200"}'
    other = 'sgtb_requests_total{route="other",status="404"}'
    for name, by in ((link, 1), (other, 1), ("sgtb_documents_total", 1), ("sgtb_links_total", 2)):
        assert after[name] - before.get(name, 0) == by
    buckets = [value for name, value in after.items() if "request_seconds_bucket" in name]
    assert buckets == sorted(buckets)
    assert buckets[-1] == after["sgtb_request_seconds_count"]
    assert after["sgtb_ready_processes"] == 1


def test_examples_of_the_openapi_page_work(client):
    told = client.get("/openapi.json").json()
    for path, name in (("/api/link", "LinkBody"), ("/api/link/batch", "BatchBody")):
        examples = told["components"]["schemas"][name]["examples"]
        assert examples
        for example in examples:
            assert client.post(path, json=example).status_code == 200
    assert client.get("/docs").headers["content-type"].startswith("text/html")
    assert client.get("/redoc").status_code == 404


def test_every_answer_has_the_headers_of_safety(client, odd_client):
    answers = [
        client.get("/api/kb"), client.get("/nothing"), client.put("/api/link"), client.get("/"),
        client.post("/api/link", content=b"x"), client.post("/api/link", content=b"x" * 2_000_000),
    ]  # fmt: skip
    assert [answer.status_code for answer in answers] == [200, 404, 405, 200, 422, 413]
    for answer in answers:
        headers = answer.headers
        assert headers["content-security-policy"] == CONTENT_SECURITY
        assert "unsafe" not in CONTENT_SECURITY
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert "access-control-allow-origin" not in headers


@pytest.mark.parametrize(
    ("origin", "allowed"), [("https://example.org", True), ("https://elsewhere.org", False)]
)
def test_other_origins_only_where_allowed(client, odd_client, origin, allowed):
    asking = {"origin": origin, "access-control-request-method": "POST"}
    for answer in (
        odd_client.get("/api/kb", headers={"origin": origin}),
        odd_client.options("/api/link", headers=asking),
    ):
        assert (answer.headers.get("access-control-allow-origin") == origin) == allowed
    answer = client.options("/api/link", headers=asking)
    assert "access-control-allow-origin" not in answer.headers


def test_no_answer_tells_of_the_inside(caplog):
    settings = ServeSettings()
    with (
        running(Engine(FakeLinker, settings)) as port,
        httpx.Client(base_url=f"http://127.0.0.1:{port}") as client,
    ):
        for path, body in (
            ("/api/link", {"text": "fail"}),
            ("/api/link/batch", {"documents": [{"text": "fail"}, {"text": "x"}]}),
        ):
            answer = client.post(path, json=body)
            assert answer.status_code == 500
            assert answer.json()["error"]["code"] == "internal"
            assert answer.headers["content-security-policy"] == CONTENT_SECURITY
            assert not any(word in answer.text for word in ("secret", "/etc", "Traceback", ".py"))
        assert client.get("/api/kb").status_code == 500, "the fake has little to tell"
    assert "a secret" in caplog.text


@pytest.mark.parametrize(
    "type_", [None, "application/x-www-form-urlencoded", "text/plain", "application/json"]
)
def test_json_is_read_whatever_its_content_type(client, type_):
    headers = {} if type_ is None else {"content-type": type_}
    body = b'{"text": "Jordan met Pippen."}'
    answer = client.post("/api/link", content=body, headers=headers)
    assert answer.status_code == 200
    assert [link["entity"] for link in answer.json()["links"]] == [
        "Michael Jordan", "Scottie Pippen",
    ]  # fmt: skip
    refused = client.post("/api/link", content=b"text=Jordan", headers=headers)
    assert refused.status_code == 422
    assert "JSON" in refused.json()["error"]["message"]
