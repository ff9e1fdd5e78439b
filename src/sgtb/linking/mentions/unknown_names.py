"""Unknown names: capitalised words that form one name which the knowledge base lacks.

They are mentions without candidates. A known name that is only a part of one is no mention: "Inter
Miami" means neither Inter Milan nor Miami.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence

from sgtb.linking.mentions.name_search import NameRun, NameSearch, Range, Ranges
from sgtb.native import token_shape_bits as w
from sgtb.text.acronyms import spells

MAX_WORDS = 8
"""Longer sequences of capitalised words are no names."""
_HEADLINE_WORDS = 3
"""Words of an unknown name between signs in a line without lower-case words: a table cell."""
_LONGEST_ACRONYM = 10


class UnknownNames:
    """The unknown names of a text, given its known ones.

    known    ranges of the known names that are mentions, in order
    unknown  ranges of the others, in order
    """

    def __init__(self, search: NameSearch, known: Ranges) -> None:
        self._search, self._shapes = search, search.shapes
        self._texts = search.tokens.texts
        runs = search.runs()
        self.known: Ranges = known
        self.unknown: Ranges = []
        # A single word is an unknown name only after a title.
        several = [run for run in runs if run.titled or run.last > run.first]
        dropped = {part for run in several for part in self._resolve(run)}
        self.known = [one for one in known if one not in dropped]
        self._add_short_forms(runs)
        self._add_abbreviations()

    def _resolve(self, run: NameRun) -> Ranges:
        """Add a run to the unknown names if it is one; return the known names within it."""
        search, shapes = self._search, self._shapes
        first, last, titled = run
        begin = bisect_left(self.known, (first, -1))
        inside = self.known[begin : bisect_left(self.known, (last + 1, -1))]
        before = begin and self.known[begin - 1][1] >= first
        if before or (inside and inside[-1][1] > last) or search.positions[first] & w.LOUD:
            return []  # a known name reaches beyond it, or capitals say nothing
        if last > first and search.positions[first] & w.FRESH and search.doubtful(first):
            first = self._next_name(first, last)
            if inside and inside[0][0] < first:
                return []
        while inside and inside[0] == (first, first) and last > first and shapes[first] & w.UPPER:
            # US Marines, NATO Summit: what follows an acronym is another name.
            first, titled, inside = self._next_name(first, last), False, inside[1:]
        words = sum(shape & w.CAPITAL > 0 for shape in shapes[first : last + 1])
        if not self._is_name(first, last, words, titled, bool(inside)):
            return []
        if inside and self._explained(inside, first, last):
            return []
        self.unknown.append((first, last))
        return inside

    def _next_name(self, i: int, last: int) -> int:
        return next(j for j in range(i + 1, last + 1) if j == last or self._shapes[j] & w.CAPITAL)

    def _is_name(self, first: int, last: int, words: int, titled: bool, parts: bool) -> bool:
        """Whether a run may be an unknown name."""
        if not (words > 1 or (titled and not parts)) or words > MAX_WORDS:
            return False
        if len(self._texts[last]) == 1:  # Group A
            return False
        if not self._search.positions[first] & w.HEADLINE:
            return True
        beside = (first - 1, last + 1)
        alone = not any(0 <= i < len(self._texts) and self._has_letters(i) for i in beside)
        return alone and words <= _HEADLINE_WORDS - parts

    def _has_letters(self, i: int) -> bool:
        return bool(self._shapes[i] & w.WORD) and not self._texts[i][0].isdigit()

    def _explained(self, inside: Ranges, first: int, last: int) -> bool:
        """Whether known names explain a run: a full name at its end, or all but a suffix."""
        begin, end = inside[-1]
        rest = self._shapes[end + 1 : last + 1]
        if not rest:
            return end > begin
        return begin == first and all(shape & (w.SUFFIX | w.PERIOD) for shape in rest)

    def _add_short_forms(self, runs: Sequence[NameRun]) -> None:
        """Add single words that are family names of unknown names."""
        surnames = set()
        for first, last in self.unknown:
            shapes = self._shapes[first : last + 1]
            if last > first and not any(shape & (w.HEAD | w.SUFFIX) for shape in shapes):
                surnames.add(self._texts[last])
        if surnames:
            self._add(
                (first, last)
                for first, last, _ in runs
                if first == last
                and self._texts[first] in surnames
                and not (first and self._shapes[first - 1] & w.THE)
            )

    def _add_abbreviations(self) -> None:
        """Add abbreviations that the text defines: "Delta Relief Fund (DRF)", or the other way."""
        texts = self._texts
        if "(" not in self._search.words:
            return
        places = (i for i, text in enumerate(texts) if text == "(" and 0 < i < len(texts) - 2)
        defined = {text for i in places for text in self._defined(i)}
        if defined:
            self._add((i, i) for i, text in enumerate(texts) if text in defined)

    def _defined(self, i: int) -> Iterator[str]:
        """Yield the abbreviation that is defined at an opening bracket."""
        texts = self._texts
        for ranges in (self.known, self.unknown):
            at = bisect_left(ranges, (i, -1))
            before = ranges[at - 1] if at and ranges[at - 1][1] == i - 1 else None
            after = ranges[at] if at < len(ranges) and ranges[at][0] == i + 1 else None
            if before and texts[i + 2] == ")" and self._abbreviates(texts[i + 1], before):
                yield texts[i + 1]
            closed = after and after[1] + 1 < len(texts) and texts[after[1] + 1] == ")"
            if after and closed and self._abbreviates(texts[i - 1], after):
                yield texts[i - 1]

    def _abbreviates(self, text: str, name: Range) -> bool:
        capitals = sum(c.isupper() for c in text)
        if capitals < 2 or len(text) > _LONGEST_ACRONYM or name[0] == name[1]:
            return False
        words = (word for word in self._texts[name[0] : name[1] + 1] if word[0].isalnum())
        return spells(text.replace(".", "").lower(), " ".join(words).lower())

    def _add(self, ranges: Iterator[Range]) -> None:
        """Add ranges that overlap no mention."""
        taken = {i for a, b in (*self.known, *self.unknown) for i in range(a, b + 1)}
        self.unknown += [one for one in ranges if taken.isdisjoint(range(one[0], one[1] + 1))]
        self.unknown.sort()
