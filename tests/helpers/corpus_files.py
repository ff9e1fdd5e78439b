"""Small invented corpora in the formats of the real ones, as bytes by file name."""

import io
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from hypothesis import strategies as st

from sgtb.core.errors import CorpusError

Files = Mapping[str, bytes]
T = TypeVar("T")

CONLL = {
    "eng.train": """\
Vessa NNP I-NP I-ORG
beats VBZ I-VP O
Old NNP I-NP I-ORG
Orlan NNP I-NP B-ORG
. . O O

Anna NNP I-NP I-PER

Meck NNP I-NP I-PER
's POS B-NP O
day NN I-NP O

-DOCSTART- -X- O O

Quill NNP I-NP I-LOC
sleeps VBZ I-VP O

-DOCSTART- -X- O O
""",
    "eng.testa": """\
-DOCSTART- -X- -X- O

Rain NN I-NP O
in IN I-PP O
Orlan NNP I-NP I-LOC
""",
    "eng.testb": """\
Tor NNP I-NP I-PER
's POS B-NP I-PER
Bay NNP I-NP I-PER

-DOCSTART- -X- -X- O""",
}
ANNOTATIONS = """\
-DOCSTART- (1 Vessa)
0	Vessa_F\\u002eC\\u002e	http://en.wikipedia.org/wiki/Vessa_F.C.	11	/m/a
2	--NME--
3	Orlan_Rovers	http://en.wikipedia.org/wiki/Orlan_Rovers	12	/m/b
5	Anna_Meck	http://en.wikipedia.org/wiki/Anna_Meck	13

-DOCSTART- (2 Quill)
0	--NME--

-DOCSTART- (3testa Rain)
2	Orlan	http://en.wikipedia.org/wiki/Orlan	14	/m/c

-DOCSTART- (4testb Tor)
0	Tor_Bay	http://en.wikipedia.org/wiki/Tor_Bay	15	/m/d
"""
ANNOTATION_FILE = "AIDA-YAGO2-annotations.tsv"


def aida_files() -> dict[str, bytes]:
    files = {name: text.encode() for name, text in CONLL.items()}
    # As published, with CRLF.
    return {**files, ANNOTATION_FILE: ANNOTATIONS.replace("\n", "\r\n").encode()}


def entity(document: int, name: str, page: str, longer: str | None = None) -> str:
    url = page if page == "NIL" else f"http://en.wikipedia.org/wiki/{page}"
    return (
        f"ENTITY\ttext:{longer or name}\tnormalName:{name.lower()}\tpredictedType:UNK\tq:true"
        f"\tqid:Q{document}\tdocId:{document}\torigText:{name}\turl:{url}\n"
    )


def candidate(
    id: int | str, page: str, in_links: int = 5, links: str = "", type: str = "UNK"
) -> str:
    return (
        f"CANDIDATE\tid:{id}\tinCount:{in_links}\toutCount:7\tlinks:{links}"
        f"\turl:http://en.wikipedia.org/wiki/{page}\tname:{page}\tnormalName:{page.lower()}"
        f"\tnormalWikiTitle:{page.lower()}\tpredictedType:{type}\t\n"
    )


def ppr_files() -> dict[str, bytes]:
    """Candidates for the documents above; the gold is listed first, as in the published files."""
    orlan = candidate(14, "Orlan", 90, "14;12;99", "GPE")
    rovers = candidate(12, "Orlan_Rovers", 30, "14;11", "ORG")
    first = (
        entity(1, "Vessa", "Vessa_F.C.", "Vessa Town")
        + candidate(11, "Vessa_F.C.", 30, "12;11", "ORG")
        + candidate(21, "Vessa", 40, "", "UKN")
        + entity(1, "Old", "NIL")
        + candidate(22, "Old", 3)
        + entity(1, "Orlan", "Orlan_Rovers")
        + rovers
        + candidate(9, "Orl%C3%A1n", 30)
        + orlan
        + rovers
        + entity(1, "AnnaMeck", "Anna_Meck_(poet)")
        + candidate(16, "Anna_Meck_(poet)", 2, "14")
    )
    third = entity(3, "Orlan", "Orlan") + candidate(14, "Orlan", 90, "9", "GPE") + rovers
    fourth = entity(4, "Tor's Bay", "Nowhere") + candidate(17, "Tor")
    documents = {"1": first, "2": "", "3": third, "4": fourth}
    popularity = (
        "url:http://en.wikipedia.org/wiki/Orlan\t9.50000000\nNIL\t1.00000000\n"
        "url:http://en.wikipedia.org/wiki/Elsewhere\t4.00000000\n"
    )
    return {
        **{f"AIDA_candidates/PART_1_9/{id}": text.encode() for id, text in documents.items()},
        "Freebase_popularity": popularity.encode(),
    }


def processed_files() -> dict[str, bytes]:
    def features(x: float) -> str:
        return str([x, 0, 0.5, *[0, 1, 0, 0], 7.0, 8, *[1, 0, 0, 0], *[x] * 6])

    return {
        "small.jsonl": (
            f'[[["Orlan", [3, 4], "14"], [[["14", 1], {features(0.5)}], [["9", 0], '
            f'{features(0.25)}]]], [["Vessa", [8, 9], "11"], [[["12", 0], {features(0.1)}]]]]\n'
            "[]\n"
            f'[[["Quill", [0, 2], "5"], [[["5", 1], {features(0.75)}]]]]\n'
        ).encode()
    }


RAW = "In Orlan, Anna Meck sang.\nThe Orlan &amp; Vessa Fair is near the town of Orlan.\n"


def annotation(text: str, title: str, offset: int | str, length: int | None = None) -> str:
    text = text.replace("&", "&amp;")
    return (
        f"\t\t<annotation>\n\t\t\t<mention>{text}</mention>\n\t\t\t<wikiName>{title}</wikiName>\n"
        f"\t\t\t<offset>{offset}</offset>\n"
        f"\t\t\t<length>{len(text) if length is None else length}</length>\n\t\t</annotation>\n"
    )


def wned_files(*annotations: str) -> dict[str, bytes]:
    """All five sets; the given annotations stand in ACE's, whose first one is on line 4."""
    given = "".join(annotations) or annotation("Orlan", "Orlan", 3) + annotation("Anna", "NIL", 10)
    files = {}
    for name in ("ace", "aquaint", "msnbc", "clueweb", "wikipedia"):
        xml = (
            f'<?xml version="1.0" encoding="UTF-8"?>\n<{name}.entityAnnotation>\n'
            f'\t<document docName="fair">\n{given if name == "ace" else ""}\t</document>\n'
            f"</{name}.entityAnnotation>\n"
        )
        files[f"wned/{name}/{name}.xml"] = xml.encode()
        files[f"wned/{name}/RawText/fair"] = RAW.encode()
    return files


def write(folder: Path, files: Files) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def packed(files: Files) -> bytes:
    """A tar archive of the files, not compressed."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def attempt(read: Callable[[Path], T], path: Path) -> T | CorpusError:
    """Return what was read, or the error on purpose; any other comes through."""
    try:
        return read(path)
    except CorpusError as error:
        return error


SCRAPS = (
    *(b"\t", b"\n", b"\r", b"\0", b"\xff", b"\xef\xbb\xbf", b"-DOCSTART-", b"CANDIDATE\t"),
    *(b"ENTITY\t", b"-1", b"99999999999999999999", b"NaN", b"1e999", b'"', b"[", b"]", b"true"),
    *(b"</annotation>", b"<!DOCTYPE a>", b"&b;", b"\\ud800", b"I-PER", b"--NME--", b"NIL"),
)


@st.composite
def damaged(draw: st.DrawFn, content: bytes) -> bytes:
    """Return the content with some bytes changed, lost, put in or cut off."""
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, max(0, len(content) - 1)))
        scrap = draw(st.sampled_from(SCRAPS) | st.binary(min_size=1, max_size=3))
        kind = draw(st.sampled_from(("change", "lose", "insert", "cut")))
        if kind == "change":
            content = content[:at] + scrap + content[at + len(scrap) :]
        elif kind == "lose":
            content = content[:at] + content[at + len(scrap) :]
        elif kind == "insert":
            content = content[:at] + scrap + content[at:]
        else:
            content = content[:at]
    return content
