"""The unit of work of a job: link one part in a worker process, from plain data to plain data."""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import islice
from typing import Any

from sgtb.core.errors import SgtbError
from sgtb.core.files import lock
from sgtb.jobs.arrow_arrays import pa
from sgtb.jobs.isolation import without_killers
from sgtb.jobs.job_folder import sha256
from sgtb.jobs.job_inputs import Item, Part, items_of, table_items
from sgtb.jobs.link_table import LINKS, Rejection, link_table, to_parquet
from sgtb.jobs.worker_linker import (
    LinkerSpec,
    cache_folder,
    digests,
    link_items,
    required_linker,
    worker_linker,
)
from sgtb.linking.linker import Linker
from sgtb.linking.links import LinkedDocument
from sgtb.linking.parallel import BATCH

Outcome = dict[str, Any]
"""Plain data. Of a part that was linked: `data`, the bytes of its Parquet file, and `record`, its
sidecar. Otherwise `missing`, "linker" or "input", or `error`, a message."""


def link_part(
    spec: LinkerSpec, part: Mapping[str, Any], source: str | bytes, isolated: bool = False
) -> Outcome:
    """Link the documents of a part, from the path or URL of its input, or from its bytes.

    isolated  whether to look for documents that kill their process first; also done where a
              process of this host died with the part
    """
    # malloc keeps buffers for the next part; Arrow's allocator returns them and takes them anew.
    pa.set_memory_pool(pa.system_memory_pool())
    try:
        linker = worker_linker(spec)
        if linker is None:
            return {"missing": "linker"}
        own = Part(**part)
        items = list(items_of(own, source, linker.settings.max_characters))
        with _marked(spec, part) as died:
            if isolated or died:
                items = without_killers(spec, items)
            table, documents, rejected = _tabulated(linker, items, own.input)
    except FileNotFoundError:
        return {"missing": "input"}
    except (SgtbError, OSError) as error:
        return {"error": f"{type(error).__name__}: {error}"}
    record = {
        "rows": table.num_rows,
        "documents": documents,
        "links": table.num_rows - table["start"].null_count,
        "rejected": [list(one) for one in rejected],
    }
    return {"data": to_parquet(table), "record": record}


@contextmanager
def _marked(spec: LinkerSpec, part: Mapping[str, Any]) -> Iterator[bool]:
    """Mark a part as begun on this host while it is linked; yield whether a process died with it.

    The process that links it holds a lock on the mark: another one may link the same documents.
    """
    digest = sha256(json.dumps([digests(spec), part], sort_keys=True).encode())[:32]
    marker = cache_folder(spec).with_name(f"begun-{digest}")
    begun, first = marker.exists(), False
    try:
        with open(marker, "ab") as file:
            first = lock(file.fileno())
            yield begun and first
    finally:  # not reached by a process that dies
        if first:
            with suppress(PermissionError):  # on Windows, while another process has it open
                marker.unlink(missing_ok=True)


def _tabulated(
    linker: Linker, items: Iterable[Item], name: str
) -> tuple[Any, int, list[Rejection]]:
    """Link documents; return their links as a table, their number, and the rejected documents.

    Links are kept as columns, which take a tenth of the objects' memory.
    """
    tables, documents, rejected = [link_table(())], 0, list[Rejection]()
    results = link_items(linker, items)
    while batch := list(islice(results, BATCH)):
        linked = [result for _, result in batch if isinstance(result, LinkedDocument)]
        tables.append(link_table(linked))
        documents += len(linked)
        rejected += [
            Rejection(item.id, name, item.row, result)
            for item, result in batch
            if isinstance(result, str)
        ]
    return pa.concat_tables(tables).combine_chunks(), documents, rejected


def link_frame(spec: LinkerSpec, frame: Any) -> Any:
    """Link the rows of a pandas DataFrame with the column text, optionally id and mentions.

    The columns of the result are those of a job's output, and `rejected`: the reason why a
    document was not linked, otherwise null.
    """
    linker = required_linker(spec)
    table = pa.Table.from_pandas(frame, preserve_index=False)
    links, _, rejected = _tabulated(linker, table_items(table, "row", 1), "")
    found = links.append_column("rejected", pa.nulls(links.num_rows, pa.string()))
    nothing = {field.name: pa.nulls(len(rejected), field.type) for field in LINKS}
    nothing["document"] = pa.array([one.document for one in rejected], pa.string())
    nothing["rejected"] = pa.array([one.reason for one in rejected], pa.string())
    return pa.concat_tables([found, pa.table(nothing, schema=found.schema)]).to_pandas()
