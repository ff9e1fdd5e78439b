"""The commands `sgtb learner …`: train, apply and inspect the learner."""

import dataclasses
from pathlib import Path
from typing import Annotated, Any, cast

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from sgtb.boosting import (
    PLANS,
    Decoding,
    Problems,
    SearchPlan,
    StructuredGradientBoosting,
    TrainingSettings,
    TreeSettings,
)
from sgtb.boosting.model_file import Model
from sgtb.boosting.search.beam import PlanName
from sgtb.boosting.trainer import accuracy_of
from sgtb.cli import options, train_options
from sgtb.cli.linker_options import print_json
from sgtb.cli.train_input import check_output, fit_on
from sgtb.cli.views.train_view import number_table

app = typer.Typer(
    no_args_is_help=True,
    help="Use the learner without texts, on arrays of your own.",
    rich_markup_mode=None,
)

_PLAN, _TREES, _TRAINING = SearchPlan(), TreeSettings(), TrainingSettings()
_NAMES = ", ".join(PLANS)


# Options that several commands have.
BeamWidth = Annotated[int, typer.Option(help="Beam width.")]
Trees = Annotated[int, typer.Option(help="Maximum number of trees.")]
LearningRate = Annotated[float, typer.Option(help="Learning rate.")]
Depth = Annotated[int, typer.Option(help="Depth of the trees.")]
MinLeaf = Annotated[int, typer.Option(help="Minimum rows of a leaf.")]
CheckEvery = Annotated[int, typer.Option(help="Trees between two evaluations.")]
Patience = Annotated[
    int | None, typer.Option(help="Stop after this many evaluations without a better dev accuracy.")
]
ModelFile = Annotated[Path, typer.Argument(help="A model file.", show_default=False)]
ProblemsFile = Annotated[Path, typer.Argument(help="A problems file.", show_default=False)]


@app.command()
def train(
    problems: Annotated[list[Path], typer.Argument(help="Problems files.", show_default=False)],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The model file to write.", show_default=False)
    ],
    dev: Annotated[
        list[Path] | None, typer.Option(help="Problems file that selects the number of trees.")
    ] = None,
    plan: Annotated[str, typer.Option(help=f"One of {_NAMES}.")] = _PLAN.name,
    beam_width: BeamWidth = _PLAN.beam_width,
    rounds: Annotated[
        int, typer.Option(help="Pairs of forward and backward passes; bibsg only.")
    ] = _PLAN.rounds,
    trees: Trees = _TRAINING.n_trees,
    learning_rate: LearningRate = _TREES.learning_rate,
    depth: Depth = _TREES.depth,
    min_leaf: MinLeaf = _TREES.min_leaf,
    l2: Annotated[float, typer.Option(help="L2 regularisation of leaf values.")] = _TREES.l2,
    feature_share: Annotated[
        float, typer.Option(help="Share of features drawn per tree.")
    ] = _TREES.feature_share,
    seed: Annotated[int, typer.Option(help="Random seed.")] = _TRAINING.seed,
    check_every: CheckEvery = _TRAINING.check_every,
    patience: Patience = _TRAINING.patience,
    threads: train_options.Threads = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="Save progress in this file; an interrupted training continues from it."),
    ] = None,
    cluster: train_options.Cluster = None,
    quiet: options.Quiet = False,
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
def predict(model: ModelFile, problems: ProblemsFile, as_json: options.AsJson = False) -> None:
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
        print_json(_decoding_json(decoding, accuracy))
        return
    print(
        f"{documents.n_documents:,} documents, {documents.n_mentions:,} mentions, "
        f"{documents.n_candidates:,} candidates"
    )
    print(
        f"accuracy {accuracy:.2%}" if accuracy is not None else "accuracy unknown: no gold choices"
    )


@app.command()
def info(model: ModelFile, as_json: options.AsJson = False) -> None:
    """Show the contents of a model file.

    \b
    Examples:
      sgtb learner info bsg.model
      sgtb learner info bsg.model --json
    """
    record = _model_json(StructuredGradientBoosting.load(model).model, model)
    if as_json:
        print_json(record)
        return
    history = record.pop("history")
    console = Console()
    console.print(_info_table(record))
    console.print(_history_table(history))


def _decoding_json(decoding: Decoding, accuracy: float | None) -> dict[str, Any]:
    parts = [decoding.document(d) for d in range(len(decoding.mention_offsets) - 1)]
    return {
        "accuracy": accuracy,
        "documents": [
            {
                "choices": part.choices.tolist(),
                "probability": np.round(part.probability, 6).tolist(),
            }
            for part in parts
        ],
    }


def _model_json(model: Model, path: Path) -> dict[str, Any]:
    return {
        "file": str(path),
        "bytes": path.stat().st_size,
        "n_trees": model.forest.n_trees,
        "n_nodes": len(model.forest.feature),
        "n_local": model.n_local,
        "n_pair": model.n_pair,
        "plan": dataclasses.asdict(model.plan),
        "trees": dataclasses.asdict(model.trees),
        "history": [check._asdict() for check in model.checks],
    }


def _info_table(record: dict[str, Any]) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False)
    for key, value in record.items():
        fields = value.items() if isinstance(value, dict) else ()
        text = ", ".join(f"{name} {field}" for name, field in fields) or str(value)
        table.add_row(key, text)
    return table


def _history_table(history: list[dict[str, Any]]) -> Table:
    table = number_table("trees", "train accuracy", "dev accuracy")
    for check in history:
        dev = check["dev_accuracy"]
        table.add_row(
            str(check["n_trees"]),
            f"{check['train_accuracy']:.2%}",
            "-" if dev is None else f"{dev:.2%}",
        )
    return table
