"""Model card: description of a saved linker in Markdown, with front matter for model hubs."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sgtb.core.intervals import FEW_MENTIONS, wilson_interval

_FRONT = """---
library_name: sgtb
pipeline_tag: token-classification
tags:
- entity-linking
- entity-disambiguation
- sgtb
---
"""
_LIMITS = """\
- It links to the entities of its knowledge base and to no others. What it does not know is either
  left without a link or taken for something that it does know.
- Confidence holds for texts like those that it was measured on. On texts of another kind, measure
  again: `sgtb evaluate`.
- Names, their counts and links between entities come from the knowledge base, and so do its gaps
  and its age. `sgtb kb add` and `sgtb kb update` change it without training.
- No licence is stated here, for training data and knowledge base have theirs: add `license:` to
  the front matter before you publish this folder.
"""
_MARKS = re.compile(r"([\\`*_\[\]<>|#])")
_SHARES = re.compile(r"accuracy|precision|recall|\bf1\b|share|calibration error|\bece\b", re.I)
"""Names of measures that are shares."""
_DEEPEST = 6  # lowest heading level of Markdown


def model_card(
    name: str,
    config: Mapping[str, Any],
    origin: Mapping[str, Any],
    kb: Mapping[str, Any],
    evaluation: Mapping[str, Any] | None,
) -> str:
    """Return a card.

    origin      description of the training data
    kb          counts and origin of the knowledge base
    evaluation  output of `sgtb evaluate --json`, or any names and numbers, may be nested
    """
    measures = {"calibration": _calibration, "mention detection": _detection}
    training = {
        key: measures[key](value) if key in measures and isinstance(value, Mapping) else value
        for key, value in origin.items()
    }
    counts = ("entities", "names", "links", "pairs", "vectors", "fingerprint")
    about = {**{key: kb[key] for key in counts if kb.get(key)}, **kb.get("origin", {})}
    parts = [
        _FRONT, f"# {_plain(name)}\n", *_what_it_is(config, kb),
        "## Use\n", *_use(name, config),
        "## Training data\n", *_list(training),
        "## Knowledge base\n", *_list(about),
        "## Evaluation\n", *_evaluation(evaluation),
        "## Limits\n", _LIMITS,
    ]  # fmt: skip
    return "\n".join(parts)


def _what_it_is(config: Mapping[str, Any], kb: Mapping[str, Any]) -> Iterator[str]:
    yield (
        f"Links names in text to {kb['entities']:,} entities, all names of a document decided "
        "together, by structured gradient tree boosting. Runs on a CPU, needs no network, and "
        "gives a confidence and reasons for each link.\n"
    )
    rows = {
        "search plan": config["plan"], "beam width": config["beam_width"],
        "trees": config["trees"], "evidence": ", ".join(config["evidence"]) or "names only",
        "NIL": _nil_rule(config),
        "written by": f"sgtb {config['version']}",
    }  # fmt: skip
    yield from _table(("", ""), list(rows.items()))


def _nil_rule(config: Mapping[str, Any]) -> str:
    """Return when a mention with candidates gets no link."""
    rules = []
    if config["nil"] == "candidate":
        odds = config["nil_odds"]
        times = "" if odds == 1 else f"{odds:.3g} times "
        rules.append(f"where no link is {times}likelier than the best entity")
    if config["nil_threshold"]:
        rules.append(f"below a confidence of {_share(config['nil_threshold'])}")
    return ", or ".join(rules) or "never, if there are candidates"


def _calibration(found: Mapping[str, Any]) -> str:
    """Return how confidence and NIL rule were chosen."""
    n, right = found.get("mentions") or 0, found.get("right") or 0
    if not n:
        return "default: no left-out mentions to choose by"
    few = ": too few to trust" if n < FEW_MENTIONS else ""
    low, high = wilson_interval(right, n)
    line = (
        f"chosen on {n:,} left-out mention{'' if n == 1 else 's'}{few}; "
        f"{_share(right / n)} answers right "
        f"({_share(low)} to {_share(high)})"
    )
    precision = found.get("precision")
    return line if precision is None else f"{line}, precision of links {_share(precision)}"


def _detection(found: Mapping[str, Any]) -> str:
    """Return the measures of mention detection; shares in percent."""
    return ", ".join(
        f"{_plain(key)} {_share(value) if isinstance(value, float) else _value(value)}"
        for key, value in found.items()
    )


def _use(name: str, config: Mapping[str, Any]) -> Iterator[str]:
    folder = re.sub(r"[^\w.-]", "_", name)
    own = "" if config["kb"] else ', kb="path/of/the/knowledge-base"'
    yield (
        "```python\nfrom sgtb import Linker\n\n"
        f'linker = Linker.from_pretrained("{folder}"{own})\n'
        'for link in linker("…").links:\n    print(link.text, link.entity, link.confidence)\n```\n'
    )
    if config["kb"]:
        yield f'```console\n$ sgtb link --model {folder} "…"\n```\n'
    else:
        yield "The knowledge base is not part of this folder; say where it is.\n"


def _list(record: Mapping[str, Any]) -> list[str]:
    """Return a record as a list."""
    lines = [f"- {_plain(key)}: {_value(value)}" for key, value in record.items()]
    return [*lines, ""] if lines else ["Not stated.\n"]


def _evaluation(record: Mapping[str, Any] | None) -> Iterator[str]:
    if not record:
        yield "Not measured.\n"
    elif (sets := _dig(record, "sets")) and all(_dig(sets, name, "systems") for name in sets):
        yield from _sets(sets)
    else:
        yield from _measured(record, 3)


def _sets(sets: Mapping[str, Any]) -> Iterator[str]:
    """Yield the output of `sgtb evaluate`: all systems, and details of the first."""
    for name, found in sets.items():
        yield f"### {_plain(name)}\n"
        documents, mentions, nil = (_value(found.get(x)) for x in ("documents", "mentions", "nil"))
        yield f"{documents} documents, {mentions} mentions, {nil} of them NIL.\n"
        systems = found["systems"]
        yield from _wide([{"": key, **_summary(scores)} for key, scores in systems.items()])
        first = next(iter(systems))
        for by, slices in (_dig(systems, first, "by") or {}).items():
            if _rows(slices):
                yield f"Accuracy of {_plain(first)} by {_plain(by)}:\n"
                yield from _wide(slices)


def _summary(scores: Mapping[str, Any]) -> dict[str, Any]:
    """Return the main figures of a system."""
    low, high = _dig(scores, "accuracy", "low"), _dig(scores, "accuracy", "high")
    accuracy = _share(_dig(scores, "accuracy", "micro"))
    if low is not None and high is not None:
        accuracy += f" ({_share(low)} to {_share(high)})"
    shares = {name: _share(_dig(scores, *keys)) for name, keys in _FIGURES.items()}
    return {"in-KB accuracy": accuracy, **shares}


_FIGURES = {
    "Bag-of-Title F1": ("titles", "f1"),
    "precision": ("links", "precision"),
    "recall": ("links", "recall"),
    "F1": ("links", "f1"),
    "NIL F1": ("nil", "f1"),
    "candidate recall": ("candidate_recall", "of_known"),
    "calibration error": ("calibration", "ece"),
}


def _dig(record: Any, *keys: str) -> Any:
    """Return a nested value; None if missing."""
    for key in keys:
        record = record.get(key) if isinstance(record, Mapping) else None
    return record


def _measured(record: Mapping[str, Any], level: int) -> Iterator[str]:
    """Yield names and numbers as a table, and nested ones below it."""
    single = [(k, v) for k, v in record.items() if not isinstance(v, Mapping) and not _rows(v)]
    if single:
        yield from _table(("measure", "value"), [(k, _measure(k, v)) for k, v in single])
    for key, value in record.items():
        rows = _rows(value)
        if not rows and not isinstance(value, Mapping):
            continue
        yield f"{'#' * min(level, _DEEPEST)} {_plain(key)}\n"
        if rows:
            yield from _wide(rows)
        elif _rows(list(value.values())):
            yield from _wide([{"": name, **fields} for name, fields in value.items()])
        else:
            yield from _measured(value, level + 1)


def _rows(value: Any) -> Sequence[Mapping[str, Any]]:
    """Return a list of flat records as rows of a table; () for anything else."""
    if not isinstance(value, list | tuple) or not value:
        return ()
    flat = all(
        isinstance(row, Mapping)
        and not any(isinstance(v, Mapping) or _rows(v) for v in row.values())
        for row in value
    )
    return value if flat else ()


def _wide(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield records as a table with a column per key."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    yield from _table(columns, [[_measure(k, row.get(k, "")) for k in columns] for row in rows])


def _table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Iterator[str]:
    yield f"| {' | '.join(_plain(column) for column in columns)} |"
    yield f"|{'---|' * len(columns)}"
    yield from (f"| {' | '.join(_value(value) for value in row)} |" for row in rows)
    yield ""


def _measure(name: object, value: Any) -> Any:
    """Return a measure in percent if its name says that it is a share."""
    is_share = isinstance(value, float) and 0 <= value <= 1 and _SHARES.search(str(name))
    return _share(value) if is_share else value


def _share(value: Any) -> str:
    """Format a share in percent; a positive one is not shown as 0."""
    if not isinstance(value, int | float) or math.isnan(value):
        return _value(value)
    return "<0.1 %" if 0 < value < 0.0005 else f"{100 * value:.1f} %"


def _value(value: Any) -> str:
    """Format a value; numbers have up to four significant digits."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"
    if isinstance(value, list | tuple):
        return ", ".join(_value(item) for item in value) or "–"
    if isinstance(value, Mapping):
        return ", ".join(f"{_plain(key)} {_value(item)}" for key, item in value.items()) or "–"
    return _plain(value)


def _plain(text: object) -> str:
    """Escape text for Markdown, on one line."""
    return _MARKS.sub(r"\\\1", " ".join(str(text).split()))
