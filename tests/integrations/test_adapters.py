"""The adapters for Spark and Ray that the guide shows, where these are installed."""

import pytest

from sgtb.linking.linker import Linker
from tests.helpers.job_runs import TEXTS
from tests.helpers.pages import DOCS


def adapter(name: str):
    """Return the function `link` of a code block of the guide."""
    page = (DOCS / "guide" / "scale-out.md").read_text("utf-8")
    code = page.partition(f"```py {name}\n")[2].partition("```")[0]
    assert 10 <= len(code.splitlines()) <= 30
    names: dict = {}
    exec(compile(code, f"scale-out.md, {name}", "exec"), names)
    return names["link"]


@pytest.fixture(scope="module")
def expected():
    with Linker.starter() as linker:
        return {
            f"d{i}": [link.entity for link in linker.link(text).links]
            for i, text in enumerate(TEXTS)
        }


def by_document(rows) -> dict[str, list]:
    found: dict[str, list] = {}
    for row in rows:
        entities = found.setdefault(row["document"], [])
        if row["entity"] is not None:
            entities.append(row["entity"])
    return found


def test_spark(expected):
    sql = pytest.importorskip("pyspark.sql", reason="Spark is not installed")
    spark = sql.SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    with spark.getOrCreate() as session:
        rows = [(f"d{i}", text) for i, text in enumerate(TEXTS)]
        linked = adapter("spark")(session.createDataFrame(rows, "id string, text string"))
        assert by_document(linked.collect()) == expected


def test_ray(expected):
    ray = pytest.importorskip("ray", reason="Ray is not installed")
    pytest.importorskip("ray.data", reason="Ray is installed without its data sets")
    ray.init(num_cpus=1, include_dashboard=False)
    try:
        rows = [{"id": f"d{i}", "text": text} for i, text in enumerate(TEXTS)]
        linked = adapter("ray")(ray.data.from_items(rows))
        assert by_document(linked.take_all()) == expected
    finally:
        ray.shutdown()
