"""/system."""

from typing import Annotated

from fastapi import APIRouter

from ..work import Work, reading
from . import service
from .schemas import System

router = APIRouter(tags=["system"])


@router.get("/system")
async def get_system(work: Annotated[Work, reading("server")]) -> System:
    """How the service itself is doing, in all its processes, and what its administrators should do about it."""
    return await service.describe(work)
