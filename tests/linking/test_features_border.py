"""Arrays that the kernels of features refuse: an error that names them, no crash."""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sgtb import native
from sgtb.core import ragged, sparse_matrix
from sgtb.linking.candidates import candidate_table
from sgtb.linking.features import contexts, feature_matrix
from sgtb.linking.features.groups import similarity, surface
from sgtb.linking.training.topic_folds import topic_folds
from tests.helpers.linking_builders import small_setting

MODULES = (
    candidate_table, contexts, feature_matrix, native, similarity, sparse_matrix, surface,
)  # fmt: skip
KERNELS = {
    "compare_names": "candidate_offsets entity name full_name names length titles whole_title out",
    "group_repeats": "mention_offsets keys first group_offsets members place",
    "number_nodes": "borders entity n_entities nodes",
    "copy_slices": "items size starts offsets out",
    "subtract_best": "values offsets out",
    "count_above": "values offsets out",
    "fill_columns": "offsets parts out",
    "context_sizes": "mentions tokens window",
    "number_distinct": "words n_vocabulary place distinct",
    "describe_contexts": "mentions tokens window names topics words settings out",
    "compare_texts": "candidate_offsets repeats contexts facts lexicon pairs out",
}
"""The kernels and the names of their arguments."""
UNREAD = {
    "describe_contexts": "tokens.word tokens.kinds.marks tokens.kinds.words tokens.kinds.word",
    "context_sizes": "tokens.word tokens.kinds.marks tokens.kinds.words tokens.kinds.word",
    "compare_texts": "repeats.place repeats.once.gold repeats.once.prior repeats.once.match "
    "contexts.place contexts.place_clues contexts.sentence_clues contexts.tag_clues "
    "contexts.document_clues "
    "facts.number facts.in_links facts.type facts.type_clue facts.log_in_links "
    "facts.log_out_links facts.popularity facts.log_degree facts.fingerprints facts.whole_title "
    "facts.kind_words facts.linked facts.topic_vector facts.entity_vector lexicon.texts_with "
    "lexicon.titles_with",
}
"""Parts of records that kernels do not read."""


@cache
def captured() -> dict[str, dict[str, Any]]:
    """The arguments of all kernels, as Python passes them."""
    calls: dict[str, dict[str, Any]] = {}

    def keep(patch: pytest.MonkeyPatch, module: Any, kernel: str) -> None:
        run = getattr(module, kernel)

        def called(*given: Any) -> Any:
            calls[kernel] = dict(zip(KERNELS[kernel].split(), given, strict=True))
            return run(*given)

        patch.setattr(module, kernel, called)

    with pytest.MonkeyPatch.context() as patch:
        for kernel in KERNELS:
            for module in MODULES:
                if hasattr(module, kernel):
                    keep(patch, module, kernel)
        keep(patch, ragged, "copy_slices")
        setting = small_setting()
        table = setting.table(setting.train)
        feature_matrix.Featurizer.fit(table, topic_folds(setting.train, 2), 0, bits=8)
        candidate_table.Nodes.of(table.candidates, len(setting.facts))
    return calls


def leaves(value: Any, path: str, unread: tuple[str, ...]) -> Iterator[tuple[str, np.ndarray]]:
    """The arrays of an argument that its kernel reads, with their paths."""
    if path in unread:
        return
    if isinstance(value, np.ndarray):
        yield path, value
    elif isinstance(value, SimpleNamespace) or is_dataclass(value) or hasattr(value, "_fields"):
        own = vars(value) if isinstance(value, SimpleNamespace) else getattr(value, "_fields", None)
        for name in own or [f.name for f in fields(value)]:
            yield from leaves(getattr(value, name), f"{path}.{name}", unread)


def arrays(kernel: str) -> Iterator[tuple[str, np.ndarray]]:
    unread = tuple(UNREAD.get(kernel, "").split())
    for name, value in captured()[kernel].items():
        if name == "parts":
            yield from leaves(value[0], "parts", ())
        else:
            yield from leaves(value, name, unread)


def changed(value: Any, path: str, change: Any) -> Any:
    """A copy of nested records in which one array is another one."""
    if isinstance(value, list):
        return [changed(value[0], path, change), *value[1:]]
    name, _, rest = path.partition(".")
    if not name:
        return change(value)
    inner = changed(getattr(value, name), rest, change)
    if isinstance(value, SimpleNamespace):
        return SimpleNamespace(**{**vars(value), name: inner})
    return (
        value._replace(**{name: inner})
        if hasattr(value, "_replace")
        else replace(value, **{name: inner})
    )


def refused(kernel: str, path: str, change: Any, error: Any, match: str | None = None) -> None:
    call = dict(captured()[kernel])
    argument, _, rest = path.partition(".")
    with np.errstate(invalid="ignore"):  # room that was not filled may hold anything
        call[argument] = changed(call[argument], rest, change)
    with pytest.raises(error, match=match):
        getattr(native, kernel)(*call.values())


@pytest.mark.parametrize("kernel", KERNELS)
def test_arrays_of_another_type_or_layout_are_refused(kernel):
    getattr(native, kernel)(*captured()[kernel].values())
    for path, array in arrays(kernel):
        assert array.size > 1, path
        other = np.float32 if array.dtype == np.float64 else np.float64
        refused(kernel, path, lambda a, other=other: a.astype(other), TypeError, path)
        refused(kernel, path, lambda a: np.repeat(a, 2, axis=-1)[..., ::2], TypeError, path)
        refused(kernel, path, lambda a: a[None], TypeError, path)


LONG_ENOUGH = {
    "copy_slices.items", "describe_contexts.settings.damping", "describe_contexts.words.place",
    "describe_contexts.tokens.word_offsets", "context_sizes.tokens.word_offsets",
    "fill_columns.parts.values",
    *(f"describe_contexts.out.{bag}_bag.{part}"
      for bag in ("name", "sentence", "window", "document", "headline")
      for part in ("indices", "data")),
    *(f"describe_contexts.out.{kind}_clues.data" for kind in ("sentence", "document")),
}  # fmt: skip
"""Arrays that may be longer than needed."""
ANY_LENGTH = {*LONG_ENOUGH, "fill_columns.parts.columns"}


@pytest.mark.parametrize("kernel", KERNELS)
def test_arrays_of_another_length_are_refused(kernel):
    for path, _ in arrays(kernel):
        if f"{kernel}.{path}" not in ANY_LENGTH:
            refused(kernel, path, lambda array: array[:-1].copy(), ValueError)
            refused(kernel, path, lambda array: array[:0].copy(), ValueError)


@pytest.mark.parametrize("path", sorted(LONG_ENOUGH))
def test_arrays_that_are_too_short_are_refused(path):
    kernel, _, rest = path.partition(".")
    refused(kernel, rest, lambda array: array[:1].copy(), ValueError)


def put(place: Any, number: float) -> Any:
    def change(array: np.ndarray) -> np.ndarray:
        other = array.copy()
        other[place] = number
        return other

    return change


@pytest.mark.parametrize("number", [-7, 1 << 30])
@pytest.mark.parametrize(
    "path",
    [
        "compare_names.candidate_offsets", "compare_names.entity", "compare_names.name",
        "compare_names.full_name", "compare_names.length", "compare_names.names.words.indptr",
        "compare_names.titles.trigrams.indptr", "group_repeats.mention_offsets",
        "group_repeats.keys.name", "group_repeats.keys.candidate_offsets",
        "group_repeats.keys.word_offsets",
        "number_nodes.borders", "number_nodes.entity",
        "copy_slices.starts", "copy_slices.offsets", "subtract_best.offsets",
        "count_above.offsets",
        "fill_columns.offsets", "fill_columns.parts.rows", "fill_columns.parts.columns",
        "context_sizes.mentions.offsets", "context_sizes.tokens.token_offsets",
        "context_sizes.tokens.word_offsets", "number_distinct.words",
        "describe_contexts.tokens.kind", "describe_contexts.tokens.sentence_offsets",
        "describe_contexts.tokens.sentences", "describe_contexts.names.length",
        "describe_contexts.names.words.indptr", "describe_contexts.words.place",
        "compare_texts.candidate_offsets", "compare_texts.repeats.once.mention_offsets",
        "compare_texts.repeats.once.candidate_offsets", "compare_texts.repeats.once.entity",
        "compare_texts.repeats.mentions.data", "compare_texts.repeats.mentions.indptr",
        "compare_texts.contexts.name_bag.indices", "compare_texts.contexts.sentence_bag.indptr",
        "compare_texts.contexts.window_bag.indices", "compare_texts.contexts.headline_bag.indices",
        "compare_texts.contexts.document_bag.indices", "compare_texts.facts.title_words.indices",
        "compare_texts.facts.description.indices", "compare_texts.facts.kind_clues.indptr",
        "compare_texts.pairs",
    ],
)  # fmt: skip
def test_indices_beyond_their_arrays_are_refused(path, number):
    kernel, _, rest = path.partition(".")
    parts = rest.split(".")
    match = (
        parts[-1]
        if parts[-1] not in ("offsets", "columns", "indptr", "indices", "data")
        else parts[0]
    )
    refused(kernel, rest, put(1, number), ValueError, match)


@pytest.mark.parametrize("number", [-1, 10**6, 2**63 - 1])
def test_tokens_beyond_the_vocabulary_are_refused(number):
    def change(offsets: np.ndarray) -> np.ndarray:
        return np.where(np.arange(len(offsets)) % 2 == 1, number, offsets)

    refused("describe_contexts", "tokens.kinds.near.indptr", change, ValueError, "near")


def test_mentions_of_a_group_have_equally_many_candidates():
    def exchange(items: np.ndarray) -> np.ndarray:
        return np.zeros_like(items)

    refused("compare_texts", "repeats.mentions.data", exchange, ValueError, "repeats.mentions")
