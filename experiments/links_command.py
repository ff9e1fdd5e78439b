"""The command `python -m experiments links`: linkers that learned from a dump's own links."""

import json
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sgtb.boosting.training_progress import Callback, TrainingProgress
from sgtb.cli.views.stage_bars import Stages
from sgtb.cli.views.train_view import print_accuracy

if TYPE_CHECKING:
    from experiments.aida import Watch


def links(
    dumps: Annotated[
        list[Path],
        typer.Argument(metavar="DUMP…", exists=True, dir_okay=False, help="Wikipedia dumps."),
    ],
    plans: Annotated[str, typer.Option(help="Plans to train, with commas.")] = "local,bsg",
    turns: Annotated[
        int | None,
        typer.Option(
            min=1,
            show_default="all",
            help="How often to hold out other pages; all: until every page was tested with.",
        ),
    ] = None,
    hold_out: Annotated[
        float, typer.Option(min=0.05, max=0.9, help="Share of pages held out in a turn.")
    ] = 0.4,
    red_links: Annotated[
        int,
        typer.Option(
            min=0,
            help="Linked titles without a page are entities, if this many pages "
            "link them; 0: they are not.",
        ),
    ] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")] = False,
) -> None:
    """Learn from the links of a dump, and test on pages that nobody has seen.

    In every turn, other pages are held out of the knowledge base: half of them to learn from, a
    quarter to choose by, a quarter to test with. Prior and in-links learn nothing.

    \b
    Examples:
      python -m experiments links simplewiki.xml.bz2 --turns 1 --hold-out 0.05 --red-links 0
      python -m experiments links enwik8-prefix.xml.bz2
    """  # fmt: skip
    from experiments import dump_links as experiment
    from experiments.aida import checked_plans

    named = checked_plans([name.strip() for name in plans.split(",") if name.strip()])
    with Stages(quiet) as stages:
        result = experiment.run_links(
            dumps, plans=named, turns=turns, share=hold_out,
            red_links=red_links, progress=stages, watch=_watching(stages),
        )  # fmt: skip
    record = experiment.as_json(result)
    if as_json:
        print(json.dumps(record, indent=2))
        return
    print_accuracy("test", record)
    held = record["held_out"]
    print(
        f"{record['turns']} turns, in the first of them {held['train']} pages to learn from, "
        f"{held['dev']} to choose by, {held['test']} to test with; {record['seconds']:.0f} s"
    )


def _watching(stages: Stages) -> "Watch":
    """Show the trees of trainings as one more stage."""

    def watch(title: str) -> AbstractContextManager[Callback | None]:
        def tell(progress: TrainingProgress) -> None:
            stages(title, progress.n_trees, progress.n_trees_wanted)

        return nullcontext(tell)

    return watch
