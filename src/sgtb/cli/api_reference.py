"""The reference of the Python names, as Markdown: `python -m sgtb.cli.api_reference > docs/api.md`.

Made from signatures and docstrings; what has no docstring fails the tests.
"""

import dataclasses
import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any, NamedTuple

SECTIONS = {
    "Linking": (
        "sgtb.Linker", "sgtb.LinkerSettings", "sgtb.linking.mentions.mention_detection.MentionSettings",
        "sgtb.Request", "sgtb.Span", "sgtb.LinkedDocument", "sgtb.Link",
        "sgtb.linking.links.Alternative", "sgtb.linking.links.Reason",
        "sgtb.linking.mentions.spacy_mentions.SpacyMentions",
    ),
    "Training a linker": (
        "sgtb.linking.training.linker_training.train_linker", "sgtb.linking.training.linker_training.LinkerTraining",
        "sgtb.linking.candidates.candidate_lookup.CandidateSettings", "sgtb.linking.linker_model.LinkerModel",
        "sgtb.linking.calibration.confidence.Confidence", "sgtb.linking.calibration.nil_rule.NilRule",
        "sgtb.core.records.Document", "sgtb.core.records.Mention", "sgtb.core.records.Token",
        "sgtb.core.records.Tokens", "sgtb.text.tokenization.tokenize", "sgtb.text.tokenization.sentences",
    ),
    "Evaluation": (
        "sgtb.evaluation.linkers.evaluate_linkers", "sgtb.evaluation.linkers.EvaluationSettings",
        "sgtb.evaluation.linkers.Evaluation", "sgtb.evaluation.linkers.SetScores", "sgtb.evaluation.linkers.SystemScores",
        "sgtb.evaluation.linkers.data_sets", "sgtb.evaluation.linkers.CorpusFile", "sgtb.evaluation.linkers.find_mistakes",
        "sgtb.evaluation.linkers.Mistake",
    ),
    "The service": (
        "sgtb.serving.app.create_app", "sgtb.serving.engine.Engine",
        "sgtb.serving.service_settings.ServeSettings", "sgtb.serving.link_requests.Options",
        "sgtb.serving.link_requests.FixedLink", "sgtb.serving.linker_source.Source",
    ),
    "Knowledge bases": (
        "sgtb.KnowledgeBase", "sgtb.kb.entity.Entity", "sgtb.kb.entity.Candidate",
        "sgtb.kb.entity.Alias", "sgtb.kb.build.list_build.build_list", "sgtb.kb.update.add",
        "sgtb.kb.update.update", "sgtb.kb.update.remove", "sgtb.kb.export.export_lines",
        "sgtb.kb.check.check", "sgtb.kb.kb_copy.duplicate",
    ),
    "The learner": (
        "sgtb.StructuredGradientBoosting", "sgtb.SearchPlan", "sgtb.boosting.TreeSettings",
        "sgtb.boosting.TrainingSettings", "sgtb.Problems", "sgtb.boosting.search.decoder.Decoding",
        "sgtb.boosting.explain.counterfactuals.Alternatives", "sgtb.boosting.explain.contributions.Contributions",
    ),
    "Errors": (
        "sgtb.core.errors.SgtbError", "sgtb.core.errors.RequestError", "sgtb.core.errors.KnowledgeBaseError",
        "sgtb.core.errors.ModelFileError", "sgtb.core.errors.SettingsError", "sgtb.core.errors.ProblemsError",
        "sgtb.core.errors.CorpusError", "sgtb.core.errors.DumpError", "sgtb.core.errors.NotFittedError",
        "sgtb.core.errors.MissingExtraError",
    ),
}  # fmt: skip
"""What people use from Python, by where it is imported from."""

_HEAD = """# Python names

What there is to use from Python, by where it is imported from. This page is made by
`python -m sgtb.cli.api_reference`, from the docstrings.

Fields and arguments have the types that the source states; all of it is typed. Arrays are numpy's:
`i4[M]` is an array of 32-bit integers with an item for every mention, `f8[C, L]` a matrix of 64-bit
floating-point numbers. Offsets into texts count code points, as Python's `str` does.
"""


_STARS: dict[Any, str] = {
    inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"
}  # fmt: skip


class Named(NamedTuple):
    """A name and what it stands for."""

    path: str
    value: Any


def names() -> Iterator[Named]:
    """Yield everything on the page."""
    for paths in SECTIONS.values():
        for path in paths:
            yield _named(path)


def api_reference() -> str:
    """Return the whole page."""
    parts = [_HEAD]
    for title, paths in SECTIONS.items():
        parts.append(f"## {title}\n")
        parts += [_entry(_named(path)) for path in paths]
    return "\n".join(parts).rstrip() + "\n"


def members(value: Any) -> list[Named]:
    """Return the public methods and properties of a class, in the order they are written."""
    if not inspect.isclass(value):
        return []
    return [
        Named(name, member)
        for name, member in vars(value).items()
        if (not name.startswith("_") or name == "__call__") and _is_member(member)
    ]


def docstring(value: Any) -> str:
    """Return a docstring, "" where there is none of its own."""
    target = value.__func__ if isinstance(value, classmethod | staticmethod) else value
    text = getattr(target, "__doc__", None) or ""
    if text.startswith(f"{getattr(target, '__name__', '')}("):
        return ""  # what dataclasses write for those without one
    return inspect.cleandoc(text)


def _named(path: str) -> Named:
    module, _, name = path.rpartition(".")
    return Named(path, getattr(import_module(module), name))


def _is_member(member: Any) -> bool:
    return isinstance(member, classmethod | staticmethod | property) or (
        inspect.isfunction(member) or hasattr(member, "func")
    )


def _entry(named: Named) -> str:
    parts = [f"### {named.path}\n", f"```text\n{_signature(named)}\n```\n"]
    parts.append(_prose(docstring(named.value)))
    rows = [
        f"- `{_short(member)}`: {_escaped(docstring(member.value).split(chr(10) * 2)[0])}"
        for member in members(named.value)
    ]
    if rows:
        parts.append("\n".join(" ".join(row.split()) for row in rows) + "\n")
    return "\n".join(part for part in parts if part)


def _signature(named: Named) -> str:
    name = named.path.rpartition(".")[2]
    if inspect.isclass(named.value) and issubclass(named.value, Exception):
        bases = ", ".join(base.__name__ for base in named.value.__bases__)
        return f"class {name}({bases})"
    return _wrapped(f"{name}({', '.join(_parameters(named.value))})")


def _parameters(value: Any) -> Iterator[str]:
    """Yield the parameters of a call, with defaults, without types: those make lines too long."""
    kinds = inspect.Parameter
    starred = False
    for parameter in inspect.signature(value).parameters.values():
        if parameter.name in ("self", "cls"):
            continue
        if parameter.kind is kinds.KEYWORD_ONLY and not starred:
            starred = True
            yield "*"
        star = _STARS.get(parameter.kind, "")
        starred = starred or parameter.kind is kinds.VAR_POSITIONAL
        default = parameter.default
        yield f"{star}{parameter.name}" + (
            "" if default is kinds.empty else f"={_default(default)}"
        )


def _default(value: Any) -> str:
    if value is dataclasses.MISSING or "factory" in repr(value):
        return "…"
    if callable(value):
        return str(getattr(value, "__name__", "…"))
    if type(value).__module__ == "pathlib" or " object at " in repr(value):
        return "…"
    return repr(value)


def _short(member: Named) -> str:
    value = member.value
    if isinstance(value, classmethod | staticmethod):
        value = value.__func__
    if not inspect.isfunction(value):
        return member.path
    return f"{member.path}({', '.join(_parameters(value))})"


def _prose(text: str) -> str:
    """Return a docstring as Markdown: paragraphs as they are, lists of fields as plain text."""
    parts = []
    for paragraph in re.split(r"\n\s*\n", text):
        if re.search(r"^\S[^\n]*? {2,}\S", paragraph, re.MULTILINE) or "\n    " in paragraph:
            parts.append(f"```text\n{paragraph}\n```")
        elif paragraph:
            parts.append(_escaped(paragraph))
    return "\n\n".join(parts) + "\n" if parts else ""


def _escaped(text: str) -> str:
    """Return text in which Markdown sees no markup; what is in backquotes is left alone."""
    pieces = re.split(r"(`[^`]*`)", text)
    return "".join(p if p.startswith("`") else re.sub(r"([*_<>\[\]])", r"\\\1", p) for p in pieces)


def _wrapped(signature: str) -> str:
    """Return a signature, one parameter a line where it is long."""
    if len(signature) <= 90:
        return signature
    head, _, rest = signature.partition("(")
    items = rest[:-1].split(", ")
    return "\n".join([f"{head}(", *(f"    {item}," for item in items), ")"])


if __name__ == "__main__":
    print(api_reference(), end="")
