"""The commands `sgtb kb …`: build, change and inspect knowledge bases."""

import json
import math
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from sgtb.cli.linker_options import AsJson, Quiet
from sgtb.cli.views.kb_view import (
    print_built,
    print_candidates,
    print_card,
    print_changed,
    print_info,
    print_merged,
    print_pages,
    print_wiki,
)  # fmt: skip
from sgtb.cli.views.progress_views import StageProgress
from sgtb.core.errors import KnowledgeBaseError, SettingsError
from sgtb.core.files import replacing
from sgtb.kb import update as changes
from sgtb.kb.build.entity_lines import EntityList
from sgtb.kb.build.list_build import build_list
from sgtb.kb.build.merge_build import merge_kbs
from sgtb.kb.check import check as check_all
from sgtb.kb.export import export_lines
from sgtb.kb.knowledge_base import TOP, KnowledgeBase
from sgtb.kb.name_variants import DEFAULT_RULES, VariantRules
from sgtb.text.normalization import normal_name
from sgtb.wikipedia.build.build_settings import WikiSettings
from sgtb.wikipedia.build.hold_out import HoldOut

app = typer.Typer(
    no_args_is_help=True,
    help="Build, change and inspect knowledge bases.",
    rich_markup_mode="rich",
)
build = typer.Typer(no_args_is_help=True, help="Build a knowledge base.", rich_markup_mode="rich")
app.add_typer(build, name="build")

Kb = Annotated[Path, typer.Argument(metavar="KB", help="Folder of a knowledge base.")]
Out = Annotated[
    Path,
    typer.Option(
        "--out", "-o", metavar="KB",
        help="Folder to write; an existing knowledge base is replaced at the end.",
    ),
]  # fmt: skip
ListFile = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        exists=True,
        dir_okay=False,
        help="JSON Lines, CSV or Excel; plain or compressed (gzip, bzip2, xz).",
    ),
]
Sheet = Annotated[
    str | None,
    typer.Option("--sheet", metavar="NAME", help="Sheet of an Excel file. Default: the first."),
]
Variants = Annotated[
    Path | None,
    typer.Option(
        "--variants", metavar="FILE", exists=True, dir_okay=False,
        help="Own rules for variants of names: type or *, pattern and replacement, separated by "
        "tabs.",
    ),
]  # fmt: skip
NoVariants = Annotated[bool, typer.Option("--no-variants", help="Make no variants of names.")]
SkipLinks = Annotated[
    bool,
    typer.Option("--skip-unknown-links", help="Ignore links to unknown ids."),
]


@build.command("list")
def build_from_list(
    file: ListFile,
    out: Out,
    sheet: Sheet = None,
    skip_unknown_links: SkipLinks = False,
    variants: Variants = None,
    no_variants: NoVariants = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Build from a list of entities: JSON Lines, CSV or Excel.

    Keys or columns: id, name; optional: aliases, description, type, popularity, links, vector.
    Aliases and links in a cell are separated by |. Rules make variants of the names: surnames,
    acronyms, word order, plurals and others.

    Example: sgtb kb build list companies.xlsx -o companies
    """
    with StageProgress(quiet) as progress:
        report = build_list(
            file, out, sheet=sheet, skip_unknown_links=skip_unknown_links,
            variants=_rules(variants, no_variants), progress=progress,
        )  # fmt: skip
    print_built(report, out, as_json)


@build.command("jsonl")
def build_jsonl(
    file: ListFile,
    out: Out,
    skip_unknown_links: SkipLinks = False,
    variants: Variants = None,
    no_variants: NoVariants = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Build from a list of entities, the same as `list`.

    Example: sgtb kb build jsonl companies.jsonl -o companies
    """
    build_from_list(file, out, None, skip_unknown_links, variants, no_variants, as_json, quiet)


@build.command("csv")
def build_csv(
    file: ListFile,
    out: Out,
    skip_unknown_links: SkipLinks = False,
    variants: Variants = None,
    no_variants: NoVariants = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Build from a list of entities, the same as `list`.

    Example: sgtb kb build csv companies.csv -o companies
    """
    build_from_list(file, out, None, skip_unknown_links, variants, no_variants, as_json, quiet)


@build.command("pprforned")
def build_from_pprforned(
    folder: Annotated[
        Path,
        typer.Argument(metavar="DIR", exists=True, help="Folder or archive of PPRforNED."),
    ],
    out: Out,
    titles_only: Annotated[
        bool, typer.Option("--titles-only", help="Take no names from the documents.")
    ] = False,
    variants: Variants = None,
    no_variants: NoVariants = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Build from PPRforNED: 36,545 Wikipedia entities with links and popularity.

    Example: sgtb kb build pprforned data/pprforned -o ppr
    """
    from sgtb.kb.build.pprforned_build import build_pprforned

    with StageProgress(quiet) as progress:
        report = build_pprforned(
            folder, out, document_names=not titles_only, variants=_rules(variants, no_variants),
            progress=progress,
        )  # fmt: skip
    print_built(report, out, as_json)


@build.command("wiki")
def build_from_wiki(
    dumps: Annotated[
        list[Path],
        typer.Argument(
            metavar="DUMP…",
            exists=True,
            dir_okay=False,
            help="XML dumps: plain, gzip, bzip2 or multistream bzip2.",
        ),
    ],
    out: Out,
    workers: Annotated[int, typer.Option(min=1, max=256, help="Number of processes.")] = 1,
    memory: Annotated[
        int, typer.Option(min=256, help="Memory of the build in MB, besides that of the programs.")
    ] = 1024,
    pageviews: Annotated[
        list[Path] | None,
        typer.Option(exists=True, dir_okay=False, help="Wikimedia page views, for popularity."),
    ] = None,
    types: Annotated[
        Path | None,
        typer.Option(
            exists=True, dir_okay=False, help="Types, tab-separated: title, PER|ORG|LOC|MISC."
        ),
    ] = None,
    prior: Annotated[
        list[Path] | None,
        typer.Option(
            exists=True,
            dir_okay=False,
            help="Further names, tab-separated: name, title, count.",
        ),
    ] = None,
    vectors: Annotated[
        str, typer.Option(metavar="none|train|FILE", help="Word and entity vectors.")
    ] = "none",
    dimensions: Annotated[
        int, typer.Option(min=1, max=4096, help="Dimensions of trained vectors.")
    ] = 100,
    red_links: Annotated[
        int,
        typer.Option(
            min=0,
            help="Titles without a page become entities if this many pages link them; 0: never.",
        ),
    ] = 0,
    hold_out: Annotated[
        float,
        typer.Option(
            min=0.0,
            max=0.99,
            help="Share of pages whose links are not counted, for training and testing.",
        ),
    ] = 0.0,
    strict: Annotated[
        bool, typer.Option("--strict", help="Fail on the first unreadable page.")
    ] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Build from Wikipedia dumps of any language edition.

    Example: sgtb kb build wiki simplewiki-latest-pages-articles.xml.bz2 -o simple
    """
    from sgtb.wikipedia.build.dump_build import build_wiki  # not needed for look-ups

    settings = WikiSettings(
        workers=workers,
        memory=memory << 20,
        pageviews=tuple(pageviews or ()),
        types=types,
        priors=tuple(prior or ()),
        vectors=vectors,
        dimensions=dimensions,
        red_links=red_links,
        hold_out=HoldOut(hold_out),
        strict=strict,
    )
    with StageProgress(quiet) as progress:
        report = build_wiki(dumps, out, settings, progress)
    if as_json:
        print(json.dumps(report.as_json()))
    else:
        print_wiki(report, out)


@build.command("pages")
def build_from_pages(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE…",
            exists=True,
            dir_okay=False,
            help="JSON Lines, plain or packed with gzip, bzip2 or xz.",
        ),
    ],
    out: Out,
    ids: Annotated[
        str,
        typer.Option(
            metavar="auto|id|title",
            help="Field that is the id of an entity. Of repeated ids the first page counts. "
            "auto: id, but title if one id has two titles.",
        ),
    ] = "auto",
    workers: Annotated[int, typer.Option(min=1, max=256, help="Number of processes.")] = 1,
    memory: Annotated[
        int, typer.Option(min=256, help="Memory of the build in MB, besides that of the programs.")
    ] = 1024,
    vectors: Annotated[
        bool, typer.Option("--vectors", help="Train vectors of words and entities.")
    ] = False,
    dimensions: Annotated[
        int, typer.Option(min=1, max=4096, help="Dimensions of trained vectors.")
    ] = 100,
    strict: Annotated[
        bool, typer.Option("--strict", help="Fail on the first unreadable line.")
    ] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Build from plain pages, one JSON object per line: id, title, text.

    Names come from titles and first sentences, links from names found in the texts.

    Example: sgtb kb build pages glossary.jsonl.gz -o glossary
    """
    from sgtb.pages.pages_build import build_pages  # not needed for look-ups
    from sgtb.pages.pages_settings import PagesSettings

    settings = PagesSettings(
        workers=workers,
        memory=memory << 20,
        ids=ids,  # type: ignore[arg-type]  # checked by the settings
        vectors=vectors,
        dimensions=dimensions,
        strict=strict,
    )
    with StageProgress(quiet) as progress:
        report = build_pages(files, out, settings, progress)
    if as_json:
        print(json.dumps(report.as_json()))
    else:
        print_pages(report, out)


@app.command()
def merge(
    kbs: Annotated[
        list[Path],
        typer.Argument(metavar="KB KB…", exists=True, file_okay=False, help="Knowledge bases."),
    ],
    out: Out,
    by: Annotated[
        str, typer.Option(metavar="id|title", help="What makes two entities one.")
    ] = "id",
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Join knowledge bases into a new one.

    Names and links of entities that match are united; for everything else the first one counts.

    Example: sgtb kb merge companies people -o all
    """
    with StageProgress(quiet) as progress:
        report = merge_kbs(kbs, out, by=by, progress=progress)  # type: ignore[arg-type]
    print_merged(report, out, as_json)


@app.command()
def add(
    kb: Kb,
    file: ListFile,
    sheet: Sheet = None,
    skip_unknown_links: SkipLinks = False,
    as_json: AsJson = False,
) -> None:
    """Add the entities of a list.

    Example: sgtb kb add companies new.jsonl
    """
    entities = EntityList(file, sheet=sheet)
    report = changes.add(kb, entities, skip_unknown_links=skip_unknown_links)
    print_changed(report, as_json)


@app.command()
def update(
    kb: Kb,
    file: ListFile,
    sheet: Sheet = None,
    skip_unknown_links: SkipLinks = False,
    as_json: AsJson = False,
) -> None:
    """Change entities; keys that a record leaves out keep their values.

    Example: sgtb kb update companies changed.jsonl
    """
    entities = EntityList(file, partial=True, sheet=sheet)
    report = changes.update(kb, entities, skip_unknown_links=skip_unknown_links)
    print_changed(report, as_json)


@app.command()
def remove(
    kb: Kb,
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE]", exists=True, dir_okay=False, help="Ids, one per line, or JSON Lines."
        ),
    ] = None,
    ids: Annotated[list[str] | None, typer.Option("--id", help="An id to remove.")] = None,
    as_json: AsJson = False,
) -> None:
    """Remove entities, their names, and the links to them.

    Example: sgtb kb remove companies --id C7
    """
    wanted = [*(ids or []), *(changes.read_ids(file) if file is not None else [])]
    if not wanted:
        raise SettingsError("give a file of ids, or --id")
    print_changed(changes.remove(kb, wanted), as_json)


@app.command()
def info(kb: Kb, as_json: AsJson = False) -> None:
    """Show the counts of a knowledge base.

    Example: sgtb kb info companies
    """
    with KnowledgeBase.open(kb) as opened:
        counts = opened.info()
    if as_json:
        print(json.dumps(counts))
        return
    print_info(counts)


@app.command()
def show(
    kb: Kb,
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name, or the id of an entity.")],
    k: Annotated[int, typer.Option("-k", min=1, help="Number of candidates.")] = TOP,
    as_json: AsJson = False,
) -> None:
    """Show the candidates of a name with priors, or an entity.

    Example: sgtb kb show companies Mercury
    """
    with KnowledgeBase.open(kb) as opened:
        candidates = opened.candidates(name, k)
        value = opened.name_value(name)
        entity = opened.entity(name) if opened.number(name) is not None else None
        if not candidates and entity is None:
            raise KnowledgeBaseError(f"{kb}: no name and no id {name!r}")
        spelled = _spelled(opened, name, [c.number for c in candidates])
        probability = opened.link_probability(name)
        if as_json:
            record: dict[str, Any] = {
                "name": name,
                "candidates": [
                    {
                        **c._asdict(),
                        "counts": dict(zip(opened.sources, c.counts, strict=True)),
                        "spellings": spelled[c.number],
                    }
                    for c in candidates
                ],
                "link_probability": None if math.isnan(probability) else probability,
                "all_candidates": 0 if value is None else len(value.candidates),
                "entity": _finite(asdict(entity)) if entity else None,
            }
            print(json.dumps(record, ensure_ascii=False))
            return
        if entity is not None:
            print_card(entity)
        if candidates:
            print_candidates(opened, candidates, probability)


@app.command()
def check(kb: Kb, as_json: AsJson = False, quiet: Quiet = False) -> None:
    """Verify every offset, count and checksum.

    Example: sgtb kb check companies
    """
    with StageProgress(quiet or as_json) as progress:
        report = check_all(kb, progress)
    if as_json:
        print(json.dumps({"ok": report.ok, **asdict(report)}))
    elif report.ok:
        counts = f"{report.entities:,} entities, {report.names:,} names, {report.links:,} links"
        print(f"{kb}: {counts}: ok")
    else:
        for problem in report.problems:
            print(problem, file=sys.stderr)
    if not report.ok:
        raise typer.Exit(1)


@app.command()
def export(
    kb: Kb,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help="File to write. Default: standard output."
        ),
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Export a knowledge base as JSON Lines, from which it can be rebuilt.

    Example: sgtb kb export companies -o companies.jsonl
    """
    with KnowledgeBase.open(kb) as opened:
        if out is None:
            for line in export_lines(opened):
                print(line)
            return
        with StageProgress(quiet) as progress:
            count = _write_lines(out, opened, progress)
    print(json.dumps({"lines": count, "file": str(out)}) if as_json else f"{out}: {count:,} lines")


def _rules(file: Path | None, none: bool) -> VariantRules | None:
    """Return the rules of the options."""
    if none and file is not None:
        raise SettingsError("--variants and --no-variants exclude each other")
    if none:
        return None
    return DEFAULT_RULES if file is None else VariantRules.read(file)


def _write_lines(out: Path, kb: KnowledgeBase, progress: StageProgress) -> int:
    """Write an export line by line and rename it when complete."""
    with replacing(out) as file:
        count = 0
        for count, line in enumerate(export_lines(kb), 1):
            file.write(line.encode() + b"\n")
            if count % 10_000 == 0:
                progress("lines", count, max(count, len(kb)))
    return count


def _spelled(kb: KnowledgeBase, name: str, numbers: list[int]) -> dict[int, dict[str, int]]:
    """Return the counts of the spellings of a name, by entity."""
    normal = normal_name(name)
    found: dict[int, dict[str, int]] = {number: {} for number in numbers}
    for number, counts in found.items():
        for text, _, count in kb.spellings_of(number):
            if normal_name(text) == normal:
                counts[text] = counts.get(text, 0) + count
    return found


def _finite(record: dict[str, Any]) -> dict[str, Any]:
    return {
        key: None if isinstance(value, float) and math.isnan(value) else value
        for key, value in record.items()
    }
