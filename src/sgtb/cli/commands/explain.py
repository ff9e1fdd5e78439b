"""The command `sgtb explain`: the candidates and reasons of one mention."""

from typing import Annotated, Any

import typer

from sgtb.cli import options
from sgtb.cli.link_input import read_requests, sources_of, texts_of
from sgtb.cli.linker_options import check_pair, linker_settings, open_linker, print_json
from sgtb.cli.views.explain_view import print_explanation
from sgtb.cli.views.link_view import printable
from sgtb.core.errors import RequestError
from sgtb.linking.links import Link, LinkedDocument

_ALL_CANDIDATES = 1000
_MAX_LISTED = 20

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def explain(
    text: Annotated[
        str, typer.Argument(metavar="TEXT|FILE|-", help="A text, a file, or - for standard input.")
    ],
    mention: Annotated[
        str | None,
        typer.Argument(metavar="[MENTION]", help="The mention, as in the text."),
    ] = None,
    at: Annotated[
        int | None,
        typer.Option(
            metavar="CHARACTER", min=0,
            help="Character offset of the mention, if it occurs several times.",
        ),
    ] = None,
    model: options.Model = None,
    kb: options.Kb = None,
    as_text: options.AsText = False,
    fuzzy: options.Fuzzy = None,
    any_case: options.AnyCase = False,
    min_link_probability: options.MinLinkProbability = options.MIN_LINK_PROBABILITY,
    nil: options.Nil = None,
    as_json: options.AsJson = False,
) -> None:  # fmt: skip
    """Show why one name was linked as it was: all candidates and reasons.

    Reasons compare the chosen candidate with the runner-up; their values add up to the difference
    of the scores.

    \b
    Examples:
      sgtb explain "Jordan won six rings with the Bulls." Jordan
      sgtb explain article.txt Paris
      sgtb explain article.txt --at 120 --json
    """  # fmt: skip
    check_pair(model, kb)
    if mention is None and at is None:
        raise typer.BadParameter("give a mention, or its offset with --at")
    source = texts_of([text]) if as_text else sources_of([text], "whole")
    if not source[0].single:
        raise typer.BadParameter(f"{text} has several documents; give the text of one")
    settings = linker_settings(_ALL_CANDIDATES, True, fuzzy, any_case, min_link_probability, nil)
    placed = next(read_requests(source, settings.max_characters))
    with open_linker(model, kb, settings) as linker:
        document = linker.link(placed.request)
        link = _the_link(document, mention, at)
        about = {}
        for id in dict.fromkeys([link.entity, *(other.entity for other in link.candidates)]):
            number = None if id is None else linker.kb.number(id)
            if id is not None and number is not None:
                about[id] = linker.kb.description_of(number)
    if as_json:
        print_json(_as_json(link, about))
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
    raise RequestError(f"no mention {' '.join(wanted)}; {_found(document)}")


def _found(document: LinkedDocument) -> str:
    if not document.links:
        return "the text has none"
    shown = [f"{printable(link.text)!r} at {link.start}" for link in document.links[:_MAX_LISTED]]
    more = len(document.links) - len(shown)
    return f"the text has {', '.join(shown)}{f' and {more:,} more' if more else ''}"


def _as_json(link: Link, about: dict[str, str]) -> dict[str, Any]:
    record = link.to_dict()
    for other in record["candidates"]:
        other["description"] = about.get(other["entity"], "")
    return record
