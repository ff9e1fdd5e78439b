"""Baselines: the candidate that ranks highest, and the lower number among equals."""

import pytest

from sgtb.core.errors import SettingsError
from sgtb.evaluation.linkers.systems import BASELINES, Baseline, baselines_of, chosen_by_linker
from sgtb.linking.links import Alternative, Link, LinkedDocument


def linked(*candidates: Alternative) -> LinkedDocument:
    link = Link(0, 1, "x", None, "", "", 0.0, "exact", tuple(candidates))
    return LinkedDocument("x", (link,))


def alternative(kb, number, prior):
    return Alternative(kb.id_of(number), "", "", 0.5, prior)


def test_the_prior_decides_then_the_lower_number(linker):
    kb = linker.kb
    choose = Baseline(kb, "prior")
    one, two, three = (alternative(kb, n, p) for n, p in ((7, 0.2), (5, 0.4), (3, 0.4)))
    assert choose(linked(one, two, three)) == [kb.id_of(3)]
    assert choose(linked(one)) == [kb.id_of(7)]
    assert choose(linked()) == [None]
    unknown = [alternative(kb, n, float("nan")) for n in (9, 4)]
    assert choose(linked(*unknown)) == [kb.id_of(4)]
    assert choose(linked(*unknown, one)) == [kb.id_of(7)]


@pytest.mark.parametrize("name", ["in-links", "popularity"])
def test_fame_decides(linker, name):
    kb = linker.kb
    alternatives = [alternative(kb, n, 0.5) for n in range(20)]
    (chosen,) = Baseline(kb, name)(linked(*alternatives))
    field = name.replace("-", "_")
    fame = [getattr(kb.entity(kb.id_of(n)), field) for n in range(20)]
    assert chosen == kb.id_of(fame.index(max(fame)))


def test_the_linker_decides_for_itself():
    links = tuple(Link(0, 1, "x", e, "", "", 0.5, "exact") for e in ("a", None))
    assert chosen_by_linker(LinkedDocument("x", links)) == ["a", None]


def test_which_baselines_there_are(linker):
    assert baselines_of(linker.kb) == BASELINES
    with pytest.raises(SettingsError, match=r"'fame'.*prior, in-links"):
        Baseline(linker.kb, "fame")
