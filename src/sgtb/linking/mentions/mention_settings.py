"""Settings of mention detection; apart from it, so that commands load without the compiled core."""

from dataclasses import dataclass

from sgtb.core.errors import SettingsError


@dataclass(frozen=True, slots=True)
class MentionSettings:
    """Which names are detected in a text.

    capitals              only names with an initial capital, a digit, or without case
    min_link_probability  names with a lower one are ignored, if it is known
    max_words             words of a name, separated by white space
    min_characters        characters of a name in normal form
    unknown_names         whether capitalised words that form an unknown name are mentions, too
    learned               whether the mention tagger of a model is used, where it has one
    """

    capitals: bool = True
    min_link_probability: float = 0.05
    max_words: int = 6
    min_characters: int = 2
    unknown_names: bool = True
    learned: bool = True

    def __post_init__(self) -> None:
        for key in ("capitals", "unknown_names", "learned"):
            if not isinstance(getattr(self, key), bool):
                raise SettingsError(f"{key} is {getattr(self, key)!r}; it must be true or false")
        least = self.min_link_probability
        if not isinstance(least, (int, float)) or isinstance(least, bool) or not 0 <= least <= 1:
            raise SettingsError(f"min_link_probability is {least!r}; it must be from 0 to 1")
        for key in ("max_words", "min_characters"):
            value = getattr(self, key)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise SettingsError(f"{key} is {value!r}; it must be a whole number of at least 1")
