"""Addresses of entities: ids stay ids, whatever stands in them."""

from urllib.parse import unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgtb.kb.build.list_build import build_list
from sgtb.kb.knowledge_base import KnowledgeBase
from sgtb.serving.protocols.entity_iris import entity_iri, local_name, nil_iri, prefix_of
from sgtb.starter import KB

WIKI = "https://en.wikipedia.org/wiki/"
OWN = "https://example.org/entity/"


@pytest.mark.parametrize(
    ("id", "title", "prefix", "iri"),
    [
        ("Java (programming language)", "", WIKI, WIKI + "Java_(programming_language)"),
        ("736", "Albert Einstein", WIKI, WIKI + "Albert_Einstein"),
        ("736", "Albert Einstein", "http://dbpedia.org/resource/",
         "http://dbpedia.org/resource/Albert_Einstein"),
        ("736", "Albert Einstein", OWN, OWN + "736"),
        ("736", "", WIKI, WIKI + "736"),
        ("Q42", "Douglas Adams", WIKI, "http://www.wikidata.org/entity/Q42"),
        ("http://example.org/7", "Seven", WIKI, "http://example.org/7"),
        ("http://example.org/a b", "", OWN, OWN + "http:%2F%2Fexample.org%2Fa_b"),
        ("../../etc/passwd", "", OWN, OWN + "..%2F..%2Fetc%2Fpasswd"),
        ("São Paulo", "", WIKI, WIKI + "S%C3%A3o_Paulo"),
        ("a>?#%+&\"'", "", OWN, OWN + "a%3E%3F%23%25%2B%26%22'"),
    ],
)  # fmt: skip
def test_ids_become_addresses(id, title, prefix, iri):
    assert entity_iri(id, title, prefix) == iri


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_an_address_says_no_more_than_the_id(id):
    iri = OWN + local_name(id, "", OWN)
    parts = urlsplit(iri)
    assert (parts.netloc, parts.query, parts.fragment) == ("example.org", "", "")
    assert unquote(iri.removeprefix(OWN)) == id.replace(" ", "_")
    assert iri.isascii()
    assert not set(iri) & set('<>"{}|\\^` \n')


def test_what_is_not_there_has_an_address_too():
    assert nil_iri("A B/c") == "http://aksw.org/notInWiki/A_B%2Fc"


def test_the_prefix_is_that_of_the_knowledge_base(tmp_path):
    (tmp_path / "list.csv").write_text("id,name\n7,Seven\n", "utf-8")
    build_list(tmp_path / "list.csv", tmp_path / "kb")
    with KnowledgeBase.open(tmp_path / "kb") as own, KnowledgeBase.open(KB) as known:
        assert prefix_of(own, None) == "urn:sgtb:entity:"
        assert prefix_of(own, OWN) == OWN
        assert prefix_of(known, None) == WIKI
