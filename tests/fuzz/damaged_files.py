"""Fuzz everything that reads files: `python -m tests.fuzz.damaged_files --mutations 20000`.

A mutated file must be refused with an error of sgtb, or be usable: no other exception, no death of
the process, at most 5 s of processor time, and no allocation over twice the file and 200 MB. Cases
run in a child process that is limited to this memory. Case i of a target is the same for the same
seed; `--only TARGET --first I --mutations 1` repeats it.
"""

import argparse
import gc
import json
import os
import resource
import shutil
import struct
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from experiments.starter_data import read_starter
from sgtb.boosting import Problems, SearchPlan, StructuredGradientBoosting
from sgtb.core.errors import SgtbError
from sgtb.formats.error_handler import ErrorList
from sgtb.formats.registry import read_documents, write_documents
from sgtb.jobs.job_inputs import cut, items_of
from sgtb.jobs.link_job import LinkJob
from sgtb.jobs.worker_linker import linker_spec
from sgtb.kb import KnowledgeBase
from sgtb.kb.layout import COLUMNS
from sgtb.linking.linker import Linker
from sgtb.linking.linker_model import LinkerModel
from sgtb.starter import KB, MODEL
from tests.boosting.test_model_file import cut_or_stuff, flip_bits, without_checksum
from tests.helpers.kb_worlds import build, random_world
from tests.helpers.problem_builders import estimator, random_problems

SECONDS = 5.0
MEMORY = 200 << 20
SANITIZED = "SGTB_SANITIZED" in os.environ
TEXT = "Jordan won six titles with Chicago. Amman is in Jordan, Paris is not."
_ODD = (0, 1, -1, 127, 255, 65_535, 2**31 - 1, -(2**31), 2**32 - 1, 2**62, 2**63 - 1, -(2**63))


class Target(NamedTuple):
    """Files that are mutated, and what reads them.

    share  of all mutations
    files  one of them is mutated at a time
    """

    name: str
    share: float
    files: list[Path]
    use: Callable[[], object]


def edit_number(rng: np.random.Generator, data: bytes) -> bytes:
    """Put an odd number in the place of another."""
    value, size = _ODD[rng.integers(len(_ODD))], int(rng.choice([1, 2, 4, 8]))
    at = int(rng.integers(max(len(data) - size, 0) + 1))
    return data[:at] + struct.pack("<q", value)[:size] + data[at + size :]


def mutated(rng: np.random.Generator, data: bytes) -> bytes:
    """Return the data after one to three mutations."""
    for _ in range(rng.integers(1, 4)):
        if data:
            data = (flip_bits, flip_bits, edit_number, edit_number, cut_or_stuff)[rng.integers(5)](
                rng, data
            )
    return data


# Targets


def targets(folder: Path) -> Iterator[Target]:
    """Write the files of all targets to a folder."""
    yield from _learner_files(folder)
    yield from _knowledge_bases(folder)
    if not SANITIZED:  # spaCy is not
        yield from _corpora(folder)
    yield from _jobs(folder)
    model = folder / "linker.model"
    kb = KnowledgeBase.open(KB)
    model.write_bytes(MODEL.read_bytes())
    yield Target("linker", 0.02, [model], lambda: Linker(model, kb).link(TEXT))
    bare = folder / "bare_starter"
    shutil.copytree(KB, bare)
    data = bare / "data-000001"
    (data / "sums.json").unlink(missing_ok=True)
    files = [data / f"{column}.bin" for column in COLUMNS]
    trained = LinkerModel.load(MODEL)
    yield Target("linking without checksums", 0.03, files, lambda: use_linker(trained, bare))
    packed = folder / "packed"
    Linker(MODEL, kb).save_pretrained(packed)
    kept = [path for path in sorted(packed.rglob("*")) if path.is_file()]
    small = [path for path in kept if not path.name.endswith(("lock", ".safetensors"))]
    yield Target("packed", 0.08, small, lambda: _closing(Linker.from_pretrained(packed)).link(TEXT))


def use_linker(model: LinkerModel, place: Path) -> None:
    """Link a text with a knowledge base."""
    with KnowledgeBase.open(place) as kb, Linker(model, kb) as linker:
        linker.link(TEXT)


def _learner_files(folder: Path) -> Iterator[Target]:
    problems = random_problems(np.random.default_rng(0), n_documents=4)
    model, state, data = (folder / name for name in ("model", "checkpoint", "problems"))
    fitted = estimator(SearchPlan("bibsg", 2), n_trees=4, check_every=2)
    fitted.fit(problems, problems, checkpoint=state).save(model)
    old = folder / "old_model"
    old.write_bytes(without_checksum(model.read_bytes()))
    problems.save(data)
    load = StructuredGradientBoosting.load
    new = estimator(SearchPlan("bibsg", 2), n_trees=4, check_every=2)
    yield Target("model", 0.1, [model, old], lambda: [load(p) for p in (model, old)])
    yield Target("problems", 0.15, [data], lambda: Problems.load(data))
    yield Target("checkpoint", 0.1, [state], lambda: new.fit(problems, problems, checkpoint=state))


def _knowledge_bases(folder: Path) -> Iterator[Target]:
    records = random_world(Random(0), 40, dimensions=3).records()
    records += [{"kind": "word", "word": "one", "vector": [1, 0, 0]}]
    place = build(folder, records)
    files = [path for path in sorted(place.rglob("*")) if not path.name.endswith("lock")]
    yield Target("kb", 0.3, [path for path in files if path.is_file()], lambda: use_kb(place))
    bare = folder / "bare"
    shutil.copytree(place, bare)
    (data,) = bare.glob("data-*")
    (data / "sums.json").unlink()
    columns = [data / f"{column}.bin" for column in COLUMNS]
    yield Target("columns without checksums", 0.15, columns, lambda: use_kb(bare))


def use_kb(place: Path) -> None:
    """Read all that a knowledge base has."""
    with KnowledgeBase.open(place) as kb:
        names = list(kb.names())[:20]
        ids = list(kb.ids())[:20]
        numbers = np.array([n for n in kb.numbers(ids) if n is not None], np.int64)
        for id_ in ids:
            with suppress(KeyError):  # a damaged text may hold another id
                kb.entity(id_)
                kb.near(id_)
                kb.vector(id_)
        for texts in (kb.ids_of(numbers), kb.titles(numbers), kb.descriptions(numbers)):
            del texts
        kb.link_lists(numbers)
        kb.vectors(numbers)
        kb.types_of(numbers)
        for name in names:
            kb.candidates(name)
            kb.link_probability(name)
        kb.candidate_lists(names)
        kb.similar_names([f"{name}s" for name in names], 3)
        kb.word_vector("one")
        kb.info()


def _corpora(folder: Path) -> Iterator[Target]:
    documents = read_starter()["dev"][:10]
    for format, ending, share in (("docbin", ".spacy", 0.05), ("nif", ".ttl.gz", 0.025),
                                  ("jsonl", ".jsonl.xz", 0.025)):  # fmt: skip
        path = folder / f"corpus{ending}"
        write_documents(documents, path, format)
        yield Target(
            format, share, [path],
            lambda path=path, format=format: list(read_documents(path, format, ErrorList())),
        )  # fmt: skip


def _jobs(folder: Path) -> Iterator[Target]:
    given = folder / "in.parquet"
    texts = [document.text for document in read_starter()["dev"][:12]]
    mentions = [[{"start": 0, "end": 4}] if i % 2 else None for i in range(len(texts))]
    ids = [str(i) for i in range(len(texts))]
    table = pa.table({"id": ids, "text": texts, "mentions": mentions})
    pq.write_table(table, given, row_group_size=4, compression="snappy")
    yield Target("parquet", 0.1, [given], lambda: list(_items(given)))
    job, inputs = folder / "job", [str(given)]

    def run_job() -> None:
        LinkJob.begin(job, inputs, linker_spec(), 1_000).run(_InThisProcess())

    run_job()
    yield Target("job", 0.02, [given, *sorted(job.iterdir())], run_job)


def _items(path: Path) -> Iterator[object]:
    for part in cut([str(path)], 1_000):
        yield from items_of(part, str(path), 100_000)


class _InThisProcess:
    """Engine of a job without workers, whose memory could not be limited."""

    def slots(self) -> int:
        return 1

    def submit(self, function: Callable[..., Any], *arguments: Any) -> "Future[Any]":
        future: Future[Any] = Future()
        future.set_result(function(*arguments))
        return future

    def wait(self, futures: Collection["Future[Any]"]) -> list["Future[Any]"]:
        return list(futures)

    def result(self, future: "Future[Any]") -> Any:
        return future.result()

    def send_linker(self, spec: dict[str, Any]) -> None:
        pass


def _closing(linker: Linker) -> Linker:
    gc.collect()  # those of earlier cases
    return linker


# Cases


def run(target: Target, cases: range, seed: int) -> Counter[str]:
    """Run cases in children; return the outcomes. A child that dies is a finding."""
    outcomes: Counter[str] = Counter()
    whole = {path: path.read_bytes() for path in target.files}
    first = cases.start
    while first < cases.stop:
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(read)
            with open(write, "w", buffering=1) as pipe:
                _cases(target, whole, range(first, cases.stop), seed, pipe)
            os._exit(0)
        os.close(write)
        with open(read) as pipe:
            for line in pipe:
                number, outcome = json.loads(line)
                first = number + 1
                outcomes[outcome if outcome in ("refused", "accepted") else "wrong"] += 1
                if outcome not in ("refused", "accepted"):
                    print(f"{target.name}, case {number}: {outcome}", flush=True)
        _, status = os.waitpid(child, 0)
        code = os.waitstatus_to_exitcode(status)
        if code:
            print(f"{target.name}, case {first}: the process ended with {code}", flush=True)
            outcomes["wrong"] += 1
            first += 1
            for path, data in whole.items():  # which it did not restore
                path.write_bytes(data)
    return outcomes


def _cases(target: Target, whole: dict[Path, bytes], cases: range, seed: int, pipe: Any) -> None:
    warnings.simplefilter("ignore")
    target.use()  # what is imported on the way is not theirs
    for case in cases:
        rng = np.random.default_rng((seed, case))
        path = target.files[rng.integers(len(target.files))]
        data = mutated(rng, whole[path])
        path.write_bytes(data)
        _limit(2 * max(len(data), len(whole[path])) + MEMORY)
        begin = time.process_time()
        try:
            target.use()
            outcome = "accepted"
        except SgtbError as error:
            outcome = "refused" if str(error) else "an error without message"
        except BaseException as error:
            outcome = f"{path.name}: {type(error).__name__}: {str(error)[:200]}"
        if time.process_time() - begin > SECONDS:
            outcome = f"{path.name}: {time.process_time() - begin:.1f} s"
        _limit(None)
        path.write_bytes(whole[path])
        pipe.write(json.dumps([case, outcome]) + "\n")


def _limit(more: int | None) -> None:
    """Limit the private memory of this process to what it has and more; None: no limit."""
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    if SANITIZED:  # which keeps memory that was freed
        return
    if more is None:
        resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))
        return
    lines = Path("/proc/self/status").read_text().splitlines()
    used = next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmData"))
    resource.setrlimit(resource.RLIMIT_DATA, (used + more, hard))


def fuzz(mutations: int, seed: int, only: str = "", first: int = 0) -> Counter[str]:
    """Fuzz all targets; print and return the outcomes."""
    total: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for target in targets(Path(folder)):
            if only and target.name != only:
                continue
            count = mutations if only else max(1, round(mutations * target.share))
            begin = time.monotonic()
            outcomes = run(target, range(first, first + count), seed)
            shown = ", ".join(f"{n:,} {outcome}" for outcome, n in sorted(outcomes.items()))
            print(f"{target.name}: {shown}; {time.monotonic() - begin:.0f} s", flush=True)
            total += outcomes
    return total


def main() -> int:
    """Fuzz; the exit code is 1 if a case did harm."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mutations", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    total = fuzz(options.mutations, options.seed, options.only, options.first)
    print(f"{total.total():,} mutations, {total['wrong']:,} wrong")
    return int(total["wrong"] > 0)


if __name__ == "__main__":
    sys.exit(main())
