"""The scores of a training's page: a count by hand of what the linker says."""

import pytest

from sgtb.core.records import NIL
from sgtb.evaluation.linkers.dev_report import OTHER_MENTIONS, WORST, dev_report
from sgtb.kb import KnowledgeBase
from sgtb.linking.linker import Linker
from sgtb.linking.linker_model import LinkerModel
from sgtb.starter import KB, MODEL


@pytest.fixture(scope="module")
def documents():
    from experiments.starter_data import read_starter

    return read_starter()["test"][:25]


def test_it_counts_right_answers_and_lists_the_worst_documents(documents):
    with KnowledgeBase.open(KB) as kb:
        report = dev_report(kb, LinkerModel.load(MODEL), documents)
    wrong = {}
    with Linker.starter() as linker:
        for document in documents:
            pairs = zip(document.mentions, linker.link(document).links, strict=True)
            missed = sum((link.entity or NIL) != m.gold for m, link in pairs if m.gold is not None)
            wrong[document.id] = missed
    total = sum(m.gold is not None for d in documents for m in d.mentions)
    assert (report.right, report.total) == (total - sum(wrong.values()), total)
    assert report.calibration.n == total
    most = sorted((n for n in wrong.values() if n), reverse=True)[:WORST]
    assert [len(one.wrong) for one in report.worst] == most
    assert all(len(one.wrong) == wrong[one.id] for one in report.worst)
    assert sum(share for _, share in report.groups) == pytest.approx(1)
    assert OTHER_MENTIONS in dict(report.groups)
    shares = [share for _, share in report.groups]
    assert shares == sorted(shares, reverse=True)
