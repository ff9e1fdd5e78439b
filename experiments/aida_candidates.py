"""Documents of AIDA-CoNLL with the candidates of PPRforNED."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sgtb.core.errors import CorpusError
from sgtb.core.records import NIL, Document, Mention
from sgtb.formats.codecs.pprforned import PprForNed, PprMention
from sgtb.formats.corpus_source import shown

_MAX_WITHOUT_LIST = 1
"""Linked mentions of a document that may lack candidates: document 370 has one."""


def with_candidates(documents: Sequence[Document], ppr: PprForNed) -> tuple[Document, ...]:
    """Return AIDA's documents with the candidates of PPRforNED.

    Linked mentions get candidates and, as gold, the id of the right one. NIL mentions get
    candidates if PPRforNED lists them, which it does for about a third. A gold may be outside of
    the candidates, if the mention has no list or the list lacks it.
    """
    return tuple(replace(document, mentions=tuple(_join(document, ppr))) for document in documents)


def _join(document: Document, ppr: PprForNed) -> Iterator[Mention]:
    """Yield the mentions of a document with candidates.

    PPRforNED omits mentions but keeps their order, so its list is matched name by name. It lacks
    spaces that AIDA's tokens have, as in `Vessa 's`.
    """
    if document.id not in ppr.documents:
        raise CorpusError(f"PPRforNED has no document {shown(document.id)}")
    file = ppr.files[document.id]
    listed = iter(ppr.documents[document.id])
    entry = next(listed, None)
    lacking = 0
    for mention in document.mentions:
        if entry is not None and _same(mention, entry):
            yield replace(mention, gold=_gold(mention, entry), candidates=entry.candidates)
            entry = next(listed, None)
        elif not mention.in_kb:
            yield mention
        else:
            lacking += 1
            if lacking > _MAX_WITHOUT_LIST:
                raise CorpusError(
                    f"{file}, line {entry.line if entry else 1}: no candidates for "
                    f"{shown(mention.text)}, token {mention.first} of AIDA's document {document.id}"
                )
            yield replace(mention, candidates=())
    if entry is not None:
        raise CorpusError(
            f"{file}, line {entry.line}: {shown(entry.text)} is not a mention, or not in this "
            f"order, of AIDA's document {document.id}"
        )


def _same(mention: Mention, entry: PprMention) -> bool:
    return mention.in_kb == (entry.gold != NIL) and (
        mention.text == entry.text or "".join(mention.text.split()) == "".join(entry.text.split())
    )


def _gold(mention: Mention, entry: PprMention) -> str | None:
    """Return the id of the right candidate.

    Page ids are more stable than titles: AIDA's id takes precedence if it is a candidate, even
    where the file's URL denotes another page (54 mentions whose title was reused). Otherwise the
    page was merged or recreated, and the URL decides (259 mentions; in 2 it does not help).
    """
    if mention.gold in entry.candidates or entry.gold is None:
        return mention.gold
    return entry.gold
