"""Near names: the index against comparing with every name, and what counts as near."""

import importlib.util
import re
from importlib import import_module
from pathlib import Path
from random import Random
from string import ascii_lowercase

import numpy as np
import pytest
from rapidfuzz.distance import OSA

import sgtb.starter
from sgtb.core.errors import MissingExtraError
from sgtb.kb import KnowledgeBase
from sgtb.kb.build.list_build import build_list
from sgtb.linking.candidates.candidate_lookup import CandidateFinder, CandidateSettings
from sgtb.linking.candidates.fuzzy_names import FuzzyName, FuzzyNames, allowed_edits
from sgtb.text.normalization import normal_name
from tests.helpers.kb_worlds import build

STARTER = Path(sgtb.starter.__file__).with_name("entities.jsonl")


@pytest.fixture(scope="module")
def starter(tmp_path_factory):
    place = tmp_path_factory.mktemp("starter") / "kb"
    build_list(STARTER, place)
    with KnowledgeBase.open(place) as kb:
        yield kb


@pytest.fixture
def opened(tmp_path):
    """Open a knowledge base of names, each with its own entity, e0, e1, …"""

    def opened(*names: str, **more):
        records = [{"id": f"e{i}", "name": name, **more} for i, name in enumerate(names)]
        return KnowledgeBase.open(build(tmp_path, records))

    return opened


def nearest(kb, name):
    return [near.name for near in FuzzyNames(kb).nearest(name)]


def nearest_of_all(name: str, names: list[str]) -> list[FuzzyName]:
    """Compare with every name."""
    near = []
    for other in names:
        size = min(len(name), len(other))
        edits = OSA.distance(name, other)
        near_enough = size >= 4 and edits <= allowed_edits(size)
        if near_enough and re.findall(r"\d", name) == re.findall(r"\d", other):
            near.append(FuzzyName(other, edits, 1 - edits / max(len(name), len(other))))
    return [one for one in near if one.edits == min(other.edits for other in near)]


def misspelt(random: Random, name: str, edits: int) -> str:
    """Make edits of four kinds, anywhere but at digits and spaces."""
    for _ in range(edits):
        at = random.choice([i for i, c in enumerate(name) if c.isalpha()])
        letter = random.choice(ascii_lowercase)
        kind = random.choice(("add", "drop", "replace", "swap"))
        if kind == "add":
            name = name[:at] + letter + name[at:]
        elif kind == "drop":
            name = name[:at] + name[at + 1 :]
        elif kind == "replace":
            name = name[:at] + letter + name[at + 1 :]
        elif name[at + 1 : at + 2].isalpha():
            name = name[:at] + name[at + 1] + name[at] + name[at + 2 :]
    return name


def recall(kb, edits: int, sample: int = 150) -> float:
    """The share of misspelt names for which the index finds all that comparing would."""
    names = list(kb.names())
    random, near = Random(edits), FuzzyNames(kb)
    letters = [name for name in names if sum(c.isalpha() for c in name) >= 5]
    found = 0
    for name in random.sample(letters, sample):
        wrong = " ".join(misspelt(random, name, edits).split())
        found += list(near.nearest(wrong)) == nearest_of_all(wrong, names)
    return found / sample


def test_one_wrong_letter_is_never_missed(starter):
    assert recall(starter, 1) == 1  # as it is with 2,000 names


@pytest.mark.parametrize("edits", [2, 3])
def test_several_wrong_letters_are_rarely_missed(starter, edits):
    assert recall(starter, edits) >= 0.95  # with 2,000 names 0.985 and 0.993


@pytest.mark.parametrize("seed", range(5))
def test_crowded_names_are_all_found_after_one_edit(opened, seed):
    """Names of an alphabet of three letters, most of them near each other, in other scripts too."""
    random = Random(seed)
    alphabet = ("abc", "жшщ", "aб漢")[seed % 3]
    names = {
        "".join(random.choice(alphabet) for _ in range(random.randint(1, 14))) for _ in range(120)
    }
    kb = opened(*sorted(names))
    known, near = list(kb.names()), FuzzyNames(kb)
    for name in known:
        at, letter = random.randrange(len(name)), random.choice(alphabet)
        for wrong in (
            name[:at] + letter + name[at:],
            name[:at] + name[at + 1 :],
            name[:at] + letter + name[at + 1 :],
            name[:at] + name[at + 1 : at + 2] + name[at : at + 1] + name[at + 2 :],
        ):
            right = nearest_of_all(wrong, known)
            if right and right[0].edits < 2:
                assert list(near.nearest(wrong)) == right


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("Ohio", "Oiho"),
        ("Paris", "Parris"),
        ("Genève", "GENEVRE"),
        ("Barack Obama", "Barak Obbama"),
        ("International Monetary Fund", "Internationl Monetry Fnd"),
        ("Москва", "Масква"),
        ("Boeing 747", "Boing 747"),
    ],
)
def test_near_enough(opened, name, wrong):
    assert nearest(opened(name, "Something Else"), wrong) == [normal_name(name)]


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("Oslo", "slo"),  # three letters lie near everything
        ("Rom", "Rome"),
        ("Ohio", "Oiho o"),
        ("Paris", "Prais s"),  # two edits of five letters
        ("Washington", "Wahsngtn"),  # three of ten
        ("1994 World Cup", "1998 World Cup"),  # digits are not misspelt
        ("Boeing 747", "Boeing 77"),
        ("Boeing", "Boeing 7"),
    ],
)
def test_too_far(opened, name, wrong):
    assert nearest(opened(name, "Something Else"), wrong) == []


def test_fewest_edits_win_and_equals_come_in_byte_order(opened):
    kb = opened("Lindemann", "Lindermann", "Lindeman", "Lindenmann", "Lindner")
    assert nearest(kb, "Lindeemann") == ["lindemann", "lindenmann", "lindermann"]
    assert nearest(kb, "lindemann") == ["lindemann"]


def test_candidates_of_equally_near_names_are_merged(tmp_path):
    kb = KnowledgeBase.open(
        build(
            tmp_path,
            [
                {"id": "a", "name": "Lindermann"},
                {"id": "b", "name": "Lindenmann", "aliases": [{"name": "Lindenmann", "count": 3}]},
                {"id": "c", "name": "Lindenmann", "popularity": 1},
                {"id": "d", "name": "Lindermann", "popularity": 2},
                {"id": "e", "name": "Lindenmann", "aliases": ["Lindermann"]},
                {"id": "f", "name": "Nobody"},
            ],
        )
    )
    near = FuzzyNames(kb)
    entity, prior = near.candidates("Lindexmann", 30)
    # By name 1/3 for a, d and e; 3/5, 1/5 and 1/5 for b, c and e. One of ten letters is wrong.
    expected = {"b": 3 / 5, "e": 1 / 3 + 1 / 5, "d": 1 / 3, "a": 1 / 3, "c": 1 / 5}
    assert [kb.id_of(int(number)) for number in entity] == list(expected)
    np.testing.assert_allclose(prior, [0.9 * value / 2 for value in expected.values()], rtol=1e-6)
    assert (entity.dtype, prior.dtype) == (np.int32, np.float32)
    assert near.candidates("Lindexmann", 2)[0].tolist() == entity[:2].tolist()
    assert [len(part) for part in near.candidates("Somebody Else", 30)] == [0, 0]


@pytest.mark.parametrize("name", ["", "!!!!!", "\ud800\ud800\ud800\ud800", "x" * 5000, "Abc"])
def test_odd_names_are_near_to_nothing(opened, name):
    assert nearest(opened("Paris", "!!!", "Abcd"), name) == []


def test_a_knowledge_base_without_long_names(opened):
    assert nearest(opened("U", "Oz"), "Ozzy") == []


def test_names_are_read_at_first_use_and_again_when_forgotten():
    class Names:
        read = 0

        def names(self):
            self.read += 1
            return iter(("paris",))

    kb = Names()
    near = FuzzyNames(kb)
    assert kb.read == 0
    assert [near.nearest("pariss")[0].name for _ in range(2)] == ["paris", "paris"]
    assert kb.read == 1
    near.forget()
    near.nearest("pariss")
    assert kb.read == 2


def test_an_index_is_small(starter):
    names = list(starter.names())
    letters = sum(len(name.encode()) for name in names) / len(names)
    assert FuzzyNames(starter).bytes_per_name < letters + 34


def test_without_rapidfuzz_only_near_names_are_missed(starter, monkeypatch):
    def absent(name):
        if name.startswith("rapidfuzz"):
            raise ModuleNotFoundError(f"No module named {name!r}", name="rapidfuzz")
        return import_module(name)

    monkeypatch.setattr("sgtb.linking.candidates.fuzzy_names.import_module", absent)
    CandidateFinder(starter)
    with pytest.raises(MissingExtraError, match=r"rapidfuzz: pip install 'sgtb\[fuzzy\]'"):
        CandidateFinder(starter, CandidateSettings(near_names=True))
    assert importlib.util.find_spec("rapidfuzz") is not None
