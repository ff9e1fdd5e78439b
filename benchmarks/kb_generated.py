"""A generated list of entities of any length, with names shared like real ones.

Names follow a Zipf-Mandelbrot law: of a million entities the commonest name has several
hundred, most names have one. A few famous entities have most of the links and of the counts.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

TYPES = ("PER", "LOC", "ORG", "MISC")
ALIASES = 3
"""Names of an entity: its title, one that it may share with others, a longer one."""

_SYLLABLES = (
    "ba be bi bo bu da de di do du fa fe fi ga go gu ha he hi ka ke ki ko ku la le li lo lu "
    "ma me mi mo mu na ne ni no nu pa pe po ra re ri ro ru sa se si so su ta te ti to va ve vi"
).split()
_FOREIGN = str.maketrans({"a": "á", "e": "é", "o": "ö", "u": "ü", "i": "í"})
_FOREIGN_SHARE = 20  # one word in so many has letters outside ASCII, as in the English Wikipedia
_CHUNK = 50_000
_FLAT = 200.0  # flattens the head of the Zipf law: no name is shared by a tenth of the entities
_LINES = {
    "PER": "{} player and coach from {}, of the {} team",
    "LOC": "town in the district of {} in {}, on the river {}",
    "ORG": "company in {} that makes {} machines in {}",
    "MISC": "album by the band {} from {}, recorded in {}",
}

Longs = npt.NDArray[np.int64]


@dataclass(frozen=True)
class ListShape:
    """Size of a list; `dimensions` is 0 without vectors."""

    entities: int = 1_000_000
    links: int = 5
    dimensions: int = 0
    seed: int = 0

    @property
    def file_name(self) -> str:
        """A file name that depends on the content."""
        return f"entities-{self.entities}-{self.links}-{self.dimensions}-{self.seed}.jsonl"


def write_list(path: Path, shape: ListShape) -> None:
    """Write a list of entities as JSON Lines."""
    encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
    with open(path, "w", encoding="utf-8") as file:
        for record in entities(shape):
            file.write(encode(record) + "\n")


def entities(shape: ListShape) -> Iterator[dict[str, Any]]:
    """Yield the records of a list, the same ones for the same shape."""
    draw = np.random.default_rng(shape.seed)
    words = made_up_words(max(1000, shape.entities * 3 // 10))
    rank = draw.permutation(shape.entities)  # 0 is the most famous
    famous = np.argsort(rank)
    for begin in range(0, shape.entities, _CHUNK):
        numbers = np.arange(begin, min(begin + _CHUNK, shape.entities))
        size = len(numbers)
        columns = zip(
            numbers.tolist(),
            draw.choice(4, size, p=(0.35, 0.25, 0.15, 0.25)).tolist(),
            zipf(draw, len(words), size).tolist(),
            zipf(draw, min(3000, len(words)), size).tolist(),
            draw.integers(0, len(words), (size, 3)).tolist(),
            (1e6 / (10 + rank[numbers]) ** 0.8 * draw.uniform(0.5, 1.5, size)).tolist(),
            draw.uniform(0.05, 1.0, (size, 2)).tolist(),
            famous[(shape.entities * draw.random((size, shape.links)) ** 2.5).astype(int)].tolist(),
            _vectors(draw, size, shape.dimensions),
            strict=True,
        )
        for number, kind, shared, given, other, fame, share, links, vector in columns:
            type_ = TYPES[kind]
            title = _title(type_, words, shared, given, other)
            aliases = (
                (title, fame),
                (words[shared], fame * share[0]),
                (f"{title} of {words[other[1]]}", fame * share[1] / 10),
            )
            yield {
                "id": f"Q{number}",
                "name": title,
                "type": type_,
                "description": _LINES[type_].format(*(words[o] for o in other)),
                "popularity": round(fame, 3),
                "aliases": [
                    {"name": name, "count": 1 + int(count), "source": "anchors"}
                    for name, count in aliases
                ],
                "links": [f"Q{target}" for target in links],
                **({"vector": vector} if vector else {}),
            }


def zipf(draw: np.random.Generator, names: int, size: int) -> Longs:
    """Draw from a Zipf law with a flattened head: P(r) ~ 1 / (r + flat), by inversion."""
    flat = min(_FLAT, names / 10)
    u = draw.random(size)
    drawn = flat * ((names + flat) / flat) ** u - flat
    return np.minimum(drawn.astype(np.int64), names - 1)


def made_up_words(count: int) -> list[str]:
    """Return different words that look like names, the first ones shorter."""
    base = len(_SYLLABLES)
    words = []
    for number in range(base, base + count):
        syllables = []
        rest = number
        while rest:
            rest, digit = divmod(rest, base)
            syllables.append(_SYLLABLES[digit])
        word = "".join(syllables).capitalize() + "nsrlt"[number % 5]
        words.append(word.translate(_FOREIGN) if number % _FOREIGN_SHARE == 7 else word)
    return words


def _title(type_: str, words: list[str], shared: int, given: int, other: list[int]) -> str:
    if type_ == "PER":
        return f"{words[given]} {words[shared]}"
    if type_ == "LOC":
        return f"{words[shared]}, {words[given]}"
    if type_ == "ORG":
        return f"{words[shared]} {words[other[0]]} & Co."
    return f"{words[other[0]]} ({words[given]} {words[shared]})"


def _vectors(draw: np.random.Generator, size: int, dimensions: int) -> list[list[float] | None]:
    if not dimensions:
        return [None] * size
    drawn: list[list[float] | None] = draw.normal(size=(size, dimensions)).round(4).tolist()
    return drawn
