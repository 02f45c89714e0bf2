"""/projects, /projects/{p}/settings and /projects/{p}/members."""

from typing import Annotated

from fastapi import APIRouter, Path, Query

from ..fields import Name
from ..idempotency.route import RepeatableRoute
from ..work import Work, reading, writing
from . import members, service
from .schemas import (
    Member,
    MemberPage,
    MemberPut,
    Project,
    ProjectCreate,
    ProjectList,
    ProjectPatch,
    ProjectSettings,
    ProjectSettingsPatch,
)

router = APIRouter(tags=["projects"], route_class=RepeatableRoute)
ProjectName = Annotated[Name, Path()]
Username = Annotated[Name, Path()]
Cursor = Annotated[str | None, Query(max_length=64)]


@router.get("/projects")
async def list_projects(
    work: Annotated[Work, reading("read", "operate", "ingest")],
    archived: Annotated[bool, Query()] = False,
    cursor: Cursor = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 200,
) -> ProjectList:
    """The projects the caller may see."""
    return await service.visible(work, archived=archived, cursor=cursor, limit=limit)


@router.post("/projects")
async def create_project(body: ProjectCreate, work: Annotated[Work, writing("server")]) -> Project:
    """Make a project."""
    return await service.make(work, body)


@router.get("/projects/{project}")
async def get_project(project: ProjectName, work: Annotated[Work, reading("read", "operate", "ingest")]) -> Project:
    """One project."""
    return await service.get(work, project)


@router.patch("/projects/{project}")
async def change_project(
    project: ProjectName, body: ProjectPatch, work: Annotated[Work, writing("administer")]
) -> Project:
    """Archive a project, or restore it. Nothing in it is deleted."""
    return await service.change(work, project, body)


@router.get("/projects/{project}/members")
async def list_members(
    project: ProjectName,
    work: Annotated[Work, reading("read")],
    cursor: Cursor = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> MemberPage:
    """Who may do what in the project. Administrators of the server may do everything and are not listed for it."""
    return await members.page(work, project, cursor=cursor, limit=limit)


@router.put("/projects/{project}/members/{username}")
async def put_member(
    project: ProjectName, username: Username, body: MemberPut, work: Annotated[Work, writing("administer")]
) -> Member:
    """Add somebody, or change their role. The last admin keeps theirs (409)."""
    return await members.change(work, project, username, body.role)


@router.delete("/projects/{project}/members/{username}", status_code=204)
async def remove_member(project: ProjectName, username: Username, work: Annotated[Work, writing("administer")]) -> None:
    """Take somebody out of the project. The last admin stays (409)."""
    await members.remove(work, project, username)


@router.get("/projects/{project}/settings")
async def get_project_settings(
    project: ProjectName, work: Annotated[Work, reading("read", "operate")]
) -> ProjectSettings:
    """How a project is run."""
    return service.settings_of(work, await service.find(work, project))


@router.patch("/projects/{project}/settings")
async def change_project_settings(
    project: ProjectName, body: ProjectSettingsPatch, work: Annotated[Work, writing("administer")]
) -> ProjectSettings:
    """Change how a project is run."""
    return service.change_settings(work, await service.find(work, project), body)
