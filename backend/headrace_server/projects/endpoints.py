"""GET /projects."""

from typing import Annotated

from fastapi import APIRouter

from ..work import Work, reading
from . import service
from .schemas import ProjectList

router = APIRouter(tags=["projects"])


@router.get("/projects")
async def list_projects(work: Annotated[Work, reading("read", "operate", "ingest")]) -> ProjectList:
    """The projects the caller may see."""
    return await service.visible(work)
