"""The command `sgtb tune`: hyperparameter search for a linker."""

import re
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from sgtb.cli import options, train_options
from sgtb.cli.commands.train import dev_accuracy, grow, prepare_given, report
from sgtb.cli.linker_options import print_json
from sgtb.cli.train_input import TrainingOptions, check_output, from_files, say
from sgtb.cli.views.progress_views import StageProgress
from sgtb.cli.views.train_view import choice_line, outcome_line, print_model, print_trials

if TYPE_CHECKING:
    from sgtb.boosting.training_progress import TrainingProgress
    from sgtb.linking.training.tuning import Outcome, Trial

app = typer.Typer(add_completion=False, rich_markup_mode=None)
_SECONDS = {"s": 1, "m": 60, "h": 3600}


@app.command()
def tune(
    output: Path = train_options.OUTPUT,
    kb: Path = train_options.KB_FOLDER,
    train: list[Path] | None = train_options.TRAIN_FILES,
    dev: list[Path] | None = train_options.DEV_FILES,
    budget: str = typer.Option(
        "10m",
        metavar="TIME",
        help="Time of the search, trials of earlier runs included: 90s, 10m, 2h.",
    ),
    trials: int | None = typer.Option(None, min=1, help="Maximum number of trials."),
    state: Path | None = typer.Option(
        None,
        metavar="FILE",
        dir_okay=False,
        show_default="MODEL.trials.jsonl",
        help="File of finished trials; an interrupted search continues from it.",
    ),
    format: str | None = train_options.FORMAT_NAME,
    on_error: str = options.ON_ERROR,
    min_leaf: int | None = train_options.MIN_LEAF,
    folds: int | None = train_options.FOLDS,
    without: list[str] | None = train_options.WITHOUT,
    vectors: str = train_options.VECTORS,
    nil_precision: float | None = train_options.NIL_PRECISION,
    seed: int = train_options.SEED,
    threads: int | None = train_options.THREADS,
    as_json: bool = options.AS_JSON,
    quiet: bool = options.QUIET,
) -> None:
    """Try several training settings, and keep those that link best.

    Searches for plan, beam, depth, η and number of trees, judged on dev documents, and starts with
    the defaults of `sgtb train`. Prints all trials with 95 % intervals, and writes a model trained
    with the best settings; of those that dev cannot tell apart, with the simplest. An interrupted
    search continues where it stopped.

    \b
    Examples:
      sgtb tune --kb my.kb --train train.jsonl -o my.model --budget 10m
      sgtb tune --kb my.kb --train train.jsonl -o my.model --trials 20
    """
    begin = time.perf_counter()
    if not train:
        raise typer.BadParameter("give training documents: --train FILE")
    seconds = seconds_of(budget)
    state = output.with_name(f"{output.name}.trials.jsonl") if state is None else state
    check_output(output, state)
    wanted = TrainingOptions(
        min_leaf=min_leaf, folds=folds, without=tuple(without or ()), nil_precision=nil_precision,
        seed=seed, threads=threads,
    )  # fmt: skip
    from sgtb.kb.knowledge_base import KnowledgeBase
    from sgtb.linking.training.tuning import Budget, TrialFile, simplest_of, tune_linker

    with KnowledgeBase.open(kb) as opened:
        handler = options.DocumentErrors(on_error)
        given = from_files(opened, train, dev or (), format, seed, quiet, handler)
        handler.print()
        settings = wanted.settings(given)
        prepared = prepare_given(opened, given, settings, vectors, quiet)
        outcomes: list[Outcome] = []
        with StageProgress(quiet) as progress:

            def watch(trial: "Trial", done: "TrainingProgress") -> None:
                progress(str(trial), done.n_trees, done.n_trees_wanted)

            limits = Budget(seconds, trials)
            for outcome in tune_linker(prepared, settings, limits, TrialFile(state), watch):
                outcomes.append(outcome)
                progress.end_stage(outcome_line(len(outcomes), outcome))
        best = simplest_of(outcomes)
        say(choice_line(outcomes, best), quiet)
        chosen = best.trial.settings(settings)
        given.origin["tuned"] = {"trials": len(outcomes), "seed": seed}
        model = grow(prepared, chosen, given, None, quiet)
        model.save(output)
        dev_result = dev_accuracy(opened, model, given)
        result = report(output, model, dev_result, given, prepared, time.perf_counter() - begin)
    if as_json:
        print_json({**result, "trials": [asdict(one) for one in outcomes], "state": str(state)})
        return
    print_trials(outcomes, best)
    print_model(result)


def seconds_of(written: str) -> float:
    """Return a time such as 90s, 10m or 1.5h in seconds."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smh])", written.strip())
    if found is None or not float(found[1]):
        raise typer.BadParameter(f"{written!r} is not a time; write 90s, 10m or 2h")
    return float(found[1]) * _SECONDS[found[2]]
