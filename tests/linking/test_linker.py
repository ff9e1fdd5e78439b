"""The linker: limits, many documents, several threads, and a knowledge base that changes."""

import gc
import math
import multiprocessing
import os
import signal
import threading
from dataclasses import replace
from itertools import chain, count, cycle, islice
from random import Random

import pytest

from sgtb import build_kb
from sgtb.core.errors import RequestError, SettingsError, SgtbError
from sgtb.core.records import Tokens
from sgtb.kb import KnowledgeBase
from sgtb.kb.build.entity_lines import EntityList
from sgtb.kb.update import add, remove, update
from sgtb.linking import parallel as module
from sgtb.linking import pipeline
from sgtb.linking.link_options import LinkerSettings, LinkOptions
from sgtb.linking.linker import Linker
from sgtb.linking.links import Request, Span
from sgtb.linking.mentions.mention_settings import MentionSettings
from sgtb.linking.parallel import BATCH
from sgtb.text.tokenization import Segmented
from tests.helpers.exact import exact
from tests.helpers.kb_worlds import write_lines
from tests.helpers.trained_linkers import spans_of

BAD = Request("Paris", (Span(0, 99),), "the bad one")


# Limits


@pytest.mark.parametrize(
    "text", ["", " ", " \r\n\t", "\ufeff", "nothing of note happened here", "?!", "7", "é"]
)
def test_texts_without_mentions(linker, text):
    linked = linker.link(text)
    assert (linked.text, linked.links, linked.id) == (text, (), "")
    assert linker.link(Request(text, (), "it")).links == ()
    assert linker.link(Request(text, (), "it")).id == "it"


def test_texts_up_to_the_limit(linker_of):
    linker = linker_of(max_characters=20)
    assert [x.entity for x in linker("Amman is in Jordan. ").links] == ["Amman", "Jordan"]
    for given in ("x" * 21, Request("x" * 21), Request("x" * 21, (Span(0, 99),))):
        with pytest.raises(RequestError, match=r"21 characters .* limit of 20; .*max_characters"):
            linker.link(given)
    with pytest.raises(RequestError, match="5,000,001 characters"):
        linker_of().link("x" * 5_000_001)


def test_a_document_up_to_the_limit(linker_of, unseen):
    with pytest.raises(RequestError, match="longer than the limit of 3"):
        linker_of(max_characters=3).link(unseen[0])


@pytest.mark.parametrize(
    ("spans", "complaint"),
    [
        ([Span(0, 4), Span(3, 5)], "0 to 4 and 3 to 5 overlap"),
        ([Span(0, 5), Span(0, 5)], "overlap"),
        ([Span(0, 6)], "0 to 6 of a text of 5 code points"),
        ([Span(-1, 3)], "-1 to 3"),
        ([Span(3, 3)], "3 to 3"),
        ([Span(4, 2)], "4 to 2"),
        ([Span(False, 5)], "start of a span is False"),
        ([Span(0, True)], "end of a span is True"),
        ([Span(0, 5.0)], "end of a span is 5.0"),
        ([Span(None, 5)], "start of a span is None"),
        ([Span("0", 5)], "start of a span is '0'"),
        ([Span(0, 10**30)], "count code points"),
    ],
)
def test_spans_that_are_none(linker, spans, complaint):
    with pytest.raises(RequestError, match=complaint):
        linker.link(Request("Paris", tuple(spans)))


@pytest.mark.parametrize("given", [b"Paris", 5, 2.5, ["Paris"], {"text": "Paris"}, Span(0, 1)])
def test_things_that_cannot_be_linked(linker, given):
    with pytest.raises(RequestError, match="only a text, a Request, a Document or a spaCy Doc can"):
        linker.link(given)
    with pytest.raises(RequestError, match="only a text"):
        list(linker.pipe(["Paris", given]))


@pytest.mark.parametrize("one", ["Paris", Request("Paris")])
def test_a_single_text_is_no_pipe(linker, one):
    with pytest.raises(RequestError, match="`link`"):
        list(linker.pipe(one))


@pytest.mark.parametrize("jobs", [0, -1, 1.5, True, None, "2"])
def test_impossible_jobs(linker, jobs):
    with pytest.raises(SettingsError, match=f"jobs must be a whole number from 1 up, not {jobs!r}"):
        list(linker.pipe([], jobs=jobs))


@pytest.mark.parametrize("key", ["candidates", "max_characters"])
@pytest.mark.parametrize("value", [0, -1, 1.5, None, True])
def test_impossible_settings(key, value):
    with pytest.raises(SettingsError, match=f"{key} must be a whole number"):
        LinkerSettings(**{key: value})


def many_spans(n, per_line):
    """A text of n names, and their places."""
    names = ("Paris", "Jordan", "Amman", "Oxford", "Chicago")
    text, spans = "", []
    for i in range(n):
        name = names[i * i % 5]
        spans.append(Span(len(text), len(text) + len(name)))
        text += name + ("\n" if (i + 1) % per_line == 0 else " ")
    return text, tuple(spans)


@pytest.mark.parametrize(("n", "per_line"), [(3000, 7), (450, 450)])
def test_many_mentions(linker_of, n, per_line):
    """More than are decided at once; the second text is a single sentence."""
    text, spans = many_spans(n, per_line)
    linked = linker_of(reasons=n < 1000).link(Request(text, spans))
    assert len(linked.links) == n
    assert [(x.start, x.end) for x in linked.links] == [(s.start, s.end) for s in spans]
    assert all(x.entity is not None and x.text == text[x.start : x.end] for x in linked.links)
    for i, link in enumerate(linked.links):
        assert all(r.mention != i for r in link.reasons)
        if link.reasons:
            assert abs(math.fsum(r.value for r in link.reasons) - link.lead) < 1e-9


def test_however_many_are_decided_at_a_time(linker, unseen, monkeypatch):
    expected = exact(list(linker.pipe(unseen[::4])))
    monkeypatch.setattr(pipeline, "MENTIONS", 1)
    assert exact(list(linker.pipe(unseen[::4]))) == expected


@pytest.mark.slow
def test_a_text_of_five_million_characters(linker, starter):
    page = "\n".join(document.text for document in starter["train"])
    filler = "nothing of note happened on that day and nobody wrote of it again. " * 1000
    text = (f"{page}\n{filler}\n" * 50)[:5_000_000]
    assert len(text) == 5_000_000
    linked = linker.link(text)
    assert len(linked.links) > 20_000
    assert all(link.text == text[link.start : link.end] for link in linked.links)


# Many documents


@pytest.mark.parametrize("batch", [1, 3, 7, BATCH])
def test_a_pipe_gives_what_single_calls_give(linker_of, unseen, monkeypatch, batch):
    linker = linker_of(reasons=True)
    documents = [*unseen[::12], "Paris", "", unseen[0].text, Request("Amman", (), "x")]
    expected = [exact(linker.link(document)) for document in documents]
    monkeypatch.setattr(module, "BATCH", batch)
    assert [exact(linked) for linked in linker.pipe(documents)] == expected
    assert [exact(linked) for linked in linker.pipe(iter(documents[::-1]))] == expected[::-1]


def endless(taken):
    for i in count():
        taken.append(i)
        yield Request(f"Text {i}: Amman is in Jordan.", id=str(i))


def test_a_pipe_takes_no_more_than_it_needs(linker):
    taken = []
    ids = [linked.id for linked in islice(linker.pipe(endless(taken)), 100)]
    assert ids == [str(i) for i in range(100)]
    assert len(taken) <= 100 + BATCH


def test_an_error_in_a_pipe_is_raised_and_nothing_is_broken(linker):
    good = [Request("Amman", id=str(i)) for i in range(2 * BATCH)]
    seen = []
    with pytest.raises(RequestError, match="0 to 99"):
        seen.extend(linker.pipe(chain(good, [BAD], good)))
    assert [linked.id for linked in seen] == [request.id for request in good]
    assert linker.link("Amman").links[0].entity == "Amman"


def test_an_error_of_the_documents_comes_through(linker):
    def broken():
        yield "Amman"
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        list(linker.pipe(broken()))


@pytest.fixture(scope="module")
def shared(model_of, starter_place):
    """A linker whose worker processes last for all tests of this module."""
    with Linker(model_of("bsg"), starter_place, LinkerSettings(reasons=True)) as linker:
        yield linker


def test_worker_processes_give_the_same(shared, unseen):
    documents = [*unseen[::2], "Paris", "", Request("Amman \ud83d", (Span(0, 5, "Paris"),), "x")]
    expected = [exact(linked) for linked in shared.pipe(documents)]
    assert [exact(linked) for linked in shared.pipe(documents, jobs=2)] == expected


def test_worker_processes_take_no_more_than_they_need(shared):
    taken = []
    pipe = shared.pipe(endless(taken), jobs=2)
    assert [linked.id for linked in islice(pipe, 100)] == [str(i) for i in range(100)]
    assert len(taken) <= 100 + 8 * BATCH
    pipe.close()
    assert [linked.id for linked in islice(shared.pipe(endless([]), jobs=2), 3)] == ["0", "1", "2"]


@pytest.mark.parametrize("jobs", [2, 3])
@pytest.mark.parametrize("n", [0, 1, 7, 40, 1000])
def test_batches_take_the_same_effort_and_less_at_the_end(n, jobs):
    documents = [f"{i:03} " * (20 * (i % 50)) for i in range(n)]
    batches = list(module._balanced_batches(iter(documents), jobs))
    assert list(chain.from_iterable(batches)) == documents
    assert all(0 < len(batch) <= BATCH for batch in batches)
    efforts = [sum(map(module._effort, batch)) for batch in batches]
    assert max(efforts, default=0) <= module._EFFORT + max(
        map(module._effort, documents), default=0
    )
    if n == 1000:
        assert efforts[-1] < efforts[0] / 2


def test_what_takes_much_effort_goes_by_itself():
    span = Span(0, 1)
    long, short = Request("a", (span,) * 3_000), Request("a", (span,) * 10)
    batches = list(module._balanced_batches([short, long, short, "a" * 200_000, short], 2))
    assert [len(batch) for batch in batches] == [1, 1, 1, 1, 1]


def test_workers_collect_what_cycles_there_may_be(model_of, starter_place, monkeypatch):
    """The collector does not run by itself there; here it is asked after every second batch."""
    frozen, collected = [], []
    monkeypatch.setattr(module.gc, "freeze", lambda: frozen.append(1))
    monkeypatch.setattr(module.gc, "collect", lambda: collected.append(1))
    monkeypatch.setattr(module, "_BATCHES_TO_COLLECT", 2)
    monkeypatch.setattr(module, "_batches_done", count(1))
    monkeypatch.setattr(module, "_link_batch", None)
    enabled = gc.isenabled()
    try:
        with Linker(model_of("bsg"), starter_place) as linker:
            module._begin(linker.link_many)
            assert not gc.isenabled()
            for _ in range(5):
                assert module._work(["Amman"], LinkOptions())[0].links[0].entity == "Amman"
            assert not gc.isenabled()
    finally:
        if enabled:
            gc.enable()
    assert (len(frozen), len(collected)) == (1, 2)


def test_an_error_in_a_worker_process(shared):
    good = [Request("Amman", id=str(i)) for i in range(2 * BATCH)]
    seen = []
    with pytest.raises(RequestError, match="0 to 99"):
        seen.extend(shared.pipe(chain(good, [BAD], good * 20), jobs=2))
    assert [linked.id for linked in seen] == [request.id for request in good[: len(seen)]]
    assert len(seen) > len(good) - BATCH
    (linked,) = shared.pipe(["Amman"], jobs=2)
    assert linked.links[0].entity == "Amman"


def children():
    return {child.pid for child in multiprocessing.active_children()}


def test_a_killed_worker_is_told_and_replaced(shared):
    list(shared.pipe(["Amman"], jobs=2))
    pipe = shared.pipe(endless([]), jobs=2)
    next(pipe)
    before = set(shared._workers._pool._processes)
    assert before
    for pid in before:
        os.kill(pid, signal.SIGKILL)
    with pytest.raises(SgtbError, match="a worker process ended"):
        list(islice(pipe, 100_000))
    (linked,) = shared.pipe(["Amman"], jobs=2)
    assert linked.links[0].entity == "Amman"
    assert not before & children()


def test_another_number_of_jobs_ends_a_pipe_with_a_word(shared):
    pipe = shared.pipe(endless([]), jobs=2)
    next(pipe)
    assert next(shared.pipe(["Amman"], jobs=1)).links[0].entity == "Amman"
    shared._end_workers()
    with pytest.raises(SgtbError, match="worker processes ended before all documents were linked"):
        list(islice(pipe, 100_000))


def test_a_closed_linker_says_so(model_of, starter_place):
    before = children()
    linker = Linker(model_of("bsg"), starter_place)
    linker.link("Amman")
    linker.close()
    linker.close()
    for call in (
        lambda: linker.link("Amman"), lambda: linker.link(""), lambda: list(linker.pipe(["Amman"])),
        lambda: list(linker.pipe(["Amman"], jobs=2)), linker.refresh,
    ):  # fmt: skip
        with pytest.raises(SgtbError, match="the linker is closed"):
            call()
    assert children() == before


def test_threads_may_share_a_linker(starter_place, model_of, unseen):
    with Linker(model_of("bsg"), starter_place, LinkerSettings(reasons=True)) as linker:
        documents = unseen[::5]
        answers = {}

        def work(seed):
            order = Random(seed).sample(range(len(documents)), len(documents))
            answers[seed] = {i: exact(linker.link(documents[i])) for i in order}

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        expected = {i: exact(linker.link(document)) for i, document in enumerate(documents)}
        assert answers == dict.fromkeys(range(4), expected)


@pytest.mark.parametrize(
    "settings",
    [{"candidates": 1, "reasons": False}, {"candidates": 9, "reasons": True, "nil": 0.9}],
    ids=str,
)
def test_options_of_a_call_are_those_of_a_linker_loaded_with_them(linker_of, unseen, settings):
    some = [document.text for document in unseen[:20]]
    linker = linker_of()
    before = [linked.to_dict() for linked in linker.link_many(some)]
    options = LinkOptions(**settings)
    expected = [linked.to_dict() for linked in linker_of(**settings).link_many(some)]
    assert [linked.to_dict() for linked in linker.link_many(some, options)] == expected
    assert [linked.to_dict() for linked in linker.pipe(some, options=options)] == expected
    assert linker.link(some[0], options).to_dict() == expected[0]
    assert [linked.to_dict() for linked in linker.link_many(some)] == before
    assert linker.link_many([]) == []
    for wrong in ({"candidates": 0}, {"nil": 2}, {"beam_width": 0}, {"beam_width": 10**6}):
        with pytest.raises(SettingsError):
            LinkOptions(**wrong)


def test_another_tokenizer(linker_of):
    def halves(text: str) -> Segmented:
        """Cut at the first space only."""
        first = text.index(" ")
        tokens = Tokens([text[:first], text[first + 1 :]], [0, first + 1], [first, len(text)])
        return Segmented(tokens, ((0, 2),))

    text = "Amman and Petra"
    assert [link.text for link in linker_of().link(text).links] == ["Amman", "Petra"]
    assert [link.text for link in linker_of(tokenizer=halves).link(text).links] == ["Amman"]


def test_a_request_may_have_another_beam_width(model_of, starter_place, unseen):
    some = [document.text for document in unseen[:20]]
    narrow = replace(model_of("bsg").forest.plan, beam_width=1)
    model = replace(model_of("bsg"), forest=replace(model_of("bsg").forest, plan=narrow))
    with (
        Linker(model_of("bsg"), starter_place) as linker,
        Linker(model, starter_place) as other,
    ):
        expected = [linked.to_dict() for linked in other.link_many(some)]
        found = linker.link_many(some, LinkOptions(beam_width=1))
        assert [linked.to_dict() for linked in found] == expected


# A knowledge base that changes

NEW = {
    "id": "Zorblax", "name": "Zorblax", "type": "LOC", "aliases": [{"name": "Amman", "count": 1}],
    "description": "moon of which little is known", "links": ["Jordan", "Petra"], "popularity": 9,
}  # fmt: skip


def entities(tmp_path, *records):
    return EntityList(write_lines(tmp_path / "more.jsonl", records))


def linked_in(linker, text="Ships sail to Zorblax and Amman."):
    return {link.text: link.entity for link in linker.link(text).links}


def test_what_was_added_is_linked_at_once(model_of, own_place, tmp_path):
    with Linker(model_of("bsg"), own_place, LinkerSettings(candidates=99)) as linker:
        assert linked_in(linker) == {"Amman": "Amman"}
        assert not linker.refresh()
        add(own_place, entities(tmp_path, NEW))
        assert linked_in(linker) == {"Amman": "Amman"}
        assert linker.refresh()
        assert linked_in(linker)["Zorblax"] == "Zorblax"
        (link,) = linker.link("Amman").links
        assert "Zorblax" in [other.entity for other in link.candidates]
        assert linker.link(Request("It", (Span(0, 2, "Zorblax"),))).links[0].title == "Zorblax"
        remove(own_place, ["Zorblax", "Amman"])
        assert linker.refresh()
        assert linked_in(linker) == {}
        assert [c.entity for link in linker.link("Amman").links for c in link.candidates] == []
        with pytest.raises(RequestError, match="'Zorblax' of 'It'"):
            linker.link(Request("It", (Span(0, 2, "Zorblax"),)))


def test_what_was_changed_is_told_anew(model_of, own_place, tmp_path):
    with Linker(model_of("bsg"), own_place) as linker:
        (link,) = linker.link("Amman").links
        assert (link.title, link.type) == ("Amman", "LOC")
        change = write_lines(
            tmp_path / "change.jsonl", [{"id": "Amman", "name": "Amman City", "type": "ORG"}]
        )
        update(own_place, EntityList(change, partial=True))
        linker.refresh()
        (link,) = linker.link(Request("Amman", (Span(0, 5, "Amman"),))).links
        assert (link.title, link.type) == ("Amman City", "ORG")


def test_worker_processes_see_what_was_added_and_end_with_the_linker(model_of, own_place, tmp_path):
    before = children()
    with Linker(model_of("bsg"), own_place) as linker:
        assert next(linker.pipe(["Zorblax"], jobs=2)).links == ()
        add(own_place, entities(tmp_path, NEW))
        linker.refresh()
        assert next(linker.pipe(["Zorblax"], jobs=2)).links[0].entity == "Zorblax"
        assert children() - before
    assert children() == before


def test_linkers_of_one_knowledge_base_see_what_one_of_them_saw(model_of, own_place, tmp_path):
    with KnowledgeBase.open(own_place) as kb:
        one, other = Linker(model_of("bsg"), kb), Linker(model_of("local"), kb)
        assert linked_in(one) == linked_in(other) == {"Amman": "Amman"}
        add(own_place, entities(tmp_path, NEW))
        assert one.refresh()
        assert linked_in(one)["Zorblax"] == linked_in(other)["Zorblax"] == "Zorblax"


def test_as_if_it_had_always_been_there(model_of, own_place, tmp_path, unseen):
    """A linker that saw changes come and go answers like one that was opened afterwards."""
    documents = [replace(d, id="") for d in unseen[::8]]
    with Linker(model_of("bibsg"), own_place) as linker:
        first = exact(list(linker.pipe(documents)))
        add(own_place, entities(tmp_path, NEW))
        linker.refresh()
        changed = exact(list(linker.pipe(documents)))
        with Linker(model_of("bibsg"), own_place) as fresh:
            assert exact(list(fresh.pipe(documents))) == changed
        remove(own_place, ["Zorblax"])
        linker.refresh()
        assert exact(list(linker.pipe(documents))) == first


# Small things


def test_what_a_linker_says_of_itself(linker):
    assert "4,384 entities" in repr(linker)
    assert "bsg" in repr(linker)


def test_calling_is_linking(linker):
    assert exact(linker("Amman")) == exact(linker.link("Amman"))


def test_part_shows_a_document_as_it_is_linked(linker, unseen):
    chunk = linker.to_chunk(unseen[0])
    assert all(mention.gold is None for mention in chunk.document.mentions)
    spans = tuple(spans_of(unseen[0]))
    assert (
        linker.to_chunk(Request(unseen[0].text, spans)).document.mentions == chunk.document.mentions
    )


def test_unknown_names_change_no_other_decision(linker_of, unseen):
    """They have no candidates, and what has candidates is decided as if they were not there.

    Except for the short form of an unknown name, which the longer one is evidence for.
    """
    settings = (MentionSettings(), MentionSettings(unknown_names=False))
    linkers = [linker_of(mentions=one, reasons=True) for one in settings]
    n_unknown = 0
    for document in unseen:
        text = f"{document.text} Yesterday Karl Orff met Hanna Falkner there."
        every, known = (one.link(text).links for one in linkers)
        kept = [i for i, link in enumerate(every) if link.found != "nothing"]
        unknown = [link.text for link in every if link.found == "nothing"]
        if any(every[i].text in name for i in kept for name in unknown):
            continue
        place = {i: n for n, i in enumerate(kept)}
        assert [_decided(every[i], place) for i in kept] == [_decided(link) for link in known]
        n_unknown += len(every) - len(kept)
    assert n_unknown > len(unseen)


def _decided(link, place=None):
    reasons = [
        (reason.name, reason.value, reason.mention if place is None else place.get(reason.mention))
        for reason in link.reasons
    ]
    return link.start, link.end, link.entity, link.confidence, link.candidates, reasons


def test_a_knowledge_base_replaced_while_linking(tmp_path, monkeypatch):
    """Numbers of entities mean others after a rebuild; documents are then linked again."""
    towns = [{"id": f"T{i}", "name": name} for i, name in enumerate(("Aberfoo", "Bartown", "City"))]
    build_kb(towns, tmp_path / "kb").close()
    with Linker(kb=tmp_path / "kb") as linker:
        real = linker.pipeline.pack
        orders = iter([towns[::-1], towns])

        def pack(chunks):
            packed = real(chunks)
            if (order := next(orders, None)) is not None:
                build_kb(order, tmp_path / "kb").close()
                assert linker.refresh()
            return packed

        monkeypatch.setattr(linker.pipeline, "pack", pack)
        links = linker.link("It rained in Aberfoo, and in Bartown.").links
        assert [link.entity for link in links] == ["T0", "T1"]
        orders = cycle([towns[::-1], towns])
        with pytest.raises(SgtbError, match="again and again"):
            linker.link("It rained in Aberfoo.")
