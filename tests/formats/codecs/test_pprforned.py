"""PPRforNED: candidates whose order says nothing, entities, and the join with AIDA."""

import lzma
import random
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.aida_candidates import with_candidates
from sgtb.core.errors import CorpusError
from sgtb.core.records import NIL
from sgtb.formats.codecs.aida_conll import read_aida
from sgtb.formats.codecs.pprforned import PprMention, read_pprforned
from tests.helpers.corpus_files import (
    aida_files,
    attempt,
    candidate,
    damaged,
    entity,
    packed,
    ppr_files,
    write,
)

FIRST = "AIDA_candidates/PART_1_9/1"


def assert_equal(one, other):
    assert one.documents == other.documents
    for field in ("ids", "titles", "types"):
        assert getattr(one.entities, field) == getattr(other.entities, field)
    for field in ("in_links", "out_links", "popularity", "link_source", "link_target"):
        np.testing.assert_array_equal(getattr(one.entities, field), getattr(other.entities, field))


def test_a_small_corpus(tmp_path):
    ppr = read_pprforned(write(tmp_path, ppr_files()))
    assert list(ppr.documents) == ["1", "2", "3", "4"]
    assert ppr.documents["1"] == (
        PprMention("Vessa", "11", ("21", "11"), 1),
        PprMention("Old", NIL, ("22",), 4),
        PprMention("Orlan", "12", ("14", "9", "12"), 6),
        PprMention("AnnaMeck", "16", ("16",), 11),
    )
    assert ppr.documents["2"] == ()
    assert ppr.documents["4"] == (PprMention("Tor's Bay", None, ("17",), 1),)


def test_the_entities_of_a_small_corpus(tmp_path):
    entities = read_pprforned(write(tmp_path, ppr_files())).entities
    assert entities.ids == ("9", "11", "12", "14", "16", "17", "21", "22")
    assert entities.titles[:4] == ("Orlán", "Vessa F.C.", "Orlan Rovers", "Orlan")
    assert entities.types == ("", "ORG", "ORG", "GPE", "", "", "", "")
    assert entities.in_links.tolist() == [30, 30, 30, 90, 2, 5, 40, 3]
    assert entities.out_links.tolist() == [7] * 8
    np.testing.assert_array_equal(
        entities.popularity, np.float32([np.nan] * 3 + [9.5] + [np.nan] * 4)
    )
    links = zip(entities.link_source, entities.link_target, strict=True)
    # From all documents; neither to itself nor to 99, which is nobody's candidate.
    assert [(entities.ids[source], entities.ids[target]) for source, target in links] == [
        ("11", "12"),
        ("12", "11"),
        ("12", "14"),
        ("14", "9"),
        ("14", "12"),
        ("16", "14"),
    ]


def shuffled(content: bytes, seed: int) -> bytes:
    """Put the CANDIDATE lines below each ENTITY in another order."""
    blocks = content.decode().split("ENTITY")
    mixed = []
    for block in blocks:
        head, *lines = block.splitlines(keepends=True) or [""]
        random.Random(seed).shuffle(lines)
        mixed.append(head + "".join(lines))
    return "ENTITY".join(mixed).encode()


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_candidates_and_files_makes_no_difference(tmp_path, seed):
    files = ppr_files()
    mixed = {name: shuffled(content, seed) for name, content in reversed(files.items())}
    assert mixed[FIRST] != files[FIRST]
    assert_equal(
        read_pprforned(write(tmp_path / "a", files)), read_pprforned(write(tmp_path / "b", mixed))
    )


def test_folder_archive_and_line_ends_make_no_difference(tmp_path):
    files = ppr_files()
    folder = read_pprforned(write(tmp_path / "a", files))
    archive = tmp_path / "small.tar.xz"
    archive.write_bytes(lzma.compress(packed(files)))
    assert_equal(folder, read_pprforned(archive))
    crlf = {name: content.replace(b"\n", b"\r\n") for name, content in files.items()}
    assert_equal(folder, read_pprforned(write(tmp_path / "b", crlf)))


@pytest.mark.parametrize("ids", [("1", "2"), ("2", "1")])
def test_where_documents_differ_the_larger_counts_whichever_comes_first(tmp_path, ids):
    files = ppr_files()
    for id, in_links, type in zip(ids, (3, 8), ("UNK", "PER"), strict=True):
        lines = entity(int(id), "Zed", "Zed") + candidate(70, "Zed", in_links, "", type)
        files[f"AIDA_candidates/PART_1_9/{id}"] = lines.encode()
    entities = read_pprforned(write(tmp_path, files)).entities
    row = entities.number["70"]
    assert (entities.in_links[row], entities.types[row]) == (8, "PER")


DAMAGES = {
    "latin-1": (b"origText:AnnaMeck", b"origText:\xc4nna", 11, "byte 0xc4 is not UTF-8"),
    "cut at the end": (b"anna_meck_(poet)\tpredictedType:UNK\t\n", b"anna_m", 12, "found 8"),
    "cut after a value": (b"meck_(poet)\tpredictedType:UNK\t\n", b"meck_(poet)", 12, "9 columns"),
    "missing column": (b"\tname:Vessa\t", b"\t", 3, "expected name:"),
    "id": (b"id:21\t", b"id:Q21\t", 3, "'id:Q21'"),
    "id zero": (b"id:21\t", b"id:0\t", 3, "'id:0'"),
    "count": (b"inCount:40\t", b"inCount:-4\t", 3, "'inCount:-4'"),
    "huge count": (b"inCount:40\t", b"inCount:4000000000\t", 3, "inCount"),
    "links": (b"links:12;11\t", b"links:12,11\t", 2, "'links:12,11'"),
    "other page": (b"id:21\t", b"id:14\t", 9, "id:14 is"),
    "document": (b"docId:1\torigText:Old", b"docId:7\torigText:Old", 4, "docId:7"),
    "no number": (b"docId:1\torigText:Old", b"docId:\torigText:Old", 4, "docId"),
    "other line": (b"ENTITY\ttext:Old", b"ENTRY\ttext:Old", 4, "ENTITY or CANDIDATE"),
    "blank line": (b"ENTITY\ttext:Old", b"\nENTITY\ttext:Old", 4, "''"),
    "no entity": (ppr_files()[FIRST].split(b"\n")[0] + b"\n", b"", 1, "before the first ENTITY"),
    "no candidate": (candidate(22, "Old", 3).encode(), b"", 5, "ENTITY of line 4"),
    "no last candidate": (
        candidate(16, "Anna_Meck_(poet)", 2, "14").encode(), b"", 11, "ENTITY of line 11",
    ),
}  # fmt: skip


@pytest.mark.parametrize("packing", ["folder", "archive"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_named_by_file_and_line(tmp_path, damage, packing):
    old, new, line, what = DAMAGES[damage]
    files = ppr_files()
    assert files[FIRST].count(old) == 1
    files[FIRST] = files[FIRST].replace(old, new)
    path = write(tmp_path / "folder", files)
    name = str(path / FIRST)
    if packing == "archive":
        path = tmp_path / "small.tar.xz"
        path.write_bytes(lzma.compress(packed(files)))
        name = f"{path}:{FIRST}"
    with pytest.raises(CorpusError) as caught:
        read_pprforned(path)
    assert str(caught.value).startswith(f"{name}, line {line}: ")
    assert what in str(caught.value)


@pytest.mark.parametrize(
    ("row", "what"),
    [
        (b"url:a\tmuch", "'much'"),
        (b"url:a\tnan", "'nan'"),
        (b"url:a\t-1", "'-1'"),
        (b"url:a", "a number"),
        (b"a\t5", "expected url:"),
        (b"url:\xe4\t5", "not UTF-8"),
    ],
)
def test_damaged_popularity_is_named_by_file_and_line(tmp_path, row, what):
    files = ppr_files()
    files["Freebase_popularity"] += row + b"\n"
    with pytest.raises(CorpusError, match=r"Freebase_popularity, line 4: ") as caught:
        read_pprforned(write(tmp_path, files))
    assert what in str(caught.value)


def test_a_file_in_utf16_is_refused(tmp_path):
    files = ppr_files()
    files[FIRST] = files[FIRST].decode().encode("utf-16")
    with pytest.raises(CorpusError, match=f"{FIRST}, line 1: byte 0xff is not UTF-8"):
        read_pprforned(write(tmp_path, files))


def test_what_is_missing_is_named(tmp_path):
    with pytest.raises(CorpusError, match=r"none.tar.xz: cannot be read: No such file"):
        read_pprforned(tmp_path / "none.tar.xz")
    with pytest.raises(CorpusError, match="give PPRforNED"):
        read_pprforned(write(tmp_path, {"readme": b"Hello"}))
    files = ppr_files()
    del files["Freebase_popularity"]
    with pytest.raises(CorpusError, match="no Freebase_popularity"):
        read_pprforned(write(tmp_path, files))


def test_a_document_in_two_files_is_refused(tmp_path):
    files = {**ppr_files(), "AIDA_candidates/PART_2_9/3": b""}
    with pytest.raises(CorpusError, match=r"document 3 is also in .*PART_1_9/3"):
        read_pprforned(write(tmp_path, files))


def test_an_archive_cut_anywhere_is_refused(tmp_path):
    whole = packed(ppr_files())
    path = tmp_path / "cut.tar"
    for size in range(0, len(whole.rstrip(b"\0")), 256):
        path.write_bytes(whole[:size])
        with pytest.raises(CorpusError, match=r"cut\.tar: cannot be decompressed: "):
            read_pprforned(path)
    compressed = lzma.compress(whole)
    path = tmp_path / "cut.tar.xz"
    for size in range(0, len(compressed), 64):
        path.write_bytes(compressed[:size])
        with pytest.raises(CorpusError, match=r"cut\.tar\.xz: cannot be decompressed: "):
            read_pprforned(path)


@settings(deadline=None, derandomize=True, max_examples=150)
@given(st.data())
def test_damaged_bytes_give_candidates_or_a_corpus_error(draws):
    files = ppr_files()
    file = draws.draw(st.sampled_from(sorted(files)))
    files[file] = draws.draw(damaged(files[file]))
    read_or_refuse(packed(files), ".tar")


@settings(deadline=None, derandomize=True, max_examples=100)
@given(st.data(), st.booleans())
def test_a_damaged_archive_gives_candidates_or_a_corpus_error(draws, compress):
    archive = packed(ppr_files())
    if compress:
        archive = lzma.compress(archive)
    read_or_refuse(draws.draw(damaged(archive)), ".tar.xz" if compress else ".tar")


def read_or_refuse(archive: bytes, suffix: str):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "damaged").with_suffix(suffix)
        path.write_bytes(archive)
        result = attempt(read_pprforned, path)
    assert not isinstance(result, CorpusError) or str(path) in str(result)


def joined_small(tmp_path, **changes):
    """Join the small corpora, some of PPRforNED's documents changed."""
    files = ppr_files()
    for document, lines in changes.items():
        files[f"AIDA_candidates/PART_1_9/{document.lstrip('d')}"] = lines.encode()
    ppr = read_pprforned(write(tmp_path / "ppr", files))
    return with_candidates(read_aida(write(tmp_path / "aida", aida_files())), ppr)


def test_the_join_of_small_corpora(tmp_path):
    documents = joined_small(tmp_path)
    assert [[(m.text, m.gold, m.candidates) for m in d.mentions] for d in documents] == [
        [
            ("Vessa", "11", ("21", "11")),
            ("Old", NIL, ("22",)),
            ("Orlan", "12", ("14", "9", "12")),
            ("Anna\nMeck", "16", ("16",)),  # AIDA's 13 is no candidate, but its url names one
        ],
        [("Quill", NIL, None)],
        [("Orlan", "14", ("14", "12"))],
        [("Tor 's Bay", "15", ("17",))],  # neither number nor url is a candidate's
    ]


def test_a_page_number_outlives_a_title(tmp_path):
    """The url now names a page about somewhere else, but AIDA's page is among the candidates."""
    lines = entity(3, "Orlan", "Orlan") + candidate(77, "Orlan") + candidate(14, "Orlan_(city)")
    files = {"d1": "", "d2": "", "d3": lines, "d4": ""}
    files["d1"] = (
        ppr_files()[FIRST].decode().replace(candidate(14, "Orlan", 90, "14;12;99", "GPE"), "")
    )
    files["d4"] = entity(4, "Tor's Bay", "Nowhere") + candidate(17, "Tor")
    (mention,) = joined_small(tmp_path, **files)[2].mentions
    assert mention.gold == "14"


def test_one_mention_of_a_document_may_lack_candidates(tmp_path):
    first = ppr_files()[FIRST].decode()
    cut = first[: first.index("ENTITY\ttext:AnnaMeck")]
    mention = joined_small(tmp_path, d1=cut)[0].mentions[3]
    assert (mention.gold, mention.candidates) == ("13", ())


def test_documents_that_do_not_fit_are_refused(tmp_path):
    first = ppr_files()[FIRST].decode()
    two_lost = first[: first.index("ENTITY\ttext:Orlan")]
    with pytest.raises(CorpusError, match=rf"{FIRST}, line 1: no candidates for 'Anna\\nMeck'"):
        joined_small(tmp_path, d1=two_lost)
    other = first.replace("origText:Orlan", "origText:Arlon")
    with pytest.raises(CorpusError, match=rf"{FIRST}, line 6: no candidates for 'Anna\\nMeck'"):
        joined_small(tmp_path, d1=other)
    more = first + entity(1, "Meck", "NIL") + candidate(22, "Old", 3)
    with pytest.raises(CorpusError, match=f"{FIRST}, line 13: 'Meck' is not a mention"):
        joined_small(tmp_path, d1=more)


def test_a_document_without_a_file_is_refused(tmp_path):
    files = ppr_files()
    del files["AIDA_candidates/PART_1_9/3"]
    ppr = read_pprforned(write(tmp_path / "ppr", files))
    with pytest.raises(CorpusError, match="no document '3'"):
        with_candidates(read_aida(write(tmp_path / "aida", aida_files())), ppr)


def test_the_real_corpus_has_the_known_counts(ppr):
    mentions = [mention for document in ppr.documents.values() for mention in document]
    entities = ppr.entities
    assert len(ppr.documents) == 1393
    assert len(mentions) == 30428
    assert sum(len(mention.candidates) for mention in mentions) == 378513
    assert len(entities) == 36545
    assert len(entities.link_source) == 247540
    assert np.isfinite(entities.popularity).sum() == 36474
    golds = Counter(
        mention.gold if mention.gold in (NIL, None) else "linked" for mention in mentions
    )
    assert golds == {"linked": 27814, NIL: 2612, None: 2}
    assert set(entities.types) == {"PER", "ORG", "GPE", ""}


def test_the_real_entities_are_in_order(ppr):
    entities = ppr.entities
    numbers = np.array([int(id) for id in entities.ids])
    assert (np.diff(numbers) > 0).all()
    pairs = entities.link_source.astype(np.int64) * len(entities) + entities.link_target
    assert (np.diff(pairs) > 0).all()
    assert (entities.link_source != entities.link_target).all()
    assert not any("_" in title or "%2" in title for title in entities.titles)


def test_the_real_candidates_are_in_an_order_without_the_gold(ppr):
    entities = ppr.entities
    first = most_linked = total = 0
    for document in ppr.documents.values():
        for mention in document:
            rows = entities.numbers(mention.candidates)
            keys = list(zip(-entities.in_links[rows], rows, strict=True))
            assert keys == sorted(set(keys))
            if mention.gold in mention.candidates:
                total += 1
                first += mention.candidates[0] == mention.gold
                # Counted without the order: nobody has more, and no lower id as many.
                gold = entities.number[mention.gold]
                most_linked += (-entities.in_links[gold], gold) == min(keys)
    assert first == most_linked
    assert 0.8 < first / total < 0.9


def test_the_real_join(aida, ppr, joined):
    lacking, changed = [], Counter()
    for before, document in zip(aida, joined, strict=True):
        for old, mention in zip(before.mentions, document.mentions, strict=True):
            if not mention.in_kb:
                assert mention.gold == NIL
                changed["outside", mention.candidates is None] += 1
            elif not mention.candidates:
                lacking.append(document.id)
                assert mention.gold == old.gold
            else:
                changed["inside", mention.gold in mention.candidates] += 1
                changed["gold", mention.gold == old.gold] += 1
    assert lacking == ["370"]
    assert changed == {
        ("outside", False): 2612,
        ("outside", True): 4500,
        ("inside", True): 27814,
        ("inside", False): 2,
        ("gold", True): 27557,
        ("gold", False): 259,
    }
