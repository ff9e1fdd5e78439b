"""The wiki probe: extraction and builds from dumps, in a fresh process, printed as JSON.

python -m benchmarks.wiki_probe TASK WORD ...
"""

import json
import resource
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any

from sgtb.wikipedia.build.dump_build import WikiSettings, build_wiki
from sgtb.wikipedia.dump.dump_reader import Dump, open_dump, read_chunk
from sgtb.wikipedia.dump.page_xml import DumpPage
from sgtb.wikipedia.wikitext.markup import extract


def bare() -> dict[str, Any]:
    """Import what a build's processes import, and extract one page."""
    from benchmarks.resident import resident

    extract("'''A''' is [[b]].", frozenset())
    return {"memory": asdict(resident())}


def build(
    path: str, place: str, workers: str, memory: str, vectors: str, red_links: str
) -> dict[str, Any]:
    """Build a knowledge base from a dump; return the seconds of its stages."""
    settings = WikiSettings(
        workers=int(workers), memory=int(memory), vectors=vectors, red_links=int(red_links)
    )
    extract("'''A''' is [[b]].", frozenset())  # makes its tables
    stages: dict[str, float] = {}
    processor = time.process_time()
    begin = last = time.perf_counter()

    def note(stage: str, done: int, total: int) -> None:
        # A stage reports its progress: the time since the last report belongs to it.
        nonlocal last
        now = time.perf_counter()
        stages[stage] = stages.get(stage, 0.0) + now - last
        last = now

    report = build_wiki([Path(path)], Path(place), settings, note)
    end = time.perf_counter()
    stages["finishing"] = end - last
    workers_used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "seconds": end - begin,
        "processor_seconds": time.process_time() - processor,
        "worker_processor_seconds": workers_used.ru_utime + workers_used.ru_stime,
        "stages": stages,
        "entities": report.entities,
        "articles": report.pages.articles,
        "redirects": report.pages.redirects,
        "links": report.links.found,
        "entity_links": report.entity_links,
        "pairs": report.pairs,
        "names": report.names.names,
        "vectors": report.vectors.entities,
        "words": report.vectors.words,
    }


def extraction(path: str) -> dict[str, Any]:
    """Read and extract all pages of a dump with one process."""
    dump = open_dump(path)
    extract("'''A''' is [[b]].", dump.site.hidden)
    for page in islice(_articles(dump), 20):
        extract(page.text, dump.site.hidden)
    reading = extracting = 0.0
    xml = pages = links = 0
    for chunk in dump.chunks():
        begin = time.perf_counter()
        found = read_chunk(chunk, dump.site).pages.pages
        middle = time.perf_counter()
        for page in found:
            if page.namespace == 0 and page.redirect is None:
                links += len(extract(page.text, dump.site.hidden).links)
        extracting += time.perf_counter() - middle
        reading += middle - begin
        xml += len(chunk.text or b"") or chunk.position - chunk.start
        pages += len(found)
    return {
        "xml_bytes": xml, "pages": pages, "links": links,
        "read_seconds": reading, "extract_seconds": extracting,
        "mb_per_second": xml / 1e6 / (reading + extracting),
    }  # fmt: skip


def rival(path: str, seconds: str) -> dict[str, Any]:
    """Extract the first pages of a dump with mwparserfromhell, and with ours, for so long."""
    import mwparserfromhell

    dump = open_dump(path)
    extract("'''A''' is [[b]].", dump.site.hidden)
    pages: list[DumpPage] = []
    links = 0
    begin = time.perf_counter()
    for page in _articles(dump):
        pages.append(page)
        code = mwparserfromhell.parse(page.text)
        code.strip_code()
        links += len([(str(link.title), str(link.text)) for link in code.filter_wikilinks()])
        if time.perf_counter() - begin > float(seconds):
            break
    theirs = time.perf_counter() - begin
    for page in pages[:20]:
        extract(page.text, dump.site.hidden)
    begin = time.perf_counter()
    found = sum(len(extract(page.text, dump.site.hidden).links) for page in pages)
    ours = time.perf_counter() - begin
    size = sum(len(page.text.encode()) for page in pages)
    return {
        "pages": len(pages), "text_bytes": size,
        "seconds": theirs, "links": links, "mb_per_second": size / 1e6 / theirs,
        "our_seconds": ours, "our_links": found, "our_mb_per_second": size / 1e6 / ours,
        "version": str(mwparserfromhell.__version__),
    }  # fmt: skip


def unpacking(path: str) -> dict[str, Any]:
    """Read the pages of a packed dump, without extracting them."""
    dump = open_dump(path)
    begin = time.perf_counter()
    pages = sum(len(read_chunk(chunk, dump.site).pages.pages) for chunk in dump.chunks())
    return {"pages": pages, "seconds": time.perf_counter() - begin}


def _articles(dump: Dump) -> Iterator[DumpPage]:
    for chunk in dump.chunks():
        for page in read_chunk(chunk, dump.site).pages.pages:
            if page.namespace == 0 and page.redirect is None:
                yield page


_TASKS: dict[str, Callable[..., dict[str, Any]]] = {
    task.__name__: task for task in (bare, build, extraction, rival, unpacking)
}

if __name__ == "__main__":
    name, *words = sys.argv[1:]
    print(json.dumps(_TASKS[name](*words)), flush=True)
