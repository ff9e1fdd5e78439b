"""Documents to train on, out of files or out of a dump, and the options that say which."""

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sgtb.core.errors import ModelFileError, ProblemsError
from sgtb.core.records import Document
from sgtb.formats.registry import FORMATS, read_documents

if TYPE_CHECKING:
    from sgtb.kb.knowledge_base import KnowledgeBase
    from sgtb.linking.training.linker_training import LinkerTraining
    from sgtb.linking.training.training_data import TrainingData
    from sgtb.text.word_vectors import WordVectors

TrainFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "--train", metavar="FILE", exists=True, show_default=False,
        help="Annotated documents to learn from; may be given several times.",
    ),
]  # fmt: skip
DevFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "--dev", metavar="FILE", exists=True, show_default=False,
        help="Annotated documents to choose by; without any, a fifth of the others is taken.",
    ),
]  # fmt: skip
Output = Annotated[
    Path,
    typer.Option("--output", "-o", metavar="MODEL", help="The file to write.", show_default=False),
]
FormatName = Annotated[
    str | None,
    typer.Option(
        "--format", metavar="FORMAT", show_default=False,
        help=f"How documents are written: {', '.join(FORMATS)}. By default that is found out.",
    ),
]  # fmt: skip
Plan = Annotated[str, typer.Option("--plan", help="How to search: local, bs, laso, bsg or bibsg.")]
Beam = Annotated[int, typer.Option("--beam", min=1, help="Hypotheses kept at each step.")]
Depth = Annotated[
    int | None,
    typer.Option("--depth", show_default="by size", help="Levels of splits in a tree."),
]
Eta = Annotated[
    float | None,
    typer.Option(
        "--eta", "--learning-rate", show_default="by size", help="η, the weight of each new tree."
    ),
]
Trees = Annotated[
    int | None,
    typer.Option("--trees", show_default="by size", help="Trees to grow at most."),
]
MinLeaf = Annotated[
    int | None,
    typer.Option("--min-leaf", show_default="by size", help="Fewest rows a leaf may have."),
]
Folds = Annotated[
    int | None,
    typer.Option(
        "--folds", show_default="8, or as many as documents",
        help="Parts of the training documents; features of one are learned from the others.",
    ),
]  # fmt: skip
Without = Annotated[
    list[str] | None,
    typer.Option(
        "--without", metavar="GROUP", show_default=False,
        help="A group of features to leave out; may be given several times.",
    ),
]  # fmt: skip
Vectors = Annotated[
    str,
    typer.Option("--vectors", metavar="none|glove|FILE", help="Vectors of words for similarity."),
]
NilPrecision = Annotated[
    float | None,
    typer.Option(
        "--nil-precision", metavar="SHARE", min=0.0, max=1.0, show_default=False,
        help="Link only what is sure enough that this share of the links on dev is right.",
    ),
]  # fmt: skip
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of all that is drawn.")]
Threads = Annotated[
    int | None,
    typer.Option("--threads", help="Threads to use; all cores by default. The result is the same."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]

_SHOWN = 5


@dataclass(frozen=True)
class Given:
    """What to train on.

    origin  what the model will say about it
    test    documents that nobody has looked at
    """

    train: "TrainingData"
    dev: "TrainingData"
    origin: dict[str, Any]
    test: tuple[Document, ...] = field(default=())


@dataclass(frozen=True)
class Asked:
    """What options ask for; None leaves it to the size of the data."""

    plan: str
    beam: int
    depth: int | None
    eta: float | None
    trees: int | None
    min_leaf: int | None
    folds: int | None
    without: tuple[str, ...]
    nil_precision: float | None
    seed: int
    threads: int | None

    def settings(self, given: Given) -> "LinkerTraining":
        """Return settings that fit the data, but for what is asked for."""
        from dataclasses import replace

        from sgtb.boosting.search.plan import SearchPlan
        from sgtb.linking.training.training_data import settings_for

        base = settings_for(given.train.n_known, len(given.train.documents))
        trees = _stated(depth=self.depth, learning_rate=self.eta, min_leaf=self.min_leaf)
        own = _stated(folds=self.folds, nil_precision=self.nil_precision)
        return replace(
            base,
            plan=SearchPlan(self.plan, self.beam),  # type: ignore[arg-type]  # it checks itself
            trees=replace(base.trees, **trees),
            training=replace(
                base.training, threads=self.threads, seed=self.seed, **_stated(n_trees=self.trees)
            ),
            without=self.without,
            seed=self.seed,
            **own,
        )


def check_output(*paths: Path | None) -> None:
    """Raise before the work, not after it, if a file cannot be written."""
    for path in paths:
        if path is not None and not path.parent.is_dir():
            raise ModelFileError(f"{path}: there is no folder {path.parent}; create it first")
        if path is not None and path.is_dir():
            raise ModelFileError(f"{path}: this is a folder; name a file")


def from_files(
    kb: "KnowledgeBase",
    train: Sequence[Path],
    dev: Sequence[Path],
    format: str | None,
    seed: int,
    quiet: bool,
) -> Given:
    """Read annotated documents; without dev documents, split some off."""
    from sgtb.linking.training.training_data import DEV_SHARE, TrainingData, split_off_dev

    if format is not None and format not in FORMATS:
        raise typer.BadParameter(f"there is no format {format!r}, but {', '.join(FORMATS)}")
    found = _read(train, format)
    learn, said = [d for d in found if d.split in ("", "train")], "given"
    if len(learn) < len(found):
        say(f"{len(found) - len(learn)} documents of other splits than train are not learned from",
            quiet)  # fmt: skip
    if dev:
        held = _read(dev, format)
        labelled = [d for d in held if d.split == "dev"]
        held = labelled or held
    elif any(d.split == "dev" for d in found):
        held, said = [d for d in found if d.split == "dev"], "the split dev of the same files"
    else:
        rest, taken = split_off_dev(learn, DEV_SHARE, seed)
        learn, held = list(rest), list(taken)
        said = f"{len(held)} documents drawn from the training files, seed {seed}"
        say(f"no dev documents are given: {len(held)} of {len(found)} documents are set apart to "
            f"choose by, drawn with seed {seed}", quiet)  # fmt: skip
    if not learn:
        names = ", ".join(map(str, train))
        raise ProblemsError(f"{names}: there is no document to learn from")
    given = [TrainingData.of(kb, documents) for documents in (learn, held)]
    origin = {
        "trained on": [path.name for path in train],
        "dev": [path.name for path in dev] if dev else said,
    }
    return tell(Given(given[0], given[1], _with_counts(origin, given, kb)), quiet)


def from_links(
    kb: "KnowledgeBase", dumps: Sequence[Path], most: int, workers: int, quiet: bool, progress: Any
) -> Given:
    """Take the links of pages held out of a knowledge base."""
    from sgtb.linking.training.training_data import TrainingData
    from sgtb.wikipedia.build.link_documents import read_link_documents

    read = read_link_documents(dumps, kb, most, workers, progress)
    train, dev = (TrainingData.of(kb, read.documents[split]) for split in ("train", "dev"))
    pages = ", ".join(f"{read.held_out[split]} {split}" for split in ("train", "dev", "test"))
    say(f"pages held out: {pages}", quiet)
    origin = {
        "trained on": [f"links of {path.name}" for path in dumps],
        "dev": "links of other pages",
        "hold out": dict(kb.state.origin["hold_out"]),
    }
    origin = _with_counts(origin, (train, dev), kb)
    return tell(Given(train, dev, origin, read.documents["test"]), quiet)


def word_vectors(asked: str) -> "WordVectors | None":
    """Load the vectors that an option names."""
    from sgtb.text.word_vectors import WordVectors

    if asked == "none":
        return None
    return WordVectors.glove() if asked == "glove" else WordVectors.read(asked)


def tell(given: Given, quiet: bool) -> Given:
    """Say what there is to learn from, and what the knowledge base lacks."""
    for name, data in (("train", given.train), ("dev", given.dev)):
        say(
            f"{name}: {len(data.documents):,} documents, {data.n_mentions:,} mentions; "
            f"{data.n_known:,} mean an entity of the knowledge base, {data.n_nil:,} none of it",
            quiet,
        )
        if data.unknown:
            most = data.unknown.most_common(_SHOWN)
            names = ", ".join(f"{id_!r:.60} ({n:,})" for id_, n in most)
            more = "" if len(data.unknown) <= _SHOWN else ", …"
            say(
                f"warning: {name} names {len(data.unknown):,} entities that the knowledge base "
                f"lacks, as: {names}{more}; `sgtb corpus check` suggests others",
                quiet,
            )
    return given


def say(line: str, quiet: bool) -> None:
    """Talk, on standard error."""
    if not quiet:
        print(line, file=sys.stderr, flush=True)


def _read(paths: Iterable[Path], format: str | None) -> list[Document]:
    return [document for path in paths for document in read_documents(path, format)]


def _with_counts(
    origin: dict[str, Any], data: Iterable["TrainingData"], kb: "KnowledgeBase"
) -> dict[str, Any]:
    train, dev = data
    return {
        **origin,
        "documents": {"train": len(train.documents), "dev": len(dev.documents)},
        "mentions": {"train": train.n_mentions, "dev": dev.n_mentions},
        "knowledge base": kb.state.fingerprint,
    }


def _stated(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
