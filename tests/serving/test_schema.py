"""The OpenAPI document: what it allows is answered as it says, and what it forbids is refused."""

import json
import os
from typing import Any

import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.specs.openapi.checks import positive_data_acceptance

from sgtb.serving.app import create_app
from sgtb.serving.engine import Engine
from tests.helpers.services import FakeLinker

schema = schemathesis.openapi.from_dict(create_app(Engine(FakeLinker)).openapi())


def may_make_no_sense(body: Any) -> bool:
    """Whether a body has what no schema can check: places in a text, ids, and how many."""
    given = body.get("documents", [body]) if isinstance(body, dict) else []
    documents = [one for one in given if isinstance(one, dict)] if isinstance(given, list) else []
    many = [one.get("candidates", 5) for one in documents]
    return (
        len(documents) > 4
        or any(one.get("spans") or one.get("fixed") for one in documents)
        or any(isinstance(n, int | float) and n > 100 for n in many)
    )


@schema.parametrize()
@settings(
    max_examples=int(os.environ.get("SCHEMA_EXAMPLES", "25")),
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
def test_whatever_is_asked_is_answered_as_told(case, address):
    answer = case.call(base_url=address)
    case.validate_response(answer, excluded_checks=[positive_data_acceptance])
    if answer.status_code == 422 and not may_make_no_sense(case.body):
        case.validate_response(answer, checks=[positive_data_acceptance])


def test_the_document_names_every_route_of_the_api():
    assert sorted(operation.ok().label for operation in schema.get_all_operations()) == [
        "GET /api/candidates", "GET /api/entity/{id}", "GET /api/kb", "GET /healthz",
        "GET /metrics", "GET /readyz", "POST /api/link", "POST /api/link/batch",
    ]  # fmt: skip


def test_all_limits_have_names_of_json_schema():
    text = json.dumps(schema.raw_schema)
    assert '"maximum": 64' in text
    assert not any(f'"{name}": ' in text for name in ("le", "ge", "lt", "gt"))
