"""GET /audit."""

from typing import Annotated

from fastapi import APIRouter, Query

from ..fields import Name
from ..jobs import access
from ..projects import service as projects
from ..work import Work, reading
from . import service
from .schemas import AuditPage

router = APIRouter(tags=["audit"])


@router.get("/audit")
async def list_audit_events(
    work: Annotated[Work, reading("read")],
    project: Annotated[Name | None, Query()] = None,
    job: Annotated[str | None, Query(max_length=64)] = None,
    cursor: Annotated[str | None, Query(max_length=64)] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> AuditPage:
    """Changes, newest first, of one project or one job."""
    project_id = (await projects.find(work, project)).id if project is not None else None
    job_id = (await access.find_job(work, job)).id if job is not None else None
    return await service.page(work, project_id=project_id, job_id=job_id, cursor=cursor, limit=limit)
