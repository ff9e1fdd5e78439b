"""Problems: documents of joint choices, packed as flat arrays with offsets.

    document      0              1
    mention       0    1    2    3    4        mention_offsets   [0, 3, 5]
    candidate     0 1  2 3  4    5 6  7 8 9    candidate_offsets [0, 2, 4, 5, 7, 10]

A document is a list of mentions, a mention a list of candidates, a candidate a row of local
features φ_L and an entity. Two candidates of a document with the same entity number stand
for the same thing; pair features φ_E are those of entities.
"""

import hashlib
import os
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from sgtb.boosting.data.pairs import (
    BlockPairs,
    PairSource,
    PairTable,
    TablePairs,
    _slices,
    concatenate_pairs,
    no_pairs,
)
from sgtb.core.dtypes import Floats, Ints, Longs
from sgtb.core.errors import ModelFileError, ProblemsError
from sgtb.core.tensor_file import read_tensors, write_tensors
from sgtb.core.tensor_file import take as take_tensors

PairFunction = Callable[[Any, Any], Sequence[float]]


@dataclass(frozen=True, eq=False)
class Problems:
    """D documents with M mentions and C candidates in all.

    mention_offsets    i4[D+1]   the mentions of each document
    candidate_offsets  i4[M+1]   the candidates of each mention
    gold               i4[M]     the right candidate, counted within its mention; -1: absent
    entity             i4[C]     entity number within the document; ties go to the lower one
    entity_offsets     i8[D+1]   cumulated numbers of entities of the documents
    local              f4[C, L]  local features φ_L
    pairs                        the source of the pair features φ_E
    """

    mention_offsets: Ints
    candidate_offsets: Ints
    gold: Ints
    entity: Ints
    entity_offsets: Longs
    local: Floats
    pairs: PairSource

    def __post_init__(self) -> None:
        for name, (dtype, ndim) in _TENSORS.items():
            array = getattr(self, name)
            if not isinstance(array, np.ndarray) or array.dtype != dtype or array.ndim != ndim:
                kind = np.dtype(dtype)
                raise ProblemsError(f"{name} must be a {ndim}-dimensional array of {kind}")
            object.__setattr__(self, name, np.ascontiguousarray(array))
        _check_offsets(self)
        _check_mentions(self)
        if not np.isfinite(self.local).all():
            c, f = (int(i) for i in np.argwhere(~np.isfinite(self.local))[0])
            value = f"has {self.local[c, f]} in local feature {f}"
            _at_candidate(self, c, f"{value}; replace missing values by a number")
        self.pairs.check(self.entity_offsets)

    @classmethod
    def from_lists(
        cls,
        local: Sequence[Sequence[Sequence[Sequence[float]]]],
        gold: Sequence[Sequence[int | None]] | None = None,
        entity: Sequence[Sequence[Sequence[Hashable]]] | None = None,
        pairs: PairFunction | PairTable | None = None,
    ) -> "Problems":
        """Pack plain Python lists.

        local   per document, mention and candidate: a list of feature values
        gold    per document and mention: the position of the right candidate, or None
        entity  per document, mention and candidate: ids; candidates with equal ids are
                the same entity, and ties in score go to the lower id. By default all differ
        pairs   a function of two ids that returns the pair features (called once for every
                pair of a document), or a PairTable whose row numbers are the ids
        """
        for name, given in (("gold", gold), ("entity", entity)):
            if given is not None and len(given) != len(local):
                raise ProblemsError(f"{name} has {len(given)} documents, local has {len(local)}")
        width: int | None = None
        rows: list[Sequence[float]] = []
        mention_sizes, candidate_sizes, golds = [], [], []
        numbers: list[int] = []
        ids_of: list[list[Hashable]] = []
        for d, document in enumerate(local):
            mention_sizes.append(len(document))
            golds += _golds_of(d, document, gold)
            ids = _ids_of(d, document, entity)
            ids_of.append(_ordered(d, ids))
            number = {value: n for n, value in enumerate(ids_of[-1])}
            for m, mention in enumerate(document):
                candidate_sizes.append(len(mention))
                numbers += [number[i] for i in ids[m]]
                for c, row in enumerate(mention):
                    width = len(row) if width is None else width
                    if len(row) != width:
                        raise ProblemsError(
                            f"document {d}, mention {m}: candidate {c} has {len(row)} local "
                            f"features, the first candidate of all has {width}"
                        )
                    rows.append(row)
        return cls(
            mention_offsets=_offsets(mention_sizes, np.int32),
            candidate_offsets=_offsets(candidate_sizes, np.int32),
            gold=np.array(golds, np.int32),
            entity=np.array(numbers, np.int32),
            entity_offsets=_offsets([len(ids) for ids in ids_of], np.int64),
            local=_as_floats(rows).reshape(len(rows), width or 0),
            pairs=_pair_source(ids_of, pairs),
        )

    @property
    def n_documents(self) -> int:
        """D."""
        return len(self.mention_offsets) - 1

    @property
    def n_mentions(self) -> int:
        """M."""
        return len(self.candidate_offsets) - 1

    @property
    def n_candidates(self) -> int:
        """C."""
        return len(self.entity)

    @cached_property
    def sizes(self) -> Ints:
        """How many candidates each mention has: i4[M]."""
        sizes: Ints = self.candidate_offsets[1:] - self.candidate_offsets[:-1]
        return sizes

    @property
    def n_local(self) -> int:
        """Number of local features."""
        return int(self.local.shape[1])

    @property
    def n_pair(self) -> int:
        """Number of pair features; each becomes two global ones, its mean and its maximum."""
        return self.pairs.n_features

    def check_features(self, expected: tuple[int, int], has: str, had: str) -> None:
        """Raise unless `n_local` and `n_pair` are as expected; `has`, `had`: text of the error."""
        for kind, found, wanted in zip(
            ("local", "pair"), (self.n_local, self.n_pair), expected, strict=True
        ):
            if found != wanted:
                raise ProblemsError(f"{has} {found} {kind} features, {had} {wanted}")

    def __len__(self) -> int:
        return self.n_documents

    def __getitem__(self, documents: int | slice | Sequence[int] | Longs) -> "Problems":
        """Return some documents as problems of their own, in the given order."""
        if isinstance(documents, int | np.integer):
            if not -len(self) <= documents < len(self):
                raise IndexError(f"document {documents} of {len(self)}")
            documents = [int(documents)]
        return self.take(np.arange(len(self))[documents])

    def __iter__(self) -> Iterator["Problems"]:
        return (self[d] for d in range(len(self)))

    def take(self, documents: npt.ArrayLike) -> "Problems":
        """Return the documents with these numbers, in this order."""
        chosen = np.asarray(documents, dtype=np.int64)
        mentions = _slices(self.mention_offsets, chosen)
        candidates = _slices(self.candidate_offsets, mentions)
        return Problems(
            mention_offsets=_offsets(np.diff(self.mention_offsets)[chosen], np.int32),
            candidate_offsets=_offsets(np.diff(self.candidate_offsets)[mentions], np.int32),
            gold=self.gold[mentions],
            entity=self.entity[candidates],
            entity_offsets=_offsets(np.diff(self.entity_offsets)[chosen], np.int64),
            local=self.local[candidates],
            pairs=self.pairs.take(chosen, self.entity_offsets),
        )

    @staticmethod
    def concatenate(parts: Sequence["Problems"]) -> "Problems":
        """Join problems that have the same features."""
        if not parts:
            raise ProblemsError("nothing to concatenate: give at least one Problems")
        if len({p.n_local for p in parts}) > 1:
            raise ProblemsError(
                "problems with different numbers of local features cannot be joined"
            )

        def joined(name: str, dtype: type) -> Any:
            arrays = [getattr(p, name) for p in parts]
            if name.endswith("offsets"):
                return _offsets(np.concatenate([np.diff(offsets) for offsets in arrays]), dtype)
            return np.concatenate(arrays)

        own = {name: joined(name, dtype) for name, (dtype, _) in _TENSORS.items()}
        return Problems(**own, pairs=concatenate_pairs([p.pairs for p in parts]))

    def tensors(self) -> dict[str, Any]:
        """Return all arrays by name, those of the pair features included."""
        own = {name: getattr(self, name) for name in _TENSORS}
        if isinstance(self.pairs, BlockPairs):
            return own | {"block": self.pairs.block}
        return own | {"row": self.pairs.row, "name": self.pairs.name, **vars(self.pairs.table)}

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, Any], n_pair: int) -> "Problems":
        """Make problems of what `tensors` returned."""
        own = {name: tensors[name] for name in _TENSORS}
        if "block" in tensors:
            return cls(**own, pairs=BlockPairs(tensors["block"], n_pair))
        table = PairTable(*(tensors[name] for name in list(_TABLE_TENSORS)[2:]))
        return cls(**own, pairs=TablePairs(tensors["row"], table, tensors["name"]))

    def compacted(self) -> "Problems":
        """Return the same documents without the rows of the pair table that none of them uses."""
        if isinstance(self.pairs, BlockPairs):
            return self
        return replace(self, pairs=self.pairs.compacted())

    def digest(self) -> str:
        """Return the SHA-256 digest of all arrays."""
        digest = hashlib.sha256(f"{self.n_pair}".encode())
        for array in self.tensors().values():
            digest.update(f"{array.dtype}{array.shape}".encode())
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one safetensors file."""
        record = {"kind": "problems", "version": 1, "n_pair": self.n_pair}
        write_tensors(path, self.tensors(), record)

    @classmethod
    def load(cls, path: str | os.PathLike[str], max_bytes: int = 1 << 36) -> "Problems":
        """Read what `save` wrote; a file that does not hold together is a ModelFileError."""
        tensors, record = read_tensors(path, "problems", 1, max_bytes)
        own = _BLOCK_TENSORS if "block" in tensors else _TABLE_TENSORS
        take_tensors(tensors, {**_TENSORS, **own}, path)
        try:
            return cls.from_tensors(tensors, int(record["n_pair"]))
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise ModelFileError(f"{path}: {error}") from None

    def check_choices(self, name: str, choices: Ints, note: str = "") -> None:
        """Raise unless there are such candidates; -1 is none."""
        bad = np.flatnonzero((choices < -1) | (choices >= self.sizes))
        if len(bad):
            m = int(bad[0])
            text = f"{name} is {choices[m]}, but the mention has {self.sizes[m]} candidates"
            raise ProblemsError(f"{self.where(m)}: {text}{note}")

    def where(self, mention: int) -> str:
        """Name a mention for a message: its document and its place in it."""
        d = int(np.searchsorted(self.mention_offsets, mention, side="right")) - 1
        return f"document {d}, mention {mention - self.mention_offsets[d]}"


_TENSORS: dict[str, tuple[type, int]] = {
    "mention_offsets": (np.int32, 1), "candidate_offsets": (np.int32, 1), "gold": (np.int32, 1),
    "entity": (np.int32, 1), "entity_offsets": (np.int64, 1), "local": (np.float32, 2),
}  # fmt: skip
_BLOCK_TENSORS: dict[str, tuple[type, int]] = {"block": (np.float32, 1)}
_TABLE_TENSORS: dict[str, tuple[type, int]] = {
    "row": (np.int32, 1), "name": (np.int64, 1), "vectors": (np.float32, 2),
    "space_offsets": (np.int64, 1), "link_offsets": (np.int64, 2), "link_targets": (np.int32, 1),
    "link_counts": (np.float32, 1),
}  # fmt: skip


def _offsets(sizes: npt.ArrayLike, dtype: type) -> Any:
    total = np.concatenate([[0], np.cumsum(np.asarray(sizes, np.int64))])
    if total[-1] > np.iinfo(dtype).max:
        raise ProblemsError(f"{total[-1]} items are more than one Problems can number; split it")
    return total.astype(dtype)


def _golds_of(
    d: int, document: Sequence[Any], gold: Sequence[Sequence[int | None]] | None
) -> list[int]:
    if gold is None:
        return [-1] * len(document)
    if len(gold[d]) != len(document):
        raise ProblemsError(
            f"document {d} has {len(document)} mentions, but {len(gold[d])} gold choices"
        )
    return [-1 if g is None else int(g) for g in gold[d]]


def _ids_of(
    d: int, document: Sequence[Any], entity: Sequence[Sequence[Sequence[Hashable]]] | None
) -> list[list[Hashable]]:
    if entity is None:
        return [[(m, c) for c in range(len(mention))] for m, mention in enumerate(document)]
    if [len(mention) for mention in document] != [len(ids) for ids in entity[d]]:
        raise ProblemsError(f"document {d}: entity and local differ in mentions or candidates")
    return [list(ids) for ids in entity[d]]


def _ordered(d: int, ids: list[list[Hashable]]) -> list[Hashable]:
    distinct = {i for mention in ids for i in mention}
    try:
        return sorted(distinct)  # type: ignore[type-var]
    except TypeError:
        raise ProblemsError(
            f"document {d}: entity ids have no order; use all strings or all numbers"
        ) from None


def _pair_source(
    ids_of: list[list[Hashable]], pairs: PairFunction | PairTable | None
) -> PairSource:
    if pairs is None:
        return no_pairs()
    if isinstance(pairs, PairTable):
        return TablePairs.of(np.array([i for ids in ids_of for i in ids], np.int32), pairs)
    blocks: list[Floats] = []
    width = 0
    for d, ids in enumerate(ids_of):
        if not ids:
            continue
        values = [[list(pairs(a, b)) for b in ids] for a in ids]
        width = len(values[0][0]) if not blocks else width
        if any(len(value) != width for line in values for value in line):
            raise ProblemsError(
                f"document {d}: the pair function must always return equally many values"
            )
        blocks.append(_as_floats(values).ravel())
    return BlockPairs(np.concatenate([*blocks, np.zeros(0, np.float32)]), width)


def _as_floats(values: Any) -> Floats:
    """Return float32; values too large become infinite, which the checks refuse."""
    with np.errstate(over="ignore"):
        return np.array(values, np.float32)


def _check_offsets(p: Problems) -> None:
    for of, total in (("mention", p.n_mentions), ("candidate", p.n_candidates)):
        name = f"{of}_offsets"
        offsets = getattr(p, name)
        if len(offsets) == 0 or offsets[0] != 0:
            raise ProblemsError(f"{name} must begin with 0")
        falling = np.flatnonzero(np.diff(offsets) < 0)
        if len(falling) or offsets[-1] != total:
            at = int(falling[0]) if len(falling) else len(offsets) - 2
            where = f"document {at}" if of == "mention" else p.where(max(at, 0))
            what = f"ends at {offsets[-1]}, but there are {total} {of}s"
            what = f"decreases from {offsets[at]}" if len(falling) else what
            raise ProblemsError(f"{where}: {name} {what}")
    if len(p.gold) != p.n_mentions:
        raise ProblemsError(f"gold has {len(p.gold)} values for {p.n_mentions} mentions")
    if len(p.local) != p.n_candidates:
        raise ProblemsError(f"local has {len(p.local)} rows for {p.n_candidates} candidates")
    sizes = np.diff(p.entity_offsets)
    if len(sizes) != p.n_documents or (len(sizes) and (p.entity_offsets[0] or sizes.min() < 0)):
        raise ProblemsError(
            "entity_offsets must start at 0, never decrease, and have one slice per document"
        )


def _check_mentions(p: Problems) -> None:
    p.check_choices("gold", p.gold, " (counted from 0; -1 means that the right one is absent)")
    document = np.repeat(np.arange(p.n_documents), np.diff(p.mention_offsets))
    mention = np.repeat(np.arange(p.n_mentions), p.sizes)
    limit = np.diff(p.entity_offsets)[document][mention]
    bad = np.flatnonzero((p.entity < 0) | (p.entity >= limit))
    if len(bad):
        c = int(bad[0])
        _at_candidate(p, c, f"has entity {p.entity[c]}, but the document has {limit[c]} entities")
    order = np.lexsort((p.entity, mention))
    same = (np.diff(mention[order]) == 0) & (np.diff(p.entity[order]) == 0)
    if same.any():
        c = int(order[np.flatnonzero(same)[0] + 1])
        _at_candidate(p, c, f"repeats entity {p.entity[c]} of the same mention; list it once")


def _at_candidate(p: Problems, candidate: int, complaint: str) -> NoReturn:
    m = int(np.searchsorted(p.candidate_offsets, candidate, side="right")) - 1
    raise ProblemsError(f"{p.where(m)}: candidate {candidate - p.candidate_offsets[m]} {complaint}")
