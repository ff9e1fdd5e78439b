"""Documents made by hypothesis, with all that may stand in texts, ids and titles."""

import string

from hypothesis import strategies as st

from sgtb.core.errors import CorpusError, SgtbError
from sgtb.core.records import NIL, Document
from sgtb.formats.annotated import Annotation, annotated_document
from sgtb.formats.error_handler import ErrorHandler

SCRAPS = (
    *("Orlan", "U.S.", "O'Brien", "a-b", "Zoë", "e\u0301", "안녕", "ä", "i\u0307", "’s", "'s"),
    *("😀", "👩‍👩‍👧", "🇩🇪", "𝔘", "\u200b", "\ufeff", "\u2028", "\x85", "\xa0", "\u3000"),
    *(" ", " ", " ", "  ", "\n", "\r\n", "\r", "\t"),
    *(".", "?", '"', "\\", "<b>", "&amp;", "&", "]]>", "{", "}", "|", "\\u0041", "_", "#", "%20"),
    *("-DOCSTART-", "--NME--", "[START_ENT]", "[END_ENT]", "NIL", "Unknown", "1,234.5", "7"),
)
CONTROLS = ("\x0b", "\x00", "\x01", "\x1f", "\x7f", "\ufffe", "\uffff")
IDS = ("", "7", "007", "12 foo", "12testa foo", "a:3", "d#2", "http://example.org/d?x=1",
       "urn:sgtb:document:x", "a\tb", "Zoë 😀", ".", "x" * 300,
       "http://example.org/a b#c")  # fmt: skip
GOLDS = ("Q42", "14", "007", "-1", "000", "Orlan City", "Orlan_City", "Unknown Pleasures",
         "http://dbpedia.org/resource/Orlan", "http://www.wikidata.org/entity/Q42",
         "http://aksw.org/notInWiki/x", "urn:sgtb:entity:x", "a\tb", "é\u0301", "<x>",
         "NIL ")  # fmt: skip
TITLES = ("Orlan", "Orlan (town)", "A_B", "--NME--", "\\u0041", "C:\\users", "Ö\r\nx", " x ", "NIL")
TYPES = ("PER", "ENTITY", "Q1|Q2", "http://example.org/T", "a b")


@st.composite
def texts(draw: st.DrawFn, scraps: tuple[str, ...]) -> str:
    return "".join(draw(st.lists(st.sampled_from(scraps), max_size=14)))


@st.composite
def annotations(draw: st.DrawFn, text: str) -> list[Annotation]:
    found = []
    for _ in range(draw(st.integers(0, 4)) if text else 0):
        start = draw(st.integers(0, len(text) - 1))
        end = draw(st.integers(start + 1, len(text)))
        found.append(
            Annotation(
                start,
                end,
                draw(st.sampled_from((None, NIL, *GOLDS))),
                draw(st.sampled_from((None, None, *TITLES))),
                draw(st.sampled_from((None, *TYPES))),
                draw(st.sampled_from((None, (), ("Q1",), ("b", "a", "Zoë 😀")))),
            )
        )
    return found


class Ignored(ErrorHandler):
    """Leaves out mentions that touch no token."""

    def error(self, error: SgtbError) -> None:
        pass


@st.composite
def documents(draw: st.DrawFn, id: str, scraps: tuple[str, ...] = SCRAPS) -> Document:
    text = draw(texts(scraps))
    return annotated_document(
        id,
        text,
        draw(annotations(text)),
        split=draw(st.sampled_from(("", "train", "dev", "test"))),
        error=CorpusError,
        handler=Ignored(),
    )


@st.composite
def corpora(draw: st.DrawFn, controls: bool = True) -> list[Document]:
    """Return up to three documents with ids of their own."""
    scraps = (*SCRAPS, *CONTROLS) if controls else SCRAPS
    plain = st.text(string.ascii_letters, min_size=1, max_size=4)
    ids = draw(st.lists(st.sampled_from(IDS) | plain, min_size=1, max_size=3, unique_by=str.lower))
    return [draw(documents(id, scraps)) for id in ids]
