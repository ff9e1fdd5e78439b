"""Records and columns of entities: small, frozen, and sure of themselves."""

import dataclasses
import pickle

import numpy as np
import pytest

from sgtb.core.records import NIL, Document, Mention, Token, Tokens, UnannotatedDocument
from tests.helpers.linking_builders import document, entity_table


@pytest.mark.parametrize(("gold", "in_kb"), [("7", True), (NIL, False), (None, False)])
def test_a_mention_is_in_the_knowledge_base_if_its_gold_is_an_entity(gold, in_kb):
    assert Mention(0, 1, 0, 1, "x", gold=gold).in_kb is in_kb


def test_the_mentions_of_a_document_that_name_an_entity():
    text = document("1", f"[a|e100] [b|{NIL}] [c] [d|e101]")
    assert [mention.text for mention in text.in_kb()] == ["a", "d"]
    assert Document("2", "", (), (), ()).split == ""


def test_tokens_are_tuples():
    token = Token("x", 0, 1)
    assert token == ("x", 0, 1)
    with pytest.raises(AttributeError):
        token.text = "y"


@pytest.mark.parametrize("shown", ["Tarn", "T\u00e4rn"])
def test_documents_go_through_pipes_with_all_they_have(shown):
    """Tokens are packed, whether or not they are what stands in the text."""
    mention = Mention(0, 4, 0, 1, "Tarn", "e1", candidates=("e1", "e2"))
    tokens = (Token(shown, 0, 4), Token("fell", 5, 9))
    text = Document("1", "Tarn fell", tokens, ((0, 2),), (mention,), "dev")
    again = pickle.loads(pickle.dumps(text))
    assert again == text
    assert type(again.tokens[0]) is Token
    empty = Document("2", "", (), (), ())
    assert pickle.loads(pickle.dumps(empty)) == empty


def test_tokens_in_columns_are_a_sequence_of_tokens():
    given = (Token("Old", 0, 3), Token("Tarn", 4, 8), Token("fell", 9, 13))
    tokens = Document("1", "Old Tarn fell", given, (), ()).tokens
    assert type(tokens) is Tokens
    assert tokens == given == tuple(tokens)
    assert tokens != given[:2]
    assert tokens != [*given]
    assert tokens == Tokens.of(given)
    assert hash(tokens) == hash(given)
    assert (len(tokens), tokens[1], tokens[-1]) == (3, given[1], given[2])
    assert type(tokens[1:]) is Tokens
    assert tokens[1:] == given[1:]
    assert (repr(tokens), pickle.loads(pickle.dumps(tokens))) == (repr(given), tokens)
    with pytest.raises(IndexError):
        tokens[3]
    assert not Tokens.of([])


@pytest.mark.parametrize("sign", ["", "\0"])
def test_a_question_leaves_what_is_annotated_behind(sign):
    """Strings go through pipes as one, whether or not they have the sign put between them."""
    names, ids = ("Old", f"Ta{sign}rn"), (f"e{sign}1", "e2")
    mentions = (
        Mention(0, 3, 0, 1, names[0], "e1", "Old", "LOC", ids),
        Mention(0, 3, 0, 1, names[0], NIL, None, None, ()),
        Mention(4, 8, 1, 2, names[1], None, None, None, None),
        Mention(4, 8, 1, 2, names[1], "e1", None, "PER", ids),
    )
    tokens = Tokens(names, (0, 4), (3, 8))
    text = Document("1", "Old Tarn", tokens, ((0, 2),), mentions, "test")
    assert pickle.loads(pickle.dumps(text)) == text
    bare = [dataclasses.replace(m, gold=None, title=None, type=None) for m in mentions]
    asked = pickle.loads(pickle.dumps(UnannotatedDocument(text)))
    assert asked == dataclasses.replace(text, mentions=tuple(bare))


@pytest.mark.parametrize("record", [Mention(0, 1, 0, 1, "x"), Document("1", "", (), (), ())])
def test_records_are_frozen_and_have_no_room_for_more(record):
    with pytest.raises(dataclasses.FrozenInstanceError):
        record.text = "y"
    assert not hasattr(record, "__dict__")
    assert record == dataclasses.replace(record)
    assert len({record, dataclasses.replace(record)}) == 1


def test_entities_are_found_by_their_ids():
    entities = entity_table(["Orlan", "Vessa", "Tarn"])
    assert len(entities) == 3
    assert dict(entities.number) == {"e100": 0, "e101": 1, "e102": 2}
    found = entities.numbers(["e102", "e100", "e102"])
    assert found.tolist() == [2, 0, 2]
    assert found.dtype == np.int32
    assert entities.numbers([]).tolist() == []
    with pytest.raises(KeyError, match="e999"):
        entities.numbers(["e100", "e999"])
