"""The command `sgtb serve`: the linker as a web service."""

import sys
from typing import Annotated, Any

import typer

from sgtb.cli import options
from sgtb.cli.linker_options import check_pair
from sgtb.core.errors import import_extra
from sgtb.linking.mentions.mention_settings import MentionSettings
from sgtb.serving.service_settings import ServeSettings

DEFAULT = ServeSettings()
app = typer.Typer(add_completion=False, rich_markup_mode=None)


def _limit(help: str, metavar: str = "N", min: float = 1, max: float | None = None) -> Any:
    return typer.Option(metavar=metavar, min=min, max=max, help=help)


@app.command()
def serve(
    model: options.Model = None,
    kb: options.Kb = None,
    host: Annotated[
        str, typer.Option(help="Address to listen on; 0.0.0.0 for all addresses of the machine.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 for any free one.")] = 8080,
    workers: Annotated[
        int, _limit("Number of processes; they share the memory of the knowledge base.", max=256)
    ] = 1,
    max_body: Annotated[
        int, _limit("Maximum size of a request body.", metavar="BYTES")
    ] = DEFAULT.max_body_bytes,
    max_characters: Annotated[int, _limit("Maximum length of a text.")] = DEFAULT.max_characters,
    max_reasons_characters: Annotated[
        int, _limit("Maximum length of a text linked with reasons.")
    ] = DEFAULT.max_reasons_characters,
    max_spans: Annotated[
        int, _limit("Maximum number of given mentions per text.")
    ] = DEFAULT.max_spans,
    max_batch: Annotated[
        int, _limit("Maximum number of documents per request.")
    ] = DEFAULT.max_batch,
    max_seconds: Annotated[
        float, _limit("Time limit of a request.", metavar="S", min=0.001)
    ] = DEFAULT.request_seconds,
    max_connections: Annotated[
        int, _limit("Maximum number of connections per process.")
    ] = DEFAULT.max_connections,
    queue: Annotated[
        int, _limit("Maximum number of queued documents per process.")
    ] = DEFAULT.queue,
    allow_origin: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ORIGIN",
            help="Web origin whose pages may call the service, such as https://example.org, or * "
            "for any; may be given several times. Default: its own only.",
        ),
    ] = None,
    token_file: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Access tokens, one a line, for all areas or after the areas they open: api, "
            "protocols, page, metrics. Default: no tokens.",
        ),
    ] = None,
    tls_certificate: Annotated[
        str | None, typer.Option(metavar="FILE", help="Certificate chain (PEM), for HTTPS.")
    ] = None,
    tls_key: Annotated[
        str | None, typer.Option(metavar="FILE", help="Private key of the certificate (PEM).")
    ] = None,
    rate_limit: Annotated[
        float | None,
        _limit("Requests per second of a client. Default: any number.", min=0.001),
    ] = None,
    entity_prefix: Annotated[
        str | None,
        typer.Option(
            metavar="URI",
            help="Prefix of entity URIs in the protocols that have URIs. Default: Wikipedia's for "
            "a knowledge base of Wikipedia, otherwise urn:sgtb:entity:.",
        ),
    ] = DEFAULT.entity_prefix,
    fuzzy: options.Fuzzy = None,
    any_case: options.AnyCase = False,
    min_link_probability: options.MinLinkProbability = options.MIN_LINK_PROBABILITY,
    log_requests: Annotated[
        bool, typer.Option("--log-requests", help="Log every request.")
    ] = False,
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
    """  # fmt: skip
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
