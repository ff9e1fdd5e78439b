"""The commands `python -m experiments …`: the paper's experiments and our own, on real data."""

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from experiments import aida as aida_run
from experiments import (
    aida_linker,
    aida_linker_report,
    confidence_report,
    pages_recall,
    tables,
    wned_report,
)
from experiments import dump_links as links_run
from experiments import from_text as text_run
from experiments import generalise as generalise_run
from experiments import hidden_entities as hidden_run
from experiments import own_lists as own_lists_run
from experiments import peer as peer_run
from experiments import sample as sample_run
from experiments import starter as starter_run
from experiments import transfer as transfer_run
from experiments import wned as wned_run
from experiments.aida import Watch, checked_plans, unwatched
from experiments.aida_data import AidaData, Packer, Say, default_cache, silent
from experiments.aida_report import write_report
from experiments.confidence_aida import run_confidence
from experiments.kb_cache import MERGED, named_kb
from experiments.linker_cache import LinkerCache
from experiments.output import peak_bytes, print_json, say
from experiments.settings_search import TRIALS, TopicFolds
from sgtb.boosting import PLANS
from sgtb.boosting.search.beam import PlanName
from sgtb.boosting.training_progress import Callback, TrainingBar, TrainingProgress
from sgtb.cli.main import CleanGroup
from sgtb.cli.views.progress_views import StageProgress
from sgtb.core.errors import SettingsError
from sgtb.formats.codecs.wned_corpus import read_wned
from sgtb.kb.knowledge_base import KnowledgeBase
from sgtb.starter import MODEL

app = typer.Typer(
    cls=CleanGroup,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="The paper's experiments on real data, from the raw files to its tables.",
    rich_markup_mode="rich",
)

ALL_PLANS = ",".join(PLANS)
Data = Annotated[
    Path,
    typer.Option(
        "--data", exists=True, file_okay=False, show_default=False,
        help="The folder that holds aida/, pprforned/ and wned.tar.xz.",
    ),
]  # fmt: skip
OwnData = Annotated[
    Path,
    typer.Option(
        "--data", exists=True, file_okay=False, show_default=False,
        help="The folder that holds aida/, pprforned/, geo/ and ncbi/.",
    ),
]  # fmt: skip
TextCache = Annotated[
    Path, typer.Option(file_okay=False, help="Folder of knowledge bases and models.")
]
Plans = Annotated[str, typer.Option(help="Plans to train, separated by commas.")]
Plan = Annotated[str, typer.Option(help="The plan to train.")]
Seeds = Annotated[int, typer.Option(min=1, max=100, help="Number of trainings per plan.")]
Seed = Annotated[int, typer.Option(min=0, help="Random seed of training.")]
Trees = Annotated[
    int | None, typer.Option(min=1, help="Trees at most.", show_default="as for aida")
]
Out = Annotated[
    Path | None, typer.Option(file_okay=False, help="A folder for Markdown, JSON and figures.")
]
Cache = Annotated[
    Path | None,
    typer.Option(help="Folder of packed features and models.", show_default="~/.cache/sgtb"),
]
WnedData = Annotated[
    Path,
    typer.Option(
        "--data", exists=True, file_okay=False, show_default=False,
        help="The folder that holds aida/, wned.tar.xz, and pages/ and dumps/ or pprforned/.",
    ),
]  # fmt: skip
KbName = Annotated[
    str,
    typer.Option(
        metavar="merged|pprforned|DIR",
        help="Where candidates come from: plain pages merged with a small dump, the lists of "
        "PPRforNED, or the folder of a knowledge base with Wikipedia's titles.",
    ),
]
KbCache = Annotated[
    Path | None, typer.Option(help="Folder of knowledge bases.", show_default="~/.cache/sgtb")
]
NoCache = Annotated[bool, typer.Option("--no-cache", help="Neither read nor write the cache.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Refit = Annotated[
    bool, typer.Option("--refit", help="Train again on all documents, those of dev included.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]


@app.command()
def aida(
    data: Data,
    plans: Plans = ALL_PLANS,
    seeds: Seeds = 1,
    out: Annotated[
        Path | None,
        typer.Option(
            file_okay=False,
            help="A folder for Markdown, JSON and figures; also trains without each feature group.",
        ),
    ] = None,
    refit: Refit = False,
    cache: Cache = None,
    no_cache: NoCache = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Train and test the paper's systems on AIDA-CoNLL: its Table 2 next to ours.

    Candidates are those of PPRforNED. A seed determines the draws of training. Dev chooses the
    number of trees; test is used last. With --refit, each system is also trained on train and dev,
    with that number of trees.

    \b
    Examples:
      python -m experiments aida --data data
      python -m experiments aida --data data --plans bibsg --seeds 3 --json
      python -m experiments aida --data data --seeds 3 --out report
    """
    chosen, tell = _plans(plans), _messages(quiet)
    corpus = AidaData.read(data, tell)
    place = None if no_cache else cache or default_cache()
    packer = Packer(corpus, place, tell)
    whole = Packer(corpus.with_dev(), place, tell) if refit else None
    result = aida_run.run_aida(
        corpus, packer, chosen, seeds, _bars(quiet), ablation=out is not None, whole=whole
    )
    record = aida_run.as_json(result, peak_bytes())
    if out is not None:
        write_report(result, record, out)
        tell(f"written: {out}")
    print_json(record) if as_json else tables.show_aida(record)


@app.command()
def search(
    data: Data,
    trials: Annotated[
        str,
        typer.Option(
            help="Trials to run, separated by semicolons; all by default.", show_default=False
        ),
    ] = "",
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Repeat the search that chose the settings: held-out topics of AIDA's train and dev.

    Each trial changes one thing. AIDA-test is not used.

    \b
    Examples:
      python -m experiments search --data data
      python -m experiments search --data data --trials "as chosen;depth 3" --json
    """
    names = [name.strip() for name in trials.split(";") if name.strip()] or list(TRIALS)
    for name in names:
        if name not in TRIALS:
            raise SettingsError(f"there is no trial {name!r}; there are {'; '.join(TRIALS)}")
    tell = _messages(quiet)
    folds = TopicFolds(AidaData.read(data, tell), say=tell)
    outcomes = []
    for name in names:
        outcomes.append(folds.run(name, TRIALS[name]))
        tell(f"{name}: {100 * outcomes[-1].accuracy:.2f}")
    if as_json:
        print_json([outcome.as_json() for outcome in outcomes])
    else:
        tables.show_search(outcomes)


@app.command()
def wned(
    data: WnedData,
    kb: KbName = MERGED,
    plans: Plans = ALL_PLANS,
    seeds: Seeds = 1,
    links_only: Annotated[
        bool, typer.Option("--links-only", help="Train only with the links of held-out pages.")
    ] = False,
    refit: Refit = False,
    out: Out = None,
    cache: KbCache = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Train on AIDA-CoNLL and test on WNED's five sets: the paper's Table 3 next to ours.

    Mentions are given, candidates are looked up by name in the knowledge base. A second training
    adds the links of pages that the knowledge base held out. What the knowledge base lacks counts
    as wrong where all gold counts; the tables begin with how much that is.

    \b
    Examples:
      python -m experiments wned --data data
      python -m experiments wned --data data --kb pprforned --plans local,bsg --seeds 3 --json
      python -m experiments wned --data data --plans bsg --out report
    """
    chosen, tell = _plans(plans), _messages(quiet)
    with StageProgress(quiet) as stages:
        place = named_kb(kb, data, cache or default_cache(), stages, tell)
        with KnowledgeBase.open(place) as opened:
            watch = _trees_as_stage(stages)
            kinds = (wned_run.WITH_LINKS,) if links_only else (wned_run.AIDA, wned_run.WITH_LINKS)
            result = wned_run.run_wned(
                data, opened, chosen, seeds, stages, watch, tell, kinds, refit
            )
    record = wned_report.as_json(result, Path(kb).name, peak_bytes())
    if out is not None:
        wned_report.write_report(record, out)
        tell(f"written: {out}")
    print_json(record) if as_json else tables.show_wned(record)


@app.command()
def peer(
    data: WnedData,
    kb: KbName = MERGED,
    plan: Plan = "bsg",
    epochs: Annotated[int, typer.Option(min=1, help="Epochs of spaCy's training.")] = 5,
    seed: Seed = 0,
    cache: KbCache = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Compare with spaCy's trainable entity_linker: same candidates, priors and documents.

    Both are trained on AIDA-CoNLL and link the given mentions of AIDA-test and WNED's sets, each in
    a separate process: accuracy, training time, linking speed and peak memory.

    \b
    Examples:
      python -m experiments peer --data data
      python -m experiments peer --data data --kb pprforned --epochs 3 --json
    """
    tell = _messages(quiet)
    with StageProgress(quiet) as stages:
        place = named_kb(kb, data, cache or default_cache(), stages, tell)
    settings = peer_run.PeerSettings(data, place, _plan(plan), epochs, seed)
    record = peer_run.as_json(peer_run.run_peers(settings, tell))
    print_json(record) if as_json else peer_run.show(record)


@app.command()
def linker(
    data: Data,
    plan: Plan = "bsg",
    seed: Seed = 0,
    trees: Trees = None,
    kb: Annotated[
        Path | None,
        typer.Option(
            exists=True,
            file_okay=False,
            help="A knowledge base built from PPRforNED; by default one is kept in the cache.",
        ),
    ] = None,
    cache: Cache = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Train linkers on AIDA-CoNLL and link its test set, compared with the experiment `aida`.

    With the candidates of PPRforNED both should give the same decisions. Candidates looked up by
    name in the knowledge base are reported separately. It and the models are cached.

    \b
    Examples:
      python -m experiments linker --data data
      python -m experiments linker --data data --plan local --seed 1 --json
    """
    tell, folder = _messages(quiet), cache or default_cache()
    trial = aida_linker.Trial(_plan(plan), seed, trees)
    corpus = AidaData.read(data, tell)
    models = LinkerCache(folder, tell)
    with KnowledgeBase.open(kb) if kb is not None else models.kb(corpus) as opened:
        packer = Packer(corpus, folder, tell)
        result = aida_linker.run_linker(corpus, packer, models, opened, trial, _bars(quiet), tell)
    record = aida_linker_report.as_json(result, peak_bytes())
    print_json(record) if as_json else tables.show_linker(record)


@app.command("from-text")
def from_text(
    data: Annotated[
        Path,
        typer.Option(
            "--data",
            exists=True,
            file_okay=False,
            show_default=False,
            help="The folder that holds aida/, pprforned/ and geo/.",
        ),
    ],
    cache: Annotated[
        Path, typer.Option(file_okay=False, help="Folder of knowledge bases and models.")
    ] = text_run.CACHE,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Link the plain texts of AIDA-test, LGL-test and the starter's test, and count what is lost.

    Mentions are detected. Knowledge bases and models are built and trained the first time, with
    the defaults of `sgtb kb build` and `sgtb train`.

    \b
    Examples:
      python -m experiments from-text --data data
      python -m experiments from-text --data data --json
    """
    with StageProgress(quiet) as stages:
        results = text_run.run_from_text(
            text_run.text_tests(data), cache, progress=stages, say=_messages(quiet)
        )
    print_json(text_run.as_json(results)) if as_json else tables.show_from_text(results)


@app.command("own-lists")
def own_lists(
    data: OwnData,
    cache: TextCache = text_run.CACHE,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Recall of candidates and accuracy on knowledge bases of lists, mentions given.

    NCBI Disease with its vocabulary, LGL with a gazetteer, and AIDA by name, with all names and
    with those of titles only. Knowledge bases and models as for `from-text`.

    \b
    Examples:
      python -m experiments own-lists --data data
    """
    with StageProgress(quiet) as stages:
        results = own_lists_run.run_own_lists(
            own_lists_run.own_tests(data, cache), cache, stages, _messages(quiet)
        )
    print_json(results) if as_json else tables.show_own_lists(results)


@app.command()
def generalise(
    data: Data,
    plan: Plan = "bsg",
    settings: Annotated[
        str,
        typer.Option(
            help="Settings to compare, separated by semicolons; none for renderings only.",
            show_default="all",
        ),
    ] = ";".join(generalise_run.SETTINGS),
    split: Annotated[str, typer.Option(help="The split that is rendered: dev or test.")] = "test",
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Accuracy on domains left out of training, and on six renderings of the same documents.

    Soccer, other sport and news of AIDA's train and dev are left out in turn, with PPRforNED's
    candidates. Renderings: as read, on one line, prose, lower case, paragraphs, ten joined.

    \b
    Examples:
      python -m experiments generalise --data data
      python -m experiments generalise --data data --settings "as chosen;without place" --json
    """
    names = [name.strip() for name in settings.split(";") if name.strip()]
    for name in names:
        if name not in generalise_run.SETTINGS:
            known = "; ".join(generalise_run.SETTINGS)
            raise SettingsError(f"there is no setting {name!r}; there are {known}")
    if split not in ("dev", "test"):
        raise SettingsError(f"there is no split {split!r}; there are dev and test")
    tell = _messages(quiet)
    corpus = AidaData.read(data, tell)
    record = generalise_run.run_generalise(corpus, names, _plan(plan), split, tell)
    print_json(record) if as_json else generalise_run.show(record)


@app.command()
def transfer(
    data: OwnData,
    cache: TextCache = text_run.CACHE,
    model: Annotated[
        Path,
        typer.Option(dir_okay=False, exists=True, show_default="the starter's", help="A model."),
    ] = MODEL,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Accuracy of the starter's model on knowledge bases of other fields, without training.

    Diseases (NCBI-train), places (LGL-train and dev) and news (AIDA-dev by name), mentions given.
    These are no test sets: settings of the starter may be chosen by them.

    \b
    Examples:
      python -m experiments transfer --data data
      python -m experiments transfer --data data --model my.model --json
    """
    with StageProgress(quiet) as stages:
        results = transfer_run.run_transfer(data, cache, model, stages, _messages(quiet))
    print_json(results) if as_json else tables.show_transfer(results)


@app.command()
def sample(data: Data, plans: Plans = "local,bsg,bibsg", as_json: AsJson = False) -> None:
    """Train and test on the paper's own features of 40 documents: a test of their format.

    The first 30 documents train, the last 10 test. They are too few to distinguish plans.

    \b
    Examples:
      python -m experiments sample --data data
      python -m experiments sample --data data --plans bs,laso --json
    """
    chosen = _plans(plans)
    record = sample_run.as_json(sample_run.run_sample(sample_run.read_sample(data), chosen))
    print_json(record) if as_json else tables.show_sample(record)


@app.command()
def starter(
    plans: Plans = "local,bs,bsg,bibsg", as_json: AsJson = False, quiet: Quiet = False
) -> None:
    """Measure the starter next to other plans and untrained baselines.

    The starter is a small knowledge base of shared names, with a linker trained on texts about it.
    Its test texts and contrast pairs are not used in training.

    \b
    Examples:
      python -m experiments starter
      python -m experiments starter --plans local,bsg --json
    """
    result = starter_run.run_starter(_plans(plans), _bars(quiet))
    record = starter_run.as_json(result, peak_bytes())
    print_json(record) if as_json else tables.show_starter(record)


@app.command()
def confidence(
    data: Data,
    plan: Plan = "bsg",
    seed: Seed = 0,
    trees: Trees = None,
    out: Out = None,
    cache: Cache = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Measure confidence and NIL on AIDA-CoNLL, and confidence on the sets of WNED.

    Linked mentions with PPRforNED's candidates; then all mentions looked up by name, with NIL as
    one more candidate.

    \b
    Examples:
      python -m experiments confidence --data data
      python -m experiments confidence --data data --out report --json
    """
    tell = _messages(quiet)
    trial = aida_linker.Trial(_plan(plan), seed, trees)
    corpus = AidaData.read(data, tell)
    models = LinkerCache(cache or default_cache(), tell)
    with models.kb(corpus) as kb:
        corpora = read_wned(data / "wned.tar.xz")
        result = run_confidence(corpus, models, kb, trial, corpora, _bars(quiet), tell)
    record = confidence_report.as_json(result)
    if out is not None:
        confidence_report.write_report(result, record, out)
        tell(f"written: {out}")
    print_json(record) if as_json else tables.show_confidence(record)


@app.command()
def hidden(
    data: Data,
    plan: Plan = "bsg",
    seed: Seed = 0,
    trees: Trees = None,
    draws: Annotated[int, typer.Option(min=1, help="Draws of hidden entities.")] = 3,
    left_out: Annotated[
        bool, typer.Option("--left-out", help="Test on left-out domains of train and dev instead.")
    ] = False,
    cache: Cache = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Remove a fifth of the gold entities of test documents from the knowledge base.

    For AIDA-CoNLL, with the knowledge base of PPRforNED and candidates by name, and for the
    starter: precision and recall of NIL, and accuracy on the other mentions.

    \b
    Examples:
      python -m experiments hidden --data data
      python -m experiments hidden --data data --draws 5 --json
      python -m experiments hidden --data data --left-out --draws 1 --trees 80
    """
    tell = _messages(quiet)
    trial = aida_linker.Trial(_plan(plan), seed, trees)
    corpus = AidaData.read(data, tell)
    models = LinkerCache(cache or default_cache(), tell)
    with models.kb(corpus) as kb:
        record = hidden_run.run(corpus, models, kb, trial, draws, left_out, _bars(quiet), tell)
    print_json(record) if as_json else tables.show_hidden(record)


@app.command()
def links(
    dumps: Annotated[
        list[Path],
        typer.Argument(metavar="DUMP…", exists=True, dir_okay=False, help="Wikipedia dumps."),
    ],
    plans: Plans = "local,bsg",
    turns: Annotated[
        int | None,
        typer.Option(
            min=1,
            show_default="all",
            help="Number of turns, each with other pages held out; all: every page is tested once.",
        ),
    ] = None,
    hold_out: Annotated[
        float, typer.Option(min=0.05, max=0.9, help="Share of pages held out in a turn.")
    ] = 0.4,
    red_links: Annotated[
        int,
        typer.Option(
            min=0,
            help="Linked titles without a page become entities if this many pages link them; "
            "0: never.",
        ),
    ] = 1,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Train on the links of a dump, and test on held-out pages.

    In every turn, other pages are held out of the knowledge base: half of them for training, a
    quarter for dev, a quarter for test. The baselines prior and in-links are not trained.

    \b
    Examples:
      python -m experiments links simplewiki.xml.bz2 --turns 1 --hold-out 0.05 --red-links 0
      python -m experiments links enwik8-prefix.xml.bz2
    """
    chosen = _plans(plans)
    with StageProgress(quiet) as stages:
        result = links_run.run_links(
            dumps, plans=chosen, turns=turns, share=hold_out,
            red_links=red_links, progress=stages, watch=_trees_as_stage(stages),
        )  # fmt: skip
    record = links_run.as_json(result)
    print_json(record) if as_json else tables.show_links(record)


@app.command()
def pages(
    data: Annotated[
        Path,
        typer.Option(
            "--data",
            exists=True,
            file_okay=False,
            show_default=False,
            help="The folder that holds pages/, aida/ and wned.tar.xz.",
        ),
    ],
    kb: Annotated[
        Path | None,
        typer.Option(
            exists=True, file_okay=False, help="The knowledge base, if it has been built before."
        ),
    ] = None,
    workers: Annotated[int, typer.Option(min=1, max=256, help="Processes of the build.")] = 2,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Build a knowledge base from plain pages, and measure its recall by name on WNED's sets.

    Mentions count if their page is in the knowledge base; at most 30 candidates of a name are
    used.

    \b
    Examples:
      python -m experiments pages --data data
      python -m experiments pages --data data --kb pages-kb --json
    """  # fmt: skip
    with TemporaryDirectory() as folder, StageProgress(quiet) as stages:
        path, seconds = kb, None
        if path is None:
            path = Path(folder) / "kb"
            seconds = pages_recall.build_kb(data, path, workers, stages)
        result = pages_recall.run_recall(data, path, seconds, stages)
    record = pages_recall.as_json(result)
    print_json(record) if as_json else pages_recall.show(record)


def _plans(names: str) -> tuple[PlanName, ...]:
    return checked_plans([name.strip() for name in names.split(",") if name.strip()])


def _plan(name: str) -> PlanName:
    (plan,) = checked_plans([name])
    return plan


def _messages(quiet: bool) -> Say:
    return silent if quiet else say


def _bars(quiet: bool) -> Watch:
    return unwatched if quiet else TrainingBar


def _trees_as_stage(stages: StageProgress) -> Watch:
    """Show the trees of a training as one more stage."""

    def watch(title: str) -> AbstractContextManager[Callback | None]:
        def show(progress: TrainingProgress) -> None:
            stages(title, progress.n_trees, progress.n_trees_wanted)

        return nullcontext(show)

    return watch
