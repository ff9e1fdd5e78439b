"""Protocols of other linkers: REL, DBpedia Spotlight, NIF and entity-fishing.

They are not part of the OpenAPI document, which cannot describe their bodies.
"""

from fastapi import APIRouter

from sgtb.serving.engine import Engine
from sgtb.serving.protocols.entity_fishing import router as fishing_router
from sgtb.serving.protocols.nif_protocol import router as nif_router
from sgtb.serving.protocols.rel import router as rel_router
from sgtb.serving.protocols.spotlight import router as spotlight_router
from sgtb.serving.service_settings import ServeSettings


def routers(engine: Engine, settings: ServeSettings) -> list[APIRouter]:
    """Return the routes of all protocols."""
    factories = (rel_router, spotlight_router, nif_router, fishing_router)
    return [router(engine, settings) for router in factories]
