"""Names in all scripts, some of them long, from a seeded generator."""

from collections.abc import Iterator
from random import Random

_RANGES = (
    (0x20, 0x7E), (0xA0, 0x24F), (0x250, 0x36F), (0x370, 0x3FF), (0x400, 0x52F), (0x530, 0x58F),
    (0x590, 0x5FF), (0x600, 0x6FF), (0x700, 0x7BF), (0x900, 0xDFF), (0xE00, 0xFFF),
    (0x1000, 0x139F), (0x13A0, 0x17FF), (0x1E00, 0x1FFF), (0x2000, 0x2BFF), (0x3000, 0x30FF),
    (0x3400, 0x9FFF), (0xA000, 0xABFF), (0xAC00, 0xD7A3), (0xD800, 0xDFFF), (0xE000, 0xFAFF),
    (0xFB00, 0xFFFF), (0x10000, 0x107FF), (0x1D400, 0x1D7FF), (0x1F000, 0x1FAFF),
    (0x20000, 0x2FA1F), (0xE0000, 0xE01EF), (0x0, 0x1F),
)  # fmt: skip
_WORDS = (
    "the of and St. Dr. Jr. II 2 vii County University & - ' \" ( ) [ ] , tumour programme "
    "Republic Acme Inc. International Monetary Fund Anna von Meck"
).split()
LENGTHS = (0, 1, 2, 5, 12, 30, 60)
LONG = (400, 1_100, 4_000)


def script_names(seed: int, count: int) -> Iterator[str]:
    """Yield names; one in a hundred is long, and lone surrogates occur."""
    random = Random(seed)
    for i in range(count):
        length = random.choice(LONG if i % 100 == 0 else LENGTHS)
        ranges = random.choices(_RANGES, k=2)
        letters = (chr(random.randint(*random.choice(ranges))) for _ in range(length))
        name = "".join(
            f" {random.choice(_WORDS)} " if random.random() < 0.15 else letter for letter in letters
        )
        yield name[:length]
