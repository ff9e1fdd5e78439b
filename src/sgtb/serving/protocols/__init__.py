"""Protocols of other linkers, answered by this one: REL, DBpedia Spotlight, NIF, entity-fishing.

None of them is in the service's OpenAPI document: they are defined elsewhere, and what they take
cannot be said there.
"""

from fastapi import APIRouter

from sgtb.serving.engine import Engine
from sgtb.serving.protocols.entity_fishing import router as fishing_router
from sgtb.serving.protocols.nif_routes import router as nif_router
from sgtb.serving.protocols.rel import router as rel_router
from sgtb.serving.protocols.spotlight import router as spotlight_router
from sgtb.serving.service_settings import ServeSettings


def routers(engine: Engine, settings: ServeSettings) -> list[APIRouter]:
    """Return the routes of all protocols."""
    made = (rel_router, spotlight_router, nif_router, fishing_router)
    return [router(engine, settings) for router in made]
