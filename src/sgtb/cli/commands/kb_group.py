"""The commands `sgtb kb …`: change and inspect knowledge bases."""

import json
import math
import sys
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer

from sgtb.cli import options
from sgtb.cli.commands.kb_build import build
from sgtb.cli.views.kb_view import print_candidates, print_card, print_info, print_report
from sgtb.cli.views.progress_views import StageProgress
from sgtb.core.errors import KnowledgeBaseError, SettingsError
from sgtb.core.files import replacing
from sgtb.kb import update as changes
from sgtb.kb.build.entity_lines import EntityList
from sgtb.kb.build.merge_build import merge_kbs
from sgtb.kb.check import CheckReport
from sgtb.kb.check import check as check_all
from sgtb.kb.export import export_lines
from sgtb.kb.knowledge_base import TOP, KnowledgeBase
from sgtb.text.normalization import normal_name

app = typer.Typer(
    no_args_is_help=True, help="Build, change and inspect knowledge bases.", rich_markup_mode=None
)
app.add_typer(build, name="build")

KB = typer.Argument(..., metavar="KB", help="Folder of a knowledge base.")


@app.command()
def merge(
    kbs: list[Path] = typer.Argument(
        ..., metavar="KB KB…", exists=True, file_okay=False, help="Knowledge bases."
    ),
    out: Path = options.OUT,
    by: str = typer.Option("id", metavar="id|title", help="What makes two entities one."),
    as_json: bool = options.AS_JSON,
    quiet: bool = options.QUIET,
) -> None:
    """Join knowledge bases into a new one.

    Names and links of entities that match are united; for everything else the first one counts.

    Example: sgtb kb merge companies people -o all
    """
    with StageProgress(quiet) as progress:
        report = merge_kbs(kbs, out, by=by, progress=progress)  # type: ignore[arg-type]
    print_report(report, out, as_json)


@app.command()
def add(
    kb: Path = KB,
    file: Path = options.LIST_FILE,
    sheet: str | None = options.SHEET,
    skip_unknown_links: bool = options.SKIP_LINKS,
    as_json: bool = options.AS_JSON,
) -> None:
    """Add the entities of a list.

    Example: sgtb kb add companies new.jsonl
    """
    entities = EntityList(file, sheet=sheet)
    print_report(changes.add(kb, entities, skip_unknown_links=skip_unknown_links), kb, as_json)


@app.command()
def update(
    kb: Path = KB,
    file: Path = options.LIST_FILE,
    sheet: str | None = options.SHEET,
    skip_unknown_links: bool = options.SKIP_LINKS,
    as_json: bool = options.AS_JSON,
) -> None:
    """Change entities; keys that a record leaves out keep their values.

    Example: sgtb kb update companies changed.jsonl
    """
    entities = EntityList(file, partial=True, sheet=sheet)
    print_report(changes.update(kb, entities, skip_unknown_links=skip_unknown_links), kb, as_json)


@app.command()
def remove(
    kb: Path = KB,
    file: Path | None = typer.Argument(
        None,
        metavar="[FILE]",
        exists=True,
        dir_okay=False,
        help="Ids, one per line, or JSON Lines.",
    ),
    ids: list[str] | None = typer.Option(None, "--id", help="An id to remove."),
    as_json: bool = options.AS_JSON,
) -> None:
    """Remove entities, their names, and the links to them.

    Example: sgtb kb remove companies --id C7
    """
    wanted = [*(ids or []), *(changes.read_ids(file) if file is not None else [])]
    if not wanted:
        raise SettingsError("give a file of ids, or --id")
    print_report(changes.remove(kb, wanted), kb, as_json)


@app.command()
def info(kb: Path = KB, as_json: bool = options.AS_JSON) -> None:
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
    kb: Path = KB,
    name: str = typer.Argument(..., metavar="NAME", help="A name, or the id of an entity."),
    k: int = typer.Option(TOP, "-k", min=1, help="Number of candidates."),
    as_json: bool = options.AS_JSON,
) -> None:
    """Show which entities a name may mean, or one entity.

    Example: sgtb kb show companies Mercury
    """
    with KnowledgeBase.open(kb) as opened:
        candidates = opened.candidates(name, k)
        value = opened.name_value(name)
        entity = opened.entity(name) if opened.number(name) is not None else None
        if not candidates and entity is None:
            raise KnowledgeBaseError(f"{kb}: no name and no id {name!r}")
        probability = opened.link_probability(name)
        if as_json:
            record: dict[str, Any] = {
                "name": name,
                "candidates": [
                    {
                        **c._asdict(),
                        "counts": dict(zip(opened.sources, c.counts, strict=True)),
                        "spellings": _spelled(opened, name, c.number),
                    }
                    for c in candidates
                ],
                "link_probability": None if math.isnan(probability) else probability,
                "all_candidates": 0 if value is None else len(value.candidates),
                "entity": None if entity is None else asdict(entity),
            }
            if entity is not None and math.isnan(entity.popularity):
                record["entity"]["popularity"] = None
            print(json.dumps(record, ensure_ascii=False))
            return
        if entity is not None:
            print_card(entity)
        if candidates:
            print_candidates(opened, candidates, probability)


@app.command()
def check(kb: Path = KB, as_json: bool = options.AS_JSON, quiet: bool = options.QUIET) -> None:
    """Check that a knowledge base is complete and undamaged.

    Example: sgtb kb check companies
    """
    try:
        with StageProgress(quiet or as_json) as progress:
            report = check_all(kb, progress)
    except KnowledgeBaseError as error:  # so damaged that it cannot be opened
        if not as_json:
            raise
        report = CheckReport((str(error),), entities=0, names=0, links=0)
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
    kb: Path = KB,
    out: Path | None = typer.Option(
        None, "--out", "-o", metavar="FILE", help="File to write. Default: standard output."
    ),
    as_json: bool = options.AS_JSON,
    quiet: bool = options.QUIET,
) -> None:
    """Export a knowledge base as JSON Lines, from which it can be rebuilt.

    Example: sgtb kb export companies -o companies.jsonl
    """
    if out is not None and out.resolve().is_relative_to(kb.resolve()):
        raise typer.BadParameter(f"--out {out} is within the knowledge base; write it elsewhere")
    with KnowledgeBase.open(kb) as opened:
        if out is None:
            for line in export_lines(opened):
                print(line)
            return
        count = 0
        with StageProgress(quiet) as progress, replacing(out) as file:
            for count, line in enumerate(export_lines(opened), 1):
                file.write(line.encode() + b"\n")
                if count % 10_000 == 0:
                    progress("lines", count, max(count, len(opened)))
    print(json.dumps({"lines": count, "file": str(out)}) if as_json else f"{out}: {count:,} lines")


def _spelled(kb: KnowledgeBase, name: str, number: int) -> dict[str, int]:
    """Return the counts of an entity's spellings of a name."""
    counts = Counter[str]()
    for text, _, count in kb.spellings_of(number):
        if normal_name(text) == normal_name(name):
            counts[text] += count
    return counts
