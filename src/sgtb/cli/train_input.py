"""Training documents from files or a dump, and the settings of training commands."""

import logging
import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sgtb.cli.views.progress_views import StageProgress, counted
from sgtb.core.errors import ModelFileError, ProblemsError
from sgtb.core.intervals import FEW_MENTIONS, wilson_interval
from sgtb.core.records import Document
from sgtb.formats.error_handler import ErrorHandler
from sgtb.formats.registry import read_documents

if TYPE_CHECKING:
    from sgtb.kb.knowledge_base import KnowledgeBase
    from sgtb.linking.training.linker_training import Fit, LinkerTraining
    from sgtb.linking.training.training_data import TrainingData
    from sgtb.text.word_vectors import WordVectors
    from sgtb.wikipedia.build.build_settings import WikiSettings


_MAX_NAMED = 5


@dataclass(frozen=True)
class TrainingInput:
    """Training, dev and test documents."""

    train: "TrainingData"
    dev: "TrainingData"
    origin: dict[str, Any]  # description of the data, kept in the model
    test: tuple[Document, ...] = ()  # not used in training
    all_names: bool = True  # whether the documents annotate all names

    def with_dev(self) -> "TrainingInput":
        """Return the same with the documents of dev among those of train."""
        train, dev = self.train, self.dev
        both = replace(
            train, documents=train.documents + dev.documents, unknown=train.unknown + dev.unknown
        )
        none = replace(dev, documents=(), unknown=Counter())
        return replace(self, train=both, dev=none, origin={**self.origin, "refit": True})


@dataclass(frozen=True)
class TrainingOptions:
    """Options of training; None: chosen by the size of the data."""

    plan: str = "bsg"
    beam: int = 4
    depth: int | None = None
    eta: float | None = None
    trees: int | None = None
    min_leaf: int | None = None
    folds: int | None = None
    without: tuple[str, ...] = ()
    nil_rule: str = "auto"
    nil_precision: float | None = None
    hidden: float | None = None
    fuzzy: bool | None = None
    seed: int = 0
    threads: int | None = None

    def settings(self, given: TrainingInput) -> "LinkerTraining":
        """Return the settings for the data."""
        from sgtb.boosting.search.beam import SearchPlan
        from sgtb.linking.training.training_data import settings_for

        n_dev = given.dev.n_known
        base = settings_for(given.train.n_known, len(given.train.documents), n_dev)
        trees = _stated(depth=self.depth, learning_rate=self.eta, min_leaf=self.min_leaf)
        own = _stated(
            folds=self.folds, nil_precision=self.nil_precision, hidden=self.hidden, fuzzy=self.fuzzy
        )
        return replace(
            base,
            plan=SearchPlan(self.plan, self.beam),  # type: ignore[arg-type]  # checked by SearchPlan
            trees=replace(base.trees, **trees),
            training=replace(
                base.training, threads=self.threads, seed=self.seed, **_stated(n_trees=self.trees)
            ),
            without=self.without,
            nil=self.nil_rule,  # type: ignore[arg-type]  # checked by LinkerTraining
            seed=self.seed,
            all_names=given.all_names,
            **own,
        )


@contextmanager
def fit_on(cluster: str | None) -> Iterator["Fit"]:
    """Yield the function that trains estimators: in this process, or on a cluster."""
    from sgtb.boosting.estimator import StructuredGradientBoosting

    if cluster is None:
        yield StructuredGradientBoosting.fit
        return
    from sgtb.integrations.dask_cluster import connect
    from sgtb.integrations.dask_training import fit

    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)  # Dask logs the loss of a worker with tracebacks
    try:
        with connect(cluster) as client:
            yield partial(fit, client)
    finally:
        logging.disable(before)


def check_output(*paths: Path | None) -> None:
    """Raise before the work if a file cannot be written."""
    for path in filter(None, paths):
        if not path.parent.is_dir():
            raise ModelFileError(f"{path}: no folder {path.parent}; create it first")
        if path.is_dir():
            raise ModelFileError(f"{path}: a folder; name a file")
        if not os.access(path.parent, os.W_OK):
            raise ModelFileError(f"{path}: no permission to write to the folder {path.parent}")


def from_files(
    kb: "KnowledgeBase",
    train: Sequence[Path],
    dev: Sequence[Path],
    format: str | None,
    seed: int,
    quiet: bool,
    handler: ErrorHandler | None = None,
) -> TrainingInput:
    """Read annotated documents; split dev documents off if none are given."""
    from sgtb.linking.training.training_data import DEV_SHARE, TrainingData, split_off_dev

    found = _read(train, format, handler)
    learn, dev_origin = [d for d in found if d.split in ("", "train")], "given"
    if len(learn) < len(found):
        say(f"{len(found) - len(learn)} documents of other splits than train are not used", quiet)
    if dev:
        held = _read(dev, format, handler)
        labelled = [d for d in held if d.split == "dev"]
        held = labelled or held
    elif any(d.split == "dev" for d in found):
        held, dev_origin = [d for d in found if d.split == "dev"], "the split dev of the same files"
    else:
        rest, taken = split_off_dev(learn, DEV_SHARE, seed)
        learn, held = list(rest), list(taken)
        dev_origin = f"{len(held)} documents drawn from the training files, seed {seed}"
        say(f"no dev documents given: {len(held)} of {len(found)} documents are held out for dev, "
            f"drawn with seed {seed}", quiet)  # fmt: skip
    if not learn:
        raise ProblemsError(f"{', '.join(map(str, train))}: no training documents")
    origin = {
        "trained on": [path.name for path in train],
        "dev": [path.name for path in dev] if dev else dev_origin,
    }
    return _training_input(kb, TrainingData.of(kb, learn), TrainingData.of(kb, held), origin, quiet)


def build_held_out(
    dumps: Sequence[Path], place: Path, settings: "WikiSettings", quiet: bool
) -> None:
    """Build a knowledge base from dumps, of which some pages are held out for training."""
    from sgtb.wikipedia.build.dump_build import build_wiki

    with StageProgress(quiet) as progress:
        built = build_wiki(dumps, place, settings, progress)
    say(
        f"{place}: {built.entities:,} entities, {built.names.names:,} names, "
        f"{built.entity_links:,} links; {built.held_out:,} pages held out",
        quiet,
    )


def from_links(
    kb: "KnowledgeBase", dumps: Sequence[Path], most: int, workers: int, quiet: bool
) -> TrainingInput:
    """Read the links of pages held out of a knowledge base."""
    from sgtb.linking.training.training_data import TrainingData
    from sgtb.wikipedia.build.link_documents import held_out_of, read_link_documents

    with StageProgress(quiet) as progress:
        read = read_link_documents(dumps, kb, most, workers, progress)
    train, dev = (TrainingData.of(kb, read.documents[split]) for split in ("train", "dev"))
    pages = ", ".join(f"{read.held_out[split]} {split}" for split in ("train", "dev", "test"))
    say(f"pages held out: {pages}", quiet)
    origin = {
        "trained on": [f"links of {path.name}" for path in dumps],
        "dev": "links of other pages",
        "hold out": asdict(held_out_of(kb)),
    }
    given = _training_input(kb, train, dev, origin, quiet)
    return replace(given, test=read.documents["test"], all_names=False)


def word_vectors(name: str) -> "WordVectors | None":
    """Load the word vectors of an option."""
    from sgtb.text.word_vectors import WordVectors

    if name == "none":
        return None
    return WordVectors.glove() if name == "glove" else WordVectors.read(name)


def _training_input(
    kb: "KnowledgeBase",
    train: "TrainingData",
    dev: "TrainingData",
    origin: dict[str, Any],
    quiet: bool,
) -> TrainingInput:
    """Return the documents; print their numbers, those of mentions, and unknown entities."""
    for name, data in (("train", train), ("dev", dev)):
        say(
            f"{name}: {len(data.documents):,} documents, {data.n_mentions:,} mentions; "
            f"{data.n_known:,} with an entity of the knowledge base, {data.n_nil:,} NIL",
            quiet,
        )
        if data.unknown:
            most = data.unknown.most_common(_MAX_NAMED)
            names = ", ".join(f"{id_!r:.60} ({n:,})" for id_, n in most)
            more = "" if len(data.unknown) <= _MAX_NAMED else ", …"
            say(
                f"warning: {len(data.unknown):,} entities of {name} are not in the knowledge "
                f"base: {names}{more}; `sgtb corpus check` suggests others",
                quiet,
            )
    n = dev.n_known
    if 0 < n < FEW_MENTIONS:
        low, high = wilson_interval(round(0.9 * n), n)
        say(
            f"warning: dev has {counted(n, 'mention')} with a known entity, too few to choose by: "
            f"90 % right may be {low:.0%} to {high:.0%}; the simpler settings are kept",
            quiet,
        )
    counts = {
        "documents": {"train": len(train.documents), "dev": len(dev.documents)},
        "mentions": {"train": train.n_mentions, "dev": dev.n_mentions},
        "knowledge base": kb.state.fingerprint,
    }
    return TrainingInput(train, dev, {**origin, **counts})


def say(line: str, quiet: bool) -> None:
    """Print a message on standard error."""
    if not quiet:
        print(line, file=sys.stderr, flush=True)


def _read(
    paths: Iterable[Path], format: str | None, handler: ErrorHandler | None
) -> list[Document]:
    return [document for path in paths for document in read_documents(path, format, handler)]


def _stated(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
