"""The tables of the linker benchmark: figures with their targets."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from benchmarks.table import Line

MEMORY_LIMIT = 500
START_LIMIT = 2
Lines = Callable[[Mapping[str, Any]], list[Line]]


def print_tables(result: Mapping[str, Any], console: Console, markdown: bool) -> None:
    """Print a table for every measured part, then notes on the measurement."""
    parts: tuple[tuple[str, str, Lines], ...] = (
        ("spans", "gold spans, listed candidates", partial(run_lines, jobs=2, wanted=500)),
        ("texts", "plain text, names looked up", partial(run_lines, jobs=1, wanted=100)),
        ("latency", "one document by itself", latency_lines),
        ("stages", "what the time is spent on", stage_lines),
        ("memory", "memory of a fresh process", memory_lines),
        ("cold", "a cold start", cold_lines),
    )
    for part, title, lines_of in parts:
        if part in result:
            whole = f"sgtb linker: {title}{', quick run' if result['quick'] else ''}"
            _print(whole, lines_of(result[part]), console, box.MARKDOWN if markdown else None)
    for note in notes_of(result):
        console.print(f"- {note}", highlight=False)


def run_lines(result: Mapping[str, Any], jobs: int, wanted: int) -> list[Line]:
    """Return the lines about documents per second, with targets by number of processes."""
    lines = []
    for run in result.values():
        processes = "one process" if run["jobs"] == 1 else f"{run['jobs']} processes"
        label = f"{processes}{', with reasons' if run['reasons'] else ''}"
        reached = run["docs_per_second"]
        lines += [
            Line(label, reached, "{:,.1f} docs/s", f">= {wanted}", reached >= wanted)
            if run["jobs"] == jobs and not run["reasons"]
            else Line(label, reached, "{:,.1f} docs/s"),
            Line("  the first pass", run["first_docs_per_second"], "{:,.1f} docs/s"),
        ]
        if run["processor_ms"] is not None:
            lines.append(Line("  of the processor", run["processor_ms"], "{:,.2f} ms a document"))
    first = next(iter(result.values()))
    return [*lines, Line("mentions a document", first["mentions"] / first["documents"], "{:.1f}")]


def latency_lines(result: Mapping[str, Any]) -> list[Line]:
    """Return the lines about one document."""
    lines = [Line("characters", result["characters"], "{:,.0f}")]
    for name, label in (("plain", ""), ("reasons", ", with reasons")):
        run = result[name]
        lines += [
            Line(f"median{label}", run["p50_ms"], "{:,.2f} ms"),
            Line("  99th percentile", run["p99_ms"], "{:,.2f} ms"),
            Line("  of the processor", run["processor_p50_ms"], "{:,.2f} ms"),
        ]
    return [*lines, Line("mentions", result["plain"]["mentions"], "{:.0f}")]


def stage_lines(result: Mapping[str, Any]) -> list[Line]:
    """Return the lines about stages: milliseconds per document, and their shares."""
    lines = []
    for way, name in (("spans", "gold spans"), ("texts", "plain text")):
        taken = result[way]
        whole = sum(ms for stage, ms in taken.items() if stage != "reasons")
        lines.append(Line(f"{name}, all but reasons", whole, "{:,.2f} ms"))
        lines += [
            Line(f"  {stage}", ms, f"{{:,.2f}} ms, {ms / whole:.0%}") for stage, ms in taken.items()
        ]
    return lines


def memory_lines(result: Mapping[str, Any]) -> list[Line]:
    """Return the lines about memory."""
    lines = []
    for name, limit in (("generated", MEMORY_LIMIT), ("starter", None)):
        run = result[name]
        if run is None:
            continue
        rss = run["after"]["rss_mb"]
        label = f"{run['entities']:,} entities, {run['documents']:,} documents linked"
        lines += [
            Line(f"{name}: {label}", rss, "{:,.0f} MB", "", None)
            if limit is None
            else Line(f"{name}: {label}", rss, "{:,.0f} MB", f"< {limit}", rss < limit),
            Line("  its own", run["after"]["anon_mb"], "{:,.0f} MB"),
            Line("  pages of files, which processes share", run["after"]["file_mb"], "{:,.0f} MB"),
            Line("  model and knowledge base opened", run["loaded"]["rss_mb"], "{:,.0f} MB"),
            Line("  with the imports alone", run["imported"]["rss_mb"], "{:,.0f} MB"),
            Line("  mentions a document", run["mentions"] / run["documents"], "{:.1f}"),
        ]
    return lines


def cold_lines(result: Mapping[str, Any]) -> list[Line]:
    """Return the lines about whole processes."""
    return [
        Line(
            "sgtb link TEXT, the whole process",
            result["seconds"],
            "{:.2f} s",
            f"< {START_LIMIT}",
            result["seconds"] < START_LIMIT,
        ),
        Line("  the slowest", result["slowest_seconds"], "{:.2f} s"),
        Line("  sgtb --version", result["version_seconds"], "{:.2f} s"),
    ]


def notes_of(result: Mapping[str, Any]) -> list[str]:
    """Return notes on the measurement."""
    notes = []
    load = result["machine"]["load_at_start"]
    if load is not None and load > 1:
        notes.append(
            f"Other programs were running: the load was {load:.1f} on {result['machine']['cpus']} "
            "cores when this began. Times by the clock are too long."
        )
    if "aida" in result:
        aida = result["aida"]
        notes.append(
            f"AIDA-CoNLL: {aida['documents']} documents of test; {aida['plan']} with "
            f"{aida['trees']} trees, trained on {aida['trained_on']} documents. Five candidates a "
            "link. Medians of several passes after a first one: processes are there, and the "
            "facts of entities that were met before are kept in memory. The first pass makes "
            "those facts, and with several processes starts them."
        )
    if "latency" in result:
        run = result["latency"]["plain"]
        notes.append(f"One document: of median length, as text, {run['calls']} calls of link().")
    if "stages" in result:
        notes.append(
            "Stages: time of the processor, each done by itself on batches of documents, all "
            "warm; reasons come on top of the others."
        )
    if "memory" in result:
        memory = result["memory"]
        notes.append(
            f"Memory: generated texts about generated entities; the model, of "
            f"{memory['model_bytes'] / 1e6:.0f} MB, was trained on {memory['trained_on']} such "
            "texts in another process."
        )
    if "cold" in result:
        notes.append(f"Cold start: medians of {result['cold']['starts']}, after a first one.")
    return notes


def _print(title: str, lines: Iterable[Line], console: Console, style: box.Box | None) -> None:
    table = Table(title=title, **({} if style is None else {"box": style}))  # type: ignore[arg-type]
    table.add_column("measured")
    for column in ("value", "wanted", ""):
        table.add_column(column, justify="right")
    for line in lines:
        mark = "" if line.met is None else "[green]ok[/]" if line.met else "[red]missed[/]"
        table.add_row(line.label, line.form.format(line.value), line.wanted, mark)
    console.print(table)
