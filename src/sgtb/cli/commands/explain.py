"""The command `sgtb explain`: the candidates and reasons of one mention."""

from pathlib import Path

import typer

from sgtb.cli import options
from sgtb.cli.link_input import read_requests, source_of
from sgtb.cli.linker_options import check_pair, describer, linker_settings, open_linker, print_json
from sgtb.cli.views.explain_view import print_explanation
from sgtb.cli.views.link_view import printable
from sgtb.core.errors import RequestError
from sgtb.linking.links import Link, LinkedDocument

_ALL_CANDIDATES = 1000
_MAX_LISTED = 20

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def explain(
    text: str = typer.Argument(
        ..., metavar="TEXT|FILE|-", help="A text, a file, or - for standard input."
    ),
    mention: str | None = typer.Argument(
        None, metavar="[MENTION]", help="The mention, as in the text."
    ),
    at: int | None = typer.Option(
        None,
        metavar="CHARACTER",
        min=0,
        help="Character offset of the mention, if it occurs several times.",
    ),
    model: Path | None = options.MODEL,
    kb: Path | None = options.KB,
    as_text: bool = options.AS_TEXT,
    fuzzy: bool | None = options.FUZZY,
    any_case: bool = options.ANY_CASE,
    min_link_probability: float = options.MIN_LINK_PROBABILITY,
    nil: float | None = options.NIL,
    as_json: bool = options.AS_JSON,
) -> None:
    """Show why one name was linked as it was: all candidates and reasons.

    Reasons compare the chosen candidate with the runner-up; their values add up to the difference
    of the scores.

    \b
    Examples:
      sgtb explain "Jordan won six rings with the Bulls." Jordan
      sgtb explain article.txt Paris
      sgtb explain article.txt --at 120 --json
    """
    check_pair(model, kb)
    if mention is None and at is None:
        raise typer.BadParameter("give a mention, or its offset with --at")
    source = source_of(text, None if as_text else "whole")
    if not source.single:
        raise typer.BadParameter(f"{text} has several documents; give the text of one")
    settings = linker_settings(_ALL_CANDIDATES, True, fuzzy, any_case, min_link_probability, nil)
    placed = next(read_requests([source], settings.max_characters))
    with open_linker(model, kb, settings) as linker:
        document = linker.link(placed.request)
        link = _the_link(document, mention, at)
        ids = [link.entity or "", *(other.entity for other in link.candidates)]
        about = {id: describer(linker.kb)(id) for id in dict.fromkeys(ids)}
    if as_json:
        record = link.to_dict()
        for other in record["candidates"]:
            other["description"] = about.get(other["entity"], "")
        print_json(record)
    else:
        print_explanation(document, link, about)


def _the_link(document: LinkedDocument, mention: str | None, at: int | None) -> Link:
    """Return the wanted link: the first, preferably with equal case."""
    here = [link for link in document.links if at is None or link.start <= at < link.end]
    if mention is not None:
        exact = [link for link in here if link.text == mention]
        here = exact or [link for link in here if link.text.casefold() == mention.casefold()]
    if here:
        return here[0]
    wanted = [] if mention is None else [repr(printable(mention))]
    if at is not None:
        wanted.append(f"at character {at}")
    shown = [f"{printable(link.text)!r} at {link.start}" for link in document.links[:_MAX_LISTED]]
    more = len(document.links) - len(shown)
    has = f"{', '.join(shown) or 'none'}{f' and {more:,} more' if more else ''}"
    raise RequestError(f"no mention {' '.join(wanted)}; the text has {has}")
