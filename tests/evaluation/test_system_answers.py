"""Answers and candidates: they fit their documents, or an error names the one they do not fit."""

import re

import numpy as np
import pytest

from sgtb.core.errors import ProblemsError
from sgtb.evaluation import SystemAnswers, ambiguity, breakdown, candidate_recall, in_kb_accuracy
from sgtb.evaluation.system_answers import candidates_of
from tests.helpers.answer_builders import document, mention

DOCUMENTS = [document("one", "a", "b"), document("two", "c"), document("three")]


def refusal(*words: str):
    return pytest.raises(ProblemsError, match=".*".join(map(re.escape, words)))


def test_answers_keep_ids_and_entities():
    answers = SystemAnswers.of(DOCUMENTS, [["a", None], ["c"], []])
    assert answers.documents == ("one", "two", "three")
    assert answers.entities == (("a", None), ("c",), ())
    assert answers.beside(DOCUMENTS) == list(zip(DOCUMENTS, answers.entities, strict=True))


def test_rows_may_be_arrays():
    rows = [np.array(["a", None], object), np.array(["c"]), np.array([])]
    assert in_kb_accuracy(DOCUMENTS, SystemAnswers.of(DOCUMENTS, rows)).correct == 2


def test_no_documents_have_no_answers():
    assert SystemAnswers.of([], []).beside([]) == []


@pytest.mark.parametrize("rows", [[["a"], ["c"], []], [["a", "b", "b"], ["c"], []]])
def test_a_row_of_another_length_names_its_document(rows):
    with refusal("document one", "answers for 2 mentions"):
        SystemAnswers.of(DOCUMENTS, rows)


def test_a_missing_row_names_the_first_document_without():
    with refusal("document two: no answers"):
        SystemAnswers.of(DOCUMENTS, [["a", "b"]])


def test_a_row_too_many_names_the_last_document():
    with refusal("4 documents", "only 3, after document three"):
        SystemAnswers.of(DOCUMENTS, [["a", "b"], ["c"], [], []])
    with refusal("1 documents", "only 0"):
        SystemAnswers.of([], [[]])


def test_a_text_is_not_a_row_of_letters():
    with refusal("document one", "'ab'"):
        SystemAnswers.of(DOCUMENTS, ["ab", "c", ""])


def test_a_number_is_not_an_entity_id():
    with refusal("document one", "mention 1", "12", "as text"):
        SystemAnswers.of(DOCUMENTS, [["a", 12], ["c"], []])


def test_documents_in_another_order_are_noticed():
    answers = SystemAnswers.of(DOCUMENTS, [["a", "b"], ["c"], []])
    with refusal("document two", "number 0", "document one"):
        in_kb_accuracy([DOCUMENTS[1], DOCUMENTS[0], DOCUMENTS[2]], answers)


def test_answers_to_other_documents_are_noticed():
    answers = SystemAnswers.of(DOCUMENTS, [["a", "b"], ["c"], []])
    with refusal("only 2, after document two"):
        in_kb_accuracy(DOCUMENTS[:2], answers)
    with refusal("document four: no answers"):
        in_kb_accuracy([*DOCUMENTS, document("four")], answers)
    with refusal("document two", "1 answers for 2 mentions"):
        in_kb_accuracy([DOCUMENTS[0], document("two", "c", "c"), DOCUMENTS[2]], answers)


def test_answers_need_an_id_for_every_row():
    with refusal("2 documents", "1 ids"):
        SystemAnswers(("one",), ((), ()))


def test_candidates_come_from_the_mentions_or_from_outside():
    documents = [document("d", mention("a", candidates=("a", "b")), mention("b"))]
    assert candidates_of(documents, None) == [[("a", "b"), ()]]
    assert candidates_of(documents, [[["c"], ["d"]]]) == [[["c"], ["d"]]]


@pytest.mark.parametrize(
    "use",
    [
        candidate_recall,
        ambiguity,
        lambda documents, candidates: breakdown(
            documents, SystemAnswers.of(documents, [["a", "b"], ["c"], []]), "ambiguity", candidates
        ),
    ],
)
def test_candidates_that_do_not_fit_are_refused(use):
    with refusal("document one", "1 candidate lists for 2 mentions"):
        use(DOCUMENTS, [[["a"]], [["c"]], []])
    with refusal("document three: no candidate lists"):
        use(DOCUMENTS, [[["a"], ["b"]], [["c"]]])
    with refusal("document two", "mention 0", "'Q1'"):
        use(DOCUMENTS, [[["a"], ["b"]], ["Q1"], []])
