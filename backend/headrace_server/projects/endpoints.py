"""GET /projects, and /projects/{p}/settings."""

from typing import Annotated

from fastapi import APIRouter, Path

from ..fields import Name
from ..idempotency.route import RepeatableRoute
from ..work import Work, reading, writing
from . import service
from .schemas import ProjectList, ProjectSettings, ProjectSettingsPatch

router = APIRouter(tags=["projects"], route_class=RepeatableRoute)


@router.get("/projects")
async def list_projects(work: Annotated[Work, reading("read", "operate", "ingest")]) -> ProjectList:
    """The projects the caller may see."""
    return await service.visible(work)


@router.get("/projects/{project}/settings")
async def get_project_settings(
    project: Annotated[Name, Path()], work: Annotated[Work, reading("read", "operate")]
) -> ProjectSettings:
    """How a project is run."""
    return service.settings_of(await service.find(work, project))


@router.patch("/projects/{project}/settings")
async def change_project_settings(
    project: Annotated[Name, Path()], body: ProjectSettingsPatch, work: Annotated[Work, writing("administer")]
) -> ProjectSettings:
    """Change how a project is run."""
    return service.change_settings(work, await service.find(work, project), body)
