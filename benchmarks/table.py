"""The table of the benchmark: figures with their targets."""

from collections.abc import Callable
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table


class Line(NamedTuple):
    """A number, and its target, if any."""

    label: str
    value: float
    form: str
    wanted: str = ""
    met: bool | None = None


def print_table(result: dict[str, Any], console: Console) -> None:
    """Print the table, then notes on the measurement."""
    title = "sgtb learner, quick run" if result["quick"] else "sgtb learner"
    table = Table("measured", title=title)
    table.add_column("value", justify="right")
    table.add_column("wanted", justify="right")
    table.add_column("")
    for line in lines_of(result):
        mark = "" if line.met is None else "[green]ok[/]" if line.met else "[red]missed[/]"
        table.add_row(line.label, line.form.format(line.value), line.wanted, mark)
    console.print(table)
    for note in notes_of(result):
        console.print(f"- {note}", highlight=False)


def lines_of(result: dict[str, Any]) -> list[Line]:
    """Return the lines of the table."""
    large, k = result["large_document"], result["exponents"]
    lines = [
        _at_least("bsg training, naive twin / ours", result["bsg_train_ratio"], 1000, "{:,.0f} ×"),
        Line("  if it remembers scores", result["bsg_train_ratio_remembering"], "{:,.0f} ×"),
        _at_least("decoding, naive twin / ours", result["decode_ratio"], 300, "{:,.0f} ×"),
        _at_least("one tree, LightGBM / ours", result["tree_vs_lightgbm_ratio"], 1, "{:.2f} ×"),
        Line("decoding, one core", result["decode_docs_per_second_per_core"], "{:,.0f} docs/s"),
        Line("decoding, two cores", result["decode_docs_per_second"], "{:,.0f} docs/s"),
        Line("local, 250 trees", result["local_seconds"], "{:.2f} s"),
        _below("bsg, 250 trees", result["bsg_seconds"], 7.5, "{:.2f} s"),
        _below("bibsg, 500 trees", result["bibsg_seconds"], 45, "{:.1f} s"),
        _below("peak memory, bsg", result["peak_rss_mb"], 1500, "{:.0f} MB"),
        _below("peak memory, bibsg", result["bibsg_peak_rss_mb"], 1500, "{:.0f} MB"),
        _below("1,000 mentions × 30: decoding", large["seconds"], 2, "{:.2f} s"),
        _below("1,000 mentions × 30: memory added", large["extra_mb"], 500, "{:.0f} MB"),
        _below("import and first prediction", result["cold_start_seconds"], 1.5, "{:.2f} s"),
    ]  # fmt: skip
    return lines + [
        Line(f"exponent, {name.replace('_', ' by ', 1)}", value, "{:.2f}")
        for name, value in sorted(k.items(), reverse=True)
    ]


def notes_of(result: dict[str, Any]) -> list[str]:
    """Return notes on the measurement."""
    naive, tree = result["train_comparison"]["naive"], result["tree"]
    decoding = result["decode_comparison"]["naive"]
    notes = [
        f"Both sides used {naive['processes']} cores, in this one run.",
        f"The naive twin was not run to the end: measured on {naive['sampled_documents']} of "
        f"{naive['documents']} documents, at epochs {', '.join(map(str, naive['epochs']))} "
        f"with our trees, and scaled by candidates (× {naive['scale']:.1f}) and by a line through "
        f"the epochs to {naive['seconds']:,.0f} s. {naive['formula']}.",
        f"Decoding: the same documents, scaled alike; the twin made {decoding['agreement']:.2%} of "
        "its choices as we did.",
        f"One tree: depth {tree['depth']}, {tree['bins']} bins, {tree['rows']:,} rows of "
        f"{tree['features']} features: {1e3 * tree['sgtb_seconds']:.2f} ms, LightGBM "
        f"{1e3 * tree['lightgbm_seconds']:.2f} ms ({tree['lightgbm_best_variant']}). "
        f"{tree['meaning']}.",
        "Exponents: time grows as size to this power; candidates are worked on sixteen at a time.",
    ]
    shares = result["fresh_trainings"]["bibsg"]["shares_of_corpus"]
    if min(shares) < 1:
        parts = " and ".join(f"{share:.1%}" for share in shares)
        notes.append(
            f"Quick: local and bibsg were trained on {parts} of the corpus and follow the line "
            f"through these; bsg on {result['train_comparison']['share_of_corpus']:.1%}, scaled. "
            "Peak memory is that of the whole corpus and one tree."
        )
    return notes


def _at_least(label: str, value: float, limit: float, form: str) -> Line:
    return _limited(label, value, form, f"≥ {limit:,}", lambda: value >= limit)


def _below(label: str, value: float, limit: float, form: str) -> Line:
    return _limited(label, value, form, f"< {limit:,}", lambda: value < limit)


def _limited(label: str, value: float, form: str, wanted: str, met: Callable[[], bool]) -> Line:
    return Line(label, value, form, wanted, met())
