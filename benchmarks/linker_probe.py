"""The probe of the linker: measurements in a fresh process. `benchmarks.probes` starts it.

python -m benchmarks.linker_probe TASK WORD ...
"""

import json
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.resident import resident


def train(place: str, path: str, documents: str) -> dict[str, Any]:
    """Train a small linker on generated documents about a knowledge base."""
    from benchmarks.linker_texts import written
    from sgtb.boosting import SearchPlan, TrainingSettings, TreeSettings
    from sgtb.kb import KnowledgeBase
    from sgtb.linking.training.linker_training import LinkerTraining, train_linker

    settings = LinkerTraining(
        SearchPlan("bsg", beam_width=4), TreeSettings(min_leaf=20), TrainingSettings(n_trees=100)
    )
    begin = time.perf_counter()
    with KnowledgeBase.open(place) as kb:
        train_linker(kb, list(written(kb, int(documents), seed=1)), settings=settings).save(path)
    return {"seconds": time.perf_counter() - begin, "bytes": Path(path).stat().st_size}


def write(place: str, path: str, documents: str) -> dict[str, Any]:
    """Write the texts of generated documents."""
    from benchmarks.linker_texts import written
    from sgtb.kb import KnowledgeBase

    with KnowledgeBase.open(place) as kb:
        texts = [document.text for document in written(kb, int(documents), seed=2)]
    Path(path).write_text(json.dumps(texts), "utf-8")
    return {"documents": len(texts), "characters": sum(map(len, texts))}


def starter_texts(documents: str, path: str) -> dict[str, Any]:
    """Write the texts of the starter's documents."""
    from experiments.starter_data import read_starter

    splits = read_starter(Path(documents)).values()
    texts = [document.text for split in splits for document in split]
    Path(path).write_text(json.dumps(texts), "utf-8")
    return {"documents": len(texts)}


def memory(place: str, model: str, path: str) -> dict[str, Any]:
    """Link texts with a knowledge base; return the memory of the process afterwards."""
    from sgtb.linking.linker import Linker

    texts = json.loads(Path(path).read_text("utf-8"))
    imported = resident()
    with Linker(model, place) as linker:
        loaded = resident()
        linked = list(linker.pipe(texts))
        after = resident()
        entities = len(linker.kb)
    return {
        "entities": entities,
        "documents": len(texts),
        "mentions": sum(len(one.links) for one in linked),
        "linked": sum(link.entity is not None for one in linked for link in one.links),
        "imported": asdict(imported),
        "loaded": asdict(loaded),
        "after": asdict(after),
    }


def aida(folder: str, train: str, test: str, passes: str) -> dict[str, Any]:
    """Link AIDA's test documents, with listed candidates and as plain text.

    folder       keeps the models
    train, test  how many documents; 0: all
    """
    from benchmarks.dump_repeated import data_folder
    from benchmarks.linker_aida import aida_subjects
    from benchmarks.linker_speed import throughput
    from experiments.aida_data import AidaData

    data = AidaData.read(data_folder())
    place = Path(folder)
    subjects = aida_subjects(data, place, int(train) or None, int(test) or None, lambda _: None)
    runs = {
        "spans": throughput(subjects.spans, 1, int(passes)),
        "spans, 2 processes": throughput(subjects.spans, 2, int(passes)),
        "text": throughput(subjects.texts, 1, int(passes)),
        "text, reasons": throughput(subjects.texts, 1, int(passes), reasons=True),
    }
    return {"trees": subjects.n_trees, "runs": runs}


def first_link(text: str) -> dict[str, Any]:
    """Import the linker, load the starter and link a text."""
    begin = time.perf_counter()
    from sgtb import Linker

    imported = time.perf_counter()
    with Linker.starter() as linker:
        links = linker.link(text).links
        done = time.perf_counter()
        memory = resident()
    return {
        "import_seconds": imported - begin,
        "seconds": done - begin,
        "rss_mb": memory.rss_mb,
        "links": len(links),
    }


def install_size() -> dict[str, Any]:
    """Return the size of the package and its requirements, in MB."""
    from benchmarks.install_size import sizes

    found = sizes("sgtb")
    return {"mb": sum(found.values()), "packages": found}


if __name__ == "__main__":
    all_tasks = (train, write, starter_texts, memory, aida, first_link, install_size)
    tasks = {task.__name__: task for task in all_tasks}
    print(json.dumps(tasks[sys.argv[1]](*sys.argv[2:])), flush=True)
