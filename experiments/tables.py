"""The tables that experiments print, from their JSON records."""

from collections.abc import Sequence
from typing import Any

from experiments import (
    aida_linker_report,
    confidence_report,
    from_text,
    hidden_entities,
    starter_report,
    wned_report,
)
from experiments.aida import PAPER, SYSTEMS
from experiments.aida_report import figures_of
from experiments.output import print_notes, print_table
from experiments.settings_search import Outcome
from sgtb.cli.views.evaluate_view import print_end_to_end
from sgtb.cli.views.train_view import print_accuracy
from sgtb.evaluation.linkers import EndToEndScores, Evaluation


def show_aida(record: dict[str, Any]) -> None:
    """Print the paper's Table 2 next to ours."""
    columns = figures_of(record)
    rows = [
        (
            SYSTEMS[plan], plan, f"{PAPER[plan]:.1f}" if plan in PAPER else "–",
            *(f"{system[key]['mean']:.2f} ± {system[key]['std']:.2f}" for key in columns),
            "/".join(map(str, system["trees"])), f"{system['seconds']:.0f}",
        )
        for plan, system in record["systems"].items()
    ]  # fmt: skip
    print_table(
        "In-KB accuracy, AIDA-CoNLL, PPRforNED's candidates",
        ("system", "plan", "paper, test", *columns.values(), "trees", "seconds"),
        rows, text_columns=2, narrow=False,
    )  # fmt: skip
    print_notes(
        f"{d['from']} → {d['to']}: {d['points']:+.2f} points on test, "
        f"95 % interval {d['low']:+.2f} to {d['high']:+.2f}"
        for d in record["differences"]
    )
    print_notes(
        [
            f"{record['seeds']} seed(s), packing {record['packing_seconds']:.0f} s, "
            f"all {record['seconds']:.0f} s, {record['peak_megabytes']} MB"
        ]
    )


def show_search(outcomes: Sequence[Outcome]) -> None:
    """Print the accuracy of every trial on held-out topics."""
    rows = [
        (
            outcome.name, f"{100 * outcome.accuracy:.2f}",
            "  ".join(f"{100 * fold:.2f}" for fold in outcome.folds), f"{outcome.seconds:.0f}",
        )
        for outcome in outcomes
    ]  # fmt: skip
    title = "In-KB accuracy on held-out topics, AIDA train and dev"
    print_table(title, ("trial", "accuracy", "folds", "seconds"), rows, narrow=False)


def show_wned(record: dict[str, Any]) -> None:
    """Print the paper's Table 3 next to ours, coverage first."""
    print_notes(wned_report.notes(record)[:1])
    for training in record["trainings"]:
        print_table(
            f"Trained on {training}: what can be right",
            wned_report.COVERAGE_HEADINGS,
            wned_report.coverage_rows(record, training),
        )
        for key, metric in wned_report.METRICS.items():
            rows = wned_report.figure_rows(record, training, key)
            print_table(metric.title, wned_report.HEADINGS, rows)
    print_notes(wned_report.notes(record)[1:])


def show_linker(record: dict[str, Any]) -> None:
    """Print the accuracy of linkers next to that of the experiment `aida`."""
    print_table(
        "In-KB accuracy, AIDA-CoNLL, trained on AIDA-train",
        aida_linker_report.HEADINGS,
        aida_linker_report.rows(record),
        text_columns=2,
    )
    print_notes(aida_linker_report.notes(record))


def show_sample(record: dict[str, Any]) -> None:
    """Print the accuracy on the paper's own features."""
    baseline = record["baseline"]
    systems = {f"highest {baseline['feature']}": baseline, **record["systems"]}
    rows = [
        (
            name, f"{row['accuracy']:.1f}", f"{row['low']:.1f} to {row['high']:.1f}",
            f"{row['seconds']:.1f}" if "seconds" in row else "–",
        )
        for name, row in systems.items()
    ]  # fmt: skip
    title = "In-KB accuracy, the paper's own features"
    print_table(title, ("system", "test", "95 % interval", "seconds"), rows, narrow=False)
    train, test = record["train"], record["test"]
    print_notes(
        [
            f"Trained on {train['documents']} documents with {train['mentions']} mentions, "
            f"{record['trees']} trees; tested on {test['documents']} with {test['mentions']}, of "
            f"which {test['recall']:.1f} % have their gold among the candidates. This tests the "
            "format: so few documents cannot tell plans apart."
        ]
    )


def show_starter(record: dict[str, Any]) -> None:
    """Print the scores of the starter, other plans and baselines."""
    title = "The starter: test and contrast pairs"
    print_table(title, starter_report.HEADINGS, starter_report.rows(record))
    print_notes(starter_report.notes(record))


def show_from_text(results: dict[str, Evaluation[EndToEndScores]]) -> None:
    """Print precision, recall, F1 and losses from plain text."""
    print_end_to_end(from_text.joined(results))
    print_notes([from_text.LEAK])


def show_own_lists(results: dict[str, dict[str, Any]]) -> None:
    """Print recall and accuracy on knowledge bases of lists."""
    rows = [
        [
            name,
            f"{one['known']:,}",
            f"{one['candidates']:.1f}",
            f"{100 * one['recall']:.1f}",
            f"{100 * one['prior']:.1f}",
            plan + (" *" if plan == one["chosen"] else ""),
            f"{100 * scores['dev']:.1f}",
            f"{100 * scores['accuracy']:.1f}",
        ]
        for name, one in results.items()
        for plan, scores in one["plans"].items()
    ]
    headings = ["test", "known", "candidates", "recall", "prior", "plan", "dev", "accuracy"]
    print_table("Mentions given, % of those with a known entity", headings, rows)
    print_notes(["prior: accuracy of the likeliest candidate. *: the plan that dev prefers."])


def show_transfer(results: dict[str, dict[str, Any]]) -> None:
    """Print the accuracy of a model without training, beside baselines."""
    systems = [*dict.fromkeys(key for one in results.values() for key in one["accuracy"])]
    rows = [
        [
            name,
            f"{one['known']:,}",
            f"{one['recall']:.1f}",
            *(f"{one['accuracy'][key]:.1f}" if key in one["accuracy"] else "" for key in systems),
            f"{one['ece']:.1f}",
        ]
        for name, one in results.items()
    ]
    headings = ["field", "known", "recall", *systems, "ECE"]
    print_table("Another field, % of mentions with a known entity", headings, rows)
    lacking = (f"{k}: {', '.join(one['lacking'])}" for k, one in results.items() if one["lacking"])
    print_notes(
        [
            "prior, in-links, popularity: the candidate that ranks first. ECE: calibration error.",
            f"What the model was trained with and a knowledge base lacks: {'; '.join(lacking)}.",
        ]
    )


def show_confidence(record: dict[str, Any]) -> None:
    """Print the calibration of confidence, and precision and recall of NIL."""
    print_table(
        "Confidence, AIDA-test",
        confidence_report.CONFIDENCE_HEADINGS,
        confidence_report.confidence_rows(record),
    )
    print_table("NIL, by name", confidence_report.NIL_HEADINGS, confidence_report.nil_rows(record))
    print_notes(confidence_report.notes(record))


def show_hidden(record: dict[str, Any]) -> None:
    """Print the scores of a linker whose knowledge base lacks entities."""
    print_table(
        "A fifth of the gold entities removed from the knowledge base",
        hidden_entities.HEADINGS, hidden_entities.rows(record), narrow=False,
    )  # fmt: skip
    print_notes(hidden_entities.notes(record))


def show_links(record: dict[str, Any]) -> None:
    """Print the accuracy of linkers trained on the links of a dump."""
    print_accuracy("test", record)
    held = record["held_out"]
    print(
        f"{record['turns']} turns; pages of the first: {held['train']} for training, "
        f"{held['dev']} for dev, {held['test']} for test; {record['seconds']:.0f} s"
    )
