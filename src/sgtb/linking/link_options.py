"""LinkOptions: options of a request. LinkerSettings: settings of a linker."""

from dataclasses import dataclass, field

from sgtb.boosting.search.beam import MAX_BEAM_WIDTH
from sgtb.core.errors import SettingsError
from sgtb.linking.calibration.confidence import check_share
from sgtb.linking.mentions.mention_settings import MentionSettings
from sgtb.text.tokenization import Tokenizer, segment


@dataclass(frozen=True)
class LinkOptions:
    """Options of one request."""

    candidates: int = 5  # alternatives per link
    reasons: bool = False  # whether links have reasons
    # links below this confidence become NIL; 0 links every mention with candidates; None: the
    # model's rule
    nil: float | None = None
    beam_width: int | None = None  # hypotheses kept by the search; None: the model's

    def __post_init__(self) -> None:
        check_count("candidates", self.candidates)
        if self.nil is not None:
            check_share("nil", self.nil)
        if self.beam_width is not None:
            check_count("beam_width", self.beam_width)
            if self.beam_width > MAX_BEAM_WIDTH:
                raise SettingsError(f"beam_width is {self.beam_width}; at most {MAX_BEAM_WIDTH}")


@dataclass(frozen=True)
class LinkerSettings(LinkOptions):
    """Settings of a linker, and its default options.

    mentions        how mentions are found where none are given
    fuzzy           whether names that are not listed get candidates of similarly spelt names;
                    None: as in training
    max_characters  of one text
    tokenizer       cuts texts into tokens and sentences; that of the training documents
    """

    mentions: MentionSettings = field(default_factory=MentionSettings)
    fuzzy: bool | None = None
    max_characters: int = 5_000_000
    tokenizer: Tokenizer = field(default=segment, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("max_characters", self.max_characters)


def check_count(name: str, value: object, low: int = 1) -> None:
    """Raise unless a setting is a whole number of at least `low`."""
    if isinstance(value, bool) or not isinstance(value, int) or value < low:
        raise SettingsError(f"{name} must be a whole number from {low} up, not {value!r}")
