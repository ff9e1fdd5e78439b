"""The comparison with spaCy: the same mentions count, with the same candidates."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from experiments import peer, wned
from experiments.commands import app
from experiments.peer import SPACY, PeerSettings, as_json, run_sgtb, run_spacy
from experiments.spacy_peer import SpacyLinker, entity_vectors, listed_candidates
from experiments.wned import AIDA_TEST
from sgtb.kb import KnowledgeBase
from sgtb.linking.candidates.candidate_lookup import CandidateFinder
from sgtb.text.word_vectors import WordVectors
from tests.helpers.linking_builders import document, narrow_topics
from tests.helpers.wned_world import aida_documents, few_words, small_kb, write_ace


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PeerSettings:
    narrow_topics(monkeypatch, 8)
    monkeypatch.setattr(WordVectors, "glove", few_words)
    monkeypatch.setattr(wned, "read_aida", lambda folder: aida_documents())
    write_ace(tmp_path)
    return PeerSettings(tmp_path, small_kb(tmp_path), "bsg", 2, 0)


def test_both_systems_are_asked_the_same(settings: PeerSettings) -> None:
    results = {"sgtb, bsg": run_sgtb(settings), SPACY: run_spacy(settings)}
    one, other = results.values()
    assert one.recalled == other.recalled
    assert (one.recalled["ace"], one.recalled[AIDA_TEST], one.recalled["msnbc"]) == (3, 8, 0)
    assert one.mentions == other.mentions
    assert one.note.endswith("trees")
    assert "of 2" in other.note
    record = json.loads(json.dumps(as_json(results), allow_nan=False))
    assert record["systems"][SPACY]["accuracy"]["msnbc"] is None
    peer.show(record)


def test_the_command_prints_both(
    settings: PeerSettings, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    run = run_sgtb(settings)
    monkeypatch.setattr(peer, "run_peers", lambda given, say: {"sgtb, bsg": run, SPACY: run})
    options = ["peer", "--data", str(settings.data), "--kb", str(settings.kb)]
    printed = CliRunner().invoke(app, options).stdout
    assert "mentions per s" in printed
    assert SPACY in printed
    record = json.loads(CliRunner().invoke(app, [*options, "--json", "-q"]).stdout)
    assert set(record["systems"]) == {"sgtb, bsg", SPACY}


def test_spacy_links_given_candidates_only(settings: PeerSettings) -> None:
    given = document("a", "[Orlan] met [Vessa] in [Tor]", "[Orlan Rovers] won")
    with KnowledgeBase.open(settings.kb) as kb:
        found = CandidateFinder(kb).find([given])
        (listed,) = listed_candidates(kb, [given], found)
        assert [id_ for id_, _ in listed[0]] == ["Orlan", "Orlan Rovers"]
        assert listed[4] == []
        ids = sorted({id_ for pairs in listed.values() for id_, _ in pairs})
        vectors = entity_vectors(kb, ids, few_words())
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    linker = SpacyLinker(ids, np.ones(len(ids), np.int64), vectors, 0)
    linker.train(([given], [listed]), ([given], [listed]), 1)
    ((orlan, vessa, tor, rovers),) = linker.link([given], [listed])
    assert orlan in ("Orlan", "Orlan Rovers")
    assert vessa in ("Vessa", "Vessa F.C.")
    assert (tor, rovers) == (None, "Orlan Rovers")
