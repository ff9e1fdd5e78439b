"""Requests from JSON objects: what is read, and what is refused with its place."""

import pytest

from sgtb.linking.links import Request, Span
from sgtb.linking.request_json import InputError, request_of, request_of_fields


def test_request_of_reads_a_request():
    assert request_of('{"text": "a"}', "here", "x") == Request("a", None, "x")
    name = "long" * 1000  # of an input, without an id of its own
    assert request_of('{"text": "a"}', "here", name) == Request("a", None, name)


def test_request_of_fields_reads_mentions():
    mention = {"start": 0, "end": 1, "fixed": "Q1", "candidates": ["Q1"], "text": "a", "other": 0}
    found = request_of_fields({"text": "ab", "id": 7, "mentions": [mention]}, "here")
    assert found == Request("ab", (Span(0, 1, "Q1", ("Q1",)),), "7")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "here: not JSON"),
        ("[]", "here: not a JSON object"),
        ('{"text": 1}', 'here: "text" should be a string, not 1'),
        ('{"text": "\\ud800"}', "lone surrogate"),
        ('{"text": "a", "id": []}', '"id" should be a string'),
        ('{"text": "a", "mentions": 1}', '"mentions" should be a list'),
        (f'{{"text": "a", "id": "{"x" * 1001}"}}', '"id" has more than 1,000 characters'),
        ('{"text": "a", "mentions": [{"start": 0, "end": 2}]}', "mention 1: start 0 and end 2"),
        ('{"text": "a", "mentions": [{"start": 0, "end": 0}]}', "are no span of the text"),
        (
            '{"text": "a b", "mentions": [{"start": 2, "end": 3, "text": "a"}]}',
            'start 2 and end 3 are those of "b", not of "a"',
        ),
    ],
)
def test_request_of_refuses_other_lines(line, message):
    with pytest.raises(InputError, match="here") as error:
        request_of(line, "here")
    assert message in str(error.value)
