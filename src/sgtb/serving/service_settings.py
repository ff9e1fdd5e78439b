"""Limits and other settings of the service."""

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from sgtb.core.errors import SettingsError

if TYPE_CHECKING:  # the command line must start fast
    from sgtb.serving.access import AccessTokens


@dataclass(frozen=True)
class ServeSettings:
    """Settings of the service; errors name the limit that was exceeded."""

    max_body_bytes: int = 1_000_000
    max_characters: int = 100_000  # of a text, in code points
    max_reasons_characters: int = 20_000  # of a text with reasons, whose response is much larger
    max_spans: int = 2_000  # given or fixed mentions of a text
    max_batch: int = 64  # documents of a request
    max_candidates: int = 100  # returned per mention
    request_seconds: float = 30.0  # from a request to its response
    body_seconds: float = 10.0  # until a request body has arrived
    idle_seconds: float = 15.0  # until a request head has arrived, and between requests
    write_seconds: float = 20.0  # without progress in sending a response
    max_head_bytes: int = 32_768  # of the request line and headers
    max_connections: int = 500
    queue: int = 256  # documents; further requests are refused
    together: int = 32  # documents linked in one batch
    together_characters: int = 50_000  # of the texts of a batch; a longer text is linked alone
    threads: int = 1  # that link
    entity_prefix: str | None = None  # of IRIs in protocols; None: that of the knowledge base
    allow_origins: tuple[str, ...] = ()  # web origins whose pages may call the service
    rate_limit: float | None = None  # requests per second of a client and process; None: any number
    tokens: "AccessTokens | None" = None  # None: everybody may use the service
    tls_certificate: str | None = None  # file of the certificate chain; None: no TLS
    tls_key: str | None = None  # file of its private key

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.type is int and (type(value) is not int or value < 1):
                raise SettingsError(f"{field.name} must be a whole number from 1 up, not {value!r}")
            if field.type is float and (type(value) not in (int, float) or not 0 < value < 1e6):
                raise SettingsError(
                    f"{field.name} must be a number of seconds above 0, not {value!r}"
                )
        if self.max_batch > self.queue:
            raise SettingsError(
                f"max_batch is {self.max_batch}, but the queue holds {self.queue} documents: "
                "a full batch would never be accepted; raise queue"
            )
        if self.rate_limit is not None and not 0 < self.rate_limit < 1e6:
            raise SettingsError(
                f"rate_limit must be a number of requests above 0, not {self.rate_limit!r}"
            )
        if (self.tls_certificate is None) != (self.tls_key is None):
            raise SettingsError("TLS needs both a certificate and a key")
        for origin in self.allow_origins:
            if origin != "*" and not origin.startswith(("http://", "https://")):
                raise SettingsError(
                    f"{origin!r} is not an origin; write it as https://example.org, or * for any"
                )
