"""The fuzzy index: against its twin, after changes, with any names, and damaged."""

from random import Random

import numpy as np
import pytest

from sgtb.core.errors import KnowledgeBaseError
from sgtb.kb import KnowledgeBase, fuzzy_index, update
from sgtb.kb.build.entity_lines import EntityList
from sgtb.kb.check import check
from sgtb.kb.fuzzy_index import SCORES, FuzzyIndex, NameTexts
from sgtb.kb.layout import FUZZY_COLUMNS, MAX_KEY
from sgtb.kb.name_variants import DEFAULT_RULES, MAX_VARIANTS, other_forms
from sgtb.native import search_names
from sgtb.text.normalization import normal_name
from tests.helpers.fuzzy_twin import FuzzyTwin
from tests.helpers.kb_worlds import build, write_lines
from tests.helpers.script_names import script_names
from tests.helpers.tampering import items

LIMIT = 9
N_FUZZED = 10_000


def random_names(random, count, letters="abcdeé北1 "):
    names = {
        normal_name("".join(random.choices(letters, k=random.randint(1, 12)))) for _ in range(count)
    }
    return sorted(name for name in names if name)


def index_of(names):
    return FuzzyIndex.build(NameTexts.of(name.encode() for name in names))


@pytest.mark.parametrize("containing", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_a_search_finds_what_the_twin_finds(seed, containing):
    random = Random(seed)
    names = random_names(random, 110)
    index = index_of(names)
    twin = FuzzyTwin(names, len(index.weight))
    queries = [*random_names(random, 40), *names[:20], *(n[1:] for n in names[20:40]), "", "zzz"]
    found = index.search(queries, LIMIT, containing=containing)
    assert found.n_found.max() == LIMIT or containing
    for i, query in enumerate(queries):
        wanted = twin.similar(query, containing)[:LIMIT]
        n = found.n_found[i]
        np.testing.assert_allclose(
            found.scores[i, :n], [scores for _, scores in wanted] or np.zeros((0, 4)), rtol=1e-5,
        )  # fmt: skip
        # Names of equal scores may have another order, as sums are rounded otherwise.
        ours, theirs = found.name[i, :n].tolist(), [number for number, _ in wanted]
        for a, b, scores in zip(ours, theirs, found.scores[i], strict=False):
            assert a == b or twin.scores(query, names[a])[0] == pytest.approx(scores[0])


def test_names_in_several_blocks_are_found():
    names = sorted(f"name {i:x} of {i % 97}" for i in range(70_000))
    index = index_of(names)
    some = names[::7_000]
    found = index.search([name.replace("name", "nme") for name in some], 1)
    assert [index.name(number) for number in found.name[:, 0]] == some


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_make_the_same_index(monkeypatch, threads):
    monkeypatch.setattr(fuzzy_index, "MAX_POSTINGS", 40)  # of some tokens
    names = random_names(Random(5), 400)
    wanted = index_of(names)
    monkeypatch.setattr(fuzzy_index, "_FEW", 0)
    monkeypatch.setattr(fuzzy_index, "cores", lambda: threads)
    for ours, theirs in zip(index_of(names), wanted, strict=True):
        np.testing.assert_array_equal(ours, theirs)
        assert ours.dtype == theirs.dtype


def test_limits_hold(monkeypatch):
    names = [f"anna {i:03d}" for i in range(300)]
    index = index_of(names)
    assert index.search(["anna"], 500).n_found[0] == fuzzy_index.COMPARED
    assert index.search(["anna"], 500, containing=True).n_found[0] == fuzzy_index.COMPARED
    monkeypatch.setattr(fuzzy_index, "COMPARED", 5)
    assert index.search(["anna"], 500).n_found[0] == 5
    assert index.search(["anna"], 0).n_found[0] == 0
    monkeypatch.setattr(fuzzy_index, "READ_POSTINGS", 10)
    assert index.search(["anna 007"], 1).n_found[0] == 1, "rare tokens are read"
    assert index.search(["anna"], 1).n_found[0] == 0, "frequent ones are not"


def test_frequent_tokens_have_a_weight_but_no_names(monkeypatch):
    monkeypatch.setattr(fuzzy_index, "MAX_POSTINGS", 20)
    index = index_of([f"anna {i:03d}" for i in range(50)])
    assert index.search(["anna"], 5).n_found[0] == 0
    assert index.search(["anna"], 5, containing=True).n_found[0] == 0
    found = index.search(["anna 007"], 1)
    assert index.name(found.name[0, 0]) == "anna 007"
    assert found.scores[0, 0].tolist() == [1, 1, 1, 1]


RECORDS = [
    {"id": "anna", "name": "Anna Meck", "type": "PER"},
    {"id": "town", "name": "Mecklenburg", "type": "LOC"},
    {"id": "fund", "name": "International Monetary Fund", "type": "ORG"},
]


@pytest.fixture
def place(tmp_path):
    return build(tmp_path, RECORDS, variants=DEFAULT_RULES)


def found(kb, name, **options):
    return kb.similar_names([name], LIMIT, **options).names


def change(kb, tmp_path, how, *records):
    path = write_lines(tmp_path / "change.jsonl", records)
    how(kb.path, EntityList(path, partial=how is update.update))
    kb.refresh()


def test_the_index_follows_every_change(place, tmp_path):
    with KnowledgeBase.open(place) as kb, KnowledgeBase.open(place) as old:
        assert found(kb, "Ana Mek")[0] == "anna meck"
        change(kb, tmp_path, update.add, {"id": "bo", "name": "Bo Zeddler", "type": "PER"})
        assert found(kb, "Bo Zedler") == ["bo zeddler"]
        assert found(kb, "Zeddler", containing=True) == ["bo zeddler"]
        change(kb, tmp_path, update.update, {"id": "bo", "name": "Bo Quiddler"})
        assert found(kb, "Bo Quidler") == ["bo quiddler", "bo zeddler"]
        change(kb, tmp_path, update.update, {"id": "bo", "aliases": []})
        assert found(kb, "Bo Zedler") == ["bo quiddler"]
        change(kb, tmp_path, update.update, {"id": "anna", "aliases": ["Nanette Meckison"]})
        assert found(kb, "Nanete Mekison")[0] == "nanette meckison"
        update.remove(place, ["bo", "town"])
        kb.refresh()
        assert found(kb, "Bo Quidler") == []
        assert found(kb, "Mecklenburgh") == ["anna meck", "nanette meckison"]
        assert found(old, "Mecklenburgh")[0] == "mecklenburg", "its snapshot stays"
    with KnowledgeBase.open(place) as again:
        assert found(again, "Nanete Mekison")[0] == "nanette meckison"
        assert found(again, "Mecklenburgh") == ["anna meck", "nanette meckison"]
    assert check(place).ok


def test_removed_names_leave_room_for_others(tmp_path):
    records = [{"id": f"e{i}", "name": f"Meckler {i}"} for i in range(12)]
    place = build(tmp_path, records)
    update.remove(place, [f"e{i}" for i in range(6)])
    with KnowledgeBase.open(place) as kb:
        assert len(kb.similar_names(["Mecklr 1"], 6).names) == 6


def test_a_knowledge_base_without_names_of_the_build(tmp_path):
    place = build(tmp_path, [{"id": "a", "name": "Anna"}])
    update.remove(place, ["a"])
    with KnowledgeBase.open(place) as kb:
        assert found(kb, "ana") == []
        change(kb, tmp_path, update.add, {"id": "b", "name": "Berta"})
        assert found(kb, "beta") == ["berta"]


@pytest.fixture(scope="module")
def fuzzed():
    return list(script_names(7, N_FUZZED))


def test_any_name_can_be_looked_up_and_searched(fuzzed, tmp_path):
    usable = [n for n in fuzzed if 0 < len(normal_name(n).encode("utf-8", "replace")) <= MAX_KEY]
    known = [n for n in dict.fromkeys(usable) if n.isprintable() and n.strip()][::7]
    place = build(tmp_path, [{"id": f"e{i}", "name": name} for i, name in enumerate(known)])
    with KnowledgeBase.open(place) as kb:
        lists, heads = kb.candidate_lists(fuzzed), kb.name_heads(fuzzed)
        assert np.array_equal(np.diff(lists.offsets) > 0, heads.known)
        singles = [[c.number for c in kb.candidates(name)] for name in fuzzed]
        assert np.concatenate([np.array(s, int) for s in singles]).tolist() == lists.entity.tolist()
        for i, name in enumerate(known):
            assert i in [c.number for c in kb.candidates(name, 1 << 30)]
        for containing in (False, True):
            similar = kb.similar_names(fuzzed, LIMIT, containing=containing)
            assert np.diff(similar.offsets).max() <= LIMIT
            assert kb.name_heads(similar.names).known.all()
            assert np.isfinite(similar.scores).all()
            assert similar.scores.min() >= 0
            assert similar.scores.max() <= 1 + 1e-6
        similar = kb.similar_names(known, 1)
        same = [normal_name(a) == b for a, b in zip(known, similar.names, strict=True)]
        assert np.mean(same) > 0.99, "hardly any name has another one as similar"


def test_names_too_long_to_be_known_have_no_forms():
    assert other_forms("1 2 " * 30_000) == []
    assert len(DEFAULT_RULES.variants(["Dr. " * 100 + "Anna Meck"], "PER")) == MAX_VARIANTS


DAMAGES = {
    "offsets": (1, 2**32 - 1),
    "starts": (slice(None), 2**32 - 1),
    "postings": (slice(None), 2**32 - 1),
    "weight": (slice(None), 0),
    "norm": (slice(None), np.nan),
    "text": (slice(None), 255),
}


@pytest.mark.parametrize("containing", [False, True])
@pytest.mark.parametrize("array", DAMAGES)
def test_a_damaged_column_is_named_when_it_is_used(place, array, containing):
    at, value = DAMAGES[array]
    with items(place, f"fuzzy_{array}") as column:
        column[at] = value
    with KnowledgeBase.open(place) as kb:
        for name in ("meck", "international", "fund"):
            if containing and array == "text":
                assert found(kb, name, containing=True) == [], "no name has the word any more"
                continue
            with pytest.raises(KnowledgeBaseError, match=rf"fuzzy_{array}\.bin: damaged"):
                found(kb, name, containing=containing)
    assert any(f"fuzzy_{array}.bin" in problem for problem in check(place).problems)


@pytest.mark.parametrize("seed", range(30))
def test_random_damage_never_ends_the_process(place, seed):
    random = Random(seed)
    column = random.choice(FUZZY_COLUMNS)
    with items(place, column) as data:
        raw = data.view(np.uint8)
        for _ in range(random.choice((1, 5, 50))):
            raw[random.randrange(len(raw))] = random.randrange(256)
    with KnowledgeBase.open(place) as kb:
        for name in ("anna meck", "mecklenburg", "monetary fund", "x"):
            for containing in (False, True):
                try:
                    similar = kb.similar_names([name], LIMIT, containing=containing)
                except KnowledgeBaseError as error:
                    assert "fuzzy_" in str(error)  # noqa: PT017
                else:
                    assert len(similar.names) <= LIMIT


def test_the_kernel_checks_lengths():
    index = index_of(["a b", "c"])
    queries = NameTexts.of([b"a"])
    out = fuzzy_index.FoundNames(
        np.zeros(1, np.int32), np.zeros((1, 2), np.int32), np.zeros((1, 2, len(SCORES)), np.float32)
    )
    search_names(index, queries, 10, 10, False, out)
    assert out.n_found[0] == 1
    for wrong in ("offsets", "starts", "norm"):
        damaged = index._replace(**{wrong: getattr(index, wrong)[:-1]})
        with pytest.raises(ValueError, match="length"):
            search_names(damaged, queries, 10, 10, False, out)
