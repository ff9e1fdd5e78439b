"""The command `sgtb serve`: the linker as a web service."""

import sys
from importlib import import_module
from typing import Annotated

import typer

from sgtb.cli.linker_options import (
    MIN_LINK_PROBABILITY,
    AnyCase,
    Fuzzy,
    Kb,
    MinLinkProbability,
    Model,
    check_pair,
)
from sgtb.core.errors import MissingExtraError
from sgtb.linking.mentions.mention_settings import MentionSettings
from sgtb.serving.service_settings import ServeSettings

DEFAULT = ServeSettings()
app = typer.Typer(add_completion=False, rich_markup_mode="rich")


@app.command()
def serve(
    model: Model = None,
    kb: Kb = None,
    host: Annotated[
        str,
        typer.Option(
            "--host", help="Address to listen on; 0.0.0.0 for all addresses of the machine."
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="Port; 0 for any free one.")
    ] = 8080,
    workers: Annotated[
        int,
        typer.Option(
            "--workers",
            metavar="N",
            min=1,
            max=256,
            help="Number of processes; they share the memory of the knowledge base.",
        ),
    ] = 1,
    max_body: Annotated[
        int,
        typer.Option("--max-body", metavar="BYTES", min=1, help="Maximum size of a request body."),
    ] = DEFAULT.max_body_bytes,
    max_characters: Annotated[
        int, typer.Option("--max-characters", metavar="N", min=1, help="Maximum length of a text.")
    ] = DEFAULT.max_characters,
    max_reasons_characters: Annotated[
        int,
        typer.Option(
            "--max-reasons-characters",
            metavar="N",
            min=1,
            help="Maximum length of a text linked with reasons.",
        ),
    ] = DEFAULT.max_reasons_characters,
    max_spans: Annotated[
        int,
        typer.Option(
            "--max-spans", metavar="N", min=1, help="Maximum number of given mentions per text."
        ),
    ] = DEFAULT.max_spans,
    max_batch: Annotated[
        int,
        typer.Option(
            "--max-batch", metavar="N", min=1, help="Maximum number of documents per request."
        ),
    ] = DEFAULT.max_batch,
    max_seconds: Annotated[
        float,
        typer.Option("--max-seconds", metavar="S", min=0.001, help="Time limit of a request."),
    ] = DEFAULT.request_seconds,
    max_connections: Annotated[
        int,
        typer.Option(
            "--max-connections",
            metavar="N",
            min=1,
            help="Maximum number of connections per process.",
        ),
    ] = DEFAULT.max_connections,
    queue: Annotated[
        int,
        typer.Option(
            "--queue",
            metavar="N",
            min=1,
            help="Maximum number of queued documents per process.",
        ),
    ] = DEFAULT.queue,
    allow_origin: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-origin",
            metavar="ORIGIN",
            show_default=False,
            help="Web origin whose pages may call the service, such as https://example.org, or * "
            "for any; may be given several times. Default: its own only.",
        ),
    ] = None,
    entity_prefix: Annotated[
        str,
        typer.Option(
            "--entity-prefix",
            metavar="URI",
            help="Prefix of entity URIs in the protocols that have URIs.",
        ),
    ] = DEFAULT.entity_prefix,
    fuzzy: Fuzzy = False,
    any_case: AnyCase = False,
    min_link_probability: MinLinkProbability = MIN_LINK_PROBABILITY,
    log_requests: Annotated[
        bool, typer.Option("--log-requests", help="Log every request.")
    ] = False,
) -> None:
    """Serve the linker over HTTP, with a web page.

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
    _check_installed()
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
        entity_prefix=entity_prefix,
    )
    mentions = MentionSettings(capitals=not any_case, min_link_probability=min_link_probability)
    work = Work(LinkerSource(model, kb, mentions, fuzzy), settings, host, port, log_requests)

    def ready(address: str) -> None:
        print(f"serving on {address} (Ctrl-C to stop)", file=sys.stderr, flush=True)

    run(work, workers, ready)


def _check_installed() -> None:
    """Raise unless the packages of the service are installed."""
    for name in ("fastapi", "uvicorn", "httptools", "prometheus_client"):
        try:
            import_module(name)
        except ImportError:
            raise MissingExtraError(
                f"the service needs the package {name}: pip install 'sgtb[serve]'"
            ) from None
