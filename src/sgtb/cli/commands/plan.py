"""The command `sgtb plan`: predicted time, disk and memory of large jobs."""

from dataclasses import replace

import typer

from sgtb.capacity.cost_model import ENGLISH_XML, GB, WORKLOADS, Cluster, Costs, Workload, measured
from sgtb.cli import options
from sgtb.cli.linker_options import print_json

app = typer.Typer(add_completion=False, rich_markup_mode=None)
_WORKERS = (1, 4, 16, 64, 256)


@app.command()
def plan(
    names: list[str] | None = typer.Argument(
        None, metavar="WORKLOAD…", show_default="all", help=f"Workloads: {', '.join(WORKLOADS)}."
    ),
    xml_gb: float | None = typer.Option(
        None, min=0.0, help="A dump of this many GB of XML, by `wikipedia`."
    ),
    entities: int | None = typer.Option(
        None, min=1, help="A list of entities, by `kb build list`."
    ),
    documents: int | None = typer.Option(None, min=1, help="Documents to link."),
    characters: int = typer.Option(1000, min=1, help="Mean length of a document."),
    kb_xml_gb: float = typer.Option(
        ENGLISH_XML / GB, min=0.0, help="GB of XML that the knowledge base for linking is made of."
    ),
    workers: list[int] | None = typer.Option(
        None,
        min=1,
        show_default=", ".join(map(str, _WORKERS)),
        help="Number of workers; may be given several times.",
    ),
    cores: int = typer.Option(Cluster.cores, min=1, help="Workers per host."),
    network: float = typer.Option(
        Cluster.network, min=0.001, metavar="MB/S", help="Network between hosts."
    ),
    download: float = typer.Option(
        Cluster.download, min=0.001, metavar="MB/S", help="Download from a dump server."
    ),
    as_json: bool = options.AS_JSON,
) -> None:
    """Predict hours, core-hours, disk and memory of a large job.

    From costs measured on small jobs. Hours are for cores that do nothing else.

    \b
    Examples:
      sgtb plan
      sgtb plan english --workers 32
      sgtb plan --documents 5000000 --characters 3000 --workers 8
    """
    own = any(size is not None for size in (xml_gb, entities, documents))
    unknown = [name for name in names or () if name not in WORKLOADS]
    if unknown:
        raise typer.BadParameter(f"{unknown[0]!r} is none of {', '.join(WORKLOADS)}")
    chosen = {} if own and not names else {name: WORKLOADS[name] for name in names or WORKLOADS}
    if own:
        sizes = {"GB of XML": xml_gb, "entities": entities, "documents": documents}
        about = [f"{size:,} {unit}" for unit, size in sizes.items() if size is not None]
        chosen["own"] = Workload(
            ", ".join(about), xml=(xml_gb or 0.0) * GB,
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
