"""Reports of `sgtb kb`."""

import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich import box
from rich.table import Table

from sgtb.cli.views.link_view import open_console, printable
from sgtb.kb.build.list_build import ListReport
from sgtb.kb.build.merge_build import MergeReport
from sgtb.kb.entity import Candidate, Entity
from sgtb.kb.knowledge_base import KnowledgeBase
from sgtb.kb.update import UpdateReport
from sgtb.pages.pages_settings import PagesReport
from sgtb.wikipedia.build.build_report import VectorCounts, WikiReport

_TEXT_SHOWN = 100
_DROPPED_SHOWN = 10


def print_info(counts: dict[str, Any]) -> None:
    """Print the counts of a knowledge base."""
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold")
    table.add_column(justify="right")
    for key, value in counts.items():
        table.add_row(key, _shown(value))
    open_console().print(table)


Report = ListReport | WikiReport | PagesReport | MergeReport | UpdateReport


def print_report(report: Report, kb: Path, as_json: bool) -> None:
    """Print the report of a build or a change of the knowledge base in a folder."""
    if as_json:
        print(json.dumps(asdict(report)))
    elif isinstance(report, WikiReport):
        _print_wiki(report, kb)
    elif isinstance(report, PagesReport):
        _print_pages(report, kb)
    elif isinstance(report, MergeReport):
        _print_merged(report, kb)
    else:
        if isinstance(report, ListReport):
            counts = f"{report.entities:,} entities, {report.names:,} names, {report.links:,} links"
            print(f"{kb}: {counts}")
        else:
            did = {"added": report.added, "changed": report.changed, "removed": report.removed}
            parts = [f"{count:,} {what}" for what, count in did.items() if count]
            print(f"{', '.join(parts) or 'nothing changed'}; now {report.entities:,} entities")
        if report.unknown_links:
            print(f"left out: {report.unknown_links:,} links to unknown ids")


def _print_wiki(report: WikiReport, out: Path) -> None:
    pages, links, redirects, names = report.pages, report.links, report.redirects, report.names
    held = f", {links.held_out:,} on {report.held_out:,} pages held out" if links.held_out else ""
    rows = {
        "pages": (
            pages.pages,
            f"{pages.articles:,} articles, {pages.redirects:,} redirects, "
            f"{pages.disambiguation:,} disambiguation pages, "
            f"{pages.other_namespaces:,} of other namespaces, {pages.repeated:,} repeated, "
            f"{pages.dropped:,} dropped",
        ),
        "redirects": (
            pages.redirects,
            f"{redirects.resolved:,} lead to an entity, {redirects.disambiguation:,} to a "
            f"disambiguation page, {redirects.broken:,} to no page, {redirects.cycles:,} in cycles",
        ),
        "links": (
            links.found,
            f"{links.resolved:,} to entities, {links.missing:,} to missing pages, "
            f"{links.disambiguation:,} to disambiguation pages, {links.other_namespaces:,} to "
            f"other namespaces, {links.own_page:,} to their own page, {links.listed:,} on "
            f"disambiguation pages, {links.left_out:,} on pages left out{held}",
        ),
        "entities": (report.entities, f"{report.entity_links:,} links, {report.pairs:,} pairs"),
        "names": (names.names, f"{names.spellings:,} spellings"),
    }
    _print_counts(rows, report.vectors)
    for given in (*report.pageviews, *report.types, *report.priors):
        bad = f", {given.bad:,} unreadable" if given.bad else ""
        print(
            f"{given.file}: {given.lines:,} lines, {given.used:,} used, "
            f"{given.unknown_titles:,} of unknown titles{bad}"
        )
    _print_end(report, out)


def _print_pages(report: PagesReport, out: Path) -> None:
    uses = report.uses
    rows = {
        "pages": (
            report.pages,
            f"{report.lists:,} lists of pages, {report.repeated:,} repeated, "
            f"{len(report.dropped) + report.dropped_beyond:,} dropped",
        ),
        "names in texts": (
            uses.clear + uses.decided + uses.undecided + uses.own,
            f"{uses.clear:,} of one page, {uses.decided:,} of several and decided, "
            f"{uses.undecided:,} undecided, {uses.own:,} of the page itself",
        ),
        "entities": (
            report.entities,
            f"{report.links:,} links, {report.pairs:,} pairs"
            + ("; their ids are titles" if report.ids == "title" else ""),
        ),
        "names": (report.names, f"{report.spellings:,} spellings"),
    }
    _print_counts(rows, report.vectors)
    _print_end(report, out)


def _print_merged(report: MergeReport, out: Path) -> None:
    given = " + ".join(f"{count:,}" for count in report.given)
    print(
        f"{out}: {report.entities:,} entities ({given}, {report.united:,} united), "
        f"{report.names:,} names, {report.links:,} links"
    )
    if report.vectors_dropped:
        sizes = " and ".join(map(str, report.vectors_dropped))
        print(f"left out: vectors, which have {sizes} dimensions")


def print_card(entity: Entity) -> None:
    """Print an entity."""
    title = printable(entity.title)
    table = Table(title=title, box=None, show_header=False, title_justify="left")
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    rows = {
        "id": entity.id,
        "type": entity.type,
        "description": entity.description,
        "popularity": "" if math.isnan(entity.popularity) else f"{entity.popularity:g}",
        "names": ", ".join(dict.fromkeys(alias.name for alias in entity.aliases)),
        "links": f"{entity.out_links:,} from it, {entity.in_links:,} to it",
        "links to": _cut(", ".join(entity.links)),
    }
    for key, value in rows.items():
        if value:
            table.add_row(key, printable(value))
    open_console().print(table)


def print_candidates(
    kb: KnowledgeBase, candidates: Sequence[Candidate], probability: float
) -> None:
    """Print the candidates of a name, likeliest first."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("prior", justify="right")
    table.add_column("id", overflow="fold")
    table.add_column("title", no_wrap=True)
    table.add_column("description")
    for source in kb.sources:
        table.add_column(source, justify="right")
    for c in candidates:
        cells = map(printable, (c.id, c.title, _cut(kb.description_of(c.number), 60)))
        table.add_row(f"{c.prior:.3f}", *cells, *map(str, c.counts))
    open_console().print(table)
    if not math.isnan(probability):
        print(f"link probability {probability:.1%}: the share of pages with this name that link it")


def _print_counts(rows: dict[str, tuple[int, str]], vectors: VectorCounts) -> None:
    if vectors.dimensions:
        words = f"of {vectors.dimensions} dimensions, and {vectors.words:,} words"
        rows["vectors"] = (vectors.entities, words)
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold")
    table.add_column(justify="right", no_wrap=True)
    table.add_column()
    for key, (count, text) in rows.items():
        table.add_row(key, f"{count:,}", text)
    open_console().print(table)


def _print_end(report: WikiReport | PagesReport, out: Path) -> None:
    """Print the first dropped pages, and the time of the build."""
    for page in report.dropped[:_DROPPED_SHOWN]:
        title = f"{page.title!r}: " if page.title else ""
        print(f"dropped: {page.file}, line {page.line}: {title}{page.reason}")
    if (more := len(report.dropped) + report.dropped_beyond - _DROPPED_SHOWN) > 0:
        print(f"dropped: {more:,} more")
    print(f"built {out} in {report.seconds:.1f} s")


def _shown(value: Any) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, dict | list):
        return json.dumps(value)
    return str(value)


def _cut(text: str, size: int = _TEXT_SHOWN) -> str:
    return text if len(text) <= size else f"{text[: size - 1]}…"
