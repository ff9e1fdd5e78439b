"""Name variants: each rule, the rules of a user, and the variants of a knowledge base."""

import re
import sys
import unicodedata
from pathlib import Path
from random import Random

import pytest

from sgtb.core.errors import KnowledgeBaseError
from sgtb.kb import KnowledgeBase, name_variants, update
from sgtb.kb.build.entity_lines import EntityList
from sgtb.kb.build.list_build import build_list
from sgtb.kb.check import check
from sgtb.kb.export import export_lines
from sgtb.kb.layout import MAX_KEY
from sgtb.kb.name_variants import (
    DEFAULT_RULES,
    MAX_VARIANTS,
    RULES,
    VARIANT,
    VariantRules,
    _kernel,
    other_forms,
    place_names,
)
from sgtb.text.normalization import name_table, normal_name
from tests.helpers.kb_worlds import build, write_lines

CASES = {
    "brackets": [
        ("Mercury (planet)", "LOC", ["Mercury"]),
        ("Mercury [1] (planet)", "LOC", ["Mercury"]),
        ("(planet)", "LOC", []),
    ],
    "word order": [
        ("Dystrophy, Muscular", "PER", ["Muscular Dystrophy", "Dystrophy", "Muscular",
                                        "M. Dystrophy"]),
        ("Neoplasms, Kidney, Malignant", "MISC",
         ["Malignant Kidney Neoplasms", "Kidney Malignant Neoplasms", "Malignant Kidney Neoplasm",
          "Kidney Malignant Neoplasm", "MKN", "KMN"]),
        ("Ab, Cd, Ef, Gh, Ij", "MISC", []),
        ("Ab,, Cd", "MISC", []),
    ],
    "before the comma": [
        ("Springfield, Ohio", "LOC", ["Springfield"]),
        ("Acme, Berlin", "ORG", ["Acme"]),
    ],
    "article": [("The Beatles", "ORG", ["Beatles"]), ("Theatre", "LOC", ["Theater"])],
    "title": [
        ("Dr. Anna Meck Jr.", "PER", ["Anna Meck Jr.", "Anna Meck", "Meck", "Anna", "A. Meck"]),
        ("Anna Meck, Jr.", "PER", ["Anna Meck", "Meck", "Anna", "A. Meck"]),
        ("Pope John Paul II", "PER",
         ["John Paul II", "John Paul", "Paul", "John", "J. Paul", "Pope John Paul 2",
          "John Paul 2"]),
        ("Sir", "PER", []),
    ],
    "nickname": [
        ('William "Bill" Gates', "PER",
         ["William Gates", "Bill", "Bill Gates", "Gates", "William", "W. Gates", "B. Gates"]),
        ("D'Arcy O'Brien", "PER", ["O'Brien", "D'Arcy", "D. O'Brien"]),
    ],
    "legal form": [
        ("Acme Holdings Ltd.", "ORG", ["Acme Holdings", "Acme", "AHL"]),
        ("Siemens AG", "ORG", ["Siemens"]),
        ("Siemens AG", "LOC", []),
        ("Limited", "ORG", []),
    ],
    "person": [
        ("Anna Meck", "PER", ["Meck", "Anna", "A. Meck"]),
        ("Ludwig van Beethoven", "PER",
         ["van Beethoven", "Beethoven", "Ludwig", "L. van Beethoven"]),
        ("George Walker Bush", "PER",
         ["Bush", "George", "G. Bush", "George Bush", "G. W. Bush", "G.W. Bush",
          "George W. Bush"]),
        ("J. K. Rowling", "PER", ["Rowling", "J. Rowling", "J.K. Rowling"]),
        ("Madonna", "PER", []),
        ("Anna Meck", "LOC", []),
    ],
    "place": [
        ("Clay County", "LOC", ["Clay"]),
        ("City of Bath", "LOC", ["Bath"]),
        ("Saint Olaf", "LOC", ["St. Olaf"]),
        ("St. Olaf", "LOC", ["Saint Olaf"]),
        ("Germany", "LOC", ["Federal Republic of Germany", "German", "Germans"]),
        ("Germany", "ORG", []),
    ],
    "university": [
        ("University of Oslo", "ORG", ["Oslo University"]),
        ("Oslo University", "ORG", ["University of Oslo"]),
    ],
    "ampersand": [
        ("Ernst & Young", "ORG", ["Ernst and Young"]),
        ("Ernst and Young", "ORG", ["Ernst & Young"]),
    ],
    "of": [("Cancer of the Breasts", "MISC", ["Breasts Cancer", "Cancer of the Breast"])],
    "numerals": [
        ("World War II", "LOC", ["World War 2", "WWII"]),
        ("Part 20 b", "LOC", ["Part XX b"]),
        ("II", "LOC", []),
        ("I Robot", "LOC", []),
    ],
    "hyphen": [("Coca-Cola", "ORG", ["CocaCola"])],
    "spelling": [
        ("Tumour Centre", "ORG", ["Tumor Center"]),
        ("TUMOR CENTER", "ORG", ["TUMOUR CENTRE"]),
        ("organised labour", "ORG", ["organized labor"]),
        ("Haemorrhage", "ORG", ["Hemorrhage"]),
        ("Wise Laboratory of Imaging Disease", "LOC", ["WLID", "WLOID"]),
    ],
    "number": [
        ("Heart Disease", "", ["Heart Diseases"]),
        ("Heart Diseases", "", ["Heart Diseasis", "Heart Disease"]),
        ("Diagnosis", "", ["Diagnoses"]),
        ("Metastases", "", ["Metastasis", "Metastase"]),
        ("Neuropathy", "", ["Neuropathies"]),
        ("Neuropathies", "", ["Neuropathy"]),
        ("Viruses", "", ["Virus", "Viruse"]),
        ("Abscess", "", ["Abscesses"]),
        ("Delay", "", ["Delays"]),
        ("HIV", "", []),
        ("Fund", "ORG", []),
    ],
    "acronym": [
        ("International Monetary Fund", "ORG", ["IMF"]),
        ("Federal Bureau of Investigation", "ORG", ["FBI", "FBOI"]),
        ("Monetary Fund", "ORG", []),
        ("Donna M. Lee", "", []),
        ("List of Orlan Rivers", "ORG", []),
    ],
}  # fmt: skip
TABLE = [case for cases in CASES.values() for case in cases]


def test_every_rule_has_cases():
    assert list(CASES) == [rule.name for rule in RULES]


@pytest.mark.parametrize(("name", "type_", "variants"), TABLE)
def test_variants_of_a_name(name, type_, variants):
    assert DEFAULT_RULES.variants([name], type_) == variants


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_the_first_case_of_each_rule_is_made_by_it(rule):
    name, type_, variants = CASES[rule.name][0]
    assert type_ in rule.types
    made = {normal_name(variant) for variant in rule.make(name)}
    assert made & {*map(normal_name, variants)}


def test_variants_are_no_names_and_each_is_made_once():
    names = ["Anna Meck", "ANNA", "meck", "Dr. Anna Meck"]
    assert DEFAULT_RULES.variants(names, "PER") == ["A. Meck"]
    assert DEFAULT_RULES.variants(["北京市", "X"], "LOC") == []
    assert DEFAULT_RULES.variants([], "PER") == []


def test_one_entity_has_a_limited_number_of_variants():
    names = [f"Given{i} Second{i} Surname{i}" for i in range(1000)]
    assert len(DEFAULT_RULES.variants(names, "PER")) == MAX_VARIANTS


def test_other_names_of_places_are_well_formed():
    found = place_names()
    assert len(found) > 200
    for name, others in found.items():
        assert name == normal_name(name)
        assert all(other and other == other.strip() for other in others), name


@pytest.mark.parametrize(
    ("name", "forms"),
    [
        ("heart diseases", {"heart diseasis", "heart disease"}),
        ("tumour", {"tumor", "tumours", "tumors"}),
        ("cancer of the breast", {"cancer of the breasts", "breast cancer", "breast cancers"}),
        ("type ii", {"type 2"}),
        ("北京", set()),
        ("", set()),
    ],
)
def test_other_forms_of_a_name(name, forms):
    found = other_forms(name)
    assert {*found} == forms
    assert len(found) == len(forms)


def random_name(random):
    """A name of words in any script, with punctuation that rules look for."""
    script = random.choice([(0x20, 0x7F), (0xA0, 0x250), (0x370, 0x600), (0x600, 0xE00),
                            (0x3040, 0xA000), (0xAC00, 0xD7A4), (0x1F300, 0x1F700),
                            (0, sys.maxunicode + 1)])  # fmt: skip
    letters = [chr(random.randrange(*script)) for _ in range(random.randint(0, 12))]
    parts = ["".join(letters)]
    words = "Dr. Jr. The of & - , ( ) [ ] \" ' “ ” II 12 van County Saint University colour ies X."
    parts += random.sample(words.split(), random.randint(0, 8))
    parts += random.choices(["Anna", "Meck", "a", "B", "ß", "İ", " ", "\u200b"], k=3)
    random.shuffle(parts)
    return random.choice(("", " ", "  ")).join(parts)


def test_names_of_all_scripts_have_variants_that_can_be_stored():
    random = Random(17)
    categories, made = set(), 0
    for _ in range(10_000):
        names = [random_name(random) for _ in range(random.randint(1, 2))]
        categories |= {unicodedata.category(letter) for name in names for letter in name}
        found = DEFAULT_RULES.variants(names, random.choice(("", "PER", "ORG", "LOC", "MISC")))
        assert len(found) <= MAX_VARIANTS
        normal = [normal_name(variant) for variant in found]
        assert len({*normal}) == len(found)
        assert not {*normal} & {normal_name(name) for name in names}
        assert all(1 < len(name.encode("utf-8", "surrogatepass")) <= MAX_KEY for name in normal)
        made += len(found)
        for name in names:
            other_forms(normal_name(name))
    assert len(categories) > 20
    assert made > 10_000


def test_the_kernel_makes_the_variants_of_the_rules(monkeypatch):
    random, slow = Random(23), 0
    words = (
        "the The of and & St. Saint mt, County CITY Republic City University Institute Dr. Jr. II "
        "iii X v 3 20 van der O'Neil 'Bob' \"Big Al\" (band) [x] Grey Colours COLOUR programme "
        "realise organisations tyres - A-B x-y, Inc. Ltd Co. Café Émile Šibenik Łódź “q” Москва "
        "boxes classes analyses analysis Cities party J. K. United York metropolitan-area metred "
        "paediatric centre Holdings , ' \" ( ) ] ’s – _x a America ÉCOLE ŠŽ"
    ).split(" ")
    for _ in range(6000):
        names = [
            random_name(random) if random.random() < 0.1 else " ".join(random.choices(words, k=k))
            for k in random.choices(range(1, 7), k=random.randint(1, 3))
        ]
        type_ = random.choice(("", "PER", "ORG", "LOC", "MISC", "gene"))
        found = _kernel().make(name_table(), names, type_)
        slow += found is None
        assert found in (None, DEFAULT_RULES.slow_variants(names, type_)), (names, type_)
    assert slow < 2000
    monkeypatch.setattr(name_variants, "MAX_NAMES", 1)
    monkeypatch.setattr(name_variants, "MAX_VARIANTS", 1)
    assert _kernel.__wrapped__().make(name_table(), ["Ann Bob Cid"] * 3, "PER") == ["Cid"]


@pytest.mark.parametrize(
    "name", ["(" * 2000, '"' * 2000, "a b " * 500, "a," * 1000, " " * 1999 + "x", "of " * 600]
)
def test_long_names_have_variants_in_reasonable_time(name):
    """Rules are linear: none of these would end within the limit of a test otherwise."""
    for type_ in ("", "PER", "ORG", "LOC", "MISC"):
        DEFAULT_RULES.variants([name * 20], type_)


# The rules of a user


def test_rules_are_read_from_a_file(tmp_path):
    path = tmp_path / "rules.tsv"
    path.write_text("\ufeff# comment\n\n*\tVfL (.+)\t\\1\nORG\tFC$\tFootball Club\n", "utf-8")
    rules = VariantRules.read(path)
    assert rules.own == (("", "VfL (.+)", r"\1"), ("ORG", "FC$", "Football Club"))
    assert rules.variants(["VfL 99 FC"], "ORG") == ["99 FC", "VfL 99 Football Club"]
    assert rules.variants(["VfL 99 FC"], "LOC") == ["99 FC"]
    assert VariantRules.from_origin(rules.origin) == rules
    assert VariantRules.from_origin({}) == DEFAULT_RULES


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("ORG\tx", "line 2: 2 cells; a rule is type or"),
        ("ORG x y", "line 2: 1 cells"),
        ("ORG\tx\ty\tz", "line 2: 4 cells"),
        ("ORG\t(\ty", r"line 2: variant rule '\(' -> 'y': missing \)"),
        ("ORG\tx\t\\2", "line 2: variant rule 'x' .*invalid group reference"),
        ("GPE\tx\ty", "line 2: variant rule 'x': no type 'GPE'"),
    ],
)
def test_a_wrong_rule_is_named(tmp_path, line, message):
    path = tmp_path / "rules.tsv"
    path.write_text(f"*\ta\tb\n{line}\n")
    with pytest.raises(KnowledgeBaseError, match=f"{path}, {message}"):
        VariantRules.read(path)


@pytest.mark.parametrize("rules", [[["ORG", "x"]], [1], 3, [["", "(", ""]]])
def test_damaged_rules_of_a_state_are_refused(rules):
    with pytest.raises(KnowledgeBaseError, match="rule"):
        VariantRules.from_origin({"variant_rules": rules})


# In a knowledge base

RECORDS = [
    {"id": "anna", "name": "Anna Meck", "type": "PER"},
    {"id": "town", "name": "Meck", "type": "LOC"},
    {"id": "fund", "name": "International Monetary Fund", "type": "ORG"},
]


@pytest.fixture
def place(tmp_path):
    return build(tmp_path, RECORDS, variants=DEFAULT_RULES)


def names_of(kb, source):
    return {kb.id_of(i): [a.name for a in kb.entity(kb.id_of(i)).aliases if a.source == source]
            for i in range(len(kb.rows)) if kb.rows["alive"][i]}  # fmt: skip


def test_variants_are_names_of_their_own_source(place):
    with KnowledgeBase.open(place) as kb:
        assert kb.sources == ("given", VARIANT)
        assert names_of(kb, VARIANT) == {
            "anna": ["A. Meck", "Anna", "Meck"], "town": [], "fund": ["IMF"],
        }  # fmt: skip
        listed, variant = kb.candidates("meck")
        assert (listed.id, variant.id) == ("town", "anna")
        assert (listed.prior, variant.prior) == pytest.approx((1 / 1.1, 0.1 / 1.1))
        lists = kb.candidate_lists(["meck", "imf", "anna meck", "nobody"])
        assert lists.variant.tolist() == [False, True, True, False]
        assert kb.similar_names(["anna mek"], 9).names[0] == "anna meck"
        assert "imf" not in kb.similar_names(["imf"], 9).names, "variants are not searched"
    assert check(place).ok


def test_a_list_without_variants_has_none(tmp_path):
    with KnowledgeBase.open(build(tmp_path, RECORDS, variants=None)) as kb:
        assert kb.sources == ("given",)
        assert kb.candidates("imf") == ()


def changed(kb, tmp_path, how, *records):
    path = write_lines(tmp_path / "change.jsonl", records)
    how(kb.path, EntityList(path, partial=how is update.update))
    kb.refresh()


def test_variants_follow_every_change(place, tmp_path):
    with KnowledgeBase.open(place) as kb:
        changed(kb, tmp_path, update.add, {"id": "bo", "name": "Bo Zedd", "type": "PER"})
        assert names_of(kb, VARIANT)["bo"] == ["B. Zedd", "Bo", "Zedd"]
        changed(kb, tmp_path, update.update, {"id": "bo", "type": "MISC"})
        assert names_of(kb, VARIANT)["bo"] == ["Bo Zedds"]
        assert kb.candidates("zedd") == ()
        changed(kb, tmp_path, update.update, {"id": "anna", "aliases": ["A. Meck", "Anne"]})
        assert names_of(kb, VARIANT)["anna"] == ["Anna", "Meck"]
        assert names_of(kb, "given")["anna"] == ["A. Meck", "Anna Meck", "Anne"]
        update.remove(place, ["anna"])
        kb.refresh()
        assert [c.id for c in kb.candidates("meck")] == ["town"]
        assert kb.candidates("anna") == ()
    assert check(place).ok


def test_rules_of_a_user_stay_with_the_knowledge_base(tmp_path):
    rules = VariantRules((("ORG", "^VfL (.+)", r"\1"),))
    place = build(tmp_path, [{"id": "a", "name": "VfL Bochum", "type": "ORG"}], variants=rules)
    with KnowledgeBase.open(place) as kb:
        changed(kb, tmp_path, update.add, {"id": "b", "name": "VfL Wolfsburg", "type": "ORG"})
        assert [c.id for c in kb.candidates("bochum")] == ["a"]
        assert [c.id for c in kb.candidates("wolfsburg")] == ["b"]


def test_an_export_builds_the_same_names(place, tmp_path):
    with KnowledgeBase.open(place) as kb:
        lines = list(export_lines(kb))
        (tmp_path / "export.jsonl").write_text("".join(f"{line}\n" for line in lines))
        build_list(tmp_path / "export.jsonl", tmp_path / "again")
        with KnowledgeBase.open(tmp_path / "again") as again:
            assert list(export_lines(again)) == lines
            assert list(again.names()) == list(kb.names())
            assert names_of(again, VARIANT) == names_of(kb, VARIANT)
            changed(again, tmp_path, update.add, {"id": "bo", "name": "Bo Zed", "type": "PER"})
            assert [c.id for c in again.candidates("zed")] == ["bo"]


def test_variants_have_a_source_besides_the_most_that_a_list_may_have(tmp_path):
    aliases = [{"name": "x", "source": f"s{i}"} for i in range(31)]
    place = build(tmp_path, [{"id": "a", "name": "Bo Zed", "type": "PER", "aliases": aliases}],
                  variants=DEFAULT_RULES)  # fmt: skip
    with KnowledgeBase.open(place) as kb:
        lines = list(export_lines(kb))
        (tmp_path / "export.jsonl").write_text("".join(f"{line}\n" for line in lines))
        build_list(tmp_path / "export.jsonl", tmp_path / "again")
        with KnowledgeBase.open(tmp_path / "again") as again:
            assert (len(again.sources), list(export_lines(again))) == (33, lines)


def test_every_rule_is_documented():
    page = Path(__file__).parents[2] / "docs" / "guide" / "knowledge-base.md"
    text = page.read_text("utf-8")
    rows = re.findall(r"^\| ([a-z ]+) \| [A-Za-z, ]+ \| .+ → .+ \|$", text, re.MULTILINE)
    assert rows == [rule.name for rule in RULES]


def test_a_rule_makes_a_limited_number_of_variants_of_a_name():
    """Also where all of them are known and none is kept."""
    name = " ".join(["Ab", *(["'Al'"] * 300), "Cd"])
    assert _kernel().make(name_table(), [name], "PER") == DEFAULT_RULES.slow_variants([name], "PER")
    raw = next(rule for rule in RULES if rule.name == "nickname").make(name)
    assert sum(1 for _ in raw) > 2 * MAX_VARIANTS
