"""The command `sgtb serve`: the linker as a web service."""

import sys
from pathlib import Path
from typing import Any

import typer

from sgtb.cli import options
from sgtb.cli.linker_options import check_pair
from sgtb.core.errors import import_extra
from sgtb.linking.mentions.mention_settings import MentionSettings
from sgtb.serving.service_settings import ServeSettings

DEFAULT = ServeSettings()
app = typer.Typer(add_completion=False, rich_markup_mode=None)


def _limit(
    default: Any, help: str, metavar: str = "N", min: float = 1, max: float | None = None
) -> Any:
    return typer.Option(default, metavar=metavar, min=min, max=max, help=help)


@app.command()
def serve(
    model: Path | None = options.MODEL,
    kb: Path | None = options.KB,
    host: str = typer.Option(
        "127.0.0.1", help="Address to listen on; 0.0.0.0 for all addresses of the machine."
    ),
    port: int = typer.Option(8080, min=0, max=65535, help="Port; 0 for any free one."),
    workers: int = _limit(
        1, "Number of processes; they share the memory of the knowledge base.", max=256
    ),
    max_body: int = _limit(
        DEFAULT.max_body_bytes, "Maximum size of a request body.", metavar="BYTES"
    ),
    max_characters: int = _limit(DEFAULT.max_characters, "Maximum length of a text."),
    max_reasons_characters: int = _limit(
        DEFAULT.max_reasons_characters, "Maximum length of a text linked with reasons."
    ),
    max_spans: int = _limit(DEFAULT.max_spans, "Maximum number of given mentions per text."),
    max_batch: int = _limit(DEFAULT.max_batch, "Maximum number of documents per request."),
    max_seconds: float = _limit(
        DEFAULT.request_seconds, "Time limit of a request.", metavar="S", min=0.001
    ),
    max_connections: int = _limit(
        DEFAULT.max_connections, "Maximum number of connections per process."
    ),
    queue: int = _limit(DEFAULT.queue, "Maximum number of queued documents per process."),
    allow_origin: list[str] | None = typer.Option(
        None,
        metavar="ORIGIN",
        help="Web origin whose pages may call the service, such as https://example.org, or * "
        "for any; may be given several times. Default: its own only.",
    ),
    token_file: str | None = typer.Option(
        None,
        metavar="FILE",
        help="Access tokens, one a line, for all areas or after the areas they open: api, "
        "protocols, page, metrics. Default: no tokens.",
    ),
    tls_certificate: str | None = typer.Option(
        None, metavar="FILE", help="Certificate chain (PEM), for HTTPS."
    ),
    tls_key: str | None = typer.Option(
        None, metavar="FILE", help="Private key of the certificate (PEM)."
    ),
    rate_limit: float | None = _limit(
        None, "Requests per second of a client. Default: any number.", min=0.001
    ),
    entity_prefix: str | None = typer.Option(
        DEFAULT.entity_prefix,
        metavar="URI",
        help="Prefix of entity URIs in the protocols that have URIs. Default: Wikipedia's for "
        "a knowledge base of Wikipedia, otherwise urn:sgtb:entity:.",
    ),
    fuzzy: bool | None = options.FUZZY,
    any_case: bool = options.ANY_CASE,
    min_link_probability: float = options.MIN_LINK_PROBABILITY,
    log_requests: bool = typer.Option(False, "--log-requests", help="Log every request."),
) -> None:
    """Run a web page and an HTTP service that link texts.

    Supports the protocols of REL, DBpedia Spotlight, NIF and entity-fishing besides its own API.
    SIGTERM or Ctrl-C ends it after the requests under way; SIGHUP reloads model and knowledge base
    without interruption.

    \b
    Examples:
      sgtb serve
      sgtb serve --model news.model --kb simple --workers 2
      sgtb serve --host 0.0.0.0 --port 80
    """
    check_pair(model, kb)
    for name in ("fastapi", "uvicorn", "httptools", "prometheus_client"):
        import_extra(name, "serve", "the service needs")
    from sgtb.serving.access import AccessTokens
    from sgtb.serving.linker_source import LinkerSource
    from sgtb.serving.processes import Work, run

    settings = ServeSettings(
        max_body_bytes=max_body,
        max_characters=max_characters,
        max_reasons_characters=max_reasons_characters,
        max_spans=max_spans,
        max_batch=max_batch,
        request_seconds=max_seconds,
        max_connections=max_connections,
        queue=queue,
        allow_origins=tuple(allow_origin or ()),
        rate_limit=rate_limit,
        tokens=None if token_file is None else AccessTokens.read(token_file),
        tls_certificate=tls_certificate,
        tls_key=tls_key,
        entity_prefix=entity_prefix,
    )
    mentions = MentionSettings(capitals=not any_case, min_link_probability=min_link_probability)
    work = Work(LinkerSource(model, kb, mentions, fuzzy), settings, host, port, log_requests)

    def ready(address: str) -> None:
        print(f"serving on {address} (Ctrl-C to stop)", file=sys.stderr, flush=True)

    run(work, workers, ready)
