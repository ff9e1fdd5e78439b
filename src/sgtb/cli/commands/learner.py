"""The commands `sgtb learner …`: train, apply and inspect the learner."""

import dataclasses
from pathlib import Path
from typing import Any, cast

import numpy as np
import typer
from rich.table import Table

from sgtb.boosting import (
    PLANS,
    Problems,
    SearchPlan,
    StructuredGradientBoosting,
    TrainingSettings,
    TreeSettings,
)
from sgtb.boosting.search.beam import PlanName
from sgtb.boosting.trainer import accuracy_of
from sgtb.cli import options, train_options
from sgtb.cli.linker_options import print_json
from sgtb.cli.train_input import check_output, fit_on
from sgtb.cli.views.link_view import open_console
from sgtb.cli.views.train_view import number_table

app = typer.Typer(
    no_args_is_help=True,
    help="Use the learner without texts, on arrays of your own.",
    rich_markup_mode=None,
)

_PLAN, _TREES, _TRAINING = SearchPlan(), TreeSettings(), TrainingSettings()
_NAMES = ", ".join(PLANS)

MODEL_FILE = typer.Argument(..., help="A model file.", show_default=False)


@app.command()
def train(
    problems: list[Path] = typer.Argument(..., help="Problems files.", show_default=False),
    output: Path = typer.Option(
        ..., "--output", "-o", help="The model file to write.", show_default=False
    ),
    dev: list[Path] | None = typer.Option(
        None, help="Problems file that selects the number of trees."
    ),
    plan: str = typer.Option(_PLAN.name, help=f"One of {_NAMES}."),
    beam_width: int = typer.Option(_PLAN.beam_width, help="Beam width."),
    rounds: int = typer.Option(
        _PLAN.rounds, help="Pairs of forward and backward passes; bibsg only."
    ),
    trees: int = typer.Option(_TRAINING.n_trees, help="Maximum number of trees."),
    learning_rate: float = typer.Option(_TREES.learning_rate, help="Learning rate."),
    depth: int = typer.Option(_TREES.depth, help="Depth of the trees."),
    min_leaf: int = typer.Option(_TREES.min_leaf, help="Minimum rows of a leaf."),
    l2: float = typer.Option(_TREES.l2, help="L2 regularisation of leaf values."),
    feature_share: float = typer.Option(
        _TREES.feature_share, help="Share of features drawn per tree."
    ),
    seed: int = typer.Option(_TRAINING.seed, help="Random seed."),
    check_every: int = typer.Option(_TRAINING.check_every, help="Trees between two evaluations."),
    patience: int | None = typer.Option(
        _TRAINING.patience, help="Stop after this many evaluations without a better dev accuracy."
    ),
    threads: int | None = train_options.THREADS,
    checkpoint: Path | None = typer.Option(
        None, help="Save progress in this file; an interrupted training continues from it."
    ),
    cluster: str | None = train_options.CLUSTER,
    quiet: bool = options.QUIET,
) -> None:
    """Train the learner on a file of choices and features.

    With --cluster the files are read by the workers only, each of which holds some of them.

    \b
    Examples:
      sgtb learner train train.problems -o bsg.model
      sgtb learner train train.problems -o bsg.model --dev dev.problems
      sgtb learner train train.problems -o bibsg.model --plan bibsg
      sgtb learner train train.problems -o bsg.model --checkpoint state
      sgtb learner train 1.problems 2.problems -o bsg.model --cluster local:2
    """
    check_output(output, checkpoint)
    model = StructuredGradientBoosting(
        SearchPlan(cast(PlanName, plan), beam_width, rounds),
        TreeSettings(learning_rate, depth, min_leaf, l2, feature_share=feature_share),
        TrainingSettings(trees, check_every, patience, threads, seed=seed),
    )
    # Workers read the files themselves.
    documents, held_out = (
        files if cluster else [Problems.load(file) for file in files]
        for files in (problems, dev or [])
    )
    with fit_on(cluster) as fit:
        fit(model, documents, held_out or None, checkpoint=checkpoint, progress=not quiet)
    model.save(output)
    kept = model.model.forest.n_trees
    check = next(check for check in model.history if check.n_trees == kept)
    found = f", dev accuracy {check.dev_accuracy:.2%}" if check.dev_accuracy is not None else ""
    print(f"{output}: {plan}, {kept} trees{found}")


@app.command()
def predict(
    model: Path = MODEL_FILE,
    problems: Path = typer.Argument(..., help="A problems file.", show_default=False),
    as_json: bool = options.AS_JSON,
) -> None:
    """Apply a trained learner to a file of choices and features.

    Prints the accuracy if the file has gold choices. With --json also every choice, an index within
    its mention (-1: no candidates), and its probability.

    \b
    Examples:
      sgtb learner predict bsg.model test.problems
      sgtb learner predict bsg.model test.problems --json > choices.json
    """
    documents = Problems.load(problems)
    decoding = StructuredGradientBoosting.load(model).decode(documents)
    known = bool((documents.gold >= 0).any())
    accuracy = accuracy_of(decoding.choices, documents) if known else None
    if as_json:
        parts = [decoding.document(d) for d in range(len(decoding.mention_offsets) - 1)]
        print_json({
            "accuracy": accuracy,
            "documents": [
                {
                    "choices": part.choices.tolist(),
                    "probability": np.round(part.probability, 6).tolist(),
                }
                for part in parts
            ],
        })  # fmt: skip
        return
    print(
        f"{documents.n_documents:,} documents, {documents.n_mentions:,} mentions, "
        f"{documents.n_candidates:,} candidates"
    )
    print(
        f"accuracy {accuracy:.2%}" if accuracy is not None else "accuracy unknown: no gold choices"
    )


@app.command()
def info(model: Path = MODEL_FILE, as_json: bool = options.AS_JSON) -> None:
    """Show the contents of a model file.

    \b
    Examples:
      sgtb learner info bsg.model
      sgtb learner info bsg.model --json
    """
    found = StructuredGradientBoosting.load(model).model
    record: dict[str, Any] = {
        "file": str(model),
        "bytes": model.stat().st_size,
        "n_trees": found.forest.n_trees,
        "n_nodes": len(found.forest.feature),
        "n_local": found.n_local,
        "n_pair": found.n_pair,
        "plan": dataclasses.asdict(found.plan),
        "trees": dataclasses.asdict(found.trees),
        "history": [check._asdict() for check in found.checks],
    }
    if as_json:
        print_json(record)
        return
    history = record.pop("history")
    table = Table(box=None, show_header=False, pad_edge=False)
    for key, value in record.items():
        fields = value.items() if isinstance(value, dict) else ()
        table.add_row(key, ", ".join(f"{name} {field}" for name, field in fields) or str(value))
    checks = number_table("trees", "train accuracy", "dev accuracy")
    for check in history:
        dev = "-" if check["dev_accuracy"] is None else f"{check['dev_accuracy']:.2%}"
        checks.add_row(str(check["n_trees"]), f"{check['train_accuracy']:.2%}", dev)
    open_console().print(table, checks)
