"""ServeSettings: what a service takes from its callers, and what it does not."""

from dataclasses import dataclass, fields

from sgtb.core.errors import SettingsError

WIKIPEDIA = "https://en.wikipedia.org/wiki/"


@dataclass(frozen=True)
class ServeSettings:
    """The limits of a service, each of which its error names, and what it answers with.

    max_body_bytes          of a request
    max_characters          of a text, in code points
    max_reasons_characters  of a text that reasons are asked for: they take far more room
    max_spans               given or fixed in a text
    max_batch               documents of a request
    max_candidates          that may be asked for per mention
    request_seconds         from a request's arrival to its links
    body_seconds            for a request's body to arrive
    idle_seconds            for a request's head to arrive, and between requests
    write_seconds           for a client that takes nothing of its answer
    max_head_bytes          of a request's first line and headers
    max_connections         at a time
    queue                   documents that wait to be linked; beyond, callers are sent away
    together                documents linked at once, when so many wait
    together_characters     of their texts; a longer text is linked alone
    threads                 that link
    entity_prefix           of the URIs that stand for ids in the protocols that have URIs
    allow_origins           web origins whose pages may call the service; none by default
    """

    max_body_bytes: int = 1_000_000
    max_characters: int = 100_000
    max_reasons_characters: int = 20_000
    max_spans: int = 2_000
    max_batch: int = 64
    max_candidates: int = 100
    request_seconds: float = 30.0
    body_seconds: float = 10.0
    idle_seconds: float = 15.0
    write_seconds: float = 20.0
    max_head_bytes: int = 32_768
    max_connections: int = 500
    queue: int = 256
    together: int = 32
    together_characters: int = 50_000
    threads: int = 1
    entity_prefix: str = WIKIPEDIA
    allow_origins: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.type is int and (type(value) is not int or value < 1):
                raise SettingsError(f"{field.name} must be a whole number from 1 up, not {value!r}")
            if field.type is float and (type(value) not in (int, float) or not 0 < value < 1e6):
                raise SettingsError(f"{field.name} must be seconds above 0, not {value!r}")
        if self.max_batch > self.queue:
            raise SettingsError(
                f"max_batch is {self.max_batch}, but only {self.queue} documents may wait: "
                "a full batch would never be taken; raise queue"
            )
        for origin in self.allow_origins:
            if origin != "*" and not origin.startswith(("http://", "https://")):
                raise SettingsError(
                    f"{origin!r} is no origin; write it as https://example.org, or * for any"
                )
