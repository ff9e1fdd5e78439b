"""The report of the starter experiment: the rows of its table, and notes."""

from collections.abc import Iterator
from typing import Any

HEADINGS = ("system", "all", "ambiguous", "names", "pairs", "P", "R", "F1", "seconds")
NOTHING = "–"


def rows(record: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """Yield the scores of each system, under HEADINGS; the shipped one has a star."""
    for name, system in record["systems"].items():
        star = " *" if name == record["shipped"] else ""
        shares = (system[key] for key in ("mentions", "ambiguous", "names", "pairs"))
        found = (system["found"][key] for key in ("precision", "recall", "f1"))
        seconds = system["seconds"]
        yield (
            f"{name}{star}",
            *(f"{value:.1f}" for value in (*shares, *found)),
            NOTHING if seconds is None else f"{seconds:.1f}",
        )


def notes(record: dict[str, Any]) -> tuple[str, ...]:
    """Return notes on the table."""
    test, contrast = record["test"], record["contrast"]
    return (
        f"all, ambiguous: right of the {test['mentions']} mentions of {test['documents']} test "
        f"documents, and of the {test['ambiguous']} that have two candidates or more, in percent. "
        f"names, pairs: right of the {contrast['names']} mentions that carry the name of a "
        f"contrast pair, and of the {contrast['pairs']} pairs with all of them right. P, R, F1: "
        "of span and entity in the bare texts of test, mentions found by their names.",
        "prior: the candidate of the highest prior; in-links: with the most in-links; link vote: "
        "linked with candidates of most other mentions. They learn nothing. seconds: of training. "
        "*: what `sgtb link` uses where no model is named.",
        "half the links: trained and tested with half of the linked pairs, drawn at random. Links "
        "and texts were written together, which favours systems that use links.",
        f"{record['seconds']:.0f} s, {record['peak_megabytes']} MB.",
    )
