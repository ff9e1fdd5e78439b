"""Blocks of entity lines: spans, numbers of ids, and arguments that are refused."""

import pytest

from sgtb.native import EntityNumbers, packing, scan_entity_lines
from sgtb.text.normalization import name_table

PLAIN, OTHER = b'{"id":"%d","name":"x"}\n', b'{"id":"%d","name":"\xe6\x9d\xb1"}\n'


def block(pattern):
    """Lines by letters: p is plain, o for Python."""
    return b"".join(
        (PLAIN if kind == "p" else OTHER) % number for number, kind in enumerate(pattern)
    )


@pytest.mark.parametrize(
    ("pattern", "lines"),
    [
        ("", []), ("p", [1]), ("o", [0]), ("pp", [2]), ("oo", [0, 0]), ("ppoppp", [2, 0, 3]),
        ("oppo", [0, 2, 0]), ("pooop", [1, 0, 0, 0, 1]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("cut", [False, True])
def test_spans(pattern, lines, cut):
    text = block(pattern)
    text = text[:-1] if cut else text
    found = scan_entity_lines(name_table(), text, 1000)
    spans = found.spans
    assert [count for *_, count in spans] == lines
    assert b"".join(text[begin:end] for begin, end, _ in spans) == text
    numbers = EntityNumbers()
    assert all(numbers.add_span(found, span) for span in range(len(spans)))
    plain = [str(number) for number, kind in enumerate(pattern) if kind == "p"]
    assert [numbers.get(id_) for id_ in plain] == [*range(len(plain))]


def test_a_long_line_is_for_python():
    text = block("ppp")
    size = len(text) // 3
    longer = text[:size] + b" " + text[size:]
    assert [count for *_, count in scan_entity_lines(name_table(), longer, size).spans] == [1, 0, 1]


def test_ids_are_numbered_in_order_and_found():
    numbers = EntityNumbers()
    ids = [f"Q{i}é" for i in range(5000)]
    assert [numbers.add(id_) for id_ in ids] == [*range(5000)]
    assert [numbers.get(id_) for id_ in ids] == [*range(5000)]
    assert numbers.add("Q7é") == 7
    assert numbers.get("Q") is None
    assert numbers.get("\ud800") is None
    assert numbers.get(7) is None
    assert len(numbers) == 5000
    with pytest.raises(TypeError, match="id"):
        numbers.add("\ud800")


def test_a_span_with_a_known_id_adds_none():
    numbers = EntityNumbers()
    first = scan_entity_lines(name_table(), block("ppp"), 1000)
    assert numbers.add_span(first, 0)
    again = scan_entity_lines(name_table(), PLAIN % 7 + PLAIN % 2, 1000)
    assert not numbers.add_span(again, 0)
    twice = scan_entity_lines(name_table(), PLAIN % 8 + PLAIN % 8, 1000)
    assert not numbers.add_span(twice, 0)
    assert [numbers.get(str(i)) for i in (0, 1, 2, 7, 8)] == [0, 1, 2, None, None]
    assert numbers.add("7") == 3
    with pytest.raises(IndexError):
        numbers.add_span(first, 1)


@pytest.mark.parametrize("variant", [-2, 256])
def test_sources_beyond_a_byte_are_refused(variant):
    with pytest.raises(ValueError, match="variant"):
        packing(name_table(), None, EntityNumbers(), {}, {}, variant, True, True)
    with pytest.raises(ValueError, match="sources"):
        packing(name_table(), None, EntityNumbers(), {"": variant}, {}, 0, True, True)
