"""Cased text, and names matched in it, against a slow and obvious twin."""

import numpy as np
import pytest

from sgtb.native import match_names
from sgtb.pages.cased_text import (
    BREAK,
    CAPITAL,
    COMMA,
    DIGIT,
    IN_LOWER_CASE,
    SEARCHED,
    SENTENCE,
    WITH_COMMA,
    CasedWords,
    NameTable,
    name_use,
    without_signs,
)
from sgtb.text.normalization import normal_name
from sgtb.wikipedia.build.page_counters import MAX_WORDS, name_hashes

TEXT = "In Zürich, the U.S. (and St. Mary's) won 747 games; Ends. New line…"


def table_of(names: dict[str, int]) -> NameTable:
    return NameTable.of(name_hashes([*names]), np.array([*names.values()], np.uint8))


def found_names(names: dict[str, int], text: str) -> list[tuple[int, int, int, str, bool]]:
    by_hash = dict(zip(name_hashes([*names]).tolist(), names, strict=True))
    columns = (column.tolist() for column in table_of(names).match(text.encode()))
    return [(p, n, w, by_hash[h], bool(low)) for p, n, w, h, low in zip(*columns, strict=True)]


def slow_names(names: dict[str, int], text: str) -> list[tuple[int, int, int, str, bool]]:
    """Names of cased text, by the rules as they are stated."""
    found = []
    for p, page in enumerate(text.split("\f")):
        for n, line in enumerate(page.split("\n")):
            words, runs, fresh = 0, [[]], True
            for raw in line.replace(BREAK, f"{BREAK} ").split(" "):
                bare = raw.strip(CAPITAL + DIGIT + SENTENCE + BREAK + COMMA)
                if bare:
                    words += 1
                    capital, digit = CAPITAL in raw, DIGIT in raw
                    runs[-1].append((bare, words, capital, digit, fresh, COMMA in raw))
                    fresh = False
                if SENTENCE in raw or BREAK in raw:
                    runs.append([])
                    fresh |= SENTENCE in raw
            for run in runs:
                found += [(p, n, *match) for match in slow_run(names, run)]
    return found


def slow_run(names, run):
    i = 0
    while i < len(run):
        best = None
        for j in range(i, min(i + MAX_WORDS, len(run))):
            some = run[i : j + 1]
            name = " ".join(word for word, *_ in some)
            if name not in names or (any(w[5] for w in some[:-1]) and not names[name] & WITH_COMMA):
                continue
            shown = slow_shown(run, i, j)
            if shown or names[name] & IN_LOWER_CASE:
                best = (j, name, not shown)
        if best:
            yield run[best[0]][1], best[1], best[2]
            i = best[0]
        i += 1


def slow_shown(run, i, j):
    (_, _, capital, digit, fresh, comma), last = run[i], run[j]
    if i < j:
        return (capital or digit) and (last[2] or last[3]) and (capital or last[2])
    before = i > 0 and run[i - 1][2] and not run[i - 1][4] and not run[i - 1][5]
    after = j + 1 < len(run) and run[j + 1][2] and not comma
    return capital and not fresh and not before and not after


def test_signs_of_a_line():
    line = CasedWords().line(TEXT)
    assert line == (
        f"{CAPITAL}in {CAPITAL}zurich{COMMA} the {CAPITAL}us {BREAK}and {CAPITAL}st "
        f"{CAPITAL}mary{BREAK} won {DIGIT}747 games{BREAK} {CAPITAL}ends{SENTENCE} "
        f"{CAPITAL}new line{BREAK}"
    )


@pytest.mark.parametrize(
    "text", [TEXT, "a - b", "Jean-Paul's x", "", "( )", "日本 is", "¡Hola! ¿Qué?"]
)
def test_without_signs_it_is_the_normal_form(text):
    plain = without_signs(CasedWords().line(text).encode()).decode()
    assert plain.split() == (normal_name(text).split() if any(map(str.isalnum, text)) else [])


def test_a_name_stands_alone_in_capitals():
    names = {normal_name(n): SEARCHED for n in ("Paris", "New York", "Boeing 747")}
    names |= {"paris texas": SEARCHED | WITH_COMMA, "kidney stone": SEARCHED | IN_LOWER_CASE}
    text = (
        "Paris is in Paris, Texas. It saw Paris, New York and Paris Hilton. kidney stone; paris "
        "new york, President Paris, Boeing 747 (Paris)."
    )
    line = CasedWords().line(text)
    found = [name for *_, name, _ in found_names(names, line)]
    assert found == [
        "paris texas", "paris", "new york", "kidney stone", "boeing 747", "paris",
    ]  # fmt: skip
    assert found_names(names, line) == slow_names(names, line)


@pytest.mark.parametrize("seed", range(8))
def test_matches_are_those_of_the_twin(seed):
    rng = np.random.default_rng(seed)
    words = ["a", "bb", "né", "d"]
    names = {
        " ".join(rng.choice(words, rng.integers(1, MAX_WORDS + 2))): int(rng.integers(4, 8))
        for _ in range(30)
    }

    def word() -> str:
        before = rng.choice(["", CAPITAL, CAPITAL, DIGIT, BREAK + CAPITAL])
        return before + rng.choice(words) + rng.choice(["", "", "", COMMA, SENTENCE, BREAK])

    pages = [
        "".join(" ".join(word() for _ in range(rng.integers(0, 15))) + "\n" for _ in range(3))
        for _ in range(6)
    ]
    text = "\f".join(pages)
    assert len(slow_names(names, text)) > 10
    assert found_names(names, text) == slow_names(names, text)


def test_the_first_match_of_a_name_on_a_page():
    names = {"paris": SEARCHED}
    text = CasedWords().line("in Paris and Paris").encode()
    found = table_of(names).match(text + b"\n\f" + text).first_of_page()
    assert found.page.tolist() == [0, 1]
    assert found.word.tolist() == [2, 2]


def test_common_words_and_numbers_are_not_searched():
    assert [name_use(name, normal_name(name)) for name in ("It", "1990", "The 10", "x")] == [0] * 4
    assert name_use("The Who Sell", "the who sell") == SEARCHED
    assert name_use("kidney stone", "kidney stone") == SEARCHED | IN_LOWER_CASE
    assert name_use("Orlan, Ohio", "orlan ohio") == SEARCHED | WITH_COMMA
    assert name_use("a b c d e f g", "a b c d e f g") == 0


def test_a_saved_table_is_mapped(tmp_path):
    paths = [str(tmp_path / f"{i}.npy") for i in range(3)]
    table_of({"paris": SEARCHED}).save(paths)
    assert len(NameTable.mapped(paths).match(b"in \x01paris").hash) == 1


def test_tables_that_do_not_fit_are_refused():
    table = table_of({"paris": SEARCHED})
    out = table.match(b"x")
    with pytest.raises(ValueError, match=r"out\.page"):
        match_names(table, b"a b c", out)
    with pytest.raises(ValueError, match="numbers"):
        table._replace(uses=table.uses[:0]).match(b"a")
    shorter = table.table._replace(numbers=table.table.numbers[:3])
    with pytest.raises(ValueError, match="power of two"):
        table._replace(table=shorter).match(b"a")
