"""The tables of the knowledge base benchmark: figures with their targets."""

from collections.abc import Iterable, Mapping
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from benchmarks.kb_sizing import DIMENSIONS, KINDS
from benchmarks.table import Line

_NAMES = {
    "known": "any name",
    "mixed": "any name, 10 % unknown",
    "mentioned": "a name of any entity",
    "crowded": "names of 30 entities or more",
    "variants": "variants of names",
}
_SIMILAR = {
    "misspelt": ("similar", "similar names: one letter missing"),
    "words": ("containing", "names that contain a word"),
}


def print_tables(result: Mapping[str, Any], console: Console, markdown: bool) -> None:
    """Print a table for every measured part, then notes on the measurement."""
    style = box.MARKDOWN if markdown else None
    for part, lines_of, notes_of in (
        ("lookups", lookup_lines, lookup_notes),
        ("build", build_lines, build_notes),
        ("memory", memory_lines, memory_notes),
        ("vectors", vector_lines, vector_notes),
    ):
        if part in result:
            title = f"sgtb knowledge base: {part}{', quick run' if result['quick'] else ''}"
            _print(title, lines_of(result[part]), notes_of(result[part]), console, style)
    if "sizing" in result:
        _print_sizing(result["sizing"], console, style)


def lookup_lines(result: Mapping[str, Any]) -> list[Line]:
    """Return the lines about look-ups."""
    build, opened, reader = result["build"], result["open"], result["reader"]["memory"]
    ours, theirs = result["lookups"], result["sqlite"]
    sizes, bare, changes = result["sizes"], result["bare"], result["changes"]
    lines = [
        Line("built from a list of", sizes["entities"], "{:,.0f} entities"),
        Line("  aliases", sizes["aliases"], "{:,.0f}"),
        Line("  links", sizes["links"], "{:,.0f}"),
        Line("  in", build["seconds"], "{:.1f} s"),
        Line("  of it the processor's", build["processor_seconds"], "{:.1f} s"),
        Line("  peak memory", build["peak"]["rss_mb"], "{:,.0f} MB"),
        Line("  peak memory without pages of files", build["peak"]["anon_mb"], "{:,.0f} MB"),
        Line("  size on disk", sum(sizes["files"].values()) / 1e6, "{:,.0f} MB"),
        _below("opening, fresh process", opened["seconds"], 0.2, "{:.4f} s"),
        Line(
            "  the whole process: Python, imports, opening", opened["process_seconds"], "{:.2f} s"
        ),
    ]
    for kind, name in _NAMES.items():
        us, limit = ours[kind]["batch"]["us"], 10 if kind != "crowded" else None
        rival = min(theirs[kind][way]["us"] for way in ("one_by_one", "in_one_query"))
        lines += [
            _below(f"batch of 1,000: {name}", us, limit, "{:.1f} µs a name"),
            Line("  SQLite, one query a name", theirs[kind]["one_by_one"]["us"], "{:.1f} µs"),
            Line("  SQLite, one query for all", theirs[kind]["in_one_query"]["us"], "{:.1f} µs"),
            Line("  SQLite's better one / ours", rival / us, "{:.1f} ×"),
        ]
    for kind, name in _NAMES.items():
        us, limit = ours[kind]["single"]["us"], 50 if kind != "crowded" else None
        rival = theirs[kind]["single"]["us"]
        lines += [
            _below(f"one by one, with titles: {name}", us, limit, "{:.1f} µs a name"),
            Line("  SQLite, joined with titles", rival, "{:.1f} µs"),
            _at_least("  SQLite / ours, processor time", _ratio(theirs, ours, kind), 1, "{:.2f} ×"),
        ]
    lines += [*_similar_lines(result["similar"]), *_baseline_lines(result)]
    if result["cold"]:
        lines += [
            Line("batch of 1,000, pages not in memory", result["cold"]["us"], "{:.0f} µs a name"),
            Line("  SQLite, one query a name", result["cold"]["sqlite_us"], "{:.0f} µs"),
        ]
    filled = result["sqlite_size"]
    lines += [
        Line("names.mdb", sizes["files"]["names.mdb"] / 1e6, "{:,.0f} MB"),
        Line("  SQLite: names", filled["names_bytes"] / 1e6, "{:,.0f} MB"),
        _below("fuzzy index, share of the folder", _fuzzy_share(sizes), 0.4, "{:.1%}"),
        _below("memory: opened, 1,000 names looked up", reader["rss_mb"], 300, "{:.0f} MB"),
        Line("  its own", reader["anon_mb"], "{:.0f} MB"),
        Line("  pages of files, which the system shares", reader["file_mb"], "{:.0f} MB"),
        Line("  with the imports alone", bare["rss_mb"], "{:.0f} MB"),
    ]
    if result["two_processes"]:
        two, n = result["two_processes"], result["looked_up"]
        lines += [
            Line(f"two processes, {n:,} names each: sum of RSS", two["rss_mb"], "{:.0f} MB"),
            Line("  sum of PSS", two["pss_mb"], "{:.0f} MB"),
            Line("  shared", two["shared_mb"], "{:.0f} MB"),
            Line("  shared pages of the knowledge base", two["files_shared_mb"], "{:.0f} MB"),
            Line("  of which both have mapped", two["files_rss_mb"], "{:.0f} MB"),
        ]
    for kind, name in (("add", "adding"), ("change", "changing"), ("remove", "removing")):
        lines += [
            _below(f"{name} 12 entities", changes[kind], 0.1, "{:.3f} s"),
            Line("  of it the processor's", changes[f"{kind}, processor"], "{:.3f} s"),
            Line("  a reader's refresh", changes[f"{kind}, refresh"], "{:.4f} s"),
        ]
    return lines


def _ratio(theirs: Mapping[str, Any], ours: Mapping[str, Any], kind: str) -> float:
    """Return the ratio of single look-ups in processor time, which other work affects less."""
    times = [side[kind]["single"]["processor_us"] for side in (theirs, ours)]
    return float(times[0] / times[1])


def _fuzzy_share(sizes: Mapping[str, Any]) -> float:
    return float(sizes["fuzzy_bytes"] / sum(sizes["files"].values()))


def _similar_lines(similar: Mapping[str, Any]) -> list[Line]:
    """Return the lines about names that are not spelt as listed."""
    lines = [
        _below(f"batch of 1,000: {name}", similar[kind][way]["us"] / 1e3, 1, "{:.3f} ms a name")
        for kind, (way, name) in _SIMILAR.items()
    ]
    lines.append(Line("  listed name among the first 8 found", similar["recall"], "{:.1%}"))
    for way, name in (("exact", "look-up"), ("similar", "similar names"), ("variants", "variants")):
        short, long = (similar[kind][way]["processor_us"] for kind in ("misspelt", "lengthened"))
        label = f"{name}: names eight times as long / names"
        lines.append(_below(label, long / short, 16, "{:.1f} ×"))
    return lines


def _baseline_lines(result: Mapping[str, Any]) -> list[Line]:
    """Return the ratios to another version, in processor time, without variants."""
    if result["baseline"] is None:
        return []
    ours, baseline = result["lookups"], result["baseline"]
    lines = []
    for way, label in (("batch", "batch of 1,000"), ("single", "one by one, with titles")):
        for kind, name in _NAMES.items():
            earlier = baseline["lookups"]["known" if kind == "variants" else kind][way]
            ratio = earlier["processor_us"] / ours[kind][way]["processor_us"]
            lines.append(_at_least(f"baseline / ours, {label}: {name}", ratio, 1, "{:.2f} ×"))
    peaks = [side["build"]["peak"]["anon_mb"] for side in (baseline, result)]
    held = [side["reader"]["memory"]["rss_mb"] for side in (baseline, result)]
    seconds = [side["build"]["processor_seconds"] for side in (baseline, result)]
    return [
        *lines,
        Line("baseline: build, the processor's", seconds[0], "{:.1f} s"),
        Line("baseline: build, peak without pages of files", peaks[0], "{:,.0f} MB"),
        _below("  ours / baseline", peaks[1] / peaks[0], 1.1, "{:.2f} ×"),
        Line("baseline: opened, 1,000 names looked up", held[0], "{:.0f} MB"),
        _below("  ours / baseline", held[1] / held[0], 1.1, "{:.2f} ×"),
    ]


def lookup_notes(result: Mapping[str, Any]) -> list[str]:
    """Return notes on look-ups."""
    sizes, ours = result["sizes"], result["lookups"]
    widths = ", ".join(f"{name}: {ours[kind]['candidates']:.1f}" for kind, name in _NAMES.items())
    return [
        f"The list is generated: {sizes['names']:,} names, of which "
        f"{sizes['names_with_one'] / sizes['names']:.0%} mean one entity, "
        f"{sizes['names_with_30']:,} mean 30 or more, one means {sizes['most_candidates']:,}.",
        f"Candidates a name, at most 30: {widths}.",
        "All look-ups begin with the name as it is written and give candidates with priors, "
        "likeliest first; both sides' answers were compared. Medians of batches, each side in a "
        "process of its own, files in the page cache.",
        "SQLite: names by (name, rank) without row ids, prepared statements, read-only, immutable, "
        "memory-mapped. Its table holds the priors, ours also the counts of each source.",
    ]


def build_lines(result: Mapping[str, Any]) -> list[Line]:
    """Return the lines about builds from dumps."""
    one, two = result["builds"]["1"], result["builds"]["2"]
    extraction, rival = result["extraction"], result["rival"]
    lines = [
        Line("dump", result["xml_bytes"] / 1e6, "{:,.0f} MB of XML"),
        Line("extraction, one core", extraction["mb_per_second"], "{:.1f} MB/s"),
        Line("  reading pages", _rate(extraction, "read_seconds"), "{:.1f} MB/s"),
        Line("  text and links", _rate(extraction, "extract_seconds"), "{:.1f} MB/s"),
        Line("the same pages: text and links", rival["our_mb_per_second"], "{:.1f} MB/s"),
        Line("  mwparserfromhell", rival["mb_per_second"], "{:.2f} MB/s"),
        Line("  mwparserfromhell / ours", rival["seconds"] / rival["our_seconds"], "{:.0f} ×"),
        Line("bzip2 and reading pages, one core", result["unpacking_mb_per_second"], "{:.1f} MB/s"),
    ]
    for name, build in (("one worker", one), ("two workers", two)):
        lines += [
            Line(f"whole build, {name}", build["seconds"], "{:.1f} s"),
            Line("  MB of XML", build["mb_per_second"], "{:.1f} MB/s"),
            Line("  a core", build["mb_per_second_and_core"], "{:.1f} MB/s"),
            Line("  peak memory", build["peak"]["rss_mb"], "{:,.0f} MB"),
            *(
                Line(f"  {stage}", seconds / build["seconds"], "{:.1%}")
                for stage, seconds in build["stages"].items()
            ),
        ]
    return [*lines, Line("one worker / two workers", result["scaling"], "{:.2f} ×")]


def build_notes(result: Mapping[str, Any]) -> list[str]:
    """Return notes on builds."""
    rival, one = result["rival"], result["builds"]["1"]
    return [
        f"The dump: {result['origin']}; {one['articles']:,} articles, {one['redirects']:,} "
        f"redirects, {one['links']:,} links. Every linked title is made an entity, since so few "
        f"pages link to each other; {one['entities']:,} entities in all.",
        f"mwparserfromhell {rival['version']} with its C tokenizer: parse, strip_code, "
        f"filter_wikilinks on {rival['pages']:,} pages; it finds {rival['links']:,} links, we "
        f"{rival['our_links']:,}.",
    ]


def memory_lines(result: Mapping[str, Any]) -> list[Line]:
    """Return the lines about memory."""
    lines = [
        Line("allowance", result["allowance"] / 1e6, "{:,.0f} MB"),
        Line("a process with the imports alone", result["bare"]["rss_mb"], "{:.0f} MB"),
        Line("  its own", result["bare"]["anon_mb"], "{:.0f} MB"),
    ]
    for run in result["runs"]:
        lines += [
            Line("dump", run["xml_bytes"] / 1e6, "{:,.0f} MB of XML"),
            Line("  dump / allowance", run["xml_bytes"] / result["allowance"], "{:.2f} ×"),
            Line("  entities", run["entities"], "{:,.0f}"),
            Line("  peak memory, all processes", run["peak"]["rss_mb"], "{:,.0f} MB"),
            Line("  without pages of files", run["peak"]["anon_mb"], "{:,.0f} MB"),
            Line("  in", run["seconds"], "{:.0f} s"),
            Line("  MB of XML", run["mb_per_second"], "{:.1f} MB/s"),
        ]
    small, large = result["runs"]
    ratio = large["peak"]["rss_mb"] / small["peak"]["rss_mb"]
    return [*lines, Line("peak, larger dump / smaller dump", ratio, "{:.2f} ×")]


def memory_notes(result: Mapping[str, Any]) -> list[str]:
    """Return notes on memory."""
    run = result["runs"][-1]
    return [
        f"Two workers and the process that counts, {run['peak']['processes']} processes at most, "
        f"sampled every 50 ms ({run['peak']['samples']:,} times); pages that they share count in "
        "each of them.",
        "The dumps are generated; links lead to 200,000 titles by a Zipf law.",
    ]


def vector_lines(result: Mapping[str, Any]) -> list[Line]:
    """Return the lines about trained vectors."""
    build = result["build"]
    training = build["stages"].get("training vectors", 0.0)
    return [
        Line("dump", result["xml_bytes"] / 1e6, "{:,.0f} MB of XML"),
        Line("whole build with vectors", build["seconds"], "{:.1f} s"),
        Line("  of it training", training / build["seconds"], "{:.1%}"),
        Line("  training", result["xml_bytes"] / 1e6 / max(training, 1e-9), "{:.2f} MB of XML/s"),
        Line("  vectors of entities", build["vectors"], "{:,.0f}"),
        Line("  vectors of words", build["words"], "{:,.0f}"),
        Line("  peak memory", build["peak"]["rss_mb"], "{:,.0f} MB"),
    ]


def vector_notes(result: Mapping[str, Any]) -> list[str]:
    """Return notes on vectors."""
    return [f"The dump: {result['origin']}. Training uses one core: the result is the same always."]


def _print_sizing(sizing: Mapping[str, Any], console: Console, style: box.Box | None) -> None:
    table = _table(
        "bytes on disk, measured", style, "knowledge base", *(f"one of {k}" for k in KINDS)
    )
    for name, unit in sizing["measured"].items():
        table.add_row(name, *("" if unit[k] is None else f"{unit[k]:,.0f}" for k in KINDS))
    console.print(table)
    heads = ("knowledge base", "entities", *KINDS, "together", "as in")
    table = _table("GB on disk, computed from the above, not measured", style, *heads)
    for row in sizing["computed"]:
        table.add_row(
            row["name"], f"{row['entities']:,}",
            *(f"{row['gigabytes'][kind]:,.2f}" if row["gigabytes"][kind] else "" for kind in KINDS),
            f"{row['total_gigabytes']:,.1f}", row["as_measured_in"],
        )  # fmt: skip
    console.print(table)
    for note in (
        "An entity: its row, id, title, description and place in the index of ids. An alias: its "
        "spelling and its share of the index of names. A pair is kept in both of its lists.",
        f"Computed: how many aliases, links and pairs an entity has is given in kb_sizing.py with "
        f"its source or as our assumption; vectors have {DIMENSIONS} dimensions.",
    ):
        console.print(f"- {note}", highlight=False)


def _print(
    title: str, lines: Iterable[Line], notes: Iterable[str], console: Console, style: box.Box | None
) -> None:
    table = _table(title, style, "measured", "value", "wanted", "")
    for line in lines:
        mark = "" if line.met is None else "[green]ok[/]" if line.met else "[red]missed[/]"
        table.add_row(line.label, line.form.format(line.value), line.wanted, mark)
    console.print(table)
    for note in notes:
        console.print(f"- {note}", highlight=False)


def _table(title: str, style: box.Box | None, first: str, *columns: str) -> Table:
    table = Table(title=title, **({} if style is None else {"box": style}))  # type: ignore[arg-type]
    table.add_column(first)
    for column in columns:
        table.add_column(column, justify="right")
    return table


def _rate(extraction: Mapping[str, Any], part: str) -> float:
    return float(extraction["xml_bytes"] / 1e6 / extraction[part])


def _at_least(label: str, value: float, limit: float, form: str) -> Line:
    return Line(label, value, form, f"≥ {limit:g}", value >= limit)


def _below(label: str, value: float, limit: float | None, form: str) -> Line:
    if limit is None:
        return Line(label, value, form)
    return Line(label, value, form, f"< {limit:g}", value < limit)
