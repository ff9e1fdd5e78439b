"""Gold held against the knowledge base: what it has, what it lacks, what is NIL."""

from dataclasses import replace

from sgtb.core.records import NIL
from sgtb.evaluation.linkers.resolved_gold import resolve_gold, titles_of


def test_gold_is_asked_in_two_readings(linker, mixed):
    for document, resolved in zip(mixed, resolve_gold(linker.kb, mixed), strict=True):
        for mention, annotated, inside in zip(
            document.mentions, resolved.annotated.mentions, resolved.known.mentions, strict=True
        ):
            assert (annotated.start, annotated.text) == (mention.start, mention.text)
            assert annotated.gold == mention.gold
            assert inside.gold == (NIL if mention.gold in ("Q999", NIL) else mention.gold)
        lacking = sum(mention.gold == "Q999" for mention in document.mentions)
        assert resolved.unknown == lacking


def test_titles_lead_to_ids_and_types_come_from_the_knowledge_base(linker, documents):
    document = documents[0]
    first = document.mentions[0]
    number = linker.kb.number(first.gold)
    title = linker.kb.title_of(number)
    written = replace(first, gold=title.replace(" ", "_"), title=None, type=None)
    (resolved,) = resolve_gold(linker.kb, [replace(document, mentions=(written,))])
    assert resolved.known.mentions[0].gold == first.gold
    assert resolved.known.mentions[0].type == linker.kb.entity(first.gold).type
    (typed,) = resolve_gold(
        linker.kb, [replace(document, mentions=(replace(written, type="own"),))]
    )
    assert typed.known.mentions[0].type == "own"


def test_titles_of_what_is_there(linker, documents):
    id_ = documents[0].mentions[0].gold
    assert titles_of(linker.kb, [id_, None, "Q999", NIL]) == {id_: linker.kb.entity(id_).title}
