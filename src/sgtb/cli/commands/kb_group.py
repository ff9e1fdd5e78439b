"""The commands `sgtb kb …`: knowledge bases built, changed and looked into."""

import json
import math
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from sgtb.cli.views.kb_view import (
    print_candidates,
    print_card,
    print_info,
    say_built,
    say_changed,
    say_wiki,
)  # fmt: skip
from sgtb.cli.views.stage_bars import Stages
from sgtb.core.errors import KnowledgeBaseError, SettingsError
from sgtb.core.files import replacing
from sgtb.kb import update as changes
from sgtb.kb.build.entity_lines import EntityList
from sgtb.kb.build.list_build import build_list
from sgtb.kb.check import check as check_all
from sgtb.kb.export import export_lines
from sgtb.kb.knowledge_base import TOP, KnowledgeBase
from sgtb.text.normalization import normal_name
from sgtb.wikipedia.build.build_settings import WikiSettings
from sgtb.wikipedia.build.hold_out import HoldOut

app = typer.Typer(
    no_args_is_help=True,
    help="Knowledge bases: built from a dump or from one's own list, changed in seconds.",
    rich_markup_mode="rich",
)
build = typer.Typer(no_args_is_help=True, help="Build a knowledge base.", rich_markup_mode="rich")
app.add_typer(build, name="build")

Kb = Annotated[Path, typer.Argument(metavar="KB", help="The folder of a knowledge base.")]
Out = Annotated[
    Path,
    typer.Option(
        "--out", "-o", metavar="KB",
        help="The folder to make. A knowledge base that is there is replaced when all is done.",
    ),
]  # fmt: skip
ListFile = Annotated[
    Path, typer.Argument(metavar="FILE", exists=True, dir_okay=False, help="JSON Lines, or .csv.")
]
SkipLinks = Annotated[
    bool,
    typer.Option("--skip-unknown-links", help="Leave out links to ids that nobody has."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]


@build.command("jsonl")
def build_jsonl(
    file: ListFile,
    out: Out,
    skip_unknown_links: SkipLinks = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Build from a list of entities, one JSON object a line.

    Keys: id, name; optional: aliases, description, type, popularity, links, vector.

    Example: sgtb kb build jsonl companies.jsonl -o companies
    """
    _build_list(file, out, False, skip_unknown_links, as_json, quiet)


@build.command("csv")
def build_csv(
    file: ListFile,
    out: Out,
    skip_unknown_links: SkipLinks = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Build from a table whose first line names the columns.

    Columns as the keys of JSON Lines; several aliases or links in a cell with | between them.

    Example: sgtb kb build csv companies.csv -o companies
    """
    _build_list(file, out, True, skip_unknown_links, as_json, quiet)


@build.command("pprforned")
def build_from_pprforned(
    folder: Annotated[
        Path,
        typer.Argument(metavar="DIR", exists=True, help="PPRforNED's folder, or its archive."),
    ],
    out: Out,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Build from PPRforNED: 36,545 entities of Wikipedia with links and popularity.

    Example: sgtb kb build pprforned data/pprforned -o ppr
    """
    from sgtb.kb.build.pprforned_build import build_pprforned

    with Stages(quiet) as stages:
        report = build_pprforned(folder, out, progress=stages)
    say_built(report, out, as_json)


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
    workers: Annotated[int, typer.Option(min=1, max=256, help="Processes to read with.")] = 1,
    memory: Annotated[
        int, typer.Option(min=256, help="MB that the build may hold, beyond the programs' own.")
    ] = 1024,
    pageviews: Annotated[
        list[Path] | None,
        typer.Option(exists=True, dir_okay=False, help="Wikimedia page views: popularity."),
    ] = None,
    types: Annotated[
        Path | None,
        typer.Option(
            exists=True, dir_okay=False, help="Types: lines of title, tab, PER|ORG|LOC|MISC."
        ),
    ] = None,
    prior: Annotated[
        list[Path] | None,
        typer.Option(
            exists=True,
            dir_okay=False,
            help="Another source of names: lines of name, tab, title, tab, count.",
        ),
    ] = None,
    vectors: Annotated[
        str, typer.Option(metavar="none|train|FILE", help="Vectors of words and entities.")
    ] = "none",
    dimensions: Annotated[int, typer.Option(min=1, max=4096, help="Of trained vectors.")] = 100,
    red_links: Annotated[
        int,
        typer.Option(
            min=0, help="Also take linked titles without a page, if this many pages link them."
        ),
    ] = 0,
    hold_out: Annotated[
        float,
        typer.Option(
            min=0.0,
            max=0.99,
            help="Share of pages whose links are not counted, to train and test a linker on.",
        ),
    ] = 0.0,
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse a dump with any page that cannot be read.")
    ] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Build from Wikipedia dumps of any language edition.

    Example: sgtb kb build wiki simplewiki-latest-pages-articles.xml.bz2 -o simple
    """
    from sgtb.wikipedia.build.dump_build import build_wiki  # not for every look-up

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
    with Stages(quiet) as stages:
        report = build_wiki(dumps, out, settings, stages)
    if as_json:
        print(json.dumps(report.as_json()))
    else:
        say_wiki(report, out)


@app.command()
def add(
    kb: Kb,
    file: ListFile,
    skip_unknown_links: SkipLinks = False,
    as_json: AsJson = False,
) -> None:
    """Add the entities of a list.

    Example: sgtb kb add companies new.jsonl
    """
    report = changes.add(kb, _entities(file), skip_unknown_links=skip_unknown_links)
    say_changed(report, as_json)


@app.command()
def update(
    kb: Kb,
    file: ListFile,
    skip_unknown_links: SkipLinks = False,
    as_json: AsJson = False,
) -> None:
    """Change entities: what a record does not state stays as it is.

    Example: sgtb kb update companies changed.jsonl
    """
    entities = _entities(file, partial=True)
    report = changes.update(kb, entities, skip_unknown_links=skip_unknown_links)
    say_changed(report, as_json)


@app.command()
def remove(
    kb: Kb,
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE]", exists=True, dir_okay=False, help="Ids, one a line, or JSON Lines."
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
        raise SettingsError("nothing to remove: give a file of ids, or --id")
    say_changed(changes.remove(kb, wanted), as_json)


@app.command()
def info(kb: Kb, as_json: AsJson = False) -> None:
    """Tell how much a knowledge base holds.

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
    k: Annotated[int, typer.Option("-k", min=1, help="How many candidates.")] = TOP,
    as_json: AsJson = False,
) -> None:
    """Show what a name may mean, with priors, or the card of an entity.

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
                        **asdict(c),
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
    with Stages(quiet or as_json) as stages:
        report = check_all(kb, stages)
    if as_json:
        print(json.dumps({"ok": report.ok, **asdict(report)}))
    elif report.ok:
        counts = f"{report.entities:,} entities, {report.names:,} names, {report.links:,} links"
        print(f"{kb}: {counts}: all in order")
    else:
        for problem in report.problems:
            print(problem, file=sys.stderr)
    if not report.ok:
        raise typer.Exit(1)


@app.command()
def export(
    kb: Kb,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Where to; else printed.")
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Write a knowledge base as JSON Lines, from which the same one can be built.

    Example: sgtb kb export companies -o companies.jsonl
    """
    with KnowledgeBase.open(kb) as opened:
        if out is None:
            for line in export_lines(opened):
                print(line)
            return
        with Stages(quiet) as stages:
            count = _write_lines(out, opened, stages)
    print(json.dumps({"lines": count, "file": str(out)}) if as_json else f"{out}: {count:,} lines")


def _build_list(
    file: Path, out: Path, csv: bool, skip_unknown_links: bool, as_json: bool, quiet: bool
) -> None:
    with Stages(quiet) as stages:
        report = build_list(
            file, out, csv=csv, skip_unknown_links=skip_unknown_links, progress=stages
        )
    say_built(report, out, as_json)


def _entities(file: Path, partial: bool = False) -> EntityList:
    return EntityList(file, csv=file.suffix.lower() in (".csv", ".tsv"), partial=partial)


def _write_lines(out: Path, kb: KnowledgeBase, stages: Stages) -> int:
    """Write an export beside its place and rename it, line by line: it may be large."""
    with replacing(out) as file:
        count = 0
        for count, line in enumerate(export_lines(kb), 1):
            file.write(line.encode() + b"\n")
            if count % 10_000 == 0:
                stages("lines", count, max(count, len(kb)))
    return count


def _spelled(kb: KnowledgeBase, name: str, numbers: list[int]) -> dict[int, dict[str, int]]:
    """Return how often each of these entities is spelled how, under this name."""
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
