"""The command `sgtb plan`: predicted time, disk and memory of large jobs."""

from dataclasses import replace
from typing import Annotated

import typer

from sgtb.capacity.cost_model import GB, Cluster, Costs, measured
from sgtb.capacity.workloads import ENGLISH_XML, WORKLOADS, Workload
from sgtb.cli import options
from sgtb.cli.linker_options import print_json

app = typer.Typer(add_completion=False, rich_markup_mode=None)
_WORKERS = (1, 4, 16, 64, 256)


@app.command()
def plan(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="WORKLOAD…",
            show_default="all",
            help=f"Workloads: {', '.join(WORKLOADS)}.",
        ),
    ] = None,
    xml_gb: Annotated[
        float | None,
        typer.Option(min=0.0, help="A dump of this many GB of XML, by `wikipedia`."),
    ] = None,
    entities: Annotated[
        int | None, typer.Option(min=1, help="A list of entities, by `kb build list`.")
    ] = None,
    documents: Annotated[int | None, typer.Option(min=1, help="Documents to link.")] = None,
    characters: Annotated[int, typer.Option(min=1, help="Mean length of a document.")] = 1000,
    kb_xml_gb: Annotated[
        float,
        typer.Option(
            min=0.0,
            help="GB of XML that the knowledge base for linking is made of.",
        ),
    ] = ENGLISH_XML / GB,
    workers: Annotated[
        list[int] | None,
        typer.Option(
            min=1,
            show_default=", ".join(map(str, _WORKERS)),
            help="Number of workers; may be given several times.",
        ),
    ] = None,
    cores: Annotated[int, typer.Option(min=1, help="Workers per host.")] = Cluster.cores,
    network: Annotated[
        float, typer.Option(min=0.001, metavar="MB/S", help="Network between hosts.")
    ] = Cluster.network,
    download: Annotated[
        float, typer.Option(min=0.001, metavar="MB/S", help="Download from a dump server.")
    ] = Cluster.download,
    as_json: options.AsJson = False,
) -> None:
    """Predict hours, core-hours, disk and memory of a large job.

    From costs measured on small jobs. Hours are for cores that do nothing else.

    \b
    Examples:
      sgtb plan
      sgtb plan english --workers 32
      sgtb plan --documents 5000000 --characters 3000 --workers 8
    """  # fmt: skip
    given = (xml_gb, entities, documents)
    own = any(size is not None for size in given)
    unknown = [name for name in names or () if name not in WORKLOADS]
    if unknown:
        raise typer.BadParameter(f"{unknown[0]!r} is none of {', '.join(WORKLOADS)}")
    chosen = {} if own and not names else {name: WORKLOADS[name] for name in names or WORKLOADS}
    if own:
        chosen["own"] = Workload(
            _described(xml_gb, entities, documents), xml=(xml_gb or 0.0) * GB,
            entities=entities or 0, documents=documents or 0,
        )  # fmt: skip
    record = measured()
    costs = Costs.of(record["costs"])
    clusters = [Cluster(n, cores, network, download) for n in workers or _WORKERS]
    found = {}
    for key, workload in chosen.items():
        if workload.documents:
            workload = replace(workload, characters=characters, kb_xml=kb_xml_gb * GB)
        found[key] = [workload.estimate(costs, cluster) for cluster in clusters]
    described = {key: workload.name for key, workload in chosen.items()}
    if as_json:
        print_json({
            "workloads": {
                key: {"name": described[key], "estimates": [one.to_dict() for one in estimates]}
                for key, estimates in found.items()
            },
            **record,
        })  # fmt: skip
        return
    from sgtb.cli.views.plan_view import print_plan

    print_plan(found, described, record["checks"])


def _described(xml_gb: float | None, entities: int | None, documents: int | None) -> str:
    parts = {"GB of XML": xml_gb, "entities": entities, "documents": documents}
    return ", ".join(f"{size:,} {unit}" for unit, size in parts.items() if size is not None)
