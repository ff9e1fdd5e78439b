"""What may be linked besides requests: tuples as spans, missing values, spaCy Docs."""

import pandas
import pytest
import spacy

from sgtb import Linker, Request, Span
from sgtb.core.errors import RequestError
from tests.helpers.exact import exact

TEXT = "Jordan met Pippen."


@pytest.fixture(scope="module")
def linker():
    with Linker.starter() as one:
        yield one


def test_tuples_are_spans(linker):
    expected = Request(TEXT, (Span(0, 6), Span(11, 17)))
    for spans in (((0, 6), (11, 17)), [(0, 6), [11, 17]], [Span(0, 6), (11, 17)]):
        assert Request(TEXT, spans) == expected
    assert exact(linker.link(Request(TEXT, [(0, 6)]))) == exact(
        linker.link(Request(TEXT, (Span(0, 6),)))
    )
    for wrong in ((0, 6, "PER"), 7, "ab"):
        with pytest.raises(RequestError, match="a span of a request is"):
            linker.link(Request(TEXT, [wrong]))


@pytest.mark.parametrize("missing", [None, float("nan"), pandas.NA, pandas.NaT], ids=repr)
def test_missing_values_have_no_links(linker, missing):
    assert linker(missing).links == ()
    assert linker(missing).text == ""


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_column_with_gaps_is_linked(linker, jobs):
    column = pandas.Series(["Jordan met Pippen.", None, "Petra"])
    counts = [len(document.links) for document in linker.pipe(column, jobs=jobs)]
    assert counts == [2, 0, 1]


def test_one_document_is_not_many(linker):
    for single in (TEXT, TEXT.encode(), Request(TEXT), spacy.blank("en")(TEXT)):
        with pytest.raises(RequestError, match="pipe takes a list or another iterable"):
            linker.pipe(single)  # at once, before the first document is read
        with pytest.raises(RequestError, match="link_many takes a list or another iterable"):
            linker.link_many(single)


def test_other_things_are_refused(linker):
    for wrong in (7, 1.5, b"Jordan", {"text": TEXT}, [TEXT], spacy.blank("en")(TEXT)[:2]):
        with pytest.raises(RequestError, match="only a text, a Request, a Document or a spaCy Doc"):
            linker.link(wrong)
