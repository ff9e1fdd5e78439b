import time

import pytest

from sgtb.wikipedia.dump.language_editions import (
    DISAMBIGUATION_TEMPLATES,
    LANGUAGES,
    REDIRECT_WORDS,
    SISTERS,
    is_disambiguation,
    namespace_aliases,
    redirect_target,
)


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("#REDIRECT [[Computer accessibility]]", "Computer accessibility"),
        ("#redirect[[a]]", "a"),
        ("\n #Redirect: [[ A b |shown]] {{R from move}}", "A b"),
        ("#REDIRECT [[Second Life#Competitions]]", "Second Life#Competitions"),
        ("#WEITERLEITUNG [[Käse]]", "Käse"),
        ("#weiterleitung [[Käse]]", "Käse"),
        ("#REDIRECTION [[:Catégorie:X]]", ":Catégorie:X"),
        ("#redirección [[Año]]", "Año"),
        ("#RINVIA [[Roma]]", "Roma"),
        ("#DOORVERWIJZING [[Amsterdam]]", "Amsterdam"),
        ("#перенаправление [[Москва]]", "Москва"),
        ("#PATRZ [[Łódź]]", "Łódź"),
        ("#przekieruj [[Łódź]]", "Łódź"),
        ("#転送 [[東京]]", "東京"),
        ("＃転送[[東京]]", "東京"),
        ("#重定向 [[北京]]", "北京"),
        ("#넘겨주기 [[서울]]", "서울"),
        ("#تحويل [[القاهرة]]", "القاهرة"),
        ("#הפניה [[ירושלים]]", "ירושלים"),
        ("#yönlendir [[Ankara]]", "Ankara"),
        ("#YÖNLENDİRME [[Ankara]]", "Ankara"),
        ("#تغییر مسیر [[تهران]]", "تهران"),
        ("#تغییر_مسیر [[تهران]]", "تهران"),
        ("#REDIRECT [[]]", ""),
    ],
)
def test_a_redirect_names_its_target(text, target):
    assert redirect_target(text) == target


@pytest.mark.parametrize(
    "text",
    [
        "",
        "#REDIRECT",
        "#REDIRECT Foo",
        "#REDIRECT [[Foo",
        "Text #REDIRECT [[Foo]]",
        "#REDIRECTED [[Foo]]",
        "# [[Foo]]",
        "#REDIRECT [[Foo\nbar]]",
    ],
)
def test_other_text_is_no_redirect(text):
    assert redirect_target(text) is None


def test_every_keyword_works_in_both_cases():
    for word in REDIRECT_WORDS:
        assert redirect_target(f"#{word} [[X]]") == "X", word
        small = word.lower().replace("i\u0307", "i")  # of İ
        assert redirect_target(f"#{small} [[X]]") == "X", word


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("Austin (disambiguation)", ""),
        ("Berlin (Begriffsklärung)", ""),
        ("Paris (homonymie)", ""),
        ("Москва (значения)", ""),
        ("A", "text {{disambig}}"),
        ("A", "text {{Disambiguation|geo|surname}}"),
        ("A", "text {{ disambiguation }}"),
        ("A", "text {{Template:Disambig}}"),
        ("A", "text {{hndis|name=Smith, John}}"),
        ("A", "text {{Geodis}}"),
        ("A", "text {{human_name_disambiguation}}"),
        ("A", "text {{TLAdisambig}}"),
        ("A", "text {{surname}}"),
        ("A", "text {{Given name|type=both}}"),
        ("A", "text {{Set index article}}"),
        ("A", "text {{Station disambiguation}}"),
        ("A", "{{Begriffsklärung}}"),
        ("A", "{{Homonymie}}"),
        ("A", "{{Personnes homonymes}}"),
        ("A", "{{Desambiguación}}"),
        ("A", "{{Disambigua}}"),
        ("A", "{{Dp}}"),
        ("A", "{{Ujednoznacznienie}}"),
        ("A", "{{Desambiguação}}"),
        ("A", "{{неоднозначность}}"),
        ("A", "{{Förgrening}}"),
        ("A", "{{Aimai}}"),
        ("A", "{{人名の曖昧さ回避}}"),
        ("A", "{{消歧义}}"),
        ("A", "{{동음이의}}"),
        ("A", "__DISAMBIG__"),
    ],
)
def test_pages_that_list_meanings_are_known(title, text):
    assert is_disambiguation(title, text)


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("A", ""),
        ("Disambiguation", "about [[Disambiguation]] and {{cite web|title=disambig}}"),
        ("Heat (1995 film)", "{{Infobox film}}"),
        ("A", "{{other uses}} {{about|x}} {{for|y}} {{redirect|z}} {{distinguish|B}}"),
        ("A", "word{{disambiguation needed|date=May 2015}}"),
        ("A", "#REDIRECT [[B]] {{R to disambiguation page}} {{R from incomplete disambiguation}}"),
        ("A", "{{Voir homonymes|B}}"),
        ("A", "{{Nota disambigua|B}}"),
        ("A", "<!-- {{disambig}} --> <nowiki>{{disambig}}</nowiki>"),
        ("A", "{{infobox given name}}"),
        ("A (", "("),
    ],
)
def test_other_pages_are_not_taken_for_them(title, text):
    assert not is_disambiguation(title, text)


def test_an_unclosed_comment_hides_nothing():
    assert is_disambiguation("A", "<!-- {{disambig}}")


@pytest.mark.parametrize("piece", ["{{", "{{a", "<!--", "<nowiki>", "<!-- -->", "{{a|{{b", "{ {"])
def test_time_is_linear_in_the_text(piece):
    start = time.process_time()
    is_disambiguation("A", piece * (2_000_000 // len(piece)))
    assert time.process_time() - start < 20  # a loop within a loop would take hours


def test_the_tables_are_tidy():
    assert {"en", "de", "simple", "zh-min-nan", "be-tarask"} <= LANGUAGES
    assert not LANGUAGES & SISTERS
    assert all(code == code.lower() for code in LANGUAGES | SISTERS)
    assert all(name == name.casefold() for name in DISAMBIGUATION_TEMPLATES)
    assert namespace_aliases("de") == {"bild": 6, "datei": 6, "benutzerin": 2, "benutzer": 2}
    assert namespace_aliases("vi") == {"hình": 6, "tập tin": 6, "thể loại": 14}
    assert namespace_aliases("xx") == {}
