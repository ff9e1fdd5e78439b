"""The commands `python -m experiments …`: the paper's experiments on real data."""

import json
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from experiments import aida_linker, aida_linker_report, starter_report, wned_report
from experiments import sample as sample_run
from experiments import starter as starter_run
from experiments import wned as wned_run
from experiments.aida import PAPER, SYSTEMS, as_json, checked_plans, run_aida, unwatched
from experiments.aida_data import AidaData, Packer, default_cache, silent
from experiments.aida_report import write_report
from experiments.confidence_command import confidence
from experiments.linker_cache import LinkerCache
from experiments.links_command import links
from experiments.settings_search import TRIALS, Outcome, TopicFolds
from sgtb.boosting import PLANS
from sgtb.boosting.search.plan import PlanName
from sgtb.boosting.training_progress import Callback, TrainingBar
from sgtb.cli.main import CleanGroup
from sgtb.core.errors import SettingsError
from sgtb.formats.codecs.wned_corpus import read_wned
from sgtb.kb.knowledge_base import KnowledgeBase

app = typer.Typer(
    cls=CleanGroup,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="The paper's experiments on real data, from the raw files to its tables.",
    rich_markup_mode="rich",
)

_ALL = ",".join(PLANS)
Data = Annotated[
    Path,
    typer.Option(
        "--data", exists=True, file_okay=False, show_default=False,
        help="The folder that holds aida/, pprforned/ and wned.tar.xz.",
    ),
]  # fmt: skip
Plans = Annotated[str, typer.Option(help="Plans to train, with commas.")]
Seeds = Annotated[int, typer.Option(min=1, max=100, help="How often to train each plan.")]
Cache = Annotated[
    Path | None,
    typer.Option(help="Where packed features are kept.", show_default="~/.cache/sgtb"),
]
NoCache = Annotated[bool, typer.Option("--no-cache", help="Neither read nor write the cache.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]


@app.command()
def aida(
    data: Data,
    plans: Plans = _ALL,
    seeds: Seeds = 1,
    out: Annotated[
        Path | None,
        typer.Option(
            file_okay=False,
            help="A folder for Markdown, JSON and figures; also trains without each feature group.",
        ),
    ] = None,
    cache: Cache = None,
    no_cache: NoCache = False,
    as_json_: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Train and test the paper's systems on AIDA-CoNLL: its Table 2 beside ours.

    Candidates are those of PPRforNED. A seed decides the folds and draws in training. Dev
    chooses how many trees are kept; test is looked at last.

    \b
    Examples:
      python -m experiments aida --data data
      python -m experiments aida --data data --plans bibsg --seeds 3 --json
      python -m experiments aida --data data --seeds 3 --out report
    """
    chosen = checked_plans([name.strip() for name in plans.split(",") if name.strip()])
    say = silent if quiet else _say
    corpus = AidaData.read(data, say)
    packer = Packer(corpus, None if no_cache else cache or default_cache(), say)
    watch = unwatched if quiet else _watch
    result = run_aida(corpus, packer, chosen, seeds, watch, ablation=out is not None)
    record = as_json(result, _peak_bytes())
    if out is not None:
        write_report(result, record, out)
        say(f"written: {out}")
    if as_json_:
        print(json.dumps(record, indent=2))
    else:
        _print_table_2(record)


@app.command()
def search(
    data: Data,
    trials: Annotated[
        str,
        typer.Option(help="Trials to run, with semicolons; all by default.", show_default=False),
    ] = "",
    as_json_: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Repeat the search that chose the settings: held-out topics of AIDA's train and dev.

    Each trial changes one thing. AIDA-test takes no part.

    \b
    Examples:
      python -m experiments search --data data
      python -m experiments search --data data --trials "as chosen;depth 3" --json
    """
    names = [name.strip() for name in trials.split(";") if name.strip()] or list(TRIALS)
    for name in names:
        if name not in TRIALS:
            raise SettingsError(f"there is no trial {name!r}; there are {'; '.join(TRIALS)}")
    say = silent if quiet else _say
    folds = TopicFolds(AidaData.read(data, say), say=say)
    outcomes = []
    for name in names:
        outcomes.append(folds.run(name, TRIALS[name]))
        say(f"{name}: {100 * outcomes[-1].accuracy:.2f}")
    if as_json_:
        print(json.dumps([outcome.as_json() for outcome in outcomes], indent=2))
    else:
        Console().print(_search_table(outcomes))


def _search_table(outcomes: Sequence[Outcome]) -> Table:
    table = Table(title="In-KB accuracy on held-out topics, AIDA train and dev", box=box.SIMPLE)
    table.add_column("trial")
    for head in ("accuracy", "folds", "seconds"):
        table.add_column(head, justify="right")
    for outcome in outcomes:
        folds = "  ".join(f"{100 * fold:.2f}" for fold in outcome.folds)
        table.add_row(
            outcome.name, f"{100 * outcome.accuracy:.2f}", folds, f"{outcome.seconds:.0f}"
        )
    return table


@app.command()
def wned(
    data: Data,
    kb: Annotated[
        str,
        typer.Option(help="Where candidates come from; today pprforned.", show_default=False),
    ],
    plans: Plans = "bsg",
    seeds: Seeds = 1,
    out: Annotated[
        Path | None, typer.Option(file_okay=False, help="A folder for Markdown and JSON.")
    ] = None,
    as_json_: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Train on AIDA-CoNLL and test on WNED's five sets: the paper's Table 3 beside ours.

    Candidates are found by name among the entities of the knowledge base. That of today,
    pprforned, lacks most of what WNED's mentions mean; the table says how much.

    \b
    Examples:
      python -m experiments wned --data data --kb pprforned
      python -m experiments wned --data data --kb pprforned --plans local,bsg --seeds 3 --json
      python -m experiments wned --data data --kb pprforned --out report
    """
    wned_run.check_kb(kb)
    chosen = _named_plans(plans)
    say = silent if quiet else _say
    watch = unwatched if quiet else _watch
    corpora = read_wned(data / "wned.tar.xz")
    corpus = AidaData.read(data, say)
    packer = Packer(corpus, None, say)
    result = wned_run.run_wned(corpus, packer, corpora, chosen, seeds, watch, say)
    record = wned_run.as_json(result, _peak_bytes())
    if out is not None:
        wned_report.write_report(record, out)
        say(f"written: {out}")
    if as_json_:
        print(json.dumps(record, indent=2))
    else:
        _print_wned(record)


@app.command()
def linker(
    data: Data,
    plan: Annotated[str, typer.Option(help="The plan to train.")] = "bsg",
    seed: Annotated[int, typer.Option(min=0, help="Decides folds and draws in training.")] = 0,
    trees: Annotated[
        int | None,
        typer.Option(min=1, help="Trees at most.", show_default="as reproduce aida"),
    ] = None,
    kb: Annotated[
        Path | None,
        typer.Option(
            exists=True,
            file_okay=False,
            help="A knowledge base built from PPRforNED; without it one is kept in the cache.",
        ),
    ] = None,
    cache: Cache = None,
    as_json_: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Train linkers on AIDA-CoNLL and link its test set, beside `python -m experiments aida`.

    With the candidates of PPRforNED both should decide alike. Stated apart: candidates looked
    up by name in the knowledge base. It and the models are kept in the cache.

    \b
    Examples:
      python -m experiments linker --data data
      python -m experiments linker --data data --plan local --seed 1 --json
    """
    (chosen,) = checked_plans([plan])
    say = silent if quiet else _say
    corpus = AidaData.read(data, say)
    folder = cache or default_cache()
    kept = LinkerCache(folder, say)
    opened = KnowledgeBase.open(kb) if kb is not None else kept.kb(corpus)
    with opened:
        result = aida_linker.run_linker(
            corpus, Packer(corpus, folder, say), kept, opened,
            aida_linker.Trial(chosen, seed, trees), unwatched if quiet else _watch, say,
        )  # fmt: skip
    record = aida_linker_report.as_json(result, _peak_bytes())
    if as_json_:
        print(json.dumps(record, indent=2))
    else:
        _print_linker(record)


@app.command()
def sample(data: Data, plans: Plans = "local,bsg,bibsg", as_json_: AsJson = False) -> None:
    """Train and test on the paper's own features of 40 documents: a test of their format.

    The first 30 documents train, the last 10 test. They are too few to tell plans apart.

    \b
    Examples:
      python -m experiments sample --data data
      python -m experiments sample --data data --plans bs,laso --json
    """
    chosen = _named_plans(plans)
    documents = sample_run.read_sample(data)
    record = sample_run.as_json(sample_run.run_sample(documents, chosen))
    if as_json_:
        print(json.dumps(record, indent=2))
    else:
        _print_sample(record)


@app.command()
def starter(
    plans: Plans = "local,bs,bsg,bibsg", as_json_: AsJson = False, quiet: Quiet = False
) -> None:
    """Measure the starter that comes with sgtb, beside other plans and what learns nothing.

    The starter is a small world of shared names, with a linker trained on it. Its test texts and
    contrast pairs take no part in training.

    \b
    Examples:
      python -m experiments starter
      python -m experiments starter --plans local,bsg --json
    """
    result = starter_run.run_starter(_named_plans(plans), unwatched if quiet else _watch)
    record = starter_run.as_json(result, _peak_bytes())
    if as_json_:
        print(json.dumps(record, indent=2))
    else:
        _print_starter(record)


app.command()(confidence)
app.command()(links)


def _named_plans(plans: str) -> tuple[PlanName, ...]:
    return checked_plans([name.strip() for name in plans.split(",") if name.strip()])


def _print_table_2(record: dict[str, Any]) -> None:
    table = Table(title="In-KB accuracy, AIDA-CoNLL, PPRforNED's candidates", box=box.SIMPLE)
    table.add_column("system")
    table.add_column("plan")
    for head in ("paper, test", "test", "dev", "trees", "seconds"):
        table.add_column(head, justify="right")
    for plan, system in record["systems"].items():
        table.add_row(
            SYSTEMS[plan], plan, f"{PAPER[plan]:.1f}" if plan in PAPER else "–",
            *(f"{system[s]['mean']:.2f} ± {system[s]['std']:.2f}" for s in ("test", "dev")),
            "/".join(map(str, system["trees"])), f"{system['seconds']:.0f}",
        )  # fmt: skip
    console = Console()
    console.print(table)
    for d in record["differences"]:
        console.print(
            f"{d['from']} → {d['to']}: {d['points']:+.2f} points on test, "
            f"95 % interval {d['low']:+.2f} to {d['high']:+.2f}",
            highlight=False,
        )
    console.print(
        f"{record['seeds']} seed(s), packing {record['packing_seconds']:.0f} s, "
        f"all {record['seconds']:.0f} s, {record['peak_megabytes']} MB",
        highlight=False,
    )


def _print_wned(record: dict[str, Any]) -> None:
    console = Console()
    for title, headings, rows in (
        ("What the knowledge base allows for", wned_report.SET_HEADINGS, wned_report.set_rows),
        ("Trained on AIDA-CoNLL", wned_report.SCORE_HEADINGS, wned_report.score_rows),
    ):
        # Half the usual padding, so that means with their spread fit in 80 columns.
        table = Table(title=title, box=box.SIMPLE, padding=(0, 0, 0, 1))
        for head in headings:
            table.add_column(head, justify="left" if head in ("set", "plan") else "right")
        for row in rows(record):
            table.add_row(*row)
        console.print(table)
    for note in wned_report.notes(record):
        console.print(note, highlight=False)


def _print_linker(record: dict[str, Any]) -> None:
    title = "In-KB accuracy, AIDA-CoNLL, trained on AIDA-train"
    table = Table(title=title, box=box.SIMPLE, padding=(0, 0, 0, 1))
    for i, head in enumerate(aida_linker_report.HEADINGS):
        table.add_column(head, justify="left" if i < 2 else "right")
    for row in aida_linker_report.rows(record):
        table.add_row(*row)
    console = Console()
    console.print(table)
    for note in aida_linker_report.notes(record):
        console.print(note, highlight=False)


def _print_starter(record: dict[str, Any]) -> None:
    table = Table(
        title="The starter: test and contrast pairs", box=box.SIMPLE, padding=(0, 0, 0, 1)
    )
    for i, head in enumerate(starter_report.HEADINGS):
        table.add_column(head, justify="right" if i else "left", no_wrap=True)
    for row in starter_report.rows(record):
        table.add_row(*row)
    console = Console()
    console.print(table)
    for note in starter_report.notes(record):
        console.print(note, highlight=False)


def _print_sample(record: dict[str, Any]) -> None:
    table = Table(title="In-KB accuracy, the paper's own features", box=box.SIMPLE)
    table.add_column("system")
    for head in ("test", "95 % interval", "seconds"):
        table.add_column(head, justify="right")
    baseline = record["baseline"]
    rows = {f"highest {baseline['feature']}": baseline, **record["systems"]}
    for name, row in rows.items():
        seconds = f"{row['seconds']:.1f}" if "seconds" in row else "–"
        likely = f"{row['low']:.1f} to {row['high']:.1f}"
        table.add_row(name, f"{row['accuracy']:.1f}", likely, seconds)
    console = Console()
    console.print(table)
    train, test = record["train"], record["test"]
    console.print(
        f"Trained on {train['documents']} documents with {train['mentions']} mentions, "
        f"{record['trees']} trees; tested on {test['documents']} with {test['mentions']}, of which "
        f"{test['recall']:.1f} % have their gold among the candidates. This tests the format: "
        "so few documents cannot tell plans apart.",
        highlight=False,
    )


def _watch(title: str) -> AbstractContextManager[Callback | None]:
    return TrainingBar(title)


def _say(message: str) -> None:
    print(f"sgtb: {message}", file=sys.stderr, flush=True)


def _peak_bytes() -> int:
    """Return the most memory this process has had; Linux counts it in kilobytes."""
    try:
        import resource
    except ImportError:  # Windows has no such module, and keeps the figure elsewhere
        import psutil

        return int(psutil.Process().memory_info().peak_wset)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
