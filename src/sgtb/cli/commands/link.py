"""The command `sgtb link`: names in text linked, as a table, as JSON or as a page."""

import sys
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from sgtb.cli.link_input import (
    STANDARD_INPUT,
    Form,
    InputError,
    Placed,
    Source,
    read_requests,
    sources_of,
    texts_of,
)
from sgtb.cli.linker_options import (
    MIN_LINK_PROBABILITY,
    AnyCase,
    AsText,
    Fuzzy,
    Kb,
    MinLinkProbability,
    Model,
    Nil,
    check_pair,
    linker_settings,
    open_linker,
    print_json,
)
from sgtb.cli.views.document_counter import Counter
from sgtb.cli.views.link_page import page_parts
from sgtb.cli.views.link_view import print_links
from sgtb.core.errors import RequestError
from sgtb.core.files import replacing
from sgtb.linking.links import LinkedDocument, Request, Span

if TYPE_CHECKING:
    from sgtb.linking.linker import Linker

SHORT = 500
"""Characters of a text whose table has room for reasons."""

app = typer.Typer(add_completion=False, rich_markup_mode="rich")


@app.command()
def link(
    inputs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TEXT|FILE|-]…",
            show_default=False,
            help="Texts, or files of UTF-8, plain or packed with gzip or bzip2; - is standard "
            "input. A .jsonl file has a document a line.",
        ),
    ] = None,
    model: Model = None,
    kb: Kb = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a JSON object for each document, on a line.")
    ] = False,
    html: Annotated[
        str | None,
        typer.Option(
            "--html",
            metavar="FILE",
            show_default=False,
            help="Write a page to look at, which needs no network; - prints it.",
        ),
    ] = None,
    lines: Annotated[
        bool, typer.Option("--lines", help="Every line of an input is a document.")
    ] = False,
    jsonl: Annotated[
        bool, typer.Option("--jsonl", help="Inputs are JSON Lines, whatever their names.")
    ] = False,
    as_text: AsText = False,
    reasons: Annotated[
        bool | None,
        typer.Option(
            "--reasons/--no-reasons",
            show_default=False,
            help="Whether to give reasons. By default, but not in tables of long texts or of many.",
        ),
    ] = None,
    candidates: Annotated[
        int, typer.Option("--candidates", metavar="N", min=1, help="Candidates given per mention.")
    ] = 5,
    jobs: Annotated[
        int, typer.Option("--jobs", metavar="N", min=1, max=256, help="Processes to link with.")
    ] = 1,
    fuzzy: Fuzzy = False,
    spacy: Annotated[
        str | None,
        typer.Option(
            "--spacy",
            metavar="MODEL",
            show_default=False,
            help="Mentions are the entities that a pipeline of spaCy finds.",
        ),
    ] = None,
    min_link_probability: MinLinkProbability = MIN_LINK_PROBABILITY,
    any_case: AnyCase = False,
    nil: Nil = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print links only.")] = False,
) -> None:
    """Find the names in texts, and tell which entities they mean.

    All names of a document are decided together. An argument is a text, unless a file has its
    name. Objects of JSON Lines have a text, and may have an id and mentions, each with start and
    end in characters, and as you like "fixed", the id it means, or "candidates", a list of ids.

    \b
    Examples:
      sgtb link "Jordan won six rings with the Bulls."
      sgtb link article.txt --html article.html
      sgtb link news.jsonl --json --jobs 2 > links.jsonl
      zcat news.txt.gz | sgtb link - --lines --json
      sgtb link article.txt --model news.model --kb simple
    """  # fmt: skip
    check_pair(model, kb)
    if html == STANDARD_INPUT and as_json:
        raise typer.BadParameter("--html - and --json would be mixed; write the page to a file")
    sources = _sources(inputs or [], lines, jsonl, as_text)
    single = len(sources) == 1 and sources[0].single
    settings = linker_settings(candidates, False, fuzzy, any_case, min_link_probability, nil)
    requests = read_requests(sources, settings.max_characters)
    if single:  # read before anything is loaded: what cannot be read is said at once
        first = next(requests)
        requests = iter([first])
    if reasons is None:
        reasons = as_json or html is not None or (single and len(first.request.text) <= SHORT)
    settings = replace(settings, reasons=reasons)
    if spacy is not None:
        requests = _with_spacy(spacy, requests)
    counter = Counter(quiet or single)
    with open_linker(model, kb, settings) as linker:
        documents = counter.passing(_linked(linker, requests, jobs))
        if html is not None:
            _write_page(html, _printed(documents) if as_json else documents, linker)
        elif as_json:
            for _ in _printed(documents):
                pass
        else:
            for document in documents:
                print_links(document, reasons, heading=not single)
                sys.stdout.flush()
    if not quiet:
        _say_end(counter, html)


def _sources(inputs: list[str], lines: bool, jsonl: bool, as_text: bool) -> list[Source]:
    if not inputs:
        raise typer.BadParameter("give a text, a file, or - for standard input")
    if lines + jsonl + as_text > 1:
        raise typer.BadParameter("only one of --lines, --jsonl and --text")
    if inputs.count(STANDARD_INPUT) > 1 and not as_text:
        raise typer.BadParameter("standard input can be read once")
    form: Form = "lines" if lines else "jsonl" if jsonl else "whole"
    return texts_of(inputs) if as_text else sources_of(inputs, form)


def _linked(linker: "Linker", requests: Iterable[Placed], jobs: int) -> Iterator[LinkedDocument]:
    """Link one after the other; what comes before an error is linked, and the error has a place."""
    waiting: deque[Placed] = deque()  # a linker reads ahead

    def noted() -> Iterator[Request]:
        for placed in requests:
            waiting.append(placed)
            yield placed.request

    try:
        for document in linker.pipe(noted(), jobs=jobs):
            waiting.popleft()
            yield document
    except RequestError:
        for placed in waiting:
            try:
                yield linker.link(placed.request)
            except RequestError as error:
                raise InputError(f"{placed.place}: {error}") from None
        raise


def _with_spacy(name: str, requests: Iterable[Placed]) -> Iterator[Placed]:
    """Give requests the mentions of a spaCy pipeline, unless they have their own."""
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
    """Print documents as JSON on their way."""
    for document in documents:
        print_json(document.to_dict())
        yield document


def _write_page(target: str, documents: Iterable[LinkedDocument], linker: "Linker") -> None:
    kb = linker.kb

    def describe(id: str) -> str:
        number = kb.number(id)
        return "" if number is None else kb.description_of(number)

    with _page_file(target) as file:
        for part in page_parts(documents, describe):
            file.write(part.encode())
            file.flush()


@contextmanager
def _page_file(target: str) -> Iterator[BinaryIO]:
    if target == STANDARD_INPUT:
        yield sys.stdout.buffer
        return
    if Path(target).is_dir():
        raise InputError(f"{target}: this is a folder; name a file")
    with replacing(target) as file:
        yield file


def _say_end(counter: Counter, html: str | None) -> None:
    if html is not None and html != STANDARD_INPUT:
        print(f"{html}: {counter.sum}", file=sys.stderr)
    if not counter.links:
        print("no mentions found", file=sys.stderr)
