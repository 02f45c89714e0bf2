"""/projects/{p}/keys."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query

from ..projects import service as projects
from ..projects.endpoints import ProjectName
from ..work import Work, reading, writing
from . import service
from .schemas import ApiKeyPage, KeyCreate, NewApiKey

router = APIRouter(tags=["keys"])


@router.get("/projects/{project}/keys")
async def list_keys(
    project: ProjectName,
    work: Annotated[Work, reading("administer")],
    cursor: Annotated[str | None, Query(max_length=120)] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> ApiKeyPage:
    """The project's keys, without the keys themselves, newest first."""
    return await service.page(work, await projects.find(work, project), cursor=cursor, limit=limit)


@router.post("/projects/{project}/keys")
async def create_key(project: ProjectName, body: KeyCreate, work: Annotated[Work, writing("administer")]) -> NewApiKey:
    """Make a key; it is shown in this reply and never again."""
    return await service.create_in(work, await projects.find(work, project), body)


@router.delete("/projects/{project}/keys/{key_id}", status_code=204)
async def revoke_key(project: ProjectName, key_id: UUID, work: Annotated[Work, writing("administer")]) -> None:
    """Revoke a key; it stops working at once."""
    await service.revoke(work, await projects.find(work, project), key_id)
