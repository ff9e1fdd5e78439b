"""Processed features: the local features of the paper's experiments, in its authors' format.

A line is the JSON of one document: `[[[mention, [first, stop], gold], [[[id, label], features],
…]], …]`, label 1 for the gold.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sgtb.core.errors import CorpusError
from sgtb.formats.corpus_source import SourceFile, read_source, shown

PROCESSED_FEATURES = (
    *("prior_1", "prior_2", "prior_3"),
    *("mention_is_org", "mention_is_per", "mention_is_loc", "mention_is_misc"),
    *("popularity_1", "popularity_2"),
    *("entity_is_org", "entity_is_per", "entity_is_loc", "entity_is_misc"),
    *("mention_similarity_1", "sentence_similarity_1", "document_similarity_1"),
    *("mention_similarity_2", "sentence_similarity_2", "document_similarity_2"),
)
"""The columns of the features.

The file does not name them. The order of the groups is known, and within groups it was inferred
from the values: which names and pages have which type, which similarities depend on nothing but the
mention's text and the candidate. What remains unknown is numbered: which priors, which month's page
views and which embeddings.
"""

_ID = re.compile(r"[1-9][0-9]{0,17}")


@dataclass(frozen=True, slots=True)
class ProcessedMention:
    """A mention with the features of its candidates.

    first, stop  its place as the file has it: like CoNLL's tokens, but blank lines count, if no
                 name runs on over them
    gold         the number of a Wikipedia page, which need not be among the candidates
    candidates   page numbers in ascending order
    features     f4[n candidates, 19]  read-only
    """

    text: str
    first: int
    stop: int
    gold: str
    candidates: tuple[str, ...]
    features: npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class ProcessedDocument:
    """A document of the file; its id is the number of its line, in the sample also AIDA's."""

    id: str
    mentions: tuple[ProcessedMention, ...]


def read_processed(path: Path) -> tuple[ProcessedDocument, ...]:
    """Read a file of processed documents, which may be packed."""
    source = read_source(path)
    lines = source.lines()
    if not lines:
        raise source.error(1, "the file is empty")
    return tuple(
        ProcessedDocument(str(n), _read_mentions(source, n, line))
        for n, line in enumerate(lines, 1)
    )


def _read_mentions(source: SourceFile, n: int, line: str) -> tuple[ProcessedMention, ...]:
    try:
        mentions = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise source.error(n, f"not JSON: {error}") from None
    if not isinstance(mentions, list):
        raise source.error(n, f"expected a list of mentions, found {shown(line)}")
    return tuple(_read_mention(source, n, mention) for mention in mentions)


def _read_mention(source: SourceFile, n: int, value: object) -> ProcessedMention:
    match value:
        case [[str(text), [int(first), int(stop)], str(gold)], [*rows]]:
            pass
        case _:
            raise _misfit(source, n, "[[mention, [first, stop], gold], candidates]", value)
    if not 0 <= first < stop:
        raise source.error(n, f"{shown(text)}: [{first}, {stop}] is no span of tokens")
    if not _ID.fullmatch(gold):
        raise source.error(n, f"{shown(text)}: gold {shown(gold)} is no number of a page")
    features: dict[str, list[float]] = {}
    for row in rows:
        id_, numbers = _read_candidate(source, n, row, gold)
        if id_ in features:
            raise source.error(n, f"{shown(text)}: candidate {id_} is there twice")
        features[id_] = numbers
    # The order of the file is not used: it may depend on the gold.
    candidates = tuple(sorted(features, key=int))
    array = np.empty((len(candidates), len(PROCESSED_FEATURES)), np.float32)
    with np.errstate(over="ignore"):  # too large numbers become infinite, and are detected below
        for i, id_ in enumerate(candidates):
            array[i] = features[id_]
    if not np.isfinite(array).all():
        row_, column = np.argwhere(~np.isfinite(array))[0]
        raise source.error(
            n,
            f"{shown(text)}: {PROCESSED_FEATURES[column]} of candidate {candidates[row_]} "
            "is not a finite number",
        )
    array.flags.writeable = False
    return ProcessedMention(text, first, stop, gold, candidates, array)


def _read_candidate(
    source: SourceFile, n: int, value: object, gold: str
) -> tuple[str, list[float]]:
    match value:
        case [[str(id_), int(label)], [*numbers]]:
            pass
        case _:
            raise _misfit(source, n, "[[id, label], features]", value)
    if not _ID.fullmatch(id_):
        raise source.error(n, f"candidate {shown(id_)} is no number of a page")
    if label != (id_ == gold):
        raise source.error(n, f"label {label} of candidate {id_}, while the gold is {gold}")
    if len(numbers) != len(PROCESSED_FEATURES):
        raise source.error(
            n, f"{len(numbers)} features of candidate {id_}, expected {len(PROCESSED_FEATURES)}"
        )
    try:
        return id_, [_number(number) for number in numbers]
    except (TypeError, OverflowError):
        raise source.error(n, f"features of candidate {id_} that are not numbers") from None


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError
    return float(value)


def _misfit(source: SourceFile, n: int, expected: str, value: object) -> CorpusError:
    return source.error(n, f"expected {expected}, found {shown(json.dumps(value))}")
