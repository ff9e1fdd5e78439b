"""PPRforNED builds: a knowledge base from the entities, links and candidate lists of PPRforNED."""

from contextlib import closing
from pathlib import Path

from sgtb.core.progress import Progress, silent
from sgtb.formats.codecs.pprforned import read_pprforned
from sgtb.kb.build.entity_fields import GIVEN
from sgtb.kb.build.kb_writer import KbWriter
from sgtb.kb.build.list_build import ListReport
from sgtb.kb.build.usable_names import bare_title
from sgtb.kb.kb_folder import building
from sgtb.kb.layout import MAX_KEY
from sgtb.kb.name_index import Spelling
from sgtb.kb.name_variants import DEFAULT_RULES, VariantRules
from sgtb.text.normalization import normal_name

SOURCES = (GIVEN, "titles", "lists")
"""Titles with and without brackets; names of mentions that list an entity."""
_TYPE = {"PER": "PER", "ORG": "ORG", "GPE": "LOC"}


def build_pprforned(
    archive: Path,
    path: Path,
    *,
    document_names: bool = True,
    variants: VariantRules | None = DEFAULT_RULES,
    progress: Progress | None = None,
) -> ListReport:
    """Build a knowledge base from PPRforNED's archive, its folder, or the folder of the archive.

    A name counts once for every entity it is listed with. Its frequency would leak the documents,
    and so their labels.

    document_names  whether the names in documents are names of their candidates
    variants        rules that make further names; None: no variants
    """
    progress = progress or silent
    packed = archive / "pprforned.tar.xz"
    progress("reading", 0, 1)
    ppr = read_pprforned(packed if packed.is_file() else archive)
    progress("reading", 1, 1)
    entities = ppr.entities
    names: list[set[tuple[str, int]]] = [
        {(title, 1), (bare_title(title) or title, 1)} for title in entities.titles
    ]
    for document in ppr.documents.values() if document_names else ():
        for mention in document:
            name = " ".join(mention.text.split())
            if 0 < len(normal_name(name).encode()) <= MAX_KEY:
                for id_ in mention.candidates:
                    names[entities.number[id_]].add((name, 2))
    with building(path) as folder:
        writer = KbWriter(
            folder,
            len(entities),
            SOURCES,
            0,
            {"built from": "pprforned", "file": archive.name},
            variants=variants,
            progress=progress,
        )
        with closing(writer):
            for number, id_ in enumerate(entities.ids):
                writer.entity(
                    id=id_,
                    title=entities.titles[number],
                    description="",
                    type=_TYPE.get(entities.types[number], ""),
                    popularity=float(entities.popularity[number]),
                    spellings=[Spelling(name, source, 1) for name, source in sorted(names[number])],
                    stated_in=int(entities.in_links[number]),
                    stated_out=int(entities.out_links[number]),
                )
            different = entities.link_source != entities.link_target
            writer.links(entities.link_source[different], entities.link_target[different])
            state = writer.finish()
    return ListReport.of(state)
