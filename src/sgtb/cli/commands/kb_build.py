"""The commands `sgtb kb build …`: new knowledge bases."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

from sgtb.cli import options
from sgtb.cli.views.kb_view import print_report
from sgtb.cli.views.progress_views import StageProgress
from sgtb.core.errors import SettingsError
from sgtb.core.workers import TaskPool
from sgtb.kb.build.list_build import build_list
from sgtb.kb.name_variants import DEFAULT_RULES, VariantRules
from sgtb.wikipedia.build.build_settings import HoldOut, WikiSettings

build = typer.Typer(no_args_is_help=True, help="Build a knowledge base.", rich_markup_mode=None)


@build.command("list")
def build_from_list(
    file: Path = options.LIST_FILE,
    out: Path = options.OUT,
    sheet: str | None = options.SHEET,
    skip_unknown_links: bool = options.SKIP_LINKS,
    variants: Path | None = options.VARIANTS,
    no_variants: bool = options.NO_VARIANTS,
    as_json: bool = options.AS_JSON,
    quiet: bool = options.QUIET,
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
    print_report(report, out, as_json)


def _same_as_list(name: str) -> None:
    """Add a command that is `list` under another name, without sheets."""

    @build.command(
        name,
        help="Build from a list of entities, the same as `list`.\n\n"
        f"Example: sgtb kb build {name} companies.{name} -o companies",
    )
    def command(
        file: Path = options.LIST_FILE,
        out: Path = options.OUT,
        skip_unknown_links: bool = options.SKIP_LINKS,
        variants: Path | None = options.VARIANTS,
        no_variants: bool = options.NO_VARIANTS,
        as_json: bool = options.AS_JSON,
        quiet: bool = options.QUIET,
    ) -> None:
        build_from_list(file, out, None, skip_unknown_links, variants, no_variants, as_json, quiet)


_same_as_list("jsonl")
_same_as_list("csv")


@build.command("pprforned")
def build_from_pprforned(
    folder: Path = typer.Argument(
        ..., metavar="DIR", exists=True, help="Folder or archive of PPRforNED."
    ),
    out: Path = options.OUT,
    titles_only: bool = typer.Option(
        False, "--titles-only", help="Take no names from the documents."
    ),
    variants: Path | None = options.VARIANTS,
    no_variants: bool = options.NO_VARIANTS,
    as_json: bool = options.AS_JSON,
    quiet: bool = options.QUIET,
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
    print_report(report, out, as_json)


@build.command("wiki")
def build_from_wiki(
    dumps: list[Path] = options.input_argument(
        "DUMP…", "XML dumps: plain, gzip, bzip2 or multistream bzip2."
    ),
    out: Path = options.OUT,
    workers: int = options.WORKERS,
    memory: int = options.MEMORY,
    pageviews: list[Path] | None = options.input_file(
        None, "Wikimedia page views, for popularity."
    ),
    types: Path | None = options.input_file(None, "Types, tab-separated: title, PER|ORG|LOC|MISC."),
    prior: list[Path] | None = options.input_file(
        None, "Further names, tab-separated: name, title, count."
    ),
    vectors: str = typer.Option("none", metavar="none|train|FILE", help="Word and entity vectors."),
    dimensions: int = options.DIMENSIONS,
    red_links: int = typer.Option(
        0,
        min=0,
        help="Titles without a page become entities if this many pages link them; 0: never.",
    ),
    hold_out: float = typer.Option(
        0.0,
        min=0.0,
        max=0.99,
        help="Share of pages whose links are not counted, for training and testing.",
    ),
    strict: bool = typer.Option(False, "--strict", help="Fail on the first unreadable page."),
    cluster: str | None = typer.Option(
        None,
        metavar="local:N|tcp://…|FILE",
        help="Dask cluster that reads the dumps instead of processes here.",
    ),
    as_json: bool = options.AS_JSON,
    quiet: bool = options.QUIET,
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
    with StageProgress(quiet) as progress, _cluster_pool(cluster, dumps, out) as pool:
        if pool is not None:  # workers may have another current folder
            dumps, out = [path.resolve() for path in dumps], out.resolve()
        report = build_wiki(dumps, out, settings, progress, pool)
    print_report(report, out, as_json)


@build.command("pages")
def build_from_pages(
    files: list[Path] = options.input_argument(
        "FILE…", "JSON Lines, plain or packed with gzip, bzip2 or xz."
    ),
    out: Path = options.OUT,
    ids: str = typer.Option(
        "auto",
        metavar="auto|id|title",
        help="Field that is the id of an entity. Of repeated ids the first page counts. "
        "auto: id, but title if one id has two titles.",
    ),
    workers: int = options.WORKERS,
    memory: int = options.MEMORY,
    vectors: bool = typer.Option(False, "--vectors", help="Train vectors of words and entities."),
    dimensions: int = options.DIMENSIONS,
    strict: bool = typer.Option(False, "--strict", help="Fail on the first unreadable line."),
    as_json: bool = options.AS_JSON,
    quiet: bool = options.QUIET,
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
    print_report(report, out, as_json)


def _rules(file: Path | None, none: bool) -> VariantRules | None:
    """Return the rules of the options."""
    if none and file is not None:
        raise SettingsError("--variants and --no-variants exclude each other")
    if none:
        return None
    return DEFAULT_RULES if file is None else VariantRules.read(file)


@contextmanager
def _cluster_pool(cluster: str | None, dumps: list[Path], out: Path) -> Iterator[TaskPool | None]:
    """Connect to a cluster whose workers see the dumps and the folder of the knowledge base."""
    if cluster is None:
        yield None
        return
    from sgtb.integrations.dask_cluster import DaskPool, connect

    with connect(cluster) as client:
        pool = DaskPool(client)
        pool.require(path.resolve() for path in (*dumps, out.absolute().parent))
        yield pool
