"""Cost model: hours, core-hours, disk and memory of jobs, from costs measured on small ones.

A stage has serial work, work that workers share, and waiting for the network. Its time is
serial + shared / workers + waiting; its core time is serial + shared. All costs are linear in the
size of the input. `python -m benchmarks.capacity` measures costs.json.
"""

import json
import math
from dataclasses import dataclass, fields
from functools import cache
from importlib.resources import files
from typing import Any

from sgtb.core.errors import SettingsError
from sgtb.core.settings import check_integer, check_number

MB, GB = 1e6, 1e9
PAGES = 800  # training pages of `sgtb wikipedia`
ENGLISH_XML = 100 * GB
_HOUR = 3600.0


@dataclass(frozen=True)
class Costs:
    """Measured costs, in processor seconds, bytes or MB."""

    read_mb: float  # s per MB of XML: unpacking, reading, extraction; shared by workers
    count_mb: float  # s per MB of XML: counting and writing, in one process
    links_mb: float  # s per MB of XML: finding held-out pages for training; shared by workers
    packed_share: float  # bytes of bzip2 per byte of XML
    kb_share: float  # bytes of a knowledge base per byte of XML of the English Wikipedia
    work_share: float  # bytes of temporary files of a build per byte of XML
    train_start: float  # s of a training, whatever its size
    train_page: float  # s of a training per page
    link_document: float  # s per document, whatever its length
    link_kb: float  # s per 1,000 characters of a document
    result_kb: float  # bytes of links per 1,000 characters, as JSON Lines
    list_entity: float  # s per entity of a list, of all threads together
    list_bytes: float  # bytes of a knowledge base per entity of a list
    list_memory: float  # bytes of memory per entity of a list
    worker_start: float  # s until a worker can link
    worker_mb: float  # MB of memory of a worker that links, without its knowledge base
    build_mb: float  # MB of memory of a process that builds, besides its allowance
    ship_gb: float  # s per GB that is copied and verified

    @classmethod
    def of(cls, values: dict[str, Any]) -> "Costs":
        """Make costs from a record; numbers from 0 on."""
        for field in fields(cls):
            check_number(field.name, values.get(field.name), 0.0, math.inf)
        return cls(**{field.name: float(values[field.name]) for field in fields(cls)})


@cache
def measured() -> dict[str, Any]:
    """Return what ships: costs, runs that the model was compared with, and the machine."""
    record = files("sgtb.capacity").joinpath("costs.json").read_text("utf-8")
    return dict(json.loads(record))


@dataclass(frozen=True)
class Cluster:
    """Workers and their network."""

    workers: int = 1
    cores: int = 16  # workers per host; a host has one copy of the knowledge base
    network: float = 100.0  # MB/s from the host that has the knowledge base to all others together
    download: float = 10.0  # MB/s from a dump server
    memory: int = 1024  # MB that a build may hold besides its processes

    def __post_init__(self) -> None:
        check_integer("workers", self.workers, 1, 100_000)
        check_integer("cores", self.cores, 1, 10_000)
        check_number("network", self.network, 1e-3, 1e9)
        check_number("download", self.download, 1e-3, 1e9)

    @property
    def hosts(self) -> int:
        """Number of hosts."""
        return -(-self.workers // self.cores)


@dataclass(frozen=True)
class StageCost:
    """Seconds of a stage: serial and shared work, and waiting for the network."""

    name: str
    serial: float = 0.0
    shared: float = 0.0
    waiting: float = 0.0

    def seconds(self, workers: int) -> float:
        """Return the time by the clock."""
        return self.serial + self.shared / workers + self.waiting


@dataclass(frozen=True)
class Estimate:
    """Predicted cost of a job on a cluster; disk and memory of all hosts together."""

    cluster: Cluster
    stages: tuple[StageCost, ...]
    disk_bytes: float
    memory_bytes: float

    @property
    def hours(self) -> float:
        """Hours by the clock, on cores that do nothing else."""
        return sum(stage.seconds(self.cluster.workers) for stage in self.stages) / _HOUR

    @property
    def core_hours(self) -> float:
        """Hours of processor time."""
        return sum(stage.serial + stage.shared for stage in self.stages) / _HOUR

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        workers = self.cluster.workers
        return {
            "workers": workers,
            "hours": self.hours,
            "core_hours": self.core_hours,
            "disk_gb": self.disk_bytes / GB,
            "memory_gb": self.memory_bytes / GB,
            "stages": {
                stage.name: {
                    "seconds": stage.seconds(workers), "core_seconds": stage.serial + stage.shared
                }
                for stage in self.stages
            },
        }  # fmt: skip


def wikipedia_cost(costs: Costs, packed: float, pages: int, cluster: Cluster) -> Estimate:
    """Estimate `sgtb wikipedia` for a dump of `packed` bytes and a number of training pages."""
    xml = packed / costs.packed_share
    megabytes, kb = xml / MB, xml * costs.kb_share
    start = cluster.workers * costs.worker_start
    stages = (
        StageCost("download", packed / GB * costs.ship_gb, waiting=packed / MB / cluster.download),
        StageCost("build", megabytes * costs.count_mb, megabytes * costs.read_mb + start),
        StageCost(
            "train", costs.train_start + pages * costs.train_page,
            megabytes * costs.links_mb + start,
        ),
        StageCost("evaluate", pages / 4 * costs.train_page),
        StageCost("pack", kb / GB * costs.ship_gb),
    )  # fmt: skip
    # The most on disk is either during the build, or in the end with two knowledge bases.
    disk = packed + max(xml * costs.work_share + kb, 2 * kb)
    memory = (cluster.memory + (cluster.workers + 1) * costs.build_mb) * MB
    return Estimate(cluster, stages, disk, memory)


def list_cost(costs: Costs, entities: float, cluster: Cluster) -> Estimate:
    """Estimate `sgtb kb build list`, which uses one process; as if it had one thread."""
    stage = StageCost("build", entities * costs.list_entity)
    disk, memory = 2 * entities * costs.list_bytes, entities * costs.list_memory
    return Estimate(cluster, (stage,), disk, memory + costs.build_mb * MB)


def link_cost(
    costs: Costs, documents: float, characters: float, kb: float, cluster: Cluster
) -> Estimate:
    """Estimate linking documents of a mean length with a knowledge base of `kb` bytes."""
    kilos = characters / 1000
    copies = cluster.hosts - 1
    stages = (
        StageCost(
            "ship", shared=copies * kb / GB * costs.ship_gb,
            waiting=copies * kb / MB / cluster.network,
        ),
        StageCost("start", shared=cluster.workers * costs.worker_start),
        StageCost("link", shared=documents * (costs.link_document + kilos * costs.link_kb)),
    )  # fmt: skip
    disk = documents * kilos * costs.result_kb + cluster.hosts * kb
    memory = cluster.workers * costs.worker_mb * MB + cluster.hosts * kb
    return Estimate(cluster, stages, disk, memory)


@dataclass(frozen=True)
class Workload:
    """A job; the one size that is not 0 tells its kind."""

    name: str
    xml: float = 0.0  # bytes of XML of a dump, for `sgtb wikipedia`
    entities: float = 0.0  # entities of a list, for `sgtb kb build list`
    documents: float = 0.0  # documents to link, with a knowledge base made of `kb_xml` bytes of XML
    characters: float = 1000.0  # mean length of a document
    kb_xml: float = ENGLISH_XML

    def __post_init__(self) -> None:
        sizes = (self.xml, self.entities, self.documents)
        if min(sizes) < 0 or sum(size > 0 for size in sizes) != 1:
            raise SettingsError(
                f"{self.name}: give one of bytes of XML, entities and documents, above 0"
            )

    def estimate(self, costs: Costs, cluster: Cluster) -> Estimate:
        """Predict its cost on a cluster."""
        if self.xml:
            return wikipedia_cost(costs, self.xml * costs.packed_share, PAGES, cluster)
        if self.entities:
            return list_cost(costs, self.entities, cluster)
        kb = self.kb_xml * costs.kb_share
        return link_cost(costs, self.documents, self.characters, kb, cluster)


WORKLOADS = {
    "simple": Workload("Simple English Wikipedia, 1.4 GB of XML", xml=1.4 * GB),
    "english": Workload("English Wikipedia, 100 GB of XML", xml=ENGLISH_XML),
    "wikidata": Workload("Wikidata labels, 100,000,000 entities", entities=1e8),
    "documents-1e8": Workload("10^8 documents", documents=1e8),
    "documents-1e9": Workload("10^9 documents", documents=1e9),
}
"""Workloads that `sgtb plan` shows; sizes of the Wikipedias are assumed, rounded."""
