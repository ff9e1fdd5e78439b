"""Protocols of other linkers, answered by this one: REL, DBpedia Spotlight, NIF, entity-fishing.

None of them is in the service's OpenAPI document: they are defined elsewhere, and what they take
cannot be said there.
"""

from fastapi import APIRouter

from sgtb.serve.engine import Engine
from sgtb.serve.protocols.fishing import router as fishing_router
from sgtb.serve.protocols.nif import router as nif_router
from sgtb.serve.protocols.rel import router as rel_router
from sgtb.serve.protocols.spotlight import router as spotlight_router
from sgtb.serve.settings import ServeSettings


def routers(engine: Engine, settings: ServeSettings) -> list[APIRouter]:
    """Return the routes of all protocols."""
    made = (rel_router, spotlight_router, nif_router, fishing_router)
    return [router(engine, settings) for router in made]
