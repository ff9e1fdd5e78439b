"""The commands `sgtb learner …`: generate, train, predict, info, demo."""

import dataclasses
import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, cast

import numpy as np
import typer
from rich import box
from rich.console import Console
from rich.table import Table

from sgtb.cli.demo import DemoResult, DemoSettings, Watch, run_demo
from sgtb.cli.watch import DemoWatch
from sgtb.errors import ModelFileError
from sgtb.learn import (
    PLANS,
    Decoding,
    Problems,
    SearchPlan,
    StructuredGradientBoosting,
    TrainingSettings,
    TreeSettings,
)
from sgtb.learn.generated import CorpusShape, generate_splits
from sgtb.learn.model_file import Model
from sgtb.learn.plan import PlanName
from sgtb.learn.trainer import accuracy_of

app = typer.Typer(
    no_args_is_help=True,
    help="The structured learner: generate, train, predict, look inside.",
    rich_markup_mode="rich",
)

_PLAN, _TREES, _TRAINING, _SHAPE = SearchPlan(), TreeSettings(), TrainingSettings(), CorpusShape()
_DEMO = DemoSettings()
_NAMES = ", ".join(PLANS)


class Split(StrEnum):
    """A part of the generated corpus."""

    train = "train"
    dev = "dev"
    test = "test"


# Options that several commands have.
BeamWidth = Annotated[int, typer.Option(help="Hypotheses kept at each step.")]
Trees = Annotated[int, typer.Option(help="Trees to grow at most.")]
LearningRate = Annotated[float, typer.Option(help="Weight of each new tree.")]
Depth = Annotated[int, typer.Option(help="Levels of splits in a tree.")]
MinLeaf = Annotated[int, typer.Option(help="Fewest rows a leaf may have.")]
CheckEvery = Annotated[int, typer.Option(help="Trees between two checks.")]
Patience = Annotated[
    int | None, typer.Option(help="Stop after so many checks without a better dev accuracy.")
]
Threads = Annotated[
    int | None,
    typer.Option(help="Threads to use; all cores by default. The result is the same."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]
ModelFile = Annotated[Path, typer.Argument(help="A model file.", show_default=False)]
ProblemsFile = Annotated[Path, typer.Argument(help="A problems file.", show_default=False)]


@app.command()
def demo(
    seeds: Annotated[int, typer.Option(help="How many corpora to generate.")] = len(_DEMO.seeds),
    seed_first: Annotated[int, typer.Option(help="The seed of the first one.")] = _DEMO.seeds[0],
    plans: Annotated[str, typer.Option(help="Plans to train, with commas.")] = ",".join(PLANS),
    documents: Annotated[
        int, typer.Option(help="Training documents; dev and test shrink along.")
    ] = _DEMO.n_documents,
    trees: Trees = _DEMO.training.n_trees,
    beam_width: BeamWidth = _DEMO.beam_width,
    learning_rate: LearningRate = _DEMO.trees.learning_rate,
    depth: Depth = _DEMO.trees.depth,
    min_leaf: MinLeaf = _DEMO.trees.min_leaf,
    threads: Threads = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Train all search plans on a generated corpus and print what each gets right.

    The corpus has the shape of AIDA's news documents. Dev chooses how many trees are kept;
    the table shows accuracy on test.

    \b
    Examples:
      sgtb learner demo
      sgtb learner demo --seeds 1 --documents 100 --plans local,bsg --json
    """
    settings = DemoSettings(
        tuple(range(seed_first, seed_first + seeds)),
        tuple(cast(PlanName, name.strip()) for name in plans.split(",") if name.strip()),
        documents,
        beam_width,
        dataclasses.replace(
            _DEMO.trees, learning_rate=learning_rate, depth=depth, min_leaf=min_leaf
        ),
        dataclasses.replace(_DEMO.training, n_trees=trees, threads=threads),
    )
    with DemoWatch(settings) if not quiet else Watch() as watch:
        result = run_demo(settings, watch)
    if as_json:
        _print_json(result.as_json())
    else:
        Console().print(_demo_table(result))


@app.command()
def generate(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The file to write.", show_default=False)
    ],
    split: Annotated[Split, typer.Option(help="Which part of the corpus.")] = Split.train,
    seed: Annotated[int, typer.Option(min=0, help="Another seed, another world.")] = 0,
    documents: Annotated[
        int | None,
        typer.Option(
            help="Documents in this part; by default as many as in AIDA.", show_default=False
        ),
    ] = None,
) -> None:
    """Write a part of the generated corpus as a problems file.

    Parts of the same seed speak of the same world, and share no document.

    \b
    Examples:
      sgtb learner generate -o train.problems
      sgtb learner generate -o dev.problems --split dev
      sgtb learner generate -o small.problems --documents 50
    """
    _check_folder(output)
    # Each part has a stream of random numbers of its own: one document each will do for the rest.
    sizes = {Split.train: _SHAPE.n_documents, Split.dev: 216, Split.test: 231}
    n = documents if documents is not None else sizes[split]
    train, dev, test = (n if split == part else 1 for part in Split)
    splits = generate_splits(dataclasses.replace(_SHAPE, n_documents=train), seed, dev, test)
    problems: Problems = getattr(splits, split.value)
    problems.save(output)
    print(f"{output}: {_size_of(problems)}")


@app.command()
def train(
    problems: ProblemsFile,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The model file to write.", show_default=False)
    ],
    dev: Annotated[
        Path | None,
        typer.Option(help="Problems that choose how many trees are kept.", show_default=False),
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
    l2: Annotated[
        float, typer.Option(help="Pulls the values of small leaves to zero.")
    ] = _TREES.l2,
    feature_share: Annotated[
        float, typer.Option(help="Share of the features each tree may ask about.")
    ] = _TREES.feature_share,
    seed: Annotated[int, typer.Option(help="Seed of the draw of features.")] = _TRAINING.seed,
    check_every: CheckEvery = _TRAINING.check_every,
    patience: Patience = _TRAINING.patience,
    threads: Threads = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            help="Keep the state in this file; a killed training goes on from it.",
            show_default=False,
        ),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Train a model on a problems file.

    \b
    Examples:
      sgtb learner train train.problems -o bsg.model
      sgtb learner train train.problems -o bsg.model --dev dev.problems
      sgtb learner train train.problems -o bibsg.model --plan bibsg
      sgtb learner train train.problems -o bsg.model --checkpoint state
    """
    for path in (output, checkpoint):
        if path is not None:
            _check_folder(path)
    model = StructuredGradientBoosting(
        SearchPlan(cast(PlanName, plan), beam_width, rounds),
        TreeSettings(learning_rate, depth, min_leaf, l2, feature_share=feature_share),
        TrainingSettings(trees, check_every, patience, threads, seed=seed),
    )
    model.fit(
        Problems.load(problems),
        None if dev is None else Problems.load(dev),
        checkpoint=checkpoint,
        progress=not quiet,
    )
    model.save(output)
    kept = model.model.forest.n_trees
    check = next(check for check in model.history if check.n_trees == kept)
    found = f", dev accuracy {check.dev_accuracy:.2%}" if check.dev_accuracy is not None else ""
    print(f"{output}: {plan}, {kept} trees{found}")


@app.command()
def predict(model: ModelFile, problems: ProblemsFile, as_json: AsJson = False) -> None:
    """Decide all documents of a problems file.

    Prints how many choices are right, where the file says which are. With --json also every
    choice, counted from 0 within its mention (-1: no candidates), and its probability.

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
        _print_json(_decoding_json(decoding, accuracy))
        return
    print(_size_of(documents))
    print(
        f"accuracy {accuracy:.2%}" if accuracy is not None else "accuracy unknown: no gold choices"
    )


@app.command()
def info(model: ModelFile, as_json: AsJson = False) -> None:
    """Show what a model file holds.

    \b
    Examples:
      sgtb learner info bsg.model
      sgtb learner info bsg.model --json
    """
    told = _model_json(StructuredGradientBoosting.load(model).model, model)
    if as_json:
        _print_json(told)
        return
    history = told.pop("history")
    console = Console()
    console.print(_info_table(told))
    console.print(_history_table(history))


def _check_folder(path: Path) -> None:
    """Raise before the work, not after it, if a file cannot be written."""
    if not path.parent.is_dir():
        raise ModelFileError(f"{path}: there is no folder {path.parent}; create it first")
    if path.is_dir():
        raise ModelFileError(f"{path}: this is a folder; name a file")


def _print_json(value: dict[str, Any]) -> None:
    print(json.dumps(value, allow_nan=False))


def _size_of(problems: Problems) -> str:
    return (
        f"{problems.n_documents:,} documents, {problems.n_mentions:,} mentions, "
        f"{problems.n_candidates:,} candidates"
    )


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


def _table(*columns: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for i, column in enumerate(columns):
        table.add_column(column, justify="right" if i else "left")
    return table


def _demo_table(result: DemoResult) -> Table:
    seeds = [f"seed {seed}" for seed in result.settings.seeds]
    table = _table("plan", *seeds, "mean accuracy", "training seconds")
    for plan in result.settings.plans:
        table.add_row(
            plan,
            *(f"{run.test_accuracy:.2%}" for run in result.of(plan)),
            f"{result.mean_accuracy(plan):.2%}",
            f"{result.mean_seconds(plan):.2f}",
        )
    return table


def _info_table(told: dict[str, Any]) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False)
    for key, value in told.items():
        fields = value.items() if isinstance(value, dict) else ()
        text = ", ".join(f"{name} {field}" for name, field in fields) or str(value)
        table.add_row(key, text)
    return table


def _history_table(history: list[dict[str, Any]]) -> Table:
    table = _table("trees", "train accuracy", "dev accuracy")
    for check in history:
        dev = check["dev_accuracy"]
        table.add_row(
            str(check["n_trees"]),
            f"{check['train_accuracy']:.2%}",
            "-" if dev is None else f"{dev:.2%}",
        )
    return table
