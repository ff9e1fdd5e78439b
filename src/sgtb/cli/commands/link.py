"""The command `sgtb link`: links as a table, as JSON or as an HTML page."""

import sys
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import typer

from sgtb.cli import options
from sgtb.cli.link_batch import link_batch
from sgtb.cli.link_input import (
    STANDARD_INPUT,
    Form,
    PlacedRequest,
    TextSource,
    read_requests,
    source_of,
)
from sgtb.cli.linker_options import check_pair, describer, linker_settings, open_linker, print_json
from sgtb.cli.views.link_page import page_parts
from sgtb.cli.views.link_view import print_links
from sgtb.cli.views.progress_views import DocumentCounter
from sgtb.core.errors import RequestError
from sgtb.core.files import replacing
from sgtb.formats.error_handler import ErrorHandler
from sgtb.linking.links import LinkedDocument, Request, Span
from sgtb.linking.request_json import InputError

if TYPE_CHECKING:
    from sgtb.linking.linker import Linker

SHORT_TEXT = 500  # characters of a text up to which its table shows reasons by default

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def link(
    inputs: list[str] | None = typer.Argument(
        None,
        metavar="[TEXT|FILE|-]…",
        help="Texts, or UTF-8 files, plain or compressed (gzip, bzip2, xz); "
        "- is standard input. A .jsonl file has one document per line.",
    ),
    model: Path | None = options.MODEL,
    kb: Path | None = options.KB,
    as_json: bool = typer.Option(
        False, "--json", help="Print one JSON object per document and line."
    ),
    html: str | None = typer.Option(
        None, metavar="FILE", help="Write a self-contained HTML page; - prints it."
    ),
    lines: bool = typer.Option(False, "--lines", help="Read every line as a document."),
    jsonl: bool = typer.Option(
        False, "--jsonl", help="Read inputs as JSON Lines, whatever their names."
    ),
    as_text: bool = options.AS_TEXT,
    reasons: bool | None = typer.Option(
        None,
        "--reasons/--no-reasons",
        help="Whether to give reasons. Default: yes, except in tables of long or many texts.",
    ),
    candidates: int = typer.Option(5, metavar="N", min=1, help="Candidates per mention."),
    jobs: int = options.PROCESSES,
    fuzzy: bool | None = options.FUZZY,
    spacy: str | None = typer.Option(
        None, metavar="MODEL", help="Detect mentions with a spaCy pipeline."
    ),
    min_link_probability: float = options.MIN_LINK_PROBABILITY,
    any_case: bool = options.ANY_CASE,
    nil: float | None = options.NIL,
    on_error: str = options.ON_ERROR,
    quiet: bool = typer.Option(False, "--quiet", "-q", help="Print links only."),
    batch: bool = typer.Option(
        False, "--batch", help="Link JSONL and Parquet files, by path or URL, as a job."
    ),
    output: Path | None = typer.Option(
        None, "--output", "-o", metavar="JOB", help="Folder of the job, with --batch."
    ),
    cluster: str | None = typer.Option(
        None,
        metavar="SPEC",
        help="With --batch: a Dask cluster, as local:N (N processes here), tcp://HOST:PORT or "
        "a scheduler file. Default: --jobs processes, without Dask.",
    ),
    part_size: float = typer.Option(
        4.0, metavar="MB", min=0.001, max=1024, help="Size of a part, with --batch."
    ),
) -> None:
    """Find the names in texts, and which entity each one means.

    All names of a document are linked jointly. An argument is a text, unless a file has its name.
    Objects of JSON Lines have a text, and optionally an id and mentions: start and end in
    characters, optionally "fixed", the id of the entity, or "candidates", a list of ids.

    With --batch any number of documents is linked to Parquet files in the folder JOB. After a
    failure, the same command links what is left. Documents that cannot be linked are in
    rejected.parquet, each with the reason.

    \b
    Examples:
      sgtb link "Jordan won six rings with the Bulls."
      sgtb link article.txt --html article.html
      sgtb link news.jsonl --json --jobs 2 > links.jsonl
      zcat news.txt.gz | sgtb link - --lines --json
      sgtb link article.txt --model news.model --kb simple
      sgtb link --batch news.jsonl more.parquet -o job --cluster local:4
    """
    check_pair(model, kb, quiet)
    if batch:
        if lines or jsonl or as_text or reasons or html is not None or spacy is not None:
            raise typer.BadParameter(
                "--batch takes none of --lines, --jsonl, --text, --reasons, --html and --spacy"
            )
        settings = linker_settings(candidates, False, fuzzy, any_case, min_link_probability, nil)
        linker_of = (model, kb, settings)
        workers = jobs if cluster is None else cluster
        link_batch(inputs or [], output, workers, part_size, linker_of, as_json, quiet)
        return
    if output is not None or cluster is not None:
        raise typer.BadParameter("--output and --cluster need --batch")
    if html == STANDARD_INPUT and as_json:
        raise typer.BadParameter("--html - and --json both print; write the page to a file")
    sources = _sources(inputs or [], lines, jsonl, as_text)
    single = len(sources) == 1 and sources[0].single
    settings = linker_settings(candidates, False, fuzzy, any_case, min_link_probability, nil)
    handler = options.DocumentErrors(on_error)
    requests = read_requests(sources, settings.max_characters, handler)
    if single:  # read before the linker is loaded, so that errors come at once
        first = next(requests, None)
        requests = iter([] if first is None else [first])
    if reasons is None:
        short = single and first is not None and len(first.request.text) <= SHORT_TEXT
        reasons = as_json or html is not None or short
    settings = replace(settings, reasons=reasons)
    if spacy is not None:
        requests = _with_spacy(spacy, requests)
    counter, lower_case = DocumentCounter(quiet or single), set[bool]()
    with open_linker(model, kb, settings, quiet) as linker:
        linked = _linked(linker, requests, jobs, handler)
        documents = counter.passing(_with_case(linked, lower_case))
        if html is not None:
            shown = _printed(documents) if as_json else documents
            with _page_file(html) as file:
                for part in page_parts(shown, describer(linker.kb)):
                    file.write(part.encode())
                    file.flush()
        elif as_json:
            for _ in _printed(documents):
                pass
        else:
            for document in documents:
                print_links(document, reasons, heading=not single, describe=describer(linker.kb))
                sys.stdout.flush()
    handler.print()
    if html not in (None, STANDARD_INPUT) and not quiet:
        print(f"{html}: {counter.summary}", file=sys.stderr)
    if not counter.n_parts and not quiet:
        lower = not any_case and True in lower_case
        hint = "; --any-case also finds names without capitals" if lower else ""
        print(f"no mentions found{hint}", file=sys.stderr)


def _sources(inputs: list[str], lines: bool, jsonl: bool, as_text: bool) -> list[TextSource]:
    if not inputs:
        raise typer.BadParameter("give a text, a file, or - for standard input")
    if lines + jsonl + as_text > 1:
        raise typer.BadParameter("only one of --lines, --jsonl and --text")
    if inputs.count(STANDARD_INPUT) > 1 and not as_text:
        raise typer.BadParameter("standard input can be read only once")
    form: Form | None = "lines" if lines else "jsonl" if jsonl else None if as_text else "whole"
    return [source_of(one, form) for one in inputs]


def _linked(
    linker: "Linker", requests: Iterable[PlacedRequest], jobs: int, handler: ErrorHandler
) -> Iterator[LinkedDocument]:
    """Link requests in order; an error names the place of its request."""
    waiting: deque[PlacedRequest] = deque()  # the linker reads ahead
    requests = iter(requests)

    def noted() -> Iterator[Request]:
        for placed in requests:
            waiting.append(placed)
            yield placed.request

    while True:
        try:
            for document in linker.pipe(noted(), jobs=jobs):
                waiting.popleft()
                yield document
            return
        except RequestError as unplaced:
            failed = False
            for placed in waiting:
                try:
                    yield linker.link(placed.request)
                except RequestError as error:
                    handler.error(InputError(f"{placed.place}: {error}"))
                    failed = True
            if not failed:
                raise unplaced from None
            waiting.clear()  # the next round links what was not read yet


def _with_case(
    documents: Iterable[LinkedDocument], lower_case: set[bool]
) -> Iterator[LinkedDocument]:
    """Yield documents; add to a set whether each text is in lower case."""
    for document in documents:
        lower_case.add(document.text.islower())
        yield document


def _with_spacy(name: str, requests: Iterable[PlacedRequest]) -> Iterator[PlacedRequest]:
    """Detect the mentions of requests with a spaCy pipeline, unless they are given."""
    from sgtb.linking.mentions.spacy_mentions import SpacyMentions

    pipeline = SpacyMentions.load(name)
    for placed in requests:
        request = placed.request
        if request.spans is None:
            try:
                found = pipeline.find(request.text)
            except RequestError as error:
                raise InputError(f"{placed.place}: {error}") from None
            request = replace(request, spans=tuple(Span(start, end) for start, end in found))
        yield replace(placed, request=request)


def _printed(documents: Iterable[LinkedDocument]) -> Iterator[LinkedDocument]:
    """Print documents as JSON and yield them."""
    for document in documents:
        print_json(document.to_dict())
        yield document


@contextmanager
def _page_file(target: str) -> Iterator[BinaryIO]:
    if target == STANDARD_INPUT:
        yield sys.stdout.buffer
        return
    if Path(target).is_dir():
        raise InputError(f"{target}: a folder; name a file")
    with replacing(target) as file:
        yield file
